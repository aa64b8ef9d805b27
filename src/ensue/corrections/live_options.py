"""The options of live queries: how events come, and when the queries may speak of them."""

from __future__ import annotations

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
        if self.reading.get("time", "time") is None:
            raise DataError(
                "a live query puts events in the order of their times: name the time column with time='...'"
            )

    def length(self, option: str) -> ast.Bound | None:
        """The duration that an option gives; None if it gives none."""
        said = getattr(self, option)
        if said is None or (option == "keep" and said == ALL):
            return None
        try:
            high = parse_interval(f"[<= {said}]").high
        except QueryError:
            raise EngineError(f"{option}={said!r} is not a duration: write it as in a query, such as '10 s'") from None
        return high

    def ticks(self, option: str, tick: int | None) -> int | None:
        """The same in steps of the time column."""
        length = self.length(option)
        if length is None:
            return None
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
        }
