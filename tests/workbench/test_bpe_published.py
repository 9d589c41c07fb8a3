"""Our BPE on published vocabularies: their ranks, their merges, and what the libraries make of them."""

from __future__ import annotations

import base64
import json

import pytest
import tiktoken
import tokenizers

from workbench.bpe import BPE, GPT2_PATTERN, dependants, genealogy, merges_from_ranks, merges_in_use

TEXTS = [
    "The unhappiest people's happiness isn't unhappily happening; they've re-happened in 1984.",
    "Die Donaudampfschifffahrtsgesellschaft fährt schnell, Straße.   \n\n \t x  ",
    "Съешь ещё этих мягких булок. ταχίστη αλώπηξ. नमस्ते दुनिया, 我能吞下玻璃 ئاتا 🙂👩‍👩‍👧",
    "\x00\x01\x7f\x1c\x85\u00a0\u2028\u3000\ufeff ½ ² ٣",
    "unhappily" * 60 + " " * 300,
]


def load_ranks(path):
    lines = (line.split() for line in path.read_bytes().splitlines())
    return {base64.b64decode(piece): int(rank) for piece, rank in lines}


@pytest.mark.vocabs
@pytest.mark.parametrize("name", ["gpt2", "cl100k", pytest.param("o200k", marks=pytest.mark.slow)])
def test_real_ranks_split_into_lower_ranks(need, name):
    ranks = load_ranks(need(name))
    recovered = merges_from_ranks(ranks)
    pieces = {rank: piece for piece, rank in ranks.items()}
    left, right, made = recovered.merges.T
    assert recovered.unbuilt.size == 0
    assert made.tolist() == sorted(rank for piece, rank in ranks.items() if len(piece) > 1)
    assert (left < made).all()
    assert (right < made).all()
    assert all(pieces[one] + pieces[two] == pieces[both] for one, two, both in recovered.merges.tolist())
    token_id = int(made[-1])
    tree = genealogy(token_id, recovered.merges, pieces)
    assert [leaf.bytes for leaf in tree.leaves()] == [bytes([value]) for value in pieces[token_id]]
    assert token_id in dependants(recovered.merges, [tree.left.id])


@pytest.mark.vocabs
def test_gpt2_segments_as_tiktoken(need):
    theirs = tiktoken.Encoding(
        "gpt2", pat_str=GPT2_PATTERN, mergeable_ranks=load_ranks(need("gpt2")), special_tokens={}
    )
    ours = BPE.from_ranks(load_ranks(need("gpt2")))
    for text in TEXTS:
        assert ours.encode(text) == theirs.encode_ordinary(text)


@pytest.mark.vocabs
def test_published_merges_are_recovered_from_ranks(need):
    # Qwen publishes one vocabulary twice: as ranks alone, and with the merges that made them, in order.
    recovered = merges_from_ranks(load_ranks(need("qwen")))
    model = json.loads(need("qwen3").read_bytes())["model"]
    ids = model["vocab"]
    published = [[ids[left], ids[right], ids[left + right]] for left, right in model["merges"]]
    assert recovered.merges.tolist() == published
    assert recovered.unbuilt.size == 0


@pytest.mark.slow
@pytest.mark.vocabs
def test_entries_that_llama3_cannot_build(need):
    # Llama 3 lists several pairs an entry and leans on ignore_merges; without it tokenizers must agree.
    stated = json.loads(need("llama3").read_bytes())
    ids = stated["model"]["vocab"]
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in stated["model"]["merges"]]
    recovered = merges_in_use([(ids[left], ids[right], ids[left + right]) for left, right in pairs])
    assert len(pairs) > len(recovered.merges) > 100_000
    model = tokenizers.models.BPE(vocab=ids, merges=[tuple(pair) for pair in pairs], ignore_merges=False)
    names = list(ids)
    apart = [ids[name] for name in names if len(model.tokenize(name)) > 1]
    assert sorted(recovered.unbuilt.tolist()) == sorted(apart)
    assert len(apart) > 0
