from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from typer.testing import CliRunner

from tests import builders
from workbench.cli import build
from workbench.commands.pieces import BAR, side_by_side
from workbench.display import faithful
from workbench.errors import SutureError
from workbench.segmentation import Segmentation


@pytest.fixture(scope="module", name="files")
def files_fixture(tmp_path_factory):
    """Three tokenizers: byte-level, WordPiece, and one that puts a space before the text."""
    folder = tmp_path_factory.mktemp("tokenizers")
    made = {
        "bytes": builders.byte_level(
            [b"un", b"believ", b"ab", b"le"],
            [(b"u", b"n"), (b"l", b"e"), (b"a", b"b")],
            special=["<end>"],
        ),
        "words": builders.wordpiece(["un", "##believable", "cafe", "a"]),
        "marked": builders.metaspace(["▁", "a", "b", "▁a"], ["▁ a"]),
    }
    for name, backend in made.items():
        backend.save(str(folder / f"{name}.json"))
    return {name: str(folder / f"{name}.json") for name in made}


def asked(*arguments, **options):
    done = CliRunner().invoke(build(), ["segment", *arguments], **options)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done


def answered(*arguments, **options):
    return json.loads(asked(*arguments, "--json", **options).stdout)


@pytest.mark.parametrize("text", ["unbelievable", "", " \t\n", "naïve 漢字 🙂", "e\u0301\u202e", "<end>"])
def test_pieces_of_an_exact_segmentation_join_to_the_text(files, text):
    (found,) = answered(text, "--with", files["bytes"])["segmentations"]
    assert found["exact"]
    assert bytes.fromhex("".join(token["bytes"] for token in found["tokens"])) == text.encode()
    assert [token["entry"] for token in found["tokens"]] == [token["bytes"] for token in found["tokens"]]


def test_spans_are_in_the_unit_asked_for(files):
    def spans(unit):
        (found,) = answered("é🙂", "--with", files["bytes"], "--unit", unit)["segmentations"]
        return [(token["start"], token["end"]) for token in found["tokens"]]

    assert spans("byte") == [(index, index + 1) for index in range(6)]
    assert spans("codepoint") == [(0, 1)] * 2 + [(1, 2)] * 4
    assert spans("utf16") == [(0, 1)] * 2 + [(1, 3)] * 4
    assert spans("grapheme") == [(0, 1)] * 2 + [(1, 2)] * 4


def test_what_a_normaliser_and_an_inventory_lose_is_reported(files):
    (found,) = answered("Café\x00 x", "--with", files["words"])["segmentations"]
    assert not found["exact"]
    assert found["unknown"] == [1]
    assert found["dropped"] == [[5, 6]]
    assert [high > 4 for _, high in found["uncovered"]] == [True] * len(found["uncovered"])
    assert [bytes.fromhex(token["entry"]) for token in found["tokens"]] == [b"cafe", b"[UNK]"]
    assert [bytes.fromhex(token["bytes"]).decode() for token in found["tokens"]] == ["Café", "x"]
    printed = asked("Café\x00 x", "--with", files["words"]).stdout
    assert "entry cafe" in printed
    assert "dropped" in printed
    assert "1 for text without an entry" in printed


def test_a_space_that_the_text_lacks_is_reported(files):
    (found,) = answered("ab", "--with", files["marked"])["segmentations"]
    assert found["synthetic"] == [0]
    assert found["tokens"][0]["note"] == "space not in the text"
    assert "1 with a space that the text lacks" in asked("ab", "--with", files["marked"]).stdout


def test_two_are_compared_with_the_first_as_reference(files):
    found = answered("unbelievable", "--with", files["bytes"], "--with", files["words"])
    one, other = (
        {token["end"] for token in row["tokens"]} - {len("unbelievable")} for row in found["segmentations"]
    )
    (compared,) = found["comparisons"]
    assert (compared["reference"], compared["name"]) == ("bytes", "words")
    assert compared["shared"] == sorted(one & other) == [2]
    assert compared["missed"] == sorted(one - other)
    assert compared["false"] == []
    assert (compared["precision"], compared["recall"]) == (1.0, pytest.approx(1 / len(one)))
    assert [(chunk["start"], chunk["end"]) for chunk in compared["chunks"]] == [(0, 2), (2, 12)]


def test_each_further_segmenter_is_compared_and_equal_names_are_told_apart(files):
    found = answered("a b", *["--with", files["bytes"]] * 3)
    assert [row["name"] for row in found["segmentations"]] == ["bytes", "bytes (2)", "bytes (3)"]
    assert [row["name"] for row in found["comparisons"]] == ["bytes (2)", "bytes (3)"]
    assert "the same pieces" in asked("a b", *["--with", files["bytes"]] * 2).stdout


def test_crossing_chunks_are_marked(files, tmp_path):
    path = tmp_path / "crossing.json"
    builders.byte_level([b"nb"], [(b"n", b"b")]).save(str(path))
    found = answered("unbe", "--with", files["bytes"], "--with", str(path))["comparisons"][0]
    assert found["crossing"] == [[0, 1]]
    assert [chunk["crosses"] for chunk in found["chunks"]] == [True, False]
    printed = asked("unbe", "--with", files["bytes"], "--with", str(path)).stdout
    (row,) = [line.split() for line in printed.splitlines() if line.strip().startswith("0–3")]
    assert row == ["0–3", "un│b", "u│nb", "1"]


