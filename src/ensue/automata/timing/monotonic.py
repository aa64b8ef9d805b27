"""Builds monotonic automata with a single clock, which theorem 6.1 evaluates in constant time per event.

Garcia and Riveros, section 6: all clock conditions are `z <= c`, or all are `z >= c`, and the automaton is
deterministic, with one clock. Strict bounds work as well: time is counted in ticks, and `z < c` is `z <= c - 1`. The
definition is syntactic. An automaton that is not deterministic is first determinised, as in example 6.2.

The construction of theorem 5.3, taken literally, has `z > c` wherever a set of states splits on `z <= c`, so its result
is not monotonic, not even for example 6.2. Here a set of states does not split: for an event and its marks, it takes
all of its transitions, even those whose check fails. This is right if no match can follow from the states that a failed
check should have excluded. If no match can follow from any of the states beyond some bound, the transition gets that
bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ensue.automata.liveness import register_liveness
from ensue.automata.model import Automaton, Builder, Label, Marks, Transition
from ensue.automata.predicates import Guard
from ensue.automata.registers import Action, Check, Clear, Holds, Since, Store
from ensue.automata.splitting import ALL_EVENTS, Splitter
from ensue.automata.timing.clocks import clocks_of
from ensue.language import ast
from ensue.logic.stored_values import Register

#: The most sets of states that are built.
BUDGET = 200

#: A place on the clock: an even number is a bound itself, an odd number the times after it; the last has no end.
_Place = int
#: The clock does not run, so its checks hold.
_STOPPED: _Place = -1
_States = frozenset[int]


def monotonic(automaton: Automaton, *, budget: int = BUDGET) -> Automaton | None:
    """An equivalent deterministic automaton with one clock and bounds on one side only; None if none is found.

    The given automaton must have synchronous resets. None does not prove that no such automaton exists.

    >>> from ensue.automata.build import build
    >>> from ensue.automata.liveness import pruned
    >>> from ensue.automata.automaton_printer import print_automaton
    >>> from ensue.language.parser import parse_pattern
    >>> made = monotonic(pruned(build(parse_pattern("A+[<= 1 s]"))))
    >>> print("\\n".join(print_automaton(made)))
    0 -> 1* A / A; $1 := time
    1 -> 1* A & time since $1 in [<= 1 s] / A; $1 := time
    1 -> 2  time since $1 in [<= 1 s] /
    2 -> 1* A & time since $1 in [<= 1 s] / A; $1 := time
    2 -> 2  time since $1 in [<= 1 s] /
    """
    actions = [a for t in automaton.transitions for a in t.actions]
    asked = [a.interval for a in actions if isinstance(a, Since)]
    one_sided = not (any(i.high for i in asked) and any(map(_has_low, asked)))
    if len(clocks_of(automaton)) != 1 or not one_sided or any(isinstance(a, Check | Clear | Holds) for a in actions):
        return None
    try:
        return _Determinised(automaton, lower=any(map(_has_low, asked)), budget=budget).build()
    except _NotFound:
        return None


def _has_low(interval: ast.Interval) -> bool:
    """Whether it has a lower bound that excludes some time."""
    low = interval.low
    return low is not None and not (low.inclusive and low.duration.nanoseconds() == 0)


class _NotFound(Exception):
    """Raised if a set of states would have to split on the clock, or if there are too many sets."""


@dataclass(frozen=True)
class _Move:
    """All transitions of a set of states for one class of events and one set of marks."""

    guard: Guard
    marks: Marks
    transitions: tuple[Transition, ...]
    targets: _States
    resets: bool

    def after(self, place: _Place) -> _Place:
        return 0 if self.resets else place


class _Determinised:
    def __init__(self, automaton: Automaton, *, lower: bool, budget: int) -> None:
        self._automaton = automaton
        (self._clock,) = clocks_of(automaton)
        self._lower = lower
        self._budget = budget
        self._live = register_liveness(automaton).live
        bounds = {Fraction(0): ast.Duration(Decimal(0), "s")}
        for t in automaton.transitions:
            for a in t.actions:
                if isinstance(a, Since):
                    ends = [b.duration for b in (a.interval.low, a.interval.high) if b is not None]
                    bounds |= {d.nanoseconds(): d for d in ends}
        self._bounds = [bounds[c] for c in sorted(bounds)]
        self._values = sorted(bounds)
        self._last: _Place = 2 * len(bounds) - 1
        self._useful = self._that_can_end()
        self._splitter = Splitter(t.guard for t in automaton.transitions)

    def build(self) -> Automaton:
        moves: dict[_States, list[_Move]] = {}
        reached: dict[_States, set[_Place]] = defaultdict(set)
        waiting = [(frozenset({0}), _STOPPED)]
        reached[frozenset({0})].add(_STOPPED)
        while waiting:
            states, place = waiting.pop()
            if states not in moves:
                moves[states] = list(self._moves(states))
                if len(moves) > self._budget:
                    raise _NotFound
            for move in moves[states]:
                for at in self._later(place):
                    if self._is_taken(move, at):
                        following = (move.targets, move.after(at))
                        if following[1] not in reached[following[0]]:
                            reached[following[0]].add(following[1])
                            waiting.append(following)
        made = Builder(frozenset({0}))
        for states, own in moves.items():
            places = sorted({at for place in reached[states] for at in self._later(place)})
            for move in own:
                self._add(made, states, move, places)
        return made.build()

    def _add(self, made: Builder, states: _States, move: _Move, places: list[_Place]) -> None:
        """Adds the transition, with the bound beyond which no match can follow from it."""
        running = [at for at in places if at != _STOPPED]
        taken = [at for at in running if self._is_taken(move, at)]
        if not taken and not (_STOPPED in places and self._is_taken(move, _STOPPED)):
            return
        actions: list[Action] = [Store(self._clock)] if move.resets else []
        if len(taken) < len(running):
            if not taken or taken != (running[-len(taken) :] if self._lower else running[: len(taken)]):
                raise _NotFound  # the places from which matches follow are not all on one side of a bound
            actions.append(Since(self._clock, self._interval(taken)))
        final = not self._automaton.finals.isdisjoint(move.targets)
        made.add(states, move.guard, Label(move.marks, frozenset(actions)), move.targets, final=final)

    def _interval(self, taken: list[_Place]) -> ast.Interval:
        end = taken[0] if self._lower else taken[-1]
        inclusive = end % 2 == 0
        bound = ast.Bound(self._bounds[(end if self._lower else end + 1) // 2], inclusive)
        return ast.Interval(bound, None) if self._lower else ast.Interval(None, bound)

    def _is_taken(self, move: _Move, at: _Place) -> bool:
        """Whether a match can follow from the move; raises if one could follow from states that a check excludes."""
        after = move.after(at)
        right = {t.target for t in move.transitions if self._passes(t, at)}
        if not any((state, after) in self._useful for state in right):
            return False
        if any((state, after) in self._useful for state in move.targets - right):
            raise _NotFound
        return True

    def _moves(self, states: _States) -> Iterator[_Move]:
        by_marks: dict[Marks, list[Transition]] = defaultdict(list)
        for t in (t for s in sorted(states) for t in self._automaton.outgoing.get(s, ())):
            by_marks[t.marks].append(t)
        for marks, alike in by_marks.items():
            guards = {t.guard: self._splitter.bit(t.guard) for t in alike}
            for cell, held in self._splitter.split(ALL_EVENTS, sum(guards.values())):
                together = tuple(t for t in alike if guards[t.guard] & held)
                resets = {_resets(t, self._clock) for t in together if self._clock in self._live.get(t.target, ())}
                if len(resets) > 1:
                    raise _NotFound
                if together:
                    targets = frozenset(t.target for t in together)
                    yield _Move(self._splitter.guard(cell), marks, together, targets, resets == {True})

    def _passes(self, t: Transition, at: _Place) -> bool:
        return at == _STOPPED or all(self._lies_in(at, a.interval) for a in t.actions if isinstance(a, Since))

    def _lies_in(self, at: _Place, interval: ast.Interval) -> bool:
        return interval.contains(self._values[-1] + 1 if at == self._last else self._middle(at))

    def _middle(self, at: _Place) -> Fraction:
        return (self._values[at // 2] + self._values[(at + 1) // 2]) / 2

    def _later(self, at: _Place) -> Iterable[_Place]:
        return [at] if at == _STOPPED else range(at, self._last + 1)

    def _that_can_end(self) -> set[tuple[int, _Place]]:
        """The pairs of a state and a place on the clock that are final or from which a run can end."""
        everywhere = range(_STOPPED, self._last + 1)
        into: dict[int, list[Transition]] = defaultdict(list)
        for t in self._automaton.transitions:
            into[t.target].append(t)
        useful = {(s, at) for s in self._automaton.finals for at in everywhere}
        waiting = list(useful)
        while waiting:
            state, after = waiting.pop()
            for t in into[state]:
                resets = _resets(t, self._clock)
                if resets and after != 0:
                    continue
                for at in everywhere if resets else [after]:
                    before = [p for p in everywhere if at in self._later(p)] if self._passes(t, at) else []
                    new = {(t.source, p) for p in before} - useful
                    useful |= new
                    waiting += new
        return useful


def _resets(t: Transition, clock: Register) -> bool:
    return any(isinstance(a, Store) and a.register == clock for a in t.actions)
