"""Classes of entries against loops over every occurrence, and the null model against drawn vocabularies."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders
from tests.vocabs import need
from vocab_audits.shapes import SHAPES
from vocab_audits.substrings import ABSENT, CLASSES, PLACES, UNITS, Stream, lengths, read
from vocab_audits.unitclasses import ALL, OUTSIDE, cells_of, classified
from vocab_audits.unitnull import null
from vocab_audits.units import units
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.inventory import Inventory
from workbench.lexicon import ROLES, SCHEMA, MorphLexicon

NO_ROLES = ("root", "prefix", "suffix", "affix", "morph")


def lexicon(*rows):
    """Rows of language, morphs with a space between them, roles or None, process, tag."""
    columns = {name: [] for name in SCHEMA}
    for language, text, roles, process, tag in rows:
        morphs = text.split(" ")
        values = {"language": language, "word": "".join(morphs), "morphs": morphs,
                  "roles": roles and roles.split(" "), "how": "concatenative", "process": process,
                  "pos": tag}  # fmt: skip
        for name, column in columns.items():
            column.append(values.get(name))
    return MorphLexicon("small", "small", pl.DataFrame(columns, schema=SCHEMA))


ENGLISH = lexicon(
    ("en", "house", None, None, None),
    ("en", "house s", "root suffix", "inflection", None),
    ("en", "house hold", "root root", "compound", None),
    ("en", "un happy", "prefix root", "derivation", None),
    ("en", "happy", None, None, None),
    ("en", "walk ed", "root suffix", "inflection", None),
    ("en", "walk ing s", "root suffix suffix", None, None),
    ("en", "Paris", None, None, "PROPN"),
    ("de", "Haus", None, None, None),
    ("de", "haus en", "root suffix", None, None),
    ("de", "blume n beet", "root link root", "compound", None),
)


def inventory(*entries, **columns):
    return Inventory.build("small", "small", {"id": range(len(entries)), "bytes": list(entries), **columns})


def classes(found):
    return dict(found.table.select(pl.col("bytes"), pl.col("class").cast(pl.String)).iter_rows())


def test_classes_of_all_kinds():
    wanted = {
        b"house": "root", b" house": "root", b" House": "root", b"houses": "inflected_word",
        b" household": "compound", b"happy": "root", b" unhappy": "derived_word", b"un": "prefix",
        b"ed": "suffix", b"s": "suffix", b" ed": "unknown", b"n": "affix", b"hold": "root",
        b"walkings": "word", b" Paris": "name", b" paris": "unknown", b"ings": "morph_sequence",
        b"blumen": "morph_sequence", b"ouse": "within_morph", b"lked": "cross_morph", b"eho": "cross_morph",
        b" Zebra": "name_candidate", b"zebra": "unknown", "дом".encode(): "other_script",
        b"houseHold": "code", b" haus": "root", b"Haus": "root", b"HOUSES": "inflected_word",
        b" ": "blank", b"\n\n": "blank", b"1,024": "number", b"2024": "number", "½".encode(): "number",
        b"...": "punctuation", b"?!": "punctuation", "«".encode(): "punctuation", b"====": "punctuation",
        b"<div": "markup", b"</p>": "markup", b"&nbsp;": "markup", b"https://": "markup",
        b"();": "code", b"==": "code", b"get_name": "code", b"->": "code", b" of the": "phrase",
        b".get": "mixed", "ா".encode(): "other_script", b"x86": "mixed", b"\xe2\x82": "bytes",
    }  # fmt: skip
    found = classes(classified(inventory(*wanted), ENGLISH))
    assert found == wanted


def test_a_place_in_the_word_limits_what_an_entry_can_be():
    entries = [b"ed", b"ed", b"house", b"house", b"un", b"houses", b"houses"]
    position = ["inner", "initial", "inner", "initial", "inner", "inner", "initial"]
    found = classified(inventory(*entries, position=position), ENGLISH)
    assert found.table["class"].to_list() == [
        "suffix", "unknown", "unknown", "root", "unknown", "unknown", "inflected_word"
    ]  # fmt: skip


def test_an_end_of_word_is_looked_for_at_the_end():
    found = classified(inventory(b"house", b"happy", b"un", position=["final"] * 3), ENGLISH)
    assert found.table["class"].to_list() == ["root", "root", "unknown"]


def test_special_reserved_and_byte_entries_are_no_text():
    found = classified(inventory(b"<s>", b"[unused1]", b"a", kind=["special", "piece", "byte"]), ENGLISH)
    assert found.table["class"].to_list() == ["special", "special", "bytes"]


def test_holes_are_left_out_and_languages_listed():
    made = Inventory.build("small", "small", {"id": [0, 3], "bytes": [b"s", b"haus"]})
    shared = lexicon(("en", "cat s", "root suffix", "inflection", None),
                     ("es", "gato s", "root suffix", "inflection", None))  # fmt: skip
    found = classified(made, shared)
    assert found.table["token_id"].to_list() == [0, 3]
    assert found.table["languages"].to_list() == [["en", "es"], None]
    assert found.units.rows() == [(0, "en", "suffix", 1), (0, "es", "suffix", 1)]


def test_the_reading_is_taken_that_most_entries_of_a_language_support():
    rows = [("en", f"{word} able", "root suffix", "derivation", None) for word in ("read", "use", "wash")]
    able = lexicon(("en", "able", None, None, None), *rows)
    found = classes(classified(inventory(b"able", b" able"), able))
    assert found == {b"able": "suffix", b" able": "root"}  # a space before it: the word itself


def test_a_word_that_the_lexicon_lacks_is_a_fragment_of_one_that_it_has():
    theft = lexicon(("en", "theft", None, None, None), ("en", "the sis", "root suffix", None, None))
    assert classes(classified(inventory(b" the", b" thesi", b" thus"), theft)) == {
        b" the": "root", b" thesi": "cross_morph", b" thus": "unknown"
    }  # fmt: skip
    assert classes(classified(inventory(b" the"), lexicon(("en", "theft", None, None, None)))) == {
        b" the": "within_morph"
    }


# Against loops


def occurrences(row_list, form, place):
    """Every occurrence of a form: language, relation, unit; straight from the definitions."""
    free = {(language, "".join(morphs)) for language, morphs, *_ in row_list if len(morphs) == 1}
    for language, morphs, roles, process, tag in row_list:
        word, edges = "".join(morphs), [0, *itertools.accumulate(map(len, morphs))]
        for start in range(len(word) - len(form) + 1):
            end = start + len(form)
            if word[start:end] != form:
                continue
            if (place == "begin" and start) or (place == "inner" and not start):
                continue
            if place == "final" and end != len(word):
                continue
            inner = [edge for edge in edges if start < edge < end]
            if start == 0 and end == len(word):
                yield language, "whole", whole(morphs, roles, process, tag)
            elif start in edges and end in edges and not inner:
                index = edges.index(start)
                yield language, "unit", unit(language, morphs[index], roles and roles[index], free)
            elif start in edges and end in edges:
                yield language, "sequence", None
            else:
                yield language, "cross" if inner else "within", None


def unit(language, morph, role, free):
    if role is None:
        return "root" if (language, morph) in free else "morph"
    return role if role in ("root", "prefix", "suffix") else "affix"


def whole(morphs, roles, process, tag):
    if tag == "PROPN":
        return "name"
    if len(morphs) == 1:
        return unit(None, morphs[0], roles[0] if roles else "root", set())
    if "compound" in (process or "") or (roles and roles.count("root") > 1):
        return "compound"
    if "inflection" in (process or ""):
        return "inflected_word"
    return "derived_word" if "derivation" in (process or "") else "word"


def expected_class(row_list, form, place):
    found = list(occurrences(row_list, form, place))
    if not found:
        return None, 0
    entries = Counter(language for language, *_ in row_list)
    order = list(dict.fromkeys(language for language, *_ in row_list))
    readings = [(language, kind, name) for language, kind, name in found if name]
    if place == "begin" and any(kind == "whole" for _, kind, _ in readings):
        readings = [reading for reading in readings if reading[1] == "whole"]
    if readings:
        support = Counter((language, name) for language, _, name in readings)
        best = min(
            support,
            key=lambda key: (-support[key] / entries[key[0]], UNITS.index(key[1]), order.index(key[0])),
        )
        return best[1], len(found)
    kinds = Counter(kind for _, kind, _ in found)
    if kinds["sequence"]:
        return "morph_sequence", len(found)
    return "cross_morph" if kinds["cross"] > kinds["within"] else "within_morph", len(found)


def rows_of(made):
    columns = ("language", "morphs", "roles", "process", "pos")
    return made.frame.select(columns).rows()


@st.composite
def lexicons(draw):
    morph = st.text("ab", min_size=1, max_size=3)
    rows = []
    for _ in range(draw(st.integers(1, 12))):
        morphs = draw(st.lists(morph, min_size=1, max_size=3))
        roles = draw(st.one_of(st.none(), st.lists(st.sampled_from(ROLES), min_size=len(morphs),
                                                   max_size=len(morphs))))  # fmt: skip
        process = draw(st.sampled_from([None, "inflection", "derivation", "inflection+compound"]))
        tag = draw(st.sampled_from([None, None, "PROPN"]))
        rows.append((draw(st.sampled_from("xy")), " ".join(morphs), roles and " ".join(roles), process, tag))
    return lexicon(*rows)


@settings(max_examples=60, deadline=None)
@given(lexicons())
def test_every_substring_is_read_as_a_loop_reads_it(made):
    row_list, stream = rows_of(made), Stream.of(made)
    forms = pl.Series("form", ["".join(letters) for size in range(1, 6)
                               for letters in itertools.product("abc", repeat=size)])  # fmt: skip
    seen = set()
    for length in lengths(stream, forms):
        words = {"".join(morphs) for _, morphs, *_ in row_list}
        distinct = {word[start : start + length.size] for word in words
                    for start in range(len(word) - length.size + 1)}  # fmt: skip
        assert length.distinct == len(distinct)
        for place in PLACES:
            readings = read(stream, length, place)
            for row, number in zip(length.forms.tolist(), length.found.tolist(), strict=True):
                name, count = expected_class(row_list, forms[row], place)
                here = readings.classes[number]
                assert (None if here == ABSENT else CLASSES[here]) == name, (forms[row], place)
                assert readings.counts[number] == count
                seen.add(row)
    for row, form in enumerate(forms):
        assert (row in seen) == any(form in "".join(morphs) for _, morphs, *_ in row_list)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.binary(min_size=1, max_size=6), st.text(max_size=6).map(str.encode)), max_size=30)
)
def test_the_classes_are_a_partition(entries):
    made = inventory(*entries)
    outcome = units(made, ENGLISH, draws=3)
    table = outcome.tables["units"]
    assert table["token_id"].to_list() == list(range(len(entries)))
    assert table["class"].null_count() == 0
    assert table["class"].cast(pl.String).is_in(ALL).all()
    shares = [row["value"] for row in outcome.table().iter_rows(named=True)
              if row["measure"].startswith("share.")]  # fmt: skip
    assert len(shares) == len(ALL) == len(CLASSES) + len(OUTSIDE) + len(SHAPES)
    if entries:
        assert sum(shares) == pytest.approx(1)
    else:
        assert set(shares) == {None}


# The null model


def many(seed=0, words=600):
    """A lexicon of random words of random morphs."""
    random_ = random.Random(seed)  # noqa: S311 a test's lexicon
    stems = ["".join(random_.choices("abcdefg", k=random_.randint(2, 5))) for _ in range(150)]
    ends = ["a", "en", "gab", "ed"]
    rows = {(random_.choice(stems), random_.choice(ends)) for _ in range(words)}
    return lexicon(
        *(("en", f"{stem} {end}", "root suffix", "inflection", None) for stem, end in sorted(rows))
    )


def test_the_null_model_agrees_with_strings_drawn_one_by_one():
    made = many(words=80)
    found = classified(inventory(b"ab", b"cd", b"gab", b" en", b"eng", b"abcd", b"a", b"ded"), made)
    wanted = cells_of(found.table)
    random_, row_list = null(wanted, found.cells, 4000, 1), rows_of(made)
    words = ["".join(morphs) for _, morphs, *_ in row_list]
    mean = defaultdict(float)
    for (size, place, band), number in wanted.items():
        strings = {word[at : at + size] for word in words for at in range(len(word) - size + 1)}
        told = [expected_class(row_list, form, place) for form in sorted(strings)]
        cell = [name for name, count in told if count and int(math.log2(count)) == band]
        for name in cell:
            mean[name] += number / len(cell)
    assert random_.mean == pytest.approx([mean[name] for name in CLASSES])
    assert (random_.low <= random_.mean + 1e-9).all()
    often = random_.mean > 0.1  # of what is rarer, fewer than 97.5 % of the draws have any
    assert (random_.mean <= random_.high)[often].all()
    one = null(wanted, found.cells, 0, 0)
    assert np.isnan(one.low).all()
    assert one.mean == pytest.approx(random_.mean)


def test_draws_have_the_deviation_of_the_closed_form():
    wanted, cells = {(2, "any", 0): 400}, {}
    cells[2, "any"] = np.zeros((40, len(CLASSES)), np.int64)
    cells[2, "any"][0, :2] = 30, 10
    random_ = null(wanted, cells, 20_000, 3)
    assert random_.mean[:2] == pytest.approx([300, 100])
    assert random_.deviation[:2] == pytest.approx([math.sqrt(400 * 0.75 * 0.25)] * 2)
    assert random_.high[0] - random_.low[0] == pytest.approx(2 * 1.96 * random_.deviation[0], rel=0.06)


def over_null(outcome, name):
    return outcome.tables["units_null"].filter(pl.col("class") == name).row(0, named=True)


def test_random_substrings_are_no_more_units_than_random_substrings():
    made, random_ = many(words=2000), random.Random(5)  # noqa: S311 likewise
    words = made.frame["word"].to_list()
    spans = ((word, *span) for word in words for span in itertools.combinations(range(len(word) + 1), 2))
    strings = sorted({word[low:high] for word, low, high in spans})
    outcome = units(inventory(*(text.encode() for text in random_.sample(strings, 400))), made)
    for name in ("root", "within_morph", "cross_morph"):
        row = over_null(outcome, name)
        assert 0.8 < row["ratio"] < 1.25
        assert abs(row["z"]) < 4


def test_planted_units_stand_out():
    made = many()
    morphs = made.frame["morphs"].explode().unique().sort().to_list()
    row = over_null(units(inventory(*(text.encode() for text in morphs)), made), "root")
    assert row["ratio"] > 1.5
    assert row["z"] > 5


def test_the_same_seed_gives_the_same_and_another_another():
    entries = inventory(*(bytes([97 + at, 97 + other]) for at in range(7) for other in range(7)))
    first, again, other = (units(entries, many(), draws=20, seed=seed).tables["units_null"]
                           for seed in (0, 0, 1))  # fmt: skip
    assert first.equals(again)
    assert not first.equals(other)
    assert first["expected"].equals(other["expected"])
    with pytest.raises(SutureError, match="draws must be 0 or more"):
        units(entries, many(), draws=-1)


# The lexicon's units held


def test_units_held_by_form():
    outcome = units(inventory(b"house", b" house", b"s", b" Paris", b" ed", b"un"), ENGLISH)
    rows = {row[1:3]: row[3:] for row in outcome.tables["units_coverage"].rows()}
    assert rows["en", "root"] == (4, 1, 1, 1)  # house, happy, walk, hold; Paris is a name
    assert rows["en", "suffix"] == (3, 1, 1, 2)
    assert rows["en", "prefix"] == (1, 0, 1, 1)
    assert rows["en", "all_words"] == (8, 2, 1, 2)
    assert rows["de", "all_words"] == (3, 0, 0, 0)
    told = outcome.table().filter(measure="held.root", language="en", variant="either way").row(0, named=True)
    assert told["value"] == pytest.approx(0.25)
    assert told["evidence"] == "1 of 4"


def test_an_empty_lexicon_knows_nothing():
    empty = MorphLexicon("none", "none", SCHEMA.to_frame())
    outcome = units(inventory(b"house", b"12"), empty)
    assert outcome.tables["units"]["class"].to_list() == ["other_script", "number"]


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_real_vocabularies(name):
    path = str(need(name).parent if name == "bert" else need(name))
    made = load(path if name == "bert" else f"{path}#pattern=gpt2").inventory
    outcome = units(made, ENGLISH, draws=5)
    told = outcome.tables["units"]
    assert told.height == len(made)
    found = dict(
        told.select("bytes", pl.col("class").cast(pl.String))
        .filter(~pl.col("bytes").is_duplicated())
        .iter_rows()
    )
    if name == "gpt2":
        assert found[b" houses"] == "inflected_word"
        assert found[b" Paris"] == "name"
        assert told.filter(pl.col("class") == "bytes").height == 344
    else:
        assert told.filter(pl.col("class") == "special").height == 999
        assert found[b"household"] == "compound"


def test_byte_level_entries_are_read_by_their_bytes():
    made = load(builders.byte_level([b" house", b"ed", "über".encode()]), "small").inventory
    found = classified(made, ENGLISH).table
    assert found["class"].to_list()[256:] == ["root", "suffix", "unknown"]
    assert found["class"].to_list()[0x80:0x100] == ["bytes"] * 128
