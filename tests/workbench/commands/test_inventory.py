from __future__ import annotations

import hashlib
import json

import pytest
from typer.testing import CliRunner

from tests import builders
from workbench.cli import VERBS, build
from workbench.commands import at_hand
from workbench.errors import SutureError, UnknownName


def asked(*arguments):
    done = CliRunner().invoke(build(), list(map(str, arguments)))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def answered(*arguments):
    return json.loads(asked(*arguments, "--json"))


@pytest.fixture(scope="module", name="path")
def path_fixture(tmp_path_factory):
    """A model directory: entries th, the and " the"; the last one is built by no merge."""
    folder = tmp_path_factory.mktemp("model")
    backend = builders.byte_level(
        [b"th", b"the", b" the"], [(b"t", b"h"), (b"th", b"e")], special=["<end>"], added=["[[x]]"]
    )
    backend.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"vocab_size": 300}))
    return folder


# list


def test_the_list_names_everything_that_is_installed():
    found = answered("list")
    assert list(found) == ["verbs", "audits", "sources", "corpora", "inventories"]
    names = {row["name"] for row in found["verbs"]}
    assert {"list", "show", "segment", "doctor"} <= names <= set(VERBS.names())
    assert {row["from"] for row in found["verbs"]} == {"suture"}
    assert all(row["summary"] for key in ("verbs", "audits", "sources", "corpora") for row in found[key])
    sources = {"hf", "tiktoken", "spm", "pkg", "spacy", "split", "affixes", "morfessor"}
    assert sources == {row["name"] for row in found["sources"]}
    assert "sample" in {row["name"] for row in found["corpora"]}
    printed = asked("list")
    for heading in ("Verbs", "Audits", "Sources", "Corpora", "Inventories"):
        assert heading in printed


def test_packages_that_ship_tokenizers_are_found_and_can_be_read():
    from importlib import metadata

    from workbench.adapters import load

    try:
        metadata.distribution("mistral-common")
    except metadata.PackageNotFoundError:
        pytest.skip("mistral-common is not installed")
    specs = [item.spec for item in at_hand.in_packages()]
    tekken = [spec for spec in specs if spec.startswith("pkg:mistral-common/tekken")]
    assert tekken
    assert len(load(tekken[-1]).inventory) > 100_000


def test_an_encoding_is_at_hand_exactly_when_tiktoken_would_find_its_file(tmp_path, monkeypatch):
    from tests.vocabs import tiktoken_source

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert at_hand.in_tiktoken_cache() == []
    name, _ = tiktoken_source("cl100k_base")
    (tmp_path / name).write_bytes(b"")
    assert [item.spec for item in at_hand.in_tiktoken_cache()] == ["tiktoken:cl100k_base"]


def test_tiktokens_folder_is_found_by_its_own_rules(tmp_path, monkeypatch):
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    assert at_hand.tiktoken_cache().name == "data-gym-cache"
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path))
    assert at_hand.tiktoken_cache() == tmp_path
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert at_hand.tiktoken_cache() is None
    assert at_hand.in_tiktoken_cache() == []


