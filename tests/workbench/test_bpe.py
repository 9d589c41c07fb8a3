"""Our BPE against the libraries, and its facts against brute force."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.bpe import (
    BPE,
    GPT2_PATTERN,
    builds,
    dependants,
    genealogy,
    merges_from_ranks,
    merges_in_use,
    pretokens,
    split,
    train,
)
from workbench.errors import SutureError, UnknownName

WHOLE = r"(?s).+"  # the whole text is one pre-token
LETTERS = b"abc"
STRINGS = [bytes(word) for size in range(1, 8) for word in product(LETTERS, repeat=size)]
CORPUS = [
    "The unhappiest unhappily unhappy people's happiness isn't happening; they've re-happened in 1984.",
    "Die Donaudampfschifffahrtsgesellschaft fährt; die Gesellschaften fahren, gefahren wird schnell, Straße.",
    "evlerimizden evlerinizden evlerden geldik, okullarımızdan okullardan geldiniz  \n\n  \tx:\n    return",
    "Съешь ещё этих мягких булок. ταχίστη αλώπηξ. नमस्ते दुनिया, 我能吞下玻璃而不伤身体。 ئاتا بالا 🙂🙂👩‍👧",
]
HARD = [
    "",
    " ",
    "   \n\n \t x  ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "don't I'LL we've 'sd 12345 1/2 ½ ² ٣",
    "naïve naïve ﬁ Straße STRASSE İıİ",
    "\x00\x01\x7f\x1c\x85\u00a0\u2028\u3000\ufeff",
    "👩‍👩‍👧‍👦🏳️‍🌈🇬🇷🙂",
    "नमस्ते दुनिया 我能吞下玻璃 ئاتا ᚠᛇᚻ",
    "\U0010ffff\ue000",
    "unhappily" * 60,
    "x" * 700 + " " * 700,
]
# Characters that every library's Unicode tables know: no surrogates, nothing unassigned.
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cn")), max_size=60) | st.text(
    "ahpniu'e \n1é", max_size=60
)
WORDS = st.text("abc", min_size=1, max_size=40).map(str.encode)


@st.composite
def rank_tables(draw):
    """Ranks over three letters in any order: parts may rank after what they build, or be missing."""
    pieces = draw(st.lists(st.text("abc", min_size=2, max_size=6).map(str.encode), unique=True, max_size=14))
    ranks = draw(st.permutations(range(3, 3 + len(pieces))))
    return {b"a": 0, b"b": 1, b"c": 2} | dict(zip(pieces, ranks, strict=True))


@st.composite
def pair_tables(draw):
    """Explicit merges over three letters in any order; an entry may have several pairs, or a useless one."""
    ids = {b"a": 0, b"b": 1, b"c": 2}
    merges = {}
    for _ in range(draw(st.integers(0, 14))):
        left, right = draw(st.sampled_from(sorted(ids))), draw(st.sampled_from(sorted(ids)))
        if len(left + right) <= 7:
            merges[ids[left], ids[right]] = ids.setdefault(left + right, len(ids))
    return {pair: merges[pair] for pair in draw(st.permutations(sorted(merges)))}


@cache
def trained() -> BPE:
    return train(CORPUS * 3, 420)


def naive(units, rank):
    """BPE as it is told: look at all pairs, join the best (leftmost of equals), repeat; gives every join."""
    parts, joins = list(units), []
    while True:
        ranked = [
            (rank(*pair), place) for place, pair in enumerate(pairwise(parts)) if rank(*pair) is not None
        ]
        if not ranked:
            return parts, joins
        _, place = min(ranked)
        joins.append((parts[place], parts[place + 1]))
        parts[place : place + 2] = [parts[place] + parts[place + 1]]


def singles(data):
    return [data[place : place + 1] for place in range(len(data))]


def naive_ranks(ranks, data):
    return naive(singles(data), lambda left, right: ranks.get(left + right))


def naive_pairs(bpe, data):
    order = list(bpe.merges)

    def rank(left, right):
        pair = bpe.ranks[left], bpe.ranks[right]
        return order.index(pair) if pair in bpe.merges else None

    return naive(singles(data), rank)


def spelled(bpe):
    return {token_id: piece for piece, token_id in bpe.ranks.items()}


def table(bpe):
    return [(*pair, made) for pair, made in bpe.merges.items()]


# ---- training


def test_classic_example():
    # The example of Wikipedia's article on byte-pair encoding: aa, then ab, then both together.
    bpe = train(["aaabdaaabac"], 259, WHOLE)
    assert bpe.merges == {(97, 97): 256, (97, 98): 257, (256, 257): 258}
    assert bpe.segment(b"aaabdaaabac") == [258, 100, 258, 97, 99]
    assert {piece: rank for piece, rank in bpe.ranks.items() if rank > 255} == {
        b"aa": 256,
        b"ab": 257,
        b"aaab": 258,
    }


def test_words_of_sennrich():
    # The words of Sennrich et al. 2016, algorithm 1, without the mark of a word's end. First es 9, st 9 and
    # we 8 times: the tie goes to the lower left id. After est, lo and ow stand 7 times each.
    bpe = train(["low " * 5 + "lower " * 2 + "newest " * 6 + "widest " * 3], 260, r"\w+")
    assert [bytes(spelled(bpe)[made]) for made in bpe.merges.values()] == [b"es", b"est", b"lo", b"low"]


def naive_train(texts, size, pattern, least):
    """Training as it is told: count everything anew before every merge."""
    words = [list(piece.encode()) for text in texts for piece in pretokens(text, pattern)]
    merges = {}
    while 256 + len(merges) < size:
        counts = Counter(pair for word in words for pair in pairwise(word))
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < least:
            break
        made = merges[best] = 256 + len(merges)
        for word in words:
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == best:
                    word[place : place + 2] = [made]
                place += 1
    return merges


@given(st.lists(st.text("aab \n", max_size=30), max_size=6), st.integers(256, 290), st.integers(1, 3))
@settings(deadline=None)
def test_train_counts_as_recounting_does(texts, size, least):
    bpe = train(texts, size, least=least)
    assert list(bpe.merges.items()) == list(naive_train(texts, size, GPT2_PATTERN, least).items())


def test_train_on_text_counts_as_recounting_does():
    merges = naive_train(CORPUS * 2, 400, GPT2_PATTERN, 2)
    assert list(train(CORPUS * 2, 400).merges.items()) == list(merges.items())
    assert len(merges) == 144


def test_train_stops_when_nothing_repeats():
    assert train(["abcd"], 300, WHOLE).merges == {}
    assert len(train(["abcd"], 300, WHOLE, least=1).merges) == 3


def test_trained_entries_all_build():
    bpe = trained()
    assert len(bpe.ranks) == 420
    assert [piece for piece in bpe.ranks if not bpe.builds(piece)] == []


# ---- segmentation, against naive loops and the libraries


def test_a_pair_that_arises_later_keeps_its_priority():
    ids = {byte: at for at, byte in enumerate(singles(b"bcde"))}
    bpe = BPE({(2, 3): 4, (1, 4): 5, (0, 1): 6}, WHOLE, ids)  # de, c+de, bc
    assert bpe.segment(b"bcde") == [0, 5]


@given(pair_tables(), WORDS)
@settings(deadline=None)
def test_segment_as_naive_pairs(merges, data):
    bpe = BPE(merges, WHOLE, {b"a": 0, b"b": 1, b"c": 2})
    assert bpe.segment(data) == [bpe.ranks[part] for part in naive_pairs(bpe, data)[0]]


@given(rank_tables(), WORDS)
@settings(deadline=None)
def test_from_ranks_as_naive_ranks(ranks, data):
    assert BPE.from_ranks(ranks, WHOLE).segment(data) == [ranks[part] for part in naive_ranks(ranks, data)[0]]


def byte_characters():
    """The characters by which tokenizers spells bytes: printable Latin-1 as itself, the rest from U+0100."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [value for value in range(256) if value not in plain]
    return {value: chr(value) for value in plain} | {value: chr(256 + at) for at, value in enumerate(rest)}


