from __future__ import annotations

import csv
import unicodedata

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench import display
from workbench.errors import SutureError

TOKENS = [
    b'"', b",", b"\t", b"\n", b"\r", b"\r\n", b"null", b"NA", b"", b" ", b"=1+1", b"+1", b"-1", b"@x", b"'",
    b"\x00", b"\xe2\x82", b'a",b', "\u202eabc".encode(), "✓ é".encode(), b"1e10", b"007",
]  # fmt: skip

characters = st.one_of(
    st.characters(codec="utf-8"),
    st.sampled_from("␣⏎⇥◌⟨⟩ \n\t\r\u0301\u093f\u200d\u200b\u202e\ufe0f\u3164\u2800\ufffd\u2400U+20E"),
)
pieces = st.one_of(
    st.binary(max_size=12),
    st.text(characters, max_size=12).map(str.encode),
    st.tuples(st.text(characters, max_size=6), st.binary(max_size=3), st.text(characters, max_size=6)).map(
        lambda parts: parts[0].encode() + parts[1] + parts[2].encode()
    ),
)


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        (b" a", "␣a"),
        (b"\n\t\r", "⏎⇥⟨U+000D⟩"),
        (b"\xe2\x82", "⟨E2⟩⟨82⟩"),
        (b"\xed\xa0\x80", "⟨ED⟩⟨A0⟩⟨80⟩"),
        ("a\u00a0b".encode(), "a⟨U+00A0⟩b"),
        ("\u202ecba\u202c".encode(), "⟨U+202E⟩cba⟨U+202C⟩"),
        ("\u0301e\u0301".encode(), "◌\u0301e\u0301"),
        (" \u0301".encode(), "␣◌\u0301"),
        ("\u200d\u093f".encode(), "⟨U+200D⟩◌\u093f"),
        ("\u0301\u0302".encode(), "◌\u0301\u0302"),
        ("␣⟨E2⟩◌".encode(), "⟨U+2423⟩⟨U+27E8⟩E2⟨U+27E9⟩⟨U+25CC⟩"),
        ("\ufffd\u2420".encode(), "⟨U+FFFD⟩⟨U+2420⟩"),
        ("\U000e0041\ue000\u0378\ufe0f\u3164\u034f".encode(),
         "⟨U+E0041⟩⟨U+E000⟩⟨U+0378⟩⟨U+FE0F⟩⟨U+3164⟩⟨U+034F⟩"),
        (b"", ""),
        ("日本 naïve".encode(), "日本␣naïve"),
    ],
)  # fmt: skip
def test_each_kind_of_oddity_has_its_mark(piece, shown):
    assert display.faithful(piece) == shown


@given(pieces)
@example(b"\xe2\x82\xac\xe2\x82")
@example("⟨U+0041⟩".encode())
def test_what_is_shown_gives_back_the_exact_bytes(piece):
    assert display.parse(display.faithful(piece)) == piece


@given(pieces)
def test_nothing_invisible_is_ever_shown(piece):
    shown = display.faithful(piece)
    previous = ""
    for character in shown:
        kind = unicodedata.category(character)
        # Python's tables are older than regex's, so "unassigned" is not asked of them.
        assert kind[0] not in "CZ" or kind == "Cn"
        assert character == "␣" or not 0x2400 <= ord(character) <= 0x243F
        assert character != "\ufffd"
        assert kind[0] != "M" or previous not in ("", "␣", "⏎", "⇥", "⟩")
        previous = character
    assert not set(display.readable(piece)) & {"\u202e", "\n", "\t", "\r", "\x1b", "\ufffd", "\u200b"}


@given(st.lists(st.none() | pieces, max_size=6))
def test_a_column_is_shown_as_its_entries_are(column):
    shown = display.faithful_column(pl.Series("token", column, dtype=pl.Binary))
    assert shown.name == "token"
    assert shown.dtype == pl.String
    assert shown.to_list() == [None if piece is None else display.faithful(piece) for piece in column]


def test_column_and_scalar_agree_on_every_character_of_the_first_planes():
    planes = [*range(0xD800), *range(0xE000, 0x10000), *range(0x10000, 0x11000), *range(0x1D000, 0x1FC00)]
    column = [chr(point).encode() for point in [*planes, *range(0xE0000, 0xE0200), 0x10FFFF]]
    shown = display.faithful_column(pl.Series(column, dtype=pl.Binary))
    assert shown.to_list() == list(map(display.faithful, column))


@pytest.mark.vocabs
def test_a_real_vocabulary_is_shown_and_parsed_back_whole(need):
    from workbench.adapters import load

    pieces = load(need("gpt2")).inventory.frame["bytes"]
    assert list(map(display.parse, display.faithful_column(pieces))) == pieces.to_list()


