"""A growing BPE against tokenizers of each size written to disk, and against plain loops."""

from __future__ import annotations

import json
from collections import Counter

import polars as pl
import pytest

from tests import outside
from tests.morphs import lexicon
from vocab_audits.censuses import PARTS
from vocab_audits.growth import growth
from vocab_audits.run import Plan, run
from workbench.adapters import load
from workbench.cutting import cut_words
from workbench.errors import SutureError

ENGLISH = [
    "The walker walks where the walking was, and the talker talks, talking of a walk.",
    "Unhappiness and happiness: the happy are happier, and the unhappy talk of 1984.",
    "naïve talk, naïve walks; done(x) and walked, the walker walked <b>on</b>.",
] * 4
GERMAN = ["Die Häuser und die Häuschen, ein Haus und des Hauses.", "Im Hause walken die Walker."] * 4
JAPANESE = ["日が出ている。日が 出た。"] * 3
ENTRIES = [
    ("en", ["walk", "ing"], ["root", "suffix"], "inflection"),
    ("en", ["walk", "er"], ["root", "suffix"], "derivation"),
    ("en", ["walk", "s"], ["root", "suffix"], "inflection"),
    ("en", ["talk", "s"], ["root", "suffix"], "inflection"),
    ("en", ["un", "happi", "ness"], ["prefix", "root", "suffix"], "derivation"),
    ("en", ["the"], ["root"], None),
    ("en", ["quix", "otic"], ["root", "suffix"], "derivation"),
    ("de", ["Häus", "er"], ["root", "suffix"], "inflection"),
    ("de", ["Haus"], ["root"], None),
]
SIZES = (264, 280, 300, 330)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return outside.corpus(tmp_path_factory.mktemp("corpus"), en=ENGLISH, de=GERMAN, ja=JAPANESE)


@pytest.fixture(scope="module")
def words():
    return lexicon(ENTRIES)