def test_models_in_the_hubs_cache_are_found(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for folder, file in [
        ("models--org--a--b", "tokenizer.json"),
        ("models--org--weights", "model.safetensors"),
    ]:
        snapshot = tmp_path / folder / "snapshots" / "0"
        snapshot.mkdir(parents=True)
        (snapshot / file).write_bytes(b"{}")
    assert [item.spec for item in at_hand.in_hub_cache()] == ["hf:org/a--b"]


# show


def test_the_card_says_what_the_file_holds(path):
    card = answered("show", path)
    assert card["name"] == path.name
    assert (card["entries"], card["rows_needed"], card["rows"]) == (261, 261, 300)
    assert card["kinds"] == {"piece": 259, "special": 1, "added": 1}
    assert card["model"] == "BPE"
    assert card["byte_level"]
    assert len(card["digest"]) == 64
    assert card["pattern_digest"] == hashlib.sha256(card["pattern"].encode()).hexdigest()[:12]
    printed = asked("show", path)
    for text in ("261", "300, 39 to spare", "BPE, byte-level", "[[x]]", "pre-tokenizer"):
        assert text in printed


def test_an_entry_is_shown_with_the_merges_that_build_it(path):
    (entry,) = answered("show", path, "--id", 257)["entries"]
    assert (entry["id"], entry["bytes"], entry["shown"]) == (257, b"the".hex(), "the")
    assert [part["id"] for part in entry["built"]["parts"]] == [256, ord("e")]
    assert [part["id"] for part in entry["built"]["parts"][0]["parts"]] == [ord("t"), ord("h")]
    printed = asked("show", path, "--id", 257)
    assert "├── th  256" in printed


def test_an_entry_that_no_merge_builds_says_so_and_how_its_text_is_cut(path):
    found = answered("show", path, "--text", " the")
    assert [entry["id"] for entry in found["entries"]] == [258]
    assert found["composed"] is False
    assert [token["id"] for token in found["tokens"]] == [ord(" "), 257]
    printed = asked("show", path, "--text", " the")
    assert "no merge builds it" in printed
    assert "yet cuts the text ␣the into 2 tokens" in printed


def test_a_text_that_is_no_entry_is_composed(path):
    found = answered("show", path, "--text", "then")
    assert (found["entries"], found["composed"]) == ([], True)
    assert [token["shown"] for token in found["tokens"]] == ["the", "n"]
    assert "has no entry then: it is composed of 2 tokens" in asked("show", path, "--text", "then")


def test_a_control_token_is_told_from_its_text(path):
    printed = asked("show", path, "--text", "<end>")
    assert "special" in printed
    assert "suture segment --control reads it as a control token" in printed


@pytest.mark.parametrize("hexadecimal", ["746865", "74 68 65", "0x746865"])
def test_bytes_find_their_entries(path, hexadecimal):
    assert [row["id"] for row in answered("show", path, "--bytes", hexadecimal)["entries"]] == [257]


def test_all_entries_of_the_same_bytes_are_shown(tmp_path):
    file = tmp_path / "words.json"
    builders.wordpiece(["ing", "##ing"]).save(str(file))
    entries = answered("show", file, "--text", "ing")["entries"]
    assert [(row["id"], row["position"], row["built"]) for row in entries] == [
        (1, "initial", None),
        (2, "inner", None),
    ]


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        (["--id", "261"], UnknownName, "must lie in 0..260"),
        (["--bytes", "xyz"], SutureError, "pairs of hexadecimal digits"),
        (["--bytes", "ffff"], UnknownName, "has none of 'ff ff'"),
        (["--bytes", "61", "--id", "1"], SutureError, "in one way"),
    ],
)
def test_what_names_no_entry_is_refused(path, options, error, sentence):
    with pytest.raises(error, match=sentence):
        asked("show", path, *options)


def test_an_entrys_text_cannot_act_on_the_terminal(tmp_path):
    file = tmp_path / "odd.json"
    builders.byte_level([b"\x1b[31m", "\u202eabc".encode()], added=["[bold]x[/bold]\x1b]0;t\x07"]).save(
        str(file)
    )
    for token_id in (256, 257, 258):
        printed = asked("show", file, "--id", token_id)
        assert not {"\x1b", "\u202e", "\x07"} & set(printed)
    assert "[bold]x[/bold]⟨U+001B⟩" in asked("show", file, "--id", 258)
    assert not {"\x1b", "\u202e", "\x07"} & set(asked("show", file))


@pytest.mark.vocabs
def test_a_real_rank_file_has_a_card_and_trees(need):
    path = need("gpt2")
    assert answered("show", path)["entries"] == 50257
    (entry,) = answered("show", path, "--text", " unbelievable")["entries"]

    def joined(node):
        return "".join(map(joined, node["parts"])) or node["bytes"]

    assert joined(entry["built"]) == entry["bytes"]
