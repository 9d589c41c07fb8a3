"""A request carried out: the run, what people decided before, and files for the job that asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vocab_audits.run import Made, run
from workbench.errors import SutureError
from workbench.gate import Verdict, judge
from workbench.report.jobs import junit, put, sarif, writable
from workbench.report.masking import masked_run
from workbench.report.spreadsheets import write_tables
from workbench.review import STATES, Review
from workbench.runs import Run
from workbench.since import said

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vocab_audits.requests import Request


@dataclass(frozen=True)
class Carried:
    """What became of a request.

    Attributes:
        made: the run, and how much of it was reused.
        verdict: what stands against it.
    """

    made: Made
    verdict: Verdict

    @property
    def counts(self) -> dict[str, int]:
        """Findings by severity: what stands, and the figures."""
        levels = self.verdict.standing["severity"]
        figures = int((self.made.run.findings()["severity"] == "info").sum())
        return {**{level: int((levels == level).sum()) for level in ("flag", "warn")}, "info": figures}

    def summary(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        folder = self.made.run.folder
        states = self.verdict.findings["state"]
        return {
            "run": str(folder),
            "report": str(folder / "report.html"),
            "findings": str(folder / "findings.parquet"),
            "counts": self.counts,
            "failing": self.verdict.failing.height,
            "review": {state: int((states == state).sum()) for state in STATES},
            "since": self.made.run.manifest["since"],
            "pieces": {"done": self.made.done, "reused": self.made.reused},
            "skipped": self.made.run.manifest["skipped"],
        }

    def talk(self) -> list[str]:
        """What to tell the person who waits, beside the counts."""
        manifest = self.made.run.manifest
        lines = [f"skipped {item['what']}: {item['why']}" for item in manifest["skipped"]]
        whole = self.made.done + self.made.reused
        lines.append(f"reused {self.made.reused} of {whole} pieces of work, done {self.made.done}")
        accepted = int((self.verdict.findings["state"] == "accepted").sum())
        lines += [f"accepted in review, and not counted: {accepted}"] if accepted else []
        return [*lines, said(manifest["since"])] if manifest["since"] else lines


def carry_out(request: Request, command: Sequence[str], tell: Callable[[str, int, int], None]) -> Carried:
    """Runs the audits of a request, and writes all that it asks for.

    Args:
        request: what to do.
        command: the command line, for the record.
        tell: told what begins, how many pieces are done, and of how many.

    Raises:
        SutureError: bad input, or a place that is not writable; the pieces done are kept.
    """
    for path in (request.sarif, request.junit):
        if path is not None:
            writable(path)
    baseline = _baseline(request)
    review = Review.open(request.output)
    if request.baseline and request.baseline != request.output:
        review.merge(Review.open(request.baseline))
    try:
        made = run(
            request.plan, request.output, command, tell, replace=request.replace, fresh=request.fresh,
            baseline=baseline, review=review,
        )  # fmt: skip
    except KeyboardInterrupt:
        raise SutureError(
            "the audit was stopped before it was whole; what is done is kept; give the same command to go on"
        ) from None
    review.save()
    if request.csv:
        write_tables(made.run)
    shown = masked_run(made.run)
    verdict = judge(shown, review, request.fail_on)
    for path, write in ((request.sarif, sarif), (request.junit, junit)):
        if path is not None:
            put(path, write(shown, verdict))
    return Carried(made, verdict)


def _baseline(request: Request) -> Run | None:
    """The run to compare with; where that is the output itself, there is none the first time."""
    if request.baseline is None:
        return None
    if request.baseline == request.output and not request.output.exists():
        return None
    return Run.open(request.baseline)
