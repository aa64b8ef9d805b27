"""The clocks of an automaton, which are its registers that hold times: finding, merging and separating them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from ensue.automata.build import within_time
from ensue.automata.liveness import Registers, pruned, register_liveness, with_shared_registers
from ensue.automata.model import Automaton, Transition
from ensue.automata.registers import Action, Check, Clear, Holds, Since, Store, fresh
from ensue.language import ast
from ensue.logic.stored_values import Register


def clocks_of(automaton: Automaton) -> Registers:
    """The registers that hold times."""
    actions = [a for t in automaton.transitions for a in t.actions]
    asked = {a.register for a in actions if isinstance(a, Since)}
    reset = {a.register for a in actions if isinstance(a, Store) and a.value is None}
    return frozenset(asked | reset)


def compares_values(actions: Iterable[Action]) -> bool:
    """Whether an action checks something other than a time."""
    return any(isinstance(a, Check | Holds) for a in actions)


def resets_of(actions: Iterable[Action], clocks: Registers) -> Iterator[tuple[Register, bool]]:
    """The clocks that a transition changes, each with True if the clock runs afterwards."""
    for a in actions:
        if isinstance(a, Store | Clear) and a.register in clocks:
            yield a.register, isinstance(a, Store)


def in_units(automaton: Automaton) -> tuple[dict[ast.Duration, int], Fraction]:
    """The bounds of the automaton's intervals as whole numbers of a unit, and the unit in nanoseconds.

    Scaling all bounds by one factor changes nothing (proof of theorem 5.4, first paragraph).
    """
    found = [a.interval for t in automaton.transitions for a in t.actions if isinstance(a, Since)]
    durations = {b.duration: b.duration.nanoseconds() for i in found for b in (i.low, i.high) if b is not None}
    whole = math.lcm(*(d.denominator for d in durations.values()))
    unit = Fraction(math.gcd(*(int(d * whole) for d in durations.values())) or 1, whole)
    return {name: int(d / unit) for name, d in durations.items()}, unit


def with_window(automaton: Automaton, window: ast.Bound | None) -> Automaton:
    """The automaton with a clock for the window of the whole pattern, which otherwise the match structure enforces."""
    if window is None:
        return pruned(with_shared_registers(automaton))
    return pruned(with_shared_registers(within_time.construct(automaton, ast.Interval(None, window))))


def most_clocks(automaton: Automaton) -> Automaton:
    """The automaton with a separate clock for each thing that is measured, where one clock measured several in turn.

    The two sides of `p OR q` share the names of their clocks; in the constructions of the paper they do not. The
    automaton must be pruned.

    >>> from ensue.automata.build import build
    >>> from ensue.language.parser import parse_pattern
    >>> made = pruned(build(parse_pattern("A ;[<= 1 s] B OR A ; B ;[<= 2 s] C")))
    >>> len(clocks_of(made)), len(clocks_of(most_clocks(made)))
    (1, 2)
    """
    live = register_liveness(automaton).live
    clocks = clocks_of(automaton)
    # A clock measures the same thing in two states if a run carries it from one to the other.
    first: dict[tuple[Register, int], tuple[Register, int]] = {}

    def one_of(place: tuple[Register, int]) -> tuple[Register, int]:
        while first.setdefault(place, place) != place:
            place = first[place]
        return place

    for t in automaton.transitions:
        changed = {clock for clock, _ in resets_of(t.actions, clocks)}
        for clock in clocks & live.get(t.source, frozenset()) & live.get(t.target, frozenset()) - changed:
            first[one_of((clock, t.source))] = one_of((clock, t.target))
    new = fresh(automaton.registers - clocks)
    names = {place: next(new) for place in sorted({one_of((c, s)) for s in live for c in sorted(live[s] & clocks)})}

    def renamed(t: Transition) -> Iterator[Action]:
        for a in t.actions:
            if isinstance(a, Holds) or a.register not in clocks:
                yield a
                continue
            place = (a.register, t.source if isinstance(a, Since) else t.target)
            yield replace(a, register=names[one_of(place)])

    return automaton.relabelled(renamed)


def fewest_clocks(automaton: Automaton) -> Automaton:
    """The automaton with one clock in place of several that are never needed at once.

    The gaps of a sequence are measured one after the other, so one clock measures them all (lemma B.1). The automaton
    must be pruned.

    >>> from ensue.automata.build import build
    >>> from ensue.language.parser import parse_pattern
    >>> made = pruned(build(parse_pattern("A ;[<= 1 s] B ;[<= 2 s] C ;[<= 3 s] D")))
    >>> len(clocks_of(made)), len(clocks_of(fewest_clocks(made)))
    (3, 1)
    """
    clocks = clocks_of(automaton)
    memory = register_liveness(automaton)
    live = set(memory.live.values())
    # A clock that may be checked before it was reset must not share a register: it would get another clock's value.
    unsure = {r for state, needed in memory.live.items() for r in needed - memory.stored.get(state, frozenset())}
    names: dict[Register, Register] = {}
    users_of: dict[Register, set[Register]] = {}
    new = fresh(automaton.registers - clocks)
    for clock in sorted(clocks, key=lambda r: (len(r), r)):
        beside = {r for together in live if clock in together for r in together}
        alone = clock in unsure
        name = next((n for n, users in users_of.items() if not (alone or users & (beside | unsure))), None)
        if name is None:
            name = next(new)
            users_of[name] = set()
        users_of[name].add(clock)
        names[clock] = name
    return automaton.renamed(names)
