"""Writes a tokenizer without some entries, once it is proved that the file reads as it should."""

from __future__ import annotations

import shutil
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.adapters import load
from workbench.errors import SutureError, upstream

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.adapters.editing import Read
    from workbench.corpora import Corpus
    from workbench.removal import Removal
    from workbench.tokenizer import Encoded, Tokenizer


class Proof(NamedTuple):
    """What was found of the written file; each count is of the corpus's documents.

    Attributes:
        address: what ``load`` takes to read it.
        library: the format's own library, with its version.
        documents: documents encoded by the file as read again, by the library alone, and in memory, with
            the same ids each time and no removed id among them.
        exact: those whose tokens join to the text.
        alike: those whose tokens join to what they joined to before, as a normaliser left it.
        unspelled: the others, with a token for text that no longer has an entry.
    """

    address: str
    library: str
    documents: int
    exact: int
    alike: int
    unspelled: int


def write(
    removal: Removal, path: Path, corpus: Corpus, *, progress: Callable[[int], None] | None = None
) -> Proof:
    """Writes the edited tokenizer, which appears whole and proved, or not at all.

    Args:
        removal: what was taken out.
        path: the new file; it must not exist yet, and its name must end as its format wants.
        corpus: the texts of the proof.
        progress: told of the bytes of text that were proved.

    Raises:
        SutureError: the place is taken, not writable or wrongly named, or the file does not read as it
            should.
    """
    edited = removal.edited
    source = Path(removal.before.inventory.source.partition("#pattern=")[0])
    if path.exists():
        same = source.exists() and path.samefile(source)
        what = "is the tokenizer itself" if same else "exists already"
        raise SutureError(f"an edited tokenizer must be a new file; {path} {what}; choose another with -o")
    if path.suffix != edited.suffix:
        raise SutureError(
            f"an edited tokenizer of this format must be named …{edited.suffix}; got {path.name}; rename it"
        )
    try:
        with tempfile.TemporaryDirectory(prefix=".suture-", dir=path.parent) as folder:
            draft = Path(folder) / path.name
            draft.write_bytes(edited.data())
            proof = _proved(removal, draft, corpus, progress or (lambda _: None))
            shutil.move(draft, path)
    except OSError as error:
        raise SutureError(
            f"an edited tokenizer must be written to a place that is writable; {path.parent} is not "
            f"({error.strerror}); choose another with -o"
        ) from None
    library = f"{edited.library} {metadata.version(edited.library)}"
    return proof._replace(address=edited.address(path), library=library)


def _proved(removal: Removal, path: Path, corpus: Corpus, progress: Callable[[int], None]) -> Proof:
    edited = removal.edited
    read = load(edited.address(path), removal.before.name)
    with upstream(f"the edited file must be one that {edited.library} reads"):
        bare = edited.upstream(path)
    documents = exact = alike = unspelled = 0
    for batch in corpus.batches():
        texts = batch.texts
        after = _agreed(removal, read, bare, texts)
        before = removal.before.encode_batch(texts)
        for index, text in enumerate(texts):
            old, new = before.row(index).tolist(), after.row(index).tolist()
            now, data = read.decode(new), text.encode()
            documents, exact = documents + 1, exact + (now == data)
            same = now == removal.before.decode(old)
            lost = not read.unknown.isdisjoint(new)
            if not same and not lost:
                raise SutureError(
                    f"an edited tokenizer must spell what the old one does; this one spells {text[:40]!r} "
                    "otherwise; leave some entries in"
                )
            alike, unspelled = alike + (same and not lost), unspelled + lost
            progress(len(data))
    return Proof("", "", documents, exact, alike, unspelled)


def _agreed(removal: Removal, read: Tokenizer, bare: Read, texts: list[str]) -> Encoded:
    """Ids of texts by the file, which the library alone and the tokenizer in memory must give too."""
    found = read.encode_batch(texts)
    sides = {
        "the tokenizer in memory": removal.after.encode_batch(texts).ids,
        removal.edited.library: np.array([token for row in bare(texts) for token in row], np.int32),
    }
    for side, ids in sides.items():
        if not np.array_equal(found.ids, ids):
            raise SutureError(
                f"an edited file must encode as {side} does; this one does not; use another --mode, or "
                "report it"
            )
    made = np.intersect1d(found.ids, removal.ids)
    if len(made):
        raise SutureError(
            f"a removed entry must not come back; the edited file still gives {made[0]}; leave it out"
        )
    return found
