import json

import polars as pl
import pytest
from typer.testing import CliRunner

from tests import builders
from workbench.cli import build
from workbench.errors import SutureError


@pytest.fixture
def place(tmp_path):
    builders.byte_level([b"th", b"the"], [(b"t", b"h"), (b"th", b"e")]).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "en.txt").write_text("the the\nother\n")
    (tmp_path / "texts" / "de.txt").write_text("das\n")
    return tmp_path


def ran(*words: object):
    return CliRunner().invoke(build(), ["count", *map(str, words)], catch_exceptions=False)


def test_totals_and_entries(place):
    out = place / "counts.parquet"
    answer = ran(place / "tokenizer.json", "--corpus", place / "texts", "--json", "-o", out)
    rows = {row["language"]: row for row in json.loads(answer.stdout)["totals"]}
    # Two whole words and a space; o, the, r. Three letters.
    assert (rows["en"]["documents"], rows["en"]["tokens"], rows["en"]["bytes"]) == (2, 6, 12)
    assert (rows["de"]["documents"], rows["de"]["tokens"]) == (1, 3)
    table = pl.read_parquet(out)
    assert table.filter(language="en", token_id=257)["count"].to_list() == [3]
    assert table["count"].sum() == 9
    assert not list(place.glob(".*"))


def test_a_table_for_people(place):
    answer = ran(place / "tokenizer.json", "--corpus", place / "texts")
    assert "together" in answer.stdout
    assert "1.667" in answer.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(("--engine", "spark"), "must be 'local' or 'ray'"), (("--workers", "0"), "workers must be at least 1")],
)
def test_a_wrong_option_is_one_sentence(place, words, sentence):
    with pytest.raises(SutureError, match=sentence):
        ran(place / "tokenizer.json", "--corpus", place / "texts", *words)


def test_an_unwritable_output_is_one_sentence(place):
    with pytest.raises(SutureError, match="writable"):
        ran(place / "tokenizer.json", "--corpus", place / "texts", "-o", "/proc/nowhere/x.parquet")


@pytest.mark.slow
def test_ray_gives_the_same_totals(place):
    pytest.importorskip("ray", reason='ray is not installed: pip install "suture[scale]"')
    words = (place / "tokenizer.json", "--corpus", place / "texts", "--json")
    local = json.loads(ran(*words).stdout)
    far = ran(*words, "--engine", "ray", "--workers", "1")
    assert json.loads(far.stdout.strip().splitlines()[-1]) == local
