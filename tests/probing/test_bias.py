"""WEAT against its definition, and against numbers that another library publishes."""

from __future__ import annotations

import importlib.util
import json
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from probing import bias
from probing.directions import known
from workbench.errors import SutureError


def draw(rows, seed, offset=0.0):
    found = np.random.default_rng(seed).normal(size=(rows, 12)).astype(np.float32)
    found[:, 0] += offset
    return found


def cos(x, y):
    x, y = x.astype(np.float64), y.astype(np.float64)
    return x @ y / np.linalg.norm(x) / np.linalg.norm(y)


def by_hand(x, y, a, b):
    """The definition of Caliskan et al., word by word, and every partition."""
    s = [np.mean([cos(w, c) for c in a]) - np.mean([cos(w, c) for c in b]) for w in [*x, *y]]
    first, n = list(range(len(x))), len(x)
    statistic = sum(s[:n]) - sum(s[n:])
    ways = [sum(s[i] for i in part) - sum(s[i] for i in range(2 * n) if i not in part)
            for part in combinations(range(2 * n), n)]  # fmt: skip
    assert first == list(next(combinations(range(2 * n), n)))
    difference = np.mean(s[:n]) - np.mean(s[n:])
    p = np.mean([value >= statistic - 1e-12 for value in ways])
    return statistic, difference / np.std(s), difference / np.std(s, ddof=1), p


def test_weat_is_its_definition():
    x, y, a, b = draw(5, 0, 1.0), draw(5, 1, -1.0), draw(6, 2, 1.0), draw(4, 3)
    found = bias.weat((x, y), (a, b))
    assert found[0] == pytest.approx(by_hand(x, y, a, b)[0], abs=1e-9)
    assert (found.effect, found.effect_sample, found.p) == pytest.approx(by_hand(x, y, a, b)[1:], abs=1e-9)
    assert (found.kind, found.looked_at, found.sizes) == ("exact", 252, (5, 5, 6, 4))
    assert found.p_holm == found.p


def published() -> Path:
    """Where the vectors of WEFE's example lie: never imported or unpickled, read as text."""
    if folder := os.environ.get("SUTURE_WEFE"):
        return Path(folder)
    spec = importlib.util.find_spec("wefe")
    if spec is None or not spec.origin:
        pytest.skip(
            "WEFE's vectors are not at hand: set SUTURE_WEFE to the folder wefe/datasets/data of its wheel"
        )
    return Path(spec.origin).parent / "datasets" / "data"


def test_the_example_of_wefe_comes_out_in_every_digit_with_exact_p():
    folder = published()
    lines = (folder / "weat_w2v____old.txt").read_text(encoding="utf-8").splitlines()[1:]
    vectors = {name: np.array(row, np.float32) for name, *row in (line.split(" ") for line in lines)}
    words = json.loads((folder / "WEAT.json").read_text(encoding="utf-8"))
    sets = [np.stack([vectors[word] for word in words[name]])
            for name in ("female_terms", "male_terms", "family", "career")]  # fmt: skip
    found = bias.weat((sets[0], sets[1]), (sets[2], sets[3]))
    assert found.effect == pytest.approx(0.4507653, abs=1e-6)
    assert found.effect_sample == pytest.approx(0.4364516, abs=1e-6)
    assert found.statistic == pytest.approx(0.4634388, abs=1e-6)
    assert (found.kind, found.looked_at) == ("exact", 12_870)
    assert found.p == pytest.approx(0.1971, abs=5e-5)
    one_by_one = by_hand(*sets)
    assert found.p == one_by_one[3]


def test_exchanging_the_targets_or_the_poles_turns_the_sign():
    x, y, a, b = (draw(4, seed) for seed in range(4))
    found = bias.weat((x, y), (a, b))
    for other in (bias.weat((y, x), (a, b)), bias.weat((x, y), (b, a))):
        assert other.effect == pytest.approx(-found.effect)
        assert other.p_two_sided == pytest.approx(found.p_two_sided)


