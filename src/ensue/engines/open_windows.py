"""How many windows of a query can be open at once: proven, shown by events that were run, or not known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ensue.automata.overlap import Overlap, overlap
from ensue.automata.overlap.finite_ambiguity import Rounds
from ensue.engines.left_open import ROUNDS, left_open
from ensue.logic.window import Window
from ensue.plan.choice import Choice


class Answer(Enum):
    BOUNDED = "bounded"
    NO_BOUND = "no bound"
    NOT_KNOWN = "not known"


@dataclass(frozen=True)
class OpenWindows:
    """The answer, for the windows of each value of the query's keys."""

    answer: Answer
    most: int | None = None  # the greatest number, where it was counted
    longest: int | None = None  # the most events of a window, where that has a bound
    rounds: Rounds | None = None  # the events that were run, and showed that there is no bound
    why: str = ""  # why it is not known


def open_windows(choice: Choice, *, expected: bool = True, timed: bool = True) -> OpenWindows:
    """Decides it; with `expected`, for streams that are as EXPECT says. What shows that there is no bound was run.

    They are `timed` if the attribute `time` is the time of the events, as it is unless another one is named.
    """
    plan = choice.plan
    if plan is None:
        why = "no automaton evaluates the query" if choice.layers is None else choice.without_plan
        return OpenWindows(Answer.NOT_KNOWN, why=why)
    expectation = choice.expectation if expected and choice.own_keys else None
    found = overlap(plan.with_registers.automaton, expectation, timed=timed, schema=choice.checked.schema)
    most = _counted(found, plan.window)
    closings = [p.closing for p in (plan, *plan.alternatives) if p.closing is not None]
    if not all(c.one_event for c in closings):
        return OpenWindows(Answer.NOT_KNOWN, why="UNTIL with several events may let any number of windows wait")
    if found.bounded or most is not None:
        return OpenWindows(Answer.BOUNDED, most, found.longest)
    if found.bounded is None or found.rounds is None or found.streams is None:
        return OpenWindows(Answer.NOT_KNOWN, why="there are too many situations to go through")
    if left_open(choice.checked, found.streams, found.rounds) >= ROUNDS:
        return OpenWindows(Answer.NO_BOUND, rounds=found.rounds)
    what = " and of ".join(found.undecided)
    why = f"nothing is decided of {what}" if what else "no events were found that leave more and more windows open"
    return OpenWindows(Answer.NOT_KNOWN, why=why)


def _counted(found: Overlap, window: Window) -> int | None:
    """The greatest number: within `n` events, a window that is still open began with one of the last `n - 1`."""
    by_window = None if window.events is None else window.events - 1
    known = [n for n in (found.most, by_window) if n is not None]
    return min(known, default=None)
