"""A real browser, which says what became of a page: Debian's chromium, installed where that is possible."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@cache
def browser() -> str:
    """The program; where there is none, it is installed. The test is skipped only if that fails."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"]
        subprocess.run(command, capture_output=True, timeout=400, check=False)
        found = shutil.which("chromium")
    if found is None:
        pytest.skip("there is no chromium, and it cannot be installed here")
    return found


@dataclass(frozen=True)
class Seen:
    """What the browser made of a page."""

    html: str  # the page as it stands after loading
    told: list[str]  # what was written to the console: errors among them
    width: int  # of all that is in the page, which may be more than the screen's


def seen(page: str, *, width: int = 1000) -> Seen:
    """Loads the page on a screen of this width. It is put into a frame, since a window has a least width."""
    measured = (
        "const f=document.querySelector('iframe');f.onload=()=>{const d=f.contentDocument;"
        "document.body.dataset.width=d.documentElement.scrollWidth;"
        "document.body.appendChild(document.createElement('main')).innerHTML=d.body.innerHTML}"
    )
    around = (
        "<!doctype html><meta charset=utf-8><link rel=icon href='data:,'>"
        f'<iframe srcdoc="{escape(page)}" style="border:0;width:{width}px;height:800px"></iframe>'
        f"<script>{measured}</script>"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(around, encoding="utf-8")
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--virtual-time-budget=4000",
        ]
        own = [f"--user-data-dir={folder}/profile", "--dump-dom", path.as_uri()]
        done = subprocess.run([browser(), *options, *own], capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'data-width="(\d+)"', done.stdout)
    assert found is not None, done.stdout[-2000:]
    told = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Seen(done.stdout.partition("<main>")[2], told, int(found[1]))
