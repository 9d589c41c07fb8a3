"""What a foreign library raises, panics included, is one sentence."""

import json
import os
import subprocess
import sys

import pytest
import tiktoken

from tests import builders
from workbench.adapters import load
from workbench.errors import SutureError, UnreadableFile, upstream
from workbench.inventory import Inventory


def test_a_model_that_cannot_say_unknown_is_refused_when_it_must() -> None:
    tokenizer = load(
        builders.document({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "[UNK]"}), "made"
    )
    with pytest.raises(SutureError, match=r"made must encode text; its library fails"):
        tokenizer.encode("b")


def test_ranks_without_every_byte_panic_in_the_library() -> None:
    made = tiktoken.Encoding(
        "made", pat_str=r"[\s\S]+", mergeable_ranks={b"a": 0, b"b": 1}, special_tokens={}
    )
    with pytest.raises(SutureError, match="must encode text"):
        load(made).encode("xyz")


def test_a_lone_surrogate_is_still_told_by_its_place() -> None:
    with pytest.raises(SutureError, match="lone surrogate"):
        load(builders.encoding()).encode("a\ud83d")


@pytest.mark.parametrize("number", ["9" * 5000, str(2**31), str(2**70)])
def test_absurd_ids_in_a_file(tmp_path, number) -> None:
    path = tmp_path / "tokenizer.json"
    vocab = f'{{"a": {number}}}'
    path.write_text(f'{{"added_tokens": [], "model": {{"type": "BPE", "merges": [], "vocab": {vocab}}}}}')
    with pytest.raises((UnreadableFile, SutureError)):
        load(path)


def test_columns_of_other_types_are_refused() -> None:
    with pytest.raises(SutureError, match="must give ids, bytes and scores"):
        Inventory.build("x", "y", {"id": [2**40], "bytes": [b"a"]})


def test_an_interrupt_is_no_library_failure() -> None:
    with pytest.raises(KeyboardInterrupt), upstream("x must y"):
        raise KeyboardInterrupt


def test_a_defect_is_a_sentence_unless_its_traceback_is_asked_for(tmp_path) -> None:
    plugin = tmp_path / "broken_verb.py"
    plugin.write_text("def broken() -> None:\n    '''Break.'''\n    raise ValueError('oh')\n")
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[suture.commands]\nbroken = broken_verb:broken\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "workbench", "broken"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "ValueError: oh" in result.stderr
    asked = subprocess.run(
        command, env={**environment, "SUTURE_TRACEBACK": "1"}, capture_output=True, text=True, check=False
    )
    assert "Traceback" in asked.stderr


def test_json_is_not_needed_to_be_pretty(tmp_path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(json.loads(builders.byte_level().to_str())))
    assert load(path).encode("a") == [97]
