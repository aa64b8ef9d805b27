"""A page that is written to a file again and again while something runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from ensue.data.events import log
from ensue.errors import DataError
from ensue.report.html_page import Page


@contextmanager
def kept_page(path: str | Path, page: Callable[[str], Page], *, every: int) -> Iterator[None]:
    """Writes the page every so many seconds until the block ends. `page` is told the state: running, stopped, failed.

    A page that cannot be written is no reason to stop what it shows: the log says so, once.
    """
    page("running").save(path)  # what cannot be written at all is refused before anything has begun
    ended, told = Event(), False

    def save(state: str) -> None:
        nonlocal told
        try:
            page(state).save(path)
        except DataError as e:
            if not told:
                log.warning("the page is not up to date: %s", e)
            told = True

    def work() -> None:
        while not ended.wait(every):
            save("running")

    writer = Thread(target=work, name="ensue page", daemon=True)
    writer.start()
    state = "failed"
    try:
        yield
        state = "stopped"
    except (KeyboardInterrupt, SystemExit):
        state = "stopped"
        raise
    finally:
        ended.set()
        writer.join()
        save(state)
