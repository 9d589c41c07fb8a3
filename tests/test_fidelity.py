"""Ids and bytes follow the upstream libraries on real vocabularies."""

import pytest

from tests.benchmarks.fidelity import VOCABULARIES, compare
from tests.benchmarks.texts import SCRIPTS, letters, scripts_of, texts
from tests.vocabs import need

LOSSLESS = ("gpt2", "p50k", "cl100k", "o200k", "qwen", "tekken", "deepseek", "llama3", "rwkv")


@pytest.fixture(scope="module")
def made() -> list[str]:
    return texts(600)


def test_the_texts_are_of_many_scripts(made) -> None:
    assert len(scripts_of(made)) >= 30
    assert made == texts(600)
    assert all(letters(code) for code in SCRIPTS)


@pytest.mark.vocabs
@pytest.mark.parametrize("name", VOCABULARIES)
def test_nothing_differs(made, name) -> None:
    need(name)
    if name == "rwkv":
        need("rwkv-upstream")
    row = compare(name, made)
    assert (row.ids_apart, row.bytes_apart, row.texts_apart, row.untiled) == (0, 0, 0, 0)
    assert row.bytes_compared > 0.98 * row.ids
    if name in LOSSLESS:
        assert row.exact == row.texts
