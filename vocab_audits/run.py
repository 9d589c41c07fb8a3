"""Runs audits over inventories into one run folder; what is done is kept, so a stopped run goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from vocab_audits.gathering import able, about_any, card, fitting, gather, identity
from vocab_audits.inputs import makers, named_files
from workbench import since
from workbench.assembling import Former
from workbench.audit import Audit, Outcome
from workbench.errors import MissingExtra, SutureError, UnreadableFile
from workbench.registry import Registry
from workbench.runs import Run, RunWriter, environment, piece_key
from workbench.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from workbench.corpora import Corpus
    from workbench.corpusrows import Errors
    from workbench.lexicon import MorphLexicon
    from workbench.review import Review
    from workbench.segmentation import Segmenter

AUDITS = Registry("suture.audits", "audit")

ORDER = (
    "census", "reachability", "pipeline", "genealogy", "overlap", "persistence", "undertrained",
    "compression", "parity", "optimum", "asymmetry", "morphology", "units", "exemplars", "growth",
    "objectives", "unwanted",
)  # fmt: skip
"""Order of our own audits in a report; plugins' follow by name."""


@dataclass(frozen=True)
class Plan:
    """What a run is asked to do.

    Attributes:
        specs: tokenizers, as ``workbench.adapters.load`` takes them; ``NAME=SPEC`` names one.
        only: names of audits, or empty for all.
        corpus: a corpus spec.
        limit: documents taken from each file of the corpus, or None for all.
        options: options by audit name.
        text_column: field or column of the corpus that holds the text.
        errors: ``strict``, or ``replace`` to read invalid UTF-8 as U+FFFD.
        lexicon: specs of morph lexicons, taken together.
    """

    specs: tuple[str, ...]
    only: tuple[str, ...] = ()
    corpus: str = "embedded"
    limit: int | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    text_column: str = "text"
    errors: Errors = "strict"
    lexicon: tuple[str, ...] = ("embedded",)


class Piece(NamedTuple):
    """One audit of one segmenter, or of all of them together."""

    audit: Audit
    segmenter: Segmenter | None
    options: dict[str, Any]
    key: str

    @property
    def label(self) -> str:
        """What a progress bar says."""
        return self.audit.name + (f" {self.segmenter.name}" if self.segmenter else "")


class Means(NamedTuple):
    """What the audits of a run are given."""

    segmenters: Sequence[Segmenter]
    corpus: Corpus | None = None
    lexicon: MorphLexicon | None = None


def chosen(only: Sequence[str]) -> list[Audit]:
    """The audits asked for, or all that are installed but for those that run on request only.

    One that fails to import is named and left out.
    """
    names = list(dict.fromkeys(only)) or [name for name in ORDER if name in AUDITS.names()]
    loaded = {name: AUDITS.get(name) for name in names}
    if not only:
        loaded.update({name: found for name, found in AUDITS.load_all().items() if name not in loaded})
        loaded = {name: found for name, found in loaded.items() if not getattr(found, "on_request", False)}
    audits = list(loaded.values())
    for found in audits:
        if not isinstance(found, Audit):
            raise SutureError(
                f"an audit must be a function decorated with workbench.audit.audit; got {found!r}; "
                "decorate it"
            )
    return audits  # type: ignore[return-value]  # checked above


def pieces(audits: Sequence[Audit], means: Means, plan: Plan) -> list[Piece]:
    """All work of a run, each with a key of everything that determines its result.

    Raises:
        SutureError: an option names no chosen audit, or does not fit it.
    """
    stray = set(plan.options) - {audit.name for audit in audits}
    if stray:
        raise SutureError(
            f"options must be for an audit of this run; got some for {', '.join(sorted(stray))}; "
            "correct the config or --only"
        )
    found, code = [], makers()
    for audit in audits:
        options = audit.configured(plan.options.get(audit.name, {}))
        inputs: dict[str, Any] = {"code": code, "files": named_files(options)}
        if audit.inputs is not None:
            inputs["own"] = audit.inputs(options)
        if means.corpus and "corpus" in audit.needs:
            inputs["corpus"] = (means.corpus.digest, plan.limit)
        if means.lexicon and "lexicon" in audit.needs:
            inputs["lexicon"] = (means.lexicon.source, means.lexicon.digest)
        fit = fitting(audit, means.segmenters)
        for segmenter in [None] if audit.once else fit:
            about = [identity(each) for each in (fit if segmenter is None else [segmenter])]
            key = piece_key(
                audit=audit.name, version=audit.version, options=options, about=about, inputs=inputs
            )
            found.append(Piece(audit, segmenter, options, key))
    return found


