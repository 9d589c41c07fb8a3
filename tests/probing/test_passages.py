import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing.passages import passages, split
from workbench.corpora import open_corpus
from workbench.errors import SutureError


@given(st.lists(st.text(st.sampled_from("ab é\n😀"), max_size=60), max_size=5), st.integers(4, 20))
def test_passages_hold_every_word_that_fits_in_order(texts, most):
    found = list(passages(texts, most))
    assert all(0 < len(each.encode()) <= most for each in found)
    words = [word for text in texts for word in text.split() if len(word.encode()) <= most]
    assert [word for each in found for word in each.split(" ")] == words


def test_a_passage_is_as_long_as_it_can_be():
    assert list(passages(["aa bb cc dd"], 5)) == ["aa bb", "cc dd"]
    assert list(passages(["aa bb", "cc"], 9)) == ["aa bb", "cc"]


def test_no_passage_is_learnt_from_and_held_out(tmp_path):
    lines = [f"line {number % 90} of a text" for number in range(200)]
    (tmp_path / "en.txt").write_text("\n".join(lines))
    found = split(open_corpus(str(tmp_path / "en.txt")), 64, 0.3)
    assert not set(found.train) & set(found.held)
    assert sorted(found.train + found.held) == sorted(set(lines))
    assert 10 < len(found.held) < 45
    assert found == split(open_corpus(str(tmp_path / "en.txt")), 64, 0.3)
    assert len(sum(split(open_corpus(str(tmp_path / "en.txt")), 64, 0.3, limit=40), [])) == 40  # noqa: RUF017


def test_a_corpus_of_one_passage_is_refused(tmp_path):
    (tmp_path / "en.txt").write_text("one")
    with pytest.raises(SutureError, match="give more text"):
        split(open_corpus(str(tmp_path / "en.txt")), 64)
