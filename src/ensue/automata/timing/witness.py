"""Finds times for the events of two runs that satisfy all checks of their clocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ensue.automata.model import Automaton, Transition
from ensue.automata.predicates import Guard, conjunction
from ensue.automata.registers import Clear, Since, Store
from ensue.automata.timing.clocks import in_units
from ensue.automata.timing.zones import NO_BOUND, ZERO, Bound, at_most, less_than, tighten
from ensue.logic.stored_values import Register


@dataclass(frozen=True)
class PairedStep:
    """The transitions of two runs at one event, with equal marks."""

    one: Transition
    other: Transition

    @property
    def guard(self) -> Guard:
        both = conjunction(self.one.guard, self.other.guard)
        assert both is not None, "some event can take both transitions"
        return both


def times_of(automaton: Automaton, steps: Sequence[PairedStep]) -> tuple[Fraction, ...]:
    """The times of the events of two runs of the automaton, in nanoseconds since the first event.

    The bounds on the differences of times are made as tight as possible. Then times can be chosen one after the other:
    each choice within its bounds leaves a choice for the events that follow.
    """
    units, unit = in_units(automaton)
    n = len(steps)
    rows: list[list[Bound]] = [[ZERO if i <= j else NO_BOUND for j in range(n)] for i in range(n)]
    for i, j, since in [*_checks_of([s.one for s in steps]), *_checks_of([s.other for s in steps])]:
        low, high = since.interval.low, since.interval.high
        if low is not None:
            c = -units[low.duration]
            rows[i][j] = min(rows[i][j], at_most(c) if low.inclusive else less_than(c))
        if high is not None:
            c = units[high.duration]
            rows[j][i] = min(rows[j][i], at_most(c) if high.inclusive else less_than(c))
    solvable = tighten(rows)
    assert solvable, "zones have found these runs, so times for them exist"
    chosen: list[Fraction] = [Fraction(0)]
    for k in range(1, n):
        chosen.append(_chosen(rows, chosen, k))
    return tuple(t * unit for t in chosen)


def _checks_of(run: Sequence[Transition]) -> Iterator[tuple[int, int, Since]]:
    """The checks of a run, each as the event of the reset, the event of the check, and the check."""
    reset: dict[Register, int] = {}
    for k, t in enumerate(run):
        yield from ((reset[a.register], k, a) for a in t.actions if isinstance(a, Since) and a.register in reset)
        for a in t.actions:
            if isinstance(a, Clear):
                reset.pop(a.register, None)
        reset |= {a.register: k for a in t.actions if isinstance(a, Store)}


def _chosen(rows: Sequence[Sequence[Bound]], before: Sequence[Fraction], k: int) -> Fraction:
    """A time for event `k`: one unit after the earliest possible one or, if that is nearer, half way to the latest.

    So each event is later than the previous one where possible: a stream in which time passes is easier to read.
    """
    low = max(t - rows[i][k] // 2 for i, t in enumerate(before))
    high = min((t + rows[k][i] // 2 for i, t in enumerate(before) if rows[k][i] < NO_BOUND), default=low + 2)
    return min(low + 1, (low + high) / 2)
