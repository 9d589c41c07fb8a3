"""Counting: the same counts as text by text, whatever the batches, the workers and the engine."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.builders import byte_level, encoding
from workbench import counting
from workbench.adapters import load
from workbench.corpora import Corpus, open_corpus
from workbench.counting import ALL, count, word_types
from workbench.errors import MissingExtra, SutureError


def tiktoken_tokenizer():
    return load(encoding([b"th", b"the", b" the", "ü".encode()]))


def small_hf():
    return byte_level([b"th", b"the"], [(b"t", b"h"), (b"th", b"e")])


def hf_tokenizer():
    return load(small_hf())


@pytest.fixture(name="folder")
def folder_fixture(tmp_path):
    """Two languages in three files, one of them with a language column, and a file of no known language."""
    (tmp_path / "de.txt").write_text("the über\n\nüüü\n" * 50, encoding="utf-8")
    (tmp_path / "en.txt").write_text("the other the\nthen 😀\n" * 70, encoding="utf-8")
    mixed = pl.DataFrame({"text": ["the", "ü", "thethe"] * 40, "language": ["en", "de", None] * 40})
    mixed.write_parquet(tmp_path / "mixed.parquet")
    return tmp_path


def one_by_one(tokenizer, corpus):
    """Counts and sizes by a loop over the documents, each encoded alone."""
    tokens, sizes = defaultdict(Counter), []
    for batch in corpus.batches():
        for text in batch.texts:
            ids = tokenizer.encode(text)
            language = batch.language or "und"
            tokens[language].update(ids)
            sizes.append((language, len(text.encode()), len(text), len(ids)))
    return tokens, sizes


@pytest.mark.parametrize("make", [tiktoken_tokenizer, hf_tokenizer])
def test_counts_are_those_of_a_loop(folder, make):
    tokenizer, corpus = make(), open_corpus(str(folder))
    tokens, sizes = one_by_one(tokenizer, corpus)
    counts = count(tokenizer, corpus, documents=True)
    assert counts.languages == ("de", "en", "und") == tuple(sorted(tokens))
    for language, found in counts.tokens.items():
        assert found.shape == (tokenizer.inventory.rows_needed,)
        assert {int(token): int(found[token]) for token in np.flatnonzero(found)} == tokens[language]
    frame = pl.DataFrame(sizes, schema=["language", "bytes", "codepoints", "tokens"], orient="row")
    totals = frame.group_by("language").agg(
        documents=pl.len(), **{name: pl.sum(name) for name in frame.columns[1:]}
    )
    assert_frame_equal(counts.totals, totals.sort("language"), check_dtypes=False)
    assert_frame_equal(counts.documents.drop("document"), frame.sort("language", maintain_order=True))
    for _, numbers in counts.documents.group_by("language"):
        assert numbers["document"].to_list() == list(range(numbers.height))


def same(left, right):
    assert left.languages == right.languages
    assert_frame_equal(left.totals, right.totals)
    assert all(np.array_equal(left.tokens[language], right.tokens[language]) for language in left.languages)
    if left.documents is not None or right.documents is not None:
        assert_frame_equal(left.documents, right.documents)


@pytest.mark.parametrize("workers", [2, 5])
def test_workers_change_nothing(folder, workers, monkeypatch):
    corpus, tokenizer = open_corpus(str(folder)), tiktoken_tokenizer()
    alone = count(tokenizer, corpus, documents=True, workers=1)
    whole = Corpus.batches
    monkeypatch.setattr(Corpus, "batches", lambda self, size_bytes=100: whole(self, size_bytes))
    assert len(list(corpus.batches())) > 20
    same(alone, count(tokenizer, corpus, documents=True, workers=workers))


def test_languages_can_be_kept_together(folder):
    corpus, tokenizer = open_corpus(str(folder)), tiktoken_tokenizer()
    apart, together = count(tokenizer, corpus), count(tokenizer, corpus, by_language=False, documents=True)
    assert together.languages == (ALL,)
    assert np.array_equal(apart.total, together.tokens[ALL])
    assert together.totals.row(0) == (ALL, *apart.totals.drop("language").sum().row(0))
    assert together.documents["document"].to_list() == list(range(apart.totals["documents"].sum()))
    assert apart.documents is None


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=12))
def test_totals_agree_with_the_text_for_any_text(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("any") / "a.parquet"
    pl.DataFrame({"text": [*texts, "x"]}).write_parquet(path)
    counts = count(tiktoken_tokenizer(), open_corpus(str(path)))
    joined = "".join([*texts, "x"])
    assert counts.totals.row(0) == (
        "und",
        len(texts) + 1,
        len(joined.encode()),
        len(joined),
        int(counts.total.sum()),
    )
    lengths = tiktoken_tokenizer().inventory.lengths
    assert int((counts.total * lengths).sum()) == len(joined.encode())


def test_progress_is_told_all_bytes(folder):
    corpus, seen = open_corpus(str(folder)), []
    counts = count(tiktoken_tokenizer(), corpus, progress=seen.append)
    assert sum(seen) == counts.totals["bytes"].sum()


def test_counts_cannot_be_changed(folder):
    counts = count(tiktoken_tokenizer(), open_corpus(str(folder)))
    with pytest.raises(ValueError, match="read-only"):
        counts.tokens["de"][0] = 1


def test_at_most_a_few_batches_are_held(folder, monkeypatch):
    begun, done, most = 0, 0, 0
    whole, measured = Corpus.batches, counting.measure

    def batches(self, size_bytes=50):
        nonlocal begun, most
        for batch in whole(self, size_bytes):
            begun += 1
            most = max(most, begun - done)
            yield batch

    def measure(*arguments):
        nonlocal done
        part = measured(*arguments)
        done += 1
        return part

    monkeypatch.setattr(Corpus, "batches", batches)
    monkeypatch.setattr(counting, "measure", measure)
    count(tiktoken_tokenizer(), open_corpus(str(folder)), workers=2)
    assert begun == done > 40
    assert most <= 6


def test_an_error_while_reading_or_encoding_ends_the_work(folder, monkeypatch):
    (folder / "zu.txt").write_bytes(b"fine\n\xff\n")
    with pytest.raises(SutureError, match="must be UTF-8"):
        count(tiktoken_tokenizer(), open_corpus(str(folder)))
    (folder / "zu.txt").unlink()
    monkeypatch.setattr(counting, "measure", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        count(tiktoken_tokenizer(), open_corpus(str(folder)), workers=2)


def test_options_out_of_range_are_refused(folder):
    corpus = open_corpus(str(folder))
    with pytest.raises(SutureError, match="'local' or 'ray'"):
        count(tiktoken_tokenizer(), corpus, engine="spark")
    with pytest.raises(SutureError, match="at least 1"):
        count(tiktoken_tokenizer(), corpus, workers=0)


# Words


SPACES = "".join(map(chr, (*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x3000)))


@given(st.lists(st.text(st.sampled_from(f"ab{SPACES}\u200b\ufeffé"), max_size=20), max_size=10))
def test_word_types_are_those_of_split(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("words") / "a.parquet"
    frame = pl.DataFrame({"text": ["b", *texts], "language": ["de", *["fi"] * len(texts)]})
    frame.write_parquet(path)
    expected = Counter(("fi", word) for text in texts for word in text.split()) + Counter([("de", "b")])
    found = word_types(open_corpus(str(path)))
    assert {(language, word): times for language, word, times in found.rows()} == expected
    assert found.rows() == sorted(found.rows(), key=lambda row: (row[0], -row[2], row[1]))
    assert found.height == len(expected)


def test_every_space_of_python_parts_words_and_nothing_else(tmp_path):
    characters = [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
    texts = pl.Series([f"a{character}b" for character in characters])
    parted = texts.str.extract_all(counting.WORD).list.len() == 2
    assert parted.to_list() == [character.isspace() for character in characters]


def test_words_are_merged_over_many_batches(folder, monkeypatch):
    corpus = open_corpus(str(folder))
    expected = word_types(corpus)
    whole = Corpus.batches
    monkeypatch.setattr(Corpus, "batches", lambda self, size_bytes=60: whole(self, size_bytes))
    monkeypatch.setattr(counting, "MERGE_ROWS", 5)
    assert_frame_equal(word_types(corpus), expected)
    assert ("en", "the", 180) in expected.rows()


# Ray


def test_without_ray_the_message_has_the_install_line(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r'pip install "suture\[scale\]"'):
        count(tiktoken_tokenizer(), open_corpus(str(folder)), engine="ray")


@pytest.fixture(name="ray", scope="module")
def ray_fixture():
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("ray.data", reason="Ray Data is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()


@pytest.mark.slow
def test_ray_counts_the_same(ray, folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    small_hf().save(str(path))
    tokenizer, corpus = load(str(path)), open_corpus(str(folder))
    same(
        count(tokenizer, corpus, documents=True),
        count(tokenizer, corpus, documents=True, engine="ray", workers=1),
    )
    assert ray.is_initialized()  # a running Ray is used and left running


@pytest.mark.slow
def test_ray_passes_a_workers_error_on(ray, folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    small_hf().save(str(path))
    (folder / "zu.txt").write_bytes(b"fine\n\xff\n")
    with pytest.raises(SutureError, match="must be UTF-8") as caught:
        count(load(str(path)), open_corpus(str(folder)), engine="ray", workers=1)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_ray_needs_a_tokenizer_that_workers_can_load(ray, folder):
    with pytest.raises(SutureError, match="made from an object"):
        count(load(encoding([])), open_corpus(str(folder)), engine="ray")