def as_tokenizers(bpe):
    """The same vocabulary and merges in tokenizers."""
    characters = byte_characters()
    names = {made: "".join(characters[value] for value in piece) for piece, made in bpe.ranks.items()}
    model = tokenizers.models.BPE(
        vocab={name: made for made, name in names.items()},
        merges=[(names[left], names[right]) for left, right in bpe.merges],
    )
    built = tokenizers.Tokenizer(model)
    built.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=bpe.pattern != WHOLE
    )
    return built


def as_tiktoken(bpe):
    return tiktoken.Encoding("ours", pat_str=bpe.pattern, mergeable_ranks=bpe.ranks, special_tokens={})


TOKENIZERS = as_tokenizers(trained())
TIKTOKEN = as_tiktoken(trained())


@pytest.mark.parametrize("text", HARD + CORPUS)
def test_hard_strings_as_the_libraries(text):
    ids = trained().encode(text)
    assert ids == TOKENIZERS.encode(text).ids
    assert ids == TIKTOKEN.encode_ordinary(text)
    assert b"".join(spelled(trained())[token_id] for token_id in ids) == text.encode()


@given(TEXTS)
@settings(deadline=None)
def test_texts_as_the_libraries(text):
    ids = trained().encode(text)
    assert ids == TOKENIZERS.encode(text).ids
    assert ids == TIKTOKEN.encode_ordinary(text)


