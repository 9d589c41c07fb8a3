"""Rows in batches, in two Unicode forms, and over several files; what is counted and what is noted."""

import random

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from workbench.lexicon import SCHEMA
from workbench.lexicons import open_lexicon
from workbench.lexicons.rows import distinct


def left(lexicon) -> dict[str, tuple[int, int]]:
    return {row["reason"]: (row["rows"], row["first_line"]) for row in lexicon.ledger.iter_rows(named=True)}


def test_a_long_file_reads_alike_in_many_batches(tmp_path, monkeypatch):
    draw = random.Random(0)  # noqa: S311 not a secret
    stems = ["".join(draw.choices("bdgklm", k=2)) + draw.choice("aeiou") * 2 + "t" for _ in range(400)]
    rows = []
    for _ in range(5000):
        stem, ending = draw.choice(stems), draw.choice(["s", "ed", "ing"])
        lemma, form = draw.choice([(stem, stem + ending), (stem + "e", stem + ending), (stem, "xq" + ending)])
        rows.append(f"{lemma}\t{form}\tV;PST\t{lemma}|{ending}")
    path = tmp_path / "eng.tsv"
    path.write_text("\n".join(rows) + "\n")
    told: list[str] = []
    whole = open_lexicon(str(path))
    monkeypatch.setattr("workbench.lexicons.files.BLOCK", 2000)
    monkeypatch.setattr("workbench.lexicons.rows.TELL", 1000)
    monkeypatch.setattr("workbench.surface.ROWS", 7)
    parts = open_lexicon(str(path), progress=told.append)
    assert parts.frame.equals(whole.frame)
    assert parts.ledger.equals(whole.ledger)
    assert len(whole) + whole.ledger["rows"].sum() == 5000
    assert whole.frame["how"].n_unique() == 2
    assert whole.frame["roles"].null_count() == 0
    assert len(told) == 5
    assert told[1].endswith("rows")


def test_control_characters_are_malformed_and_do_not_shift_a_cut(tmp_path):
    path = tmp_path / "tr.tsv"
    path.write_bytes(b"a\x00b\ta\x00 b\nevler\tev\x00x ler\nevler\tev ler\nev\x1bin\tev\x1b in\n")
    lexicon = open_lexicon(str(path))
    assert lexicon.frame["morphs"].to_list() == [["ev", "ler"]]
    assert left(lexicon) == {"malformed": (3, 1)}


def test_a_third_column_that_is_no_language_is_malformed(tmp_path):
    path = tmp_path / "tr.tsv"
    path.write_text("evin\tev in\tpt-BR\n" * 20 + "evler\tev ler\tnoun plural\n")
    lexicon = open_lexicon(str(path))
    assert lexicon.languages == ["pt-BR"]
    assert left(lexicon)["malformed"] == (1, 21)


def test_words_stay_as_written_and_the_form_and_mark_are_noted(tmp_path):
    path = tmp_path / "fr.tsv"
    decomposed = "cafe\u0301s"
    path.write_text(f"\ufeff{decomposed}\tcaf\u00e9 s\ncaf\u00e9s\tcafe\u0301 s\nport\tport\n")
    lexicon = open_lexicon(str(path))
    assert lexicon.frame["word"].to_list() == [decomposed, "caf\u00e9s", "port"]
    assert lexicon.frame["morphs"].to_list() == [["cafe\u0301", "s"], ["caf\u00e9", "s"], ["port"]]
    assert set(lexicon.frame["how"]) == {"concatenative"}
    assert "1 words of fr.tsv are not in NFC, and are kept as written" in lexicon.notes
    assert any("byte-order mark" in note for note in lexicon.notes)


def test_an_entry_of_two_files_is_counted_and_lines_name_their_file(tmp_path):
    (tmp_path / "tr.a.tsv").write_text("evler\tev ler\n1990s\t1990 s\n")
    (tmp_path / "tr.b.tsv").write_text("evin\tev in\nevler\tev ler\n")
    folder = open_lexicon(str(tmp_path))
    assert folder.frame["word"].to_list() == ["evler", "evin"]
    assert left(folder) == {"noise": (1, 2), "duplicate": (1, None)}
    assert folder.ledger["example"].to_list() == [
        "tr.a.tsv: 1990s: 1990 + s",
        "evler: ev + ler (in an earlier file)",
    ]
    apart = open_lexicon(str(tmp_path / "tr.a.tsv"), str(tmp_path / "tr.b.tsv"))
    assert apart.frame.equals(folder.frame)
    assert apart.ledger["rows"].sum() == folder.ledger["rows"].sum()


def test_a_form_of_its_lemma_that_the_source_does_not_segment_is_not_called_whole(tmp_path):
    path = tmp_path / "spa.tsv"
    path.write_text("cargar\tcargar\tV;NFIN\t-\ncargar\tcargando\tV|V.CVB;PRS\tcargar|ando\ncargar\tcargo\n")
    lexicon = open_lexicon(f"{path}#format=inflection")
    assert lexicon.frame["morphs"].to_list() == [["carg", "ando"]]
    assert lexicon.frame["roles"].to_list() == [["root", "suffix"]]
    assert left(lexicon) == {"unanalysed": (1, 1), "malformed": (1, 3)}


def test_process_is_said_of_words_of_several_morphs_only(tmp_path):
    path = tmp_path / "eng.tsv"
    path.write_text("cats\tcat @@s\t100\ncat\tcat\t000\nteapots\ttea @@pot @@s\t101\n")
    found = dict(open_lexicon(str(path)).frame.select("word", "process").iter_rows())
    assert found == {"cats": "inflection", "cat": None, "teapots": "inflection+compound"}


entries = st.tuples(
    st.sampled_from(["tr", "de"]), st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=3)
)


@given(st.lists(entries, max_size=30))
def test_distinct_entries_are_those_of_a_set_in_their_order(made):
    rows = [{**dict.fromkeys(SCHEMA), "language": language, "morphs": morphs, "word": "".join(morphs)}
            for language, morphs in made]  # fmt: skip
    kept, twice = distinct(pl.DataFrame(rows, SCHEMA))
    once = dict.fromkeys((language, tuple(morphs)) for language, morphs in made)
    found = zip(kept["language"].to_list(), map(tuple, kept["morphs"].to_list()), strict=True)
    assert list(found) == list(once)
    assert kept.height + twice.height == len(made)
