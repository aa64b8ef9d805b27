"""Bars while a command works: what they show, for whom, and that what they watch goes through as it is."""

import io
import time

import pytest
from rich.console import Console

from ensue.cli import progress_bars
from ensue.cli.progress_bars import asking, counted, counting, moving


@pytest.fixture
def screen(monkeypatch):
    """What a terminal would get, at once."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, force_interactive=True, width=100, color_system=None)
    monkeypatch.setattr(progress_bars, "STDERR", console)
    monkeypatch.setattr(progress_bars, "PATIENCE", 0.0)
    monkeypatch.setattr(progress_bars, "PAUSE", 0.0)
    return written


def seen(screen, what, seconds=20.0):
    """Whether it appears before the time is over."""
    end = time.monotonic() + seconds
    while what not in screen.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    return what in screen.getvalue()


def test_a_bar_that_is_told(screen):
    with counting("matching") as told:
        assert told is not None
        told(2, 5)
        assert seen(screen, "matching")
        assert seen(screen, "2/5")


def test_a_bar_that_moves(screen):
    with moving("reading events.csv"):
        assert seen(screen, "reading events.csv")


def test_a_bar_that_asks(screen):
    with asking("Spark", lambda: (3, 8)):
        assert seen(screen, "3/8")


def test_a_bar_of_parts(screen):
    parts = []
    for part in counted("writing", ["ab", "c"], len, 3):
        parts.append(part)
        assert seen(screen, "writing" if part == "ab" else "2/3")
    assert parts == ["ab", "c"]


def test_it_goes_with_an_error(screen):
    def fail():
        with moving("reading"):
            assert seen(screen, "reading")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert screen.getvalue().rstrip().endswith("\x1b[2K"), "the line is wiped"


def test_what_is_short_needs_none(screen, monkeypatch):
    monkeypatch.setattr(progress_bars, "PATIENCE", 1000.0)
    with counting("matching") as told:
        assert told is not None
        told(1, 2)
    assert screen.getvalue() == ""


def test_nobody_looks(screen, monkeypatch):
    monkeypatch.setattr(progress_bars, "STDERR", Console(file=screen))
    with counting("matching") as told, moving("reading"), asking("Spark", lambda: (1, 2)):
        assert told is None
    assert list(counted("writing", ["a"], len, 1)) == ["a"]
    assert screen.getvalue() == ""
