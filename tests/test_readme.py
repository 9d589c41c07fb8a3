"""The commands and the code that README and CONTRIBUTING show are run as they stand."""

import os
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import regex

ROOT = Path(__file__).parent.parent
BLOCK = regex.compile(r"^```(\w*)\n(.*?)^```$", regex.MULTILINE | regex.DOTALL)


def blocks(name: str, language: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return [body for kind, body in BLOCK.findall(text) if kind == language]


def commands() -> list[str]:
    lines = [line for body in blocks("README.md", "console") for line in body.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    try:
        metadata.distribution("mistral-common")
    except metadata.PackageNotFoundError:
        pytest.skip("mistral-common is not installed: run make test")
    return tmp_path_factory.mktemp("readme")


def test_there_is_something_to_run() -> None:
    assert len(commands()) >= 8
    assert all(command.startswith("suture ") for command in commands())


def test_each_command_answers_in_order(place) -> None:
    for command in commands():
        words = [sys.executable, "-m", "workbench", *shlex.split(command)[1:]]
        result = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=300, check=False)
        assert result.returncode == 0, f"{command}\n{result.stderr}"
        assert result.stdout
    assert (place / "runs" / "first" / "report.html").exists()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_each_piece_of_python_runs(place, name) -> None:
    for body in blocks(name, "python"):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        result = subprocess.run(
            [sys.executable, "-c", body],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, f"{body}\n{result.stderr}"


def test_the_targets_that_readme_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {
        line.split()[1]
        for body in blocks("README.md", "")
        for line in body.splitlines()
        if line[:5] == "make "
    }
    assert named == {"demo", "test"}
    assert all(regex.search(rf"^{target}:", makefile, regex.MULTILINE) for target in named)
