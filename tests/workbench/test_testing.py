"""The contract checks themselves: each refuses what breaks its rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tests import builders
from workbench.adapters import load
from workbench.inventory import Inventory
from workbench.normalising import Normalised
from workbench.segmentation import Segmentation
from workbench.testing import HARD, ContractBroken, check_inventory, check_segmenter, check_tokenizer
from workbench.tokenizer import Encoded, Pipeline, Tokenizer

TEXTS = ["", "ab cd", "é", "a🙂b"]


class Words:
    """A right segmenter: each character alone."""

    name = "characters"

    def segment(self, text: str) -> Segmentation:
        cuts = np.cumsum([0, *(len(character.encode()) for character in text)])
        return Segmentation.from_cuts(text.encode(), cuts)

    def segment_batch(self, texts):
        return [self.segment(text) for text in texts]


def changed(found: Segmentation, **fields: Any) -> Segmentation:
    """A segmentation with fields that its own checks would not let in."""
    copy = replace(found)
    for key, value in fields.items():
        object.__setattr__(copy, key, value)
    return copy


class Nameless(Words):
    name = ""


class OtherText(Words):
    def segment(self, text):
        return super().segment(text.upper())


class Forgetful(Words):
    def segment_batch(self, texts):
        return super().segment_batch(texts)[1:]


class Unlike(Words):
    def segment_batch(self, texts):
        return [Segmentation.from_cuts(text.encode(), [0, len(text.encode())]) for text in texts]


class Restless(Words):
    def __init__(self):
        self.calls = 0

    def segment(self, text):
        self.calls += 1
        found = super().segment(text)
        return changed(found, unknown=(0,)) if self.calls % 2 and len(found) else found


class Holed(Words):
    """Says that it is exact though its last token is missing."""

    def segment(self, text):
        found = super().segment(text)
        return changed(found, starts=found.starts[:-1], ends=found.ends[:-1])


class Greedy(Words):
    """Absorbs what its tokens cover."""

    def segment(self, text):
        found = super().segment(text)
        return changed(found, absorbed=np.array([[0, len(found.text)]]))


class Marking(Words):
    def segment(self, text):
        found = super().segment(text)
        return changed(found, synthetic=(len(found),))


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (Nameless, "must have a name"),
        (OtherText, "must hold the text as given"),
        (Forgetful, "one segmentation a text"),
        (Unlike, "what single calls give"),
        (Restless, "twice must give the same"),
        (Holed, "must join to the text"),
        (Greedy, "must tile the text"),
        (Marking, "must be indices of tokens"),
    ],
)
def test_a_broken_segmenter_is_told_what_it_breaks(broken, rule):
    with pytest.raises(ContractBroken, match=rule):
        check_segmenter(broken(), TEXTS)


def test_a_right_segmenter_passes():
    check_segmenter(Words(), HARD)


@dataclass(frozen=True)
class Engine:
    """Encodes each byte as itself, then changes the ids."""

    change: Any

    def encode_batch(self, texts):
        return Encoded.of([self.change(list(text.encode())) for text in texts])

    def encode_control(self, text):
        return self.encode_batch([text]).ids.tolist()

    def normalise(self, text):
        return Normalised(text.encode(), ())

    def pretokenize(self, text):
        return [text]

    def model_ids(self, pretoken):
        return list(pretoken.encode())

    def unknown_spans(self, _, **__):
        return []


def tokenizer(change=lambda ids: ids, pieces=None, kinds=None, *, byte_level=True) -> Tokenizer:
    pieces = pieces or [bytes([byte]) for byte in range(256)]
    columns = {"id": range(len(pieces)), "bytes": pieces, "kind": kinds or ["piece"] * len(pieces)}
    inventory = Inventory.build("own", "test", columns)
    return Tokenizer(inventory, Pipeline("BPE", byte_level=byte_level), Engine(change))


def test_a_right_tokenizer_passes():
    check_tokenizer(tokenizer())


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (tokenizer(lambda ids: ids[:-1]), "must be exact"),
        (tokenizer(kinds=["piece"] * 97 + ["unused"] + ["piece"] * 158), "id 97, a unused"),
        (tokenizer(lambda ids: [400, *ids], byte_level=False), "within the inventory"),
    ],
)
def test_a_broken_tokenizer_is_told_what_it_breaks(broken, rule):
    with pytest.raises(ContractBroken, match=rule):
        check_tokenizer(broken, TEXTS)


def test_a_control_token_must_not_come_of_other_text():
    pieces = [*(bytes([byte]) for byte in range(256)), b"<s>"]
    broken = tokenizer(lambda ids: [256, *ids], pieces, ["piece"] * 256 + ["special"], byte_level=False)
    with pytest.raises(ContractBroken, match="control id 256"):
        check_tokenizer(broken, ["a"])


def test_a_tokenizer_that_takes_surrogates_is_refused():
    class Lenient(Tokenizer):
        def segment(self, text):
            return super().segment(text.encode(errors="replace").decode())

    good = tokenizer()
    with pytest.raises(ContractBroken, match="lone surrogate"):
        check_tokenizer(Lenient(good.inventory, good.pipeline, good.engine), TEXTS)


def test_an_inventory_that_loses_an_entry_is_refused():
    inventory = load(builders.encoding()).inventory
    object.__setattr__(inventory, "_by_bytes", {})
    with pytest.raises(ContractBroken, match="must find it"):
        check_inventory(inventory)


def test_merges_that_name_no_entry_are_refused():
    inventory = Inventory.build("own", "test", {"id": [0], "bytes": [b"a"]}, np.array([[0, 0, 7]], np.int32))
    with pytest.raises(ContractBroken, match="rows of three ids"):
        check_inventory(inventory)
