"""Unwanted entries: findings, tables and drawing against counting by hand, and known ids."""

from __future__ import annotations

import json
import os

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import builders
from tests.outside import corpus
from tests.vocabs import need, tiktoken_dir
from vocab_audits import unwantedtables as around
from vocab_audits.unwanted import unwanted
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.inventory import Inventory
from workbench.termlists import open_lists
from workbench.termlists.matching import match

EXTRA = [b"zo", b"rk", b"zork", b" zork", b"bl", b"ar", b"blar", b" blar", b"gr", b"ue", b"grue", b" grue"]
TEXTS = ["a zork and a zork", "zork", "no grue here"]


@pytest.fixture
def tokenizer():
    return load(builders.encoding(EXTRA, special={"<|zork|>": 300}), "small")


@pytest.fixture
def listed(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text(
        "term\tcategory\tgroup\tseverity\ttwin\nzork\tslur\tgrues\tstrong\tgrue\nblarf\tsexual\t\tmild\t\nzork\tprofanity\t\tmild\t\n"
        "彩票\tgambling_spam\t\tmild\t\n"
    )
    return f"{path}#licence=CC0&language=en"


def outcome(tokenizer, tmp_path, *lists, **options):
    (tmp_path / "texts").mkdir(exist_ok=True)
    return unwanted(tokenizer, corpus(tmp_path / "texts", en=TEXTS), lists=lists, **options)


def figures(found, *measures):
    rows = found.table().filter(pl.col("measure").is_in(measures))
    return {(row["measure"], row["variant"]): row["value"] for row in rows.iter_rows(named=True)}


def test_hits_with_their_grades_places_and_counts(tokenizer, listed, tmp_path):
    found = outcome(tokenizer, tmp_path, listed)
    zork, spaced, grue, spaced_grue = 258, 259, 266, 267
    hits = found.tables["unwanted"]
    rows = hits.select(
        "token_id", "category", pl.col("kind").cast(pl.String), "twin_id", "occurrences", "variants"
    )
    assert rows.rows() == [
        (zork, "slur", "fragment", grue, 1, 2), (zork, "profanity", "fragment", None, 1, 2),
        (spaced, "slur", "word", spaced_grue, 2, 2), (spaced, "profanity", "word", None, 2, 2),
    ]  # fmt: skip
    told = found.table().filter(measure="unwanted_entry")
    grades = {(row["token_id"], row["variant"]): row["severity"] for row in told.iter_rows(named=True)}
    assert grades == {
        (spaced, "slur"): "flag", (zork, "slur"): "warn",
        (spaced, "profanity"): "info", (zork, "profanity"): "info",
    }  # fmt: skip
    assert figures(
        found, "category.slur", "category.profanity", "kind.word", "kind.fragment", "list.mine"
    ).values()
    assert set(
        figures(found, "category.slur", "category.profanity", "list.mine", "entries_hit").values()
    ) == {2.0}  # fmt: skip


def test_no_note_holds_a_term_and_every_list_is_named(tokenizer, listed, tmp_path):
    table = outcome(tokenizer, tmp_path, listed, "patterns").table()
    said = " ".join(table["note"].drop_nulls().to_list())
    assert "zork" not in said
    assert "licence CC0; SHA-256 " in said
    assert "licence Apache-2.0" in said
    assert unwanted.sensitive
    described = outcome(tokenizer, tmp_path, listed).tables["unwanted_lists"]
    assert described.filter(name="mine").select("licence", "terms").row(0) == ("CC0", 4)
    assert described["digest"].str.len_chars().unique().to_list() == [64]


def test_words_are_single_composed_or_beyond_spelling(tokenizer, listed, tmp_path):
    found = outcome(tokenizer, tmp_path, listed)
    costs = {
        row["term"]: (row["status"], row["tokens"])
        for row in found.tables["unwanted_words"].iter_rows(named=True)
    }
    assert costs == {"zork": ("single", 1), "blarf": ("several", 2), "彩票": ("several", 6)}
    assert figures(found, "words_composed_share") == {
        ("words_composed_share", "all lists, the cheaper of bare and after a space"): 2 / 3
    }
    closed = load(builders.wordpiece(["zork", "bl", "##ar", "##f"]), "pieces")
    costs = around.words(closed, open_lists(listed))
    assert dict(costs.select("term", pl.col("status").cast(pl.String)).iter_rows()) == {
        "zork": "single", "blarf": "several", "彩票": "not_coverable",
    }  # fmt: skip
    assert costs.filter(term="彩票")["tokens"].to_list() == [None]


def test_mild_hits_beyond_the_top_are_in_the_table_alone(tokenizer, listed, tmp_path):
    found = outcome(tokenizer, tmp_path, listed, top=0)
    told = found.table().filter(measure="unwanted_entry")
    assert set(told["variant"]) == {"slur"}
    assert found.tables["unwanted"].filter(category="profanity").height == 2
    with pytest.raises(SutureError, match="top must be 0 or more"):
        outcome(tokenizer, tmp_path, listed, top=-1)


def test_terms_of_other_languages_are_left_out_on_request(tokenizer, listed, tmp_path):
    assert outcome(tokenizer, tmp_path, listed, languages=("fi",)).tables["unwanted"].is_empty()
    kept = outcome(tokenizer, tmp_path, listed, languages=("fi", "en")).tables["unwanted"]
    assert kept.height == outcome(tokenizer, tmp_path, listed).tables["unwanted"].height == 4
    lists = open_lists("patterns").spoken("fi")
    assert set(lists.terms["language"]) | set(lists.patterns["language"]) == {"mul", "zxx"}


def test_an_empty_inventory_and_an_inventory_of_no_text(listed, tmp_path):
    bare = load(builders.encoding([], special={}), "bare")
    found = outcome(bare, tmp_path, listed)
    assert figures(found, "entries_hit")["entries_hit", "all lists together, an entry once"] == 0
    assert found.tables["unwanted"].is_empty()
    adverts = found.table().filter(measure="long_han_adverts").row(0, named=True)
    assert (adverts["value"], adverts["note"]) == (None, "not applicable: no such entry")


# Around a hit


def entries(*pieces):
    made = Inventory.build(
        "x", "x", {"id": range(len(pieces)), "bytes": [piece.encode() for piece in pieces]}
    )
    return made, around.searched(made)


def test_kin_is_a_hit_with_an_ending_that_the_inventory_has(tmp_path):
    stems = [f"{a}{b}ta" for a in "bcdfg" for b in "aeiou"]
    pieces = [*stems, *(f"{stem}s" for stem in stems), " zork", " zorks", " zorkqq", "Zorks", "zor", "zorkle"]
    made, found = entries(*pieces)
    path = tmp_path / "x.txt"
    path.write_text("zork\n")
    hits = match(made, open_lists(str(path)))
    kin = around.kin(found, hits)
    assert kin.select("bytes", "ending").rows() == [(b" zorks", "s"), (b"Zorks", "s")]
    assert kin["of"].unique().to_list() == [pieces.index(" zork")]


def test_the_longest_of_each_script():
    made, found = entries("ab", "abcd", "abc", "彩", "彩票网", "12")
    table = around.longest(found, match(made, open_lists("patterns")), 2)
    assert table.filter(script="Latn")["characters"].to_list() == [4, 3]
    assert table.filter(script="Hani").select("characters", "hit").rows() == [(3, True), (1, False)]


def test_han_entries_are_cut_into_shorter_ones():
    made, found = entries("彩票", "天天", "天天彩票", " 天天彩票网", "彩票网站", "在线")
    pieces = around.han_pieces(found, match(made, open_lists("patterns")))
    assert {row[0]: row[1:3] for row in pieces.iter_rows()} == {
        "彩票": (2, 2), "天天": (1, 1), "天天彩票": (1, 1),
    }  # fmt: skip
    assert around.long_han(found)["token_id"].to_list() == [2, 3, 4]


@given(st.text("天彩票网", min_size=1, max_size=9), st.sets(st.text("天彩票网", min_size=2, max_size=4)))
def test_pieces_stand_in_order_and_none_is_the_whole(run, known):
    here = 0
    for piece in around.cut(run, known):
        assert piece in known
        assert piece != run
        here = run.index(piece, here) + len(piece)
    assert here <= len(run)


# The report


def test_the_drawing_shows_terms_masked_and_lists_by_name(listed, tmp_path):
    from vocab_audits.run import Plan, run

    model = tmp_path / "model"
    model.mkdir()
    backend = builders.byte_level(EXTRA, use_regex=False)
    backend.save(str(model / "tokenizer.json"))
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "en.txt").write_text("\n".join(TEXTS))
    plan = Plan(
        (str(model),), ("unwanted",), str(tmp_path / "texts"), options={"unwanted": {"lists": [listed]}}
    )
    made = run(plan, tmp_path / "run", ["suture"]).run
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "The lists, and the entries that each names" in page
    assert "CC0" in page
    assert "What the lists" in page
    audits = json.loads((tmp_path / "run" / "run.json").read_text())["audits"]
    assert [each.get("sensitive") for each in audits] == [True]
    assert made.table("unwanted").height == 4