def test_length_and_rotation_change_nothing_and_the_mean_only_the_raw_view():
    x, y, a, b = (draw(4, seed) for seed in range(4))
    turn = np.linalg.qr(np.random.default_rng(8).normal(size=(12, 12)))[0]
    for view in ("raw", "centred"):
        found = bias.weat((x, y), (a, b), view=view)
        turned = bias.weat((x @ turn * 3, y @ turn * 3), (a @ turn * 3, b @ turn * 3), view=view)
        assert turned.effect == pytest.approx(found.effect, abs=1e-5)
    moved = bias.weat((x + 9, y + 9), (a + 9, b + 9), view="centred")
    assert moved.effect == pytest.approx(bias.weat((x, y), (a, b), view="centred").effect, abs=1e-4)


def test_words_without_direction_are_left_out_and_counted():
    x, y, a, b = (draw(5, seed) for seed in range(4))
    x[0], a[1] = 0, np.nan
    found = bias.weat((x, y), (a, b))
    clean = bias.weat((x[1:], y), (np.delete(a, 1, 0), b))
    assert (found.sizes, found.undefined) == ((4, 5, 4, 5), 2)
    assert found[:6] == pytest.approx(clean[:6])


def test_sets_too_small_have_no_effect():
    x, y, a, b = (draw(3, seed) for seed in range(4))
    found = bias.weat((x * 0, y), (a, b))
    assert (found.effect, found.p, found.sizes) == (None, None, (0, 3, 3, 3))
    same = np.repeat(x[:1], 3, 0)
    assert bias.weat((same, same), (a, b)).effect is None
    assert bias.weat((same, same), (a, b)).p == 1.0
    with pytest.raises(SutureError, match="pole A"):
        bias.weat((x, y), (a * 0, b))
    with pytest.raises(SutureError, match="one width"):
        bias.weat((x, y), (a[:, :5], b))


def test_p_is_corrected_for_the_layers():
    layers = [
        ((draw(4, i, 2.0), draw(4, 40 + i, -2.0)), (draw(4, 80 + i, 2.0), draw(4, 120 + i, -2.0)))
        for i in range(5)
    ]
    found = bias.weat_layers(layers)
    smallest = min(each.p for each in found)
    assert min(each.p_holm for each in found) == pytest.approx(min(1, 5 * smallest))
    assert all(each.p_holm >= each.p for each in found)


def test_a_token_is_compared_with_its_twin():
    tokens, neutral, a, b = draw(6, 0, 3.0), draw(6, 1), draw(5, 2, 3.0), draw(5, 3, -3.0)
    tokens[2] = 0
    found = bias.twins(tokens, neutral, (a, b))
    for i, (difference, near) in enumerate(
        zip(found.difference.tolist(), found.cosine.tolist(), strict=True)
    ):
        if i == 2:
            assert (difference, near) == (None, None)
            continue
        s = [
            np.mean([cos(w, c) for c in a]) - np.mean([cos(w, c) for c in b]) for w in (tokens[i], neutral[i])
        ]
        assert difference == pytest.approx(s[0] - s[1], abs=1e-9)
        assert near == pytest.approx(cos(tokens[i], neutral[i]), abs=1e-9)
    assert found.mean == pytest.approx(found.difference.mean())
    assert found.p == 1 / 32  # all five differences point to A
    nothing = bias.twins(tokens[2:3], neutral[2:3], (a, b))
    assert (nothing.mean, nothing.p, known(nothing.difference).any()) == (None, None, False)


def test_a_word_of_several_tokens_is_named_so():
    found = bias.coverage([1, 3, 2, 0], [False, False, True, False])
    assert found == ["single-token", "multi-token", "not coverable", "not coverable"]
    assert all(template.format("Ann").count("Ann") == 1 for template in bias.TEMPLATES)
