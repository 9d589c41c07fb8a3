"""A lock keeps the second one out while the first lives, and no longer."""

import signal
import subprocess
import sys

import pytest

from workbench.locking import Busy, Lock

HOLD = """
import pathlib, sys, time
from workbench.locking import Lock
lock = Lock(pathlib.Path(sys.argv[1]), "held")
lock.take()
print("taken", flush=True)
time.sleep(60)
"""


def test_one_at_a_time(tmp_path):
    first, second = (Lock(tmp_path / "deep" / "lock", "somebody else is there") for _ in range(2))
    with first:
        with pytest.raises(Busy, match="somebody else is there"):
            second.take()
        assert first.path.exists()
    with second:
        pass
    assert not first.path.exists()


def test_releasing_removes_no_file_of_another(tmp_path):
    first, second = Lock(tmp_path / "a" / "lock", "busy"), Lock(tmp_path / "a" / "lock", "busy")
    first.take()
    (tmp_path / "a").rename(tmp_path / "b")  # as a run does when it is published
    second.take()
    first.release()
    first.release()
    assert second.path.exists()
    with pytest.raises(Busy):
        Lock(second.path, "busy").take()
    second.release()


def test_a_killed_holder_holds_no_longer(tmp_path):
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "taken\n"
        with pytest.raises(Busy):
            Lock(path, "busy").take()
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=30)
        with Lock(path, "busy"):
            assert path.exists()


def test_one_who_waits_gets_it(tmp_path):
    path = tmp_path / "lock"
    script = HOLD.replace("time.sleep(60)", "time.sleep(0.5)")
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True
    ) as one:
        assert one.stdout.readline() == "taken\n"
        with pytest.raises(Busy):
            Lock(path, "busy").take()
        with Lock(path, "busy", wait=30):
            assert path.exists()