def test_undefined_scores_are_said_to_be_so(files):
    assert answered("a", *["--with", files["bytes"]] * 2)["comparisons"][0]["precision"] is None
    assert "precision undefined" in asked("a", *["--with", files["bytes"]] * 2).stdout


def test_special_token_text_is_data_unless_asked_for(files):
    plain = answered("<end>", "--with", files["bytes"])["segmentations"][0]["tokens"]
    control = answered("<end>", "--with", files["bytes"], "--control")["segmentations"][0]["tokens"]
    assert (len(plain), len(control)) == (5, 1)


def test_a_segmenter_without_control_tokens_refuses_them():
    pytest.importorskip("spacy", reason="spaCy is not installed")
    with pytest.raises(SutureError, match="--control needs a tokenizer with control tokens"):
        asked("a", "--with", "spacy:en", "--control")


def test_a_segmenter_without_inventory_is_taken(files):
    pytest.importorskip("spacy", reason="spaCy is not installed")
    found = answered("I don't", "--with", "spacy:en", "--with", files["bytes"])
    assert [token["shown"] for token in found["segmentations"][0]["tokens"]] == ["I", "do", "n't"]
    assert found["segmentations"][0]["tokens"][0]["id"] is None
    assert asked("I don't", "--with", "spacy:en", "--with", files["bytes"]).stdout


def test_a_long_text_is_shown_in_part_and_answered_whole(files):
    done = asked("x" * 1000, *["--with", files["bytes"]] * 2)
    assert "the first 200 are shown" in done.stderr
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("x".ljust(13))]
    assert rows == [*map(str, range(200))] * 2
    assert done.stdout.split("\n\n")[0].count("x") <= 400
    found = answered("x" * 1000, "--with", files["bytes"])["segmentations"][0]
    assert len(found["tokens"]) == 1000


def test_standard_input_is_taken_byte_for_byte(files):
    assert answered("-", "--with", files["bytes"], input="a\r\nb\n")["text"] == "a\r\nb\n"
    with pytest.raises(SutureError, match=r"must be UTF-8; byte 0xFF at offset 1 is not"):
        asked("-", "--with", files["bytes"], input=b"a\xff")


def test_a_lone_surrogate_is_refused_from_a_real_command_line(files):
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "segment", b"a\xff", "--with", files["bytes"]],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"a lone surrogate U+DCFF" in done.stderr


@pytest.mark.vocabs
def test_real_tokenizers_are_set_side_by_side(need):
    specs = [str(need(name)) for name in ("cl100k", "o200k", "bert")]
    options = [word for spec in specs for word in ("--with", spec)]
    text = "The unbelievably naïve 漢字 🙂 costs 1,000 €"
    found = answered(text, *options)
    assert [row["exact"] for row in found["segmentations"]] == [True, True, False]
    for row in found["segmentations"][:2]:
        assert bytes.fromhex("".join(token["bytes"] for token in row["tokens"])).decode() == text
    lines = asked(text, *options).stdout.split("\n\n")[0].splitlines()
    assert len(lines) % 3 == 0 or "" in lines


# The pieces under one another


@st.composite
def several(draw):
    text = draw(st.text("abcde 漢é", min_size=1, max_size=30)).encode()
    offsets = st.sets(st.integers(0, len(text)))
    sets = draw(st.lists(offsets, min_size=1, max_size=3))
    return [Segmentation.from_cuts(text, sorted(cuts | {0, len(text)})) for cuts in sets]


@given(several(), st.integers(12, 90))
def test_each_row_holds_the_text_and_every_cut_and_fits(cuts, width):
    names = ["a", "longer", "c"][: len(cuts)]
    margin = max(map(len, names))
    lines = [line for line in side_by_side(names, cuts, width) if line]
    assert max(map(cell_len, lines)) <= max(width, margin + 2 + 8)
    for row, cut in enumerate(cuts):
        cells = [line[margin + 2 :] for line in lines[row :: len(cuts)]]
        pieces = list(map(faithful, cut.pieces))
        assert "".join(cells).replace(BAR, "").replace(" ", "") == "".join(pieces)
        if width >= 80:  # nothing is chopped, so the bars are the cuts
            found = [part.strip() for cell in cells for part in cell.split(BAR)]
            assert [part for part in found if part] == pieces


@given(several())
def test_cuts_of_all_stand_in_one_column(cuts):
    lines = side_by_side(["x"] * len(cuts), cuts, 10_000)
    assert len(lines) == len(cuts)
    shared = set.intersection(*(set(cut.cuts.tolist()) for cut in cuts))

    def bars(line):
        cells, found = 0, set()
        for character in line:
            found |= {cells} if character == BAR else set()
            cells += cell_len(character)
        return found

    assert len(set.intersection(*map(bars, lines))) >= len(shared)


def test_text_under_no_token_stands_in_its_own_brackets():
    import numpy as np

    holed = Segmentation(b"ab cd", np.array([0, 3]), np.array([2, 5]), exact=False)
    whole = Segmentation.from_cuts(b"ab cd", [0, 2, 5])
    assert side_by_side(["one", "two"], [whole, holed], 80) == ["one │ab│␣cd   │", "two │ab│‹␣›│cd│"]
