"""Byte-level BPE in the small: training, segmentation, and the ancestry of entries.

The algorithm is data. ``BPE.merges`` says which pair of entries makes which, in order of application;
``BPE.ranks`` (bytes to id) follows from it. One loop serves the two ways to state a vocabulary: explicit
pairs (Hugging Face), and ranks alone (tiktoken), where two neighbours join if their bytes are an entry. In
both, the pair of best priority joins first, the leftmost of equals, one pair at a time, as upstream does.

Two facts carry the rest; the tests check them by brute force. Let a pre-token hold an occurrence of an
entry as one token. Until that token was whole, no join crossed its ends, so the joins inside its span were
those that its bytes undergo alone: best and leftmost in the whole is best and leftmost in the span. Hence:

1. An entry that its own bytes alone don't build is built inside no longer pre-token either.
2. Every occurrence of an entry is made by one and the same pair, the last join of its bytes alone. So a
   table with one row an entry (``Recovered.merges``) segments as the ranks, or as all the pairs, do.

tiktoken, and tokenizers with ``ignore_merges``, use an entry that equals a whole pre-token even where no
join builds it; that shortcut is theirs and is not modelled here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import regex

from workbench.errors import SutureError, UnknownName
from workbench.segmentation import utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Pair = tuple[int, int]
    Places = defaultdict[Pair, set[int]]  # words that hold a pair, or did so until another was merged

Unit = TypeVar("Unit", int, bytes)
Spelling = TypeVar("Spelling", bytes, tuple[int, ...])

SINGLE = tuple(bytes([value]) for value in range(256))
BYTES = {byte: value for value, byte in enumerate(SINGLE)}
"""The alphabet in which byte ``b`` has id ``b``; published vocabularies order theirs otherwise."""

GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""Pre-tokens of GPT-2: contractions, words, numbers and signs with the space before them, whitespace."""


class Recovered(NamedTuple):
    """The pairs by which entries are really made.

    ``merges`` is (entries built, 3), int32: left id, right id, result id in order of application, one row
    for each entry, as ``Inventory.merges``. ``unbuilt`` holds the ids of the other entries of several units.
    """

    merges: NDArray[np.int32]
    unbuilt: NDArray[np.int32]


