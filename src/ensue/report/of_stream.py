"""The page of a query that runs over a stream: what its last steps did."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from ensue.report.html_page import Page, chart, facts, section, table, text_block

#: So many steps are shown one by one.
_SHOWN = 60


@dataclass(frozen=True)
class Kind:
    """What there is to show of a step, with its number, of all of them together, and of the latest one."""

    step: str
    charts: tuple[str, ...]
    sums: tuple[str, ...]
    now: tuple[str, ...]


OF_SPARK = Kind(
    "batch",
    charts=("events", "relevant", "late", "waiting", "open", "matches", "state_bytes", "milliseconds"),
    sums=("events", "late", "without_time", "unexpected", "matches"),
    now=("waiting", "open", "state_bytes"),
)
OF_LIVE = Kind(
    "step",
    charts=("events", "inserted", "deleted", "late", "unsettled", "open", "milliseconds"),
    sums=("events", "inserted", "deleted", "late", "unexpected"),
    now=("unsettled", "open"),
)


class StepLog:
    """The last steps of a query, and sums over all that were added. One thread adds, and another may ask for pages.

    A step has its number, by the kind's word for it, the `time` at which it began, `events` that came, the
    `milliseconds` that it took, and more figures as the kind says.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._lock = Lock()
        self._last: deque[Mapping[str, Any]] = deque(maxlen=_SHOWN)
        self._sums: Counter[str] = Counter()
        self._count = 0
        self._first: int | None = None

    def add(self, step: Mapping[str, Any]) -> None:
        """One more step; one that was added before, or came before others that were, is not added again."""
        number = step[self._kind.step]
        with self._lock:
            if self._last and number <= self._last[-1][self._kind.step]:
                return
            self._first = number if self._first is None else self._first
            self._last.append(step)
            self._count += 1
            self._sums.update({what: int(step.get(what) or 0) for what in self._kind.sums})

    def page(self, *, name: str, query: str, state: str, every: int) -> Page:
        """A page that loads itself anew every so many seconds, as long as the query runs."""
        kind = self._kind
        with self._lock:
            steps, sums, count, first = list(self._last), dict(self._sums), self._count, self._first
        now = {what: _figure(steps[-1] if steps else {}, what) for what in kind.now}
        labels = [f"{kind.step} {step[kind.step]}" for step in steps]
        charts = [chart(what, [_figure(step, what) for step in steps], labels) for what in kind.charts]
        rows = [
            [step[kind.step], step["time"], *(_figure(step, what) for what in kind.charts)] for step in reversed(steps)
        ]
        named = "micro-batches" if kind is OF_SPARK else "steps"
        since = {"the first of them": f"{kind.step} {first}"} if first else {}
        totals = {what: sums.get(what, 0) for what in kind.sums}
        return Page(
            f"{name}: {state}",
            facts({"state": state, named: count, **since, **totals, **now}),
            section(f"The last {named}", f'<div class="charts">{"".join(charts)}</div>' if steps else ""),
            section("One by one", table([kind.step, "time", *kind.charts], rows) if steps else "<p>None so far.</p>"),
            section("Query", text_block(query)),
            refresh=every if state == "running" else None,
        )


def _figure(step: Mapping[str, Any], what: str) -> int:
    return int(step.get(what) or 0)


def page_of_stream(
    batches: Sequence[Mapping[str, Any]], *, name: str, query: str = "", state: str = "running", every: int = 2
) -> Page:
    """The page of a query on Spark that has had these micro-batches, in their order."""
    log = StepLog(OF_SPARK)
    for batch in batches:
        log.add(batch)
    return log.page(name=name, query=query, state=state, every=every)
