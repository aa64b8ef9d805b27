"""Formulas over positions by their definition: every assignment of positions and of sets of positions is tried.

Praveen and Hitarth, definitions 2.8 and 3.1: a pair of positions is a window if the formula holds over the events up to
its end. Here positions count from 0 in the substream.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping

from ensue.errors import EngineError
from ensue.language import ast
from ensue.language.position_logic import (
    Bound,
    Compared,
    Connected,
    EventIs,
    Formula,
    FromTo,
    IsIn,
    Negated,
    Place,
    Quantified,
)

#: With more events there are more than a million sets of them.
MOST_EVENTS_OF_SETS = 20
_Assigned = Mapping[str, int | frozenset[int]]
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: The value of the left side that decides: FALSE AND g is FALSE, TRUE OR g and FALSE => g are TRUE.
_DECIDES = {"AND": False, "OR": True, "=>": False}


class Assignments:
    """The windows of formulas over `length` events; `event_is` tells of an event whether it matches a pattern."""

    def __init__(self, length: int, event_is: Callable[[ast.Pattern, int], bool]) -> None:
        self._length = length
        self._event_is = event_is

    def windows(self, p: FromTo) -> Iterator[tuple[int, int]]:
        """The pairs of a first position and a last for which the formula holds."""
        for end in range(self._length):
            for begin in range(end + 1):
                if self._holds(p.formula, {p.begin: begin, p.end: end}, end):
                    yield begin, end

    def _holds(self, f: Formula, given: _Assigned, end: int) -> bool:
        match f:
            case Compared():
                return _COMPARE[f.operator](_number(f.left, given), _number(f.right, given))
            case EventIs():
                return self._event_is(f.event, _position(f.variable, given))
            case IsIn():
                positions = given[f.set]
                assert isinstance(positions, frozenset)
                return _position(f.variable, given) in positions
            case Negated():
                return not self._holds(f.body, given, end)
            case Connected():
                left = self._holds(f.left, given, end)
                if left == _DECIDES.get(f.operator):
                    return f.operator != "AND"
                right = self._holds(f.right, given, end)
                return left == right if f.operator == "<=>" else right
            case Quantified():
                return self._quantified(f.every, f.over, f.body, given, end)
        raise AssertionError(f)

    def _quantified(self, every: bool, over: tuple[Bound, ...], body: Formula, given: _Assigned, end: int) -> bool:
        if not over:
            return self._holds(body, given, end)
        bound, *rest = over
        judged = (
            self._quantified(every, tuple(rest), body, {**given, bound.name: value}, end)
            for value in self._values(bound, given, end)
        )
        return all(judged) if every else any(judged)

    def _values(self, bound: Bound, given: _Assigned, end: int) -> Iterator[int | frozenset[int]]:
        """What the name may stand for: never anything behind the end of the window."""
        if not bound.is_set:
            low = 0 if bound.low is None else _number(bound.low, given)
            high = end if bound.high is None else _number(bound.high, given)
            yield from range(max(low, 0), min(high, end) + 1)
            return
        if end >= MOST_EVENTS_OF_SETS:
            raise EngineError(
                f"the reference tries every set of events, which takes too long for more than {MOST_EVENTS_OF_SETS} "
                "events in a partition: leave engine='reference' out"
            )
        positions = range(end + 1)
        for size in range(end + 2):
            yield from map(frozenset, itertools.combinations(positions, size))


def _position(name: str, given: _Assigned) -> int:
    position = given[name]
    assert isinstance(position, int)
    return position


def _number(place: Place, given: _Assigned) -> int:
    return _position(place.variable, given) + place.later
