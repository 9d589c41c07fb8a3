"""Lexicons that were read and are written, to be read again: Parquet with everything, or plain TSV."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from workbench.errors import SutureError, UnreadableFile
from workbench.lexicon import LEDGER, SCHEMA, MorphLexicon

_KEY = "suture.lexicon"


def write_lexicon(lexicon: MorphLexicon, path: Path) -> None:
    """Writes entries under a temporary name, then renames the file.

    Parquet keeps all columns, the ledger, the source with its digest, the licence and the notes. TSV, which
    people and other programs read, keeps word, morphs and language.

    Raises:
        SutureError: the name ends in neither ``.parquet`` nor ``.tsv``, or the file cannot be written.
    """
    if path.suffix not in (".parquet", ".tsv"):
        raise SutureError(
            f"a lexicon is written as Parquet or TSV; got {path}; give a name that ends in .parquet or .tsv"
        )
    if path.exists() and path.resolve() == Path(lexicon.source.partition("#")[0]).resolve():
        raise SutureError(f"a lexicon must not be written over its source, {path}; choose another name")
    writing = path.with_name(f".{path.name}.writing")
    try:
        if path.suffix == ".tsv":
            columns = (pl.col("word"), pl.col("morphs").list.join(" "), pl.col("language"))
            lexicon.frame.select(columns).write_csv(
                writing, separator="\t", include_header=False, quote_style="never"
            )
        else:
            lexicon.frame.write_parquet(writing, metadata={_KEY: json.dumps(_about(lexicon))})
        writing.replace(path)
    except OSError as error:
        writing.unlink(missing_ok=True)
        raise SutureError(
            f"a lexicon's file must be writable; {path} is not ({error.strerror}); choose another"
        ) from None


def _about(lexicon: MorphLexicon) -> dict[str, object]:
    return {
        "source": lexicon.source,
        "digest": lexicon.digest,
        "licence": lexicon.licence,
        "notes": list(lexicon.notes),
        "ledger": lexicon.ledger.to_dicts(),
    }


def read_kept(path: Path, digest: str) -> MorphLexicon:
    """A lexicon that ``write_lexicon`` wrote as Parquet.

    Raises:
        UnreadableFile: it is another Parquet file, or damaged.
    """
    try:
        frame = pl.read_parquet(path).select([pl.col(name).cast(kind) for name, kind in SCHEMA.items()])
        about = json.loads(pl.read_parquet_metadata(path).get(_KEY, "{}"))
        left = pl.DataFrame(about.get("ledger", []), LEDGER)
        notes = tuple(str(note) for note in about.get("notes", []))
        licence, source = about.get("licence"), about.get("source")
    except (OSError, ValueError, AttributeError, TypeError, pl.exceptions.PolarsError) as error:
        reason = str(error)[:100]
        raise UnreadableFile(
            f"a Parquet lexicon must be one that suture lexicon -o wrote; {path} is not ({reason}); "
            "write it again"
        ) from None
    said = (f"kept from {source}, SHA-256 {about.get('digest')}",) if source else ()
    return MorphLexicon(
        path.stem, str(path), frame, left, digest, licence if isinstance(licence, str) else None, said + notes
    )
