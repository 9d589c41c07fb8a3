"""Pieces of a run can be taken out of it as they were put in."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from workbench.assembling import Former, assemble
from workbench.audit import Outcome
from workbench.findings import Finding, frame
from workbench.runs import Run, RunWriter

VALUES = {
    "bytes": st.binary(max_size=3), "word": st.text(max_size=3), "number": st.integers(-9, 9),
    "share": st.floats(0, 1), "list": st.lists(st.integers(0, 3), max_size=2),
}  # fmt: skip
TYPES = {
    "bytes": pl.Binary,
    "word": pl.String,
    "number": pl.Int16,
    "share": pl.Float64,
    "list": pl.List(pl.Int64),
}


@st.composite
def outcomes(draw):
    """An outcome with up to two tables, whose columns differ from one piece to the next."""
    tables = {}
    for name in draw(st.lists(st.sampled_from(["some", "other"]), unique=True)):
        columns = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True, min_size=1))
        height = draw(st.integers(0, 3))
        wide = draw(st.booleans())
        data = {
            key: draw(st.lists(st.none() | VALUES[key], min_size=height, max_size=height)) for key in columns
        }
        kinds = {key: pl.Int64 if wide and key == "number" else TYPES[key] for key in columns}
        tables[name] = pl.DataFrame(data, schema=kinds)
    count = draw(st.integers(0, 3))
    rows = [Finding("small", "census", f"m{place}", float(place), token=b"\xff") for place in range(count)]
    return Outcome(rows, tables)


def kept(folder, named):
    """A run of these outcomes by their keys."""
    writer = RunWriter(folder)
    writer.begin()
    for key, outcome in named.items():
        writer.keep(key, outcome)
    writer.finish(list(named), {"audits": [], "subjects": []})
    return writer.publish()


@settings(max_examples=40, deadline=None)
@given(st.lists(outcomes(), min_size=1, max_size=4))
def test_what_is_taken_out_is_what_was_put_in(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("kept")
    named = {f"piece{place}": outcome for place, outcome in enumerate(made)}
    run = kept(folder / "run", named)
    former = Former.open(run.folder)
    for key, outcome in named.items():
        assert former.take(key, folder / key)
        assert_frame_equal(pl.read_parquet(folder / key / "findings.parquet"), outcome.table())
        found = {path.stem: pl.read_parquet(path) for path in (folder / key / "tables").iterdir()}
        assert found.keys() == outcome.tables.keys()
        for name, table in outcome.tables.items():
            assert_frame_equal(found[name], table)
    whole = folder / "again"
    assemble([folder / key for key in named], whole)
    again = Run(whole, run.manifest)
    assert again.tables() == run.tables()
    assert_frame_equal(again.findings(), run.findings())
    for name in run.tables():
        assert_frame_equal(again.table(name), run.table(name))
    assert (whole / "pieces.json").read_bytes() == (run.folder / "pieces.json").read_bytes()


@pytest.fixture
def run(tmp_path):
    table = pl.DataFrame({"subject": ["a", "b"]})
    rows = [Finding("a", "census", "entries", 1.0)]
    return kept(tmp_path / "run", {"one": Outcome(rows, {"census": table}), "two": Outcome(rows)})


def test_an_unknown_key_gives_nothing(run, tmp_path):
    assert not Former.open(run.folder).take("three", tmp_path / "piece")
    assert not (tmp_path / "piece").exists()


DAMAGED = (
    None, "", "{", "[]", '{"format": 2, "pieces": []}', '{"format": 1, "pieces": [3]}',
    '{"format": 1, "pieces": [{"key": "one"}]}',
)  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_record_gives_nothing(run, tmp_path, text):
    record = run.folder / "pieces.json"
    record.unlink()
    if text is not None:
        record.write_text(text)
    assert not Former.open(run.folder).take("one", tmp_path / "piece")


def test_tables_that_are_not_as_recorded_give_nothing(run, tmp_path):
    former = Former.open(run.folder)
    assert former.take("one", tmp_path / "piece")
    frame([]).write_parquet(run.folder / "findings.parquet")
    assert not former.take("one", tmp_path / "other")
    (run.folder / "findings.parquet").write_bytes(b"PAR1")
    assert not former.take("two", tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_a_lost_table_gives_nothing(run, tmp_path):
    (run.folder / "tables" / "census.parquet").unlink()
    former = Former.open(run.folder)
    assert not former.take("one", tmp_path / "piece")
    assert former.take("two", tmp_path / "second"), "which has no part in it"


def test_the_record_says_whose_rows_are_whose(run):
    record = json.loads((run.folder / "pieces.json").read_bytes())
    assert record["pieces"] == [
        {"key": "one", "findings": 1, "tables": {"census": 2}},
        {"key": "two", "findings": 1, "tables": {}},
    ]
