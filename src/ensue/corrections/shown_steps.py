"""What the last steps of live queries did, for the page that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ensue.corrections.live_stream import Step
from ensue.corrections.revision import MatchChanges
from ensue.report.html_page import Page
from ensue.report.of_stream import OF_LIVE, StepLog

#: Counts of the stream that are over all its steps.
_OVER_ALL = ("late", "unexpected")


class ShownSteps:
    """The log of the page; `before` are the counts of a state that the queries have gone on from."""

    def __init__(self, before: Mapping[str, int] | None = None) -> None:
        self._log = StepLog(OF_LIVE)
        self._number = 0
        self._before = dict(before or {})

    def add(
        self,
        began: datetime,
        seconds: float,
        step: Step,
        changes: Mapping[str, MatchChanges],
        counts: Mapping[str, int],
    ) -> None:
        """One more step, with what it has changed for each query and the counts after it."""
        self._number += 1
        figures = {
            **counts,
            **{what: counts[what] - self._before.get(what, 0) for what in _OVER_ALL},
            "step": self._number,
            "time": began.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "events": 0 if step.arrivals is None else len(step.arrivals),
            "inserted": sum(len(m) for c in changes.values() for m in c.came),
            "deleted": sum(len(m) for c in changes.values() for m in c.gone),
            "milliseconds": round(1000 * seconds),
        }
        self._before = dict(counts)
        self._log.add(figures)

    def page(self, *, name: str, query: str, state: str, every: int) -> Page:
        """The page as it is now."""
        return self._log.page(name=name, query=query, state=state, every=every)
