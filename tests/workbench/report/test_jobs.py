"""What an audit writes for a job's page: SARIF and JUnit that parse, mask and count what is decided."""

import json
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from tests.outside import listed_word
from workbench.cli import build


@pytest.fixture
def written(tmp_path):
    """Texts of SARIF, JUnit, page, summary and figures of an audit that finds a listed word."""
    config = listed_word(tmp_path, "a\\u0007<b>")
    words = ["audit", "--config", config, "-o", tmp_path / "run", "-q", "--fail-on", "warn"]
    words += ["--sarif", tmp_path / "x.sarif", "--junit", tmp_path / "x.xml"]
    answer = CliRunner().invoke(build(), [str(word) for word in words], catch_exceptions=False)
    assert answer.exit_code == 1
    names = ("x.sarif", "x.xml", "run/report.html", "run/summary.md", "run/report.json")
    return {name: (tmp_path / name).read_text(encoding="utf-8") for name in names}


def test_no_file_holds_the_word_in_clear(written):
    for name, text in written.items():
        assert "zork" not in text.replace("t.json", ""), name


def test_sarif_has_what_its_standard_requires(written):
    doc = json.loads(written["x.sarif"])
    assert doc["version"] == "2.1.0"
    (made,) = doc["runs"]
    driver = made["tool"]["driver"]
    assert driver["name"]
    rules = {rule["id"] for rule in driver["rules"]}
    assert made["results"]
    for result in made["results"]:
        assert result["ruleId"] in rules
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]


def test_junit_is_well_formed_and_counts_its_cases(written):
    root = ET.fromstring(written["x.xml"])  # noqa: S314 written by ourselves
    suites = [root] if root.tag == "testsuite" else root.findall("testsuite")
    assert suites
    for suite in suites:
        cases = suite.findall("testcase")
        assert int(suite.get("tests")) == len(cases)
        assert int(suite.get("failures")) == sum(case.find("failure") is not None for case in cases)
    assert sum(int(suite.get("failures")) for suite in suites) >= 1
