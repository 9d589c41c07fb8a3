"""Compression against plain Python over the same documents, and against published figures."""

from __future__ import annotations

import os
from collections import Counter
from statistics import mean

import polars as pl
import pytest

from tests import builders
from tests.outside import corpus, parallel_text
from tests.vocabs import need, tiktoken_dir
from vocab_audits.compression import (
    AFTER_SPACE,
    BARE,
    DOCUMENTS,
    MEASURES,
    PRODUCIBLE,
    TOTALS,
    compression,
)
from workbench.adapters import load
from workbench.corpora import open_corpus
from workbench.errors import SutureError

ENGLISH = ["The sun is up.", "It rains, the sun is gone.", ""]
GERMAN = ["Die Sonne scheint über dem Dach.", "Es regnet, die Sonne ist fort.", "Öl läuft."]
JAPANESE = ["日が出ている。", "雨が降る。", "油 が 流れる。"]
RUNNING, RUNNING_MEAN = "running text, ratio of totals", "running text, mean of the documents' ratios"
ALONE = "words alone, without white space"


@pytest.fixture
def tokenizer():
    sun = "日".encode()
    extra = [b"th", b"he", b" t", b" th", b" the", b"on", b"su", b" su", sun[:2], sun, "が".encode()[:2]]
    special = {"<|end|>": 300}
    return load(builders.encoding(extra, pattern=builders.GPT2, special=special), "small")


def value(outcome, measure, variant, language=None):
    rows = outcome.table().filter(measure=measure).filter(pl.col("variant").eq_missing(variant))
    rows = rows.filter(pl.col("language").eq_missing(language))
    assert rows.height == 1, (measure, variant, language, rows)
    return rows["value"][0]


def note(outcome, measure, variant, language=None):
    rows = outcome.table().filter(measure=measure, variant=variant)
    return rows.filter(pl.col("language").eq_missing(language))["note"].item()


@pytest.mark.parametrize("language", ["en", "de", None])
def test_agrees_with_a_loop_over_the_documents(tmp_path, tokenizer, language):
    texts = {"en": ENGLISH, "de": GERMAN}
    outcome = compression(tokenizer, corpus(tmp_path, **texts))
    lines = texts[language] if language else ENGLISH + GERMAN
    ids = [tokenizer.encode(line) for line in lines]
    tokens = [len(row) for row in ids]
    sizes, characters = [len(line.encode()) for line in lines], [len(line) for line in lines]
    words = [line.split() for line in lines]
    flat = [word for row in words for word in row]
    bare = [len(tokenizer.encode(word)) for word in flat]
    after = [len(tokenizer.encode(" " + word)) for word in flat]
    full = [index for index, count in enumerate(tokens) if count]
    expected = {
        ("documents", None): len(lines),
        ("bytes", None): sum(sizes),
        ("characters", "code points"): sum(characters),
        ("tokens", "corpus token count"): sum(tokens),
        ("bytes_per_token", TOTALS): sum(sizes) / sum(tokens),
        ("bytes_per_token", DOCUMENTS): mean(sizes[index] / tokens[index] for index in full),
        ("characters_per_token", TOTALS): sum(characters) / sum(tokens),
        ("characters_per_token", DOCUMENTS): mean(characters[index] / tokens[index] for index in full),
        ("words", "what stands between white space"): len(flat),
        ("fertility", BARE): mean(bare),
        ("fertility", AFTER_SPACE): mean(after),
        ("fertility", RUNNING): sum(tokens) / len(flat),
        ("fertility", RUNNING_MEAN): mean(tokens[index] / len(words[index]) for index in full),
        ("continued_words", BARE): mean(count > 1 for count in bare),
        ("continued_words", AFTER_SPACE): mean(count > 1 for count in after),
        ("single_token_words", BARE): mean(count == 1 for count in bare),
        ("single_token_words", AFTER_SPACE): mean(count == 1 for count in after),
    }
    for (measure, variant), figure in expected.items():
        assert value(outcome, measure, variant, language) == pytest.approx(figure), (measure, variant)
    seen = Counter(token for row in ids for token in row)
    entries = 256 + 11
    for measure, variant, figure in (
        ("entries_seen", PRODUCIBLE, len(seen)),
        ("entries_never_seen", PRODUCIBLE, entries - len(seen)),
        ("entries_seen_once", PRODUCIBLE, list(seen.values()).count(1)),
        ("share_seen_once", "of entries seen", list(seen.values()).count(1) / len(seen)),
        ("vocabulary_utilisation", PRODUCIBLE, len(seen) / entries),
        ("vocabulary_utilisation", "of all entries declared", len(seen) / (entries + 1)),
    ):
        assert value(outcome, measure, variant, language) == pytest.approx(figure), (measure, variant)


