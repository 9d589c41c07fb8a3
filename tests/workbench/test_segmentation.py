import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import SutureError
from workbench.segmentation import UNITS, Segmentation, unit_index, utf8

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=24)


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, list[int]]:
    text = draw(TEXT)
    size = len(text.encode())
    inner = draw(st.sets(st.integers(0, size), max_size=8))
    return text, sorted({0, size, *inner})


@given(cut_texts())
def test_pieces_join_and_cuts_are_kept(case: tuple[str, list[int]]) -> None:
    text, cuts = case
    segmentation = Segmentation.from_cuts(text.encode(), cuts)
    assert b"".join(segmentation.pieces) == text.encode()
    assert segmentation.cuts.tolist() == cuts
    assert segmentation.boundaries.tolist() == cuts[1:-1]
    assert segmentation.uncovered.tolist() == []


@given(cut_texts())
def test_units_against_counting_character_by_character(case: tuple[str, list[int]]) -> None:
    text, cuts = case
    data = text.encode()
    segmentation = Segmentation.from_cuts(data, cuts)
    units = {
        "codepoint": list(text),
        "utf16": [half for character in text for half in _utf16(character)],
        "grapheme": regex.findall(r"\X", text),
    }
    for unit, parts in units.items():
        spans = segmentation.spans(unit)  # type: ignore[arg-type]
        sizes = [len(part.encode()) if isinstance(part, str) else part[1] for part in parts]
        ends = np.cumsum(sizes).tolist()
        starts = [end - size for end, size in zip(ends, sizes, strict=True)]
        for (low, high), a, b in zip(spans.tolist(), cuts, cuts[1:], strict=False):
            touched = [k for k in range(len(parts)) if _overlaps(unit, parts, starts, ends, k, a, b)]
            assert (low, high) == (touched[0], touched[-1] + 1)


def _utf16(character: str) -> list[tuple[str, int]]:
    """Code units of a character; the first carries all its bytes, so that offsets add up."""
    size = len(character.encode())
    return [(character, size)] if ord(character) < 0x10000 else [(character, size), (character, 0)]


def _overlaps(unit: str, parts: list, starts: list[int], ends: list[int], k: int, a: int, b: int) -> bool:
    if unit == "utf16" and parts[k][1] == 0:
        k -= 1
    return starts[k] < b and a < ends[k]


@given(TEXT)
def test_unit_index_ends_with_the_number_of_units(text: str) -> None:
    data = text.encode()
    wanted = (len(data), len(text), len(text.encode("utf-16-le")) // 2, len(regex.findall(r"\X", text)))
    assert tuple(int(unit_index(data, unit)[-1]) for unit in UNITS) == wanted


def test_cuts_must_run_over_the_whole_text() -> None:
    sentence = r"cuts must run from 0 to 3, the length of the text in bytes; got \(0, 2\)"
    with pytest.raises(SutureError, match=sentence):
        Segmentation.from_cuts(b"abc", [0, 2])
    with pytest.raises(SutureError, match="cuts must rise"):
        Segmentation.from_cuts(b"abc", [0, 2, 1, 3])


def test_an_exact_segmentation_has_no_holes() -> None:
    starts, ends = np.array([0, 2]), np.array([1, 3])
    with pytest.raises(SutureError, match="without holes"):
        Segmentation(b"abc", starts, ends)
    loose = Segmentation(b"abc", starts, ends, exact=False)
    assert loose.uncovered.tolist() == [[1, 2]]


def test_spans_must_lie_in_the_text_and_ids_must_match() -> None:
    with pytest.raises(SutureError, match="ordered and lie within"):
        Segmentation(b"abc", np.array([0]), np.array([4]), exact=False)
    with pytest.raises(SutureError, match="one start, end and id a token"):
        Segmentation(b"abc", np.array([0]), np.array([3]), np.array([1, 2], np.int32))


def test_absorbed_text_is_not_uncovered() -> None:
    segmentation = Segmentation(
        b"a  b", np.array([0, 3]), np.array([1, 4]), exact=False, absorbed=np.array([[2, 3]])
    )
    assert segmentation.uncovered.tolist() == [[1, 2]]


def test_units_other_than_bytes_need_utf8() -> None:
    broken = Segmentation.from_cuts(b"a\xff", [0, 1, 2])
    assert broken.spans().tolist() == [[0, 1], [1, 2]]
    with pytest.raises(SutureError, match="byte 0xFF at offset 1"):
        broken.spans("codepoint")


def test_a_lone_surrogate_is_refused_with_its_place() -> None:
    with pytest.raises(SutureError, match=r"lone surrogate U\+D83D stands at character 2"):
        utf8("ab\ud83d")
