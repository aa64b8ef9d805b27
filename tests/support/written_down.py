"""A pytest plugin that notes every run of a query: the test, the text of the query, the events and the options."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import ensue

_RUNS: list[Any] = []
_run = ensue.Query.run


def _written_down(self: ensue.Query, events: Any, **options: Any) -> Any:
    matches = _run(self, events, **options)
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
    _RUNS.append((test, self.text, events, options))
    return matches


def pytest_configure() -> None:
    """Starts to note runs. This is not done at import, because pytest also imports this file to look for doctests."""
    ensue.Query.run = _written_down  # type: ignore[method-assign]


def pytest_sessionfinish() -> None:
    Path(os.environ["RUNS"]).write_bytes(pickle.dumps(_RUNS))
