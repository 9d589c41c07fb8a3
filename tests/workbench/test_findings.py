import polars as pl
import pytest

from workbench import findings
from workbench.audit import Outcome, audit
from workbench.errors import SutureError, UnknownName
from workbench.findings import Finding
from workbench.registry import Registry


def test_findings_become_one_schema() -> None:
    table = findings.frame([Finding("x", "a", "m", 1.0), Finding("x", "a", "n", None, note="not measured")])
    assert table.schema == findings.SCHEMA
    assert table["value"].to_list() == [1.0, None]
    assert table["severity"].to_list() == ["info", "info"]


def test_columnar_findings_equal_single_ones() -> None:
    rows = pl.DataFrame({"token_id": [3, 5], "piece": [b"a", b"b"]})
    made = findings.columnar(
        {
            "subject": "x",
            "audit": "a",
            "measure": "m",
            "token_id": pl.col("token_id"),
            "token": pl.col("piece"),
            "severity": "warn",
        },
        rows,
    )
    one_by_one = findings.frame(
        Finding("x", "a", "m", severity="warn", token_id=k, token=b) for k, b in rows.iter_rows()
    )
    assert made.equals(one_by_one)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_is_a_number_or_null(value: float) -> None:
    with pytest.raises(SutureError, match="must be a number or null"):
        findings.frame([Finding("x", "a", "m", value)])


def test_another_schema_is_refused() -> None:
    with pytest.raises(SutureError, match="findings must have the columns"):
        findings.checked(pl.DataFrame({"subject": ["x"]}))


def test_an_audit_declares_needs_and_options() -> None:
    @audit("Title")
    def sample(inventory: object, corpus: object, *, top: int = 3, share: float = 0.5) -> Outcome:
        """First line.

        More.
        """
        return Outcome([Finding("x", "sample", "m", float(top))])

    assert (sample.name, sample.needs, sample.summary) == ("sample", ("inventory", "corpus"), "First line.")
    assert sample.configured({"top": 4, "share": 1}) == {"top": 4, "share": 1}
    assert sample(None, None, top=7).table()["value"].to_list() == [7.0]
    with pytest.raises(SutureError, match="must be one of: top, share; got 'tpo'"):
        sample.configured({"tpo": 1})
    with pytest.raises(SutureError, match="must be int"):
        sample.configured({"top": True})


def test_an_audit_cannot_need_what_a_run_does_not_have() -> None:
    with pytest.raises(SutureError, match="must be one of inventory"):

        @audit("Title")
        def wrong(weights: object) -> Outcome:
            return Outcome()


def test_an_unknown_name_lists_the_known_and_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'census'"):
        Registry("suture.audits", "audit").get("cencus")
