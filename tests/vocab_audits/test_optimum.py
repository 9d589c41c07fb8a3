"""Compute-optimal compression: identities of the law, sizes and masks against brute force."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders
from tests.outside import corpus
from tests.vocabs import need
from vocab_audits import computelaw as law
from vocab_audits.masking import FIRST, at_random, last_learned, merging
from vocab_audits.optimum import ADJUSTED, HELD, PLAIN, TOTALS, TRAINED, optimum
from vocab_audits.sampling import pretoken_counts
from vocab_audits.sizing import ALPHABET, Curve, curve, curves
from vocab_audits.training import bpe as trained
from workbench import bpe
from workbench.adapters import load
from workbench.corpora import open_corpus
from workbench.errors import SutureError

LINES = [
    "the cat sat on the mat and the cat ate the rat",
    "a cat and a rat sat; the mat was the cat's",
    "that hat that the cat sat on was the rat's hat",
    "naïve cafés: the café's naïve cat",
    "数 the 数学 cat 数学 数学",
] * 3
GERMAN = [line.replace("the", "die").replace("cat", "katze") for line in LINES]


@pytest.fixture(scope="module")
def tokenizer():
    model = bpe.train(LINES, 320)
    ids = {token_id: piece for piece, token_id in model.ranks.items()}
    merges = [(ids[left], ids[right]) for left, right in model.merges]
    extra = [left + right for left, right in merges]
    return load(builders.byte_level(extra, merges, pattern=builders.GPT2), "small")


def rows_of(outcome, measure, variant=None, language=None):
    rows = outcome.table().filter(measure=measure).filter(pl.col("language").eq_missing(language))
    return rows if variant is None else rows.filter(variant=variant)


def value(outcome, measure, variant=None, language=None):
    return rows_of(outcome, measure, variant, language)["value"].item()


def test_the_recommendation_against_the_published_values():
    assert law.recommended(1e20) == pytest.approx(18.2 / 10**0.7, rel=1e-12)
    # The paper prints 3.69 and 3.33. Its constants are printed rounded, to which the exponent of 20 is
    # sensitive: from them alone follow 3.63 and 3.27, and both printed values lie in what they leave open.
    for compute, printed, computed in ((1e20, 3.69, 3.631), (2e21, 3.33, 3.270)):
        assert law.recommended(compute) == pytest.approx(computed, abs=5e-4)
        low, high = law.rounding(compute)
        assert low < printed < high
        assert low < law.recommended(compute) < high
    assert law.recommended(2e21) < law.recommended(1e20)
    for bad in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(SutureError, match="compute budget"):
            law.recommended(bad)


@given(st.floats(1e15, 1e26), st.floats(0.5, 20), st.floats(1, 500))
def test_the_optimal_model_uses_up_the_budget(compute, rate, per_parameter):
    found = law.allocation(compute, rate, per_parameter)
    assert 6 * found.parameters * found.bytes / rate == pytest.approx(compute)
    assert found.bytes / found.parameters == pytest.approx(per_parameter)
    assert found.tokens * rate == pytest.approx(found.bytes)


def test_what_lies_outside_of_the_fit_is_said():
    assert law.outside(1e20, 4.0) is None
    assert law.outside(5e18, 12.0) is None
    assert law.outside(1e23, 4.0) == "extrapolated: the fit is of 5e+18 to 2e+21 FLOP"
    assert law.outside(1e20, 0.5) == "extrapolated: of 1 to 12 bytes per token"


@pytest.fixture(scope="module")
def whole():
    counts = pretoken_counts(LINES, None)
    return counts, curve(trained(counts, 320), counts)


def test_every_size_is_as_if_it_were_trained_alone(whole):
    counts, found = whole
    size = sum(len(line.encode()) for line in LINES)
    assert found.bytes == size
    assert found.tokens[0] == size
    assert found.largest > 290
    for entries in range(ALPHABET, found.largest + 1):
        made = trained(counts, entries)
        tokens = sum(len(made.encode(piece).ids) * times for piece, times in counts.items())
        assert found.tokens[entries - ALPHABET] == tokens
        assert found.rate(entries) == size / tokens


@settings(deadline=None)
@given(rate=st.floats(0.5, 6))
def test_the_smallest_size_against_a_search_through_all(whole, rate):
    _, found = whole
    sizes = range(ALPHABET, found.largest + 1)
    enough = [entries for entries in sizes if found.rate(entries) >= rate]
    assert found.smallest(rate) == (enough[0] if enough else None)


def test_a_curve_of_bytes_alone():
    alone = Curve(np.array([12]), 12)
    assert alone.largest == ALPHABET
    assert alone.smallest(1.0) == ALPHABET
    assert alone.smallest(1.5) is None
    assert curves([], None, 300) == (None, None)
    with pytest.raises(SutureError, match="256 bytes"):
        curves(LINES, None, 255)


def restricted(tokenizer, kept):
    """A BPE of the reference implementation with the merges that only the entries kept allow."""
    there = set(range(256))
    merges = {}
    for left, right, made in tokenizer.inventory.merges.tolist():
        if made in kept and left in there and right in there:
            merges[left, right] = made
            there.add(made)
    return bpe.BPE(merges, builders.GPT2)


def as_bytes(units, tokenizer):
    return b"".join(tokenizer.inventory.pieces[ord(unit) - FIRST] for unit in units)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_masking_against_the_reference_implementation(tokenizer, data):
    merged = merging(tokenizer, LINES)
    kept = data.draw(st.lists(st.sampled_from(merged.order.tolist()), unique=True))
    ids = np.array(sorted(kept), np.int32)
    model = restricted(tokenizer, set(kept))
    assert merged.usable(ids).tolist() == sorted(set(model.merges.values()))
    names = {token_id: piece for piece, token_id in model.ranks.items()}
    found = {
        as_bytes("".join(tokens), tokenizer): [as_bytes(token, tokenizer) for token in tokens]
        for tokens in merged.segmented(ids)
    }
    pieces = Counter(piece for line in LINES for piece in bpe.pretokens(line, builders.GPT2))
    assert found.keys() == {piece.encode() for piece in pieces}
    for data_bytes, tokens in found.items():
        assert tokens == [names[token_id] for token_id in model.segment(data_bytes)]
        assert b"".join(tokens) == data_bytes
    assert merged.tokens(ids) == sum(len(model.encode(line)) for line in LINES)


def test_without_a_mask_the_tokens_are_the_tokenizer_s_own(tokenizer):
    merged = merging(tokenizer, LINES)
    assert merged.tokens(merged.order) == len(tokenizer.encode_batch(LINES).ids)
    assert merged.tokens(merged.order[:0]) == sum(len(line.encode()) for line in LINES)


def test_which_entries_stay(tokenizer):
    merged = merging(tokenizer, LINES)
    assert last_learned(merged, 5).tolist() == [256, 257, 258, 259, 260]
    one, two = at_random(merged, 20, 0), at_random(merged, 20, 0)
    assert one.tolist() == two.tolist() == sorted(set(one.tolist()))
    assert one.tolist() != at_random(merged, 20, 1).tolist()
    assert merged.usable(last_learned(merged, 30)).tolist() == last_learned(merged, 30).tolist()


@pytest.mark.vocabs
@pytest.mark.parametrize("name", ["gpt2", "mistral-v1", "deepseek"])
def test_real_merges_give_the_real_tokens(name):
    made = load(need(name), name)
    texts = [text for batch in open_corpus("parallel").batches() for text in batch.texts]
    merged = merging(made, texts)
    assert merged.tokens(merged.order) == len(made.encode_batch(texts).ids)
    assert len(merged.usable(merged.order)) <= len(merged.order)
    half = merged.tokens(last_learned(merged, len(merged.order) // 2))
    assert merged.tokens(merged.order) < half < merged.tokens(merged.order[:0])


def test_compression_of_the_corpus_and_what_follows(tmp_path, tokenizer):
    outcome = optimum(tokenizer, corpus(tmp_path, en=LINES, de=GERMAN), compute=1e20)
    lines = LINES + GERMAN
    size, tokens = (
        sum(len(line.encode()) for line in lines),
        sum(len(tokenizer.encode(line)) for line in lines),
    )
    rate = value(outcome, "bytes_per_token", TOTALS)
    assert rate * tokens == pytest.approx(size, rel=1e-15)
    target = law.recommended(1e20)
    assert value(outcome, "recommended_bytes_per_token") == target
    assert value(outcome, "gap_to_recommended", PLAIN) == pytest.approx(rate - target)
    assert value(outcome, "tokens_per_parameter") == pytest.approx(60 / rate)
    parameters, text = value(outcome, "optimal_parameters"), value(outcome, "optimal_text")
    assert 6 * parameters * 1e9 * text * 1e9 / rate == pytest.approx(1e20)
    assert value(outcome, "optimal_tokens") * rate == pytest.approx(text)
    table = outcome.tables["optimum"]
    assert table.select("domain", "language").rows()[:3] == [(None, None), (None, "de"), (None, "en")]
    for column in ("documents", "bytes", "tokens"):
        for by in ("language", "domain"):
            assert table.filter(pl.col(by).is_not_null())[column].sum() == table[column][0]
    content = sum(len(line.encode()) for line in GERMAN) / sum(len(line.encode()) for line in LINES)
    own = sum(len(line.encode()) for line in GERMAN) / sum(len(tokenizer.encode(line)) for line in GERMAN)
    assert value(outcome, "gap_to_recommended", PLAIN, "de") == pytest.approx(own - target)
    assert value(outcome, "gap_to_recommended", ADJUSTED, "de") == pytest.approx(own - target * content)
    assert rows_of(outcome, "recommended_bytes_per_token")["severity"].to_list() == ["info"]


def test_a_budget_beyond_the_fit_is_warned_of(tmp_path, tokenizer):
    outcome = optimum(tokenizer, corpus(tmp_path, en=LINES), compute=1e24, largest=0, mask=())
    row = rows_of(outcome, "recommended_bytes_per_token").row(0, named=True)
    assert row["severity"] == "warn"
    assert row["note"].startswith("extrapolated")
    assert rows_of(outcome, "optimal_text")["note"].item().startswith("extrapolated")
    assert set(outcome.tables) == {"optimum"}


def test_without_parallel_text_nothing_is_adjusted(tmp_path, tokenizer):
    outcome = optimum(tokenizer, corpus(tmp_path, en=LINES, de=GERMAN[:2]), largest=0, mask=())
    (row,) = rows_of(outcome, "gap_to_recommended", ADJUSTED, "de").to_dicts()
    assert row["value"] is None
    assert row["note"].startswith("not applicable: no text parallel to English")


def test_no_gap_where_the_text_is_lost(tmp_path):
    made = load(builders.wordpiece(["the", "cat", "sat", "##s"]), "words")
    outcome = optimum(
        made, corpus(tmp_path, en=["the cat sat"] * 5, de=["der kater"] * 5), largest=0, mask=()
    )
    assert value(outcome, "gap_to_recommended", PLAIN, "en") == pytest.approx(11 / 3 - law.recommended(1e20))
    for language in ("de", None):
        (row,) = rows_of(outcome, "gap_to_recommended", PLAIN, language).to_dicts()
        assert row["value"] is None
        assert row["note"].endswith("of the tokens stand for text without an entry")
    assert outcome.tables["optimum"].filter(language="de")["unknown_tokens"].item() == 10


def test_domains_are_folders_or_files_without_a_language(tmp_path, tokenizer):
    for name in ("news", "books"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "en.txt").write_text("\n".join(LINES), encoding="utf-8")
    (tmp_path / "news" / "code.txt").write_text("x = 1\n", encoding="utf-8")
    outcome = optimum(tokenizer, open_corpus(str(tmp_path)), largest=0, mask=())
    domains = outcome.tables["optimum"].filter(pl.col("domain").is_not_null())
    assert domains.select("domain", "documents").rows() == [("books", 15), ("code", 1), ("news", 15)]


def test_a_size_that_is_not_reached_has_bounds_and_no_figure(tmp_path, tokenizer):
    texts = corpus(tmp_path, en=[f"{line} {number}" for number, line in enumerate(LINES * 3)])
    outcome = optimum(tokenizer, texts, largest=260, mask=())
    (row,) = (
        rows_of(outcome, "entries_for_recommended").filter(pl.col("variant").str.contains(TRAINED)).to_dicts()
    )
    assert row["value"] is None
    assert row["note"].startswith("not reached: 260 entries make 1.")
    assert "no larger one was asked for" in row["note"]
    reached = optimum(tokenizer, texts, largest=2000, compute=1e30, mask=())
    target = law.recommended(1e30)
    for text in (TRAINED, HELD):
        sizes = reached.tables["optimum_sizes"].filter(text=text)
        rows = rows_of(reached, "entries_for_recommended").filter(pl.col("variant").str.contains(text))
        least = rows["value"].item()
        rates = dict(sizes.select("entries", "bytes_per_token").iter_rows())
        assert ALPHABET < least < 400
        assert rates[least] >= target
        assert all(rate < target for entries, rate in rates.items() if entries < least)
    short = optimum(tokenizer, texts, largest=100_000, compute=1e3, mask=())
    notes = rows_of(short, "entries_for_recommended")["note"].to_list()
    assert all("the text gives no more merges" in note for note in notes)


def test_masks_are_told_by_share_and_kind(tmp_path, tokenizer):
    outcome = optimum(tokenizer, corpus(tmp_path, en=LINES), largest=0, mask=(0.5,), seed=3)
    table = outcome.tables["optimum_masking"]
    assert table.select("share", "masked").rows() == [
        (0.0, "none"),
        (0.5, "last learned"),
        (0.5, "at random"),
    ]
    merged = merging(tokenizer, LINES)
    stay = round(0.5 * len(merged.order))
    assert table["kept"].to_list() == [len(merged.order), stay, stay]
    assert table["tokens"].to_list() == [
        merged.tokens(merged.order),
        merged.tokens(last_learned(merged, stay)),
        merged.tokens(at_random(merged, stay, 3)),
    ]
    assert rows_of(outcome, "masked_bytes_per_token")["value"].to_list() == table["bytes_per_token"].to_list()


def test_masking_does_not_apply_without_merges(tmp_path):
    made = load(builders.wordpiece(["the", "cat", "##s"]), "words")
    outcome = optimum(made, corpus(tmp_path, en=LINES), largest=0)
    rows = rows_of(outcome, "masked_bytes_per_token")
    assert rows["value"].to_list() == [None, None]
    assert rows["note"].str.starts_with("not applicable").all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bytes_per_parameter": 0.0}, "bytes_per_parameter must be positive"),
        ({"largest": 10}, "largest must be 0, or from the 256 bytes"),
        ({"mask": (1.0,)}, "each share of mask"),
        ({"compute": -1.0}, "compute budget"),
        ({"limit_bytes": -1}, "limit_bytes must be 0"),
    ],
)
def test_options_out_of_range_are_refused(tmp_path, tokenizer, options, said):
    with pytest.raises(SutureError, match=said):
        optimum(tokenizer, corpus(tmp_path, en=LINES), **options)
