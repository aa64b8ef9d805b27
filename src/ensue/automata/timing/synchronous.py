"""Decides whether resets are synchronous: whether runs with equal marks reset the same clocks at the same events.

Garcia and Riveros, section 5, before theorem 5.3: a timed CEA has synchronous resets "if for every stream and for every
two runs from position i to j [with the same output] it holds that Z_k = Z'_k for every k in [i..j]", whether they are
accepting or not. This is decided as in theorem 5.4, by exploring what two such runs can reach: a pair of states and one
set of clock values, because both runs have the same clock values as long as they have the same resets.

The proof of theorem 5.4 has two slips that this module does not follow: it starts with all clocks at 0, although a run
starts with no clock running (section 4), and its next region lacks the resets of clocks. It also allows two events at
the same time, which section 3 excludes; the language page allows them, so here this is right.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from itertools import product

from ensue.automata.liveness import Registers, register_liveness
from ensue.automata.model import Automaton, Marks, Transition
from ensue.automata.predicates import Before, Best, Chosen, Guard, TypeIs, conjunction, print_guard
from ensue.automata.registers import Since, conditions_of
from ensue.automata.timing.clocks import clocks_of, compares_values, in_units, resets_of
from ensue.automata.timing.witness import PairedStep, times_of
from ensue.automata.timing.zones import NO_BOUND, ZERO, Bound, Zone, at_most, less_than
from ensue.logic.stored_values import Register

#: The most pairs of transitions that are tried: 0.2 seconds with four clocks that are needed at once.
BUDGET = 4_000


class Answer(Enum):
    YES = "yes"
    NO = "no"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True)
class Witness:
    """A stream over which two runs with equal marks make different resets at the last event."""

    steps: tuple[PairedStep, ...]
    times: tuple[Fraction, ...]  # in nanoseconds, from the first event on


@dataclass(frozen=True)
class Verdict:
    """The answer, with a witness if it is no, or with the reason if nothing was decided."""

    answer: Answer
    witness: Witness | None = None
    why: str = ""


def synchronous_resets(automaton: Automaton, *, read: bool = False, budget: int = BUDGET) -> Verdict:
    """Whether runs with equal marks make equal resets; with `read`, only clocks count that both runs may still check.

    A reset that no check reads makes no difference, so `read` is what determinisation needs: runs with equal marks then
    agree on every clock that both can check, and one value of the clock serves all of them.

    >>> from ensue.automata.build import build
    >>> from ensue.automata.liveness import pruned
    >>> from ensue.language.parser import parse_pattern
    >>> for text in ("A ;[<= 1 s] B ;[= 2 s] C WITHIN 5 s", "PROJECT () (A ; A ;[= 1 s] A)"):
    ...     print(synchronous_resets(pruned(build(parse_pattern(text)))).answer)
    Answer.YES
    Answer.NO

    The analysis assumes that the conditions on one event are independent of each other, and that compared values are
    arbitrary. This is safe for the answer yes; the answer is no only if a witness does not depend on the assumption.
    """
    try:
        found = _Pairs(automaton, read=read, budget=budget).differing(sure=False)
    except _Spent:
        return Verdict(Answer.NOT_DECIDED, why=f"more than {budget:,} pairs of steps to compare")
    if found is None:
        return Verdict(Answer.YES)
    doubt = next((_doubt(s) for s in found if _doubtful(s.one, s.other)), None)
    if doubt is not None:
        try:
            found = _Pairs(automaton, read=read, budget=budget).differing(sure=True)
        except _Spent:
            found = None
    if found is None:
        return Verdict(Answer.NOT_DECIDED, why=f"it depends on whether {doubt}")
    return Verdict(Answer.NO, Witness(found, times_of(automaton, found)))


class _Spent(Exception):
    """Raised if the budget is used up."""


_Place = tuple[int, int, Zone]
_Moves = tuple[Transition, Transition]


class _Pairs:
    """Two runs side by side, with one set of clock values.

    A clock that only one of the two may still check belongs to that run, so one value for each clock is enough.
    """

    def __init__(self, automaton: Automaton, *, read: bool, budget: int) -> None:
        self._alike: dict[int, dict[Marks, list[Transition]]] = defaultdict(lambda: defaultdict(list))
        for t in automaton.transitions:
            self._alike[t.source][t.marks].append(t)
        self._meets = cache(lambda a, b: conjunction(a, b) is not None)
        self._clocks = clocks_of(automaton)
        self._live = register_liveness(automaton).live
        self._read = read
        self._left = budget
        units, _ = in_units(automaton)
        self._bounds: dict[Since, tuple[Register, Bound, Bound]] = {}
        self._largest: dict[Register, int] = defaultdict(int)
        self._changed: dict[Transition, dict[Register, bool]] = {}
        for t in automaton.transitions:
            self._changed[t] = dict(resets_of(t.actions, self._clocks))
            for a in t.actions:
                if isinstance(a, Since):
                    high, low = a.interval.high, a.interval.low
                    upper = NO_BOUND if high is None else _bound(units[high.duration], high.inclusive)
                    lower = ZERO if low is None else _bound(-units[low.duration], low.inclusive)
                    self._bounds[a] = (a.register, upper, lower)
                    for b in (high, low):
                        if b is not None:
                            self._largest[a.register] = max(self._largest[a.register], units[b.duration])

    def differing(self, *, sure: bool) -> tuple[PairedStep, ...] | None:
        """The shortest pair of runs whose last resets differ, or None; `sure` takes only steps known to be possible."""
        start: _Place = (0, 0, Zone())
        came: dict[_Place, tuple[_Place, _Moves]] = {}
        seen: dict[tuple[int, int, tuple[Register, ...]], list[Zone]] = defaultdict(list)
        waiting = deque([start])
        while waiting:
            place = waiting.popleft()
            for moves, zone in self._moves(place, sure=sure):
                if self._differ(moves):
                    return _path(came, place, moves)
                following = self._after(moves, zone)
                known = seen[following[0], following[1], following[2].clocks]
                if not any(z.covers(following[2]) for z in known):
                    known.append(following[2])
                    came[following] = (place, moves)
                    waiting.append(following)
        return None

    def _moves(self, place: _Place, *, sure: bool) -> Iterator[tuple[_Moves, Zone]]:
        """The pairs of transitions with equal marks that one event can take, with the clock values at that event."""
        a, b, zone = place
        later = zone.later()
        ones, others = self._alike.get(a, {}), self._alike.get(b, {})
        for marks, alike in ones.items():
            for t, u in product(alike, others.get(marks, ())):
                self._left -= 1
                if self._left < 0:
                    raise _Spent
                if not self._meets(t.guard, u.guard) or (sure and _doubtful(t, u)):
                    continue
                at_event = later.where(self._bounds[x] for x in t.actions | u.actions if isinstance(x, Since))
                if at_event is not None:
                    yield (t, u), at_event

    def _differ(self, moves: _Moves) -> bool:
        t, u = moves
        one, other = self._changed[t], self._changed[u]
        if not self._read or one == other:
            return one != other
        both = self._needed(t) & self._needed(u)
        return any(one.get(clock) != other.get(clock) for clock in both)

    def _after(self, moves: _Moves, zone: Zone) -> _Place:
        t, u = sorted(moves, key=lambda m: m.target)
        # Both runs have changed a clock that both need in the same way; a clock that one needs is changed by that one.
        changed = {clock: runs for m in (t, u) for clock, runs in self._changed[m].items() if clock in self._needed(m)}
        needed = self._needed(t) | self._needed(u)
        return t.target, u.target, zone.after(changed, needed).without_far(self._largest)

    def _needed(self, t: Transition) -> Registers:
        return self._live.get(t.target, frozenset())


def _bound(c: int, inclusive: bool) -> Bound:
    return at_most(c) if inclusive else less_than(c)


def _path(came: dict[_Place, tuple[_Place, _Moves]], place: _Place, last: _Moves) -> tuple[PairedStep, ...]:
    """The steps of the two runs. The pairs do not record which run comes first; the states of the steps tell."""
    pairs = [last]
    while place in came:
        place, moves = came[place]
        pairs.append(moves)
    steps: list[PairedStep] = []
    first = 0
    for t, u in reversed(pairs):
        one, other = (t, u) if t.source == first else (u, t)
        steps.append(PairedStep(one, other))
        first = one.target
    return tuple(steps)


def _doubtful(t: Transition, u: Transition) -> bool:
    """Whether it is unknown if one event can take both transitions; each transition by itself is possible."""
    one, other = _tests(t.guard), _tests(u.guard)
    apart = not (one <= other or other <= one)
    return (
        apart
        or any(isinstance(p, Before | Best | Chosen) for p, _ in one | other)
        or compares_values(t.actions | u.actions)
    )


def _tests(guard: Guard) -> Guard:
    return frozenset((p, positive) for p, positive in guard if not isinstance(p, TypeIs))


def _doubt(step: PairedStep) -> str:
    """What must be possible for a doubtful step to be possible."""
    compared = [str(c) for c in conditions_of(step.one.actions | step.other.actions) if not isinstance(c, Since)]
    return f"one event can satisfy {' & '.join([print_guard(step.guard), *compared])}"
