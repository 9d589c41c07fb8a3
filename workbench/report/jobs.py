"""Findings in the formats that services which run jobs read: SARIF and JUnit's XML.

Tokens and evidence of sensitive audits are masked, as the run that is given shows them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

import polars as pl

from workbench import __version__
from workbench.display import faithful
from workbench.errors import SutureError
from workbench.paths import written_whole
from workbench.report.cells import label, number, shown
from workbench.report.masking import notice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.gate import Verdict
    from workbench.runs import Run

RESULTS = 25_000
"""Results at most in a SARIF file, the gravest first; a common reader of it refuses a file of more."""

TOKENS = 20
"""Tokens named in the text of a failure."""

SARIF_LEVELS = {"flag": "error", "warn": "warning"}
SUPPRESSIONS = {"accepted": "accepted", "rejected": "rejected", "unsure": "underReview"}
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def sarif(run: Run, verdict: Verdict) -> str:
    """The findings flagged and warned of as SARIF 2.1.0.

    A decision is a suppression, and a comparison with a former run gives each result a baseline state.
    See https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.

    Args:
        run: the run as it is to be shown.
        verdict: its findings with what was decided on them.
    """
    found = verdict.findings.sort("severity", descending=True, maintain_order=True)
    rows = list(found.head(RESULTS).iter_rows(named=True))
    titles = {each["name"]: each for each in run.manifest.get("audits", [])}
    rules = sorted({(row["audit"], row["measure"]) for row in rows})
    places = {f"{audit}/{measure}": place for place, (audit, measure) in enumerate(rules)}
    sources = {each["name"]: each.get("source") for each in run.manifest.get("subjects", [])}
    driver = {
        "name": "suture",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(audit, measure, titles.get(audit, {})) for audit, measure in rules],
    }
    properties: dict[str, Any] = {"findings": found.height}
    if said := notice(run):
        properties["masking"] = said
    whole = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "properties": properties,
                "results": [_result(row, places, sources) for row in rows],
            }
        ],
    }
    return json.dumps(whole, ensure_ascii=True, indent=1) + "\n"


def _rule(audit: str, measure: str, about: Mapping[str, Any]) -> dict[str, Any]:
    title = shown(str(about.get("title") or audit))
    rule = {"id": f"{audit}/{measure}", "shortDescription": {"text": f"{title}: {label(measure)}"}}
    summary = shown(str(about.get("summary") or ""))
    return {**rule, "fullDescription": {"text": summary}} if summary else rule


def _result(
    row: Mapping[str, Any], places: Mapping[str, int], sources: Mapping[str, str | None]
) -> dict[str, Any]:
    rule = f"{row['audit']}/{row['measure']}"
    subject = shown(row["subject"])
    where = subject if row["token_id"] is None else f"{subject}/{row['token_id']}"
    made: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": places[rule],
        "level": SARIF_LEVELS[row["severity"]],
        "message": {"text": sentence(row)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(sources.get(row["subject"]) or row["subject"])}
                },
                "logicalLocations": [{"fullyQualifiedName": where, "kind": "resource"}],
            }
        ],
        "partialFingerprints": {"suture/v1": f"{row['key']}/{quote(row['subject'], errors='replace')}"},
    }
    if row["new"] is not None:
        made["baselineState"] = "new" if row["new"] else "unchanged"
    if row["state"] in SUPPRESSIONS:
        why = f"{shown(row['by'])}: {shown(row['why'])}"
        made["suppressions"] = [
            {"kind": "external", "status": SUPPRESSIONS[row["state"]], "justification": why}
        ]
    return made


def _uri(source: str) -> str:
    """A source as a URI: an absolute path as a file, all else with what a URI forbids in per cent."""
    if Path(source).is_absolute():
        return "file://" + quote(source, errors="replace")
    return quote(source, safe="/:#=@+,.-_~", errors="replace")


def sentence(row: Mapping[str, Any]) -> str:
    """A finding in one line, with nothing in it that acts on a terminal."""
    what = label(row["measure"]) + (f" ({shown(row['variant'], 120)})" if row["variant"] else "")
    token = "" if row["token"] is None else f" {shown(faithful(row['token'][:200]), 120)}"
    value, why = "", ": ".join(shown(text, 300) for text in (row["note"], row["evidence"]) if text)
    if row["value"] is not None:
        value = f", {number(row['value'])} {shown(row['unit'] or '', 80)}".rstrip()
    return f"{shown(row['subject'])}: {what}{token}{value}{'; ' if why else ''}{why}"


def junit(run: Run, verdict: Verdict) -> str:
    """The audits of each inventory as test cases in JUnit's XML, with a failure where the job fails.

    Each kind of finding that is flagged or warned of is a case of its own; one that does not fail the job
    says what it is in its output.

    Args:
        run: the run as it is to be shown.
        verdict: its findings with what was decided on them.
    """
    root = ET.Element("testsuites", name="suture")
    failing = verdict.failing
    for audit in run.manifest.get("audits", []):
        suite = ET.SubElement(root, "testsuite", name=shown(audit["name"]))
        if said := notice(run, [audit["name"]]):
            block = ET.SubElement(suite, "properties")
            ET.SubElement(block, "property", name="masking", value=shown(said))
        own = pl.col("audit") == audit["name"]
        for case in _cases(run, audit["name"], verdict.findings.filter(own), failing.filter(own)):
            suite.append(case)
        _count(suite)
    for item in run.manifest.get("skipped", []):
        suite = ET.SubElement(root, "testsuite", name="skipped")
        case = ET.SubElement(suite, "testcase", classname="skipped", name=shown(item["what"]))
        ET.SubElement(case, "skipped", message=shown(item["why"]))
        _count(suite)
    for name in ("tests", "failures", "skipped", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return ET.tostring(root, "unicode", xml_declaration=False) + "\n"


def _cases(run: Run, audit: str, found: pl.DataFrame, failing: pl.DataFrame) -> Iterator[ET.Element]:
    """A case for each kind of finding, and for each inventory without one."""
    columns = ("severity", "subject", "measure", "variant")
    fails = dict(failing.group_by(*columns, maintain_order=True))
    for (severity, subject, measure, variant), part in found.group_by(*columns, maintain_order=True):
        name = f"{severity}: {label(str(measure))}" + (f" ({shown(str(variant), 120)})" if variant else "")
        case = ET.Element("testcase", classname=f"{shown(audit)}.{shown(str(subject))}", name=name)
        grave = fails.get((severity, subject, measure, variant))
        states = Counter(part["state"].to_list())
        said = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
        text = f"{part.height:,} findings ({said})\n{_listed(part if grave is None else grave)}"
        if grave is None:
            ET.SubElement(case, "system-out").text = text
        else:
            message = f"{grave.height:,} of {part.height:,} findings stand against it"
            failure = ET.SubElement(case, "failure", type=str(severity), message=message)
            failure.text = text
        yield case
    clean = [each["name"] for each in run.manifest.get("subjects", [])]
    for subject in clean:
        if subject not in found["subject"]:
            yield ET.Element(
                "testcase", classname=f"{shown(audit)}.{shown(subject)}", name="nothing flagged or warned of"
            )


def _listed(part: pl.DataFrame) -> str:
    lines = [f"{row['key']}  {sentence(row)}" for row in part.head(TOKENS).iter_rows(named=True)]
    more = [f"{part.height - TOKENS:,} more are in findings.parquet"] if part.height > TOKENS else []
    return "\n".join(lines + more)


def _count(suite: ET.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("errors", "0")


def writable(path: Path) -> None:
    """Makes the folder of a file to be written.

    Raises:
        SutureError: it cannot be made or written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise _unwritable(path, OSError(0, "no file can be written there"))


def put(path: Path, text: str) -> None:
    """Writes a text whole or not at all.

    Raises:
        SutureError: the place is not writable.
    """
    writable(path)
    try:
        with written_whole(path) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> SutureError:
    return SutureError(
        f"a file must be written to a place that is writable; {path} is not ({error.strerror}); "
        "choose another"
    )
