"""Matching that does not flood a report, adverts without spaces, composed words, and masks."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tests import builders
from vocab_audits import unwantedtables
from vocab_audits.unwanted import unwanted
from workbench.adapters import load
from workbench.cli import build
from workbench.inventory import Inventory
from workbench.termlists import open_lists
from workbench.termlists.matching import match


@pytest.fixture
def listed(tmp_path):
    (tmp_path / "bad.txt").write_text("zork\n", encoding="utf-8")
    (tmp_path / "spam.txt").write_text("彩票\n", encoding="utf-8")
    (tmp_path / "LICENSE").write_text("CC BY 4.0", encoding="utf-8")
    return tmp_path


def kinds(lists, pieces, positions=None):
    columns = {"id": range(len(pieces)), "bytes": [piece.encode() for piece in pieces]}
    inventory = Inventory.build("x", "x", columns | ({"position": positions} if positions else {}))
    return {
        row["token_id"]: (row["kind"], row["category"])
        for row in match(inventory, lists).iter_rows(named=True)
    }


def test_g01_words_and_fragments_and_nothing_else(listed):
    lists = open_lists(f"{listed / 'bad.txt'}#category=slur")
    pieces = [" zork", "zork", " zorkle", "bazork", "zork", " ZORK", " work"]
    found = kinds(lists, pieces, ["any", "any", "any", "any", "inner", "any", "any"])
    assert found == {
        0: ("word", "slur"), 1: ("fragment", "slur"), 4: ("fragment", "slur"), 5: ("word", "slur"),
    }  # fmt: skip


def test_g01_in_a_vocabulary_that_marks_continuation(listed):
    inventory = load(builders.wordpiece(["zork", "##zork", "zorkle", "bazork", "##le"]), "pieces").inventory
    hits = match(inventory, open_lists(str(listed / "bad.txt")))
    assert dict(hits.select("token_id", "kind").iter_rows()) == {1: "word", 2: "fragment"}


def test_g02_an_advert_without_spaces(listed):
    lists = open_lists(f"{listed / 'spam.txt'}#category=gambling_spam")
    found = kinds(lists, [" 天天中彩票APP", "彩票", "天天"])
    assert found == {0: ("contains", "gambling_spam"), 1: ("word", "gambling_spam")}
    ours = kinds(open_lists("patterns"), [" 天天中彩票APP", "彩票", "天天"])
    assert ours == found, "our own family says the same"


def test_g05_a_word_of_several_tokens_is_composed(listed):
    tokenizer = load(builders.encoding([b"zo"]), "small")
    costs = unwantedtables.words(tokenizer, open_lists(str(listed / "bad.txt")))
    assert costs.select("tokens", "status").row(0) == (3, "several")


@pytest.mark.parametrize(
    "words", [["lists", "bad.txt", "--terms", "1"], ["lists", "bad.txt", "--terms", "1", "--json"]]
)
def test_g07_terms_are_masked_until_asked_for(listed, monkeypatch, words):
    monkeypatch.chdir(listed)
    masked = CliRunner().invoke(build(), words, catch_exceptions=False)
    assert masked.exit_code == 0
    assert "zork" not in masked.stdout
    shown = CliRunner().invoke(build(), [*words, "--reveal"], catch_exceptions=False)
    assert "zork" in shown.stdout
    assert "CC BY 4.0" in masked.stdout, "licence and source are named"
    assert "bad.txt" in masked.stdout
    if "--json" in words:
        assert json.loads(masked.stdout)["terms"][0]["term"] == "z•••"


def test_g07_the_audit_says_that_it_is_sensitive():
    assert unwanted.sensitive
