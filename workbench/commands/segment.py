"""The verb ``segment``: one text under several segmenters."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from workbench.commands.printing import console, fields, put_json, safe, table, tell
from workbench.errors import SutureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from workbench.alignment import Alignment
    from workbench.segmentation import Segmentation, Segmenter

Unit = Literal["byte", "codepoint", "utf16", "grapheme"]
UNIT_NAMES = {
    "byte": "byte",
    "codepoint": "code point",
    "utf16": "UTF-16 code unit",
    "grapheme": "grapheme cluster",
}
OFFSETS_SHOWN = 12
"""Offsets that a line for people lists; ``--json`` lists all."""


def segment(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text, or - to read standard input.")],
    specs: Annotated[
        list[str], typer.Option("--with", metavar="SPEC", help="A segmenter; the first is the reference.")
    ],
    unit: Annotated[Unit, typer.Option(help="What the spans of tokens are counted in.")] = "byte",
    control: Annotated[
        bool, typer.Option("--control", help="Read special-token text as control tokens.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Cut a text with one or more segmenters, side by side.

    Example: `suture segment "don't" --with tekken.json --with spacy:en`
    """
    from workbench.adapters import load_segmenter
    from workbench.alignment import Alignment
    from workbench.commands.pieces import SHOWN
    from workbench.segmentation import utf8

    given = _stdin() if text == "-" else text
    utf8(given)
    segmenters = [load_segmenter(spec) for spec in specs]
    cuts = [_cut(segmenter, given, control=control) for segmenter in segmenters]
    names = _told_apart([segmenter.name for segmenter in segmenters])
    compared = [(name, Alignment(cuts[0], other)) for name, other in zip(names[1:], cuts[1:], strict=True)]
    rows = list(zip(segmenters, names, cuts, strict=True))
    if as_json:
        put_json(
            {
                "text": given,
                "size": len(cuts[0].text),
                "unit": unit,
                "segmentations": [_segmentation(*row, unit) for row in rows],
                "comparisons": [_comparison(names[0], *pair) for pair in compared],
            }
        )
        return
    out = console()
    _put_together(out, names, cuts)
    for row in rows:
        _put_one(out, *row, unit)
    for pair in compared:
        _put_comparison(out, names[0], *pair)
    if max(map(len, cuts)) > SHOWN:
        tell(f"of tokens, pieces and differences the first {SHOWN} are shown; --json has all")


def _stdin() -> str:
    data = sys.stdin.buffer.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SutureError(
            f"a text on standard input must be UTF-8; byte 0x{data[error.start]:02X} at offset {error.start} "
            "is not; convert it first"
        ) from None


def _cut(segmenter: Segmenter, text: str, *, control: bool) -> Segmentation:
    if not control:
        return segmenter.segment(text)
    cut = getattr(segmenter, "segment_control", None)
    if cut is None:
        raise SutureError(
            f"--control needs a tokenizer with control tokens; {segmenter.name} has none; leave it out"
        )
    found: Segmentation = cut(text)
    return found


def _told_apart(names: Sequence[str]) -> list[str]:
    """The names, with a number on each that is not the first of its kind."""
    return [
        name if name not in names[:index] else f"{name} ({names[:index].count(name) + 1})"
        for index, name in enumerate(names)
    ]


def _segmentation(segmenter: Segmenter, name: str, cut: Segmentation, unit: Unit) -> dict[str, Any]:
    from workbench.commands.pieces import tokens

    inventory = getattr(segmenter, "inventory", None)
    return {
        "name": name,
        "source": None if inventory is None else inventory.source,
        "exact": cut.exact,
        "tokens": tokens(segmenter, cut, unit),
        "uncovered": cut.uncovered.tolist(),
        "absorbed": cut.absorbed.tolist(),
        "dropped": cut.dropped.tolist(),
        "synthetic": list(cut.synthetic),
        "unknown": list(cut.unknown),
        "sharing_a_unit": cut.shared(unit),
    }


def _comparison(reference: str, name: str, alignment: Alignment) -> dict[str, Any]:
    crossed = set(alignment.crossing[:, 0].tolist())
    return {
        "reference": reference,
        "name": name,
        "shared": alignment.hits.tolist(),
        "missed": alignment.missed.tolist(),
        "false": alignment.false.tolist(),
        **alignment.scores._asdict(),
        "crossing": alignment.crossing.tolist(),
        "chunks": [
            {
                "start": chunk.start,
                "end": chunk.end,
                "reference_tokens": list(chunk.gold),
                "tokens": list(chunk.predicted),
                "crosses": not crossed.isdisjoint(chunk.gold),
            }
            for chunk in alignment.chunks
        ],
    }