@given(pair_tables(), WORDS)
@settings(deadline=None)
def test_any_merges_as_tokenizers(merges, data):
    bpe = BPE(merges, WHOLE, {b"a": 0, b"b": 1, b"c": 2})
    assert bpe.segment(data) == as_tokenizers(bpe).encode(data.decode()).ids


@given(rank_tables(), WORDS)
@settings(deadline=None)
def test_any_ranks_as_tiktoken(ranks, data):
    theirs = tiktoken.Encoding("any", pat_str=WHOLE, mergeable_ranks=ranks, special_tokens={})
    ours = BPE.from_ranks(ranks, WHOLE)
    if data in ranks:  # tiktoken looks a whole pre-token up before it joins anything
        assert theirs.encode_ordinary(data.decode()) == [ranks[data]]
        assert ours.builds(data) == builds(ranks, data)
    else:
        assert theirs.encode_ordinary(data.decode()) == ours.encode(data.decode())


def test_long_pretoken_as_tiktoken():
    # tiktoken takes another path for long pre-tokens.
    text = "unhappily happening" * 200
    ranks = trained().ranks
    theirs = tiktoken.Encoding("long", pat_str=WHOLE, mergeable_ranks=ranks, special_tokens={})
    assert BPE(trained().merges, WHOLE).encode(text) == theirs.encode_ordinary(text)


def test_without_merges_the_bytes_remain():
    assert BPE({}).encode("é") == [0xC3, 0xA9]


def test_pretokens_keep_what_the_pattern_skips():
    assert list(pretokens("ab, cd!", r"\w+")) == ["ab", ", ", "cd", "!"]
    assert list(pretokens("ab", r"x*")) == ["a", "b"]
    assert "".join(pretokens(CORPUS[3], GPT2_PATTERN)) == CORPUS[3]


# ---- the pair behind an entry


def test_split_takes_the_pair_that_bpe_takes():
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"d": 3, b"bc": 4, b"ab": 5, b"bcd": 6, b"abc": 7, b"abcd": 8}
    assert split(ranks, b"abcd") == (b"a", b"bcd")
    assert split(ranks, b"abc") == (b"a", b"bc")
    assert split(ranks, b"ab") == (b"a", b"b")
    assert split(ranks, b"a") is None
    assert split(ranks, b"cd") is None  # no entry


