"""Traces on disk: what is written is read again, whatever stops it in between."""

from __future__ import annotations

import json
import shutil

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from workbench.errors import SutureError, UnknownName, UnreadableFile
from workbench.trace import TEXTS, UNITS, Trace
from workbench.tracewriter import TraceWriter, write_trace

RNG = np.random.default_rng(0)


def units(count: int, text: int = 0) -> pl.DataFrame:
    rows = {
        "text": [text] * count,
        "position": list(range(count)),
        "start": list(range(count)),
        "end": list(range(1, count + 1)),
        "token_id": [None if k % 5 == 4 else k for k in range(count)],
        "piece": [bytes([97 + k % 26]) for k in range(count)],
        "word": [0] * count,
        "pieces": [1] * count,
        "window": [0] * count,
    }
    return pl.DataFrame(rows, schema=UNITS)


def texts(number: int = 0) -> pl.DataFrame:
    return pl.DataFrame([(number, "a text", "en")], schema=TEXTS, orient="row")


def two_parts(folder, layers, key="k", stop=None):
    """Write two parts of three batches each; return the writer after `stop` batches, or the trace."""
    half = len(next(iter(layers.values()))) // 2
    writer = TraceWriter(folder, key, {name: states.shape[1] for name, states in layers.items()})
    with writer:
        if (done := writer.begin()) is not None:
            return done
        for part in range(writer.part, 2):
            writer.open_part(units(half, part), texts(part))
            order = np.random.default_rng(part).permutation(half)
            for batch in range(writer.batch, 3):
                if stop is not None and 3 * part + batch == stop:
                    return writer
                rows = np.sort(np.array_split(order, 3)[batch])
                for name, states in layers.items():
                    writer.write(name, rows, states[part * half + rows])
                writer.keep(batch + 1, {"seen": np.array([part, batch])})
            writer.close_part()
        return writer.publish({"model": "tiny"})


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}


def made(count=40):
    first = RNG.normal(size=(count, 6)).astype(np.float32)
    return {"static": first[:, :3].copy(), "0": first, "1": 2 * first, "1.norm": -first}


def test_what_is_written_is_read_again(tmp_path):
    layers = made()
    trace = two_parts(tmp_path / "t", layers)
    assert trace.layers == ("static", "0", "1", "1.norm")
    assert len(trace) == 40
    assert trace.parts == (20, 20)
    assert trace.wide == ()
    assert trace.about == {"model": "tiny", "key": "k"}
    assert trace.units.schema == UNITS
    assert trace.units["text"].to_list() == [0] * 20 + [1] * 20
    assert trace.texts["content"].to_list() == ["a text", "a text"]
    for name, states in layers.items():
        np.testing.assert_array_equal(trace.states(name), states.astype(np.float16))
        assert trace.states(name).dtype == np.float32
    assert Trace.open(tmp_path / "t").digest == trace.digest


@given(st.data())
def test_any_rows_are_those_of_the_whole(data):
    trace = _kept()
    whole = trace.states("0")
    rows = data.draw(st.lists(st.integers(0, len(trace) - 1)))
    np.testing.assert_array_equal(trace.states("0", rows), whole[rows].reshape(-1, 6))
    start, stop = data.draw(st.integers(-45, 45)), data.draw(st.integers(-45, 45))
    step = data.draw(st.sampled_from([None, 1, 2, -1]))
    np.testing.assert_array_equal(trace.states("0", slice(start, stop, step)), whole[start:stop:step])
    mask = np.isin(np.arange(len(trace)), rows)
    np.testing.assert_array_equal(trace.states("0", mask), whole[mask])


KEPT: list[Trace] = []


def _kept() -> Trace:
    if not KEPT:
        pytest.fail("the fixture below makes it")
    return KEPT[0]


@pytest.fixture(scope="module", autouse=True)
def kept(tmp_path_factory):
    KEPT.append(two_parts(tmp_path_factory.mktemp("kept") / "t", made()))
    yield
    KEPT.clear()


