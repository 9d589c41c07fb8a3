"""Where data and caches lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench import paths
from workbench.errors import SutureError


def test_a_checkout_has_its_data_beside_the_package():
    assert (paths.bundle("corpora") / "catalog.toml").is_file()


def test_a_wheel_has_it_inside_and_that_comes_first(tmp_path, monkeypatch):
    package = tmp_path / "workbench"
    (package / "_bundle" / "corpora").mkdir(parents=True)
    (tmp_path / "corpora").mkdir()
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(paths, "_PACKAGE", package)
    assert paths.bundle("corpora") == package / "_bundle" / "corpora"


def test_a_foreign_folder_beside_an_installed_package_is_not_taken(tmp_path, monkeypatch):
    (tmp_path / "app").mkdir()
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "workbench")
    with pytest.raises(SutureError, match="must hold the data folder 'app'"):
        paths.bundle("app")


def test_the_cache_follows_the_environment(monkeypatch):
    monkeypatch.setenv("SUTURE_CACHE", "/own")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert paths.cache_dir() == Path("/own")
    monkeypatch.delenv("SUTURE_CACHE")
    assert paths.cache_dir() == Path("/xdg/suture")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert paths.cache_dir() == Path.home() / ".cache" / "suture"


def test_a_file_takes_its_name_when_it_is_whole_and_a_failure_leaves_the_former_one(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("before")
    with pytest.raises(ZeroDivisionError), paths.written_whole(path) as partial:  # noqa: PT012 what fails is within
        partial.write_text("half")
        raise ZeroDivisionError
    assert [each.name for each in tmp_path.iterdir()] == ["x.txt"]
    assert path.read_text() == "before"
    with paths.written_whole(path) as partial:
        partial.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert [each.name for each in tmp_path.iterdir()] == ["x.txt"]