class Tree(NamedTuple):
    """An entry and the two that it was made of; a leaf has none."""

    id: int
    bytes: bytes
    left: Tree | None = None
    right: Tree | None = None

    def leaves(self) -> Iterator[Tree]:
        """The leaves from left to right; their bytes join to the entry's."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.left is None or node.right is None:
                yield node
            else:
                waiting += [node.right, node.left]


@dataclass(frozen=True, eq=False)
class BPE:
    """A byte-level BPE.

    Attributes:
        merges: (left id, right id) to the id that they make, in order of application; an entry may be made
            by several pairs.
        pattern: regular expression of pre-tokens; text between its matches is pre-tokens too.
        alphabet: single bytes to their ids.
        ranks: bytes to id of the alphabet and of everything that the merges make; derived.

    Raises:
        SutureError: a pair names an id that neither the alphabet nor a merge makes, or two ids share bytes.
    """

    merges: Mapping[Pair, int]
    pattern: str = GPT2_PATTERN
    alphabet: Mapping[bytes, int] = field(default_factory=BYTES.copy, repr=False)
    ranks: dict[bytes, int] = field(init=False, repr=False)
    _joins: dict[Pair, tuple[int, int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        spelled = _spell({token_id: byte for byte, token_id in self.alphabet.items()}, self.merges.items())
        ranks = {piece: token_id for token_id, piece in spelled.items()}
        if len(ranks) != len(spelled):
            twice = next(piece for token_id, piece in spelled.items() if ranks[piece] != token_id)
            raise SutureError(f"an entry must have one id; {twice!r} has several; let its pairs name one")
        object.__setattr__(self, "ranks", ranks)
        object.__setattr__(self, "_joins", _joins(self.merges.items()))

    @classmethod
    def from_ranks(cls, ranks: Mapping[bytes, int], pattern: str = GPT2_PATTERN) -> BPE:
        """The BPE that segments as a rank-only vocabulary does; entries that nothing builds are left out."""
        merges = {(left, right): made for left, right, made in merges_from_ranks(ranks).merges.tolist()}
        return cls(merges, pattern, {piece: rank for piece, rank in ranks.items() if len(piece) == 1})

    def segment(self, data: bytes) -> list[int]:
        """Ids of one pre-token.

        Raises:
            SutureError: the alphabet lacks one of its bytes.
        """
        try:
            return _run([self.alphabet[byte] for byte in _single(data)], _by_pair(self._joins))
        except KeyError as error:
            raise SutureError(
                f"every byte must be in the alphabet; it lacks {error.args[0]!r}; give that byte an id"
            ) from None

    def encode(self, text: str) -> list[int]:
        """Ids of a text: its pre-tokens segmented one by one.

        Raises:
            SutureError: the text holds a lone surrogate, the alphabet lacks a byte, or the pattern is no
                regular expression.
        """
        known: dict[str, list[int]] = {}
        ids: list[int] = []
        for piece in pretokens(text, self.pattern):
            if piece not in known:
                known[piece] = self.segment(utf8(piece))
            ids += known[piece]
        return ids

    def builds(self, token: bytes) -> bool:
        """Whether these bytes alone become one token; if not, no longer pre-token has them as one token."""
        return set(_single(token)) <= self.alphabet.keys() and len(self.segment(token)) == 1


def pretokens(text: str, pattern: str) -> Iterator[str]:
    """The matches of a pattern and the text between them, in order; they join to the text.

    Raises:
        SutureError: the pattern is no regular expression.
    """
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise SutureError(
            f"a pattern must be a regular expression; got {pattern!r} ({error}); correct it"
        ) from None
    end = 0
    for match in compiled.finditer(text):
        yield from filter(None, (text[end : match.start()], match.group()))
        end = match.end()
    yield from filter(None, (text[end:],))


def train(texts: Iterable[str], size: int, pattern: str = GPT2_PATTERN, *, least: int = 2) -> BPE:
    """Learns a byte-level BPE: time and again the most frequent pair of neighbours becomes an entry.

    Of equally frequent pairs the lowest wins, by left id and then by right id. Ids 0..255 are the bytes,
    256 and up the merges in order. Source: Sennrich, Haddow and Birch 2016, "Neural Machine Translation of
    Rare Words with Subword Units", https://aclanthology.org/P16-1162, section 3.2, over bytes.

    Args:
        texts: what to learn from; pairs are counted inside pre-tokens only, overlapping ones too.
        size: number of entries wanted, at least 256; fewer come back when pairs run out.
        pattern: regular expression of pre-tokens.
        least: a pair seen fewer times than this is not merged.

    Raises:
        SutureError: ``size`` is below 256, or as for ``BPE.encode``.
    """
    if size < len(BYTES):
        raise SutureError(
            f"a vocabulary must have at least the 256 bytes; got size {size}; ask for more entries"
        )
    seen = Counter(piece for text in texts for piece in pretokens(text, pattern))
    words, times = [list(utf8(piece)) for piece in seen], list(seen.values())
    counts: Counter[Pair] = Counter()
    places: Places = defaultdict(set)
    for index, word in enumerate(words):
        for pair in pairwise(word):
            counts[pair] += times[index]
            places[pair].add(index)
    queue = [(-count, pair) for pair, count in counts.items()]
    heapify(queue)
    merges: dict[Pair, int] = {}
    while queue and len(BYTES) + len(merges) < size and queue[0][0] <= -least:
        count, pair = heappop(queue)
        if counts[pair] != -count:
            continue  # outdated: each change of a count put a new item into the queue
        merges[pair] = len(BYTES) + len(merges)
        for changed, change in _replace(pair, merges[pair], words, times, places).items():
            if change:
                counts[changed] += change
                heappush(queue, (-counts[changed], changed))
    return BPE(merges, pattern)


def split(ranks: Mapping[bytes, int], token: bytes) -> tuple[bytes, bytes] | None:
    """The pair whose join makes an entry of a rank-only vocabulary: the last join of its bytes alone.

    Only ranks below the entry's own matter, unless the vocabulary ranks an entry before its parts.

    Returns:
        The two parts, or None where no join builds these bytes: they are a single byte, no entry, hold a
        byte that is no entry, or other joins come first and leave more than two parts.
    """
    units = _single(token)
    if token not in ranks or not set(units) <= ranks.keys():
        return None
    parts = _run(units, _by_rank(ranks), until=2)
    return (parts[0], parts[1]) if len(parts) == 2 else None


def builds(ranks: Mapping[bytes, int], token: bytes) -> bool:
    """Whether a rank-only vocabulary makes one token of these bytes alone, by joins.

    If not, no longer pre-token has them as one token (see the module's first fact).
    """
    return token in ranks and (len(token) == 1 or split(ranks, token) is not None)


def merges_from_ranks(ranks: Mapping[bytes, int]) -> Recovered:
    """The pairs behind a rank-only vocabulary, in order of rank.

    A table of them segments exactly as the ranks do (the module's second fact). ``unbuilt`` holds the
    entries of several bytes for which ``split`` has no pair.
    """
    join = _by_rank(ranks)
    absent = BYTES.keys() - ranks.keys()
    rows, unbuilt = [], []
    for token, rank in sorted(ranks.items(), key=itemgetter(1)):
        if len(token) < 2:
            continue
        parts = _run(units := _single(token), join, until=2)
        if len(parts) == 2 and (not absent or absent.isdisjoint(units)):
            rows.append((ranks[parts[0]], ranks[parts[1]], rank))
        else:
            unbuilt.append(rank)
    return _recovered(rows, unbuilt)


def merges_in_use(merges: ArrayLike) -> Recovered:
    """Of explicit merges, the one pair by which each entry is really made.

    Files list up to a dozen pairs for one entry, and pairs that never meet because another join comes
    first. Works on ids alone, so for BPE over characters as well; units are the ids that no merge makes.

    Args:
        merges: (merges, 3) integers: left id, right id, result id in order of application.

    Raises:
        SutureError: the pairs of an entry spell it differently, or an entry is made of itself.
    """
    pairs = [((left, right), made) for left, right, made in np.reshape(merges, (-1, 3)).tolist()]
    made_ids = dict.fromkeys(made for _, made in pairs)
    units = {part: (part,) for pair, _ in pairs for part in pair if part not in made_ids}
    spelled = _spell(units, pairs)
    joins = _joins(pairs)
    join = _by_pair(joins)
    found, unbuilt = [], []
    for made in made_ids:
        parts = _run(spelled[made], join, until=2)
        priority, result = joins.get((parts[0], parts[-1]), (0, None)) if len(parts) == 2 else (0, None)
        if result == made:
            found.append((priority, parts[0], parts[1], made))
        else:
            unbuilt.append(made)
    return _recovered([row[1:] for row in sorted(found)], unbuilt)


def genealogy(token_id: int, merges: ArrayLike, pieces: Sequence[bytes] | Mapping[int, bytes]) -> Tree:
    """The tree of merges that makes an entry; an entry that no row makes is a leaf.

    Args:
        token_id: the entry.
        merges: ``Recovered.merges``: (entries built, 3), one row for each entry.
        pieces: the bytes of an id, as ``Inventory.pieces``.

    Raises:
        UnknownName: the id, or one under it, has no bytes.
        SutureError: several rows make one entry.
    """
    table = np.reshape(merges, (-1, 3))
    rows = _row_of_result(table)
    trees: dict[int, Tree] = {}
    waiting = [token_id]
    while waiting:
        here = waiting[-1]
        parts = table[rows[here], :2].tolist() if 0 <= here < len(rows) and rows[here] >= 0 else []
        if missing := [part for part in parts if part not in trees]:
            waiting += missing
        else:
            trees[waiting.pop()] = Tree(here, _piece(pieces, here), *(trees[part] for part in parts))
    return trees[token_id]


def dependants(merges: ArrayLike, ids: ArrayLike) -> NDArray[np.int32]:
    """Entries that lose their path of merges, directly or through others, if the given ones are removed.

    Args:
        merges: ``Recovered.merges``: (entries built, 3), one row for each entry.
        ids: the entries removed (any shape); ids outside the table have no dependants.

    Returns:
        Ids in ascending order, without the given ones.

    Raises:
        SutureError: several rows make one entry.
    """
    table = np.reshape(merges, (-1, 3))
    _row_of_result(table)
    removed = np.isin(np.arange(table.max(initial=-1) + 1), ids)
    lost = removed.copy()
    left, right, made = table.T
    while (hit := (lost[left] | lost[right]) & ~lost[made]).any():
        lost[made[hit]] = True
    return np.flatnonzero(lost & ~removed).astype(np.int32)


def _run(
    units: Sequence[Unit], join: Callable[[Unit, Unit], tuple[int, Unit] | None], until: int = 1
) -> list[Unit]:
    """Joins neighbours, best priority first and leftmost of equals, until none can or ``until`` are left.

    A queue of candidates over a linked list: n log n for n units, so that a long run of spaces costs no
    more than prose of its length.
    """
    end = left = len(units)
    parts: list[Unit | None] = list(units)
    parts.append(None)  # None: swallowed; the last one stands at both ends, -1 and n
    after, before = list(range(1, end + 1)), list(range(-1, end))
    queue = []
    for index, (one, two) in enumerate(pairwise(units)):
        if found := join(one, two):
            queue.append((found[0], index, one, two, found[1]))
    heapify(queue)
    while queue and left > until:
        _, here, one, two, joined = heappop(queue)
        if parts[here] != one or parts[after[here]] != two:
            continue  # outdated: a neighbour was joined elsewhere
        gone = after[here]
        after[here] = there = after[gone]
        before[there] = here
        parts[here], parts[gone] = joined, None
        left -= 1
        for low, high in ((before[here], here), (here, there)):
            first, second = parts[low], parts[high]
            if first is not None and second is not None and (found := join(first, second)):
                heappush(queue, (found[0], low, first, second, found[1]))
    return [part for part in parts if part is not None]


def _by_rank(ranks: Mapping[bytes, int]) -> Callable[[bytes, bytes], tuple[int, bytes] | None]:
    get = ranks.get

    def join(one: bytes, two: bytes) -> tuple[int, bytes] | None:
        both = one + two
        rank = get(both)
        return None if rank is None else (rank, both)

    return join


def _by_pair(joins: Mapping[Pair, tuple[int, int]]) -> Callable[[int, int], tuple[int, int] | None]:
    get = joins.get
    return lambda one, two: get((one, two))


def _joins(merges: Iterable[tuple[Pair, int]]) -> dict[Pair, tuple[int, int]]:
    """Pair to (place in the order, id made); of a repeated pair the last counts, as in tokenizers."""
    return {pair: (order, made) for order, (pair, made) in enumerate(merges)}


def _single(data: bytes) -> list[bytes]:
    return [SINGLE[value] for value in data]


def _spell(leaves: Mapping[int, Spelling], merges: Iterable[tuple[Pair, int]]) -> dict[int, Spelling]:
    """What each id spells, given what the leaves do; a pair may come before the pairs of its parts."""
    spelled = dict(leaves)
    waiting = list(merges)
    while waiting:
        later = []
        for (left, right), made in waiting:
            if left not in spelled or right not in spelled:
                later.append(((left, right), made))
            elif spelled.setdefault(made, both := spelled[left] + spelled[right]) != both:
                raise SutureError(
                    f"the pairs of an entry must spell it alike; {left} and {right} spell {made} otherwise "
                    "than another pair or the alphabet; check the ids of the merges"
                )
        if len(later) == len(waiting):
            raise SutureError(
                f"the parts of a merge must be units or made by merges; those of {later[0]} are not; "
                "give the merges that make them"
            )
        waiting = later
    return spelled


def _replace(
    pair: Pair, made: int, words: list[list[int]], times: Sequence[int], places: Places
) -> dict[Pair, int]:
    """Puts the new id for the pair in every word, from the left; gives the changes of all counts."""
    changes: defaultdict[Pair, int] = defaultdict(int)
    for index in places.pop(pair):
        old, weight = words[index], times[index]
        new: list[int] = []
        last = -1
        for token_id in old:
            if (last, token_id) == pair:
                new[-1] = last = made
            else:
                new.append(last := token_id)
        if len(new) == len(old):
            continue  # the pair left this word when another was merged
        words[index] = new
        for gone in pairwise(old):
            changes[gone] -= weight
        for come in pairwise(new):
            changes[come] += weight
            if made in come:
                places[come].add(index)
    return changes


def _recovered(rows: Sequence[tuple[int, ...]], unbuilt: Sequence[int]) -> Recovered:
    return Recovered(np.array(rows, np.int32).reshape(-1, 3), np.array(unbuilt, np.int32))


def _row_of_result(table: NDArray[np.integer]) -> NDArray[np.int64]:
    """Row that makes each id, -1 where none does."""
    rows = np.full(table.max(initial=-1) + 1, -1)
    rows[table[:, 2]] = np.arange(len(table))
    if np.count_nonzero(rows >= 0) < len(table):
        raise SutureError(
            "each entry must have one row of merges; some have several; pass merges_in_use(merges).merges"
        )
    return rows


def _piece(pieces: Sequence[bytes] | Mapping[int, bytes], token_id: int) -> bytes:
    try:
        piece = pieces[token_id] if token_id >= 0 else b""
    except LookupError:
        piece = b""
    if not piece:
        raise UnknownName(f"an entry of a tree must have bytes; {token_id} has none; check the id")
    return piece