@pytest.fixture(scope="module")
def grown(corpus, words, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    outcome = growth(corpus, words, sizes=SIZES, keep=str(folder))
    return outcome, {size: load(str(folder / f"bpe-{size}"), f"bpe-{size}") for size in SIZES}


def value(outcome, subject, measure, variant=None, language=None):
    rows = outcome.table().filter(subject=subject, measure=measure)
    rows = rows.filter(pl.col("language").eq_missing(language))
    if variant:
        rows = rows.filter(pl.col("variant").str.contains(variant, literal=True))
    assert rows.height == 1, rows
    return rows["value"][0]


@pytest.mark.parametrize("size", SIZES)
def test_cost_is_that_of_the_tokenizer_of_the_size(grown, size):
    outcome, kept = grown
    tokens = {name: sum(len(kept[size].encode(line)) for line in lines)
              for name, lines in (("en", ENGLISH), ("de", GERMAN), ("ja", JAPANESE))}  # fmt: skip
    size_in_bytes = {"en": sum(len(line.encode()) for line in ENGLISH)}
    name = f"bpe-{size}"
    assert value(outcome, name, "tokens") == sum(tokens.values())
    assert value(outcome, name, "tokens", language="ja") == tokens["ja"]
    assert value(outcome, name, "bytes_per_token", language="en") == size_in_bytes["en"] / tokens["en"]
    spaced = tokens["en"] + tokens["de"]
    assert value(outcome, name, "fertility") == spaced / sum(len(line.split()) for line in ENGLISH + GERMAN)
    assert value(outcome, name, "fertility", language="ja") is None


@pytest.mark.parametrize("size", SIZES)
def test_boundaries_are_those_of_words_cut_one_by_one(grown, words, size):
    outcome, kept = grown
    frame = words.frame
    cuts = cut_words(kept[size], frame["word"].to_list(), " ")
    totals = Counter()
    for row, language in enumerate(frame["language"]):
        gold, cut = set(words.boundaries.row(row).tolist()), set(cuts.bounds.row(row).tolist())
        for name in (None, language):
            totals[name, "gold"] += len(gold)
            totals[name, "cut"] += len(cut)
            totals[name, "hits"] += len(gold & cut)
    for name in (None, "en", "de"):
        gold, cut, hits = (totals[name, key] for key in ("gold", "cut", "hits"))
        found = [
            value(outcome, f"bpe-{size}", f"boundary_{key}", language=name) for key in ("precision", "recall")
        ]
        assert found == [hits / cut, hits / gold]
        assert value(outcome, f"bpe-{size}", "boundary_f1", language=name) == pytest.approx(
            2 * hits / (gold + cut)
        )


def test_a_size_where_every_word_is_whole_has_no_precision(corpus):
    outcome = growth(corpus, lexicon([("en", ["walk"], ["root"], None), ("en", ["the"], ["root"], None)]),
                     sizes=(400,))  # fmt: skip
    (subject,) = set(outcome.tables["growth"]["subject"])
    assert value(outcome, subject, "boundary_precision") is None
    assert value(outcome, subject, "boundary_f1") is None


def test_the_census_is_a_partition_of_entries_and_of_tokens(grown):
    outcome, kept = grown
    census = outcome.tables["growth_census"]
    for size in SIZES:
        rows = census.filter(size=size)
        assert rows["class"].to_list() == list(PARTS)
        assert rows["entries"].sum() == size
        assert rows["share"].sum() == pytest.approx(1)
        assert rows["token_share"].sum() == pytest.approx(1)
        tokens = [token for line in ENGLISH + GERMAN + JAPANESE for token in kept[size].encode(line)]
        assert rows["tokens"].sum() == len(tokens)
        texts = [piece.decode(errors="replace") for piece in kept[size].inventory.pieces]
        letters = [
            index for index, text in enumerate(texts) if text.strip().isalpha() and len(text.strip()) == 1
        ]
        row = rows.row(by_predicate=pl.col("class") == "letter", named=True)
        assert row["entries"] == len(letters)
        assert row["spaced"] == sum(texts[index].startswith(" ") for index in letters)
        assert row["tokens"] == sum(token in set(letters) for token in tokens)


def test_the_census_by_hand(grown):
    outcome, kept = grown
    pieces = kept[330].inventory.pieces
    assert {b" walk", b"alk", b" the", b"ing", b" talk"} <= set(pieces)
    log = {row["bytes"]: row["class"] for row in outcome.tables["growth_merges"].iter_rows(named=True)}
    assert log[b" walk"] == "root"
    assert log[b"alk"] == "within_morph"
    assert log[b"ing"] == "suffix"
    assert log[b" the"] == "root"
    assert value(outcome, "bpe-330", "share_with_space.root") == sum(
        log.get(piece) == "root" and piece[:1] == b" " for piece in pieces
    ) / len(pieces)


def test_units_come_with_the_first_merge_that_makes_them(grown):
    outcome, kept = grown
    strings = [
        piece.decode(errors="replace").removeprefix(" ").lower() for piece in kept[330].inventory.pieces
    ]
    for row in outcome.tables["growth_units"].iter_rows(named=True):
        first = strings.index(row["unit"]) if row["unit"] in strings else None
        assert row["token_id"] == first
        assert row["rank"] == (None if first is None or first < 256 else first - 256)
        assert row["size"] == (None if first is None else max(256, first + 1))
    units = outcome.tables["growth_units"]
    attested = set(units.filter("attested")["unit"])
    assert {"walk", "happi", "häuser", "the"} <= attested
    assert not {"quix", "otic", "quixotic"} & attested
    reached = units.filter((pl.col("kind") == "morph") & (pl.col("role") == "suffix") & pl.col("attested"))
    assert value(outcome, "bpe-300", "reached.suffix") == (reached["size"] <= 300).sum() / reached.height


def test_the_list_of_morphs_against_sets(grown):
    outcome, kept = grown
    units = outcome.tables["growth_units"].filter((pl.col("kind") == "morph") & pl.col("attested"))
    morphs = {unit for unit in units["unit"] if len(unit) > 1}
    text = Counter()
    for line in ENGLISH + GERMAN:
        for word in "".join(letter if letter.isalpha() else " " for letter in line).split():
            text[word.lower()] += 1
    strings = {
        piece.decode(errors="replace").removeprefix(" ").lower() for piece in kept[330].inventory.pieces
    }
    listed = {string for string in strings if len(string) > 1 and string.isalpha()
              and any(string in word for word in text)}  # fmt: skip
    assert value(outcome, "bpe-330", "morph_list_precision", "strings of letters") == pytest.approx(
        len(listed & morphs) / len(listed)
    )
    assert value(outcome, "bpe-330", "morph_list_recall", "strings of letters") == pytest.approx(
        len(listed & morphs) / len(morphs)
    )
    assert value(outcome, "bpe-330", "morph_list_excess", "as frequent and as long") is not None


def test_merges_are_logged_in_their_order_with_their_use(grown):
    outcome, kept = grown
    log = outcome.tables["growth_merges"]
    assert log["rank"].to_list() == list(range(330 - 256))
    assert [row["left"] + row["right"] for row in log.iter_rows(named=True)] == log["bytes"].to_list()
    used = Counter(token for line in ENGLISH + GERMAN + JAPANESE for token in kept[330].encode(line))
    assert log["tokens"].to_list() == [used[token] for token in log["token_id"]]


def test_it_is_the_same_each_time(corpus, words, grown):
    again = growth(corpus, words, sizes=SIZES)
    assert again.table().equals(grown[0].table())
    for name, table in again.tables.items():
        assert table.equals(grown[0].tables[name]), name


def test_a_text_too_small_for_a_size_is_read_as_far_as_it_goes(corpus, words):
    outcome = growth(corpus, words, sizes=(300, 5000))
    row = outcome.table().filter(subject="bpe", measure="entries").row(0, named=True)
    assert row["severity"] == "warn"
    assert 330 < row["value"] < 5000
    assert "of the 5,000 asked for" in row["note"]
    assert outcome.tables["growth"]["size"].unique().sort().to_list() == [300, int(row["value"])]


@pytest.mark.parametrize("sizes", [(), (256,), (512, "x"), (True,), (512.5,)])
def test_sizes_that_are_none(corpus, words, sizes):
    with pytest.raises(SutureError, match="sizes must be whole numbers above 256"):
        growth(corpus, words, sizes=sizes)


def test_a_run_without_tokenizers_is_kept_drawn_and_needs_no_second_training(corpus, tmp_path, monkeypatch):
    (tmp_path / "en.tsv").write_text("walking\twalk ing\nthe\tthe\n", encoding="utf-8")
    plan = Plan((), ("growth",), corpus.source, options={"growth": {"sizes": [300, 320]}},
                lexicon=(str(tmp_path / "en.tsv"),))  # fmt: skip
    with monkeypatch.context() as broken:
        broken.setattr("workbench.report.writing.write_report", _stopped)
        with pytest.raises(KeyboardInterrupt):
            run(plan, tmp_path / "run", ["suture"])
    monkeypatch.setattr("vocab_audits.growth.bpe", _trained_twice)
    made = run(plan, tmp_path / "run", ["suture"]).run
    assert set(made.findings()["subject"]) == {"bpe", "bpe-300", "bpe-320"}
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "bpe-320" in page
    assert "What the entries are, by size" in page
    assert "Cost and cuts by size" in page
    assert "No inventory was given" in page
    said = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    assert "A growing BPE vocabulary" in json.dumps(said)


def _stopped(*_, **__):
    raise KeyboardInterrupt


def _trained_twice(*_):
    raise AssertionError
