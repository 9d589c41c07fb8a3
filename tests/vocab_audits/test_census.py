"""The census against a plain loop over entries and characters."""

from __future__ import annotations

import unicodedata
from collections import Counter

import polars as pl
import pytest
import regex
from fontTools.unicodedata import Scripts, script
from hypothesis import given, settings
from hypothesis import strategies as st

from vocab_audits.census import CATEGORIES, CODE, LANGUAGE_OF, SLICE, census, describe, tally
from workbench.adapters import load
from workbench.characters import Characters
from workbench.inventory import KINDS, POSITIONS, Inventory

NEUTRAL = {"Zyyy", "Zinh", "Zzzz"}
RESERVED_NAMES = [
    *("<unused0>", "<unused_7>", "[unused12]", "<|reserved_special_token_3|>", "<reserved 4>"),
    *("<SPECIAL_20>", "<extra_0>", "<|extra_12|>"),
]
TRAINED_NAMES = [
    *("<extra_id_3>", "<|im_start|>", "[PAD]", "<unused>", "x<unused0>", "<unused0>\n", "unused0"),
    *("<|reserved_special_token|>", "<special_a>", "<extra_>"),
]


def as_text(piece: bytes | None) -> str | None:
    try:
        return None if piece is None else piece.decode()
    except UnicodeDecodeError:
        return None


def is_reserved(text: str) -> bool:
    """The names that makers of models give to free slots, each family by itself."""
    low = text.lower()
    if low.startswith("<unused") and low.endswith(">"):
        return low[7:-1].removeprefix("_").isdecimal()
    if low.startswith("[unused") and low.endswith("]"):
        return low[7:-1].isdecimal()
    if low.startswith("<special_") and low.endswith(">"):
        return low[9:-1].isdecimal()
    if not (low.startswith("<") and low.endswith(">")):
        return False
    inner = low[1:-1].removeprefix("|").removesuffix("|")
    if inner.startswith(("reserved_", "reserved ")):
        return inner[-1].isdecimal() and "\n" not in inner
    return inner.startswith("extra") and inner[5:].removeprefix("_").isdecimal()


def category_of(piece: bytes | None, kind: str) -> str:
    if piece is None:
        return "gap"
    text = as_text(piece)
    if kind == "unused" or (text is not None and is_reserved(text)):
        return "reserved"
    if kind in ("special", "added"):
        return kind
    return category_of_bytes(piece) if text is None else category_of_text(text)


def category_of_bytes(piece: bytes) -> str:
    inside = 0x80 <= piece[0] <= 0xBF
    return "single_byte" if len(piece) == 1 else "misaligned_utf8" if inside else "partial_utf8"


def category_of_text(text: str) -> str:
    if text and all(character.isspace() for character in text):
        return "whitespace"
    blank = ("Zs", "Zl", "Zp", "Cc", "Cf")
    if all(unicodedata.category(character) in blank for character in text):
        return "invisible"
    return "text"


def script_and_mixed(text: str) -> tuple[str, bool]:
    found = Counter(name for name in map(script, text) if name not in NEUTRAL)
    # `most_common` gives the first met of those that are equally frequent.
    return (found.most_common(1)[0][0] if found else "Zyyy"), len(found) > 1


def case_of(text: str) -> str | None:
    categories = [unicodedata.category(character) for character in text]
    upper = sum(name in ("Lu", "Lt") for name in categories)
    lower = categories.count("Ll")
    if upper + lower == 0:
        return None
    if upper == 0:
        return "lower"
    first = next(index for index, character in enumerate(text) if not character.isspace())
    if upper == 1 and categories[first] in ("Lu", "Lt"):
        return "title"
    return "upper" if lower == 0 else "mixed"


def described(piece: bytes | None, kind: str, position: str) -> dict:
    text = as_text(piece)
    main, mixed = script_and_mixed(text or "")
    filled = [character for character in text or "" if not character.isspace()]
    return {
        "bytes": piece,
        "kind": kind,
        "category": category_of(piece, kind),
        "script": None if text is None else main,
        "mixed_script": mixed,
        "language_guess": LANGUAGE_OF.get(main),
        "length": None if piece is None else len(piece),
        "chars": None if text is None else len(text),
        "leading_space": None if piece is None else len(piece) > 1 and piece[0] == 0x20,
        "case": case_of(text or ""),
        "number": bool(filled) and all(unicodedata.category(character) == "Nd" for character in filled),
        "code": text is not None and regex.search(CODE, text) is not None,
        "letters": sum(unicodedata.category(character).startswith("L") for character in text or ""),
        "position": position,
    }


def assert_described(inventory: Inventory, ids=None) -> None:
    table = describe(inventory)
    assert table["token_id"].to_list() == list(range(inventory.rows_needed))
    chosen = range(inventory.rows_needed) if ids is None else ids
    frame = inventory.frame[list(chosen)]
    rows = table[list(chosen)].drop("token_id").iter_rows(named=True)
    entries = frame.select("bytes", "kind", "position").iter_rows()
    for token_id, entry, row in zip(chosen, entries, rows, strict=True):
        assert row == described(*entry), token_id


