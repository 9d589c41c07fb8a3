"""Lexicon files: each format, what is left out and counted, and what is refused."""

import gzip
import json
import zipfile
from xml.sax.saxutils import escape

import polars as pl
import pytest

from tests.vocabs import ROOT
from workbench.errors import SutureError, UnreadableFile
from workbench.lexicon import MorphLexicon
from workbench.lexicons import open_lexicon, write_lexicon

GOLD = ROOT.parent / "shared" / "data" / "sigmorphon2022"

FORMATS = {
    "eng.word.tsv": ("enthrallments\ten @@thrall @@ment @@s\t110\nconservation\tconserve @@ation\t010\n",
                     {"enthrallments": "en|thrall|ment|s", "conservation": "conserv|ation"}),
    "deu.inflection.tsv": ("Haus\tHäuser\tN;PL\tHäus|er\nsagen\tgesagt\tV|V.PTCP;PST\tge|sag|t\n"  # noqa: ISC004
                           "Haus\tHaus\tN;SG\t-\n", {"Häuser": "Häus|er", "gesagt": "ge|sag|t"}),
    "eng.derivation.tsv": ("happy\tunhappy\tJ\tJ\tun\tprefix\nkind\tkindness\tJ\tN\tness\tsuffix\n",
                           {"unhappy": "un|happy", "kindness": "kind|ness"}),
    "fin.challenge.txt": ("talossa\ttalo:talo_N ssa:+INE\nautot\tauto:auto_N t:+PL, autot:autot_N\n",
                          {"talossa": "talo|ssa"}),
    "kor.csv": ("pt1,rest,full_word\n사람,이,사람이\nyendirt,,yendirt\n", {"사람이": "사람|이"}),
    "tur.csv": ("language,wordform,stem,preceding_part,following_part,lemma,word_freq_norm\n"  # noqa: ISC004
                "tur,evler,ev,,ler,ev,0.5\n", {"evler": "ev|ler"}),
    "eng.csv": ("Word,POS,MorphoLexSegm\nundoable,JJ,{<un<(do)>able>}\nfootball,NN,{(foot)}{(ball)}\n"  # noqa: ISC004
                "abandoned,VB,{(abandon)}\ntypesetters,NN,{(type)}{(set)}>er>\n",
                {"undoable": "un|do|able", "football": "foot|ball"}),
    "spa.conllu": ("# text = dámelo ya\n1-3\tdámelo\t_\t_\t_\t_\t_\t_\t_\t_\n"  # noqa: ISC004
                   "1\tdá\tdar\tVERB\t_\tMood=Imp\t0\troot\t_\t_\n2\tme\tyo\tPRON\t_\t_\t1\tobj\t_\t_\n"
                   "3\tlo\tél\tPRON\t_\t_\t1\tobj\t_\t_\n4\tya\tya\tADV\t_\t_\t1\tadv\t_\t_\n",
                   {"dámelo": "dá|me|lo", "ya": "ya"}),
    "english_morph_data.tsv": ("pt1\trest\tfull_word\nlight\ted\tlighted\n", {"lighted": "light|ed"}),
    "goldstd.segmentation.tur": ("evler\tev:ev_N ler:+PL ~:+NOM\n", {"evler": "ev|ler"}),
    "tr.tsv": ("evlerimizde\tev ler imiz de\nkitap\tkitap\n",
               {"evlerimizde": "ev|ler|imiz|de", "kitap": "kitap"}),
}  # fmt: skip


def written(folder, name: str, text: str):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def left(lexicon: MorphLexicon) -> dict[str, tuple[int, int]]:
    return {row["reason"]: (row["rows"], row["first_line"]) for row in lexicon.ledger.iter_rows(named=True)}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_told_by_its_content(tmp_path, name):
    text, expected = FORMATS[name]
    lexicon = open_lexicon(str(written(tmp_path, name, text)))
    found = dict(lexicon.frame.select("word", pl.col("morphs").list.join("|")).iter_rows())
    assert found == expected
    said = {"english_morph_data.tsv": "eng", "goldstd.segmentation.tur": "tur"}
    assert lexicon.languages == [said.get(name, name.partition(".")[0])]


