"""Runs audits over inventories into one run folder; what is done is kept, so a stopped run goes on."""

from __future__ import annotations

import time
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.adapters import load
from workbench.audit import Audit, Outcome
from workbench.errors import SutureError, Unreachable
from workbench.registry import Registry
from workbench.runs import Run, RunWriter, environment, piece_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from workbench.corpora import Corpus
    from workbench.corpusrows import Errors
    from workbench.tokenizer import Tokenizer

AUDITS = Registry("suture.audits", "audit")

ORDER = ("census", "reachability", "pipeline", "genealogy", "overlap", "compression")
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
    """

    specs: tuple[str, ...]
    only: tuple[str, ...] = ()
    corpus: str = "embedded"
    limit: int | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    text_column: str = "text"
    errors: Errors = "strict"


class Piece(NamedTuple):
    """One audit of one tokenizer, or of all of them together."""

    audit: Audit
    tokenizer: Tokenizer | None
    options: dict[str, Any]
    key: str

    @property
    def label(self) -> str:
        """What a progress bar says."""
        return self.audit.name + (f" {self.tokenizer.name}" if self.tokenizer else "")


class Loaded(NamedTuple):
    """The tokenizers that could be had, and what could not, with the reason."""

    tokenizers: list[Tokenizer]
    skipped: list[dict[str, str]]


def read_config(path: Path) -> dict[str, Any]:
    """Reads an ``audit.toml``: ``tokenizers``, ``only``, ``corpus``, ``limit`` and ``[options.AUDIT]``.

    Raises:
        SutureError: not TOML, or with a key that means nothing.
    """
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SutureError(f"a config must be TOML in UTF-8; {path} is not ({error}); correct it") from None
    known = {
        "tokenizers": list,
        "only": list,
        "corpus": str,
        "text_column": str,
        "errors": str,
        "limit": int,
        "options": dict,
    }
    for key, value in config.items():
        if key not in known or not isinstance(value, known[key]):
            raise SutureError(
                "a config holds tokenizers, only (lists), corpus (text), limit (number) and "
                f"[options.AUDIT]; {path} has {key} = {value!r}; correct it"
            )
    return config


def gather(specs: Iterable[str], progress: Callable[[str], None] = lambda _: None) -> Loaded:
    """Loads tokenizers under names of their own; what lies behind a network is skipped and named.

    Raises:
        SutureError: none could be had, or one is damaged.
    """
    loaded: dict[str, Tokenizer] = {}
    skipped = []
    for text in specs:
        name, equals, spec = text.partition("=")
        named = equals and "/" not in name and ":" not in name and "#" not in name
        progress(text)
        try:
            tokenizer = load(spec, name) if named else load(text)
        except Unreachable as error:
            skipped.append({"what": text, "why": str(error)})
            continue
        label, number = tokenizer.name, 2
        while label in loaded:
            label, number = f"{tokenizer.name} ({number})", number + 1
        loaded[label] = _renamed(tokenizer, label)
    if not loaded:
        why = skipped[0]["why"] if skipped else "none was named; give a file, a folder or a name"
        raise SutureError(f"at least one tokenizer must be at hand; {why}")
    return Loaded(list(loaded.values()), skipped)


def _renamed(tokenizer: Tokenizer, name: str) -> Tokenizer:
    from dataclasses import replace

    if tokenizer.name == name:
        return tokenizer
    return replace(tokenizer, inventory=tokenizer.inventory.renamed(name))


def chosen(only: Sequence[str]) -> list[Audit]:
    """The audits asked for, or all that are installed; one that fails to import is named and left out."""
    names = list(dict.fromkeys(only)) or [name for name in ORDER if name in AUDITS.names()]
    loaded = {name: AUDITS.get(name) for name in names}
    if not only:
        loaded.update({name: found for name, found in AUDITS.load_all().items() if name not in loaded})
    audits = list(loaded.values())
    for found in audits:
        if not isinstance(found, Audit):
            raise SutureError(
                f"an audit must be a function decorated with workbench.audit.audit; got {found!r}; "
                "decorate it"
            )
    return audits  # type: ignore[return-value]  # checked above


def pieces(
    audits: Sequence[Audit], tokenizers: Sequence[Tokenizer], corpus: Corpus | None, plan: Plan
) -> list[Piece]:
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
    found = []
    for audit in audits:
        options = audit.configured(plan.options.get(audit.name, {}))
        text = (corpus.digest, plan.limit) if corpus and "corpus" in audit.needs else None
        for tokenizer in [None] if audit.once else tokenizers:
            about = [_identity(each) for each in (tokenizers if tokenizer is None else [tokenizer])]
            key = piece_key(
                audit=audit.name, version=audit.version, options=options, about=about, corpus=text
            )
            found.append(Piece(audit, tokenizer, options, key))
    return found


def _identity(tokenizer: Tokenizer) -> list[Any]:
    made = tokenizer.pipeline
    folder = None if tokenizer.folder is None else str(tokenizer.folder)
    return [tokenizer.name, tokenizer.inventory.digest, tokenizer.inventory.rows, repr(made), folder]


def perform(piece: Piece, tokenizers: Sequence[Tokenizer], corpus: Corpus | None) -> Outcome:
    """Does one piece of work."""
    have = {
        "tokenizers": tokenizers,
        "tokenizer": piece.tokenizer,
        "inventory": piece.tokenizer.inventory if piece.tokenizer else None,
        "corpus": corpus,
    }
    return piece.audit(*[have[need] for need in piece.audit.needs], **piece.options)


def run(
    plan: Plan,
    folder: Path,
    command: Sequence[str],
    progress: Callable[[str, int, int], None] = lambda *_: None,
    *,
    replace: bool = False,
) -> Run:
    """Runs a plan into a folder.

    Args:
        plan: what to do.
        folder: the run's folder; a former run there is replaced when this one is whole.
        command: the command line, for the record.
        progress: told what begins, how many pieces are done, and of how many.
        replace: replace a former run there even if it holds what this one will not.

    Returns:
        The run, with its reports written.

    Raises:
        SutureError: bad input; the pieces done are kept for another start.
    """
    from vocab_audits.report import write_report

    writer = RunWriter(folder)
    writer.begin()
    try:
        started = time.monotonic()
        audits = chosen(plan.only)
        loaded = gather(plan.specs, lambda text: progress(f"reading {text}", 0, 1))
        corpus = _corpus(plan, audits)
        if not replace:
            _keeps_former(folder, loaded.tokenizers, audits)
        work = pieces(audits, loaded.tokenizers, corpus, plan)
        seconds: dict[str, float] = {}
        for done, piece in enumerate(work):
            progress(piece.label, done, len(work))
            if not writer.done(piece.key):
                begun = time.process_time()
                writer.keep(piece.key, perform(piece, loaded.tokenizers, corpus))
                seconds[piece.label] = round(time.process_time() - begun, 3)
        progress("writing the report", len(work), len(work))
        manifest = {
            "command": list(command),
            "subjects": [tokenizer.card() for tokenizer in loaded.tokenizers],
            "corpus": _described(corpus),
            "audits": [_recorded(audit, plan) for audit in audits],
            "skipped": loaded.skipped,
            "environment": environment(),
            "seconds": {"cpu": seconds, "wall": round(time.monotonic() - started, 3)},
        }
        write_report(writer.finish([piece.key for piece in work], manifest))
    except BaseException:
        writer.leave()
        raise
    return writer.publish()


def _keeps_former(folder: Path, tokenizers: Sequence[Tokenizer], audits: Sequence[Audit]) -> None:
    """Refuses to lose a former run of other tokenizers or of more audits."""
    if not (folder / "run.json").is_file():
        return
    former = Run.open(folder).manifest
    lost = {each["name"] for each in former["audits"]} - {audit.name for audit in audits}
    lost |= {each["name"] for each in former["subjects"]} - {tokenizer.name for tokenizer in tokenizers}
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
    }
