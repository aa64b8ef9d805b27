"""The lines of `explain` about a query with clocks: its class, and how the class is evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ensue.automata.predicates import print_guard
from ensue.automata.timing.clocks import compares_values
from ensue.automata.timing.one_clock import has_lower_bounds
from ensue.automata.timing.synchronous import Answer, Verdict, Witness
from ensue.language.ast import NANOSECONDS
from ensue.plan import Plan
from ensue.plan.choice import Choice
from ensue.plan.timed_classes import Timing, timing_of


def timing_lines(choice: Choice, slow: list[str]) -> list[str]:
    """The lines; none for a query without clocks. `slow` are the transitions that handle many runs one by one."""
    plan, timing = choice.plan, timing_of(choice)
    if plan is None or timing is None:
        return []
    compares = any(compares_values(actions) for actions in plan.actions)
    lines = [
        f"clocks        {len(timing.clocks)}: {_OUTSIDE if compares else _class(timing)}",
        f"resets        {_resets(timing.resets)}",
        f"evaluator     {_evaluator(plan, timing, slow)}",
    ]
    if plan.ambiguous:
        lines.append("duplicates    the matches of each end are compared: two runs may find the same one")
    return lines


_UPPER = "lists by the clock: one clock with only upper bounds, so constant time per event"
_LOWER = "queues by the clock: one clock with only lower bounds, so constant time per event on average"
_LOWER_TREES = "trees by the clock: one clock with only lower bounds, so logarithmic time per event"
_FAST = "ordered trees: the partial matches that pass a check are adjacent"
_SLOW = "ordered trees: some events handle partial matches one by one: these keep other values or must pass two bounds"
_OUTSIDE = "the query also compares values, which the classes of timed queries exclude"


def _evaluator(plan: Plan, timing: Timing, slow: list[str]) -> str:
    if plan.on_one_clock:
        if not has_lower_bounds(plan.automaton):
            return _UPPER
        return _LOWER_TREES if plan.in_trees else _LOWER
    if timing.monotonic is None or slow:
        return _SLOW if slow else _FAST
    return f"{_FAST}; not in constant time, because {_why_not(plan, timing)}"


def _why_not(plan: Plan, timing: Timing) -> str:
    """Why a monotonic query is not evaluated in constant time per event."""
    if plan.window.events is not None:
        return "the window also counts events"
    if plan.chooses is not None:
        return f"{plan.chooses} compares matches"
    return "the automaton is too large" if timing.upper else "an event that is not marked asks for the clock"


def _class(timing: Timing) -> str:
    kinds = ["windowed (times since the first event, or since the last marked)"] if timing.windowed else []
    if timing.monotonic is not None:
        kinds.append(f"monotonic ({'upper' if timing.upper else 'lower'} bounds only)")
    return " and ".join(kinds) or "neither windowed nor monotonic"


def _resets(verdict: Verdict) -> str:
    if verdict.answer is Answer.YES:
        return "synchronous: partial matches that mark the same events agree on the clocks"
    if verdict.witness is not None:
        return f"not synchronous: partial matches with equal marks differ in a clock after {_shown(verdict.witness)}"
    return f"not decided whether synchronous: {verdict.why}"


def _shown(witness: Witness) -> str:
    """The events of the witness, with their times."""
    unit = _unit(witness.times)
    times = [f"{float(t / NANOSECONDS[unit]):g} {unit}" for t in witness.times]
    return ", ".join(f"{print_guard(s.guard)} at {t}" for s, t in zip(witness.steps, times, strict=True))


def _unit(times: Sequence[Fraction]) -> str:
    """The largest unit in which all times are multiples of a half and the last time is at least 1."""
    for unit, length in reversed(NANOSECONDS.items()):
        if times[-1] >= length and all((2 * t / length).denominator == 1 for t in times):
            return unit
    return "ns"
