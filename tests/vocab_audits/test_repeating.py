"""The repeat test, with a model whose answers are known and with small real ones."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from tests import builders
from vocab_audits.repeating import SHOTS, causal, controls, repeat, unfit
from vocab_audits.undertrained import undertrained
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.weights import open_weights

MARKS = ([7], [8])
PIECES = [f" word{number:04d}".encode() for number in range(300)]


class Copier:
    """Says what stands before the sign again with these odds, but for entries that it cannot see."""

    def __init__(self, blind, size=40):
        self.blind, self.size, self.prompts = set(blind), size, []

    def __call__(self, ids):
        self.prompts += ids.tolist()
        logits = np.zeros((len(ids), self.size), np.float32)
        for row, prompt in enumerate(ids.tolist()):
            if prompt[-2] not in self.blind:
                logits[row, prompt[-2]] = 5
            else:
                logits[row, 3] = 5
        return logits


def test_what_is_not_said_again_fails():
    forward = Copier(blind={12, 30})
    shown, asked = np.array([20, 21]), np.array([11, 12, 30, *range(13, 29)])
    found = repeat(forward, shown, asked, MARKS)
    assert asked[~found.first].tolist() == [12, 30]
    passed, failed = np.exp(5) / (39 + np.exp(5)), 1 / (39 + np.exp(5))
    np.testing.assert_allclose(found.probability, np.where(found.first, passed, failed))
    assert forward.prompts[0] == [20, 7, 20, 8, 21, 7, 21, 8, 11, 7]
    assert [prompt[-2] for prompt in forward.prompts] == asked.tolist()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"architectures": ["BertModel"]}, "no language-model head"),
        ({"architectures": ["BertForMaskedLM"]}, "fills gaps"),
        ({"architectures": ["T5ForConditionalGeneration"]}, "no plain language model"),
        ({}, "no config.json"),
        ({"architectures": ["LlamaForCausalLM"]}, None),
        ({"architectures": ["GPT2LMHeadModel"]}, None),
    ],
)
def test_what_cannot_be_run_is_said(tmp_path, config, said):
    from safetensors.numpy import save_file

    save_file({"wte.weight": np.ones((4, 2), np.float32)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    why = unfit(open_weights(tmp_path))
    assert why is None if said is None else said in str(why)


def test_controls_are_ordinary_entries_of_the_better_half():
    table = pl.DataFrame(
        {
            "token_id": pl.Series(range(40), dtype=pl.Int32),
            "place": range(1, 41),
            "class": ["ok", "merge_blocked"] * 20,
            "kind": ["piece"] * 36 + ["special"] * 4,
        }
    )
    found = controls(table, 100)
    assert sorted(found) == [*range(20, 36, 2)]
    np.testing.assert_array_equal(found, controls(table, 100))
    assert len(controls(table, 3)) == 3


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with a small Llama at random, and the tokenizer of its 558 rows."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("llama")
    config = transformers.LlamaConfig(
        vocab_size=558, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        tie_word_embeddings=False,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    builders.byte_level(PIECES, pattern=r" ?\w+|\s+|.", ignore_merges=True).save(
        str(folder / "tokenizer.json")
    )
    return folder


def test_a_model_is_built_and_asked(model):
    tokenizer = load(str(model), "small")
    outcome = undertrained(tokenizer, verify=6)
    found = outcome.table().filter(measure="repeated")
    assert found.height == 2
    assert set(found["value"]) <= {n / 6 for n in range(7)}
    tested = outcome.tables["undertrained"].filter(pl.col("repeated").is_not_null())
    assert tested.height == 12
    import torch
    from transformers import AutoModelForCausalLM

    upstream = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    table = outcome.tables["undertrained"]
    shown = controls(table, 6 + SHOTS)[:SHOTS].tolist()
    between, end = tokenizer.encode(" ="), tokenizer.encode("\n")
    for token, probability, first in tested.select("token_id", "repeat_probability", "repeated").iter_rows():
        prompt = [part for each in shown for part in (each, *between, each, *end)] + [token, *between]
        with torch.inference_mode():
            logits = upstream(torch.tensor([prompt])).logits[0, -1]
        assert probability == pytest.approx(float(logits.double().softmax(0)[token]), rel=1e-4)
        assert first == (int(logits.argmax()) == token)
    again = undertrained(tokenizer, verify=6)
    assert again.tables["undertrained"].equals(outcome.tables["undertrained"])


def test_an_encoder_is_said_not_to_be_run(tmp_path, model):
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=556, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    outcome = undertrained(load(str(model), "small"), weights=str(tmp_path), verify=3)
    (row,) = outcome.table().filter(measure="repeated").iter_rows(named=True)
    assert row["value"] is None
    assert row["note"] == "cannot be run: BertModel has no language-model head"
    assert "repeated" not in outcome.tables["undertrained"].columns


def test_a_model_that_cannot_be_built_is_one_sentence(tmp_path):
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForCausalLM"], "model_type": "nonesuch"}')
    with pytest.raises(SutureError, match="set verify to 0") as error:
        causal(tmp_path)
    assert "\n" not in str(error.value)
