"""The page of the measures: its example runs, and no measure is missing from it."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "probing.md").read_text(encoding="utf-8")
MODULES = (
    "drift",
    "similarity",
    "geometry",
    "ranks",
    "neighbours",
    "composition",
    "families",
    "codelength",
    "bias",
)
UNSAID = {"centred", "hsic", "among"}
"""Steps of a measure that the page has under another name, or in its example."""


def test_the_example_of_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert any("drift.drift" in block for block in blocks)
    for block in blocks:
        if "drift.drift" in block:
            exec(compile(block, "docs/probing.md", "exec"), {})  # noqa: S102 the page's own example


@pytest.mark.parametrize("name", MODULES)
def test_every_measure_is_on_the_page(name):
    module = importlib.import_module(f"probing.{name}")
    public = {
        key
        for key, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not key.startswith("_")
    }
    said = set(re.findall(r"`(?:\w+\.)?(\w+)`", PAGE))
    assert public - UNSAID <= said | {name}
