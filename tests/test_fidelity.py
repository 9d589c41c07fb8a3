"""Ids and bytes follow the upstream libraries on real vocabularies."""

import numpy as np
import pytest

from tests.benchmarks.fidelity import VOCABULARIES, accounted, compare
from tests.benchmarks.texts import SCRIPTS, letters, scripts_of, texts
from tests.vocabs import need
from workbench.segmentation import Segmentation

LOSSLESS = ("gpt2", "p50k", "cl100k", "o200k", "qwen", "tekken", "deepseek", "llama3", "rwkv")


@pytest.fixture(scope="module")
def made() -> list[str]:
    return texts(600)


def test_the_texts_are_of_many_scripts(made) -> None:
    assert len(scripts_of(made)) >= 30
    assert made == texts(600)
    assert all(letters(code) for code in SCRIPTS)


SHOUTED = (b"the", b"cat")


@pytest.mark.parametrize(
    ("starts", "ends", "dropped", "right"),
    [
        ([0, 5], [3, 8], [[3, 4]], True),
        ([0, 5], [3, 8], [], False),  # the hyphen stands under no token and is not said to be dropped
        ([0, 5], [4, 8], [], False),
        ([0, 6], [3, 8], [[3, 6]], False),
    ],
)
def test_what_stands_under_the_pieces_must_be_theirs(starts, ends, dropped, right) -> None:
    cut = Segmentation(
        b"The- CAT",
        np.array(starts),
        np.array(ends),
        np.array([0, 1], np.int32),
        exact=False,
        dropped=np.array(dropped, np.int64).reshape(-1, 2),
    )
    assert accounted(cut, SHOUTED, str.lower) is right


@pytest.mark.vocabs
@pytest.mark.parametrize("name", VOCABULARIES)
def test_nothing_differs(made, name) -> None:
    need(name)
    if name == "rwkv":
        need("rwkv-upstream")
    row = compare(name, made)
    assert (row.ids_apart, row.bytes_apart, row.texts_apart, row.unaccounted) == (0, 0, 0, 0)
    assert row.bytes_compared > 0.98 * row.ids
    assert sum(row.kinds) == row.ids + row.holes
    if name in LOSSLESS:
        assert row.exact == row.texts
