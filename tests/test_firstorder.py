"""The oracle itself, against the enumeration of token sequences."""

import numpy as np
import pytest

from tests.firstorder import TokenLM, greedy, vocabulary, without_longer


@pytest.mark.parametrize("seed", range(10))
def test_marginals_are_sums_over_token_sequences(seed):
    chance = np.random.default_rng(seed)
    model = TokenLM.random(chance, vocabulary(chance, 5, longest=3))
    for text in (b"a", b"ab", b"abc", b"aaa", b"cab"):
        assert model.marginal(text) == pytest.approx(model.enumerated(text), abs=1e-14)
        following = sum(model.marginal(text + bytes([letter])) for letter in b"abc")
        assert model.marginal(text) == pytest.approx(following, abs=1e-14)


def test_first_tokens_are_a_distribution_that_sampling_gives():
    chance = np.random.default_rng(1)
    model = TokenLM.random(chance, vocabulary(chance, 6, longest=3))
    student = vocabulary(chance, 7, longest=3)
    exact = model.first(student)
    assert exact.sum() == pytest.approx(1, abs=1e-13)
    assert exact.min() > -1e-13
    draws = 4000
    texts = [b"".join(model.pieces[token] for token in model.sample(chance, 3)) for _ in range(draws)]
    counts = np.bincount([greedy(student, text + b"abc")[0] for text in texts], minlength=len(student))
    assert np.abs(counts / draws - exact[:-1]).max() < 5 * np.sqrt(0.25 / draws)


def test_longer_tokens_are_taken_from_their_nearest_prefix():
    found = without_longer([b"a", b"ab", b"abc", b"ac", b"b"], np.array([0.6, 0.3, 0.1, 0.2, 0.3]))
    assert found.tolist() == pytest.approx([0.1, 0.2, 0.1, 0.2, 0.3, 0.1])
