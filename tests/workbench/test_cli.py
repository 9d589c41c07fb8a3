"""The command as a whole: what it loads, what it prints where, and with which status it ends."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests import builders
from workbench import __version__
from workbench.cli import VERBS, build

HEAVY = ("torch", "transformers", "streamlit", "spacy", "umap", "polars")


def run(*arguments, text=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "workbench", *map(str, arguments)],
        input=text,
        capture_output=True,
        env={**os.environ, "COLUMNS": "80", **environment},
        check=False,
    )


@pytest.fixture(scope="session", name="ranks")
def ranks_fixture(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "tokenizer.json"
    builders.byte_level([b"th", b"the", b" the"], [(b"t", b"h"), (b"th", b"e")]).save(str(path))
    return path


@pytest.mark.parametrize(
    "code", ["import workbench", "import sys; sys.argv[1:] = ['--help']\nimport workbench.__main__"]
)
def test_neither_import_nor_help_loads_anything_heavy(code):
    script = (
        f"import sys, atexit\natexit.register(lambda: print(sorted(set({HEAVY}) & set(sys.modules))))\n{code}"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout
    assert printed.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", VERBS.names())
def test_each_verb_says_in_a_line_what_it_does_and_gives_an_example(name):
    module = VERBS._points[name].module
    parent = module.rpartition(".")[0]
    if importlib.util.find_spec(parent) is None or importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not written yet")
    runner = CliRunner()
    helped = runner.invoke(build(), [name, "--help"])
    assert helped.exit_code == 0
    lines = [line.strip() for line in helped.stdout.splitlines()]
    first, second = (VERBS.get(name).__doc__ or "").splitlines()[:2]
    assert first.endswith(".")
    assert second == ""
    assert " ".join(lines).count(first) == 1
    assert any(line.startswith(f"Example: `suture {name}") for line in lines)
    assert f"  {name} " in runner.invoke(build(), ["--help"]).stdout


def test_the_version_is_the_packages():
    assert CliRunner().invoke(build(), ["--version"]).stdout == f"suture {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show", "no/such/file.json"], "a tokenizer must be a readable file or directory"),
        (["show", "nosuch:name"], "a spec's scheme must be one of"),
        (["segment", "x", "--with", "spm:none.model"], "must be"),
    ],
)
def test_an_expected_error_is_one_sentence_on_stderr_and_status_2(arguments, sentence):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    said = [line for line in done.stderr.decode().splitlines() if not line.startswith("suture: note:")]
    assert len(said) == 1
    assert said[0].startswith("suture: ")
    assert sentence in said[0]


def test_a_wrong_option_is_status_2_as_well():
    done = run("segment", "x")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--with" in done.stderr


def test_data_is_on_stdout_and_talk_on_stderr(ranks):
    done = run("segment", "שלום the", "--with", ranks)
    assert done.returncode == 0
    assert b"note:" not in done.stdout
    assert "a terminal may draw right-to-left pieces" in done.stderr.decode()
    assert "שׁ"[0] in done.stdout.decode() or b"\xe2\x9f\xa8" in done.stdout


def test_no_line_is_wider_than_the_terminal_and_nothing_is_coloured_for_a_pipe(ranks):
    for arguments in (["list"], ["doctor"], ["show", ranks], ["show", ranks, "--text", "the"]):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
        assert b"\x1b" not in done.stdout
        assert max(map(len, done.stdout.decode().splitlines())) <= 80


def test_no_color_takes_colour_away_where_colour_is_forced(ranks):
    coloured = run("segment", "the", "--with", ranks, FORCE_COLOR="1", NO_COLOR="", TERM="xterm-256color")
    plain = run("segment", "the", "--with", ranks, FORCE_COLOR="1", NO_COLOR="1", TERM="xterm-256color")
    assert b"\x1b[" in coloured.stdout
    assert not [code for code in (b"\x1b[3", b"\x1b[9", b"\x1b[4") if code in plain.stdout]


def test_a_terminal_without_unicode_still_gets_its_answer(ranks):
    done = run(
        "segment", "-", "--with", ranks, text="é the".encode(), PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )
    assert done.returncode == 0
    assert b"\\u2502\\u2423\\u2502the\\u2502" in done.stdout


def test_a_verb_that_fails_to_import_is_named_and_the_others_go_on(tmp_path):
    info = tmp_path / "broken_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[suture.commands]\nbroken = no_such_module:verb\n")
    done = run("--version", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0
    assert "the verb 'broken' must import; broken-plugin fails to" in done.stderr.decode()