def test_words_stay_with_their_documents_whatever_the_order_of_files(tmp_path, tokenizer):
    files = {
        "a/en": ["one"],
        "a/ru": ["a b c d e f g h i j", "k"],
        "b/az": ["bir iki"],
        "b/en": ["x x x x x"],
    }
    for name, lines in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    outcome = compression(tokenizer, open_corpus(str(tmp_path / "*" / "*.txt")))
    variant = "what stands between white space"
    counted = {language: value(outcome, "words", variant, language) for language in ("az", "en", "ru", None)}
    assert counted == {"az": 2, "en": 6, "ru": 11, None: 19}
    lines = [line for text in files.values() for line in text]
    ratios = [len(tokenizer.encode(line)) / len(line.split()) for line in lines]
    assert value(outcome, "fertility", RUNNING_MEAN) == pytest.approx(mean(ratios))


@pytest.mark.parametrize("name", ["embedded", "sample"])
def test_words_of_the_catalog_against_splitting_each_document(tokenizer, name):
    texts = open_corpus(name)
    outcome = compression(tokenizer, texts)
    words: Counter[str] = Counter()
    for batch in texts.batches():
        words[batch.language or "und"] += sum(len(text.split()) for text in batch.texts)
    table = outcome.tables["compression"].filter(
        pl.col("words").is_not_null() & pl.col("language").is_not_null()
    )
    assert table.height >= 10
    assert dict(table.select("language", "words").iter_rows()) == {
        language: words[language] for language in table["language"]
    }


def test_words_do_not_apply_where_no_spaces_part_them(tmp_path, tokenizer):
    outcome = compression(tokenizer, corpus(tmp_path, en=ENGLISH, ja=JAPANESE))
    for variant in (BARE, AFTER_SPACE, RUNNING, RUNNING_MEAN):
        assert value(outcome, "fertility", variant, "ja") is None
        assert note(outcome, "fertility", variant, "ja") == "not applicable: words are not parted by spaces"
        assert value(outcome, "fertility", variant) == value(outcome, "fertility", variant, "en")
        assert note(outcome, "fertility", variant) == "without ja, where words are not parted by spaces"
    assert value(outcome, "bytes_per_token", TOTALS, "ja") > 1
    alone = compression(tokenizer, open_corpus(str(tmp_path / "ja.txt"), language="ja"))
    assert value(alone, "words", "what stands between white space") is None
    assert note(alone, "continued_words", BARE) == "not applicable: words are not parted by spaces"


def test_whole_characters_are_counted_from_the_tokens(tmp_path, tokenizer):
    outcome = compression(tokenizer, corpus(tmp_path, ja=JAPANESE, en=ENGLISH))
    segmentations = tokenizer.segment_batch(JAPANESE)
    pieces = [piece for segmentation in segmentations for piece in segmentation.pieces]
    several = [character for line in JAPANESE for character in line if ord(character) > 127]
    split = sum(
        len(set(segmentation.boundaries.tolist()) & set(range(start + 1, start + len(character.encode()))))
        > 0
        for segmentation, line in zip(segmentations, JAPANESE, strict=True)
        for start, character in (
            (len(line[:index].encode()), character) for index, character in enumerate(line)
        )
    )

    def whole(piece):
        return piece.decode(errors="replace").encode() == piece

    assert 0 < split < len(several)
    assert value(outcome, "split_characters", "of characters of several bytes", "ja") == pytest.approx(
        split / len(several)
    )
    assert value(outcome, "utf8_valid_tokens", "valid UTF-8 by themselves", "ja") == pytest.approx(
        mean(map(whole, pieces))
    )
    lone = [len(piece) == 1 and not whole(piece) for piece in pieces]
    assert value(outcome, "lone_byte_tokens", "one byte that is no character", "ja") == pytest.approx(
        mean(lone)
    )
    assert value(outcome, "split_characters", "of characters of several bytes", "en") is None


def test_unknown_tokens_and_the_characters_under_them(tmp_path):
    made = load(builders.unigram({"▁": -2.0, "a": -1.0, "b": -1.0}), "uni")
    lines = ["ab aé日 a", "éé ab"]  # neighbouring unknown characters make one token
    outcome = compression(made, corpus(tmp_path, en=lines))
    unknown = sum(row.count(0) for row in map(made.encode, lines))
    assert value(outcome, "unknown_tokens", "running text") == unknown
    assert value(outcome, "unknown_characters", ALONE) == 4
    assert value(outcome, "coverage", ALONE) == pytest.approx(1 - 4 / 10)


def test_text_without_an_entry_is_warned_of(tmp_path):
    lossy = load(builders.bpe(["a", "b"]), "lossy")
    table = compression(lossy, corpus(tmp_path, en=["ab \u03a9"])).table().filter(measure="coverage")
    assert table.filter(pl.col("language").is_null())["severity"].to_list() == ["warn"]