characters = st.one_of(
    st.sampled_from("aZéßǅʰ0٣ \t\n\u00a0\u200b\u200d\u0301\ufeff{(=<_/&Жя中あア한אبกไ\u0e34🙂\x00\x1c\ue000"),
    st.characters(exclude_categories=["Cs"]),
)
texts = st.text(characters, max_size=8)
pieces = st.one_of(
    texts.map(str.encode),
    st.binary(max_size=4),
    st.sampled_from([*RESERVED_NAMES, *TRAINED_NAMES]).map(str.encode),
    st.tuples(texts, st.integers(1, 3)).map(lambda pair: pair[0].encode()[: -pair[1]]),
    st.tuples(texts, st.integers(1, 3)).map(lambda pair: pair[0].encode()[pair[1] :]),
)
rows = st.lists(
    st.tuples(pieces, st.sampled_from([kind for kind in KINDS if kind != "gap"]), st.sampled_from(POSITIONS)),
    max_size=12,
)


def made(entries, ids=None) -> Inventory:
    columns = dict(zip(("bytes", "kind", "position"), zip(*entries, strict=True), strict=True))
    given_ids = list(range(len(entries)) if ids is None else ids)
    return Inventory.build("made", "test", {"id": given_ids, **columns})


@settings(deadline=None)
@given(rows.filter(bool), st.data())
def test_every_column_is_as_a_loop_over_characters_has_it(entries, data):
    ids = data.draw(st.lists(st.integers(0, 20), unique=True, min_size=len(entries), max_size=len(entries)))
    assert_described(made(entries, ids))


@settings(deadline=None)
@given(rows.filter(bool))
def test_counts_add_up(entries):
    inventory = made(entries)
    outcome = census(inventory)
    table = outcome.table()
    values = {(row["measure"], row["variant"]): row["value"] for row in table.iter_rows(named=True)}
    categories = Counter(category_of(piece, kind) for piece, kind, _ in entries)
    assert {name: values[f"category.{name}", None] for name in CATEGORIES} == {
        name: categories[name] for name in CATEGORIES
    }
    broken = sum(categories[name] for name in ("single_byte", "partial_utf8", "misaligned_utf8"))
    assert values["not_utf8", None] == broken
    text = [as_text(piece) for piece, kind, _ in entries if category_of(piece, kind) == "text"]
    scripts = Counter(script_and_mixed(entry)[0] for entry in text)
    found = {key.removeprefix("script."): value for (key, _), value in values.items() if "script." in key}
    assert found == scripts
    assert values["shape.mixed_script", None] == sum(script_and_mixed(entry)[1] for entry in text)
    assert values["shape.number", None] == sum(
        described(entry.encode(), "piece", "any")["number"] for entry in text
    )
    sizes = sorted(map(len, text))
    middle = (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]) / 2 if sizes else None
    assert values["median_length", "text entries"] == middle
    longest = table.filter(measure="longest_entry")
    assert longest["value"].to_list() == sizes[::-1][:20]
    assert all(len(token.decode()) == size for token, size in longest.select("token", "value").iter_rows())


few = st.tuples(
    st.sampled_from([b"a", b"b", b"\xff", b"ab"]),
    st.sampled_from(["piece", "byte"]),
    st.sampled_from(POSITIONS[:2]),
)


@settings(deadline=None)
@given(st.lists(few, min_size=1, max_size=12))
def test_duplicates_are_groups(entries):
    table = census(made(entries)).table().filter(measure="duplicates")
    full: dict[tuple, list[int]] = {}
    for index, (piece, kind, position) in enumerate(entries):
        full.setdefault((piece, position, kind == "byte"), []).append(index)
    groups = [(piece, ids) for (piece, *_), ids in full.items() if len(ids) > 1]
    bare = Counter(piece for piece, _, _ in entries)
    assert table["value"].to_list() == [len(groups), sum(number > 1 for number in bare.values())]
    assert table["severity"].to_list() == ["warn" if groups else "info", "info"]
    expected = "; ".join(f"bytes {piece.hex()}: ids {', '.join(map(str, ids))}" for piece, ids in groups[:5])
    assert table["evidence"].to_list() == [expected or None, None]


def test_an_inventory_of_more_than_one_slice_is_one_table():
    entries = [(f"{number} слово".encode(), "piece", "any") for number in range(SLICE + 3)]
    assert_described(made(entries), [0, SLICE - 1, SLICE, SLICE + 2])


def test_a_tally_is_by_falling_count_and_leaves_out_what_is_absent():
    column = pl.Series(["b", "c", "b", None], dtype=pl.Enum(["a", "b", "c"]))
    assert tally(column) == [("b", 2), ("c", 1)]


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.text(st.sampled_from("aя中あ한 .\u0301ბ\u0378"), max_size=6)), max_size=8
    )
)
def test_script_is_as_character_by_character(strings):
    names, mixed = Characters.of(pl.Series(strings, dtype=pl.String)).script_of()
    assert list(zip(names, mixed, strict=True)) == [script_and_mixed(text or "") for text in strings]


def test_every_range_of_the_scripts_begins_and_ends_where_it_should():
    points = sorted({*Scripts.RANGES, *(start - 1 for start in Scripts.RANGES[1:]), 0x10FFFF})
    some = [chr(point) for point in points if not 0xD800 <= point < 0xE000]
    names, mixed = Characters.of(pl.Series(some)).script_of()
    alone = [script(character) for character in some]
    assert names.to_list() == ["Zyyy" if name in NEUTRAL else name for name in alone]
    assert not mixed.any()


@pytest.mark.vocabs
@pytest.mark.parametrize(
    ("name", "step"), [("gpt2", 2), ("o200k", 9), ("mistral-v3", 1), ("bert", 2), ("rwkv", 5)]
)
def test_real_inventories_are_described_entry_by_entry(need, name, step):
    inventory = load(need(name)).inventory
    assert_described(inventory, range(0, inventory.rows_needed, step))
