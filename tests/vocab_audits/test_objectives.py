"""Objectives side by side against plain loops, closed forms, and what is written to disk."""

from __future__ import annotations

import math
import sys
from collections import Counter

import polars as pl
import pytest
from tokenizers import Tokenizer as Backend

from tests import outside
from tests.morphs import lexicon
from vocab_audits.censuses import PARTS
from vocab_audits.contrast import between, cost, distance
from vocab_audits.objectives import OBJECTIVES, objectives, split
from vocab_audits.run import Plan, run
from vocab_audits.sampling import learned_morphs, parted, pretoken_counts, words_of
from workbench.adapters import load
from workbench.corpora import Batch, open_corpus
from workbench.errors import MissingExtra, SutureError

SAMPLE = [batch for batch in open_corpus("sample").batches() if batch.language in ("en", "de", "fi")]
ENGLISH = [text for batch in SAMPLE if batch.language == "en" for text in batch.texts]
OTHERS = {
    name: [text for batch in SAMPLE if batch.language == name for text in batch.texts]
    for name in ("de", "fi")
}
ENTRIES = [
    ("en", ["walk", "ing"], ["root", "suffix"], "inflection"),
    ("en", ["talk", "er"], ["root", "suffix"], "derivation"),
    ("en", ["un", "open", "ed"], ["prefix", "root", "suffix"], "derivation"),
    ("en", ["dark", "ness"], ["root", "suffix"], "derivation"),
    ("en", ["print", "able"], ["root", "suffix"], "derivation"),
    ("de", ["Häus", "er"], ["root", "suffix"], "inflection"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return outside.corpus(tmp_path_factory.mktemp("corpus"), en=ENGLISH, **OTHERS)


@pytest.fixture(scope="module")
def words():
    return lexicon(ENTRIES)


@pytest.fixture(scope="module")
def contrasted(corpus, words, tmp_path_factory):
    pytest.importorskip("morfessor")
    folder = tmp_path_factory.mktemp("kept")
    outcome = objectives(corpus, words, size=560, keep=str(folder))
    names = outcome.tables["objectives"]["subject"].unique(maintain_order=True).to_list()
    return outcome, {name: load(str(folder / name), name) for name in names}


@pytest.fixture(scope="module")
def parts(corpus):
    train, held = split(corpus.batches(), 0.1)
    return {
        "trained on": [text for batch in train for text in batch.texts],
        "held out": [text for batch in held for text in batch.texts],
    }


def value(outcome, subject, measure, variant, language=None):
    rows = outcome.table().filter(subject=subject, measure=measure)
    rows = rows.filter(pl.col("variant").str.contains(variant, literal=True))
    rows = rows.filter(pl.col("language").eq_missing(language))
    assert rows.height == 1, rows
    return rows["value"][0]


def test_all_are_of_one_size_and_spell_any_text(contrasted):
    _, kept = contrasted
    assert [name.rpartition("-")[0] for name in kept] == list(OBJECTIVES)
    assert {len(tokenizer.inventory) for tokenizer in kept.values()} == {560}
    for tokenizer in kept.values():
        assert tokenizer.segment("naïve 日本 ## \U0001f642\n").exact


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("part", ["held out", "trained on"])
def test_cost_is_that_of_the_written_tokenizer(contrasted, parts, objective, part):
    outcome, kept = contrasted
    name, texts = f"{objective}-560", parts[part]
    rows = [kept[name].encode(text) for text in texts]
    tokens = sum(map(len, rows))
    used = Counter(token for row in rows for token in row)
    assert value(outcome, name, "bytes_per_token", part) == sum(len(text.encode()) for text in texts) / tokens
    assert value(outcome, name, "fertility", part) == tokens / sum(len(text.split()) for text in texts)
    assert value(outcome, name, "round_trip", part) == 1
    assert value(outcome, name, "unknown_tokens", part) == 0
    renyi = math.log2(sum((count / tokens) ** 2.5 for count in used.values())) / (1 - 2.5)
    found = value(outcome, name, "renyi_efficiency", f"types seen, text {part}")
    assert found == pytest.approx(renyi / math.log2(len(used)))
    found = value(outcome, name, "renyi_efficiency", f"declared, text {part}")
    assert found == pytest.approx(renyi / math.log2(560))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_boundaries_are_those_of_words_cut_one_by_one(contrasted, words, objective):
    outcome, kept = contrasted
    name = f"{objective}-560"
    totals = Counter()
    for row, (word, language) in enumerate(words.frame.select("word", "language").iter_rows()):
        edges = {len(word[:end].encode()) for end in range(1, len(word))}  # a cut inside a character is none
        cut = {place - 1 for place in kept[name].segment(" " + word).boundaries.tolist()} & edges
        gold = set(words.boundaries.row(row).tolist())
        for key in (None, language):
            totals[key, "cut"] += len(cut)
            totals[key, "gold"] += len(gold)
            totals[key, "hits"] += len(cut & gold)
    for key in (None, "en", "de"):
        cut, gold, hits = (totals[key, part] for part in ("cut", "gold", "hits"))
        assert value(outcome, name, "boundary_precision", "micro", key) == (hits / cut if cut else None)
        assert value(outcome, name, "boundary_recall", "micro", key) == hits / gold
        assert value(outcome, name, "boundary_f1", "micro", key) == pytest.approx(2 * hits / (cut + gold))


def test_the_census_is_a_partition(contrasted, parts):
    outcome, kept = contrasted
    census = outcome.tables["objectives_census"]
    for name, tokenizer in kept.items():
        rows = census.filter(subject=name)
        assert rows["class"].to_list() == list(PARTS)
        assert rows["entries"].sum() == len(tokenizer.inventory)
        assert rows["share"].sum() == pytest.approx(1)
        assert rows["token_share"].sum() == pytest.approx(1)
        assert rows["tokens"].sum() == sum(len(tokenizer.encode(text)) for text in parts["trained on"])


def test_pairs_share_entries_as_sets_do(contrasted):
    outcome, kept = contrasted
    pairs = outcome.tables["objectives_pairs"]
    assert pairs.height == 10
    for row in pairs.iter_rows(named=True):
        one, two = (
            {piece for piece in kept[row[key]].inventory.pieces if piece != b"[UNK]"}
            for key in ("first", "second")
        )
        one.discard(b"")
        assert row["jaccard"] == pytest.approx(len(one & two) / len(one | two), abs=0.003)
        subject = f"{row['first']} & {row['second']}"
        assert value(outcome, subject, "jaccard", "distinct byte strings") == row["jaccard"]
        assert 0 <= row["distance_entries"] <= 1


def test_a_tokenizer_is_at_no_distance_from_itself(contrasted):
    outcome, kept = contrasted
    census = outcome.tables["objectives_census"].filter(subject="bpe-560")
    both = (kept["bpe-560"], census)
    found = between(both, both)
    assert (found["jaccard"], found["distance_entries"], found["distance_tokens"]) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ([1.0, 0.0], [0.0, 1.0], 1.0),
        ([0.5, 0.5], [0.5, 0.5], 0.0),
        ([1.0, 0.0], [0.5, 0.5], math.sqrt(1.5 - 0.75 * math.log2(3))),
        ([None, None], [0.5, 0.5], None),
    ],
)
def test_the_distance_has_its_closed_forms(one, two, expected):
    # 1.5 - 0.75 log2 3: half of log2(4/3), and half of (1/2) log2(2/3) + (1/2) log2 2.
    found = distance(pl.Series(one, dtype=pl.Float64), pl.Series(two, dtype=pl.Float64))
    assert found is None if expected is None else found == pytest.approx(expected)


