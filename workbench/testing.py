"""Contract checks for segmenters and tokenizers, ours and plugins' alike.

A plugin's own test needs three lines:

    from workbench.testing import check_tokenizer

    def test_contract():
        check_tokenizer(my_adapter.from_path("my.vocab"))

Each check raises ``ContractBroken``, an ``AssertionError``, that names the text and what it gave.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import SutureError
from workbench.segmentation import Segmentation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from workbench.inventory import Inventory
    from workbench.segmentation import Segmenter
    from workbench.tokenizer import Tokenizer

HARD: tuple[str, ...] = (
    "",
    " ",
    "   ",
    "\t\n \r\n",
    "a",
    " a",
    "a  b ",
    "The café cafe\u0301 costs 1\u00a0234,50 €",  # composed and decomposed accents in one text
    "\u1112\u1162\u110b\u116d 해요 각\u1100\u1161\u11a8",  # conjoining jamo beside syllables
    "हिन्दी क्ष्म्य শ্রীলঙ্কা தமிழ் മലയാളം",  # clusters of letters, viramas and vowel signs
    "ภาษาไทย ខ្មែរ မြန်မာ བོད་ཡིག",
    "שָׁלוֹם, العَرَبِيَّةُ فارسی‌ها",  # right to left, with marks and a joiner
    "日本語、中文。パパとハハ ﾊﾝｶｸ",
    "İSTANBUL ıÇİ straße ﬁne Ⅷ ½",  # grow, shrink or change under case and compatibility
    "👩‍👩‍👧‍👦 🧑🏽‍🚀 👍🏿",
    "🇩🇪🇫🇷🇯🇵",
    "a\x00b\x07c\x1b[0m\x7f\x85",
    "T\x10his is\u00adsoft\u200b",
    "\ufeffbyte order mark",
    "\u0301\u0327 lone marks \u20dd",
    "line\u2028paragraph\u2029vertical\x0bform\x0c",
    "a\u3000b\u2003c\u202fd",  # spaces that are not U+0020
    "a" * 1000,
    " " * 1000,
    "🙂" * 300,
    "def f(x):\n\treturn {'k': [x**2, \"é\"]}  # ok\r\n\n\n",
    "2023-12-31T23:59:59Z 1234567890 3.14e-10",
    "don't I'LL we’ve O'Neill",
    "https://example.org/~a?b=c&d=%20#e",
    "Привет, κόσμος! Žluťoučký kůň; xin chào Việt Nam",
    "mixed русскийlatinΕλληνικά漢字कखग",
    "\ue000\uf8ff\U000f0000 private",
    "\ufffe\uffff\U0010ffff\ufdd0",
    "\ufffd replacement",
    "\u2581 \u0120 ## </w> <0x41>",  # what other tools use to show a space, a continuation, a byte
    "<s></s><unk>[UNK][CLS]<|endoftext|><|im_end|>",
    "x\u0335\u0336\u0337\u0338\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308",
)
"""Texts that have broken tokenizers, or what was built on them."""

SURROGATE = "lone \ud83d surrogate"


class ContractBroken(AssertionError):
    """A segmenter does not keep its contract; the message says which part and with which text."""


def check_segmenter(segmenter: Segmenter, texts: Sequence[str] = HARD) -> None:
    """Checks the contract of anything that segments.

    For each text: the cuts lie within it; an exact segmentation's pieces join to it; what is under a
    token, uncovered or absorbed tiles it; spans in characters and UTF-16 units slice the same text;
    segmenting twice, and in a batch, gives the same.

    Args:
        segmenter: the segmenter.
        texts: valid Unicode strings.

    Raises:
        ContractBroken: a part of the contract does not hold.
    """
    if not segmenter.name:
        raise ContractBroken("a segmenter must have a name; got an empty one; give it one to be told by")
    batch = segmenter.segment_batch(list(texts))
    _hold(len(batch) == len(texts), "a batch must give one segmentation a text", f"{len(batch)} results")
    for text, batched in zip(texts, batch, strict=True):
        found = segmenter.segment(text)
        _check_segmentation(text, found)
        _check_units(text, found)
        _hold(_same(found, segmenter.segment(text)), "segmenting twice must give the same", text)
        _hold(_same(found, batched), "a batch must give what single calls give", text)


def check_tokenizer(tokenizer: Tokenizer, texts: Sequence[str] = HARD) -> None:
    """Checks the contract of a tokenizer: that of a segmenter, and what its inventory adds.

    For each text: every id is an entry and no hole, reserved slot or, where its text is not spelled,
    control token; each entry's bytes find it; where nothing is normalised, each token's bytes are those
    under its span (but for a space that the text lacks, and for dropped text); every token that is not
    unknown stands somewhere; ids of an exact segmentation decode to the text,
    and a byte-level tokenizer that normalises and strips nothing is always exact. A lone surrogate is refused
    by sentence. The inventory's digest does not depend on its name or on what was asked of it before.

    Args:
        tokenizer: the tokenizer.
        texts: valid Unicode strings.

    Raises:
        ContractBroken: a part of the contract does not hold.
    """
    check_inventory(tokenizer.inventory)
    for text in texts:  # first of all: with ids from elsewhere nothing below can be asked
        ids = tokenizer.encode(text)
        inside = all(0 <= token_id < tokenizer.inventory.rows_needed for token_id in ids)
        _hold(inside, "ids must lie within the inventory", text)
    check_segmenter(tokenizer, texts)
    for text in texts:
        found = tokenizer.segment(text)
        ids = [] if found.ids is None else found.ids.tolist()
        _hold(ids == tokenizer.encode(text), "segment and encode must give the same ids", text)
        _check_ids(tokenizer, text, ids)
        _check_bytes(tokenizer, text, found, ids)
        control = tokenizer.segment_control(text)
        _check_segmentation(text, control)
        _check_placed(tokenizer, text, found)
        _check_placed(tokenizer, text, control)
        _hold(
            _same(found, tokenizer.segment(text)), "asking for control ids must change no later answer", text
        )
    try:
        tokenizer.segment(SURROGATE)
    except SutureError:
        return
    raise ContractBroken(
        f"a lone surrogate must be refused with a SutureError; {tokenizer.name} takes it; call "
        "workbench.segmentation.utf8 on the text"
    )


def check_inventory(inventory: Inventory, sample: int = 1000) -> None:
    """Checks an inventory by itself.

    Args:
        inventory: the inventory.
        sample: rows, evenly spaced, whose bytes are looked up.

    Raises:
        ContractBroken: a part of the contract does not hold.
    """
    frame, name = inventory.frame, inventory.name
    holes = frame["bytes"].is_null()
    _hold(bool((holes == (frame["kind"] == "gap")).all()), "holes, and they alone, must have no bytes", name)
    _hold(len(inventory) == int((~holes).sum()), "an inventory's length must count its entries", name)
    _hold(len(inventory.pieces) == inventory.rows_needed, "every row must have its piece", name)
    step = max(1, inventory.rows_needed // sample)
    for token_id in range(0, inventory.rows_needed, step):
        piece = inventory.entry(token_id).bytes
        if piece is not None:
            _hold(
                token_id in inventory.find(piece), "an entry's bytes must find it", f"{name}, id {token_id}"
            )
    fresh = replace(inventory, name=f"{name} again")
    _hold(fresh.digest == inventory.digest, "a digest must not depend on name or use", name)
    merges = inventory.merges
    if merges is not None and len(merges):
        inside = bool(((merges >= 0) & (merges < inventory.rows_needed)).all())
        _hold(merges.shape[1:] == (3,) and inside, "merges must be rows of three ids", name)


def _check_segmentation(text: str, found: Segmentation) -> None:
    """Cuts, joining and tiling."""
    data = text.encode()
    _hold(isinstance(found, Segmentation), "a segmenter must give a Segmentation", text)
    _hold(found.text == data, "a segmentation must hold the text as given", text)
    cuts = found.cuts.tolist()
    _hold(cuts == sorted(set(cuts)), "cuts must rise", text)
    _hold(cuts[0] == 0 and cuts[-1] == len(data), "cuts must run from 0 to the end", text)
    if found.exact:
        _hold(b"".join(found.pieces) == data, "exact pieces must join to the text", text)
    under = _painted(np.stack([found.starts, found.ends], axis=1), len(data)) > 0
    layers = [under, _painted(found.uncovered, len(data)), _painted(found.absorbed, len(data))]
    total = np.sum([layer.astype(np.int64) for layer in layers], axis=0)
    _hold(bool((total == 1).all()), "covered, uncovered and absorbed bytes must tile the text", text)
    _hold(bool((_painted(found.dropped, len(data)) <= 1).all()), "dropped spans must not overlap", text)
    for marked in (found.synthetic, found.unknown):
        _hold(all(0 <= index < len(found) for index in marked), "marks must be indices of tokens", text)


def _check_units(text: str, found: Segmentation) -> None:
    """Spans in code points and UTF-16 units slice what the byte spans slice."""
    starts, ends = found.starts.tolist(), found.ends.tolist()
    wide = text.encode("utf-16-le")
    units = zip(found.spans("codepoint").tolist(), found.spans("utf16").tolist(), strict=True)
    for index, ((low, high), (left, right)) in enumerate(units):
        piece = found.text[starts[index] : ends[index]]
        _hold(low <= high and left <= right, "a span must not end before it starts", text)
        _hold(text[low:high].encode("utf-16-le") == wide[2 * left : 2 * right], "units must agree", text)
        _hold((low == high) == (not piece), "an empty span must stay empty in every unit", text)
        _hold(piece in text[low:high].encode(), "a span in characters must hold the token's bytes", text)
        try:
            whole = piece.decode()
        except UnicodeDecodeError:
            continue
        _hold(whole == text[low:high], "a token of whole characters must span just these", text)


def _check_ids(tokenizer: Tokenizer, text: str, ids: list[int]) -> None:
    inventory = tokenizer.inventory
    for token_id in sorted(set(ids)):
        entry = inventory.entry(token_id)
        _hold(entry.kind not in ("gap", "unused"), f"id {token_id}, a {entry.kind}, must not be made", text)
        piece = entry.bytes or b""
        _hold(token_id in inventory.find(piece), f"the bytes of id {token_id} must find it", text)
        if entry.kind == "special" and token_id not in tokenizer.unknown:
            _hold(piece in text.encode(), f"control id {token_id} must not be made of other text", text)


def _check_placed(tokenizer: Tokenizer, text: str, found: Segmentation) -> None:
    ids = [] if found.ids is None else found.ids.tolist()
    lost = [index for index in found.unknown if ids[index] not in tokenizer.unknown]
    _hold(not lost, f"every token must stand somewhere, but tokens {lost[:8]} do not", text)


def _check_bytes(tokenizer: Tokenizer, text: str, found: Segmentation, ids: list[int]) -> None:
    if found.exact:
        _hold(not found.unknown, "an exact segmentation must have no unknown token", text)
        _hold(tokenizer.decode(ids) == text.encode(), "exact ids must decode to the text", text)
        return
    pipeline = tokenizer.pipeline
    normalises = any(step.stage == "normaliser" for step in pipeline.steps)
    lossless = pipeline.byte_level and not (pipeline.prefix_space or normalises or tokenizer.strips)
    _hold(not lossless, "a byte-level tokenizer that normalises nothing must be exact", text)
    if tokenizer.engine.normalise(text).target != found.text:
        return
    for index, (token, low, high) in enumerate(
        zip(ids, found.starts.tolist(), found.ends.tolist(), strict=True)
    ):
        if index in found.unknown:
            continue
        piece = tokenizer.inventory.pieces[token]
        expected = piece[1:] if index in found.synthetic else piece
        kept = np.ones(high - low, np.bool_)
        for start, end in found.dropped.tolist():
            kept[max(start - low, 0) : max(end - low, 0)] = False
        under = np.frombuffer(found.text[low:high], np.uint8)[kept].tobytes()
        _hold(
            under in (expected, *_literally(tokenizer, token)),
            f"token {index} must stand on its own bytes, {piece!r}",
            text,
        )


def _literally(tokenizer: Tokenizer, token: int) -> tuple[bytes, ...]:
    """How a literal or control token may stand in a text besides its bytes: as typed, or normalised."""
    entry = tokenizer.inventory.entry(token)
    if token not in tokenizer.literals and entry.kind not in ("special", "added"):
        return ()
    text = tokenizer.literals.get(token, entry.bytes or b"")
    return text, tokenizer.engine.normalise(text.decode()).target


def _painted(spans: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """How many of the spans (n, 2) hold each byte (size,)."""
    change = np.zeros(size + 1, np.int64)
    np.add.at(change, spans[:, 0], 1)
    np.add.at(change, spans[:, 1], -1)
    return np.cumsum(change)[:size]


def _same(one: Segmentation, other: Segmentation) -> bool:
    pairs = [(getattr(one, key), getattr(other, key)) for key in ("starts", "ends", "absorbed", "dropped")]
    ids = one.ids is other.ids is None or (
        one.ids is not None and other.ids is not None and np.array_equal(one.ids, other.ids)
    )
    plain = all(getattr(one, key) == getattr(other, key) for key in ("text", "exact", "synthetic", "unknown"))
    return ids and plain and all(np.array_equal(left, right) for left, right in pairs)


def _hold(truth: bool, rule: str, text: str) -> None:
    if not truth:
        raise ContractBroken(f"{rule}; it does not for {_short(text)}; correct the adapter")


def _short(text: str) -> str:
    return ascii(text) if len(text) <= 60 else f"{text[:50]!a}… ({len(text)} characters)"
