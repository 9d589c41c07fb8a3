import json
import sys
from subprocess import run

import pytest
from typer.testing import CliRunner

from tests import builders
from workbench.adapters import load
from workbench.audit import Outcome
from workbench.cli import build
from workbench.errors import SutureError
from workbench.findings import Finding
from workbench.runs import RunWriter


@pytest.fixture
def place(tmp_path):
    backend = builders.byte_level(
        [b"th", b"the"], [(b"t", b"h"), (b"th", b"e")], special=["<end>"], ignore_merges=True
    )
    backend.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "en.txt").write_text("the the\nother\n")
    (tmp_path / "texts" / "de.txt").write_text("das\n")
    return tmp_path


def ran(place, *words: object):
    given = ["remove", place / "tokenizer.json", "--corpus", place / "texts", *words]
    return CliRunner().invoke(build(), [*map(str, given)], catch_exceptions=False)


def flagging(place, findings, digest=None):
    """A run with these findings of the tokenizer."""
    inventory = load(place / "tokenizer.json").inventory
    writer = RunWriter(place / "run")
    writer.begin()
    writer.keep("one", Outcome(findings))
    subject = {"name": "mine", "digest": digest or inventory.digest}
    writer.finish(["one"], {"subjects": [subject]})
    writer.publish()
    return place / "run"


def test_one_document_says_all(place):
    found = json.loads(ran(place, "--ids", "256", "--json").stdout)
    assert found["removed"] == [256]
    assert found["merges_broken"] == [[116, 104, 256], [256, 101, 257]]
    assert found["lost"] == found["lost_but_for_whole_pretokens"] == [257]
    assert found["rows_idle"] == [256]
    assert found["rows_needed"] == [259, 259]
    rows = {row["language"]: row for row in found["corpus"]["languages"]}
    # "the the" is a whole pre-token, then one after a space: 1 + 4 tokens; "other" falls into its letters.
    assert (rows["en"]["tokens_before"], rows["en"]["tokens_after"]) == (3 + 3, 5 + 5)
    assert (rows["en"]["changed"], rows["de"]["changed"]) == (2, 0)
    assert found["proof"] is None
    assert not (place / "edited.json").exists()


def test_a_table_for_people_and_a_file(place):
    out = place / "edited.json"
    answer = ran(place, "--ids", "257,256", "--mode", "mask", "-o", out)
    assert "mask 2 entries" in answer.stdout
    assert "together" in answer.stdout
    assert "proved" in answer.stdout
    assert load(out).encode("the") == list(b"the")
    assert load(out).inventory.rows_needed == 259


def test_ids_from_a_file(place):
    (place / "ids.txt").write_text("# two entries\n256\n257 # the word\n\n")
    assert json.loads(ran(place, "--ids-from", place / "ids.txt", "--json").stdout)["removed"] == [256, 257]


def test_ids_from_the_flagged_findings_of_a_run(place):
    findings = [
        Finding("mine", "unwanted", "hit", 1.0, severity="flag", token_id=257),
        Finding("mine", "unwanted", "hit", 2.0, severity="flag", token_id=257),
        Finding("mine", "unwanted", "hit", 1.0, severity="warn", token_id=256),
        Finding("mine", "census", "entries", 259.0, severity="flag"),
        Finding("mine", "unwanted", "hit", 1.0, severity="flag", token_id=258),
        Finding("other", "unwanted", "hit", 1.0, severity="flag", token_id=97),
    ]
    answer = ran(place, "--ids-from", flagging(place, findings), "--json")
    assert json.loads(answer.stdout)["removed"] == [257]
    assert "flagged entry 258 is left in: it is a special token" in answer.stderr


def test_a_run_without_use_is_one_sentence(place):
    with pytest.raises(SutureError, match="must flag entries"):
        ran(place, "--ids-from", flagging(place, [Finding("mine", "census", "entries", 1.0)]))
    special = [Finding("mine", "a", "b", 1.0, severity="flag", token_id=258)]
    with pytest.raises(SutureError, match="none of which can"):
        ran(place, "--ids-from", flagging(place, special))
    with pytest.raises(SutureError, match="digest; audit it first"):
        ran(place, "--ids-from", flagging(place, special, digest="0" * 64))
    with pytest.raises(SutureError, match=r"a folder with run\.json"):
        ran(place, "--ids-from", place / "texts")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "either --ids or --ids-from"),
        (("--ids", "256", "--ids-from", "x"), "either --ids or --ids-from"),
        (("--ids", ""), "at least one entry"),
        (("--ids", "nan"), "whole numbers with commas between; got 'nan'"),
        (("--ids", "1.5"), "got '1.5'"),
        (("--ids", "999999999999999999999"), r"must be a whole number in 0\.\.258"),
        (("--ids", "256,256"), "named once"),
        (("--ids", "97"), "stands for a byte"),
        (("--ids", "256", "--mode", "burn"), "'drop' or 'mask'"),
        (("--ids-from", "/nowhere/ids.txt"), "readable text"),
    ],
)
def test_a_wrong_option_is_one_sentence(place, words, sentence):
    with pytest.raises(SutureError, match=sentence):
        ran(place, *words)


def test_the_tokenizer_itself_is_never_written_over(place):
    former = (place / "tokenizer.json").read_bytes()
    with pytest.raises(SutureError, match="is the tokenizer itself"):
        ran(place, "--ids", "256", "-o", place / "tokenizer.json")
    assert (place / "tokenizer.json").read_bytes() == former


def test_an_error_ends_with_status_2_and_help_with_an_example(place):
    words = [sys.executable, "-m", "workbench", "remove"]
    done = run([*words, place / "tokenizer.json", "--ids", "97"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    done = run([*words, "--help"], capture_output=True, text=True, check=False)
    assert "Example: `suture remove" in done.stdout
