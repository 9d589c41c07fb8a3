"""A pass that was stopped, in order or by force, goes on to the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from tests.probing import tinymodels as tiny
from tests.vocabs import ROOT

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from probing import running  # noqa: E402 after what they need
from probing.capture import capture  # noqa: E402
from probing.streaming import Drift  # noqa: E402


def many(count=60):
    return [f"{tiny.TEXTS[k % 4]} number {'x' * (k % 7)} {k}" for k in range(count)]


class Stopped(Exception):
    """Ends a pass in a test."""


class Stopping(Drift):
    """Stops the pass after so many calls."""

    def __init__(self, calls):
        super().__init__()
        self.left = calls

    def __call__(self, layer, given, units):
        self.left -= 1
        if self.left < 0:
            raise Stopped
        super().__call__(layer, given, units)


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}


@pytest.mark.parametrize("calls", [0, 1, 7, 23, 60, 111])
def test_a_stopped_pass_goes_on_to_the_same_bytes_and_sums(opened, calls, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(running, "PART_TOKENS", 400)
    model, texts = opened("roberta"), many()
    straight, sums = Drift(), Stopping(calls)
    whole = capture(model, texts, tmp_path / "whole", observers=[straight], budget=128, pooling="mean")
    assert len(whole.parts) > 2
    with pytest.raises(Stopped):
        capture(model, texts, tmp_path / "t", observers=[sums], budget=128, pooling="mean")
    again = Drift()
    trace = capture(model, texts, tmp_path / "t", observers=[again], budget=128, pooling="mean")
    assert files(trace.folder) == files(whole.folder)
    assert again.table().equals(straight.table())


def test_a_stopped_pass_does_not_run_again_what_is_written(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(running, "PART_TOKENS", 400)
    model, texts = opened("bert"), many()
    full, rest = [], []
    capture(model, texts, tmp_path / "a", budget=128, progress=lambda done, _: full.append(done))
    assert full[-1] == sum(len(text.encode()) for text in texts)
    assert full == sorted(full)

    def stop(done, total):
        if done > total / 2:
            raise Stopped

    with pytest.raises(Stopped):
        capture(model, texts, tmp_path / "b", budget=128, progress=stop)
    trace = capture(model, texts, tmp_path / "b", budget=128, progress=lambda done, _: rest.append(done))
    assert len(rest) < len(full) - 3
    assert files(trace.folder) == files(tmp_path / "a")


def test_an_observer_that_keeps_no_state_is_shown_all_again(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "KEEP_SECONDS", 0.0)
    model, texts = opened("bert"), many(20)

    def stop(done, total):
        if done > total / 2:
            raise Stopped

    with pytest.raises(Stopped):
        capture(model, texts, tmp_path / "t", budget=128, progress=stop)
    seen = tiny.Seen()
    trace = capture(model, texts, tmp_path / "t", budget=128, observers=[seen])
    assert sum(map(len, seen.units)) == len(trace)


def test_a_killed_process_goes_on_to_the_same_bytes(tmp_path):
    folder = tiny.save("bert", tmp_path / "m")
    code = textwrap.dedent(
        f"""
        import sys, time
        from tests.probing.test_resuming import many
        from probing import running
        from probing.capture import capture
        from probing.models import open_model
        running.KEEP_SECONDS, running.PART_TOKENS = 0.0, 600
        slow = (lambda *_: time.sleep(0.05)) if sys.argv[2] == "slow" else None
        capture(open_model({str(folder)!r}), many(), sys.argv[1], budget=64, progress=slow)
        """
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def start(name, pace):
        return subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / name), pace], cwd=ROOT, env=environment
        )

    assert start("whole", "fast").wait(timeout=120) == 0
    run = start("t", "slow")
    parts = tmp_path / ".t.partial" / "parts"
    deadline = time.monotonic() + 60
    while not (parts / "00001.writing").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.wait(timeout=60)
    assert not (tmp_path / "t").exists()
    assert (parts / "00000").is_dir()
    assert start("t", "fast").wait(timeout=120) == 0
    assert files(tmp_path / "t") == files(tmp_path / "whole")
