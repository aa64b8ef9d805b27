"""Bars on standard error while a command works: only on a terminal, and only for what takes a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, Timer
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

#: What takes less, in seconds, needs no bar; and how often a bar asks for what is done, where nobody tells it.
PATIENCE, PAUSE = 0.4, 0.5
STDERR = Console(stderr=True, highlight=False)

T = TypeVar("T")


@contextmanager
def moving(said: str) -> Iterator[None]:
    """A bar that moves to and fro, where it is not known how much there is to do."""
    with _bar(said, TimeElapsedColumn()):
        yield


@contextmanager
def counting(said: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar that is told what is done, and of how much; None where nobody looks, so that nobody counts for it."""
    with _bar(said, MofNCompleteColumn(), TimeElapsedColumn()) as bar:
        yield None if bar is None else lambda done, total: bar.update(bar.task_ids[0], completed=done, total=total)


@contextmanager
def asking(said: str, look: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """A bar that asks from time to time what is done, and of how much."""
    ended = Event()
    with counting(said) as told:

        def work() -> None:
            while told is not None and not ended.wait(PAUSE):
                done, total = look()
                if total:  # between two jobs nothing is to be done: the bar stays as it was
                    told(done, total)

        asker = Thread(target=work, daemon=True)
        asker.start()
        try:
            yield
        finally:
            ended.set()
            asker.join()


def counted(said: str, parts: Iterable[T], size: Callable[[T], int], total: int) -> Iterator[T]:
    """The same parts, with a bar of how much of all has been taken."""
    done = 0
    with counting(said) as told:
        for part in parts:
            yield part
            done += size(part)
            if told is not None:
                told(done, total)


@contextmanager
def _bar(said: str, *more: ProgressColumn) -> Iterator[Progress | None]:
    if not STDERR.is_interactive:
        yield None
        return
    bar = Progress(TextColumn(said), BarColumn(), *more, console=STDERR, transient=True)
    bar.add_task(said, total=None)
    begin = Timer(PATIENCE, bar.start)
    begin.daemon = True
    begin.start()
    try:
        yield bar
    finally:
        begin.cancel()
        begin.join()
        bar.stop()
