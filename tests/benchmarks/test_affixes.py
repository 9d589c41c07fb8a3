"""The figures of the affix benchmark, against plain counting."""

from __future__ import annotations

import numpy as np
import pytest

from tests.benchmarks import affixes
from tests.benchmarks.affixes import Row, boundaries, figures, gold, held_out, rates, read, score
from workbench.inflection import Analysis


def analysis(*morphs, known="affixes"):
    return Analysis(morphs, ("root",) * len(morphs), None, None, known)


def test_gold_of_a_row():
    joined = Row("houses", ("house", "s"), "100")
    assert gold(joined, "joined") == gold(joined, "all") == gold(joined, "placed") == {5}
    moved = Row("incrocerai", ("incrociare", "erai"), "100")
    assert gold(moved, "joined") is gold(moved, "all") is None
    assert gold(moved, "placed") == {6}
    assert gold(Row("went", ("go", "ed"), "100"), "placed") is None
    assert gold(Row("kindness", ("kind", "ness"), "010"), "joined") is None
    assert gold(Row("kindness", ("kind", "ness"), "010"), "all") == {4}
    assert gold(Row("table", ("table",), "000"), "all") == set()
    assert boundaries(("a", "bc", "d")) == {1, 3}


def test_scores_are_counted_by_word():
    rows = [
        Row("houses", ("house", "s"), "100"),
        Row("unread", ("un", "read"), "110"),
        Row("x", ("y",), "100"),
    ]
    made = {"houses": analysis("hous", "es"), "unread": analysis("un", "re", "ad", known="none")}
    found = score(rows, "joined", lambda word: made[word])
    assert found.counts.tolist() == [[0, 1, 1], [1, 2, 1]]
    assert found.sure.tolist() == [True, False]


def test_rates_and_intervals():
    counts = np.array([[1, 1, 1], [0, 1, 1], [2, 2, 3], [1, 2, 1]])
    assert rates(counts).tolist() == pytest.approx([4 / 6, 4 / 6, 4 / 6])
    found = figures(counts)
    draws = np.random.default_rng(0).integers(0, 4, (affixes.DRAWS, 4))
    precisions = [sum(counts[i][0] for i in draw) / sum(counts[i][1] for i in draw) for draw in draws]
    assert found["precision"] == pytest.approx([4 / 6, *np.percentile(precisions, (2.5, 97.5))], abs=1e-4)


def test_half_of_the_words_are_held_out():
    held = [held_out(f"word{number}") for number in range(2000)]
    assert 900 < sum(held) < 1100


def test_the_table_goes_between_its_marks(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(f"before\n{affixes.MARKS[0]}\nold\n{affixes.MARKS[1]}\nafter\n", encoding="utf-8")
    affixes.renew(page, "| new |")
    assert page.read_text(encoding="utf-8") == (
        f"before\n{affixes.MARKS[0]}\n| new |\n{affixes.MARKS[1]}\nafter\n"
    )


def test_the_written_quality_is_what_the_gold_gives():
    folder = affixes.data_dir()
    if not folder.is_dir():
        pytest.skip("the gold of SIGMORPHON 2022 is not at hand; SUTURE_SIGMORPHON names its folder")
    from workbench.inflection import Analyser
    from workbench.lexicons.embedded import quality

    rows = [row for row in read(folder / "eng.word.dev.tsv") if held_out(row.word)]
    right = made = true = words = 0
    analyser = Analyser.of("en")
    for row in rows:
        found = analyser.analyse(row.word)
        if "".join(row.morphs) != row.word or row.kinds[0] != "1" or found.known not in affixes.SURE:
            continue
        ours = {len("".join(found.morphs[:at])) for at in range(1, len(found.morphs))}
        theirs = {len("".join(row.morphs[:at])) for at in range(1, len(row.morphs))}
        right, made, true, words = right + len(ours & theirs), made + len(ours), true + len(theirs), words + 1
    written = quality()["en"]["joined"]
    assert written["scored"] == words
    assert written["precision"][0] == pytest.approx(right / made, abs=1e-4)
    assert written["recall"][0] == pytest.approx(right / true, abs=1e-4)
