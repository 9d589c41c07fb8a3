"""The segmenters of a run: found under names of their own, and told apart by what an audit needs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.adapters import load_segmenter
from workbench.audit import WITH_INVENTORY
from workbench.errors import SutureError, Unreachable
from workbench.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from workbench.audit import Audit
    from workbench.segmentation import Segmenter


class Loaded(NamedTuple):
    """The segmenters that could be had, and what could not, with the reason."""

    segmenters: list[Segmenter]
    skipped: list[dict[str, str]]

    @property
    def tokenizers(self) -> list[Tokenizer]:
        """Those with an inventory."""
        return [each for each in self.segmenters if isinstance(each, Tokenizer)]


def gather(
    specs: Iterable[str], progress: Callable[[str], None] = lambda _: None, *, needed: bool = True
) -> Loaded:
    """Loads segmenters under names of their own; what lies behind a network is skipped and named.

    Args:
        specs: as ``workbench.adapters.load_segmenter`` takes them; ``NAME=SPEC`` names one.
        progress: told each spec before it is read.
        needed: whether there must be one.

    Raises:
        SutureError: none could be had, or one is damaged.
    """
    loaded: dict[str, Segmenter] = {}
    skipped = []
    for text in specs:
        name, equals, spec = text.partition("=")
        named = equals and "/" not in name and ":" not in name and "#" not in name
        progress(text)
        try:
            segmenter = load_segmenter(spec, name) if named else load_segmenter(text)
        except Unreachable as error:
            skipped.append({"what": text, "why": str(error)})
            continue
        label, number = segmenter.name, 2
        while label in loaded:
            label, number = f"{segmenter.name} ({number})", number + 1
        loaded[label] = _renamed(segmenter, label)
    if needed and not loaded:
        why = skipped[0]["why"] if skipped else "none was named; give a file, a folder or a name"
        raise SutureError(f"at least one tokenizer must be at hand; {why}")
    return Loaded(list(loaded.values()), skipped)


def _renamed(segmenter: Segmenter, name: str) -> Segmenter:
    if segmenter.name == name:
        return segmenter
    if isinstance(segmenter, Tokenizer):
        return replace(segmenter, inventory=segmenter.inventory.renamed(name))
    return replace(segmenter, name=name)  # type: ignore[type-var]  # every source makes a dataclass


def about_any(audit: Audit) -> bool:
    """Whether an audit is about tokenizers at all."""
    return bool({"inventory", "tokenizer", "tokenizers", "segmenter", "segmenters"} & set(audit.needs))


def fitting(audit: Audit, segmenters: Sequence[Segmenter]) -> list[Segmenter]:
    """Those that an audit can be given: all, or the ones with an inventory; none where it is about none."""
    if {"segmenter", "segmenters"} & set(audit.needs):
        return list(segmenters)
    if not about_any(audit):
        return []
    return [each for each in segmenters if isinstance(each, Tokenizer)]


def able(
    audits: Sequence[Audit], segmenters: Sequence[Segmenter]
) -> tuple[list[Audit], list[dict[str, str]]]:
    """Audits that have something to work on, and what is left out of the run for want of an inventory.

    Raises:
        SutureError: no audit has.
    """
    kept, skipped = [], []
    bare = [each.name for each in segmenters if not isinstance(each, Tokenizer)]
    for audit in audits:
        wants = WITH_INVENTORY & set(audit.needs) or "tokenizers" in audit.needs
        if wants and bare:
            why = "it needs an inventory of entries, which a bare segmenter does not have"
            skipped.append({"what": f"{audit.name} of {', '.join(bare)}", "why": why})
        if not wants or len(bare) < len(segmenters):
            kept.append(audit)
    if not kept:
        raise SutureError(
            f"{' and '.join(audit.name for audit in audits)} must have a tokenizer with an inventory; got "
            f"{', '.join(bare) or 'none'}; give a tokenizer, or audits of segmentations"
        )
    return kept, skipped


def card(segmenter: Segmenter) -> dict[str, Any]:
    """What identifies a segmenter, ready for JSON."""
    if isinstance(segmenter, Tokenizer):
        return segmenter.card()
    return {
        "name": segmenter.name,
        "source": getattr(segmenter, "source", None),
        "digest": getattr(segmenter, "digest", None),
        **dict.fromkeys(("entries", "rows_needed", "rows")),
        "model": type(segmenter).__name__,
        "byte_level": False,
        "prefix_space": False,
        **dict.fromkeys(("ignore_merges", "pattern", "pattern_digest")),
        "notes": ["no inventory: it cuts text and has no entries", *getattr(segmenter, "notes", ())],
    }


def identity(segmenter: Segmenter) -> list[Any]:
    """All that determines what an audit finds in it."""
    if not isinstance(segmenter, Tokenizer):
        return [*card(segmenter).values()]
    made = segmenter.pipeline
    folder = None if segmenter.folder is None else str(segmenter.folder)
    return [segmenter.name, segmenter.inventory.digest, segmenter.inventory.rows, repr(made), folder]
