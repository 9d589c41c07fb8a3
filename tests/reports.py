"""Runs for the tests of the report, and a reader of pages that knows nothing of how they are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from tests import builders
from vocab_audits.census import census
from vocab_audits.compression import compression
from vocab_audits.genealogy import genealogy
from vocab_audits.overlap import overlap
from vocab_audits.pipeline import pipeline
from vocab_audits.reachability import reachability
from workbench.adapters import load
from workbench.corpora import open_corpus
from workbench.runs import Run, RunWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from workbench.audit import Audit, Outcome
    from workbench.tokenizer import Tokenizer

AUDITS = (census, reachability, pipeline, genealogy, overlap, compression)

TEXTS = {
    "en": "The cat sat on the mat.\nCats and dogs sat there.\n",
    "de": "Die Katze saß auf der Matte.\nKatzen und Hunde saßen dort.\n",
    "ja": "猫はマットに座った。\n猫と犬がいた。\n",
}
VOLATILE: dict[str, Any] = {
    "environment": {"python": "3", "versions": {"polars": "2"}},
    "seconds": {"cpu": {"census": 0.5}},
}


def write(
    folder: Path,
    outcomes: Sequence[Outcome],
    tokenizers: Sequence[Tokenizer] = (),
    known: Sequence[Audit] = (),
    **manifest: Any,
) -> Run:
    """A run with these outcomes, under a manifest as the command writes it."""
    writer = RunWriter(folder)
    writer.begin()
    keys = [f"piece{number}" for number in range(len(outcomes))]
    for key, outcome in zip(keys, outcomes, strict=True):
        writer.keep(key, outcome)
    described = {
        "command": ["suture", "audit", "small.json", "-o", "runs/small"],
        "subjects": [tokenizer.card() for tokenizer in tokenizers],
        "corpus": None,
        "audits": [_recorded(audit) for audit in known],
        "skipped": [],
        **VOLATILE,
    }
    writer.finish(keys, {**described, **manifest})
    return writer.publish()


def _recorded(audit: Audit) -> dict[str, Any]:
    options = audit.configured({})
    return {
        "name": audit.name,
        "title": audit.title,
        "summary": audit.summary,
        "version": audit.version,
        "options": options,
        "defaulted": list(options),
    }


def small() -> list[Tokenizer]:
    """A byte-level BPE with merges, a special token and a duplicate text, and a WordPiece."""
    extra = [
        b"th",
        b"the",
        b" t",
        b"he",
        b" the",
        b"ca",
        b"cat",
        b" cat",
        b"\xe7\x8c",
        b"\xe7\x8c\xab",
        b"zq",
    ]
    merges = [(b"t", b"h"), (b"th", b"e"), (b" ", b"t"), (b"h", b"e"), (b" t", b"he"), (b"c", b"a"),
              (b"ca", b"t"), (b" ", b"cat"), (b"\xe7", b"\x8c"), (b"\xe7\x8c", b"\xab")]  # fmt: skip
    bpe = builders.byte_level(extra, merges, pattern=builders.GPT2, special=["<|end|>"])
    wordpiece = builders.wordpiece(["the", "cat", "##s", "sat", "Matte", "##t", ".", "on", "a", "##n", "d"])
    return [load(bpe, "small-bpe"), load(wordpiece, "small-wordpiece")]


def audited(folder: Path, tokenizers: Sequence[Tokenizer], texts: Path, **manifest: Any) -> Run:
    """A run of every audit over tokenizers and a small text in three languages."""
    texts.mkdir(exist_ok=True)
    for language, text in TEXTS.items():
        (texts / f"{language}.txt").write_text(text, encoding="utf-8")
    corpus = open_corpus(str(texts))
    outcomes: list[Outcome] = []
    for audit in (census, reachability, genealogy):
        outcomes += [audit(one if audit is reachability else one.inventory) for one in tokenizers]
    outcomes += [pipeline(one, auto=False) for one in tokenizers]
    outcomes.append(overlap(tokenizers))
    outcomes += [compression(one, corpus) for one in tokenizers]
    described = {
        "name": "texts",
        "source": "texts",
        "digest": corpus.digest,
        "files": len(corpus.files),
        "languages": sorted(TEXTS),
        "problems": [],
    }
    return write(folder, outcomes, tokenizers, AUDITS, **{"corpus": described, **manifest})


VOID = {"meta", "link", "rect", "br", "img", "input", "hr"}


@dataclass
class Element:
    """One element of a page, with the texts and elements in it."""

    tag: str
    attributes: dict[str, str | None]
    content: list[str | Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(part if isinstance(part, str) else part.text for part in self.content)

    @property
    def inside(self) -> list[Element]:
        """Elements directly in it."""
        return [part for part in self.content if isinstance(part, Element)]

    def all(self, tag: str) -> list[Element]:
        """Elements of one tag below it, in their order."""
        found = []
        for element in self.inside:
            found += [element] if element.tag == tag else []
            found += element.all(tag)
        return found

    def every(self) -> list[Element]:
        """All elements below it."""
        return [below for element in self.inside for below in (element, *element.every())]


class Page(HTMLParser):
    """Parses a page; an element that is not closed, or closed twice, is an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]
        self.feed(text)
        self.close()
        assert self.open == [self.root], f"not closed: {self.open[-1].tag}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        assert len(element.attributes) == len(attrs), f"an attribute comes twice in {tag}"
        self.open[-1].content.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].content.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"{tag} closes {self.open[-1].tag}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].content.append(data)


def cells(table: Element) -> dict[str, list[str]]:
    """Rows of a table by the text of their first cell, which must not repeat."""
    rows: dict[str, list[str]] = {}
    for row in table.all("tbody")[0].all("tr"):
        name, *rest = [cell.text for cell in row.inside]
        assert name not in rows
        rows[name] = rest
    return rows


def captioned(page: Element, caption: str) -> Element:
    """The table with this caption."""
    (table,) = [one for one in page.all("table") if one.all("caption")[0].text == caption]
    return table


def figure_of(report: Mapping[str, Any], audit: str, **named: Any) -> dict[str, Any]:
    """One figure of a report's JSON."""
    (about,) = [one for one in report["audits"] if one["name"] == audit]
    (found,) = [one for one in about["figures"] if all(one.get(key) == value for key, value in named.items())]
    return dict(found)
