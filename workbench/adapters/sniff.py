"""What a file is, told from its content; its name is only a hint."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import regex

from workbench.errors import UnreadableFile, UnsafeFile

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 512 * 2**20
"""Largest tokenizer file that is read whole; the largest known is a tenth of this."""

RANK_LINE = regex.compile(rb"[A-Za-z0-9+/]+={0,2} \d+\s*")
JSON_HINTS = {
    "tekken": regex.compile(rb'"(default_vocab_size|num_vocab_tokens)"'),
    "tokenizer.json": regex.compile(rb'"(added_tokens|truncation)"\s*:'),
}
"""Keys near the start that tell a large file's kind before it is parsed, which its reader does anyway."""

RWKV_LINE = regex.compile(rb"\d+ b?(['\"]).*\1 \d+\s*")


def sniff(path: Path) -> str:
    """The format of a file.

    Returns:
        ``gguf``, ``tokenizer.json``, ``tekken``, ``vocab.json``, ``spm``, ``tiktoken``, ``rwkv`` or
        ``vocab.txt``.

    Raises:
        UnsafeFile: a pickle or an archive of one.
        UnreadableFile: missing, too large, empty, or none of these.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile(
                f"a tokenizer must be a regular file or a directory; {path} is a pipe, a socket or a device; "
                "save what it gives to a file first"
            )
        size = status.st_size
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise UnreadableFile(
            f"a tokenizer must be a readable file or directory; {path} is not "
            f"({error.strerror or error}); check the path"
        ) from None
    _refuse(path, head)
    if head.startswith(b"GGUF"):
        return "gguf"
    if size > LIMIT:
        raise UnreadableFile(
            f"a tokenizer file must be at most {LIMIT >> 20} MiB; {path} has {size >> 20} MiB; "
            "give the tokenizer's own file, not weights or a corpus"
        )
    if not head:
        raise UnreadableFile(f"a tokenizer file must hold something; {path} is empty; fetch it again")
    if head.lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"{"):
        hinted = next((kind for kind, mark in JSON_HINTS.items() if mark.search(head)), None)
        return hinted or _json_kind(path)
    if head[:1] == b"\n" and b"\x00" in head:
        return "spm"
    return _text_kind(path, head)


def _refuse(path: Path, head: bytes) -> None:
    pickled = head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
    archive = head.startswith(b"PK\x03\x04")
    if pickled or archive or head.startswith((b"(dp0", b"ccopy_reg")):
        what = "an archive such as PyTorch writes" if archive else "a pickle"
        raise UnsafeFile(
            f"a tokenizer must be data that runs nothing when read; {path} is {what}; "
            "export it as tokenizer.json, a SentencePiece model or a rank file"
        )


def _json_kind(path: Path) -> str:
    try:
        doc = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(
            f"a JSON tokenizer must be complete; {path} breaks off or is damaged "
            f"({str(error)[:120]}); fetch it again"
        ) from None
    if isinstance(doc.get("model"), dict):
        return "tokenizer.json"
    if isinstance(doc.get("vocab"), list) and isinstance(doc.get("config"), dict):
        return "tekken"
    if doc and all(isinstance(value, int) for value in doc.values()):
        return "vocab.json"
    raise UnreadableFile(
        f"a JSON tokenizer must be a tokenizer.json, a tekken.json or a vocab.json; {path} has the keys "
        f"{', '.join(map(repr, list(doc)[:6]))}; name the tokenizer's own file"
    )


def _text_kind(path: Path, head: bytes) -> str:
    first = head.split(b"\n")[0]
    if RANK_LINE.fullmatch(first):
        return "tiktoken"
    if RWKV_LINE.fullmatch(first):
        return "rwkv"
    if first.startswith(b"#version"):
        raise UnreadableFile(
            f"merges need their vocabulary; {path} holds merges alone; "
            "give the folder that also has vocab.json"
        )
    try:
        head[: head.rfind(b"\n") + 1 or None].decode()
    except UnicodeDecodeError:
        raise UnreadableFile(
            f"a tokenizer must be in a known format (tokenizer.json, SentencePiece, tiktoken, Tekken, GGUF, "
            f"vocab.txt, RWKV); {path} is in none of these; convert it first"
        ) from None
    if b"\x00" in head or max(map(len, head.split(b"\n"))) > 512:
        raise UnreadableFile(
            f"a vocab.txt must hold one entry a line; {path} does not look like one; "
            "name the tokenizer's own file"
        )
    return "vocab.txt"
