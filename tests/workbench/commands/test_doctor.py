from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import sys
from importlib import metadata

import pytest
from typer.testing import CliRunner

from workbench.cli import build
from workbench.commands import doctor


def report(**environment):
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "doctor", "--json"],
        capture_output=True,
        check=True,
        env={**os.environ, **environment},
    )
    return json.loads(done.stdout)


def test_it_reports_what_is_installed():
    found = report()
    assert found["versions"]["python"] == platform.python_version()
    required = {row["name"]: row for row in found["required"]}
    assert required["polars"]["version"] == metadata.version("polars")
    assert {row["state"] for row in required.values()} == {"ok"}
    assert set(required) >= {"numpy", "regex", "tiktoken", "tokenizers", "typer"}
    assert "torch" not in required


def test_a_missing_extra_comes_with_its_install_line(monkeypatch):
    real = metadata.version

    def version(name):
        if name == "torch":
            raise metadata.PackageNotFoundError(name)
        return "0.0.1" if name == "spacy" else real(name)

    monkeypatch.setattr(metadata, "version", version)
    extras = {row["name"]: row for row in doctor.extras()}
    assert set(extras) == {"linguistics", "probing", "app", "scale", "demo"}
    assert not extras["probing"]["complete"]
    assert extras["probing"]["install"] == 'pip install "suture[probing]"'
    states = {package["name"]: package["state"] for row in extras.values() for package in row["packages"]}
    assert (states["torch"], states["spacy"]) == ("missing", "other version")
    assert 'pip install "suture[probing]"' in CliRunner().invoke(build(), ["doctor"]).stdout


def test_caches_and_offline_settings_follow_the_environment(tmp_path):
    found = report(
        TIKTOKEN_CACHE_DIR=str(tmp_path),
        HF_HOME=str(tmp_path / "hf"),
        HF_HUB_OFFLINE="1",
        SUTURE_CACHE=str(tmp_path),
    )
    caches = {row["name"]: row for row in found["caches"]}
    assert caches["tiktoken"]["folder"] == str(tmp_path)
    assert caches["Hub"]["folder"].startswith(str(tmp_path / "hf"))
    assert caches["Suture"]["folder"] == str(tmp_path)
    assert [caches[name]["exists"] for name in ("tiktoken", "Hub", "Suture")] == [True, False, True]
    assert found["offline"]["hub_is_asked"] is False
    assert report(HF_HUB_OFFLINE="0")["offline"]["hub_is_asked"] is True


def test_a_foreign_owner_of_our_import_names_gets_one_line(tmp_path):
    info = tmp_path / "workbench-9.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: workbench\nVersion: 9.0\n")
    (info / "top_level.txt").write_text("workbench\nprobing\n")
    assert report()["conflicts"] == []
    lines = report(PYTHONPATH=str(tmp_path))["conflicts"]
    assert len(lines) == 2
    assert all("workbench has it too" in line for line in lines)


def test_the_network_is_not_touched(monkeypatch):
    def refuse(*address):
        raise AssertionError(f"the network was asked for {address}")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    done = CliRunner().invoke(build(), ["doctor"])
    assert done.exit_code == 0, done.output
    assert "not touched by this report" in done.stdout


@pytest.mark.parametrize("width", ["60", "80", "200"])
def test_it_fits_the_terminal(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", width)
    printed = CliRunner().invoke(build(), ["doctor"]).stdout
    sentence = [line for line in printed.splitlines() if line.startswith(("no conflicts", "the import name"))]
    assert len(sentence) == 1
    assert max(len(line) for line in printed.splitlines() if line not in sentence) <= int(width)