def test_no_entry_reaches_over_a_boundary_of_learned_morphs(contrasted, parts):
    _, kept = contrasted
    counts = pretoken_counts(parts["trained on"], None)
    cut = {part.encode() for part in parted(counts, learned_morphs(words_of(counts), 20_000, 0))}

    def across(name):
        return [piece for piece in kept[name].inventory.pieces
                if len(piece) > 1 and not any(piece in part for part in cut)]  # fmt: skip

    assert across("morph-bpe-560") == []
    assert across("bpe-560")


def test_random_merges_cost_more(contrasted):
    outcome, _ = contrasted
    figures = {name: value(outcome, f"{name}-560", "bytes_per_token", "held out") for name in OBJECTIVES}
    assert min(figures, key=figures.__getitem__) == "random"


def test_it_is_the_same_each_time_and_other_with_another_seed(corpus, words, contrasted):
    outcome, _ = contrasted
    again = objectives(corpus, words, size=560)
    assert again.table().equals(outcome.table())
    names = ("bpe", "random")
    one, two = (objectives(corpus, words, objectives=names, size=560, seed=seed) for seed in (0, 1))
    for name, same in (("bpe-560", True), ("random-560", False)):
        rows = [found.tables["objectives"].filter(subject=name) for found in (one, two)]
        assert rows[0].equals(rows[1]) == same


