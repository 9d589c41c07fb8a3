"""Blocks of a text and its SentencePiece normalisation, from the offsets that the normaliser reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.normalising import Aligned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.adapters.spm_proto import Spec

    Offsets = NDArray[np.int64]

MARK = "\u2581"
MARK_BYTES = np.frombuffer(MARK.encode(), np.uint8)


def aligned(source: bytes, target: bytes, offsets: Sequence[int], spec: Spec) -> Aligned:
    """Blocks of a text and its normalised form.

    Args:
        source: the text.
        target: what the normaliser made of it, with U+2581 for a space.
        offsets: for each byte of the target, and for its end, the byte of the source at which the
            stretch that gave it begins. All bytes of one stretch carry the same offset, and so does
            the space that the normaliser adds, which has no source.
        spec: tells whether, and at which end, a space is added.
    """
    spaced, starts = _unmarked(target, np.asarray(offsets, np.int64))
    if len(spaced) == 0:
        return Aligned.of([(source.decode(), "")])
    stop = int(offsets[-1])
    lead = int(spec.dummy_prefix and not spec.suffix)
    trail = int(spec.dummy_prefix and spec.suffix)
    inner, places = spaced[lead : len(spaced) - trail], starts[lead : len(spaced) - trail]
    source_cuts, target_cuts, equal = _stretches(source, inner, places, stop)
    before, after = int(starts[0]) > 0, stop < len(source)
    first = int(source_cuts[0]) if len(source_cuts) else stop
    cuts = [
        ([0] * before, [0] * before, [False] * before),
        ([first] * lead, [0] * lead, [False] * lead),
        (source_cuts, target_cuts + lead, equal),
        ([stop] * trail, [len(inner)] * trail, [False] * trail),
        ([stop] * after, [len(spaced)] * after, [False] * after),
        ([len(source)], [len(spaced)], []),
    ]
    columns = [np.concatenate([np.asarray(part) for part in column]) for column in zip(*cuts, strict=True)]
    return Aligned(
        spaced.tobytes(), columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2].astype(bool)
    )


def _unmarked(target: bytes, offsets: Offsets) -> tuple[NDArray[np.uint8], Offsets]:
    """The target with one byte for each space mark, and the offset of each byte that is left."""
    raw = np.frombuffer(target, np.uint8).copy()
    marks = np.flatnonzero(
        (raw[:-2] == MARK_BYTES[0]) & (raw[1:-1] == MARK_BYTES[1]) & (raw[2:] == MARK_BYTES[2])
    )
    raw[marks] = ord(" ")
    keep = np.ones(len(raw), bool)
    keep[marks + 1] = keep[marks + 2] = False
    return raw[keep], offsets[: len(raw)][keep]


def _stretches(
    source: bytes, target: NDArray[np.uint8], places: Offsets, stop: int
) -> tuple[Offsets, Offsets, NDArray[np.bool_]]:
    """Where each stretch begins in source and target, and whether it is unchanged.

    A stretch that only lost its end, as a run of spaces does, becomes an unchanged one and a removed one.
    """
    if len(target) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, bool)
    begins = np.flatnonzero(np.diff(places, prepend=-1))
    lows = places[begins]
    highs = np.append(lows[1:], stop)
    sizes = np.diff(begins, append=len(target))
    which = np.repeat(np.arange(len(begins)), sizes)
    here = places + np.arange(len(target)) - begins[which]
    raw = np.frombuffer(source, np.uint8)
    same = (here < highs[which]) & (raw[np.minimum(here, len(raw) - 1)] == target)
    kept = np.logical_and.reduceat(same, begins)
    shorter = np.flatnonzero(kept & (highs - lows > sizes))
    return (
        np.insert(lows, shorter + 1, (lows + sizes)[shorter]),
        np.insert(begins, shorter + 1, (begins + sizes)[shorter]),
        np.insert(kept & (highs - lows >= sizes), shorter + 1, values=False),
    )