def test_what_a_format_says_is_kept(tmp_path):
    for name in ("eng.derivation.tsv", "tur.csv", "eng.csv", "spa.conllu", "deu.inflection.tsv"):
        written(tmp_path, name, FORMATS[name][0])
    lexicon = open_lexicon(str(tmp_path))
    rows = {row["word"]: row for row in lexicon.frame.iter_rows(named=True)}
    assert rows["unhappy"]["roles"] == ["prefix", "root"]
    assert (rows["unhappy"]["pos"], rows["kindness"]["pos"]) == ("ADJ", "NOUN")
    assert rows["undoable"]["roles"] == ["prefix", "root", "suffix"]
    assert (rows["undoable"]["process"], rows["football"]["process"]) == ("derivation", "compound")
    assert rows["gesagt"]["roles"] == ["prefix", "root", "suffix"]
    assert rows["gesagt"]["pos"] == "VERB"
    assert rows["evler"]["frequency"] == 0.5
    assert rows["ya"]["pos"] == "ADV"
    assert rows["Häuser"]["roles"] == ["root", "suffix"]
    assert (rows["Häuser"]["lemma"], rows["Häuser"]["features"]) == ("Haus", "N;PL")


def test_noise_of_gold_data_is_dropped_and_counted(tmp_path):
    rows = [
        "evler\tev ler",
        "evler\tev ler",  # said twice
        "güzeli\tgüzel  i",  # an empty second part
        "went\tgo ed",  # parts that do not make up the word
        "1990s\t1990 s",  # no word
        "almák\talma ak",  # two places for the cut
        "\tev",  # no word at all
        "evin\tev in",
    ]
    lexicon = open_lexicon(str(written(tmp_path, "tr.tsv", "\n".join(rows) + "\n")))
    assert lexicon.frame["word"].to_list() == ["evler", "evin"]
    assert left(lexicon) == {
        "duplicate": (1, 2), "empty_part": (1, 3), "not_concatenative": (1, 4), "noise": (1, 5),
        "ambiguous": (1, 6), "malformed": (1, 7),
    }  # fmt: skip


def test_one_word_with_two_segmentations_is_two_entries_and_labels_do_not_matter(tmp_path):
    text = "evin\tev:ev_N in:+INS\nevin\tev:ev_N in:+INST\nevin\tevin:evin_N\n"
    lexicon = open_lexicon(str(written(tmp_path, "tr.txt", text)))
    assert lexicon.frame["morphs"].to_list() == [["ev", "in"], ["evin"]]
    assert left(lexicon) == {"duplicate": (1, 2)}


def test_line_numbers_hold_over_blocks_marks_and_foreign_line_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.lexicons.files.BLOCK", 64)
    body = "".join(f"ev{'a' * (n % 9)}ler\tev{'a' * (n % 9)} ler\r\n" for n in range(300))
    lexicon = open_lexicon(str(written(tmp_path, "tr.tsv", "\ufeff" + body + "x 1\ty\r\n")))
    assert len(lexicon) == 9
    assert left(lexicon) == {"duplicate": (291, 10), "noise": (1, 301)}


def test_a_packed_file_and_a_written_one_read_the_same(tmp_path):
    text = FORMATS["tr.tsv"][0]
    plain = open_lexicon(str(written(tmp_path, "tr.tsv", text)))
    packed = open_lexicon(str(written(tmp_path, "tur.tsv.gz", text)))
    plain.frame.write_parquet(tmp_path / "kept.parquet")
    again = open_lexicon(str(tmp_path / "kept.parquet"))
    assert again.frame.equals(plain.frame)
    assert packed.frame.drop("language").equals(plain.frame.drop("language"))


def test_several_lexicons_are_taken_together(tmp_path):
    one = written(tmp_path, "tr.tsv", "evler\tev ler\n")
    two = written(tmp_path, "tr.more.tsv", "evler\tev ler\nevin\tev in\n")
    lexicon = open_lexicon(str(one), str(two))
    assert lexicon.frame["word"].to_list() == ["evler", "evin"]
    assert lexicon.digest not in (open_lexicon(str(one)).digest, None)