def _put_together(out: Console, names: Sequence[str], cuts: Sequence[Segmentation]) -> None:
    import regex

    from workbench.commands.pieces import side_by_side

    labels = [safe(name).plain for name in names]
    for line in side_by_side(labels, cuts, out.width):
        out.print(line, soft_wrap=True)
    if any(len(cut.uncovered) or len(cut.absorbed) for cut in cuts):
        tell("what stands in ‹ › is under no token; its edges count as cuts")
    if regex.search(r"[\p{Bidi_Class:R}\p{Bidi_Class:AL}]", cuts[0].text.decode()):
        tell("a terminal may draw right-to-left pieces in another order; the tables keep the text's own")


def _put_one(out: Console, segmenter: Segmenter, name: str, cut: Segmentation, unit: Unit) -> None:
    from rich.text import Text

    from workbench.commands.pieces import token_table

    told = "exact" if cut.exact else "not exact, the pieces do not join to the text"
    shared = cut.shared(unit)
    facts = [
        ("spans", f"in {UNIT_NAMES[unit]}s"),
        ("uncovered", _stretches(cut, "uncovered")),
        ("absorbed", _stretches(cut, "absorbed")),
        ("dropped", _stretches(cut, "dropped")),
        ("synthetic", f"{len(cut.synthetic)} with a space that the text lacks" if cut.synthetic else None),
        ("unknown", f"{len(cut.unknown)} for text without an entry" if cut.unknown else None),
        ("shared", f"{shared} neighbours have a {UNIT_NAMES[unit]} in common" if shared else None),
    ]
    out.print()
    out.print(Text(f"{safe(name)}: {len(cut)} tokens, {told}", style="bold"))
    out.print(token_table(segmenter, cut, unit))
    out.print(fields(facts))


def _stretches(cut: Segmentation, kind: str) -> Any:
    """Byte spans of one kind with what stands there, or None where there are none."""
    from rich.text import Text

    from workbench.display import faithful

    spans = getattr(cut, kind).tolist()
    if not spans:
        return None
    shown = [f"{low}–{high} {faithful(cut.text[low:high])}" for low, high in spans[:OFFSETS_SHOWN]]
    more = [f"{len(spans) - OFFSETS_SHOWN} more"] if len(spans) > OFFSETS_SHOWN else []
    return Text(", ".join([*shown, *more]))


def _put_comparison(out: Console, reference: str, name: str, alignment: Alignment) -> None:
    from rich.text import Text

    from workbench.commands.pieces import SHOWN, cell

    scores = [
        f"{key} {'undefined' if value is None else format(value, '.3f')}"
        for key, value in alignment.scores._asdict().items()
    ]
    facts = [
        ("shared", _offsets(alignment.hits.tolist())),
        ("missed", _offsets(alignment.missed.tolist())),
        ("false", _offsets(alignment.false.tolist())),
        ("boundaries", ", ".join(scores)),
    ]
    home = alignment.chunk_of(alignment.gold)[alignment.crossing[:, 0]]
    crossed = Counter(alignment.shared[home].tolist())
    differing = [chunk for chunk in alignment.chunks if len(chunk.gold) != 1 or len(chunk.predicted) != 1]
    rows = [
        [
            f"{chunk.start}–{chunk.end}",
            Text(cell(alignment.gold, chunk.gold, chunk.start, chunk.end)),
            Text(cell(alignment.predicted, chunk.predicted, chunk.start, chunk.end)),
            crossed[chunk.start] or "",
        ]
        for chunk in differing[:SHOWN]
    ]
    out.print()
    out.print(Text(f"{safe(name)} against {safe(reference)}, cuts in bytes", style="bold"))
    out.print(fields(facts))
    if rows:
        out.print()
        out.print(table("Where they differ", ["bytes", reference, name, "#crossing"], rows))
    else:
        out.print("the same pieces")


def _offsets(cuts: Sequence[int]) -> str:
    shown = ", ".join(map(str, cuts[:OFFSETS_SHOWN]))
    more = f", {len(cuts) - OFFSETS_SHOWN} more" if len(cuts) > OFFSETS_SHOWN else ""
    return f"{len(cuts)}: {shown}{more}" if cuts else "none"
