"""Parts of speech and morphological features of single words, by an installed spaCy pipeline."""

from __future__ import annotations

from importlib import metadata

import polars as pl

_NEEDLESS = ("parser", "ner", "senter", "lemmatizer", "textcat", "entity_linker")


def pipeline(language: str) -> str | None:
    """The name of an installed spaCy pipeline of a language, the smallest of several; None without one.

    It is looked up in the declarations of installed packages, without importing spaCy.
    """
    names = sorted(point.name for point in metadata.entry_points(group="spacy_models"))
    fitting = [name for name in names if name.partition("_")[0] == language]
    return next((name for name in fitting if name.endswith("_sm")), fitting[0] if fitting else None)


def tagged(language: str, frame: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """Fills ``pos`` and ``features`` of a lexicon's entries, each word seen alone.

    Args:
        language: its code.
        frame: entries with the columns of ``lexicon.SCHEMA``.

    Returns:
        The entries, and the pipeline with its version; where none is installed, the entries as they were
        and None. A word that the pipeline takes for several tokens keeps its nulls.
    """
    name = pipeline(language)
    if name is None or not frame.height:
        return frame, None
    import spacy  # noqa: PLC0415 takes seconds

    nlp = spacy.load(name, exclude=list(_NEEDLESS))
    docs = [doc if len(doc) == 1 else None for doc in nlp.pipe(frame["word"].to_list())]
    pos = [None if doc is None else doc[0].pos_ or None for doc in docs]
    features = [None if doc is None else str(doc[0].morph) or None for doc in docs]
    filled = frame.with_columns(
        pl.Series("pos", pos, pl.String()), pl.Series("features", features, pl.String())
    )
    return filled, f"{name} {nlp.meta.get('version')}, without context"
