"""Products in 32 bits: how far off they are, and what two sides must have in common."""

from __future__ import annotations

import numpy as np
import pytest

from probing import products
from workbench.errors import SutureError


def draw(rows, width, seed=0):
    return (np.random.default_rng(seed).normal(size=(rows, width)) + 1).astype(np.float32)


@pytest.mark.parametrize("width", [3, 384, 1024, 4096])
@pytest.mark.parametrize("view", ["raw", "centred", "standardised"])
def test_a_product_in_32_bits_is_well_within_what_is_taken_again(width, view):
    one, two = products.paired(draw(50, width), draw(400, width, 1), view)
    exact = one.exact(np.arange(50)) @ two.exact(np.arange(400)).T
    assert np.abs(one.unit @ two.unit.T - exact).max() < products.NEAR / 5


def test_single_pairs_are_those_of_the_whole_product(monkeypatch):
    monkeypatch.setattr(products, "GATHERED", 40)
    one, two = products.paired(draw(20, 7), draw(30, 7, 1), "centred")
    rows, columns = np.random.default_rng(2).integers(0, 20, (2, 90))
    whole = one.exact(np.arange(20)) @ two.exact(np.arange(30)).T
    np.testing.assert_allclose(products.dots(one, two, rows, columns), whole[rows, columns], atol=1e-12)


def test_both_sides_must_be_seen_alike():
    ready = products.Directions.of(draw(5, 3), "centred")
    assert products.Directions.of(ready) is ready
    with pytest.raises(SutureError, match="seen alike; got raw and centred"):
        products.paired(draw(5, 3), ready, "raw")
    with pytest.raises(SutureError, match="one width"):
        products.paired(draw(5, 4), ready, "centred")


def test_stretches_cover_every_row_once(monkeypatch):
    monkeypatch.setattr(products, "SCORES", 100)
    parts = list(products.stretches(33, 10))
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(33))
    assert len(list(products.stretches(3, 1_000))) == 3
