"""Reading from files alone: no class name rebuilds them, no network is asked."""

from __future__ import annotations

import json
import os

import pytest
import tiktoken
import tiktoken.registry

from tests import builders
from vocab_audits.pipeline import pipeline
from workbench.adapters import load
from workbench.errors import Unreachable, UnreadableFile

PATTERN = r"\p{N}{1,3}| ?\p{L}+|\s+"


def years(folder, tokenizer_class: str, model_type: str):
    """A model directory whose file cuts numbers in threes, under a class name with its own idea of that."""
    backend = builders.byte_level(
        [b"20", b"202", b"2023"],
        [(b"2", b"0"), (b"20", b"2"), (b"202", b"3")],
        pattern=PATTERN,
        special=["<s>", "</s>", "<unk>"],
    )
    backend.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": tokenizer_class,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    return folder


@pytest.mark.parametrize(
    ("tokenizer_class", "model_type"), [("GPT2Tokenizer", "gpt2"), ("LlamaTokenizerFast", "llama")]
)
def test_a_model_directory_is_read_by_its_file(tmp_path, tokenizer_class, model_type):
    tokenizer = load(years(tmp_path, tokenizer_class, model_type))
    assert tokenizer.encode("2023 ab") == [257, 51, 32, 97, 98]
    assert tokenizer.folder == tmp_path
    assert tokenizer.pipeline.pattern == PATTERN


@pytest.mark.parametrize(
    ("tokenizer_class", "model_type", "severity"),
    [("GPT2Tokenizer", "gpt2", "flag"), ("LlamaTokenizerFast", "llama", "info")],
)
def test_a_class_that_rebuilds_the_file_is_reported(tmp_path, tokenizer_class, model_type, severity):
    pytest.importorskip("transformers")
    tokenizer = load(years(tmp_path, tokenizer_class, model_type))
    row = pipeline(tokenizer).table().filter(measure="class_differs").row(0, named=True)
    assert row["severity"] == severity
    if severity == "flag":
        assert row["value"] > 0
        assert "'2023 ab': the file gives [257, 51, 32, 97, 98]" in row["evidence"]
        assert "[258, 32, 97, 98]; they part at token 0" in row["evidence"]
    else:
        assert row["value"] == 0


@pytest.fixture
def cut_off(monkeypatch, tmp_path):
    """An empty cache and a network that every attempt to reach is recorded on."""
    attempts: list[str] = []

    def refuse(address: str, *_: object, **__: object) -> bytes:
        attempts.append(address)
        raise ConnectionError(address)

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setattr("tiktoken.load.read_file", refuse)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    return attempts


def test_an_encoding_out_of_reach_is_refused_with_the_ways_to_supply_it(cut_off):
    with pytest.raises(Unreachable, match=r"TIKTOKEN_CACHE_DIR.*#pattern="):
        load("tiktoken:cl100k_base")


def test_a_rank_file_needs_no_network(cut_off, tmp_path):
    import base64

    path = tmp_path / "own.tiktoken"
    ranks = builders.byte_ranks([b"th", b"the"])
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(piece), rank) for piece, rank in ranks.items()))
    assert load(f"{path}#pattern=cl100k_base").segment("the 1234").pieces == [
        *(b"the", b" ", b"1", b"2", b"3", b"4"),
    ]
    assert load(rf"{path}#pattern={builders.ANYTHING}").encode("the") == [257]
    assert cut_off == []
    with pytest.raises(UnreadableFile, match="#pattern="):
        load(path)


@pytest.mark.vocabs
def test_a_published_rank_file_brings_its_own_pattern(need, cut_off):
    path = need("cl100k")
    tokenizer = load(path)
    assert tokenizer.encode(" 2023")[-1:] == tokenizer.inventory.find(b"3")
    assert tokenizer.inventory.entry(100_257).bytes == b"<|endoftext|>"
    assert cut_off == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_before_it_is_opened(tmp_path):
    os.mkfifo(tmp_path / "tokenizer.json")
    os.mkfifo(tmp_path / "merges.txt")
    (tmp_path / "vocab.json").write_text(json.dumps({"a": 0}))
    with pytest.raises(UnreadableFile, match="must be a regular file"):
        load(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(UnreadableFile, match=r"needs its merges\.txt"):
        load(str(tmp_path))
