"""What the report is drawn from: its colours, numbers, tokens, texts, bars, and figures told from lists."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.audit import Outcome
from workbench.display import faithful
from workbench.findings import Finding
from workbench.report.blocks import split, stacked
from workbench.report.cells import Scale, digits, number, shown, token_cell
from workbench.report.palettes import CATEGORICAL, OTHER, SEQUENTIAL, contrast, ink, sequential


def test_colours_can_be_read():
    style = Path(__file__).resolve().parents[3] / "workbench" / "report" / "templates" / "style.css.j2"
    themes = re.findall(r":root \{(.*?)\}", style.read_text(encoding="utf-8"), re.DOTALL)
    assert len(themes) == 2
    for theme in themes:
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", theme))
        for name in ("text", "muted", "link", "flag", "warn", "info"):
            assert contrast(colours[name], colours["page"]) >= 4.5, name
            assert contrast(colours[name], colours["panel"]) >= 4.5, name
        for name in ("bar", "focus"):
            assert contrast(colours[name], colours["page"]) >= 3, name
    for fill in (*CATEGORICAL, OTHER, *(sequential(step / 200) for step in range(201))):
        assert contrast(ink(fill), fill) >= 4.5
    assert [sequential(step / 9) for step in range(10)] == list(SEQUENTIAL)
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.01)  # a pair that WCAG's notes name


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32) | st.none(), max_size=5))
def test_numbers_can_be_read_back(values):
    places = digits(values)
    for value in values:
        text = number(value, places)
        if value is None:
            assert text == "–"
        else:
            assert float(text.replace(",", "")) == pytest.approx(value, abs=0.5 * 10**-places, rel=0.06)
            assert (float(text.replace(",", "")) == 0) == (value == 0)


@given(st.lists(st.floats(-1e6, 1e6) | st.none(), max_size=6))
def test_greater_values_are_brighter(values):
    scale = Scale.of(values)
    filled = sorted((value, scale.fill(value)) for value in values if value is not None)
    bright = [sum(bytes.fromhex(fill[1:3] + fill[3:5])) for _, fill in filled]
    assert bright == sorted(bright)


@given(st.binary(max_size=2000))
def test_a_token_is_shown_whole_or_says_that_it_is_cut(piece):
    cell = token_cell(piece)
    text = "".join(part for part, _ in cell.token)
    whole = faithful(piece)
    assert text == whole or (
        text.endswith(f"… ({len(piece):,} bytes)") and whole.startswith(text.partition("…")[0])
    )
    assert len(text) < 200


@given(st.text(st.characters(exclude_categories=("Cn",))))
def test_a_text_is_shown_without_controls(text):
    assert all(character.isprintable() or character.isspace() for character in shown(text))
    assert "\n" not in shown(text)


@given(
    st.dictionaries(st.text(min_size=1), st.lists(st.integers(0, 10**6), min_size=2, max_size=2), min_size=1)
)
def test_bars_keep_their_numbers(parts):
    block = stacked("t", parts, ["a", "b"], "", "")
    totals = [sum(column) for column in zip(*parts.values(), strict=True)]
    assert len(block.bars) == sum(total > 0 for total in totals)
    for bar in block.bars:
        total = totals["ab".index(bar.name)]
        assert sum(segment.width for segment in bar.segments) == pytest.approx(100, abs=0.01)
        counts = {name: values["ab".index(bar.name)] for name, values in parts.items()}
        for segment in bar.segments:
            assert segment.width == pytest.approx(100 * counts[segment.label] / total, abs=0.001)
    looks = [(part.fill, part.hatched) for part in block.legend if part.label != "other"]
    assert (len(looks) <= 14 and len(set(looks)) == len(looks)) or len(looks) > 14


def test_figures_and_lists_are_told_apart():
    rows = [
        Finding("a", "x", "once", 1.0),
        Finding("b", "x", "once", 1.0),
        Finding("a", "x", "often", 1.0),
        Finding("a", "x", "often", 2.0),
        Finding("b", "x", "often", 1.0),
        Finding("a", "x", "entry", 1.0, token_id=3),
        Finding("a", "x", "tongue", 1.0, language="de"),
        Finding("a", "x", "tongue", 1.0, language="en"),
    ]
    single, listed = split(Outcome(rows).table())
    assert single["measure"].to_list() == ["once", "once", "tongue", "tongue"]
    assert listed["measure"].to_list() == ["often", "often", "often", "entry"]