def perform(piece: Piece, means: Means) -> Outcome:
    """Does one piece of work."""
    one, fit = piece.segmenter, fitting(piece.audit, means.segmenters)
    have = {
        "tokenizers": fit,
        "segmenters": fit,
        "tokenizer": one,
        "segmenter": one,
        "inventory": one.inventory if isinstance(one, Tokenizer) else None,
        "corpus": means.corpus,
        "lexicon": means.lexicon,
    }
    return piece.audit(*[have[need] for need in piece.audit.needs], **piece.options)


class Made(NamedTuple):
    """A run, and what of it was not done anew.

    Attributes:
        run: the run.
        reused: pieces of work that a finished or a stopped run had done before.
        done: pieces done now.
    """

    run: Run
    reused: int
    done: int


def run(
    plan: Plan,
    folder: Path,
    command: Sequence[str],
    progress: Callable[[str, int, int], None] = lambda *_: None,
    *,
    replace: bool = False,
    fresh: bool = False,
    baseline: Run | None = None,
    review: Review | None = None,
) -> Made:
    """Runs a plan into a folder.

    Args:
        plan: what to do.
        folder: the run's folder; a former run there is replaced when this one is whole, and lends this one
            the pieces of work whose input is the same.
        command: the command line, for the record.
        progress: told what begins, how many pieces are done, and of how many.
        replace: replace a former run there even if it holds what this one will not.
        fresh: do all work anew.
        baseline: a run to compare with, or None for the former one there.
        review: what people decided about findings, for the report.

    Returns:
        The run, with its reports written, and how much of it was reused.

    Raises:
        SutureError: bad input; the pieces done are kept for another start.
    """
    writer = RunWriter(folder)
    writer.begin(fresh=fresh)
    try:
        started = time.monotonic()
        audits = chosen(plan.only)
        loaded = gather(
            plan.specs, lambda text: progress(f"reading {text}", 0, 1), needed=any(map(about_any, audits))
        )
        audits, unfit = able(audits, loaded.segmenters)
        corpus = _corpus(plan, audits)
        lexicon, missing = _lexicon(plan, audits)
        audits = [audit for audit in audits if not missing or "lexicon" not in audit.needs]
        means = Means(loaded.segmenters, corpus, lexicon)
        if not replace:
            _keeps_former(folder, loaded.segmenters, audits)
        work = pieces(audits, means, plan)
        seconds = _performed(writer, work, means, progress, fresh=fresh)
        progress("writing the report", len(work), len(work))
        manifest = {
            "command": list(command),
            "subjects": [card(segmenter) for segmenter in loaded.segmenters],
            "corpus": _described(means.corpus),
            "lexicon": lexicon and lexicon.card(),
            "audits": [_recorded(audit, plan) for audit in audits],
            "skipped": [*loaded.skipped, *unfit, *missing],
            "environment": environment(),
            "seconds": {"cpu": seconds, "wall": round(time.monotonic() - started, 3)},
        }
        _written(writer, [piece.key for piece in work], manifest, baseline, review)
    except BaseException:
        writer.leave()
        raise
    return Made(writer.publish(), len(work) - len(seconds), len(seconds))


def _written(
    writer: RunWriter,
    keys: list[str],
    manifest: dict[str, Any],
    baseline: Run | None,
    review: Review | None,
) -> None:
    """Assembles the run, compares it with a former one, and writes its reports."""
    from workbench.report.writing import write_report

    compared = _compared(writer, keys, manifest, baseline)
    made = writer.finish(keys, {**manifest, "since": compared and compared.summary})
    if compared:
        compared.changes.write_parquet(made.folder / "since.parquet")
    write_report(made, review=review)


