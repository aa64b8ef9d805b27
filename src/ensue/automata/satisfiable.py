"""Decides whether a guard and outcomes of checks can hold at once, so that impossible min-terms are not built.

Only the order of values is decided (`logic/orders.py`): register contents, values of the event and the numbers they are
compared with. Times follow the order of their events, and the time since each event lies in an interval or does not.

The following is not decided: arithmetic (`v` and `v + 1` are two points), string constants, functions and disjunctions
of one event, and what the path to a state says about registers. In these cases, a min-term may be built that never
holds.
"""

from __future__ import annotations

from fractions import Fraction

from ensue.automata.deterministic import Outcomes, age
from ensue.automata.predicates import Guard, Test
from ensue.automata.registers import Check, Since
from ensue.language import ast
from ensue.logic.classify import conjuncts_of
from ensue.logic.orders import OPPOSITE, Comparison, Constant, Point, can_be_ordered

#: Larger whole numbers cannot be compared exactly with floats.
_EXACT = 2**53


def can_hold(guard: Guard, outcomes: Outcomes) -> bool:
    """Whether some event and some stored values can satisfy all of them; also True if this is not decided.

    >>> from ensue.language.parser import parse_expression
    >>> below, same = (Check("$1.1", op, parse_expression("v")) for op in ("<", "="))
    >>> can_hold(frozenset(), frozenset({(below, True), (same, True)}))
    False
    >>> can_hold(frozenset(), frozenset({(below, False), (same, False)}))
    True
    """
    said = [*_of_event(guard), *_of_registers(outcomes)]
    return (len(said) < 2 or can_be_ordered(said, _as_number)) and _can_be_timed(outcomes)


def _of_registers(outcomes: Outcomes) -> list[Comparison]:
    return [(c.register, c.operator, c.value, holds) for c, holds in outcomes if isinstance(c, Check)]


def _of_event(guard: Guard) -> list[Comparison]:
    """The comparisons of the event's values with numbers that follow from the tests in its guard."""
    found: list[Comparison] = []
    for p, holds in guard:
        if isinstance(p, Test):
            parts = conjuncts_of(p.expression)
            for e in parts if holds or len(parts) == 1 else ():
                if isinstance(e, ast.Binary) and e.operator in OPPOSITE and _as_number(e.right):
                    found.append((e.left, e.operator, e.right, holds))
    return found


def _as_number(e: Point) -> Constant | None:
    """The number that an expression is, if it can be compared exactly."""
    if not isinstance(e, ast.Literal) or e.type not in (ast.LiteralType.INTEGER, ast.LiteralType.FLOAT):
        return None
    assert e.value is not None
    number = float(e.value)
    return ("number", number) if abs(number) <= _EXACT else None


def _can_be_timed(outcomes: Outcomes) -> bool:
    """Whether some times since the events satisfy the outcomes; an earlier event has a longer time.

    It looks for the shortest time since each event, from the last event back.
    """
    asked = sorted(((c, holds) for c, holds in outcomes if isinstance(c, Since)), key=lambda x: age(x[0].register))
    least = _AT_ONCE
    for k in sorted({age(c.register) for c, _ in asked}):
        own = [(c.interval, holds) for c, holds in asked if age(c.register) == k]
        before = None
        while least != before:
            before = least
            for interval, holds in own:
                longer = _at_least(least, interval) if holds else _outside(least, interval)
                if longer is None:
                    return False
                least = longer
    return True


#: A time in nanoseconds, with True if it means a time that is slightly longer.
_Time = tuple[Fraction, bool]
_AT_ONCE: _Time = (Fraction(0), False)


def _at_least(time: _Time, interval: ast.Interval) -> _Time | None:
    """The shortest time in the interval that is not below `time`, or None if there is none."""
    if interval.low is not None:
        time = max(time, (interval.low.duration.nanoseconds(), not interval.low.inclusive))
    return time if _not_above(time, interval) else None


def _outside(time: _Time, interval: ast.Interval) -> _Time | None:
    """The shortest time outside the interval that is not below `time`, or None if there is none."""
    low = interval.low
    if low is not None and time < (low.duration.nanoseconds(), not low.inclusive):
        return time
    if not _not_above(time, interval):
        return time
    return None if interval.high is None else (interval.high.duration.nanoseconds(), interval.high.inclusive)


def _not_above(time: _Time, interval: ast.Interval) -> bool:
    if interval.high is None:
        return True
    high = interval.high.duration.nanoseconds()
    return time[0] < high or (time == (high, False) and interval.high.inclusive)
