"""The verb that traces: tables, JSON, a trace on disk, and one sentence for what cannot be done."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tests.outside import corpus, without
from tests.probing import tinymodels as tiny
from workbench.errors import MissingExtra, SutureError
from workbench.trace import Trace

pytest.importorskip("torch")
pytest.importorskip("transformers")

from workbench.cli import build


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.save("llama", tmp_path_factory.mktemp("models") / "tiny")


def ran(*words: object):
    return CliRunner().invoke(build(), ["trace", *map(str, words)], catch_exceptions=False)


def test_json_holds_the_figures_of_the_trace(folder, tmp_path):
    answer = ran(folder, *tiny.TEXTS[:2], "-o", tmp_path / "t", "--json", "--show", 100)
    found = json.loads(answer.stdout)
    trace = Trace.open(found["trace"])
    assert found["about"] == trace.about
    assert [row["layer"] for row in found["layers"]] == ["0", "1", "2", "3", "3.norm"]
    assert len(found["shown"]) == found["units"] == len(trace)
    states = {layer: trace.states(layer).astype(np.float64) for layer in trace.layers}
    before = {"0": "0", "1": "0", "2": "1", "3": "2", "3.norm": "3"}

    def cosine(one, two):
        return float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))

    for place, unit in enumerate(found["shown"]):
        for layer, other in before.items():
            here = states[layer][place]
            assert unit["layers"][layer]["norm"] == pytest.approx(np.linalg.norm(here))
            assert unit["layers"][layer]["cos0"] == pytest.approx(cosine(here, states["0"][place]))
            assert unit["layers"][layer]["cos_previous"] == pytest.approx(cosine(here, states[other][place]))
    means = {row["layer"]: row["cos0"] for row in found["layers"]}
    for layer, mean in means.items():
        each = [unit["layers"][layer]["cos0"] for unit in found["shown"]]
        assert mean == pytest.approx(np.mean(each), abs=1e-6)


def test_tables_for_people_and_nothing_left_without_a_folder(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = ran(folder, tiny.TEXTS[0], "--show", 2, "--pool", "mean", "--layers", "0,2-3,3.norm,attn")
    assert "Cosine to the layer before" in answer.stdout
    assert "2 of 7 units are shown" in answer.stdout
    assert "3.norm" in answer.stdout
    assert not list(tmp_path.iterdir())


def test_a_corpus_with_languages_and_a_draw(folder, tmp_path):
    (tmp_path / "texts").mkdir()
    corpus(tmp_path / "texts", en=tiny.TEXTS[:3], de=tiny.TEXTS[3:4])
    words = (folder, "--file", tmp_path / "texts", "--most", 6, "-o", tmp_path / "t", "--json", "--show", 0)
    found = json.loads(ran(*words).stdout)
    trace = Trace.open(tmp_path / "t")
    assert sorted(trace.texts["language"]) == ["de", "en", "en", "en"]
    assert len(trace) == 6
    assert found["layers"][0]["units"] == trace.about["selected"] > 6
    assert found["shown"] == []


def test_a_long_text_is_said_to_be_windowed(folder):
    answer = ran(folder, tiny.LONG, "--show", 1)
    assert "1 texts are longer than the model takes" in answer.stdout


def test_a_second_time_the_trace_is_read(folder, tmp_path):
    first = ran(folder, tiny.TEXTS[0], "-o", tmp_path / "t", "--json")
    stamp = (tmp_path / "t" / "trace.json").stat().st_mtime_ns
    second = ran(folder, tiny.TEXTS[0], "-o", tmp_path / "t", "--json")
    assert first.stdout == second.stdout
    assert (tmp_path / "t" / "trace.json").stat().st_mtime_ns == stamp
    with pytest.raises(SutureError, match="holds another trace"):
        ran(folder, tiny.TEXTS[1], "-o", tmp_path / "t")
    assert ran(folder, tiny.TEXTS[1], "-o", tmp_path / "t", "--replace").exit_code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "needs texts, or a corpus"),
        (("x", "--file", "embedded"), "needs texts, or a corpus"),
        (("x", "--layers", "17"), "a layer must be one of"),
        (("x", "--pool", "median"), "pooling must be one of"),
        (("x", "--dtype", "int4"), "a dtype must be one of"),
        (("x", "-o", "/proc/nowhere/t"), "must be writable"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(folder, words, sentence):
    with pytest.raises(SutureError, match=sentence) as error:
        ran(folder, *words)
    assert "\n" not in str(error.value)


def test_no_model_and_no_extra(folder, monkeypatch, tmp_path):
    with pytest.raises(SutureError, match="is none"):
        ran(tmp_path / "nothing", "x")
    without(monkeypatch, "transformers")
    with pytest.raises(MissingExtra, match=r"suture\[probing\]"):
        ran(folder, "x")


def test_a_stop_says_how_to_go_on(folder, monkeypatch, tmp_path):
    from probing import running

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running.Pass, "run", stop)
    with pytest.raises(SutureError, match="give the same command to go on"):
        ran(folder, "x", "-o", tmp_path / "t")


def test_a_dead_token_has_no_cosine_in_a_table(folder, tmp_path):
    from probing.models import open_model
    from probing.tracing import per_unit
    from workbench.tracewriter import write_trace

    model = open_model(folder)
    units = {
        "text": 0, "start": 0, "end": 1, "token_id": 5, "piece": b"x", "word": 0, "pieces": 1, "window": 0
    }  # fmt: skip
    rows = pl.DataFrame([{**units, "position": k} for k in range(2)])
    texts = pl.DataFrame({"text": [0], "content": ["xx"], "language": [None]})
    layers = {"0": np.array([[0, 0], [1, 0]], np.float32), "1": np.ones((2, 2), np.float32)}
    made = write_trace(tmp_path / "t", layers, rows, texts, {"model": model.name})
    found = per_unit(made, [0, 1])
    assert found["0"][0] == {"norm": 0.0, "cos0": None, "cos_previous": None}
    assert found["1"][0]["cos0"] is None
    assert found["1"][1]["cos0"] == pytest.approx(0.5**0.5)