def _compared(
    writer: RunWriter, keys: Sequence[str], manifest: Mapping[str, Any], baseline: Run | None
) -> since.Since | None:
    """The difference to the baseline, or to a former run in the same place if it can be read."""
    findings = writer.findings(keys)
    if baseline:
        return since.compare(baseline, manifest, findings, baseline=True)
    if not (writer.folder / "run.json").is_file():
        return None
    try:
        return since.compare(Run.open(writer.folder), manifest, findings, baseline=False)
    except UnreadableFile:
        return None


def _performed(
    writer: RunWriter,
    work: Sequence[Piece],
    means: Means,
    progress: Callable[[str, int, int], None],
    *,
    fresh: bool,
) -> dict[str, float]:
    """Does and keeps the work that is not kept yet; gives the CPU seconds of each piece done."""
    seconds, former = {}, Former.open(writer.folder)
    for done, piece in enumerate(work):
        progress(piece.label, done, len(work))
        if writer.done(piece.key) or (not fresh and writer.reuse(piece.key, former)):
            continue
        begun = time.process_time()
        writer.keep(piece.key, perform(piece, means))
        seconds[piece.label] = round(time.process_time() - begun, 3)
    return seconds


def _keeps_former(folder: Path, segmenters: Sequence[Segmenter], audits: Sequence[Audit]) -> None:
    """Refuses to lose a former run of other tokenizers or of more audits."""
    if not (folder / "run.json").is_file():
        return
    former = Run.open(folder).manifest
    lost = {each["name"] for each in former["audits"]} - {audit.name for audit in audits}
    lost |= {each["name"] for each in former["subjects"]} - {segmenter.name for segmenter in segmenters}
    if lost:
        raise SutureError(
            f"an output folder must be new or hold a run that this one covers; {folder} has one of "
            f"{', '.join(sorted(lost))} besides; choose another with -o, or pass --replace"
        )


def _corpus(plan: Plan, audits: Sequence[Audit]) -> Corpus | None:
    if not any("corpus" in audit.needs for audit in audits):
        return None
    from workbench.corpora import open_corpus

    corpus = open_corpus(plan.corpus, text_column=plan.text_column, limit=plan.limit, errors=plan.errors)
    corpus.check()
    return corpus


def _lexicon(plan: Plan, audits: Sequence[Audit]) -> tuple[MorphLexicon | None, list[dict[str, str]]]:
    """The lexicon, and what to say where the embedded one cannot be made and was not asked for by name."""
    if not any("lexicon" in audit.needs for audit in audits):
        return None, []
    from workbench.lexicons import open_lexicon

    try:
        return open_lexicon(*plan.lexicon), []
    except MissingExtra as error:
        if plan.lexicon != Plan.lexicon or plan.only:
            raise
        names = ", ".join(audit.name for audit in audits if "lexicon" in audit.needs)
        return None, [{"what": names, "why": str(error)}]


def _described(corpus: Corpus | None) -> dict[str, Any] | None:
    if corpus is None:
        return None
    return {
        "name": corpus.name,
        "source": corpus.source,
        "digest": corpus.digest,
        "limit": corpus.limit,
        "files": len(corpus.files),
        "bytes": corpus.size,
        "languages": sorted({file.language for file in corpus.files if file.language}),
        "problems": [str(problem) for problem in corpus.problems],
    }


def _recorded(audit: Audit, plan: Plan) -> dict[str, Any]:
    given = plan.options.get(audit.name, {})
    options = audit.configured(given)
    return {
        "name": audit.name,
        "title": audit.title,
        "summary": audit.summary,
        "version": audit.version,
        "options": {
            key: list(value) if isinstance(value, tuple) else value for key, value in options.items()
        },
        "defaulted": [key for key in options if key not in given],
        **({"sensitive": True, "labels": list(audit.labels)} if audit.sensitive else {}),
    }