def test_documents_are_split_once_and_equal_ones_alike():
    texts = [f"text {number % 300}" for number in range(600)]
    train, held = split([Batch(texts[:400], "en"), Batch(texts[400:], "de")], 0.3)
    one = [text for batch in train for text in batch.texts]
    two = [text for batch in held for text in batch.texts]
    assert sorted(one + two) == sorted(texts)
    assert not set(one) & set(two)
    assert 100 < len(two) < 260
    assert {batch.language for batch in held} == {"en", "de"}
    assert split([Batch(texts, None)], 0.0)[1] == []


def test_without_held_out_text_its_figures_are_null_with_the_reason(corpus, words):
    outcome = objectives(corpus, words, objectives=("bpe",), size=540, held_out=0.0)
    rows = outcome.table().filter(pl.col("variant").str.contains("held out"))
    assert rows.filter(measure="bytes_per_token").select("value", "note").row(0) == (
        None,
        "no text is held out",
    )
    assert rows.filter(measure="unknown_tokens")["value"].item() == 0
    assert outcome.tables["objectives_pairs"].is_empty()


def test_where_one_yields_less_all_are_that_size_and_it_is_said(corpus, words):
    outcome = objectives(corpus, words, objectives=("bpe", "wordpiece", "random"), size=50_000)
    entries = outcome.table().filter(measure="entries")
    assert entries["value"].n_unique() == 1
    row = outcome.table().filter(measure="size").row(0, named=True)
    assert row["value"] == entries["value"][0] < 50_000
    assert row["severity"] == "warn"
    assert "of the 50,000 entries asked for" in row["note"]


def test_without_morfessor_the_others_go_on(corpus, words, monkeypatch):
    monkeypatch.setitem(sys.modules, "morfessor", None)
    outcome = objectives(corpus, words, objectives=("bpe", "morph-bpe"), size=540)
    row = outcome.table().filter(subject="morph-bpe-540").row(0, named=True)
    assert (row["value"], row["severity"]) == (None, "warn")
    assert "pip install" in row["note"]
    assert set(outcome.tables["objectives"]["subject"]) == {"bpe-540"}
    with pytest.raises(MissingExtra, match="pip install"):
        objectives(corpus, words, objectives=("morph-bpe",), size=540)


def test_in_usual_pipelines_text_may_be_lost_and_it_is_measured(corpus, words, tmp_path):
    outcome = objectives(corpus, words, objectives=("wordpiece", "unigram"), size=520, usual=True,
                         keep=str(tmp_path))  # fmt: skip
    (name,) = [name for name in set(outcome.tables["objectives"]["subject"]) if name.startswith("wordpiece")]
    assert Backend.from_file(str(tmp_path / name / "tokenizer.json")).normalizer is not None
    assert value(outcome, name, "round_trip", "trained on") < 1
    assert value(outcome, name, "uncovered_text", "trained on") > 0  # WordPiece drops the spaces
    tokenizer = load(str(tmp_path / name), name)
    texts = [Batch(ENGLISH[:3], "en")]
    row, _ = cost(tokenizer, texts, "x", 2.5)
    assert row["uncovered"] == sum(text.count(" ") for text in ENGLISH[:3]) / sum(map(len, ENGLISH[:3]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": ("bpe", "magic")}, "objectives must be some of .*; got magic"),
        ({"objectives": ()}, "got none"),
        ({"size": 300}, "size must be at least 514"),
        ({"held_out": 1.0}, "held_out must be a share"),
        ({"alpha": -1.0}, "order of an entropy"),
        ({"limit_bytes": 2000}, "must yield at least 514 entries to compare bpe, wordpiece"),
    ],
)
def test_options_out_of_range(corpus, words, options, message):
    with pytest.raises(SutureError, match=message):
        objectives(corpus, words, **options)


def test_a_run_without_tokenizers_is_drawn(corpus, tmp_path):
    (tmp_path / "en.tsv").write_text("walking\twalk ing\nthe\tthe\n", encoding="utf-8")
    options = {"objectives": {"objectives": ["bpe", "random"], "size": 540}}
    plan = Plan((), ("objectives",), corpus.source, options=options, lexicon=(str(tmp_path / "en.tsv"),))
    made = run(plan, tmp_path / "run", ["suture"]).run
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert made.findings()["audit"].unique().to_list() == ["objectives"]
    for title in (
        "Objectives side by side",
        "Distance of the censuses of entries",
        "What its tokens in the text are",
    ):
        assert title in page
    assert "random-540" in page
