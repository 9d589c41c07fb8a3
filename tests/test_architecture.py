"""The shape of the project: what imports what, what is shipped, what is documented."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest

from workbench.audit import Audit

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
POINTS: dict[str, dict[str, str]] = PROJECT["project"]["entry-points"]
PACKAGES = ("workbench", "vocab_audits", "probing")
SOURCES = sorted(path for name in (*PACKAGES, "app") for path in (ROOT / name).rglob("*.py"))

HEAVY = {"torch", "transformers", "streamlit", "spacy", "umap", "sklearn", "ray", "altair", "pandas"}
READERS = {"polars", "numpy", "tokenizers", "tiktoken", "sentencepiece", "regex", "jinja2", "typer"}

MARKS = re.compile("[\u0120\u010a\u2581]|</w>|(?<!#)##(?![# ])")
"""Space and line feed of the byte alphabet, space mark, end-of-word mark, continuation mark (no heading)."""

MAY_KNOW_MARKS = {
    "workbench/display.py",  # shows them
    "workbench/testing.py",  # hard input that holds them
}
NO_MARKS = {"workbench/commands/pieces.py": {"##"}}
"""Literals that only look like a mark, by file: there, a column headed # and aligned to the right."""


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def loaded_after(statements: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after some statements."""
    ask = f"{statements}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True, cwd=ROOT, timeout=120
    )
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def modules(package: str) -> list[str]:
    names = [relative(path).removesuffix(".py").replace("/", ".") for path in (ROOT / package).rglob("*.py")]
    return sorted(name.removesuffix(".__init__") for name in names if not name.endswith("__main__"))


def test_importing_the_core_loads_nothing_heavy():
    loaded = loaded_after("import workbench")
    assert "workbench" in loaded
    assert not loaded & (HEAVY | READERS)


def test_no_module_of_core_or_audits_loads_a_model_library():
    names = [*modules("workbench"), *modules("vocab_audits")]
    loaded = loaded_after("\n".join(f"import {name}" for name in names))
    assert {"workbench", "vocab_audits"} <= loaded
    assert not loaded & HEAVY


VOCABULARY_VERBS = sorted(
    value.partition(":")[0]
    for value in POINTS["suture.commands"].values()
    if not value.startswith("probing.")
)


@pytest.mark.parametrize(
    "statements",
    [
        "from workbench.cli import build; build()",
        "\n".join(f"import {module}" for module in VOCABULARY_VERBS),
    ],
    ids=["the command line", "vocabulary verbs"],
)
def test_vocabulary_verbs_load_no_model_library(statements):
    """The command line knows the verbs that run models too, and loads nothing for them."""
    assert not loaded_after(statements) & {"torch", "transformers", "sklearn", "umap"}


def test_a_vocabulary_verb_runs_without_a_model_library(tmp_path):
    ask = (
        "from workbench.cli import build\n"
        "from typer.testing import CliRunner\n"
        f"path = {str(tmp_path / 'tokenizer.json')!r}\n"
        "import tokenizers\n"
        "made = tokenizers.Tokenizer(tokenizers.models.WordLevel({'the': 0, '?': 1}, unk_token='?'))\n"
        "made.save(path)\n"
        "for words in (['show', path], ['segment', 'the', '--with', path], ['count', path]):\n"
        "    answer = CliRunner().invoke(build(), words)\n"
        "    assert answer.exit_code == 0, (words, answer.output, answer.exception)\n"
    )
    assert not loaded_after(ask) & {"torch", "transformers"}


def test_imports_go_one_way():
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    assert [contract["layers"] for contract in contracts if contract["type"] == "layers"] == [
        ["app", "vocab_audits | probing", "workbench"]
    ]
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        pytest.skip("import-linter is not installed: pip install -e '.[dev]'")
    done = subprocess.run(
        [str(linter), "--no-cache"], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_file_stops_at_500_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


def marks_in(source: str) -> list[str]:
    """String and bytes literals, but for documentation, that hold a mark of some vocabulary's spelling."""
    tree = ast.parse(source)
    spoken = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    values = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in spoken
    ]
    texts = [value.decode(errors="replace") if isinstance(value, bytes) else value for value in values]
    return [text for text in texts if isinstance(text, str) and MARKS.search(text)]


