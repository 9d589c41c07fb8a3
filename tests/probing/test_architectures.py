"""Hooks against the library's own hidden states, heads against its own logits, for every family."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.probing import tinymodels as tiny
from workbench.errors import SutureError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from probing.architectures import FAMILIES, family_of, found  # noqa: E402 after what they need
from probing.capture import capture  # noqa: E402
from probing.models import open_model, wrap  # noqa: E402

TEXT = tiny.TEXTS[0]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Give `opened(kind)`, a model read from a folder that was written once."""
    kept = {}

    def get(kind):
        if kind not in kept:
            folder = tiny.save(kind, tmp_path_factory.mktemp("models") / kind)
            kept[kind] = open_model(folder)
        return kept[kind]

    return get


def upstream(model, text):
    """The text as the library itself would run it: inputs, and hidden states."""
    library = transformers.AutoTokenizer.from_pretrained(model.tokenizer.folder)
    inputs = {
        key: value for key, value in library(text, return_tensors="pt").items() if key != "token_type_ids"
    }
    with torch.inference_mode():
        return inputs, model.module(**inputs, output_hidden_states=True)


def test_every_family_has_a_small_model():
    assert set(tiny.CONFIGS) == set(FAMILIES)


@pytest.mark.parametrize("kind", FAMILIES)
def test_hooks_give_the_librarys_hidden_states_bit_for_bit(opened, kind, tmp_path):
    model, seen = opened(kind), tiny.Seen()
    trace = capture(model, [TEXT], tmp_path / "t", observers=[seen])
    inputs, output = upstream(model, TEXT)
    ids = inputs["input_ids"][0].tolist()
    before, after = model.template
    assert [*before, *trace.units["token_id"], *after] == ids
    inner = slice(len(before), len(ids) - len(after))
    states = output.hidden_states
    assert len(states) == model.depth + 1
    for layer in range(model.depth + (model.parts.norm is None)):
        wanted = states[layer][0, inner].numpy()
        np.testing.assert_array_equal(seen.states[str(layer)][0], wanted)
        np.testing.assert_array_equal(trace.states(str(layer)), wanted.astype(np.float16))
    last = output.last_hidden_state[0, inner].numpy()
    name = f"{model.depth}.norm"
    if model.parts.norm:
        ours = torch.from_numpy(seen.states[name][0])
        if model.parts.between:
            ours = model.module.get_submodule(model.parts.between)(ours).detach()
        np.testing.assert_array_equal(ours.numpy(), last)
        assert np.abs(seen.states[str(model.depth)][0] - seen.states[name][0]).max() > 0.01
    else:
        assert name not in model.layers
    rows = model.module.get_input_embeddings().weight[inputs["input_ids"][0, inner]]
    np.testing.assert_array_equal(seen.states["static"][0], rows.detach().numpy())


ADDED = ("gpt2", "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "opt", "bloom",
         "gpt_neox", "modernbert", "t5")  # fmt: skip


@pytest.mark.parametrize("kind", ADDED)
def test_sublayers_are_what_a_block_adds(opened, kind, tmp_path):
    model, seen = opened(kind), tiny.Seen()
    names = [*map(str, range(model.depth + 1)), *model.sublayers]
    capture(model, [TEXT], tmp_path / "t", layers=names, observers=[seen])
    state = {name: parts[0] for name, parts in seen.states.items()}
    for layer in range(1, model.depth + 1):
        total = state[str(layer - 1)] + state[f"{layer}.attn"] + state[f"{layer}.mlp"]
        np.testing.assert_allclose(state[str(layer)], total, atol=2e-5)


POST = ("bert", "roberta", "electra", "deberta-v2", "mpnet", "distilbert", "albert")
NORMED = {
    "distilbert": ("sa_layer_norm", "output_layer_norm"),
    "albert": ("albert_layers.0.attention.LayerNorm", "albert_layers.0.full_layer_layer_norm"),
    "mpnet": ("attention.LayerNorm", "output.LayerNorm"),
}


@pytest.mark.parametrize("kind", POST)
def test_sublayers_are_what_is_added_before_a_norm(opened, kind, tmp_path):
    model, seen = opened(kind), tiny.Seen()
    names = [*map(str, range(model.depth + 1)), *model.sublayers]
    capture(model, [TEXT], tmp_path / "t", layers=names, observers=[seen])
    state = {name: torch.from_numpy(parts[0]) for name, parts in seen.states.items()}
    blocks = model.module.get_submodule(model.parts.blocks)
    first, second = NORMED.get(kind, ("attention.output.LayerNorm", "output.LayerNorm"))
    for layer in range(1, model.depth + 1):
        block = blocks[0 if model.parts.shared else layer - 1]
        with torch.inference_mode():
            middle = block.get_submodule(first)(state[str(layer - 1)] + state[f"{layer}.attn"])
            last = block.get_submodule(second)(middle + state[f"{layer}.mlp"])
        np.testing.assert_allclose(state[str(layer)], last, atol=2e-5)


