"""What `Query.why` returns: for each step how far matches came, what ended them, and the nearest misses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ensue.errors import counted
from ensue.results.rows import as_cell

#: No pattern is asked for more matches.
MOST = 1_000_000
#: More of an event is not shown.
_WIDEST_EVENT = 200


@dataclass(frozen=True)
class Ended:
    """A constraint that ends partial matches: so many more would reach the step without it."""

    kind: str  # filter, window, gap, order, partition, absence or selector
    text: str
    count: int

    def __str__(self) -> str:
        return f"{self.text} ({number(self.count)})"


@dataclass(frozen=True)
class Step:
    """One step of the pattern: how many events it could take, and how many partial matches have reached it."""

    text: str
    events: int  # of its type
    passed: int  # of those, the ones that satisfy what the query asks of them alone
    reached: int  # partial matches up to this step
    ended: tuple[Ended, ...] = ()  # what kept others from it, most first


@dataclass(frozen=True)
class NearMiss:
    """What would be a match, or a partial match, without one constraint."""

    kind: str
    constraint: str
    said: str  # what was found in place of what the constraint asks for
    events: Mapping[str, Sequence[Mapping[str, Any]]]  # the events of each variable


@dataclass(frozen=True)
class Branch:
    """One alternative of a pattern; a pattern without OR has one."""

    text: str
    steps: tuple[Step, ...]
    near_misses: tuple[NearMiss, ...]


@dataclass(frozen=True)
class Why:
    """Why a query has as few matches as it has: see `Query.why`."""

    matches: int
    branches: tuple[Branch, ...]
    notes: tuple[str, ...] = ()  # what can never match, and types that no event has

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the pattern; of one that is an OR, those of all alternatives."""
        return tuple(step for branch in self.branches for step in branch.steps)

    @property
    def near_misses(self) -> tuple[NearMiss, ...]:
        """At most three for each alternative, the nearest ones for each constraint."""
        return tuple(miss for branch in self.branches for miss in branch.near_misses)

    def __str__(self) -> str:
        lines = [f"{number(self.matches)} match{'' if self.matches == 1 else 'es'}"]
        for branch in self.branches:
            lines += ["", *([f"alternative {branch.text}"] if len(self.branches) > 1 else [])]
            lines += _table(branch.steps)
            for step in branch.steps:
                lines += _of_step(step)
            lines += _too_few(branch.steps)
            if branch.near_misses:
                lines += ["", "nearest misses"]
            for miss in branch.near_misses:
                lines += _of_miss(miss)
        return "\n".join([*lines, *("\n" + note for note in self.notes)])

    __repr__ = __str__


def number(count: int) -> str:
    """The count; what is not counted further is said to be more."""
    return f"{count:,}" + (" or more" if count >= MOST else "")


def _table(steps: Iterable[Step]) -> list[str]:
    rows = [("", "step", "events", "pass", "reached")]
    rows += [
        (str(k), s.text, number(s.events), number(s.passed), number(s.reached)) for k, s in enumerate(steps, start=1)
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].rjust(widths[0]), row[1].ljust(widths[1]), *map(str.rjust, row[2:], widths[2:])])
        for row in rows
    ]


def _of_step(step: Step) -> list[str]:
    """What ended partial matches before a step."""
    if not step.ended:
        return []
    width = max(len(number(e.count)) for e in step.ended)
    lines = [f"  {number(e.count).rjust(width)} more without {e.kind} {e.text}" for e in step.ended]
    return ["", f"ended before {step.text}", *lines]


def _too_few(steps: Iterable[Step]) -> list[str]:
    """Where matches stop at a step for no constraint that could be lifted."""
    first = next((s for s in steps if not s.reached), None)
    if first is None or first.ended:
        return []
    why = "lifting no one or two of the constraints helps" if first.passed else "there is no such event"
    return ["", f"ended before {first.text}", f"  {why}"]


def _of_miss(miss: NearMiss) -> list[str]:
    lines = [f"  {miss.kind} {miss.constraint}: {miss.said}"]
    width = max(map(len, miss.events), default=0)
    for x, events in miss.events.items():
        shown = ", ".join(as_cell(e, _WIDEST_EVENT) for e in events[:3])
        more = f" and {counted(len(events) - 3, 'more event')}" if len(events) > 3 else ""
        lines.append(f"    {x.ljust(width)}  {shown}{more}")
    return lines
