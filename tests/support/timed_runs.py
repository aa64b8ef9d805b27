"""Timed automata by brute force: small random automata, all timed words of a length, all runs over a word.

How fine must the times be? `n` events have at most `n` different fractional parts, the first of them 0. Moving these to
0, 1/n, 2/n, ... in the same order changes no comparison of a difference of times with a whole number. A delay of more
than the largest bound and one can be made a whole number shorter. So over words of `n` events, multiples of 1/n below
the largest bound and two show all that automata with whole bounds can do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from random import Random

from ensue.automata.model import Automaton, Builder, Label, Transition
from ensue.automata.predicates import ALWAYS, TypeIs
from ensue.automata.registers import Action, Clear, Since, Store
from ensue.language import ast

#: A type, and the seconds since the previous event.
Event = tuple[str, Fraction]
#: For each clock that runs: the time since it was reset.
Clocks = dict[str, Fraction]
SECOND = 10**9


def interval(rng: Random, most: int, *, sides: Sequence[str] = ("low", "high", "both")) -> ast.Interval:
    low, high = sorted(rng.choices(range(most + 1), k=2))
    made = {
        "low": (ast.Bound(ast.Duration(Decimal(low), "s"), rng.random() < 0.7), None),
        "high": (None, ast.Bound(ast.Duration(Decimal(high), "s"), rng.random() < 0.7)),
        "both": (
            ast.Bound(ast.Duration(Decimal(low), "s"), True),
            ast.Bound(ast.Duration(Decimal(high), "s"), low == high or rng.random() < 0.7),
        ),
    }
    return ast.Interval(*made[rng.choice(sides)])


def random_automaton(
    rng: Random,
    *,
    clocks: int,
    most: int = 2,
    types: str = "AB",
    sides: Sequence[str] = ("low", "high", "both"),
) -> Automaton:
    """An automaton of up to four states. No transition leads back to the first state. Each state leads to an end."""
    names = [f"${n + 1}" for n in range(clocks)]
    states = rng.randint(2, 4)
    made = Builder(0)
    for _ in range(rng.randint(states, 7)):
        source, target = rng.randrange(states), rng.randrange(1, states)
        guard = rng.choice([ALWAYS, *(frozenset({(TypeIs(t), True)}) for t in types)])
        actions: list[Action] = [Store(c) for c in names if rng.random() < 0.4]
        if source != 0:
            actions += [Since(c, interval(rng, most, sides=sides)) for c in names if rng.random() < 0.4]
        marks = frozenset("x" if rng.random() < 0.3 else "")
        made.add(source, guard, Label(marks, frozenset(actions)), target, final=rng.random() < 0.4)
    return made.build()


def with_loops_at_the_end(rng: Random, *, clocks: int, most: int) -> Automaton:
    """A random automaton of up to five states whose resets are synchronous if and only if it is empty.

    As in the proof that the problem of theorem 5.4 is PSPACE-hard, each transition has its own marks. Only two at the
    final state have equal marks, and these reset different clocks.
    """
    names = [f"${n + 1}" for n in range(clocks)]
    states = rng.randint(3, 5)
    made = Builder(0)
    ways = [(s, s + 1) for s in range(states - 1)]
    ways += [(s, rng.randint(1, s + 1)) for s in rng.choices(range(1, states - 1), k=rng.randrange(4))]
    for n, (source, target) in enumerate(ways):
        actions: list[Action] = [Store(c) for c in names if source == 0 or rng.random() < 0.3]
        if source != 0:
            sides = ("low", "high", "both", "both")
            actions += [Since(c, interval(rng, most, sides=sides)) for c in names if rng.random() < 0.7]
        made.add(source, ALWAYS, Label(frozenset({f"x{n}"}), frozenset(actions)), target)
    end = states - 1
    made.add(end, ALWAYS, Label(actions=frozenset({Store(names[0])})), end, final=True)
    made.add(end, ALWAYS, Label(), end, final=True)
    return made.build()


def delays(length: int, most: int) -> list[Fraction]:
    """The delays that words of this length need, as explained above."""
    return [Fraction(k, length) for k in range((most + 2) * length)]


def words(length: int, most: int, types: str = "AB") -> Iterator[tuple[Event, ...]]:
    """All words of this length. The first event is at time 0."""
    first = [(t, Fraction(0)) for t in types]
    return itertools.product(first, *[list(itertools.product(types, delays(length, most)))] * (length - 1))


def after(t: Transition, clocks: Clocks, event: Event) -> Clocks | None:
    """The clocks after a transition at an event; None if it is not taken. Checks of clocks that do not run hold."""
    name, delay = event
    now = {c: past + delay for c, past in clocks.items()}
    if any(isinstance(p, TypeIs) and (p.name == name) is not positive for p, positive in t.guard):
        return None
    asked = [a for a in t.actions if isinstance(a, Since) and a.register in now]
    if not all(a.interval.contains(now[a.register] * SECOND) for a in asked):
        return None
    for a in t.actions:
        if isinstance(a, Clear):
            now.pop(a.register, None)
    return now | {a.register: Fraction(0) for a in t.actions if isinstance(a, Store)}


def resets(t: Transition) -> frozenset[str]:
    return frozenset(a.register for a in t.actions if isinstance(a, Store))


def outputs(automaton: Automaton, word: Sequence[Event]) -> set[tuple[frozenset[str], ...]]:
    """The marks of the accepting runs over the whole word."""
    runs: list[tuple[int, Clocks, tuple[frozenset[str], ...]]] = [(0, {}, ())]
    for event in word:
        runs = [
            (t.target, clocks, (*marked, t.marks))
            for state, had, marked in runs
            for t in automaton.outgoing.get(state, ())
            if (clocks := after(t, had, event)) is not None
        ]
    return {marked for state, _, marked in runs if state in automaton.finals}


def asked_later(automaton: Automaton, state: int, clock: str) -> bool:
    """Whether some path from the state checks the clock before it resets it."""
    seen, waiting = {state}, [state]
    while waiting:
        for t in automaton.outgoing.get(waiting.pop(), ()):
            if any(isinstance(a, Since) and a.register == clock for a in t.actions):
                return True
            if clock not in resets(t) and t.target not in seen:
                seen.add(t.target)
                waiting.append(t.target)
    return False


@dataclass(frozen=True)
class Pair:
    """Two runs with equal marks: their states, and the values of their clocks."""

    states: tuple[int, int]
    clocks: tuple[tuple[tuple[str, Fraction], ...], tuple[tuple[str, Fraction], ...]]


def shortest_differing(automaton: Automaton, length: int, most: int, *, read: bool, types: str = "AB") -> int | None:
    """The least number of events, up to a length, after which two runs with equal marks have reset different clocks.

    With `read`, a reset counts only if both runs may still check the clock.
    """
    events = list(itertools.product(types, delays(length, most)))
    pairs = {Pair((0, 0), ((), ()))}
    for n in range(1, length + 1):
        following: set[Pair] = set()
        for pair in pairs:
            one, other = (automaton.outgoing.get(s, ()) for s in pair.states)
            for t, u in itertools.product(one, other):
                if t.marks != u.marks:
                    continue
                for event in events if n > 1 else [(name, Fraction(0)) for name in types]:
                    a, b = after(t, dict(pair.clocks[0]), event), after(u, dict(pair.clocks[1]), event)
                    if a is None or b is None:
                        continue
                    counted: Set[str] = resets(t) ^ resets(u)
                    if read:
                        ends = (t.target, u.target)
                        counted = {c for c in counted if all(asked_later(automaton, s, c) for s in ends)}
                    if counted:
                        return n
                    following.add(Pair((t.target, u.target), (_known(a, most), _known(b, most))))
        pairs = following
    return None


def _known(clocks: Clocks, most: int) -> tuple[tuple[str, Fraction], ...]:
    """The value of a clock. Beyond the largest bound, no check can distinguish values, so they become equal."""
    return tuple(sorted((c, min(past, Fraction(most + 1))) for c, past in clocks.items()))
