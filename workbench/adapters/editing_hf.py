"""Documents of a ``tokenizer.json`` without some entries.

The library goes on producing an entry whose text stands in the vocabulary wherever it looks entries up by
their text: in WordPiece, in Unigram, for the letters of a BPE, and for whole pre-tokens with
``ignore_merges``. To mask one there, its text is replaced by a placeholder that no text leads to; elsewhere
its merges go and its text stays.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import tokenizers

from workbench.adapters import hf, hf_vocab
from workbench.adapters.editing import Edited, Structure
from workbench.errors import SutureError, upstream

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.adapters.editing import Mode, Read
    from workbench.adapters.hf import HfEngine
    from workbench.tokenizer import Tokenizer

    Document = dict[str, Any]

PLACEHOLDER = "[masked {}]"
"""The space in it is what no pre-token holds; a vocabulary whose pre-tokens do is refused."""


def edit(tokenizer: Tokenizer, engine: HfEngine, ids: Sequence[int], mode: Mode) -> Edited:
    """The same document without some entries.

    Args:
        tokenizer: a tokenizer around a document.
        engine: its engine.
        ids: entries to take out.
        mode: ``drop`` or ``mask``.

    Raises:
        SutureError: the model lists its entries by their place and mode is ``drop``, or a masked entry would
            still be produced.
    """
    doc: Document = json.loads(engine.backend.to_str())
    doc["model"]["type"] = kind = hf.model_type(doc)
    if kind == "Unigram" and mode == "drop":
        raise SutureError(
            "to drop an entry, a file must give ids of their own; a Unigram model's ids are places in "
            f"a list, so every later id of {tokenizer.name} would move; use --mode mask"
        )
    keys = {token: text for text, token in _vocabulary(doc)}
    if absent := [token for token in ids if token not in keys]:
        raise SutureError(
            f"an entry to take out must be one that the library reads; {absent[0]} of {tokenizer.name} has "
            "no text of its own, so no text gives it; leave it out"
        )
    rows = hf_vocab.merges(doc) if doc["model"].get("merges") else np.empty((0, 3), np.int32)
    broken = np.isin(rows, ids) @ np.ones(3, bool)
    renamed = _renamed(doc, rows, ids) if mode == "mask" else []
    changed = _changed(doc, {keys[token]: token for token in ids}, broken, mode, renamed)
    text = json.dumps(changed, ensure_ascii=False)
    with upstream(f"{tokenizer.name} must still be a tokenizer without these entries"):
        backend = tokenizers.Tokenizer.from_str(text)
    source = f"{tokenizer.inventory.source} without {len(ids)} entries"
    made = hf.from_tokenizer(backend, tokenizer.name, source, changed, tokenizer.inventory.rows)
    if renamed:
        _never_made(made, renamed, "leave it out" if kind == "Unigram" else "use --mode drop")
    _same_added(tokenizer, made)
    notes = tuple(note for note in tokenizer.inventory.notes if note.startswith("truncation and padding"))
    if renamed:
        notes += (
            f"{len(renamed)} masked entries have a placeholder such as {_placeholder(renamed[0])!r} for text",
        )
    return Edited(
        made,
        lambda others: Structure(
            _alone(engine, kind, keys, others), _alone(made.engine, kind, keys, others), rows[broken]
        ),
        ".json",
        text.encode,
        str,
        _read,
        "tokenizers",
        notes=notes,
    )


def _vocabulary(doc: Document) -> list[tuple[str, int]]:
    texts, ids, _ = hf_vocab.vocabulary(doc)
    return list(zip(texts, ids, strict=True))


def _placeholder(token: int) -> str:
    return PLACEHOLDER.format(token)


def _renamed(doc: Document, rows: NDArray[np.int32], ids: Sequence[int]) -> list[int]:
    """The masked entries that the library would look up by their text."""
    if hf.model_type(doc) != "BPE" or doc["model"].get("ignore_merges"):
        return list(ids)
    return [token for token, made in zip(ids, np.isin(ids, rows[:, 2]).tolist(), strict=True) if not made]


def _changed(
    doc: Document, gone: dict[str, int], broken: NDArray[np.bool_], mode: Mode, renamed: Sequence[int]
) -> Document:
    """The document with its vocabulary and merges changed; the parts of the old one are left as they are."""
    model = dict(doc["model"])
    if model.get("merges"):
        kept = np.flatnonzero(~broken).tolist()
        model["merges"] = [model["merges"][index] for index in kept]
    new = {text: _placeholder(token) for text, token in gone.items() if token in set(renamed)}
    if isinstance(model["vocab"], list):
        names = {token: new[text] for text, token in gone.items() if text in new}
        pieces = enumerate(model["vocab"])
        model["vocab"] = [[names.get(place, text), score] for place, (text, score) in pieces]
    elif mode == "mask":
        model["vocab"] = {new.get(text, text): token for text, token in model["vocab"].items()}
    else:
        model["vocab"] = {text: token for text, token in model["vocab"].items() if text not in gone}
        # The library counts the ids of added tokens on from the number of entries, so those without an entry
        # of their own are given one, lest their ids move.
        for token in doc.get("added_tokens") or []:
            model["vocab"].setdefault(token["content"], token["id"])
    return {**doc, "model": model}


def _never_made(made: Tokenizer, renamed: Sequence[int], hint: str) -> None:
    texts = [_placeholder(token) for token in renamed]
    found = np.intersect1d(made.encode_batch(texts).ids, renamed)
    if len(found):
        raise SutureError(
            f"a masked entry must be one that no text gives; {made.name} does not cut texts at spaces, so "
            f"the placeholder of entry {found[0]} could be typed; {hint}"
        )


def _same_added(before: Tokenizer, after: Tokenizer) -> None:
    kinds = ("special", "added")
    one, two = (
        each.inventory.frame.filter(each.inventory.frame["kind"].is_in(kinds)).select("id", "bytes")
        for each in (before, after)
    )
    if not one.equals(two):
        raise SutureError(
            f"added tokens must keep their ids; those of {before.name} would move without these entries; "
            "use --mode mask"
        )


def _alone(engine: Any, kind: str, keys: dict[int, str], others: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each entry is what the model makes of the entry's own text, whole pre-tokens aside.

    WordPiece looks each stretch up as it is, so no entry of its stands on another.
    """
    if kind == "WordPiece":
        return np.ones(len(others), bool)
    model = engine.backend.model
    shortcut = kind == "BPE" and model.ignore_merges
    if shortcut:
        model.ignore_merges = False
    try:
        found = [[token.id for token in model.tokenize(keys[other])] == [other] for other in others.tolist()]
    finally:
        if shortcut:
            model.ignore_merges = True
    return np.array(found, bool)


def _read(path: Path) -> Read:
    backend = tokenizers.Tokenizer.from_file(str(path))
    backend.encode_special_tokens = True
    backend.no_truncation()
    backend.no_padding()

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [each.ids for each in backend.encode_batch_fast(list(texts), add_special_tokens=False)]

    return encode