def test_plain_rows_do_not_go_through_python(monkeypatch):
    seen = []
    monkeypatch.setattr(display, "faithful", lambda piece: seen.append(piece) or "odd")
    column = [
        b" the",
        "日本語".encode(),
        "हिन्दी".encode(),
        b"\n\n",
        b"\xff",
        None,
        "\u0301".encode(),
        "€".encode(),
    ]
    display.faithful_column(pl.Series(column, dtype=pl.Binary))
    assert seen == [b"\xff", "\u0301".encode()]


@pytest.mark.parametrize("shown", ["⟨", "a⟩", "⟨E⟩", "⟨U+D800⟩", "⟨U+110000⟩", "⟨U+20⟩", "⟨e2⟩"])
def test_a_bracket_that_names_nothing_is_refused(shown):
    with pytest.raises(SutureError, match="brackets must name a character"):
        display.parse(shown)


def test_a_surrogate_cannot_be_parsed():
    with pytest.raises(SutureError, match="must be valid Unicode"):
        display.parse("a\ud800")


@pytest.mark.parametrize("emoji", ["👩‍👩‍👧‍👦", "❤️‍🔥", "🧑🏽‍🚀", "1️⃣", "🇩🇪", "👍🏿", "✈️"])
def test_readable_keeps_spaces_and_emoji_whole(emoji):
    assert display.readable(f" an {emoji} here".encode()) == f" an {emoji} here"


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        ("a\u200db", "a⟨U+200D⟩b"),
        ("👩\u200d", "👩⟨U+200D⟩"),
        ("\u200d👩", "⟨U+200D⟩👩"),
        ("a\ufe0f", "a⟨U+FE0F⟩"),
        ("x\ny ", "x⏎y "),
        ("🏴\U000e0067\U000e007f", "🏴⟨U+E0067⟩⟨U+E007F⟩"),
    ],
)
def test_readable_names_joiners_outside_emoji(piece, shown):
    assert display.readable(piece.encode()) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("word", "w•••"),
        (" two words", " t•• w••••"),
        ("f*ck (it)", "f••• (i••"),
        ("é\u0301té", "é\u0301••"),
        ("🖕🏿!", "••"),
        ("a\u202eb", "a••"),
        ("\u202eab", "⟨U+202E⟩a•"),
        ("", ""),
    ],
)
def test_masking_keeps_the_first_letter_of_each_word_alone(text, shown):
    assert display.masked(text) == shown


def test_cells_that_a_spreadsheet_would_run_are_led_by_an_apostrophe():
    cells = ["=1", "+1", "-1", "@x", "\tx", "\rx", "\n=1", "＝1", "a=1", " =1", "", None, "'=1"]
    assert display.csv_safe(pl.Series(cells)).to_list() == [
        "'=1", "'+1", "'-1", "'@x", "'\tx", "'\rx", "'\n=1", "'＝1", "a=1", " =1", "", None, "'=1",
    ]  # fmt: skip


@given(st.lists(pieces, min_size=1, max_size=8))
@example(TOKENS)
def test_tokens_come_back_exactly_through_the_hexadecimal_column(tmp_path_factory, tokens):
    path = tmp_path_factory.mktemp("csv") / "tokens.csv"
    frame = pl.DataFrame({"id": range(len(tokens)), "token": pl.Series(tokens, dtype=pl.Binary)})
    display.write_csv(frame, path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "token_hex", "token_shown"]
    assert [bytes.fromhex(row["token_hex"]) for row in rows] == tokens
    assert not [row for row in rows if row["token_shown"][:1] in tuple("=+-@\t\r\n")]
    again = pl.read_csv(path, schema_overrides={"token_hex": pl.String})
    assert again["token_hex"].str.decode("hex").to_list() == tokens


def test_null_and_empty_differ_and_numbers_and_categories_stay(tmp_path):
    path = tmp_path / "t.csv"
    frame = pl.DataFrame(
        {
            "=b": pl.Series([None, b""], dtype=pl.Binary),
            "n": [-1, 2],
            "s": ["=x", None],
            "c": pl.Series(["-a", "b"], dtype=pl.Enum(["-a", "b"])),
        }
    )
    display.write_csv(frame, path)
    assert path.read_text(encoding="utf-8").splitlines() == [
        '"\'=b_hex","\'=b_shown","n","s","c"',
        ',,-1,"\'=x","\'-a"',
        '"","",2,,"b"',
    ]
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_csv_file_cannot_hold_is_refused(tmp_path):
    with pytest.raises(SutureError, match="must have flat columns; l hold"):
        display.write_csv(pl.DataFrame({"l": [[1]]}), tmp_path / "t.csv")
    clash = pl.DataFrame({"t": pl.Series([b"a"], dtype=pl.Binary), "t_hex": ["b"]})
    with pytest.raises(SutureError, match="t_hex would come twice"):
        display.write_csv(clash, tmp_path / "t.csv")
    with pytest.raises(SutureError, match="must be written to a writable place"):
        display.write_csv(pl.DataFrame({"a": [1]}), tmp_path / "none" / "t.csv")
    assert list(tmp_path.iterdir()) == []
