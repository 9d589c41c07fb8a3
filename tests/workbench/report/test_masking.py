"""What a sensitive audit found is nowhere in clear until it is asked for; placeholders stand for terms."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports import Page, write
from workbench.audit import Outcome, audit
from workbench.display import BULLET, masked_bytes, masked_column
from workbench.findings import Finding
from workbench.inventory import Inventory
from workbench.report.looks import Look
from workbench.report.masking import masked_run
from workbench.report.spreadsheets import write_tables
from workbench.report.writing import write_report
from workbench.runs import Run

TERMS = ("zorkle", "blarfing", "quuxly", "\u732b\u866b\u9ce5", "fnordic")
"""Placeholders, each used in one kind of place."""

FILES = ("report.html", "summary.md", "report.json")


@audit("Planted entries", sensitive=True)
def planted(inventory: Inventory) -> Outcome:
    """Entries that are planted."""
    zorkle, blarfing, quuxly, cjk, fnordic = TERMS
    rows = [
        Finding(inventory.name, "planted", "entry", 3.0, "insult", severity="flag", token_id=7,
                token=f" {zorkle}".encode(), note="a candidate", evidence=f"list one: {blarfing}"),
        Finding(inventory.name, "planted", "entry", 1.0, "insult", severity="warn", token_id=9,
                token=cjk.encode() + b"\xe7\x8c"),
        Finding(inventory.name, "planted", "hits", 2.0, unit="entries", severity="warn",
                evidence=f"2 of 1,024: {fnordic}"),
    ]  # fmt: skip
    table = pl.DataFrame(
        {
            "subject": [inventory.name] * 2,
            "category": ["insult"] * 2,
            "bytes": [zorkle.encode(), b"\xff\xfe"],
            "term": [quuxly, quuxly],
            "kin": [[blarfing, fnordic], []],
            "raw": [[zorkle.encode()], None],
            "rank": [1, 2],
        },
        schema_overrides={"bytes": pl.Binary, "raw": pl.List(pl.Binary)},
    )
    about = pl.DataFrame({"subject": [inventory.name], "name": ["small list"], "licence": ["CC0-1.0"]})
    return Outcome(rows, {"planted": table, "planted_lists": about})


@audit("Plain entries")
def plain(inventory: Inventory) -> Outcome:
    """Entries that need no mask."""
    row = Finding(inventory.name, "plain", "entry", 1.0, severity="warn", token=b"visible", evidence="seen")
    table = pl.DataFrame({"subject": [inventory.name], "bytes": [b"openly"]})
    return Outcome([row, row._replace(token=b"other")], {"plain": table})


class Named:
    """As much of an inventory as the audits of these tests look at."""

    name = "small"


def made(folder: Path) -> Run:
    audits = [
        {"name": "planted", "title": "Planted entries", "summary": "", "options": {}, "sensitive": True},
        {"name": "plain", "title": "Plain entries", "summary": "", "options": {}},
    ]
    outcomes = [each.function(Named) for each in (planted, plain)]
    return write(folder, outcomes, audits=audits, subjects=[])


@pytest.fixture
def run(tmp_path):
    return made(tmp_path / "run")


def texts(run: Run) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in write_report(run)}


def test_no_file_of_the_report_holds_a_clear_term(run):
    for name, text in texts(run).items():
        for term in TERMS:
            assert term not in text, name
            assert term.encode().hex() not in text.replace(" ", ""), name
            assert term.encode().hex(" ") not in text, name
        assert "visible" in text, "what is not sensitive stays"
        assert f"z{BULLET * 5}" in text, name


def test_a_report_says_how_to_read_it_in_clear(run):
    for name, text in texts(run).items():
        assert "suture report RUN \\-\\-reveal".replace("\\", "") in text, name
    report = json.loads((run.folder / "report.json").read_text(encoding="utf-8"))
    assert report["masking"].startswith("Entries and evidence of planted are masked")
    rows = [row for each in report["audits"] for part in each["listed"] for row in part["rows"]]
    assert ["token_hex" in row for row in rows] == [False, False, True, True]
    page = Page((run.folder / "report.html").read_text(encoding="utf-8")).root
    assert [p.text for p in page.all("p") if "--reveal" in p.text] == [report["masking"]] * 2


def test_a_masked_token_has_no_bytes_for_the_pointer(run):
    write_report(run)
    page = Page((run.folder / "report.html").read_text(encoding="utf-8")).root
    tokens = {bdi.text: bdi.attributes.get("title") for bdi in page.all("bdi") if bdi.attributes.get("class")
              == "token"}  # fmt: skip
    assert tokens[f"\u2423z{BULLET * 5}"] is None
    assert tokens["visible"] == "bytes 76 69 73 69 62 6c 65"
    assert tokens[f"\u732b{BULLET * 2}\u27e8E7\u27e9\u27e88C\u27e9"] is None, "bytes of no character stay"


def test_a_label_of_one_audit_is_none_of_another(tmp_path):
    table = pl.DataFrame({"first": ["harbour"], "term": ["harbour"]})
    about = {"title": "", "summary": "", "options": {}, "sensitive": True}
    audits = [{"name": "one", "labels": ["first"], **about}, {"name": "two", "labels": [], **about}]
    outcomes = [Outcome([], {name: table}) for name in ("one", "two")]
    shown = masked_run(write(tmp_path / "run", outcomes, audits=audits, subjects=[]))
    hidden = f"h{BULLET * 6}"
    assert shown.table("one").rows() == [("harbour", hidden)]
    assert shown.table("two").rows() == [(hidden, hidden)]


def test_reveal_shows_all_and_says_so(run):
    for path in write_report(run, reveal=True):
        text = path.read_text(encoding="utf-8")
        assert TERMS[0] in text
        assert TERMS[1] in text
        assert "shown in clear here" in text
        assert BULLET not in text
    assert all(TERMS[0] not in text for text in texts(run).values()), "and written again, it is masked"


def test_figures_keep_their_numbers(run):
    found = masked_run(run).findings().filter(measure="hits")
    assert found["evidence"].item() == f"2 of 1,024: f{BULLET * 6}"


def test_the_run_itself_stays_exact(run):
    before = {path: path.read_bytes() for path in run.folder.rglob("*.parquet")}
    write_report(run)
    write_tables(run)
    assert before == {path: path.read_bytes() for path in run.folder.rglob("*.parquet")}
    assert masked_run(run, reveal=True).findings().equals(run.findings())
    assert run.hidden == ()
    assert run.exact is run


def test_tables_are_masked_by_column(run):
    table = masked_run(run).table("planted")
    first = table.row(0, named=True)
    assert first["category"] == "insult"
    assert first["bytes"].decode() == f"z{BULLET * 5}"
    assert first["kin"] == [f"b{BULLET * 7}", f"f{BULLET * 6}"]
    assert [part.decode() for part in first["raw"]] == [f"z{BULLET * 5}"]
    assert table["bytes"][1] == b"\xff\xfe"
    assert table.schema == run.table("planted").schema
    assert masked_run(run).table("planted_lists").row(0) == ("small", "small list", "CC0-1.0")
    assert masked_run(run).table("plain").equals(run.table("plain"))


def test_distinct_terms_can_be_counted_without_showing_them(run):
    look = Look(masked_run(run), masked_run(run).findings(), ("small",), 5)
    assert look.table("planted", "term")["term"].unique().to_list() == [f"q{BULLET * 5}"]
    assert look.counted("planted", "term")["term"].unique().to_list() == ["quuxly"]


def test_the_longest_name_owns_a_table():
    run = Run(Path(), {"audits": [{"name": "un"}, {"name": "un_do"}]})
    named = {name: run.writer(name) for name in ("un", "un_x", "un_do", "un_do_x", "undo")}
    assert named == {"un": "un", "un_x": "un", "un_do": "un_do", "un_do_x": "un_do", "undo": None}


def test_csv_is_masked_until_asked(run):
    folder = write_tables(run)
    for path in folder.iterdir():
        text = path.read_text(encoding="utf-8")
        for term in TERMS:
            assert term not in text
            assert term.encode().hex() not in text
    findings = pl.read_csv(folder / "findings.csv")
    assert findings["token_hex"].to_list()[:2] == [None, None]
    assert bytes.fromhex(findings.filter(audit="plain")["token_hex"][0]) == b"visible"
    write_tables(run, reveal=True)
    assert TERMS[0] in (folder / "findings.csv").read_text(encoding="utf-8")
    assert TERMS[2] in (folder / "planted.csv").read_text(encoding="utf-8")


@given(st.lists(st.one_of(st.none(), st.binary(max_size=12))))
def test_masked_bytes_show_no_more_than_the_first_letter_of_a_word(pieces):
    column = masked_column(pl.Series("token", pieces, pl.Binary))
    assert column.name == "token"
    for piece, hidden in zip(pieces, column.to_list(), strict=True):
        assert (hidden is None) == (piece is None)
        if piece is None:
            continue
        assert hidden == masked_bytes(piece) == masked_bytes(hidden)
        for word in hidden.decode("utf-8", "surrogateescape").split():
            letters = [letter for letter in word if letter.isalnum()]
            assert len(letters) <= 2, "one cluster, of at most a letter and what is joined to it"


def test_masks_of_one_column_are_those_of_its_cells():
    column = pl.Series("x", ["ab cd", None, "ab cd", "", "e\u0301e\u0301"])
    assert masked_column(column).to_list() == [
        f"a{BULLET} c{BULLET}",
        None,
        f"a{BULLET} c{BULLET}",
        "",
        f"e\u0301{BULLET}",
    ]
    assert masked_column(pl.Series("n", [1, 2])).to_list() == [1, 2]
    structs = masked_column(pl.Series("s", [{"term": "ab"}]))
    assert structs.is_null().all() or structs.struct.field("term").is_null().all()
