"""The worked distillation at the smallest size: closed forms, bounds, resumption, refusals."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest
import torch
from typer.testing import CliRunner

from probing.bridge import distil as module
from probing.bridge.arms import ARMS, END, Classroom, bits
from probing.bridge.curves import fits
from probing.bridge.distil import Design, distil
from probing.bridge.dumps import Dump
from probing.tiny import Shape, build
from workbench.adapters import load
from workbench.adapters.hf_train import byte_level_bpe
from workbench.cli import build as application
from workbench.corpora import open_corpus
from workbench.errors import SutureError, UnreadableFile
from workbench.runs import VOLATILE, Run

TINY = Design(
    steps=4, teacher_steps=8, size=4, entries=300, other=280, width=16, layers=1, limit=80, passage=64
)
SOME = [
    arm
    for arm in ARMS
    if arm.name not in ("tokens-ce", "bytes-ce", "other-ce", "other-bpm-fast", "other-simct")
]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Run:
    return distil(open_corpus("manual"), TINY, tmp_path_factory.mktemp("distil") / "run", SOME, ["test"])


def test_every_student_is_measured_and_learns(made):
    curves = made.table("distil")
    assert curves["arm"].unique(maintain_order=True).to_list() == ["teacher", *(arm.name for arm in SOME)]
    for (arm,), part in curves.group_by("arm", maintain_order=True):
        values = part["bits_per_byte"].to_list()
        assert all(math.isfinite(value) and value > 0 for value in values), arm
        assert part["step"].to_list() == [1, 2, 4, *([8] if arm == "teacher" else [])]
        # The sorted probabilities of ULD say nothing of which token is meant.
        assert values[-1] < values[0] or arm == "other-uld", arm
    last = dict(made.findings().filter(measure="bits_per_byte").select("subject", "value").iter_rows())
    assert last == dict(curves.group_by("arm").last().select("arm", "bits_per_byte").iter_rows())
    weights = dict(made.findings().filter(measure="parameters").select("subject", "value").iter_rows())
    for row in curves.iter_rows(named=True):
        assert row["flops"] == 6 * weights[row["arm"]] * row["positions"]


def test_a_uniform_byte_model_takes_eight_bits_a_byte():
    shape = Shape(END, width=8, layers=1, heads=2)
    model = build(shape)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
    texts = [b"some bytes", b"and more"]
    assert bits(model, shape, [list(text) for text in texts]) / 18 == pytest.approx(8, abs=1e-5)


def test_symbols_spell_the_text():
    corpus = open_corpus("manual")
    experiment_texts = ["the assignment statement", "naïve"]
    texts = [text for batch in corpus.batches() for text in batch.texts][:200]
    teacher = load(byte_level_bpe(texts, 300), "teacher")
    room = Classroom(teacher, teacher)
    for text in experiment_texts:
        (plain,) = room.read("bytes", [text])
        (ended,) = room.read("bytes and ends", [text])
        assert bytes(plain) == text.encode() == bytes(symbol for symbol in ended if symbol != END)
        assert ended.count(END) == len(teacher.encode(text))
        assert ended[-1] == END


def test_a_stopped_run_goes_on_to_the_same_figures(made, tmp_path, monkeypatch):
    arms = [arm for arm in ARMS if arm.name in ("bytes-mi", "other-bpm")]
    monkeypatch.setattr(module, "KEPT_EVERY", 2)
    advanced = []

    def stop(label, done, total):
        advanced.append(label)
        if label == "other-bpm, step 3":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        distil(open_corpus("manual"), TINY, tmp_path / "run", arms, ["test"], stop)
    assert not (tmp_path / "run").exists()
    advanced.clear()
    again = distil(
        open_corpus("manual"), TINY, tmp_path / "run", arms, ["test"], lambda *told: advanced.append(told[0])
    )
    assert not any(label.startswith(("teacher, step", "bytes-mi, step")) for label in advanced)
    assert "other-bpm, step 3" in advanced
    assert "other-bpm, step 2" not in advanced
    names = ["teacher", "bytes-mi", "other-bpm"]
    assert again.table("distil").equals(made.table("distil").filter(pl.col("arm").is_in(names)))
    assert not list(tmp_path.glob(".run*"))
    assert set(made.manifest) - set(VOLATILE) == set(again.manifest) - set(VOLATILE)


def test_a_dump_goes_on_with_the_missing_file_and_says_which_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr("probing.bridge.dumps.SHARD", 2)
    rows = [torch.randn(n + 1, 5).log_softmax(-1) for n in range(5)]
    asked = []

    def predict(numbers):
        asked.extend(numbers)
        return [rows[number] for number in numbers]

    dump = Dump(tmp_path, 5)
    dump.write(predict)
    assert asked == [0, 1, 2, 3, 4]
    assert torch.allclose(dump.read([4, 0]), torch.cat([rows[4], rows[0]]), atol=1e-2)
    (tmp_path / "00001.safetensors").unlink()
    asked.clear()
    dump.write(predict)
    assert asked == [2, 3]
    (tmp_path / "00002.safetensors").write_bytes(b"broken")
    with pytest.raises(UnreadableFile, match="lacks passage 4"):
        dump.read([4])


def test_a_planted_curve_is_found_within_its_interval():
    compute = [10.0**power for power in range(9, 16)]
    points = [2.5 * (c / 1e9) ** -0.25 + 1.1 for c in compute]
    table = pl.DataFrame({"arm": ["x"] * 7, "flops": compute, "bits_per_byte": points})
    row = fits(table).row(0, named=True)
    assert row["a"] == pytest.approx(-0.25, abs=1e-3)
    assert row["c"] == pytest.approx(1.1, abs=1e-3)
    assert row["b"] == pytest.approx(2.5 * 1e9**0.25, rel=1e-2)
    few = fits(table.head(3)).row(0, named=True)
    assert few["a"] is None
    assert "not fitted" in few["note"]
    line = table.with_columns(bits_per_byte=5 - pl.Series(range(7)) * 0.5)
    assert fits(line).row(0, named=True)["c_low"] is None


def test_what_cannot_be_done_is_one_sentence(tmp_path):
    with pytest.raises(SutureError, match="needs students"):
        distil(open_corpus("manual"), TINY, tmp_path / "run", [], ["test"])
    (tmp_path / "en.txt").write_text("few words\n")
    with pytest.raises(SutureError, match="give more text"):
        distil(open_corpus(str(tmp_path / "en.txt")), TINY, tmp_path / "other", ARMS, ["test"])
    refused = CliRunner().invoke(application(), ["distil", "--arms", "bytes-xx", "-o", str(tmp_path / "no")])
    assert isinstance(refused.exception, SutureError)
    assert "must be one of tokens-ce" in str(refused.exception)


def test_the_verb_prints_the_figures(tmp_path, monkeypatch):
    small = lambda **options: replace(TINY, limit=options["limit"])  # noqa: E731 as short as it gets
    monkeypatch.setattr(module, "Design", small)
    words = ["distil", "--arms", "bytes-ce", "--limit", "64", "-o", str(tmp_path / "run")]
    shown = CliRunner().invoke(application(), words)
    assert shown.exit_code == 0, shown.output
    assert "bytes-ce" in shown.stdout
    assert "One seed" in shown.stdout
    assert Run.open(tmp_path / "run").table("distil_storage").height == 3
