"""The atoms of formulas. A position variable is a track that marks one event; elsewhere an atom may say anything."""

from __future__ import annotations

import operator
from collections.abc import Callable

from ensue.automata.mso.diagrams import Diagram, Diagrams, leaf
from ensue.automata.mso.tracked import Tracked, minimised

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def always_where(diagrams: Diagrams, asked: Diagram) -> Tracked:
    """The letters all have the value 1 in this diagram."""
    first = diagrams.mapped(asked, lambda value: 1 - value, {})
    return minimised(diagrams, [first, leaf(1)], [True, False])


def implies_at(diagrams: Diagrams, variable: int, condition: Diagram) -> Tracked:
    """Where the track marks an event, the condition has the value 1: `x[g]`, `x IS T` and `x IN X`."""
    marked = diagrams.node(variable, leaf(0), leaf(1))
    kept: dict[tuple[Diagram, Diagram], Diagram] = {}
    return always_where(diagrams, diagrams.combined(marked, condition, lambda a, b: max(1 - a, b), kept))


def once(diagrams: Diagrams, variable: int) -> Tracked:
    """The track marks exactly one event."""
    steps = [diagrams.node(variable, leaf(n), leaf(min(n + 1, 2))) for n in range(3)]
    return Tracked(frozenset({1}), tuple(steps))


def last(diagrams: Diagrams, variable: int) -> Tracked:
    """The track marks the last event."""
    step = diagrams.node(variable, leaf(0), leaf(1))
    return Tracked(frozenset({1}), (step, step))


def compared(diagrams: Diagrams, left: int, symbol: str, right: int, later: int) -> Tracked:
    """`x < y + later`, where the tracks mark one event each.

    The states: neither has come; one of them so many events ago, as far as it matters; it is true, or it is false.
    """
    holds = _COMPARE[symbol]
    if left == right:
        return always_where(diagrams, leaf(int(holds(0, later))))
    most = abs(later) + 1  # from this distance on, nothing changes
    true, false = 2 * most + 1, 2 * most + 2

    def judged(difference: int) -> int:
        """`difference` is x - y."""
        return true if holds(difference, later) else false

    steps = []
    for state in range(2 * most + 1):
        ago = state if state <= most else state - most
        older = min(ago + 1, most)
        if state == 0:
            first, second = min(left, right), max(left, right)
            came = {left: leaf(1), right: leaf(most + 1)}
            neither = diagrams.node(second, leaf(0), came[second])
            steps.append(diagrams.node(first, neither, diagrams.node(second, came[first], leaf(judged(0)))))
        elif state <= most:  # x came `ago` events before
            steps.append(diagrams.node(right, leaf(older), leaf(judged(-ago))))
        else:
            steps.append(diagrams.node(left, leaf(most + older), leaf(judged(ago))))
    return minimised(diagrams, [*steps, leaf(true), leaf(false)], [s == true for s in range(2 * most + 3)])