def test_marks_are_found_in_code_and_not_in_documentation():
    assert marks_in('"""Of \u2581 and ##."""\nx = "\\u0120"\ny = b"##ing"\nz = "## Heading"\n') == [
        "\u0120",
        "##ing",
    ]


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_marks_of_spellings_stay_in_adapters(path):
    name = relative(path)
    if name in MAY_KNOW_MARKS or name.startswith("workbench/adapters/"):
        return
    assert set(marks_in(path.read_text(encoding="utf-8"))) <= NO_MARKS.get(name, set())


def member(value: str):
    module, _, attribute = value.partition(":")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group, points in POINTS.items() for name in points]
)
def test_an_entry_point_resolves(group, name):
    assert callable(member(POINTS[group][name]))


@pytest.mark.parametrize("name", POINTS["suture.audits"])
def test_an_audit_goes_by_its_own_name(name):
    found = member(POINTS["suture.audits"][name])
    assert isinstance(found, Audit)
    assert found.name == name
    assert found.summary.endswith(".") or found.summary.endswith("?")


def test_every_audit_in_the_tree_is_declared():
    declared = set(POINTS["suture.audits"].values())
    found = set()
    for module in modules("vocab_audits"):
        for key, value in vars(importlib.import_module(module)).items():
            if isinstance(value, Audit) and value.function.__module__ == module:
                found.add(f"{module}:{key}")
    assert found == declared


@cache
def document(name: str) -> str:
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def commands(text: str) -> set[str]:
    """Verbs that a document calls, in code blocks or in code spans."""
    return set(re.findall(r"(?:^|`|\$ )suture ([a-z]+)\b", text, flags=re.MULTILINE))


def section(name: str) -> str:
    """The part of docs/audits.md under the heading that is an audit's name; empty if there is none."""
    parts = re.split(r"^## ", document("docs/audits.md"), flags=re.MULTILINE)
    return next((part for part in parts if part.partition("\n")[0].strip("` ") == name), "")


@pytest.mark.parametrize("name", POINTS["suture.audits"])
def test_an_audit_has_its_section_with_its_options(name):
    text = section(name)
    assert text, f"docs/audits.md must have a section {name}"
    missing = [
        option for option in member(POINTS["suture.audits"][name]).options if f"`{option}`" not in text
    ]
    assert missing == [], f"name these options of {name} in docs/audits.md"


def test_no_audit_is_documented_that_does_not_exist():
    parts = re.findall(r"^## (.*)$", document("docs/audits.md"), flags=re.MULTILINE)
    assert {part.strip("` ") for part in parts} == set(POINTS["suture.audits"])


@pytest.mark.parametrize("name", POINTS["suture.commands"])
def test_a_verb_is_documented(name):
    assert name in commands(document("README.md") + "\n" + document("docs/cli.md"))


def test_documents_call_no_verb_that_does_not_exist():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    called = set.union(set(), *(commands(page.read_text(encoding="utf-8")) for page in pages))
    assert called <= set(POINTS["suture.commands"])


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The project's wheel, built without a network."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: pip install -e '.[dev]'")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_a_wheel_holds_the_packages_and_the_bundle_alone(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    tops = {name.partition("/")[0] for name in names}
    version = PROJECT["project"]["version"]
    assert tops == {*PACKAGES, f"suture-{version}.dist-info"}
    assert {"app", "corpora"} == {
        name.split("/")[2] for name in names if name.startswith("workbench/_bundle/")
    }
    assert "workbench/_bundle/corpora/catalog.toml" in names
    assert [name for name in names if re.search(r"(^|/)(tests?|__pycache__)/|\.pyc$", name)] == []
    assert wheel.stat().st_size < 10 * 2**20


def test_a_wheel_holds_every_file_of_the_packages(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    files = [path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file()]
    assert {relative(path) for path in files if "__pycache__" not in path.parts} <= names


def test_a_wheel_finds_its_own_data(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
    ask = (
        "import workbench\n"
        "from workbench.corpora import open_corpus\n"
        "from workbench.paths import bundle\n"
        "assert next(open_corpus('sample').batches()).texts\n"
        "print(workbench.__file__, bundle('app'), bundle('corpora'), sep='\\n')"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", ask],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert all(line.startswith(str(tmp_path / "site")) for line in done.stdout.splitlines())