def test_split_of_what_no_join_builds():
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"d": 3, b"ab": 4, b"bcd": 5, b"abcd": 6}
    assert split(ranks, b"abcd") is None  # ab comes first and leaves c and d apart
    assert split(ranks, b"bcd") is None
    assert not builds(ranks, b"abcd")
    assert builds(ranks, b"ab")
    assert builds(ranks, b"a")
    assert not builds(ranks, b"ba")
    assert split({b"a": 0, b"ax": 1}, b"ax") is None  # x has no entry
    recovered = merges_from_ranks(ranks | {b"ax": 7})
    assert recovered.merges.tolist() == [[0, 1, 4]]
    assert recovered.unbuilt.tolist() == [5, 6, 7]


@given(rank_tables())
@settings(deadline=None)
def test_merges_from_ranks_as_brute_force(ranks):
    recovered = merges_from_ranks(ranks)
    rows, unbuilt = [], []
    for piece in sorted(ranks, key=ranks.__getitem__)[3:]:
        parts, joins = naive_ranks(ranks, piece)
        if parts == [piece]:
            rows.append([*map(ranks.__getitem__, joins[-1]), ranks[piece]])
            assert split(ranks, piece) == joins[-1]
        else:
            unbuilt.append(ranks[piece])
            assert split(ranks, piece) is None
    assert recovered.merges.tolist() == rows
    assert recovered.unbuilt.tolist() == unbuilt
    assert recovered.merges.dtype == recovered.unbuilt.dtype == np.int32


@given(st.lists(st.text("abc", max_size=20), max_size=6))
@settings(deadline=None)
def test_lower_ranks_alone_tell_the_pair_of_a_trained_entry(texts):
    bpe = train(texts, 290, WHOLE)
    recovered = merges_from_ranks(bpe.ranks)
    assert recovered.merges.tolist() == [list(row) for row in table(bpe)]
    assert recovered.unbuilt.size == 0
    for left, right, made in recovered.merges.tolist():
        lower = {piece: rank for piece, rank in bpe.ranks.items() if rank < made}
        piece = spelled(bpe)[made]
        assert naive_ranks(lower, piece)[0] == [spelled(bpe)[left], spelled(bpe)[right]]


@given(pair_tables())
@settings(deadline=None)
def test_merges_in_use_as_brute_force(merges):
    bpe = BPE(merges, WHOLE, {b"a": 0, b"b": 1, b"c": 2})
    recovered = merges_in_use(table(bpe))
    used, unbuilt = {}, set()
    for made in merges.values():
        parts, joins = naive_pairs(bpe, spelled(bpe)[made])
        if len(parts) == 1:
            used[made] = [*(bpe.ranks[part] for part in joins[-1]), made]
        else:
            unbuilt.add(made)
    order = [[*pair, made] for pair, made in merges.items()]
    assert recovered.merges.tolist() == sorted(used.values(), key=order.index)
    assert sorted(recovered.unbuilt.tolist()) == sorted(unbuilt)


def test_merges_in_use_where_two_ids_are_spelled_alike():
    recovered = merges_in_use([(0, 1, 3), (3, 2, 4), (1, 2, 5), (0, 5, 6)])  # ab, ab+c, bc, a+bc
    assert recovered.merges.tolist() == [[0, 1, 3], [3, 2, 4], [1, 2, 5]]
    assert recovered.unbuilt.tolist() == [6]


# ---- the two facts of the module, on every string of up to seven letters


@given(rank_tables())
@settings(deadline=None, max_examples=15)
def test_facts_for_ranks(ranks):
    pair_of = {made: (left, right) for left, right, made in merges_from_ranks(ranks).merges.tolist()}
    for data in STRINGS[:1092]:
        parts, joins = naive_ranks(ranks, data)
        assert all(builds(ranks, part) for part in set(parts))
        assert all(pair_of[ranks[left + right]] == (ranks[left], ranks[right]) for left, right in joins)


@given(pair_tables())
@settings(deadline=None, max_examples=15)
def test_facts_for_pairs(merges):
    bpe = BPE(merges, WHOLE, {b"a": 0, b"b": 1, b"c": 2})
    used = merges_in_use(table(bpe)).merges.tolist()
    small = BPE({(left, right): made for left, right, made in used}, WHOLE, bpe.alphabet)
    for data in STRINGS:
        ids = bpe.segment(data)
        assert all(bpe.builds(spelled(bpe)[token_id]) for token_id in set(ids))
        assert small.segment(data) == ids