@pytest.mark.parametrize("kind", [kind for kind, family in FAMILIES.items() if family.head])
def test_unembedding_is_the_librarys_own_head(opened, kind, tmp_path):
    model, seen = opened(kind), tiny.Seen()
    capture(model, [TEXT], tmp_path / "t", observers=[seen])
    inputs, _ = upstream(model, TEXT)
    with torch.inference_mode():
        logits = model.full(**inputs).logits[0].numpy()
    before, after = model.template
    wanted = logits[len(before) : len(logits) - len(after)]
    assert model.lens == "head"
    np.testing.assert_allclose(model.unembed(seen.states[str(model.depth)][0]), wanted, atol=1e-4)
    if model.parts.norm:
        last = seen.states[f"{model.depth}.norm"][0]
        np.testing.assert_allclose(model.unembed(last, normed=True), wanted, atol=1e-4)


@pytest.mark.parametrize("kind", ["roberta", "bert", "electra", "llama", "t5"])
def test_without_a_head_the_embedding_stands_in_and_is_named(kind, tmp_path):
    made = tiny.save(
        kind, tmp_path / "m", head=kind == "t5", **({"tie_word_embeddings": False} if kind == "llama" else {})
    )
    model = open_model(made)
    assert model.lens == "tied embedding"
    states = np.random.default_rng(0).normal(size=(4, model.width)).astype(np.float32)
    logits = model.unembed(states)
    weight = model.module.get_input_embeddings().weight.detach()
    if kind == "electra":
        assert logits is None
        return
    value = torch.from_numpy(states)
    if model.parts.norm:
        value = model.module.get_submodule(model.parts.norm)(value).detach()
    np.testing.assert_allclose(logits, (value @ weight.T).numpy(), rtol=1e-5, atol=1e-5)
    if kind != "t5":
        assert any("stands in" in note for note in model.notes)


@pytest.mark.parametrize("kind", ["phi", "gptj"])
def test_a_type_without_a_row_is_looked_over(kind, tmp_path):
    values = {
        "phi": ("Phi", {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4,
                        "intermediate_size": 64, "max_position_embeddings": 64}),
        "gptj": ("GPTJ", {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64, "rotary_dim": 4}),
    }  # fmt: skip
    stem, shape = values[kind]
    size = tiny.tokenizer("gpt").get_vocab_size()
    config = getattr(transformers, f"{stem}Config")(vocab_size=size, bos_token_id=0, eos_token_id=0, **shape)
    made = getattr(transformers, f"{stem}Model")(config)
    made.save_pretrained(tmp_path / "m")
    tiny.with_tokenizer("gpt2", tmp_path / "m")
    model = open_model(tmp_path / "m")
    assert model.parts.blocks in ("layers", "h")
    assert model.parts.norm in ("final_layernorm", "ln_f")
    seen = tiny.Seen()
    capture(model, [TEXT], tmp_path / "t", observers=[seen])
    _, output = upstream(model, TEXT)
    for layer in range(model.depth):
        np.testing.assert_array_equal(seen.states[str(layer)][0], output.hidden_states[layer][0].numpy())
    np.testing.assert_array_equal(seen.states[f"{model.depth}.norm"][0], output.last_hidden_state[0].numpy())


@pytest.mark.parametrize(
    "config",
    [{}, {"model_type": "frobnicate"}, {"model_type": 3}, {"model_type": "bart", "is_encoder_decoder": True}],
)
def test_an_unknown_type_is_one_sentence(config):
    with pytest.raises(SutureError, match="must be of a type") as error:
        family_of(config, "here")
    assert "\n" not in str(error.value)


def test_a_model_without_one_list_of_blocks_is_refused():
    from torch import nn

    from probing.architectures import Family

    odd = nn.Module()
    odd.one = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    with pytest.raises(SutureError, match="must have one list of 3 blocks; Odd has 0"):
        found(Family("odd", "Odd", ""), odd, 3)
    odd.two = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    with pytest.raises(SutureError, match=r"has 2 \(one, two\)"):
        found(Family("odd", "Odd", ""), odd, 2)


def test_a_model_in_memory_is_traced_like_one_from_a_folder(opened, tmp_path):
    model = opened("roberta")
    same = wrap(tiny.module("roberta"), model.tokenizer, "same")
    assert same.full is not None
    first, second = tiny.Seen(), tiny.Seen()
    capture(model, tiny.TEXTS, tmp_path / "a", observers=[first])
    capture(same, tiny.TEXTS, tmp_path / "b", observers=[second])
    for layer in model.layers:
        np.testing.assert_array_equal(
            np.concatenate(first.states[layer]), np.concatenate(second.states[layer])
        )
    assert same.digest == wrap(tiny.module("roberta"), model.tokenizer).digest
    assert same.digest != wrap(tiny.module("roberta", seed=1), model.tokenizer).digest


def test_a_layer_that_gives_nothing_is_named(opened, tmp_path):
    """As code of another make than its family's would."""
    model = opened("gpt2")
    whole = model.module.h
    try:
        model.module.h = whole[:2]
        with pytest.raises(SutureError, match="3 of gpt2 gave none"):
            capture(model, [TEXT], tmp_path / "t", layers=["3"])
    finally:
        model.module.h = whole
    assert json.loads((model.tokenizer.folder / "config.json").read_text())["n_layer"] == 3
