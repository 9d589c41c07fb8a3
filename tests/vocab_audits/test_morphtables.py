"""What the alignment audit says of gold that it cannot score, and its tables of words, morphs and groups."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest

from tests import builders
from tests.vocab_audits.test_morphology import Fixed, lexicon, measured, value
from vocab_audits.boundaries import Compared
from vocab_audits.drawings_morphology import morphology as drawing
from vocab_audits.morphology import morphology
from workbench.adapters import load
from workbench.cutting import cut_words
from workbench.errors import SutureError
from workbench.lexicon import bounds, ledger
from workbench.report.looks import Look
from workbench.report.verdict import key_figures

GOLD = [("en", "play|ing"), ("en", "play|ed"), ("tr", "ev|ler")]
CUTS = Fixed({"playing": "play|ing", "played": "play|ed", "evler": "ev|ler"})
LEFT = ledger(
    [
        ("en", "not_concatenative", 2, 1, "sang"),
        ("en", "duplicate", 9, 2, "play"),
        ("ar", "not_concatenative", 4, 3, "كتب"),
        ("ar", "ambiguous", 1, 4, "x"),
    ]
)


def test_gold_without_a_place_is_counted_by_language():
    found = morphology(CUTS, replace(lexicon(GOLD), ledger=LEFT), resamples=0)
    rows = found.table().filter(measure="gold_unplaced")
    shares = dict(rows.select("language", "value").iter_rows())
    assert shares == {None: pytest.approx(7 / 10), "en": pytest.approx(2 / 4), "tr": 0, "ar": 1}
    warned = rows.filter(severity="warn")
    assert warned["language"].to_list() == ["ar"]
    assert warned["note"].to_list() == ["5 rows have no certain place on the surface, 0 entries are scored"]
    assert rows["variant"].null_count() == 0


def test_a_lexicon_without_entries_is_refused():
    with pytest.raises(SutureError, match="a lexicon must have an entry to be scored; made has none"):
        morphology(CUTS, lexicon(GOLD).of("xx"))


def test_an_unknown_word_is_in_no_table():
    gold = lexicon([("ta", "தமிழ்|கள்"), ("ta", "கள்"), ("ta", "play|ing"), ("ta", "ing|play")])
    tables = morphology(load(builders.wordpiece(["[UNK]", "play", "##ing"])), gold, resamples=0).tables
    assert set(tables["morphology_words"]["word"]) == {"playing"}
    assert tables["morphology_morphs"].is_empty(), "only unknown words repeat a morph"
    assert tables["morphology_groups"].filter(form="bare", group="how")["words"].to_list() == [1]


def test_integrity_of_groups():
    gold = lexicon([("en", "play|ing"), ("en", "un|do|ing")])
    groups = (
        morphology(Fixed({"playing": "pl|aying", "undoing": "undo|ing"}), gold, resamples=0)
        .tables["morphology_groups"]
        .filter(form="bare", group="morphs")
    )
    integrity = dict(groups.select("value", "integrity").iter_rows())
    assert integrity == {"2": pytest.approx((2 / 4 + 1) / 2), "3": 1}


def test_words_without_occurrence_are_a_band_of_their_own():
    rows = [("en", f"w{at}|s") for at in range(20)]
    gold = lexicon(rows, frequency=[float(max(at - 10, 0)) for at in range(20)])
    segmenter = Fixed({f"w{at}s": f"w{at}|s" for at in range(20)})
    groups = morphology(segmenter, gold, resamples=0).tables["morphology_groups"]
    bands = dict(groups.filter(form="bare", group="frequency").select("value", "words").iter_rows())
    assert bands.pop("none listed") == 11
    assert sum(bands.values()) == 9
    assert max(bands.values()) - min(bands.values()) <= 1


def test_pieces_and_dilution_by_hand():
    words, morphs = ["playing", "a", "語語s"], [["play", "ing"], ["a"], ["語", "語s"]]
    cuts = {"playing": "pl|ayi|ng", "a": "a", "語語s": "語語|s"}
    compared = Compared(words, bounds(pl.Series(morphs)), cut_words(Fixed(cuts), words))
    assert compared.pieces == [[part.encode() for part in cuts[word].split("|")] for word in words]
    assert compared.common.tolist() == [0, 1, 0]
    # "ayi" holds parts of both morphs of its word; "語語" all of one and a part of the other.
    assert compared.overlaps.diluted.tolist() == [True, True, False, False, True]
    assert compared.overlaps.turbid.tolist() == [False, True, False, False, True, False]
    found = measured(Fixed(cuts), lexicon([("en", "|".join(parts)) for parts in morphs]))
    assert value(found, "morph_dilution") == pytest.approx(3 / 5)


def test_the_summary_speaks_of_one_language_too():
    findings = morphology(CUTS, lexicon(GOLD[:2]), resamples=0).table()
    rows = dict(key_figures(findings, ["fixed"]))
    assert any(name.startswith("f1 (en, micro; bare") and value == ["1"] for name, value in rows.items())
    several = dict(key_figures(morphology(CUTS, lexicon(GOLD), resamples=0).table(), ["fixed"]))
    assert all("en" not in name.split("(")[1].split(",") for name in several)


def test_the_drawing_names_entries_and_unplaced_gold():
    tables = morphology(CUTS, replace(lexicon(GOLD), ledger=LEFT), resamples=20).tables
    run = SimpleNamespace(tables=lambda: list(tables), table=tables.__getitem__)
    drawn = drawing(Look(run, pl.DataFrame(), ("fixed",), 10))
    heat = drawn.blocks[0].table
    subs = {row[0].text: row[0].sub for row in heat.groups[0].rows}
    assert subs["en"] == "2 entries; 50.0% of gold unplaced"
    assert subs["tr"] == "1 entries"
    assert subs["all together"] == "3 entries; 70.0% of gold unplaced"
    titles = [block.title for block in drawn.blocks]
    assert len(titles) == len(set(titles)), "figures without a form make no heat map of their own"


def test_a_language_has_the_same_figures_alone_and_beside_others():
    segmenter = load(builders.byte_level([b"pl", b"in", b"ing"], [(b"p", b"l"), (b"i", b"n"), (b"in", b"g")]))
    gold = lexicon([*GOLD, ("ko", "사람|이"), ("tr", "ev|ler|in"), ("en", "sing|ing")])
    both, alone = (morphology(segmenter, each, resamples=50).tables for each in (gold, gold.of("tr")))
    for name, table in alone.items():
        assert both[name].filter(language="tr").equals(table), name
