"""Fragments against characters followed one by one through a text that is cut anywhere."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vocab_audits.fragments import fragments


def whole(piece):
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


@settings(deadline=None)
@given(st.text("aé日😀ß\n", min_size=1, max_size=20), st.data())
def test_agrees_with_the_characters_of_a_cut_text(text, data):
    raw = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(raw) - 1)), max_size=len(raw))) - {len(raw)})
    spans = list(zip([0, *cuts], [*cuts, len(raw)], strict=True))
    found = fragments([raw[low:high] for low, high in spans])
    owners, start = [], 0  # the tokens that hold bytes of each character
    for character in text:
        end = start + len(character.encode())
        owners.append([n for n, (low, high) in enumerate(spans) if low < end and start < high])
        start = end
    several = [held for held, character in zip(owners, text, strict=True) if len(character.encode()) > 1]
    assert found.split.sum() == sum(len(held) > 1 for held in several)
    assert found.leads.sum() == len(several)
    broken = {n for held in owners if len(held) > 1 for n in held}
    for n, (low, high) in enumerate(spans):
        touched = sum(n in held for held in owners)
        assert found.valid[n] == whole(raw[low:high])
        assert found.crossing[n] == (touched > 1 and n in broken)
        assert found.lone[n] == (high - low == 1 and n in broken)


def test_counts_nothing_of_empty_entries_and_bytes_that_never_occur():
    found = fragments([b"", b"\xff", b"a\xe6", b"\x80\x80"])
    assert found.valid.tolist() == [True, False, False, False]
    assert found.split.tolist() == [False, True, True, False]
    assert found.lone.tolist() == [False, True, False, False]
    assert found.crossing.tolist() == [False, False, True, False]


def test_takes_no_entries():
    assert [len(part) for part in fragments([])] == [0] * 5