def test_chunks_join_to_the_layer():
    trace = _kept()
    parts = list(trace.chunks("0", most=7 * 6 * 4))
    assert [start for start, _ in parts] == [0, 7, 14, 21, 28, 35]
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in parts]), trace.states("0"))


def test_the_formats_own_library_reads_a_layer(tmp_path):
    layers = made()
    trace = two_parts(tmp_path / "t", layers)
    found = load_file(trace.folder / "parts" / "00001" / "layer-1.norm.safetensors")["states"]
    np.testing.assert_array_equal(found, layers["1.norm"][20:].astype(np.float16))


def test_what_sixteen_bits_cannot_hold_is_kept_in_thirty_two(tmp_path):
    layers = made()
    layers["1"][25] = 70_000.0
    layers["0"][3, 2] = np.nan
    layers["static"][1] = 65_504.0
    trace = two_parts(tmp_path / "t", layers)
    assert trace.wide == ("0", "1")
    kinds = {
        (part, layer): trace._tensor(part, layer).dtype for part in (0, 1) for layer in ("static", "0", "1")
    }
    assert {place for place, kind in kinds.items() if kind == "F32"} == {(0, "0"), (1, "1")}
    np.testing.assert_allclose(trace.states("1"), layers["1"], rtol=1e-3)
    np.testing.assert_array_equal(trace.states("1")[25], layers["1"][25])
    assert np.isnan(trace.states("0")[3, 2])
    np.testing.assert_array_equal(trace.states("static")[1], layers["static"][1])


@pytest.mark.parametrize("stop", range(6))
@pytest.mark.parametrize("wide", [False, True])
def test_a_stopped_trace_goes_on_to_the_same_bytes(tmp_path, stop, wide):
    layers = made()
    if wide:
        layers["1"][[4, 33]] *= 1e6
    straight = two_parts(tmp_path / "straight", layers)
    writer = two_parts(tmp_path / "t", layers, stop=stop)
    assert not (tmp_path / "t").exists()
    assert (writer.part, writer.batch) == divmod(stop, 3)
    again = two_parts(tmp_path / "t", layers)
    assert files(again.folder) == files(straight.folder)


def test_writing_a_batch_twice_changes_nothing(tmp_path):
    """A run may be stopped after a batch was written and before that was noted."""
    layers = made(20)
    layers["1"][2] *= 1e6
    results = []
    for name, times in (("once", 1), ("twice", 2)):
        with TraceWriter(
            tmp_path / name, "k", {key: each.shape[1] for key, each in layers.items()}
        ) as writer:
            writer.begin()
            writer.open_part(units(20), texts())
            for rows in [np.arange(10, 20)] * times + [np.arange(10)]:
                for key, states in layers.items():
                    writer.write(key, rows, states[rows])
            writer.close_part()
            results.append(files(writer.publish({}).folder))
    assert results[0] == results[1]


def test_what_was_kept_beside_the_states_is_given_back(tmp_path):
    two_parts(tmp_path / "t", made(), stop=4)
    writer = TraceWriter(tmp_path / "t", "k", {"static": 3, "0": 6, "1": 6, "1.norm": 6})
    assert writer.begin() is None
    assert writer.kept["seen"].tolist() == [1, 0]


def test_a_stop_between_the_note_and_the_name_is_made_good(tmp_path):
    layers = made()
    two_parts(tmp_path / "t", layers, stop=3)
    parts = tmp_path / ".t.partial" / "parts"
    (parts / "00000").rename(parts / "00000.writing")
    shutil.rmtree(parts / "00001.writing")
    again = two_parts(tmp_path / "t", layers)
    assert files(again.folder) == files(two_parts(tmp_path / "straight", layers).folder)


def test_a_trace_that_is_there_is_not_made_again(tmp_path):
    trace = two_parts(tmp_path / "t", made())
    writer = TraceWriter(tmp_path / "t", "k", trace.widths)
    found = writer.begin()
    assert found is not None
    assert found.digest == trace.digest


