"""The report against the run that it is of, read by a parser that knows nothing of how it is made."""

import json
import os
import re
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tests.reports import TEXTS, Page, audited, captioned, cells, figure_of, small, write
from tests.vocabs import need
from vocab_audits.census import census
from vocab_audits.reachability import reachability
from workbench.adapters import load
from workbench.audit import Outcome
from workbench.display import faithful, parse
from workbench.findings import Finding
from workbench.report.writing import LIMIT, ROWS, write_report
from workbench.runs import Run

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "report"
NAMES = ("report.html", "summary.md", "report.json")
HOSTILE = (
    '"><img src=x onerror=1>',
    "<script>alert(1)</script>",
    "</bdi></table><iframe>",
    "' onmouseover='x",
)
INERT = """
html head meta title style link body header nav main h1 h2 h3 h4 p a ul ol li dl dt dd div span bdi strong sup
code pre table caption thead tbody tr th td details summary figure svg defs pattern rect text
"""
ATTRIBUTES = """
lang charset name content http-equiv rel href class id aria-hidden aria-label role tabindex scope colspan
style title dir width height x y fill fill-opacity text-anchor patternunits patterntransform
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Run:
    folder = tmp_path_factory.mktemp("report")
    skipped = [{"what": "hf:some/model", "why": "it must be in the cache; it is not; give its folder"}]
    run = audited(folder / "run", small(), folder / "texts", skipped=skipped)
    write_report(run)
    return run


@pytest.fixture(scope="module")
def page(made):
    return Page((made.folder / "report.html").read_text(encoding="utf-8")).root


def written(folder: Path, outcomes, **manifest) -> dict[str, str]:
    run = write(folder, outcomes, **manifest)
    return {path.name: path.read_text(encoding="utf-8") for path in write_report(run)}


def test_it_is_as_it_was(made):
    """Set SUTURE_GOLDEN=write to renew the golden report, and read the difference before it is committed."""
    found = {name: (made.folder / name).read_text(encoding="utf-8") for name in NAMES}
    if os.environ.get("SUTURE_GOLDEN") == "write":
        GOLDEN.mkdir(parents=True, exist_ok=True)
        for name, text in found.items():
            (GOLDEN / name).write_text(text, encoding="utf-8")
    for name, text in found.items():
        assert text.splitlines() == (GOLDEN / name).read_text(encoding="utf-8").splitlines(), name


def test_a_trained_tokenizer_is_reported(tmp_path):
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    backend.train_from_iterator([*TEXTS.values()] * 3, trainer)
    tokenizer = load(backend, "trained")
    run = audited(tmp_path / "run", [tokenizer], tmp_path / "texts")
    assert [path.name for path in write_report(run)] == list(NAMES)
    report = json.loads((run.folder / "report.json").read_text(encoding="utf-8"))
    assert figure_of(report, "census", measure="entries")["values"] == {"trained": len(tokenizer.inventory)}
    root = Page((run.folder / "report.html").read_text(encoding="utf-8")).root
    assert cells(captioned(root, "Inventories audited"))["trained"][1] == f"{len(tokenizer.inventory):,}"


def test_the_same_content_gives_the_same_bytes(made, tmp_path):
    before = {name: (made.folder / name).read_bytes() for name in NAMES}
    write_report(made)
    assert before == {name: (made.folder / name).read_bytes() for name in NAMES}
    other = audited(
        tmp_path / "run",
        small(),
        tmp_path / "texts",
        skipped=made.manifest["skipped"],
        environment={"python": "4", "commit": "feedbeef"},
        seconds={"wall": 98765.4},
    )
    write_report(other)
    for name in ("summary.md", "report.json"):
        assert (other.folder / name).read_bytes() == before[name]
    text = (other.folder / "report.html").read_text(encoding="utf-8")
    outside, _, folded = text.rpartition("<details>")
    assert "feedbeef" in folded
    assert "98765.4" in folded
    assert "feedbeef" not in outside
    assert not [path for path in other.folder.iterdir() if path.name.startswith(".")]


def test_every_audit_has_a_section_with_figures(made, page):
    titles = [heading.text for heading in page.all("h2")]
    assert titles == [
        "What was audited",
        "Flagged and warned",
        *(audit["title"] for audit in made.manifest["audits"]),
        "Repeat this",
    ]
    captions = {caption.text for caption in page.all("caption")}
    assert captions >= {
        "Entries, ids and rows",
        "Entries by category",
        "Text entries by script",
        "Entries by class",
        "Entries that no text tried leads to",
        "Steps from text to ids",
        "What becomes of the text of special and added tokens",
        "Entries that most others rest on",
        "Jaccard index of each pair",
        "Containment: share of the row's entries that the column has",
        "Bytes per token by language",
        "Fertility and words kept whole, in each definition",
        "Evenness of token frequencies",
    }


def test_what_was_skipped_is_named_with_its_remedy(made, page):
    (item,) = [one.text for one in page.all("li") if one.text.startswith("hf:some/model")]
    assert item.endswith("give its folder")
    assert "hf:some/model" in (made.folder / "summary.md").read_text(encoding="utf-8")
    assert any(pre.text == "suture audit small.json -o runs/small" for pre in page.all("pre"))


def test_figures_are_those_of_the_findings(made, page):
    table = captioned(page, "Entries, ids and rows")
    names = [head.text for head in table.all("th") if head.attributes.get("scope") == "col"][1:]
    rows = cells(table)
    for measure in ("entries", "rows_needed", "gaps"):
        figures = made.findings().filter(audit="census", measure=measure)
        wanted = dict(figures.select("subject", "value").iter_rows())
        (found,) = [row for name, row in rows.items() if name.startswith(measure.replace("_", " "))]
        clean = [re.sub(r" note \d+$", "", text) for text in found]
        assert clean == [f"{wanted[name]:,.0f}" for name in names]


def test_heat_matrices_are_those_of_the_overlap(made, page):
    (pair,) = made.table("overlap_pairs").to_dicts()
    jaccard = cells(captioned(page, "Jaccard index of each pair"))
    assert jaccard[pair["first"]] == ["", f"{pair['jaccard']:.4f}"]
    assert jaccard[pair["second"]] == [f"{pair['jaccard']:.4f}", ""]
    held = cells(captioned(page, "Containment: share of the row's entries that the column has"))
    assert held[pair["first"]] == ["", f"{pair['first_in_second']:.4f}"]
    assert held[pair["second"]] == [f"{pair['second_in_first']:.4f}", ""]


def test_bars_are_as_long_as_their_counts(made, page):
    classes = made.table("reachability")
    drawn = [svg for svg in page.all("svg") if "merge blocked" in (svg.attributes.get("aria-label") or "")]
    svg = next(svg for svg in drawn if svg.attributes["aria-label"].startswith("small-bpe: ok"))
    counted = classes.filter(subject="small-bpe")["class"].value_counts(sort=False)
    total = counted["count"].sum()
    widths = [float(rect.attributes["width"].removesuffix("%")) for rect in svg.all("rect")
              if rect.attributes["fill"] != "url(#hatch)"]  # fmt: skip
    assert sorted(widths) == pytest.approx(sorted(100 * counted["count"] / total), abs=0.001)
    starts = [float(rect.attributes["x"].removesuffix("%")) for rect in svg.all("rect")]
    assert starts == sorted(starts)
    assert starts[-1] + widths[-1] == pytest.approx(100, abs=0.01)


def test_blocked_entries_and_witnesses_are_listed(made, page):
    table = captioned(page, "Entries that no text tried leads to")
    listed = [[parse(bdi.text) for bdi in row.all("bdi")] for row in table.all("tr")]
    blocked = made.table("reachability").filter(pl.col("class").cast(pl.String).str.ends_with("_blocked"))
    assert blocked.height
    assert sorted(pieces[0] for pieces in listed if pieces) == sorted(blocked["bytes"])
    table = captioned(page, "Entries that only a longer text holds")
    held = made.table("reachability").filter(pl.col("class") == "context_only")
    rows = [tuple(parse(bdi.text) for bdi in row.all("bdi")) for row in table.all("tr") if row.all("bdi")]
    assert held.height
    assert sorted(rows) == sorted((piece, text.encode()) for piece, text in held[["bytes", "witness"]].rows())


def test_what_has_no_value_is_a_dash_with_its_reason(tmp_path):
    found = [
        Finding("a", "plug", "size", None, unit="m", note="no ruler at hand"),
        Finding("b", "plug", "size", 2.0),
    ]
    subjects = [{"name": name} for name in "ab"]
    texts = written(tmp_path / "run", [Outcome(found)], subjects=[_card(**one) for one in subjects])
    root = Page(texts["report.html"]).root
    rows = cells(captioned(root, "Figures"))
    assert rows["sizem"] == ["– note 1", "–"]
    assert root.all("ol")[0].text.strip() == "no ruler at hand"
    report = json.loads(texts["report.json"])
    assert figure_of(report, "plug", unit="m")["values"] == {"a": None}
    assert figure_of(report, "plug", unit="m")["notes"] == {"a": "no ruler at hand"}


def _card(name, **more):
    keys = ("source", "digest", "entries", "rows_needed", "rows", "model", "pattern_digest", "byte_level",
            "prefix_space")  # fmt: skip
    return dict.fromkeys(keys) | {"name": name, "notes": []} | more


def test_severity_is_an_icon_a_word_and_a_colour(tmp_path):
    found = [
        Finding("a", "plug", "quiet", 1.0),
        Finding("a", "plug", "odd", 2.0, severity="warn"),
        Finding("a", "plug", "bad", 3.0, severity="flag", note="answer it"),
    ]
    texts = written(tmp_path / "run", [Outcome(found)], subjects=[_card("a")])
    root = Page(texts["report.html"]).root
    marks = {span.attributes["class"]: span.text for span in root.all("span")
             if span.attributes.get("class") in ("flag", "warn", "info")}  # fmt: skip
    assert marks == {"flag": "■ flag", "warn": "▲ warn", "info": "● info"}
    concerns = [item.text for one in root.all("ul") if one.attributes.get("class") == "concerns"
                for item in one.all("li")]  # fmt: skip
    assert [text.split()[1] for text in concerns] == ["flag", "warn"]
    assert "answer it" in concerns[0]
    assert "1 flag · 1 warn · 1 info" in texts["summary.md"]
    assert json.loads(texts["report.json"])["counts"] == {"flag": 1, "warn": 1, "info": 1}


def hostile(text: str) -> tuple[Outcome, dict[str, object]]:
    """A run in which everything that is free text is this one."""
    token = text.encode("utf-8", "surrogatepass")
    found = [
        Finding(text, "plug", "entry", 1.0, text, text, "flag", 7, token, text, note=text, evidence=text),
        Finding(text, "plug", text, 1.5, text, text, "warn", note=text, evidence=text),
        Finding(f"{text} & {text}", "plug", text, 1.5, text, text),
    ]
    tables = {"plug": pl.DataFrame({"subject": [text], "bytes": [token], text or "empty": [text]})}
    audit = {"name": "plug", "title": text, "summary": text, "options": {text: text}, "defaulted": [text]}
    card = _card(text, source=text, model=text, digest=text, pattern_digest=text) | {"notes": [text]}
    corpus = {"name": text, "source": text, "digest": text, "languages": [text], "problems": [text]}
    return Outcome(found, tables), {
        "title": text,
        "command": ["suture", text],
        "subjects": [card],
        "corpus": corpus,
        "audits": [audit],
        "skipped": [{"what": text, "why": text}],
        "environment": {text: text},
        "seconds": {text: 1.0},
    }


def inert(text: str) -> None:
    """Nothing in the page acts, and nothing in it is fetched."""
    root = Page(text).root
    for element in root.every():
        assert element.tag in INERT.split()
        assert set(element.attributes) <= set(ATTRIBUTES.split())
        href = element.attributes.get("href")
        assert href is None or href.startswith("#") or href == "data:,"
    (style,) = root.all("style")
    assert "url(" not in style.text
    assert "@import" not in style.text
    colours = re.compile(r"background:#[0-9A-F]{6};color:#[0-9A-F]{6}")
    assert all(
        colours.fullmatch(one.attributes["style"]) for one in root.every() if "style" in one.attributes
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_tokens_and_texts_are_data(tmp_path, text):
    outcome, manifest = hostile(text)
    texts = written(tmp_path / "run", [outcome], **manifest)
    inert(texts["report.html"])
    root = Page(texts["report.html"]).root
    tokens = [bdi for bdi in root.all("bdi") if bdi.attributes.get("class") == "token"]
    assert tokens
    assert {parse(bdi.text) for bdi in tokens} == {text.encode()}
    outside = re.sub(r"(?m)^    .*$", "", texts["summary.md"])
    assert not re.search(r"(?<!\\)[<>]", outside)
    json.loads(texts["report.json"])


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


@settings(deadline=None, max_examples=25)
@given(text=words, token=st.binary(min_size=1, max_size=12))
def test_any_text_is_shown_without_effect(tmp_path_factory, text, token):
    outcome, manifest = hostile(text)
    extra = Outcome([Finding(text, "plug", "other", 1.0, token_id=1, token=token)])
    texts = written(tmp_path_factory.mktemp("any") / "run", [outcome, extra], **manifest)
    inert(texts["report.html"])
    root = Page(texts["report.html"]).root
    shown_tokens = {bdi.text for bdi in root.all("bdi") if bdi.attributes.get("class") == "token"}
    assert {faithful(token), faithful(text.encode())} <= shown_tokens
    body = re.sub(r"(?s)^.*</style>", "", texts["report.html"]).replace("\n", " ")
    assert not re.search(r"[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", body)
    assert json.loads(texts["report.json"])["subjects"][0]["name"] == text


@settings(deadline=None, max_examples=25)
@given(words)
def test_the_summary_keeps_its_tables(tmp_path_factory, text):
    outcome, manifest = hostile(text)
    summary = written(tmp_path_factory.mktemp("any") / "run", [outcome], **manifest)["summary.md"]
    tables = re.findall(r"(?m)(?:^\|.*\n)+", summary)
    assert len(tables) == 3
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in table.splitlines()}
        assert len(widths) == 1


def test_a_name_that_is_no_unicode_is_written(tmp_path):
    """A path of undecodable bytes comes as surrogates."""
    run = write(tmp_path / "run", [Outcome([])], subjects=[_card("a")])
    manifest = {**run.manifest, "title": "x\udc80", "command": ["suture", "\udcff\u202e"]}
    for path in write_report(Run(run.folder, manifest)):
        text = path.read_bytes().decode("utf-8")
        assert path.name != "report.json" or json.loads(text)["title"] == "x\udc80"


def test_the_page_is_accessible(page):
    (html,) = page.all("html")
    assert html.attributes["lang"] == "en"
    levels = [int(one.tag[1]) for one in page.every() if re.fullmatch(r"h\d", one.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for table in page.all("table"):
        assert table.inside[0].tag == "caption"
        assert table.inside[0].text
        assert all(head.attributes.get("scope") in ("col", "row", "rowgroup") for head in table.all("th"))
        assert all(head.text for head in table.all("thead")[0].all("th"))
        widths = {
            sum(int(cell.attributes.get("colspan", 1)) for cell in row.inside) for row in table.all("tr")
        }
        assert len(widths) == 1
    for svg in page.all("svg"):
        named = svg.attributes.get("role") == "img" and svg.attributes.get("aria-label")
        assert named or svg.attributes.get("aria-hidden") == "true"
    ids = [one.attributes["id"] for one in page.every() if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    links = [one.attributes["href"] for one in page.all("a")]
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_an_unknown_audit_is_shown_by_its_findings_and_tables(tmp_path):
    found = [
        Finding("a", "mine", "share", 0.25, "of words", "ratio"),
        Finding("a & b", "mine", "both", 3.0, unit="entries"),
        *(
            Finding("a", "mine", "long", float(n), unit="bytes", token_id=n, token=b"x" * n)
            for n in range(80)
        ),
    ]
    tables = {"mine_rows": pl.DataFrame({"token_id": [5], "bytes": [b"\xff"], "seen": [True], "rate": [0.5]})}
    texts = written(tmp_path / "run", [Outcome(found, tables)], subjects=[_card("a")])
    root = Page(texts["report.html"]).root
    assert cells(captioned(root, "Figures"))["shareof words; ratio"] == ["0.2500"]
    assert captioned(root, "Figures of pairs and other subjects").all("td")[0].text == "3"
    listed = captioned(root, "Listed: long")
    assert listed.all("th")[3].text == f"a ({ROWS[0]} of 80)"
    assert f"{ROWS[0]} of 80 rows are shown; all are in findings.parquet" in texts["report.html"]
    assert cells(captioned(root, "Table mine_rows")) == {"5": ["⟨FF⟩", "yes", "0.5000"]}
    report = json.loads(texts["report.json"])
    (rows,) = report["audits"][0]["listed"]
    assert (rows["total"], len(rows["rows"])) == (80, ROWS[0])
    assert report["tables"] == {"mine_rows": {"rows": 1}}


def test_a_run_without_tables_or_findings_has_a_report(made, tmp_path):
    written(tmp_path / "bare", [Outcome([])])
    run = write(tmp_path / "poor", [Outcome(made.findings())], subjects=made.manifest["subjects"])
    write_report(run)
    titles = {
        one.text for one in Page((run.folder / "report.html").read_text(encoding="utf-8")).root.all("h3")
    }
    assert "Bytes per token by language" in titles


def test_json_holds_no_nan(made, tmp_path):
    run = write(tmp_path / "run", [Outcome(made.findings())], subjects=made.manifest["subjects"])
    spoiled = run.findings().with_columns(
        value=pl.when(pl.col("measure") == "entries").then(float("nan")).otherwise("value")
    )
    spoiled.write_parquet(run.folder / "findings.parquet")
    write_report(run)

    def refuse(constant):
        raise AssertionError(constant)

    report = json.loads((run.folder / "report.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert set(figure_of(report, "census", measure="entries")["values"].values()) == {None}


def test_a_page_stays_within_its_limit_whatever_a_run_holds(tmp_path):
    """Sixty inventories, each with long lists and figures in several languages."""
    names = [f"inventory number {number}" for number in range(60)]
    token = "\u0301long token".encode() * 20
    lists = [
        Finding(
            name,
            "mine",
            f"list{kind}",
            float(row),
            token_id=row,
            token=token,
            note="why " * 60,
            severity="warn",
        )
        for name in names
        for kind in range(3)
        for row in range(30)
    ]
    figures = [
        Finding(name, "mine", f"measure{kind}", float(row), language=f"l{row}")
        for name in names
        for kind in range(30)
        for row in range(4)
    ]
    subjects = [_card(name, source="s" * 300, notes=["n" * 300]) for name in names]
    texts = written(tmp_path / "run", [Outcome(lists), Outcome(figures)], subjects=subjects)
    assert len(texts["report.html"].encode()) <= LIMIT
    root = Page(texts["report.html"]).root
    assert any(one.text == "Listed: list0" for one in root.all("h3"))
    assert "inventories have no column" in texts["report.html"]
    assert len(texts["summary.md"]) < 30_000


@pytest.mark.vocabs
def test_eight_inventories_of_200000_entries_fit_into_the_limit(tmp_path):
    tokenizer = load(need("o200k"), "o200k")
    outcomes = [census(tokenizer.inventory), reachability(tokenizer)]
    renamed = [
        Outcome(
            outcome.table().with_columns(subject=pl.lit(f"o200k number {number}")),
            {
                key: table.with_columns(subject=pl.lit(f"o200k number {number}"))
                for key, table in outcome.tables.items()
            },
        )
        for outcome in outcomes
        for number in range(8)
    ]
    cards = [{**tokenizer.card(), "name": f"o200k number {number}"} for number in range(8)]
    texts = written(tmp_path / "run", renamed, subjects=cards)
    assert len(texts["report.html"].encode()) <= LIMIT
    inert(texts["report.html"])
    table = captioned(Page(texts["report.html"]).root, "Entries that only a longer text holds")
    held = outcomes[1].tables["reachability"].filter(pl.col("class") == "context_only")
    assert [one.text for one in table.all("th") if one.attributes["scope"] == "rowgroup"] == [
        f"o200k number {number} ({held.height})" for number in range(8)
    ]
    assert len(texts["summary.md"]) < 30_000