def test_a_format_may_be_forced(tmp_path):
    path = written(tmp_path, "tr.tsv", "a:b\ta :b\n")
    assert open_lexicon(f"{path}#format=plain").frame["morphs"].to_list() == [["a", ":b"]]
    with pytest.raises(SutureError, match="format must be one of"):
        open_lexicon(f"{path}#format=other")


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.tsv", b"ok\tok\nb\xff\tb\n", "line 2 of .* has the byte 0xFF"),
        ("a.tsv", "evler\tev ler\n".encode("utf-16"), "is UTF-16"),
        ("a.tsv", b"", "has none that can be used"),
        ("a.tsv", b"one column\nanother\n", "known format"),
        ("a.tsv", b"went\tgo ed\n", r"none that can be used \(1 not_concatenative\)"),
        ("a.tsv", b"\x00\x01\x02\x03" * 50, "must be"),
        ("eng.tsv", b"walk\twalked\tV;PST\nwalk\twalks\tV;PRS;3;SG\n", r"\(2 unanalysed\)"),
        ("a.tsv", b"walk\twalk ed\tV;PST;X\n" * 20 + b"one\ttwo\t*\n" * 20, "known format"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"pt1,rest,full_word\nab,c,abc\nd\xff,e,dfe\n", "line 3 of .* has the byte 0xFF"),
        (
            "a.csv",
            b'pt1,rest,full_word\n"' + b"a" * 140_000 + b'",c,abc\n',
            "CSV must be well formed; line 2",
        ),
        ("a.xlsx", b"PK\x03\x04 no workbook", "must be a workbook"),
        ("a.parquet", b"PAR1", "must be one that suture lexicon"),
        ("a.tsv.gz", b"\x1f\x8b\x08\x00broken", "must be whole"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, name, data, says):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SutureError, match=says):
        open_lexicon(str(tmp_path / name))


@pytest.mark.parametrize("spec", ["missing.tsv", ""])
def test_a_missing_path_is_one_sentence(tmp_path, spec):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SutureError, match="a lexicon must be"):
        open_lexicon(str(tmp_path / "empty" / spec))
    with pytest.raises(UnreadableFile):
        open_lexicon(str(tmp_path / "empty"))


def workbook(path, rows):
    """The smallest workbook that readers take: one sheet of texts."""
    office = "http://schemas.openxmlformats.org"
    relations, main = f"{office}/package/2006/relationships", f"{office}/spreadsheetml/2006/main"
    inner = f"{office}/officeDocument/2006/relationships"
    cells = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{escape(cell)}</t></is></c>' for cell in row) + "</row>"
        for row in rows
    )
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{office}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{relations}"><Relationship Id="a" '
        f'Type="{inner}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{relations}"><Relationship Id="b" '
        f'Type="{inner}/worksheet" Target="sheet1.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{inner}"><sheets>'
        '<sheet name="1-1-1" sheetId="1" r:id="b"/></sheets></workbook>',
        "xl/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in parts.items():
            packed.writestr(name, text)


def test_a_workbook_of_morpholex(tmp_path):
    pytest.importorskip("fastexcel", reason="fastexcel is not installed")
    workbook(tmp_path / "eng.xlsx", [("Word", "MorphoLexSegm"), ("undoable", "{<un<(do)>able>}")])
    assert open_lexicon(str(tmp_path / "eng.xlsx")).frame["morphs"].to_list() == [["un", "do", "able"]]
    workbook(tmp_path / "other.xlsx", [("A", "B"), ("1", "2")])
    with pytest.raises(UnreadableFile, match="must have a sheet with the columns"):
        open_lexicon(str(tmp_path / "other.xlsx"))


@pytest.mark.skipif(not GOLD.is_dir(), reason="the SIGMORPHON 2022 development files are not at hand")
def test_published_gold_is_accounted_for_row_by_row():
    lexicon = open_lexicon(str(GOLD))
    assert lexicon.languages == ["ces", "eng", "fra", "hun", "ita", "lat", "mon", "spa"]
    rows = sum(len(path.read_text().splitlines()) for path in GOLD.glob("*.tsv"))
    assert len(lexicon) + lexicon.ledger["rows"].sum() == rows
    assert (lexicon.frame["morphs"].list.join("") == lexicon.frame["word"]).all()
    assert json.loads(json.dumps(lexicon.card()))["entries"] == len(lexicon)


def test_a_workbook_that_spans_too_much_is_refused_unread(tmp_path):
    workbook(tmp_path / "eng.xlsx", [("Word", "MorphoLexSegm")])
    with zipfile.ZipFile(tmp_path / "eng.xlsx") as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    far = b'<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>x</t></is></c></row></sheetData>'
    parts["xl/sheet1.xml"] = parts["xl/sheet1.xml"].replace(b"</sheetData>", far)
    with zipfile.ZipFile(tmp_path / "far.xlsx", "w") as packed:
        for name, data in parts.items():
            packed.writestr(name, data)
    with pytest.raises(SutureError, match="must span at most 50,000,000 cells"):
        open_lexicon(str(tmp_path / "far.xlsx"))


def test_a_lexicon_is_not_written_over_its_source(tmp_path):
    path = written(tmp_path, "tr.tsv", "evler\tev ler\n")
    with pytest.raises(SutureError, match="must not be written over its source"):
        write_lexicon(open_lexicon(str(path)), path)
    assert path.read_text() == "evler\tev ler\n"
