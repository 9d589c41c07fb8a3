"""Runs as a user makes them: by the command, in a process of its own."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from workbench.runs import VOLATILE, Run

SIZE = 290
"""Entries of the tokenizer of these tests: fewer than the text would give, so that all are made."""

FEW = ("--lexicon", "embedded:it")
"""One language of the embedded lexicon, which is the quickest."""

TEXTS = ["the cat sat on the mat", "unhappily the cats sat", "caf\u00e9 na\u00efve \u65e5\u672c\u8a9e"] * 4


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a small BPE and a small text."""
    folder = tmp_path_factory.mktemp("made")
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    backend.train_from_iterator(TEXTS, trainer)
    (folder / "model").mkdir()
    backend.save(str(folder / "model" / "tokenizer.json"))
    (folder / "en.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    return folder


def suture(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workbench", *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def audit(made: Path, tmp_path: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return suture(
        "audit",
        made / "model",
        *FEW,
        "--corpus",
        made / "en.txt",
        "-o",
        tmp_path / "run",
        *words,
        cwd=tmp_path,
    )


def refused(result: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of an expected error."""
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("suture: ")
    return last


def test_a_run_holds_findings_tables_and_reports(made, tmp_path) -> None:
    result = audit(made, tmp_path)
    assert result.returncode == 0, result.stderr
    run = Run.open(tmp_path / "run")
    assert set(run.findings()["audit"].unique()) == {
        "census", "reachability", "pipeline", "genealogy", "overlap", "compression", "parity", "optimum",
        "asymmetry", "morphology", "units", "exemplars", "persistence", "unwanted", "undertrained",
    }, "all but what runs on request"  # fmt: skip
    assert run.table("reachability").height == SIZE
    assert run.manifest["subjects"][0]["name"] == "model"
    assert run.manifest["corpus"]["digest"]
    for name in ("report.html", "summary.md", "report.json", "run.json", "findings.parquet"):
        assert (tmp_path / "run" / name).stat().st_size > 0
    assert not list(tmp_path.glob(".run*"))
    assert "report.html" in result.stdout


def test_the_same_input_gives_the_same_content(made, tmp_path) -> None:
    for name in ("a", "b"):
        result = suture("audit", made / "model", *FEW, "--corpus", made / "en.txt", "-o", name, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    first, second = Run.open(tmp_path / "a"), Run.open(tmp_path / "b")
    assert first.findings().equals(second.findings())
    for name in first.tables():
        assert first.table(name).equals(second.table(name))
    for run in (first, second):
        for key in (*VOLATILE, "command"):
            run.manifest.pop(key)
    assert first.manifest == second.manifest


def test_json_goes_to_standard_output_alone(made, tmp_path) -> None:
    result = audit(made, tmp_path, "--only", "census", "--json")
    answer = json.loads(result.stdout)
    assert answer["skipped"] == []
    assert set(answer["counts"]) == {"flag", "warn", "info"}


def test_fail_on_and_baseline_make_a_gate(made, tmp_path) -> None:
    backend = Tokenizer.from_file(str(made / "model" / "tokenizer.json"))
    backend.add_tokens(["ham"])  # matches inside words, which is warned of
    backend.save(str(tmp_path / "ham.json"))
    words = ("audit", tmp_path / "ham.json", "--only", "pipeline", "-o", "run")
    assert suture(*words, "--fail-on", "flag", cwd=tmp_path).returncode == 0
    assert suture(*words, "--fail-on", "warn", cwd=tmp_path).returncode == 1
    shutil.move(tmp_path / "run", tmp_path / "former")
    again = suture(*words, "--fail-on", "warn", "--baseline", "former", cwd=tmp_path)
    assert again.returncode == 0, again.stdout


def test_csv_is_written_on_request(made, tmp_path) -> None:
    assert audit(made, tmp_path, "--only", "census", "--csv").returncode == 0
    table = pl.read_csv(tmp_path / "run" / "csv" / "census.csv")
    assert table.height == SIZE
    wanted = Run.open(tmp_path / "run").table("census")["bytes"].bin.encode("hex").to_list()
    assert [str(cell).zfill(2) for cell in table["bytes_hex"].to_list()] == wanted


def test_a_config_says_what_options_say(made, tmp_path) -> None:
    config = tmp_path / "audit.toml"
    config.write_text(
        f'tokenizers = ["mine={made / "model"}"]\nonly = ["census"]\n[options.census]\nlongest = 2\n'
    )
    assert suture("audit", "--config", config, "-o", "run", cwd=tmp_path).returncode == 0
    run = Run.open(tmp_path / "run")
    assert run.manifest["subjects"][0]["name"] == "mine"
    assert (run.findings()["measure"] == "longest_entry").sum() == 2
    recorded = run.manifest["audits"][0]
    assert (recorded["options"], recorded["defaulted"]) == ({"longest": 2}, [])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("only = 3", "a config holds tokenizers"),
        ("colour = 'red'", "a config holds tokenizers"),
        ("only = [", "a config must be TOML"),
        ("only = ['census']\n[options.overlap]\ntop = 3", "options must be for an audit of this run"),
        ("only = ['census']\n[options.census]\nlongset = 3", "must be one of: longest; got 'longset'"),
        ("only = ['cencus']", "did you mean 'census'"),
    ],
)
def test_a_wrong_config_is_one_sentence(made, tmp_path, text, sentence) -> None:
    config = tmp_path / "audit.toml"
    config.write_text(f'tokenizers = ["{made / "model"}"]\n{text}\n')
    assert sentence in refused(suture("audit", "--config", config, "-o", "run", cwd=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["audit.toml"]


def test_what_lies_behind_a_network_is_named_and_the_rest_goes_on(made, tmp_path) -> None:
    result = audit(made, tmp_path, "hf:nobody/nothing", "--only", "census")
    assert result.returncode == 0, result.stderr
    skipped = Run.open(tmp_path / "run").manifest["skipped"]
    assert skipped[0]["what"] == "hf:nobody/nothing"
    assert "copy its tokenizer.json here" in skipped[0]["why"]
    assert "hf:nobody/nothing" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def damaged(kind: str, made: Path, folder: Path) -> Path:
    path = folder / "tokenizer.json"
    whole = (made / "model" / "tokenizer.json").read_bytes()
    if kind == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == "pickle":
        path.write_bytes(pickle.dumps({"model": 1}))
    elif kind == "archive":
        shutil.make_archive(str(folder / "x"), "zip", made)
        (folder / "x.zip").rename(path)
    elif kind == "huge":
        with path.open("wb") as file:
            file.write(whole[:4096])
            file.truncate(2 << 30)
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "binary":
        path.write_bytes(bytes(range(128, 256)) * 8)
    elif kind == "folder":
        path.mkdir()
    elif kind == "weights":
        path.write_text('{"a": [1, 2]}')
    return path


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("truncated", "must be complete"),
        ("pickle", "is a pickle"),
        ("archive", "is an archive"),
        ("huge", "at most 512 MiB"),
        ("empty", "is empty"),
        ("binary", "known format"),
        ("folder", "must hold a tokenizer file"),
        ("weights", "has the keys 'a'"),
        ("missing", "check the path"),
    ],
)
def test_a_damaged_tokenizer_is_one_sentence(made, tmp_path, kind, sentence) -> None:
    path = damaged(kind, made, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert sentence in refused(suture("audit", path, "-o", tmp_path / "run", cwd=tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_corpus_that_is_not_utf8_is_one_sentence(made, tmp_path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"fine\n\xd0\xff broken\n")
    result = suture("audit", made / "model", "--corpus", "bad.txt", "-o", "run", cwd=tmp_path)
    sentence = refused(result)
    assert "bad.txt" in sentence
    assert "5" in sentence
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]


def test_an_output_folder_of_something_else_is_left_alone(made, tmp_path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("mine")
    assert "must be new, empty or a former run" in refused(audit(made, tmp_path, "--only", "census"))
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.txt"]


def test_a_former_run_of_more_is_not_lost_unasked(made, tmp_path) -> None:
    assert audit(made, tmp_path, "--only", "census,pipeline").returncode == 0
    before = (tmp_path / "run" / "run.json").read_bytes()
    assert "has one of pipeline besides" in refused(audit(made, tmp_path, "--only", "census"))
    assert (tmp_path / "run" / "run.json").read_bytes() == before
    assert audit(made, tmp_path, "--only", "census,pipeline,reachability").returncode == 0
    assert audit(made, tmp_path, "--only", "census", "--replace").returncode == 0
    assert {row["name"] for row in Run.open(tmp_path / "run").manifest["audits"]} == {"census"}


def test_a_column_and_a_mend_for_bad_text_can_be_named(made, tmp_path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"body": "the cat"}\n', encoding="utf-8")
    words = ("audit", made / "model", "--only", "compression", "-o", "run")
    assert "--text-column" in refused(suture(*words, "--corpus", "docs.jsonl", cwd=tmp_path))
    assert suture(*words, "--corpus", "docs.jsonl", "--text-column", "body", cwd=tmp_path).returncode == 0
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    assert "--errors replace" in refused(suture(*words, "--corpus", "latin.txt", cwd=tmp_path))
    assert suture(*words, "--corpus", "latin.txt", "--errors", "replace", cwd=tmp_path).returncode == 0
    assert "errors must be" in refused(suture(*words, "--corpus", "latin.txt", "--errors", "x", cwd=tmp_path))


@pytest.mark.parametrize("place", ["/proc/nowhere/run", "file/run"])
def test_an_unwritable_output_is_one_sentence(made, tmp_path, place) -> None:
    (tmp_path / "file").write_text("x")
    result = suture("audit", made / "model", "--only", "census", "-o", place, cwd=tmp_path)
    assert "must be writable" in refused(result)


def test_a_stopped_run_keeps_what_is_done_and_goes_on(made, tmp_path) -> None:
    words = ["audit", made / "model", "-o", tmp_path / "run", "--only", "census,reachability,pipeline,slow"]
    plugin = tmp_path / "slow_plugin"
    plugin.mkdir()
    (plugin / "slow_audit.py").write_text(SLOW)
    info = plugin / "slow-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[suture.audits]\nslow = slow_audit:slow\n")
    environment = {**os.environ, "PYTHONPATH": str(plugin), "SLOW_AUDIT": "60"}
    command = [sys.executable, "-m", "workbench", *map(str, words)]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    pieces = tmp_path / ".run.partial" / "pieces"
    for _ in range(600):
        if pieces.is_dir() and sum(not piece.suffix for piece in pieces.iterdir()) == 3:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=30)
    assert process.returncode == 2
    assert b"Traceback" not in talk
    assert b"give the same command to go on" in talk
    assert not (tmp_path / "run").exists()
    environment["SLOW_AUDIT"] = "0"
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    run = Run.open(tmp_path / "run")
    assert set(run.manifest["seconds"]["cpu"]) == {"slow model"}
    assert set(run.findings()["audit"].unique()) == {"census", "reachability", "pipeline", "slow"}
    assert "Slow" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


SLOW = '''
import os, time
from workbench.audit import Outcome, audit
from workbench.findings import Finding

@audit("Slow")
def slow(inventory):
    """Takes its time."""
    time.sleep(float(os.environ["SLOW_AUDIT"]))
    return Outcome([Finding(inventory.name, "slow", "seconds", 0.0)])
'''


def test_a_report_is_written_again_from_the_run_alone(made, tmp_path) -> None:
    assert audit(made, tmp_path, "--only", "census").returncode == 0
    page = tmp_path / "run" / "report.html"
    first = page.read_bytes()
    page.unlink()
    result = suture("report", tmp_path / "run", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert page.read_bytes() == first
    answer = suture("report", tmp_path / "run", "--json", cwd=tmp_path)
    assert json.loads(answer.stdout)


def test_a_folder_that_is_no_run_is_refused(tmp_path) -> None:
    assert "a run must be a folder with run.json" in refused(suture("report", tmp_path, cwd=tmp_path))


def test_compare_prints_pairs_and_the_first_difference(made, tmp_path) -> None:
    other = Tokenizer.from_file(str(made / "model" / "tokenizer.json"))
    other.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split("at", "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    other.save(str(tmp_path / "other.json"))
    words = ("compare", made / "model", tmp_path / "other.json", "--corpus", made / "en.txt")
    answer = json.loads(suture(*words, "--json", cwd=tmp_path).stdout)
    jaccard = [row["value"] for row in answer["overlap"] if row["measure"] == "jaccard"]
    assert jaccard[0] == 1.0
    first = answer["pipelines"][0]["first"]
    assert (first["text"], first["piece"]) == (TEXTS[0], 0)
    assert "first differ at pre-token 0" in suture(*words, cwd=tmp_path).stdout.replace("\n", " ")
    assert "two tokenizers or more" in refused(suture("compare", made / "model", cwd=tmp_path))


def test_tables_with_lists_are_written_as_csv(made, tmp_path) -> None:
    (tmp_path / "it.tsv").write_text("catshe\tcats he\n", encoding="utf-8")
    words = ("--only", "morphology,exemplars", "--lexicon", "it.tsv", "--csv", "-o", "run")
    result = suture("audit", made / "model", *words, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "cats | he" in (tmp_path / "run" / "csv" / "morphology_words.csv").read_text(encoding="utf-8")
    pieces = (tmp_path / "run" / "csv" / "exemplars.csv").read_text(encoding="utf-8")
    assert " | " in pieces, "pieces that are no UTF-8 by themselves among them"


def test_a_negative_seed_is_one_sentence(made, tmp_path) -> None:
    (tmp_path / "audit.toml").write_text("[options.units]\nseed = -1\n", encoding="utf-8")
    words = ("--only", "units", *FEW, "--config", "audit.toml", "-o", "run")
    result = suture("audit", made / "model", *words, cwd=tmp_path)
    assert "seed of units must be 0 or more" in refused(result)
