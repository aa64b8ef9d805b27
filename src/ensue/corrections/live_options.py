"""The options of live queries: how events come, and when the queries may speak of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ensue.data.reading import Reading, no_unit
from ensue.errors import DataError, EngineError, QueryError, did_you_mean, listed
from ensue.language import ast
from ensue.language.parser import parse_interval
from ensue.logic.window import Window

#: Whether matches are told at once and taken back where needed, or only when nothing can change them any more.
DISORDER = ("revise", "wait")
#: `keep=` with this word keeps every match for `answer()`.
ALL = "all"


@dataclass(frozen=True)
class LiveOptions:
    """The options of `Query.live`, which says what they mean."""

    reading: Reading = field(default_factory=Reading)
    disorder: str = "revise"
    slack: str | None = None
    delay: str | None = None
    id: tuple[str, ...] | None = None
    changes: str | None = None
    engine: str = "auto"
    memory: str | int | None = None
    keep: str | None = None
    delays: Mapping[str, str] = field(default_factory=dict)
    promises: str | None = None  # on Spark, the column of rows that promise something

    @property
    def about_rows(self) -> frozenset[str]:
        """The columns that are not those of events, but say what a row is."""
        return frozenset(c for c in (self.changes, self.promises) if c is not None)

    def check(self) -> None:
        """Refuses what can be refused before any event is there."""
        if self.disorder not in DISORDER:
            hint = did_you_mean(self.disorder, DISORDER) or f"one of {listed(DISORDER)}"
            raise EngineError(f"unknown disorder='{self.disorder}': {hint}")
        if self.slack is not None and self.disorder == "wait":
            raise EngineError("slack= says how long disorder='revise' waits; disorder='wait' waits for the watermark")
        for option in ("slack", "delay", "keep"):
            if getattr(self, option) not in (None, ALL):
                self.length(option)
        for type_, delay in self.delays.items():
            _length(f"delays[{type_!r}]", delay)
        if self.reading.get("time", "time") is None:
            raise DataError(
                "a live query puts events in the order of their times: name the time column with time='...'"
            )

    def length(self, option: str) -> ast.Bound | None:
        """The duration that an option gives; None if it gives none."""
        said = getattr(self, option)
        if said is None or (option == "keep" and said == ALL):
            return None
        return _length(option, said)

    def ticks(self, option: str, tick: int | None) -> int | None:
        """The same in steps of the time column."""
        length = self.length(option)
        return None if length is None else self._ticks(length, tick)

    def delays_in_ticks(self, tick: int | None) -> dict[str, int]:
        """The delay of each type that has one, in steps of the time column."""
        each = {type_: self._ticks(_length("delays", delay), tick) for type_, delay in self.delays.items()}
        return {type_: ticks for type_, ticks in each.items() if ticks is not None}

    def _ticks(self, length: ast.Bound, tick: int | None) -> int | None:
        if tick is None:
            raise no_unit(self.reading.get("time", "time"))
        return Window(time=length).ticks(tick)

    @property
    def made_by(self) -> dict[str, str]:
        """What a saved state depends on."""
        return {
            "columns for time, type and tie-break, and the unit": repr(sorted(self.reading.items())),
            "disorder": self.disorder,
            "slack": str(self.slack),
            "delay": str(self.delay),
            "id": ", ".join(self.id or ()),
            "changes": str(self.changes),
            "keep": "no matches" if self.keep is None else "matches",
            "delays": repr(sorted(self.delays.items())),
        }


def _length(option: str, said: object) -> ast.Bound:
    """The length of a duration that is written as in a query."""
    try:
        high = parse_interval(f"[<= {said}]").high
    except QueryError:
        high = None
    if high is None:
        raise EngineError(f"{option}={said!r} is not a duration: write it as in a query, such as '10 s'")
    return high
