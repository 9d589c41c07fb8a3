"""spaCy tokenizers as segmenters: words as a linguist's pipeline cuts them."""

from __future__ import annotations

import difflib
import pkgutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import MissingExtra, SutureError, UnknownName
from workbench.segmentation import Segmentation, utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SpacySegmenter:
    """A spaCy tokenizer.

    Attributes:
        name: name shown beside its results.
        tokenize: makes a spaCy ``Doc`` of a text; nothing of a pipeline behind it is run.
        source: what was asked for, as a user would type it.
        digest: version of the library and of the pipeline that cut.
    """

    name: str
    tokenize: Callable[[str], Any] = field(repr=False)
    source: str | None = None
    digest: str | None = None

    def segment(self, text: str) -> Segmentation:
        """Cuts one text into spaCy's tokens; the single spaces between them are under no token.

        spaCy makes tokens of further whitespace (a second space, a line break), and so they are here.

        Raises:
            SutureError: the text holds a lone surrogate.
        """
        data = utf8(text)
        doc = self.tokenize(text)
        starts = np.fromiter((token.idx for token in doc), np.int64, len(doc))
        sizes = np.fromiter(map(len, doc), np.int64, len(doc))
        place = _byte_offsets(text)
        lows, highs = place[starts], place[starts + sizes]
        exact = bool(len(data) == (highs - lows).sum())
        return Segmentation(data, lows, highs, exact=exact)

    def segment_batch(self, texts: Sequence[str]) -> list[Segmentation]:
        """Cuts many texts, each as ``segment`` would."""
        return [self.segment(text) for text in texts]


def _byte_offsets(text: str) -> NDArray[np.int64]:
    """Byte offset of each character, and of the end (characters + 1,)."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    widths = 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)
    return np.concatenate([[0], np.cumsum(widths)])


def from_name(address: str, name: str | None = None) -> SpacySegmenter:
    """Takes the tokenizer of a language or of an installed pipeline.

    Args:
        address: a language code, such as ``en``, or a pipeline's package, such as ``en_core_web_sm``.
        name: short name; by default ``spacy:`` and the address.

    Raises:
        UnknownName: spaCy knows no such language and no such pipeline is installed.
        MissingExtra: spaCy, or a package that its tokenizer for this language needs, is not installed.
    """
    try:
        import spacy
    except ImportError as error:
        raise MissingExtra(
            f"spaCy must be installed for spacy:{address}; it is not ({error}); "
            "run pip install 'suture[linguistics]'"
        ) from None
    version = f"spacy {spacy.about.__version__}"
    if spacy.util.is_package(address):
        from spacy.cli.info import info

        meta: Any = info(address, silent=True)
        nlp = spacy.load(address, exclude=meta.get("pipeline", []))
        version += f", {address} {meta.get('version')}"
    else:
        nlp = _blank(address)
    return SpacySegmenter(name or f"spacy:{address}", nlp.tokenizer, f"spacy:{address}", version)


def _blank(code: str) -> Any:
    """An empty pipeline of a language."""
    import spacy
    import spacy.lang

    known = [module.name for module in pkgutil.iter_modules(spacy.lang.__path__) if module.ispkg]
    if code not in known and code != "xx":
        near = difflib.get_close_matches(code, known, n=5, cutoff=0.4) or ["en"]
        raise UnknownName(
            f"spacy: must name a language that spaCy knows or an installed pipeline; {code!r} is neither; "
            f"give a code such as {', '.join(near)}, or install the pipeline"
        )
    try:
        return spacy.blank(code)
    except ImportError as error:
        reason = " ".join(str(error).split())
        raise MissingExtra(
            f"spaCy's {code} tokenizer must have its own package; it is not installed; {reason[:200]}"
        ) from None


def from_object(thing: Any, name: str | None = None) -> SpacySegmenter:
    """Takes the tokenizer of a spaCy pipeline, or a spaCy tokenizer itself.

    Args:
        thing: a ``Language`` or a tokenizer: anything that makes a ``Doc`` of a text.
        name: short name; by default ``spacy:`` and the language.

    Raises:
        SutureError: it is neither.
    """
    tokenize = getattr(thing, "tokenizer", thing)
    if not callable(tokenize):
        raise SutureError(
            f"a spaCy object must be a pipeline or a tokenizer; got {type(thing).__name__}; pass nlp or "
            "nlp.tokenizer"
        )
    language = getattr(thing, "lang", None) or getattr(getattr(tokenize, "vocab", None), "lang", None)
    return SpacySegmenter(name or f"spacy:{language or 'tokenizer'}", tokenize)
