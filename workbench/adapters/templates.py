"""The special tokens that a model expects around a text, as its tokenizer's own files say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.adapters.hf import HfEngine
from workbench.errors import upstream

if TYPE_CHECKING:
    from workbench.tokenizer import Tokenizer

GENERIC = frozenset({"PreTrainedTokenizerFast", "TokenizersBackend"})
"""Class names of transformers that add nothing to what ``tokenizer.json`` says."""

FRAMES = (("[CLS]", "[SEP]"), ("<s>", "</s>"))
"""What encoders put around a text where no template says it: BERT and its kin, RoBERTa and its kin."""


class Template(NamedTuple):
    """Ids before and after a text."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.before) + len(self.after)


def template(tokenizer: Tokenizer, *, causal: bool) -> Template:
    """The special tokens around one text.

    The post-processor of ``tokenizer.json`` decides. Without one, an encoder whose tokenizer is of a class of
    its own, or comes from other files, gets the frame of that class; a decoder gets a beginning where
    ``tokenizer_config.json`` beside other files asks for one.

    Args:
        tokenizer: the tokenizer.
        causal: of a decoder.
    """
    engine = tokenizer.engine
    if isinstance(engine, HfEngine) and engine.backend.post_processor is not None:
        with upstream(f"{tokenizer.name} must put its special tokens around a text"):
            found = _of_backend(engine)
        if found is not None:
            return found
    config = _config(tokenizer)
    if causal:
        name = _text(config.get("bos_token"))
        asked = config.get("add_bos_token") is True and not _has_json(tokenizer)
        return Template(_ids(tokenizer, name)) if asked and name else Template()
    if _has_json(tokenizer) and config.get("tokenizer_class", "TokenizersBackend") in GENERIC:
        return Template()
    for before, after in FRAMES:
        start, end = _ids(tokenizer, before), _ids(tokenizer, after)
        if start and end:
            return Template(start, end)
    return Template()


def _of_backend(engine: HfEngine) -> Template | None:
    """What the library puts around a letter; None where its vocabulary has none of those tried."""
    for letter in ("a", "e", "1", "."):
        encoding = engine.backend.encode(letter, add_special_tokens=True)
        inner = [place for place, special in enumerate(encoding.special_tokens_mask) if not special]
        if inner:
            return Template(tuple(encoding.ids[: inner[0]]), tuple(encoding.ids[inner[-1] + 1 :]))
    return None


def _has_json(tokenizer: Tokenizer) -> bool:
    return tokenizer.folder is not None and (tokenizer.folder / "tokenizer.json").is_file()


def _config(tokenizer: Tokenizer) -> dict[str, Any]:
    if tokenizer.folder is None:
        return {}
    try:
        doc = json.loads((tokenizer.folder / "tokenizer_config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return doc if isinstance(doc, dict) else {}


def _text(token: Any) -> str | None:
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None


def _ids(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    return tuple(tokenizer.inventory.find(text.encode())[:1])
