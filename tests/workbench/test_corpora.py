"""Corpora: every format gives the documents that were written, and every defect is named."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import threading

import polars as pl
import pytest
import zstandard
from hypothesis import assume, given
from hypothesis import strategies as st

from workbench import catalog as catalog_module
from workbench import corpusfiles
from workbench.catalog import catalog
from workbench.corpora import open_corpus
from workbench.corpusrows import sentences_in
from workbench.errors import SutureError, UnknownName, UnreadableFile
from workbench.paths import bundle

DOCUMENTS = ["one two", "", "drei vier fünf", "  spaces  ", "日本語のテキスト", "😀\tend"]


def texts(corpus, size=1 << 20):
    return [text for batch in corpus.batches(size) for text in batch.texts]


def write(path, documents):
    """One file of documents in the format that its name says."""
    plain = path.name.removesuffix(".gz").removesuffix(".zst")
    if plain.endswith(".parquet"):
        pl.DataFrame({"text": documents}).write_parquet(path)
        return path
    lines = [json.dumps({"text": text}) for text in documents] if plain.endswith(".jsonl") else documents
    data = "".join(f"{line}\n" for line in lines).encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    if path.suffix == ".zst":
        data = zstandard.compress(data)
    path.write_bytes(data)
    return path


NAMES = [
    "a.txt",
    "a.txt.gz",
    "a.txt.zst",
    "a.jsonl",
    "a.jsonl.gz",
    "a.jsonl.zst",
    "a.parquet",
    "a",
    "A.TXT.GZ",
]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("name", NAMES)
def test_each_format_gives_the_documents_back(tmp_path, name, size):
    if name == "A.TXT.GZ":
        (tmp_path / name).write_bytes(gzip.compress("".join(f"{line}\n" for line in DOCUMENTS).encode()))
    else:
        write(tmp_path / name, DOCUMENTS)
    corpus = open_corpus(str(tmp_path / name))
    assert texts(corpus, size) == DOCUMENTS
    assert corpus.check() == []


LINE = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=30)


@given(documents=st.lists(LINE, min_size=1, max_size=20), size=st.integers(1, 64), end=st.booleans())
def test_lines_are_what_stands_between_line_feeds(tmp_path_factory, documents, size, end):
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_bytes(("\n".join([*documents, *[""] * end])).encode())
    expected = documents[:-1] if not end and documents[-1] == "" else documents
    assume(any(expected) and expected[0][:1] != "\ufeff")  # a mark is no part of the text
    assume("\0" not in "".join(expected))  # that may look like UTF-16
    assert texts(open_corpus(str(path)), size) == expected


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=6), st.integers(1, 3000))
def test_zstandard_frames_follow_one_another(tmp_path_factory, parts, size):
    path = tmp_path_factory.mktemp("zst") / "a.zst"
    path.write_bytes(b"".join(zstandard.compress(part * 100) for part in parts))
    file = corpusfiles.CorpusFile(path, "a", "lines")
    assert b"".join(corpusfiles.chunks(file, size)) == b"".join(part * 100 for part in parts)


def test_a_batch_is_bounded_and_cut_at_documents(tmp_path):
    documents = [f"document {number:06}" for number in range(60_000)]
    for name in ("a.txt", "a.txt.zst", "a.jsonl", "a.parquet"):
        batches = list(open_corpus(str(write(tmp_path / name, documents))).batches(150_000))
        assert [text for batch in batches for text in batch.texts] == documents
        assert max(sum(map(len, batch.texts)) for batch in batches) <= 300_000
        assert len(batches) > 3


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_the_text_column_can_be_named(tmp_path, name):
    path = tmp_path / name
    frame = pl.DataFrame({"n": [1, 2], "body": ["x", "y"], "text": ["-", "-"]})
    frame.write_parquet(path) if name == "a.parquet" else frame.write_ndjson(path)
    assert texts(open_corpus(str(path), text_column="body")) == ["x", "y"]
    with pytest.raises(SutureError, match="did you mean 'body'"):
        texts(open_corpus(str(path), text_column="boddy"))
    with pytest.raises(SutureError, match=r"column 'n' of .* must hold text"):
        texts(open_corpus(str(path), text_column="n"))


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_language_column_splits_batches_and_keeps_order(tmp_path, name):
    path = tmp_path / name
    frame = pl.DataFrame({"text": ["a", "b", "c", "d"], "language": ["de", "en", None, "de"]})
    frame.write_parquet(path) if name == "a.parquet" else frame.write_ndjson(path)
    assert [tuple(batch) for batch in open_corpus(str(path)).batches()] == [
        (["a", "d"], "de"),
        (["b"], "en"),
        (["c"], None),
    ]
    assert [tuple(batch) for batch in open_corpus(str(path), language="fi").batches()] == [
        (["a", "b", "c", "d"], "fi")
    ]


def test_a_folder_takes_languages_from_names_and_passes_over_the_rest(tmp_path):
    (tmp_path / "deep").mkdir()
    for name in ("de.txt", "deu_Latn.txt.gz", "notes.txt", "deep/pt-BR.jsonl", ".hidden.txt", "picture.png"):
        write(tmp_path / name, [name])
    found = {batch.texts[0]: batch.language for batch in open_corpus(str(tmp_path)).batches()}
    assert found == {
        "de.txt": "de",
        "deu_Latn.txt.gz": "deu_Latn",
        "notes.txt": None,
        "deep/pt-BR.jsonl": "pt-BR",
    }
    assert {batch.language for batch in open_corpus(str(tmp_path), language="x").batches()} == {"x"}


def test_a_pattern_takes_any_name_and_goes_deep(tmp_path):
    (tmp_path / "deep").mkdir()
    write(tmp_path / "eng_Latn.devtest", ["hello"])
    write(tmp_path / "deep" / "fra_Latn.devtest", ["salut"])
    found = open_corpus(str(tmp_path / "**" / "*.devtest"))
    assert [tuple(batch) for batch in found.batches()] == [(["salut"], "fra_Latn"), (["hello"], "eng_Latn")]
    write(tmp_path / "[1].txt", ["a file's own name is no pattern"])
    assert texts(open_corpus(str(tmp_path / "[1].txt"))) == ["a file's own name is no pattern"]


@pytest.mark.parametrize("name", NAMES[:-1])
def test_a_limit_holds_for_each_file(tmp_path, name):
    write(tmp_path / name, DOCUMENTS)
    assert texts(open_corpus(str(tmp_path / name), limit=3), size=1) == DOCUMENTS[:3]
    assert texts(open_corpus(str(tmp_path / name), limit=99)) == DOCUMENTS
    with pytest.raises(SutureError, match="at least 1"):
        open_corpus(str(tmp_path / name), limit=0)


def test_a_limit_counts_documents_of_all_languages_of_a_file(tmp_path):
    rows = pl.DataFrame({"text": list("abcd"), "language": ["de", "en", "de", "en"]})
    rows.write_parquet(tmp_path / "a.parquet")
    batches = list(open_corpus(str(tmp_path / "a.parquet"), limit=3).batches())
    assert [tuple(batch) for batch in batches] == [(["a", "c"], "de"), (["b"], "en")]


def piped(data, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(data))
    monkeypatch.setattr(sys, "stdin", stream)
    return open_corpus("-")


def test_standard_input_can_be_read_again_and_leaves_no_file(monkeypatch):
    corpus = piped(b"eins\r\nzwei", monkeypatch)
    assert [(problem.kind, problem.file) for problem in corpus.check()] == [("crlf", "standard input")]
    assert texts(corpus) == texts(corpus) == ["eins", "zwei"]
    assert corpus.digest == hashlib.sha256(b"eins\r\nzwei").hexdigest()
    spool = corpus.files[0].path
    assert spool.exists()
    del corpus
    assert not spool.exists()
    with pytest.raises(SutureError, match="must hold text; - holds none"):
        piped(b"", monkeypatch)


def test_a_terminal_is_not_read(monkeypatch):
    monkeypatch.setattr(sys, "stdin", type("Terminal", (), {"isatty": lambda _: True})())
    with pytest.raises(SutureError, match="must be piped in"):
        open_corpus("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_read_once_and_kept(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"a\nb\n"))
    writer.start()
    corpus = open_corpus(str(pipe))
    writer.join()
    assert texts(corpus) == texts(corpus) == ["a", "b"]


# What is wrong with a text


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.zst"])
def test_problems_are_found_with_offset_and_count(tmp_path, name):
    data = (
        codecs.BOM_UTF8
        + b"a\r\nb\r\n"
        + b"ok \xff\xfe \xe2\x82 \xef\xbf\xbd\n"
        + b"\xed\xa0\x80\xed\xb0\x80\n"
    )
    packed = {".gz": gzip.compress, ".zst": zstandard.compress}.get(f".{name.split('.')[-1]}", bytes)
    (tmp_path / name).write_bytes(packed(data))
    corpus = open_corpus(str(tmp_path / name))
    found = [(problem.kind, problem.offset, problem.count) for problem in corpus.problems]
    bad, surrogate = data.index(b"\xff"), data.index(b"\xed\xa0")
    assert found == [
        ("bom", 0, 1),
        ("crlf", 4, 2),
        ("invalid_utf8", bad, 3),
        ("lone_surrogate", surrogate, 2),
    ]
    for work in (corpus.check, lambda: texts(corpus)):
        with pytest.raises(
            SutureError, match=rf"a\.txt.* has invalid byte sequences \(3, the first at byte {bad}\)"
        ):
            work()
    replaced = open_corpus(str(tmp_path / name), errors="replace")
    assert texts(replaced) == ["a", "b", "ok \ufffd\ufffd \ufffd \ufffd", "\ufffd" * 6]
    assert len(replaced.check()) == 4


@given(st.lists(st.binary(max_size=12), max_size=8))
def test_invalid_sequences_are_counted_as_python_counts_them(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("bytes") / "a.txt"
    data = b"word\n" + b"\n".join(line.replace(b"\0", b"") for line in lines)
    path.write_bytes(data)
    found = {problem.kind: problem for problem in open_corpus(str(path)).problems}
    errors = []

    def note(error):
        errors.append(error.start)
        return "", error.end

    codecs.register_error("suture-test", note)
    data.decode(errors="suture-test")
    invalid, surrogates = found.get("invalid_utf8"), found.get("lone_surrogate")
    # Each byte of an encoded surrogate is an error of its own to Python.
    counted = (invalid.count if invalid else 0) + 3 * (surrogates.count if surrogates else 0)
    first = min([problem.offset for problem in (invalid, surrogates) if problem], default=None)
    assert (counted, first) == (len(errors), errors[0] if errors else None)
    assert (found["crlf"].count if "crlf" in found else 0) == data.count(b"\r\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf16_stops_the_work_however_errors_are_taken(tmp_path, encoding):
    (tmp_path / "a.txt").write_bytes("some text\nand more\n".encode(encoding))
    for errors in ("strict", "replace"):
        corpus = open_corpus(str(tmp_path / "a.txt"), errors=errors)
        assert [problem.kind for problem in corpus.problems] == ["utf16"]
        for work in (corpus.check, lambda corpus=corpus: texts(corpus)):
            with pytest.raises(SutureError, match="is UTF-16; convert it, for example with `iconv"):
                work()


def test_json_lines_problems_name_the_line(tmp_path):
    path = tmp_path / "a.jsonl"
    for line, said in [("{nope", "is not JSON"), ("[1]", "is a list"), ("[" * 100_000, "is not JSON")]:
        path.write_text('{"text": "a"}\n\n' + line + "\n")
        for work in (open_corpus(str(path)).check, lambda: texts(open_corpus(str(path)))):
            with pytest.raises(UnreadableFile, match=rf"line 3 {said}"):
                work()


def test_escaped_lone_surrogates_are_found_and_pairs_are_not(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = ['{"text": "\\ud83d\\ude00"}', '{"text": "x \\ud800 \\udc00"}']
    path.write_text("\n".join(lines))
    corpus = open_corpus(str(path))
    (problem,) = corpus.problems
    assert (problem.kind, problem.offset, problem.count) == ("lone_surrogate", len(lines[0]) + 1, 2)
    for work in (corpus.check, lambda: texts(corpus)):
        with pytest.raises(SutureError, match=r"lone surrogates \(2, the first"):
            work()
    assert texts(open_corpus(str(path), errors="replace")) == ["😀", "x \ufffd \ufffd"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_missing_texts_are_empty_documents_and_reported(tmp_path, name):
    frame = pl.DataFrame({"text": ["a", None, "b", None]})
    path = tmp_path / name
    frame.write_parquet(path) if name == "a.parquet" else frame.write_ndjson(path)
    corpus = open_corpus(str(path))
    assert [(problem.kind, problem.count) for problem in corpus.check()] == [("null", 2)]
    assert "rows without text (2)" in str(corpus.problems[0])
    assert texts(corpus) == ["a", "", "b", ""]


def test_several_bad_files_are_named_and_counted(tmp_path):
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_bytes(b"x\n\xff\n" if name != "c.txt" else b"fine\n")
    with pytest.raises(SutureError, match=r"a\.txt has invalid .*, and 1 more file is not;"):
        open_corpus(str(tmp_path)).check()


# What cannot be read


@pytest.mark.parametrize("cut", [1, 10, 40])
@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.zst"])
def test_a_cut_off_file_is_not_taken_for_a_whole_one(tmp_path, name, cut):
    path = write(tmp_path / name, [str(number) for number in range(5000)])
    path.write_bytes(path.read_bytes()[:-cut])
    for work in (open_corpus(str(path)).check, lambda: texts(open_corpus(str(path)))):
        with pytest.raises(UnreadableFile, match="damaged or cut short"):
            work()


@pytest.mark.parametrize("name", ["a.gz", "a.zst", "a.parquet"])
def test_a_file_that_is_not_what_its_name_says(tmp_path, name):
    (tmp_path / name).write_bytes(b"only text\n" * 50)
    with pytest.raises(UnreadableFile, match=name):
        texts(open_corpus(str(tmp_path / name)))


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(corpusfiles, "MAX_LINE", 1 << 20)
    (tmp_path / "a.txt").write_bytes(b"x" * (3 << 20))
    with pytest.raises(SutureError, match="at most 1 MiB long"):
        texts(open_corpus(str(tmp_path / "a.txt"), errors="strict"), size=1 << 16)


def test_what_is_missing_or_empty_is_said_in_a_sentence(tmp_path):
    (tmp_path / "empty.txt").touch()
    (tmp_path / "blank.txt").write_text("\n\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "image.png").write_bytes(b"x")
    cases = [
        ("nowhere.txt", UnknownName, "embedded"),
        ("folder", UnreadableFile, "holds none; give a pattern"),
        ("empty.txt", SutureError, "must hold text"),
        ("*.xyz", UnreadableFile, "matches none"),
    ]
    for name, kind, said in cases:
        with pytest.raises(kind, match=said) as caught:
            open_corpus(str(tmp_path / name))
        assert "\n" not in str(caught.value)
    with pytest.raises(SutureError, match="must hold text"):
        texts(open_corpus(str(tmp_path / "blank.txt")))
    for spec in ("", "a text\0", "text " * 100):
        with pytest.raises(UnknownName):
            open_corpus(spec)
    with pytest.raises(UnknownName, match="did you mean 'embedded'"):
        open_corpus("embeded")
    with pytest.raises(SutureError, match="'strict' or 'replace'"):
        open_corpus("sample", errors="ignore")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_said(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.txt").chmod(0)
    with pytest.raises(UnreadableFile, match="check its kind and rights"):
        open_corpus(str(tmp_path / "a.txt"))
    tmp_path.chmod(0o300)
    with pytest.raises(UnreadableFile, match="change its rights"):
        open_corpus(str(tmp_path))
    tmp_path.chmod(0o700)


def test_an_unreadable_folder_is_said_whoever_runs(tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(UnreadableFile, match="Permission denied"):
        open_corpus(str(tmp_path))


# Provenance, and files that belong together


def test_the_digest_is_that_of_sha256sum(tmp_path):
    for name in ("a.txt", "b.txt"):
        write(tmp_path / name, [name])
    one = open_corpus(str(tmp_path / "a.txt"))
    assert one.digest == hashlib.sha256((tmp_path / "a.txt").read_bytes()).hexdigest()
    printed = "".join(
        f"{hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()}  {name}\n"
        for name in ("a.txt", "b.txt")
    )
    assert open_corpus(str(tmp_path)).digest == hashlib.sha256(printed.encode()).hexdigest()


@pytest.mark.parametrize("name", NAMES[:7])
def test_files_are_parallel_when_they_hold_as_many_documents(tmp_path, name):
    other = tmp_path / f"b{name[1:]}"
    write(tmp_path / name, DOCUMENTS)
    assert not open_corpus(str(tmp_path)).parallel
    write(other, DOCUMENTS[::-1])
    assert open_corpus(str(tmp_path)).parallel
    write(other, DOCUMENTS[1:])
    assert not open_corpus(str(tmp_path)).parallel


def test_parallel_files_lie_in_one_folder_and_need_no_last_line_end(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "a.txt", ["x", "y"])
    assert not open_corpus(str(tmp_path)).parallel
    (tmp_path / "one" / "b.txt").write_bytes(b"p\nq")
    assert open_corpus(str(tmp_path / "one")).parallel


# The catalog


def listed():
    return [row for entry in catalog().values() for row in entry.get("files", [])]


@pytest.mark.parametrize("row", listed(), ids=lambda row: row["path"])
def test_each_file_of_the_catalog_has_its_digest_and_ends_its_lines(row):
    data = (bundle("corpora") / row["path"]).read_bytes()
    assert hashlib.sha256(data).hexdigest() == row["sha256"]
    assert data.endswith(b"\n")
    assert b"\r" not in data
    assert all(line == line.rstrip() for line in data.decode().split("\n"))


def test_the_catalog_lists_every_file_and_each_entry_has_a_licence():
    folder = bundle("corpora")
    lying = {path.relative_to(folder).as_posix() for path in folder.rglob("*.txt")}
    assert {row["path"] for row in listed()} == lying
    assert len(listed()) == len(lying)
    assert all(entry["licence"] and entry["origin"] and entry["about"] for entry in catalog().values())
    assert 40_000 < sum((folder / path).stat().st_size for path in lying) < 60_000


def test_the_parallel_corpus_is_parallel_and_has_no_line_twice():
    corpus = open_corpus("parallel")
    assert corpus.parallel
    assert len({batch.language for batch in corpus.batches()}) == 11
    assert all(len(set(batch.texts)) == 24 and all(batch.texts) for batch in corpus.batches())
    assert corpus.metadata["licence"] == "Apache-2.0"


def test_embedded_is_the_sample_and_the_examples_of_spacy():
    pytest.importorskip("spacy", reason="spaCy is not installed")
    corpus = open_corpus("embedded")
    assert corpus.check() == []
    languages = {batch.language for batch in corpus.batches()}
    assert len(languages) > 60
    assert set(texts(open_corpus("sample"))) < set(texts(corpus))
    from spacy.lang.de.examples import sentences

    assert set(sentences) < {
        text for batch in corpus.batches() if batch.language == "de" for text in batch.texts
    }


def test_embedded_does_without_spacy_and_says_so(monkeypatch):
    monkeypatch.setattr(catalog_module.importlib.util, "find_spec", lambda _: None)
    corpus = open_corpus("embedded")
    assert texts(corpus) == texts(open_corpus("sample"))
    (problem,) = corpus.check()
    assert problem.kind == "missing"
    assert 'pip install "suture[linguistics]"' in str(problem)


def test_reading_the_examples_does_not_import_spacy():
    code = (
        "import sys; from workbench.corpora import open_corpus; list(open_corpus('embedded').batches()); "
        "print(sorted({'spacy', 'torch', 'ray', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_manual_of_python_is_a_corpus_of_paragraphs():
    corpus = open_corpus("manual")
    texts = [text for batch in corpus.batches() for text in batch.texts]
    assert sum(len(text.encode()) for text in texts) > 300_000
    assert all(text == " ".join(text.split()) for text in texts)
    assert len(texts) > 1_000
    assert {file.language for file in corpus.files} == {"en"}


def test_topics_are_read_as_a_literal_and_never_run():
    source = "topics = {'a': 'One\\n two.\\n\\nThree.', 'b': '\\n\\n'}\nraise SystemExit\n"
    assert sentences_in(source) == ["One two.", "Three."]
