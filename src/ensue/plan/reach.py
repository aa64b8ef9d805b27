"""How far back of an event the stream matters to what ends at it: so a stream can be cut into slices.

A slice begins early by the reach and reports what ends in it. Embedded, slices are stretches of a table, one a thread;
on Spark they are stretches of time, each a part of a task. What may be cut, and how early a slice begins, is decided
here for both.
"""

from __future__ import annotations

from dataclasses import dataclass

from ensue.automata.predicates import LatestStart, Machine, Test, TypeIs
from ensue.language import ast
from ensue.logic.aggregation import items_of
from ensue.logic.window import Window, looks_back, reaches_back, steps_back, time_before
from ensue.plan.choice import Choice
from ensue.plan.plan import Plan


@dataclass(frozen=True)
class Reach:
    """So many events at most, so many ticks at most, and what is looked at before these: so many ticks and events more.

    `because` says why nothing bounds it, so that the stream cannot be cut; it is empty where it can.
    """

    events: int | None = None
    ticks: int | None = None
    ticks_before: int = 0
    looked_back: int = 0
    because: str = ""
    #: What reads the stream from its first event on, where slices can be cut once it is known what it has come to.
    past: tuple[Machine, ...] = ()


_NO_WINDOW = "without a window in time it cannot be cut into slices"
_LOOKS_BACK = "PREV looks back to events before the window"


def reach_of(choice: Choice, tick: int | None) -> Reach:
    """The reach of a query in a stream of all its events, whatever their keys."""
    reach = _reach(choice, tick)
    return Reach(because=_from_the_first(choice)) if reach.past else reach


def _from_the_first(choice: Choice) -> str:
    return reaches_back(choice.checked.query) or "a selector compares with events before the window"


def _reach(choice: Choice, tick: int | None) -> Reach:
    """The same, where what reads the stream from its first event on is left to be asked beforehand."""
    plan, ticks, before = choice.plan, choice.window.ticks(tick), _ticks_before(choice, tick)
    if before is None:
        return Reach(because=_NO_WINDOW)
    if plan is None:
        because = reaches_back(choice.evaluated.query) or ("" if ticks is not None else _NO_WINDOW)
        return Reach(ticks=ticks, ticks_before=before, because=because)
    past = tuple(m for m in plan.machines if isinstance(m, Machine))
    alone = plan.consume is ast.Consume.NONE and not plan.rankings and not (past and plan.keys)
    if not alone or not all(map(_asks_single_events, past)):
        return Reach(because=_from_the_first(choice))
    looked_back = _looked_back(plan)
    # The events of one key can be any distance apart in the stream, so that a number of them bounds nothing there.
    by_key = bool(plan.keys) and not plan.counts_all
    events = None if by_key else plan.window.events
    if by_key and looked_back:
        return Reach(because=_LOOKS_BACK)
    because = "" if ticks is not None or events is not None else _NO_WINDOW
    return Reach(events, ticks, before, looked_back, because, past)


def _asks_single_events(machine: Machine) -> bool:
    """Whether a machine asks of each event by itself: then what it does with some events is known by these alone."""
    return all(
        isinstance(p, TypeIs) or (isinstance(p, Test) and not looks_back(p.expression)) for p in machine.predicates
    )


def _ticks_before(choice: Choice, tick: int | None) -> int | None:
    """How long before a match something absent may have started; None means without bound."""
    if choice.plan is None:
        return time_before(choice.checked.query.pattern, tick)
    deadlines = [m.deadline for m in choice.plan.machines if isinstance(m, LatestStart)]
    ticks = [Window(time=d.high).ticks(tick) for d in deadlines]
    return None if None in ticks else max((t for t in ticks if t is not None), default=0)


def reach_in_time(choice: Choice, tick: int | None) -> Reach:
    """The same where slices are stretches of time: a number of events before one is not known there."""
    if any(ast.find(choice.checked.query.pattern, ast.Until)):
        return Reach(because="UNTIL waits for what closes a window, however late it comes")
    if looks_back(*items_of(choice.checked.query)):
        return Reach(because=_LOOKS_BACK)
    reach = _reach(choice, tick)
    if reach.because:
        return Reach(because=_from_the_first(choice)) if reach.past else reach
    if reach.looked_back:
        return Reach(because=_LOOKS_BACK)
    return reach if reach.ticks is not None else Reach(because=_NO_WINDOW)


def _looked_back(plan: Plan) -> int:
    """How many events back the conditions of the automaton look."""
    asked = [*plan.predicates, *(p for m in plan.machines for p in m.predicates)]
    calls = [c for p in asked if isinstance(p, Test) for c in ast.find(p.expression, ast.Call)]
    return max((steps_back(c) for c in calls if c.function == "prev"), default=0)
