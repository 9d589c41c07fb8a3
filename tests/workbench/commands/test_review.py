"""Decisions on findings from the command line: listed masked, kept beside the run, and heeded by the next."""

import json

import pytest
from typer.testing import CliRunner

from tests.outside import listed_word
from workbench.cli import build
from workbench.errors import SutureError
from workbench.review import beside


def ran(*words):
    return CliRunner().invoke(build(), [str(word) for word in words], catch_exceptions=False)


@pytest.fixture
def audited(tmp_path):
    words = ("audit", "--config", listed_word(tmp_path), "-o", tmp_path / "run", "-q", "--fail-on", "warn")
    assert ran(*words).exit_code == 1
    return tmp_path / "run", words


def listed(run, *more):
    return json.loads(ran("review", run, "--json", *more).stdout)


def test_open_findings_are_listed_masked_and_in_clear_on_request(audited):
    run, _ = audited
    (found,) = listed(run)["findings"]
    assert (found["entry"], found["state"], found["severity"]) == ("z•••", "open", "warn")
    assert "token_hex" not in found
    assert "zork" not in ran("review", run).stdout
    (clear,) = listed(run, "--reveal")["findings"]
    assert bytes.fromhex(clear["token_hex"]) == b"zork"


def test_a_decision_outlives_the_run_and_can_be_taken_back(audited):
    run, again = audited
    key = listed(run)["findings"][0]["key"]
    assert ran("review", run, key[:6], "--accept", "--why", "a name", "--by", "me").exit_code == 0
    assert listed(run)["total"] == 0
    assert beside(run).is_file()
    assert ran(*again, "--fresh").exit_code == 0, "what is accepted fails no job"
    assert listed(run, "--state", "accepted")["findings"][0]["state"] == "accepted (me: a name)"
    ran("review", run, key, "--reopen", "--why", "not a name", "--by", "me")
    assert listed(run)["total"] == 1
    assert ran(*again).exit_code == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ffff", "--accept", "--why", "x", "--by", "me"], "key"),
        (["--accept"], "KEY"),
        (["ab", "--accept", "--reject"], "one of"),
        (["--state", "odd"], "--state"),
    ],
)
def test_what_is_no_decision_is_one_sentence(audited, words, says):
    with pytest.raises(SutureError, match=says) as caught:
        ran("review", audited[0], *words)
    assert "\n" not in str(caught.value)


def test_a_damaged_review_is_one_sentence(audited):
    beside(audited[0]).write_text("{")
    with pytest.raises(SutureError, match="review"):
        ran("review", audited[0])