# ---- ancestry


def nodes(tree):
    return [tree, *(node for part in (tree.left, tree.right) if part for node in nodes(part))]


def test_genealogy_of_the_classic_example():
    bpe = train(["aaabdaaabac"], 259, WHOLE)
    tree = genealogy(258, table(bpe), spelled(bpe))
    assert (tree.bytes, tree.left.bytes, tree.right.bytes) == (b"aaab", b"aa", b"ab")
    assert [leaf.bytes for leaf in tree.leaves()] == [b"a", b"a", b"a", b"b"]
    assert genealogy(97, table(bpe), spelled(bpe)) == (97, b"a", None, None)


def test_every_tree_of_a_trained_vocabulary():
    pieces = [spelled(trained())[token_id] for token_id in range(420)]
    for token_id in range(420):
        tree = genealogy(token_id, table(trained()), pieces)
        assert b"".join(leaf.bytes for leaf in tree.leaves()) == pieces[token_id]
        assert [leaf.id for leaf in tree.leaves()] == list(pieces[token_id])
        for node in nodes(tree):
            assert (node.left is None) == (node.right is None) == (len(node.bytes) == 1)
            assert node.left is None or node.left.bytes + node.right.bytes == node.bytes


def test_genealogy_of_a_deep_entry():
    merges = {(97, 97): 256} | {(255 + size, 97): 256 + size for size in range(1, 5000)}
    bpe = BPE(merges, WHOLE)
    tree = genealogy(5255, table(bpe), spelled(bpe))
    assert sum(1 for _ in tree.leaves()) == len(tree.bytes) == 5001


@cache
def ancestors():
    """Every entry that stands in the tree of an entry, itself too."""
    trees = (genealogy(token_id, table(trained()), spelled(trained())) for token_id in range(420))
    return [{node.id for node in nodes(tree)} for tree in trees]


@given(st.sets(st.integers(0, 450), max_size=5))
@settings(deadline=None)
def test_dependants_as_brute_force(removed):
    expected = [at for at, under in enumerate(ancestors()) if at not in removed and removed & under]
    found = dependants(table(trained()), sorted(removed))
    assert found.tolist() == expected
    assert found.dtype == np.int32


def test_dependants_of_nothing():
    assert dependants(np.zeros((0, 3), np.int32), [5, -1]).size == 0
    assert dependants(table(trained()), []).size == 0
    assert dependants(table(trained()), [-1, 10**12]).size == 0


# ---- refusals


def test_refusals_say_what_must_hold():
    with pytest.raises(SutureError, match="must be units or made by merges; those of"):
        BPE({(97, 300): 301})
    with pytest.raises(SutureError, match="must spell it alike; 97 and 99 spell 256"):
        BPE({(97, 98): 256, (97, 99): 256})
    with pytest.raises(SutureError, match="must have one id; b'aaa' has several"):
        BPE({(97, 97): 256, (97, 256): 257, (256, 97): 258})
    with pytest.raises(SutureError, match="must be units or made by merges"):
        merges_in_use([(0, 2, 1), (1, 0, 2)])
    with pytest.raises(SutureError, match="at least the 256 bytes; got size 255"):
        train([], 255)
    with pytest.raises(SutureError, match=r"must be a regular expression; got '\('"):
        train(["a"], 256, "(")
    with pytest.raises(SutureError, match="it lacks b'b'"):
        BPE({}, WHOLE, {b"a": 0}).segment(b"ab")
    with pytest.raises(SutureError, match=r"lone surrogate U\+D800"):
        trained().encode("a\ud800")
    with pytest.raises(SutureError, match="must have one row of merges"):
        dependants([(0, 1, 3), (1, 0, 3)], [0])
    for token_id in (420, -1):
        with pytest.raises(UnknownName, match=f"must have bytes; {token_id} has none"):
            genealogy(token_id, table(trained()), spelled(trained()))
