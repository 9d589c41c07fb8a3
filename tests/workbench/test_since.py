"""Two runs side by side: what is new, what is gone, and what of their input differs."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports import write
from workbench.audit import Outcome
from workbench.findings import Finding, frame
from workbench.since import SINCE, absent, among, compare, said

BASE = Finding("small", "planted", "entry", 1.0, "insult", severity="flag", token=b"zork")
OTHERS = {
    "subject": "other", "audit": "else", "measure": "hit", "variant": None, "severity": "warn",
    "token": b"blarf", "language": "de", "layer": 3, "position": 2, "step": 5,
}  # fmt: skip


@pytest.mark.parametrize("column", OTHERS)
def test_a_finding_differs_by_each_of_these(column):
    changed = frame([BASE._replace(**{column: OTHERS[column]})])
    assert absent(changed, frame([BASE])).equals(changed)
    assert among(changed, frame([BASE])).to_list() == [False]


@pytest.mark.parametrize("column", ["value", "note", "evidence", "token_id", "unit"])
def test_and_by_none_of_these(column):
    value = {"value": 2.0, "note": "x", "evidence": "y", "token_id": 9, "unit": "z"}[column]
    changed = frame([BASE._replace(**{column: value})])
    assert absent(changed, frame([BASE])).is_empty()
    assert among(changed, frame([BASE])).to_list() == [True]


def test_without_a_token_the_id_tells():
    hole = BASE._replace(token=None, token_id=5)
    assert absent(frame([hole]), frame([hole._replace(token_id=6)])).height == 1
    assert absent(frame([hole]), frame([hole])).is_empty()


rows = st.lists(
    st.builds(
        lambda subject, token, severity: BASE._replace(subject=subject, token=token, severity=severity),
        st.sampled_from("ab"),
        st.none() | st.sampled_from([b"", b"x", b"\xff"]),
        st.sampled_from(["info", "warn", "flag"]),
    ),
    max_size=6,
)


@given(rows, rows)
def test_it_is_a_difference_of_sets_that_keeps_order_and_repeats(mine, theirs):
    def key(row):
        return row.subject, row.token, row.severity

    wanted = [row for row in mine if key(row) not in set(map(key, theirs))]
    assert absent(frame(mine), frame(theirs)).equals(frame(wanted))
    found = among(frame(mine), frame(theirs)).to_list()
    assert found == [key(row) in set(map(key, theirs)) for row in mine]


def subject(name, digest):
    return {"name": name, "digest": digest, "pattern_digest": None, "rows": None}


def audit(name, version=1, **options):
    return {"name": name, "version": version, "options": options}


@pytest.fixture
def former(tmp_path):
    known = [BASE, BASE._replace(token=b"gone"), BASE._replace(audit="dropped", token=b"x"),
             BASE._replace(severity="info", token=b"figure")]  # fmt: skip
    return write(
        tmp_path / "former",
        [Outcome(known)],
        subjects=[subject("a", "1"), subject("b", "2")],
        audits=[audit("planted"), audit("dropped"), audit("wider", top=3)],
        corpus={"digest": "c1", "limit": None},
    )


def test_a_run_beside_a_former_one(former):
    manifest = {
        "subjects": [subject("a", "1"), subject("b", "3"), subject("c", "4")],
        "audits": [audit("planted"), audit("wider", top=4), audit("later")],
        "corpus": {"digest": "c2", "limit": None},
    }
    now = frame([BASE, BASE._replace(token=b"fresh"), BASE._replace(severity="warn", token=b"mild")])
    changes, summary = compare(former, manifest, now, baseline=True)
    assert changes.schema == SINCE
    assert changes.select("change", "token").rows() == [
        ("new", b"fresh"),
        ("new", b"mild"),
        ("gone", b"gone"),
    ]
    digest = summary.pop("digest")
    assert len(digest) == 64
    assert summary == {
        "run": "former",
        "baseline": True,
        "subjects": {"new": ["c"], "gone": [], "changed": ["b"]},
        "audits": {"new": ["later"], "gone": ["dropped"], "changed": ["wider"]},
        "inputs": ["corpus"],
        "new": {"flag": 1, "warn": 1},
        "gone": {"flag": 1, "warn": 0},
    }
    text = said(summary)
    assert text.startswith(
        "Beside the baseline (former), 1 flagged and 1 warned of are new and 1 flagged and"
    )
    assert "subjects changed: b" in text
    assert "another corpus" in text


def test_a_run_beside_itself_has_nothing_new(former):
    changes, summary = compare(former, former.manifest, former.findings(), baseline=False)
    assert changes.is_empty()
    assert "The input is the same." in said(summary)
    assert "the former run here" in said(summary)
    assert pl.Schema(changes.schema) == SINCE
