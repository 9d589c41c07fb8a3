"""The verb ``bridge``: its figures against plain loops, and what it refuses."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner

from probing.bridge.report import lies, positions, storage, vocabularies
from probing.tiny import Shape, build
from tests import builders
from workbench.adapters import load
from workbench.cli import build as application
from workbench.errors import SutureError

TEXTS = ["the then cat", "there the cat", "a"]
TEACHER = [(b"t", b"h"), (b"th", b"e"), (b"the", b"n"), (b"c", b"a")]
STUDENT = [(b"h", b"e"), (b"c", b"a"), (b"ca", b"t"), (b" ", b"the")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Folders of a teacher, a student and a model over the teacher."""
    folder = tmp_path_factory.mktemp("bridge")
    teacher = builders.byte_level([one + two for one, two in TEACHER], TEACHER)
    student = builders.byte_level(
        [b"he", b"ca", b"cat", b"the", b" the"], [*STUDENT[:3], (b"t", b"he"), STUDENT[3]]
    )
    for name, backend in (("teacher", teacher), ("student", student)):
        (folder / name).mkdir()
        backend.save(str(folder / name / "tokenizer.json"))
    shape = Shape(
        load(str(folder / "teacher")).inventory.rows_needed, width=16, layers=1, heads=2, context=64
    )
    build(shape, 4).save_pretrained(folder / "model")
    return folder


def run(*words):
    return CliRunner().invoke(application(), ["bridge", *map(str, words)], catch_exceptions=True)


def test_the_figures_of_a_model_by_loops(made):
    teacher, student = load(str(made / "teacher")), load(str(made / "student"))
    table = positions(made / "model", teacher, student, TEXTS, 1000)
    found = {row["what"][:9]: row for row in lies(table)["figures"]}
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(made / "model").eval()
    pieces, known = teacher.inventory.pieces, [piece for piece in student.inventory.pieces if piece]
    ends, spans = [], []
    for text in TEXTS[:2]:
        ids = teacher.encode(text)
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[0, :-1, : len(pieces)].double()
        for row, token in zip(torch.softmax(logits, -1).tolist(), ids[1:], strict=True):
            for size in range(1, len(pieces[token])):
                prefix = pieces[token][:size]
                below = sum(p for p, piece in zip(row, pieces, strict=True) if piece.startswith(prefix))
                ends.append(sum(p for p, piece in zip(row, pieces, strict=True) if piece == prefix) / below)
            longer = [any(k != piece and k.startswith(piece) for k in known) for piece in pieces]
            spans.append(sum(p for p, span in zip(row, longer, strict=True) if span))
    assert found["e = P(the"]["mean"] == pytest.approx(sum(ends) / len(ends), rel=1e-5)
    assert found["e = P(the"]["max"] == pytest.approx(max(ends), rel=1e-5)
    assert found["spannable"]["mean"] == pytest.approx(sum(spans) / len(spans), rel=1e-5)
    assert found["residual:"]["max"] == 0
    first = table.filter(sample=0)
    spelled = bytes(first["byte"].drop_nulls().to_list())
    assert TEXTS[0].encode().endswith(spelled)
    assert len(spelled) == len(TEXTS[0]) - len(pieces[teacher.encode(TEXTS[0])[0]])
    assert table.filter(pl.col("depth") > 0)["spannable"].null_count() == (table["depth"] > 0).sum()
    assert (table["ending"] <= table["bound"] + 1e-9).all()


def test_storage_is_counted_in_bytes_of_text(made):
    from probing.bridge.chunks import pair_texts

    teacher = load(str(made / "teacher"))
    rows = storage(teacher, pair_texts(teacher, load(str(made / "student")), TEXTS))
    size, tokens = sum(map(len, TEXTS)), sum(len(teacher.encode(text)) for text in TEXTS)
    every = 2 * teacher.inventory.rows_needed * tokens / size
    assert [row["bytes_per_text_byte"] for row in rows] == pytest.approx(
        [every, 300 * tokens / size, 514 * (size + tokens) / size, 512]
    )


def test_equal_vocabularies_have_a_twin_of_everything(made):
    one = load(str(made / "teacher"))
    found = vocabularies(one, one)
    assert found["share with a twin of the same bytes"] == found["share with a home"] == 1
    assert found["teacher entries that spell bytes"] == len(one.inventory)


def test_the_verb_prints_tables_and_json(made):
    shown = run(made / "teacher", made / "student", "--text", "the then cat", "--json")
    assert shown.exit_code == 0, shown.output
    document = json.loads(shown.stdout)
    assert sum(row["bytes"] for row in document["chunks"]) == len("the then cat")
    assert "2610.08448" in document["claim"]
    kept = made / "positions.parquet"
    words = ("--text", "the then cat", "--model", made / "model")
    shown = run(made / "teacher", made / "student", *words, "--json", "-o", kept)
    assert shown.exit_code == 0, shown.output
    assert pl.read_parquet(kept).to_dicts() == json.loads(shown.stdout)["model"]["each"]
    refused = run(made / "teacher", made / "student", "--text", "the", "-o", kept)
    assert isinstance(refused.exception, SutureError)
    plain = run(made / "teacher", made / "student", "--text", "the then cat", "--model", made / "model")
    assert plain.exit_code == 0, plain.output
    assert "At 5 tokens" in plain.stdout or "tokens that the model predicts" in plain.stdout
    assert "1:1" in plain.stdout


def test_what_cannot_be_bridged_is_one_sentence(made, tmp_path):
    teacher, student = load(str(made / "teacher")), load(str(made / "student"))
    with pytest.raises(SutureError, match=r"config\.json and safetensors"):
        positions(tmp_path, teacher, student, TEXTS, 10)
    with pytest.raises(SutureError, match="two tokens or more"):
        positions(made / "model", teacher, student, ["a"], 10)
    build(Shape(20, width=16, layers=1, heads=2)).save_pretrained(tmp_path / "small")
    with pytest.raises(SutureError, match="a row for each of the teacher's"):
        positions(tmp_path / "small", teacher, student, TEXTS, 10)
    assert math.isfinite(vocabularies(teacher, student)["share with a home"])


def test_a_checkpoint_without_its_weights_is_refused(made, tmp_path):
    teacher, student = load(str(made / "teacher")), load(str(made / "student"))
    (tmp_path / "config.json").write_bytes((made / "model" / "config.json").read_bytes())
    save_file({"w": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(SutureError, match="must hold every weight of its model"):
        positions(tmp_path, teacher, student, TEXTS, 10)