def test_a_changed_list_is_another_input(listed, tmp_path):
    from vocab_audits.inputs import named_files

    path = tmp_path / "mine.tsv"
    before = named_files({"lists": [listed, "all"], "leet": False})
    assert len(before) == 1
    digest = unwanted.inputs({"lists": [listed]})
    path.write_text("term\nblarf\n")
    assert named_files({"lists": [listed, "all"], "leet": False}) != before
    assert unwanted.inputs({"lists": [listed]}) != digest, "nor is one that no option names by its path"


# Real vocabularies

KNOWN = {
    "gpt2": (43453, 37444, 23282),
    "cl100k": (99944, 82000, 89472),
    "o200k": (181081, 2783, 182292, 147008, 193819, 99494),
}
"""Entries that were reported for what they are, which our families describe without naming them."""


def real(name):
    os.environ["TIKTOKEN_CACHE_DIR"] = str(tiktoken_dir())
    return load(str(need(name)) if name == "gpt2" else f"tiktoken:{name}_base" if need(name) else name)


@pytest.mark.vocabs
@pytest.mark.parametrize("name", KNOWN)
def test_families_describe_the_known_entries(name):
    hits = match(real(name).inventory, open_lists("patterns"))
    assert set(KNOWN[name]) <= set(hits["token_id"].to_list())


@pytest.mark.vocabs
def test_long_han_entries_of_o200k_by_the_script_property():
    inventory = real("o200k").inventory
    found = around.searched(inventory)
    long = around.long_han(found)
    assert long.height == 1216
    spam = match(inventory, open_lists("patterns")).filter(
        pl.col("category").is_in(["gambling_spam", "sexual", "scam"])
    )
    assert 0.5 < long["token_id"].is_in(spam["token_id"].to_list()).mean() < 0.8
