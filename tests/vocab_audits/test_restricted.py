"""A BPE read at a smaller size, against one trained to that size and against plain loops."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders
from vocab_audits.restricted import NEVER, Restricted
from vocab_audits.sampling import pretoken_counts
from vocab_audits.training import bpe, from_merges
from workbench.adapters import load
from workbench.bpe import BPE, BYTES
from workbench.errors import SutureError

TEXT = [
    "the walker walks where the walking was; the talker talks, talking, talked",
    "unhappiness unhappily happy happiness; 1984 and 1984, naïve naïve façade",
    "Straße Straßen 日が出ている 日が aaaaaaaa aaaa banana bananas banana",
]


def grown(texts, size):
    counts = pretoken_counts(texts, None)
    tokenizer = load(bpe(counts, size), "bpe")
    return counts, tokenizer, Restricted.of(tokenizer.inventory)


def pieces(tokenizer, text):
    return [tokenizer.inventory.pieces[token] for token in tokenizer.encode(text)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("abcé ", min_size=1, max_size=30), min_size=1, max_size=8), st.integers(1, 40))
def test_a_beginning_is_what_training_to_its_size_gives(texts, fewer):
    counts, full, restricted = grown(texts, 330)
    size = max(257, len(full.inventory) - fewer)
    alone = load(bpe(counts, size), "alone")
    size = len(alone.inventory)
    assert full.inventory.pieces[:size] == alone.inventory.pieces
    words = list(counts)
    whole, part = full.encode_batch(words), alone.encode_batch(words)
    each = restricted.tokens(size)
    assert [int(each[whole.row(index)].sum()) for index in range(len(words))] == np.diff(
        part.offsets
    ).tolist()
    used = np.bincount(whole.ids, minlength=len(full.inventory))
    expected = np.bincount(part.ids, minlength=len(full.inventory))
    assert restricted.counts(used, size).tolist() == expected.tolist()
    cut = np.flatnonzero(restricted.joined_by(whole.ids) >= size) + 1
    assert cut.tolist() == np.cumsum(alone.inventory.lengths[part.ids]).tolist()


def test_every_size_of_a_text_in_several_scripts():
    counts, full, restricted = grown(TEXT, 400)
    words = list(counts)
    whole = full.encode_batch(words)
    for size in range(256, len(full.inventory) + 1, 7):
        alone = load(bpe(counts, size), "alone")
        assert alone.inventory.pieces == full.inventory.pieces[:size]
        assert restricted.tokens(size)[whole.ids].sum() == len(alone.encode_batch(words).ids)


def test_each_merge_is_a_most_frequent_pair_of_what_the_merges_before_leave():
    counts, full, _ = grown(TEXT, 320)
    words = {word: [bytes([byte]) for byte in word.encode()] for word in counts}
    inventory = full.inventory
    assert inventory.merges is not None
    for left, right, made in inventory.merges.tolist():
        pairs = Counter()
        for word, parts in words.items():
            for pair in pairwise(parts):
                pairs[pair] += counts[word]
        chosen = (inventory.pieces[left], inventory.pieces[right])
        assert pairs[chosen] == max(pairs.values()) >= 2
        for word, parts in words.items():
            joined: list[bytes] = []
            for part in parts:
                if joined and (joined[-1], part) == chosen:
                    joined[-1] += part
                else:
                    joined.append(part)
            # A part joined a moment ago is no left neighbour of the same join.
            words[word] = joined
        assert inventory.pieces[made] == b"".join(chosen)


def test_segments_as_the_reference_with_the_same_merges():
    counts, full, _ = grown(TEXT, 400)
    inventory = full.inventory
    assert inventory.merges is not None
    alphabet = {piece: index for index, piece in enumerate(inventory.pieces[:256])}
    reference = BPE(
        {(left, right): made for left, right, made in inventory.merges.tolist()}, alphabet=alphabet
    )
    for word in counts:
        assert full.encode(word) == reference.segment(word.encode())


def test_written_from_its_merges_it_is_the_same():
    counts, full, restricted = grown(TEXT, 360)
    table = full.inventory.pieces
    pairs = zip(restricted.left[256:].tolist(), restricted.right[256:].tolist(), strict=True)
    again = load(from_merges([(table[left], table[right]) for left, right in pairs]), "again")
    assert again.inventory.pieces == table
    assert [again.encode(word) for word in counts] == [full.encode(word) for word in counts]


def test_places_between_tokens_and_at_the_end_are_never_joined():
    _, full, restricted = grown(TEXT, 300)
    ids = np.array(full.encode("q") + full.encode("zz"), np.int32)
    assert restricted.joined_by(ids).tolist() == [NEVER] * 3


def test_a_bpe_without_merges_and_ids_in_another_order():
    assert Restricted.of(load(bpe(Counter({"ab": 1}), 300), "bpe").inventory).levels[0].tolist() == list(
        range(256)
    )
    turned = builders.bpe({"ab": 0, "a": 1, "b": 2}, ["a b"])
    with pytest.raises(SutureError, match="single bytes and then the merges in order"):
        Restricted.of(load(turned, "turned").inventory)
    assert len(BYTES) == 256
