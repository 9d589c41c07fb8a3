"""The merges that make one entry, without working out those of a whole vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench import bpe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.inventory import Inventory


def ancestry(inventory: Inventory, token_id: int) -> bpe.Tree | None:
    """The tree of merges that makes an entry; a tree of one leaf where no merge does.

    Only entries whose bytes occur within this entry's can have a part in it (see the facts in
    ``workbench.bpe``), so the merges of these alone are looked at.

    Args:
        inventory: any.
        token_id: one of its ids.

    Returns:
        The tree, or None if the inventory has no merges or the id is a hole.

    Raises:
        UnknownName: the id lies outside the inventory.
        SutureError: the pairs of an entry spell it differently.
    """
    piece = inventory.entry(token_id).bytes
    if piece is None or inventory.merge_source is None:
        return None
    size = len(piece)
    parts = {piece[low:high] for low in range(size) for high in range(low + 1, size + 1)}
    ids = np.array(sorted({part_id for part in parts for part_id in inventory.find(part)}), np.int64)
    ranks = inventory.frame["rank"].gather(ids)
    ranked = ranks.is_not_null().to_numpy()
    if callable(inventory.merge_source) and ranked.any():
        merges = _by_rank(inventory, ids[ranked], ranks.drop_nulls().to_numpy())
    else:
        merges = _listed(inventory, ids)
    return bpe.genealogy(token_id, merges, inventory.pieces)


def _by_rank(inventory: Inventory, ids: NDArray[np.int64], ranks: NDArray[np.int32]) -> NDArray[np.int32]:
    """Merges among these entries of a vocabulary that states ranks alone."""
    table = {inventory.pieces[part]: rank for part, rank in zip(ids.tolist(), ranks.tolist(), strict=True)}
    order = np.argsort(ranks)
    rows = bpe.merges_from_ranks(table).merges
    found: NDArray[np.int32] = ids[order][np.searchsorted(ranks[order], rows)].astype(np.int32)
    return found


def _listed(inventory: Inventory, ids: NDArray[np.int64]) -> NDArray[np.int32]:
    """Merges among these entries of a vocabulary that lists its pairs."""
    merges = inventory.merges
    if merges is None:
        return np.empty((0, 3), np.int32)
    return bpe.merges_in_use(merges[np.isin(merges, ids).all(axis=1)]).merges
