import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import SutureError, UnknownName
from workbench.inventory import MAX_ROWS, SCHEMA, Inventory

ENTRIES = st.dictionaries(st.integers(0, 300), st.binary(min_size=1, max_size=6), max_size=40)


@given(ENTRIES)
def test_row_i_holds_id_i_and_holes_are_gaps(entries: dict[int, bytes]) -> None:
    inventory = Inventory.build("x", "test", {"id": list(entries), "bytes": list(entries.values())})
    needed = max(entries, default=-1) + 1
    assert inventory.rows_needed == needed
    assert len(inventory) == len(entries)
    for index in range(needed):
        entry = inventory.entry(index)
        assert entry.bytes == entries.get(index)
        assert (entry.kind == "gap") == (index not in entries)
    assert inventory.lengths.tolist() == [len(entries.get(index, b"")) for index in range(needed)]
    for piece in set(entries.values()):
        assert inventory.find(piece) == sorted(key for key, value in entries.items() if value == piece)
    assert inventory.frame.schema == SCHEMA


@given(ENTRIES, st.randoms())
def test_order_of_columns_does_not_matter_to_the_digest(entries: dict[int, bytes], random: object) -> None:
    pairs = list(entries.items())
    shuffled = pairs[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = (
        Inventory.build("x", "y", {"id": [k for k, _ in rows], "bytes": [v for _, v in rows]})
        for rows in (pairs, shuffled)
    )
    assert first.digest == second.digest


def test_digest_tells_bytes_kinds_and_cuts_between_entries() -> None:
    def made(pieces: list[bytes], kinds: list[str]) -> str:
        columns = {"id": range(len(pieces)), "bytes": pieces, "kind": kinds}
        return Inventory.build("x", "y", {key: list(value) for key, value in columns.items()}).digest

    digests = {
        made([b"ab", b"c"], ["piece", "piece"]),
        made([b"a", b"bc"], ["piece", "piece"]),
        made([b"ab", b"d"], ["piece", "piece"]),
        made([b"ab", b"c"], ["piece", "special"]),
    }
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [([0, 0], "each id must name one entry"), ([0, -1], "must lie in"), ([0, MAX_ROWS], "must lie in")],
)
def test_impossible_ids_are_refused(ids: list[int], sentence: str) -> None:
    with pytest.raises(SutureError, match=sentence):
        Inventory.build("x", "y", {"id": ids, "bytes": [b"a", b"b"]})


def test_an_entry_outside_names_the_range() -> None:
    inventory = Inventory.build("x", "y", {"id": [0, 2], "bytes": [b"a", b"b"]})
    with pytest.raises(UnknownName, match=r"0\.\.2; got 3"):
        inventory.entry(3)


def test_a_frame_must_keep_the_schema() -> None:
    with pytest.raises(SutureError, match="columns must be"):
        Inventory("x", "y", pl.DataFrame({"id": [0]}))
    with pytest.raises(SutureError, match="row i of an inventory"):
        Inventory("x", "y", SCHEMA.to_frame().vstack(_row(5)))


def _row(token_id: int) -> pl.DataFrame:
    values = {"id": token_id, "bytes": b"a", "kind": "piece", "rank": None, "score": None, "position": "any"}
    return pl.DataFrame([values], schema=SCHEMA)


def test_merges_are_recovered_when_asked_for() -> None:
    calls = []

    def recover() -> np.ndarray:
        calls.append(1)
        return np.array([[0, 1, 2]], np.int32)

    inventory = Inventory.build("x", "y", {"id": [0, 1, 2], "bytes": [b"a", b"b", b"ab"]}, merges=recover)
    assert not calls
    assert inventory.merges is inventory.merges
    assert len(calls) == 1
