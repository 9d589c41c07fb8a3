"""What a command costs: CPU seconds and peak memory, its children included.

As a script it is the thin launcher that `measure` starts, and prints what it measured as JSON. A process
begins with the peak memory of the one that started it, so a launcher that has imported little is needed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Measured(NamedTuple):
    """What one run of a command took, and what it found.

    Attributes:
        cpu_s: User and system seconds, summed over the process and the children that it waited for.
        rss_mb: Peak resident memory of the largest single process, in MiB.
        wall_s: Seconds from start to end.
        numbers: What the command reported, as the caller read it from the output.
        command: The invocation.
    """

    cpu_s: float
    rss_mb: float
    wall_s: float
    numbers: dict[str, Any]
    command: list[str]


def measure(
    command: Sequence[str], *, stdout: Path, env: Mapping[str, str] | None = None, runs: int = 1
) -> Measured:
    """Run a command and measure it; of several runs, the one with the least CPU time is given.

    Args:
        command: The program and its arguments.
        stdout: The file that its standard output goes to.
        env: Variables to set on top of this process's own.
        runs: How often to run it.

    Raises:
        subprocess.CalledProcessError: It exited with another status than 0; the error holds its stderr.
    """
    results = []
    for _ in range(runs):
        launcher = [sys.executable, "-I", "-S", __file__, str(stdout), *command]
        done = subprocess.run(
            launcher, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}
        )
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, list(command), done.stdout, done.stderr)
        results.append(Measured(**json.loads(done.stdout), numbers={}, command=list(command)))
    return min(results, key=lambda result: result.cpu_s)


def _launch(stdout: str, command: list[str]) -> int:
    start = time.perf_counter()
    with open(stdout, "wb") as target:  # noqa: PTH123  (pathlib would double the launcher's memory)
        child = subprocess.Popen(command, stdout=target)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    peak = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    print(json.dumps({"cpu_s": usage.ru_utime + usage.ru_stime, "rss_mb": peak, "wall_s": wall}))
    return child.returncode


if __name__ == "__main__":
    raise SystemExit(_launch(sys.argv[1], sys.argv[2:]))
