"""From an automaton with clocks to a pattern with windows in time (Garcia and Riveros, Proposition 4.4).

A check of a clock is a window from the event that reset it to the event that checks it. In a formula, windows lie one
behind the other. So each bound of each clock gets a formula of its own, and AND joins them. An event carries the number
of its transition as a mark, so that all of them speak of one run; PROJECT drops these marks again. Where an event
checks a clock and resets it, two windows share it: then one formula has the windows of every other reset, and a second
one has the rest (Lemma A.4).

The paper bounds the number of checks between two resets by states that remember bounds (Lemma A.2). With one bound at
a time that is not needed: of several checks with one upper bound after the same reset, the last implies the others,
and of those with one lower bound the first does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from ensue.algebra.ways import Way, Ways, add, check_size, event_of, then, way_between
from ensue.automata.model import Automaton, Marks, Transition
from ensue.automata.registers import Since, Store
from ensue.language import ast
from ensue.logic.stored_values import Register

#: Where a run stands: no reset matters yet; the next one does; after a reset that matters, before the check that its
#: window ends with, or where there is none; after that check.
_IDLE, _READY, _UNCHECKED, _CHECKED = range(4)


class _Bound(NamedTuple):
    """One bound of a clock, as an interval with one end."""

    clock: Register
    interval: ast.Interval

    @property
    def upper(self) -> bool:
        return self.interval.high is not None


def timed_formula(p: Automaton) -> ast.Pattern | None:
    """The pattern; None if no run ends."""
    bounds = dict.fromkeys(b for t in p.transitions for b in _bounds(t))
    parts = [part for bound in bounds for part in _parts(p, bound)]
    numbers = {t: frozenset({f"step_{n}"} if len(parts) > 1 else ()) for n, t in enumerate(p.transitions)}
    ways = [way_between(_Part(p, numbers, *part).edges(), (0, part[2]), _ends(p)) for part in parts]
    check_size(ways)
    found = [way.pattern for way in ways if way.pattern is not None]
    if len(found) < len(ways):
        return None
    if len(found) == 1:
        return found[0]
    kept = sorted(frozenset().union(*(t.marks for t in p.transitions)))
    return ast.Project(tuple(kept), reduce(ast.And, found))


def _bounds(t: Transition) -> Iterator[_Bound]:
    for a in sorted((a for a in t.actions if isinstance(a, Since)), key=str):
        if a.interval.low is not None:
            yield _Bound(a.register, ast.Interval(a.interval.low, None))
        if a.interval.high is not None:
            yield _Bound(a.register, ast.Interval(None, a.interval.high))


def _parts(p: Automaton, bound: _Bound) -> list[tuple[_Bound, bool, int]]:
    """The formulas of a bound: whether every other reset is left out, and where a run stands at first."""
    shared = any(bound in _bounds(t) and Store(bound.clock) in t.actions for t in p.transitions)
    return [(bound, True, _READY), (bound, True, _IDLE)] if shared else [(bound, False, _READY)]


def _ends(p: Automaton) -> list[tuple[int, int]]:
    return [(s, phase) for s in sorted(p.finals) for phase in (_IDLE, _READY, _UNCHECKED, _CHECKED)]


@dataclass
class _Part:
    """The formula of one bound, as a graph of states and of where a run stands."""

    p: Automaton
    numbers: dict[Transition, Marks]
    bound: _Bound
    alternating: bool
    begin: int

    def edges(self) -> Ways:
        ways: Ways = {}
        for t in self.p.transitions:
            event, checks = self._event(t), self.bound in _bounds(t)
            for phase in (_IDLE, _READY, _UNCHECKED, _CHECKED):
                # Behind the last check of an upper bound, and before the first one of a lower bound, there is none.
                if checks and (phase == _UNCHECKED or (phase == _CHECKED and self.bound.upper)):
                    continue
                add(ways, (t.source, phase), (t.target, self._after(t, phase)), event)
        for first in self.p.transitions:
            for phase in (_IDLE, _READY, _UNCHECKED, _CHECKED):
                if self._resets(first) and self._after(first, phase) == _UNCHECKED:
                    self._add_windows(ways, first, phase)
        return ways

    def _add_windows(self, ways: Ways, first: Transition, phase: int) -> None:
        """From an event that resets the clock to the check that counts."""
        for last in self.p.transitions:
            if self.bound not in _bounds(last):
                continue
            between = way_between(self._inside(), first.target, [last.source])
            whole = then(then(self._event(first), between), self._event(last))
            if whole.pattern is not None:
                window = Way(ast.Within(whole.pattern, self.bound.interval), size=whole.size)
                after = self._after(last, _CHECKED) if self._resets(last) else _CHECKED
                add(ways, (first.source, phase), (last.target, after), window)

    def _inside(self) -> Ways:
        """What may happen between the two: no reset, and no earlier check of a lower bound."""
        ways: Ways = {}
        for t in self.p.transitions:
            if not self._resets(t) and (self.bound.upper or self.bound not in _bounds(t)):
                add(ways, t.source, t.target, self._event(t))
        return ways

    def _after(self, t: Transition, phase: int) -> int:
        """Where the run stands after a transition that ends no window."""
        if not self._resets(t):
            return phase
        if phase == _READY:
            return _UNCHECKED
        return _READY if self.alternating or phase == _IDLE else _UNCHECKED

    def _resets(self, t: Transition) -> bool:
        return Store(self.bound.clock) in t.actions

    def _event(self, t: Transition) -> Way:
        return event_of(t, self.numbers[t])