def test_characters_that_are_dropped_without_a_token(tmp_path):
    made = load(builders.bpe(["a", "b", "ab"], ["a b"], pre_tokenizer={"type": "Whitespace"}), "drops")
    outcome = compression(made, corpus(tmp_path, en=["abx xa ab", "xx"]))
    assert value(outcome, "unknown_tokens", "running text") == 0
    assert value(outcome, "unknown_characters", ALONE) == 4
    assert value(outcome, "coverage", ALONE) == pytest.approx(1 - 4 / 9)


def test_a_tokenizer_that_adds_a_space_never_sees_a_bare_word(tmp_path):
    made = load(builders.metaspace(["▁", "a", "b", "▁a", "ab"], ["▁ a", "a b"]), "meta")
    outcome = compression(made, corpus(tmp_path, en=["ab a", "b"]))
    assert value(outcome, "fertility", BARE) is None
    assert note(outcome, "fertility", BARE) == "not applicable: the tokenizer puts a space before every text"
    lengths = [len(made.encode(word)) for word in ("ab", "a", "b")]
    assert value(outcome, "fertility", AFTER_SPACE) == pytest.approx(mean(lengths))


def test_order_of_the_evenness_is_named_and_checked(tmp_path, tokenizer):
    texts = corpus(tmp_path, en=ENGLISH)
    outcome = compression(tokenizer, texts, alpha=3.0)
    observed = value(outcome, "renyi_efficiency", "α = 3, over log2 of the types seen")
    assert observed > value(outcome, "renyi_efficiency", "α = 3, over log2 of all entries declared") > 0
    with pytest.raises(SutureError, match="order of an entropy"):
        compression(tokenizer, texts, alpha=-1.0)


def test_tables_hold_what_the_findings_say(tmp_path, tokenizer):
    outcome = compression(tokenizer, corpus(tmp_path, en=ENGLISH, de=GERMAN))
    counts = outcome.tables["token_counts"]
    seen = Counter(token for line in ENGLISH + GERMAN for token in tokenizer.encode(line))
    assert dict(counts.select("token_id", "count").iter_rows()) == seen
    assert counts["subject"].unique().to_list() == ["small"]
    table = outcome.tables["compression"]
    assert table["language"].to_list() == [None, "de", "en"]
    for measure in MEASURES:
        if measure.variant and "{" not in measure.variant:
            for language, figure in table.select("language", measure.key).iter_rows():
                assert value(outcome, measure.name, measure.variant, language) == figure


def test_a_language_that_is_not_known_is_not_told_twice(tmp_path, tokenizer):
    path = tmp_path / "notes.txt"
    path.write_text("a text\n")
    outcome = compression(tokenizer, open_corpus(str(path)))
    assert outcome.table()["language"].null_count() == outcome.table().height


def test_lists_the_first_learned_entries_that_never_occur(tmp_path, tokenizer):
    outcome = compression(tokenizer, corpus(tmp_path, en=["the sun"]), top_rare=3)
    listed = outcome.table().filter(measure="entry_never_seen")["token"].to_list()
    ids = tokenizer.encode("the sun")
    assert listed == [tokenizer.inventory.pieces[index] for index in range(256, 267) if index not in ids][:3]


@pytest.mark.vocabs
def test_published_figures(tmp_path):
    need("o200k")
    text = parallel_text(tmp_path)
    assert os.environ["TIKTOKEN_CACHE_DIR"] == str(tiktoken_dir())
    outcome = compression(load("tiktoken:o200k_base"), text)
    for language, fertility, continued, size in (
        ("en", 1.2198, 0.1664, 4.9111),
        ("de", 1.5971, 0.3559, 4.4577),
        ("ar", 1.8669, 0.5228, 5.686),
        ("ru", 1.9137, 0.5214, 6.855),
    ):
        assert value(outcome, "fertility", AFTER_SPACE, language) == pytest.approx(fertility, abs=6e-5)
        assert value(outcome, "continued_words", AFTER_SPACE, language) == pytest.approx(continued, abs=6e-5)
        assert value(outcome, "bytes_per_token", TOTALS, language) == pytest.approx(size, abs=6e-4)
    for language, variant, figure in (
        ("en", BARE, 1.4135),
        ("en", RUNNING, 1.2229),
        ("ru", BARE, 2.5721),
        ("ru", RUNNING, 1.9266),
    ):
        assert value(outcome, "fertility", variant, language) == pytest.approx(figure, abs=6e-5)
    for types, figure in (("all entries declared", 0.41928), ("the types seen", 0.48640)):
        found = value(outcome, "renyi_efficiency", f"α = 2.5, over log2 of {types}")
        assert found == pytest.approx(figure, abs=1.6e-5)