def sentence(error: pytest.ExceptionInfo[SutureError]) -> None:
    text = str(error.value)
    assert "\n" not in text
    assert text.count("; ") >= 2


def test_another_trace_is_neither_lost_nor_gone_on_with(tmp_path):
    two_parts(tmp_path / "t", made())
    with pytest.raises(SutureError, match="holds another trace") as error:
        TraceWriter(tmp_path / "t", "other", {"0": 6}).begin()
    sentence(error)
    assert TraceWriter(tmp_path / "t", "other", {"0": 6}).begin(replace=True) is None
    two_parts(tmp_path / "half", made(), stop=2)
    with pytest.raises(SutureError, match="was begun with others") as error:
        TraceWriter(tmp_path / "half", "other", {"0": 6}).begin()
    sentence(error)
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "mine.txt").write_text("mine")
    with pytest.raises(SutureError, match="something else") as error:
        TraceWriter(tmp_path / "else", "k", {"0": 6}).begin()
    sentence(error)


def _truncate(folder):
    path = folder / "parts" / "00001" / "layer-0.safetensors"
    path.write_bytes(path.read_bytes()[:-10])


def _swap(folder):
    narrow = folder / "parts" / "00000" / "layer-static.safetensors"
    shutil.copy(narrow, folder / "parts" / "00000" / "layer-0.safetensors")


def _fewer_rows(folder):
    path = folder / "parts" / "00000" / "units.parquet"
    pl.read_parquet(path).head(3).write_parquet(path)


def _other_format(folder):
    doc = json.loads((folder / "trace.json").read_text())
    (folder / "trace.json").write_text(json.dumps({**doc, "format": 99}))


def _without_layers(folder):
    doc = json.loads((folder / "trace.json").read_text())
    (folder / "trace.json").write_text(json.dumps({**doc, "layers": 3}))


BREAKS = {
    "no folder": shutil.rmtree,
    "no file of a layer": lambda folder: (folder / "parts" / "00001" / "layer-1.safetensors").unlink(),
    "a file cut short": _truncate,
    "a file of another layer": _swap,
    "a table that is none": lambda folder: (folder / "parts" / "00000" / "units.parquet").write_bytes(b"no"),
    "too few rows": _fewer_rows,
    "another format": _other_format,
    "no layers": _without_layers,
    "half a trace.json": lambda folder: (folder / "trace.json").write_text('{"format": 1,'),
}


@pytest.mark.parametrize("case", BREAKS)
def test_a_broken_trace_is_one_sentence(tmp_path, case):
    two_parts(tmp_path / "t", made())
    BREAKS[case](tmp_path / "t")

    def read():
        trace = Trace.open(tmp_path / "t")
        for layer in trace.layers:
            trace.states(layer)
        return trace.units, trace.texts

    with pytest.raises(UnreadableFile) as error:
        read()
    sentence(error)


def test_unknown_layers_and_units_are_named():
    trace = _kept()
    with pytest.raises(UnknownName, match=r"static, 0, 1, 1\.norm") as error:
        trace.states("2")
    sentence(error)
    for rows in ([40], [-1], [0.5], [[1]]):
        with pytest.raises(UnknownName, match=r"0\.\.39") as error:
            trace.states("0", rows)
        sentence(error)
    with pytest.raises(SutureError, match="letters") as error:
        TraceWriter("x", "k", {"../0": 3})
    sentence(error)


def test_a_trace_of_arrays(tmp_path):
    layers = made(5)
    write_trace(tmp_path / "t", layers, units(5), texts(), {"model": "a"})
    trace = write_trace(tmp_path / "t", {"0": layers["0"]}, units(5), texts(), {"model": "b"})
    assert trace.about["model"] == "b"
    assert trace.layers == ("0",)
    empty = write_trace(tmp_path / "e", {"0": np.empty((0, 4), np.float32)}, units(0), texts(), {})
    assert empty.states("0").shape == (0, 4)
    assert empty.units.height == 0
