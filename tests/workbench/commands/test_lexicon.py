import json

import polars as pl
import pytest
from typer.testing import CliRunner

from workbench.cli import build
from workbench.errors import SutureError
from workbench.lexicons import open_lexicon

ROWS = (
    "Haus\tHäuser\tN;PL\tHäus|er\nsagen\tgesagt\tV;PST\tge|sag|t\nuse\tused\tV;PST\tuse|ed\n"
    "go\tgo\tV;PST\tgo|\x1b[2J\n"
)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "deu.tsv").write_text(ROWS)
    (tmp_path / "README.md").write_text("Under CC BY-SA 3.0.")
    return tmp_path / "deu.tsv"


def ran(*words: object):
    return CliRunner().invoke(build(), ["lexicon", *map(str, words)], catch_exceptions=False)


def test_the_card_says_source_licence_counts_and_what_was_left_out(place):
    answer = ran(place, "--words", 2)
    assert answer.exit_code == 0
    shown = " ".join(answer.stdout.split())
    assert "CC BY-SA 3.0 (README.md)" in shown
    assert "read as inflection" in shown
    assert "3 entries" in shown
    assert "deu inflection 3" in shown
    assert "ge/prefix sag/root t/suffix" in shown
    assert "malformed 1 4 go: go + " in shown
    assert "used" not in shown.partition("Entries")[2]
    assert "reading" in answer.stderr
    assert "\x1b[2J" not in answer.stdout


def test_json_has_the_same_and_one_word_alone(place):
    found = json.loads(ran(place, "--json", "--word", "used").stdout)
    assert found["counts"] == [
        {"language": "deu", "entries": 3, "several_morphs": 3, "concatenative": 2, "aligned": 1, "roles": 3,
         "frequency": 0}
    ]  # fmt: skip
    assert found["processes"] == [{"language": "deu", "process": "inflection", "entries": 3}]
    assert found["ledger"][0]["reason"] == "malformed"
    assert [row["morphs"] for row in found["words"]] == [["us", "ed"]]
    assert json.loads(ran(place, "--json", "--word", "other").stdout)["words"] == []


def test_what_parquet_keeps_is_read_again_whole(place):
    kept = place.with_name("kept.parquet")
    assert ran(place, "-o", kept).exit_code == 0
    first, again = open_lexicon(str(place)), open_lexicon(str(kept))
    assert again.frame.equals(first.frame)
    assert again.ledger.equals(first.ledger)
    assert again.licence == first.licence
    assert again.notes == (f"kept from {place}, SHA-256 {first.digest}", *first.notes)
    assert not list(place.parent.glob(".*"))


def test_what_tsv_keeps_is_read_again_with_word_morphs_and_language(place):
    kept = place.with_name("kept.tsv")
    ran(place, "-o", kept)
    assert kept.read_text() == "Häuser\tHäus er\tdeu\ngesagt\tge sag t\tdeu\nused\tus ed\tdeu\n"
    columns = ["language", "word", "morphs"]
    assert (
        open_lexicon(str(kept)).frame.select(columns).equals(open_lexicon(str(place)).frame.select(columns))
    )


@pytest.mark.parametrize("name", ["kept.csv", "missing/kept.parquet", "missing/kept.tsv"])
def test_where_it_cannot_be_written_is_one_sentence(place, name):
    with pytest.raises(SutureError, match="a lexicon"):
        ran(place, "-o", place.parent / name)
    assert not list(place.parent.glob(".*"))


def test_a_foreign_parquet_file_is_refused_in_one_sentence(tmp_path):
    pl.DataFrame({"word": ["a"]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(SutureError, match="must be one that suture lexicon"):
        open_lexicon(str(tmp_path / "other.parquet"))
