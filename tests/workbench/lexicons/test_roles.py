"""The root of an inflected word by its lemma, against the same rule word by word."""

import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.lexicon import SCHEMA
from workbench.lexicons.roles import LONGEST, inflected_roles


def frame(*rows: tuple[list[str], str | None]) -> pl.DataFrame:
    made = [
        dict.fromkeys(SCHEMA) | {"morphs": morphs, "lemma": lemma, "process": "inflection"}
        for morphs, lemma in rows
    ]
    return pl.DataFrame(made, SCHEMA)


def roles_of(morphs: list[str], lemma: str | None) -> list[str] | None:
    """The rule as it is written, for one word."""
    if lemma is None or len(morphs) < 2:
        return None

    def folded(text: str) -> str:
        return "".join(
            c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c)[0] != "M"
        )

    lemma, shared = folded(lemma), []
    for morph in map(folded, morphs):
        count = 0
        while count < min(len(morph), len(lemma), LONGEST) and morph[count] == lemma[count]:
            count += 1
        shared.append(count)
    most = max(shared)
    if shared.count(most) > 1 or 2 * most < min(len(lemma), LONGEST):
        return None
    root = shared.index(most)
    return ["prefix" if at < root else "root" if at == root else "suffix" for at in range(len(morphs))]


@pytest.mark.parametrize(
    ("morphs", "lemma", "roles"),
    [
        (["ge", "sag", "t"], "sagen", ["prefix", "root", "suffix"]),
        (["Häus", "er"], "Haus", ["root", "suffix"]),
        (["ge", "gang", "en"], "gehen", None),  # neither morph shares half of the lemma
        (["ha", "ha"], "haha", None),  # two share as much
        (["walk", "ed"], None, None),
        (["walk"], "walk", None),
    ],
)
def test_worked_cases(morphs, lemma, roles):
    assert inflected_roles(frame((morphs, lemma))).to_list() == [roles]


@given(
    st.lists(
        st.tuples(
            st.lists(st.text("aábé", min_size=1, max_size=4), min_size=1, max_size=3),
            st.none() | st.text("aábB", min_size=1, max_size=5),
        ),
        max_size=8,
    )
)
def test_against_the_rule_word_by_word(rows):
    assert inflected_roles(frame(*rows)).to_list() == [roles_of(*row) for row in rows]


def test_roles_of_the_source_and_other_words_stay():
    given = pl.Series([["root", "clitic"]], dtype=SCHEMA["roles"])
    made = pl.concat([
        frame((["walk", "ed"], "walk")).with_columns(roles=given),
        frame((["walk", "er"], "walk")).with_columns(process=pl.lit("derivation")),
        frame((["walk", "s"], "walk")),
    ])  # fmt: skip
    assert inflected_roles(made).to_list() == [["root", "clitic"], None, ["root", "suffix"]]
