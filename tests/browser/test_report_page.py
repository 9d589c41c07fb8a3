"""The report in a real browser: it opens from a file and asks no host for anything."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.reports import Page, audited, small
from workbench.report.writing import write_report

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # whatever is asked for, nothing leaves the machine
)
OWN = "not an origin"
"""Initiator in the browser's log of what the browser asks for by itself, such as the time and updates."""

LOCAL = ("", "localhost", "127.0.0.1")


@pytest.fixture(scope="module")
def browser() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    return found


def opened(browser: str, page: Path, folder: Path, *options: str) -> tuple[str, list[str]]:
    """Opens a page from its file; gives the document as parsed, and the hosts that it asked."""
    log = folder / "net.json"
    command = [browser, *OPTIONS, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", *options]
    done = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=180, check=True
    )
    events = json.loads(log.read_text(encoding="utf-8"))
    start = events["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    asked = [event["params"] for event in events["events"] if event["type"] == start and "params" in event]
    return done.stdout, [_host(request) for request in asked if request.get("initiator", OWN) != OWN]


def _host(request: dict[str, Any]) -> str:
    return urlsplit(request["url"]).hostname or ""


def test_the_report_asks_no_host(browser, tmp_path):
    run = audited(tmp_path / "run", small(), tmp_path / "texts")
    page = write_report(run)[0]
    document, hosts = opened(browser, page, tmp_path)
    assert [host for host in hosts if host not in LOCAL] == []
    assert "Jaccard index of each pair" in document
    shown = Page(page.read_text(encoding="utf-8")).root
    assert document.count("<td") == len(shown.all("td"))  # the browser dropped nothing as malformed
    assert document.count("<bdi") == len(shown.all("bdi"))


def test_a_page_that_asks_a_host_is_found_out(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<!DOCTYPE html><link rel="stylesheet" href="https://fonts.example.test/a.css">'
        '<img src="http://192.0.2.1/x.png"><p>text</p>',
        encoding="utf-8",
    )
    _, hosts = opened(browser, page, tmp_path)
    assert sorted(set(hosts)) == ["192.0.2.1", "fonts.example.test"]
