"""Finds which registers matter in which states.

Values that no later check reads are not stored, so that runs that differ only in such values become one.

A register is live in a state if some run from there checks it before it is overwritten or cleared. A store that keeps
the least or the greatest value does not count as overwriting, because its result depends on the old value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from ensue.automata.model import Automaton, Transition
from ensue.automata.registers import (
    Action,
    Check,
    Clear,
    Holds,
    Keep,
    Since,
    Store,
    conditions_of,
    formulas_of,
    writes_of,
)
from ensue.language import ast
from ensue.logic.stored_values import Register

Registers = frozenset[Register]
_NONE: Registers = frozenset()


@dataclass(frozen=True)
class RegisterLiveness:
    """For each state: the registers that are live in it, and those that every path to it has stored in."""

    live: Mapping[int, Registers]
    stored: Mapping[int, Registers]


def register_liveness(automaton: Automaton) -> RegisterLiveness:
    """The registers of each state that are live, and those that are stored."""
    return RegisterLiveness(_live(automaton), _stored(automaton))


def with_shared_registers(
    automaton: Automaton, is_float: Callable[[ast.Expression], bool] = lambda _: False
) -> Automaton:
    """The automaton with one register in place of several that always store the same values.

    `x.id = y.id AND x.id = z.id` compares twice with the same value. Two such registers stay separate if only one of
    them is compared with a float (it holds floats, while the other is compared exactly with whole numbers), or if only
    one of them is used in a computation (it holds the value unchanged).
    """
    if len(automaton.registers) < 2:
        return automaton
    stored: dict[Register, set[tuple[int, Action]]] = {r: set() for r in sorted(automaton.registers)}
    floats: set[Register] = set()
    computed: set[Register] = set()
    for number, t in enumerate(automaton.transitions):
        for a in writes_of(t.actions):
            stored[a.register].add((number, replace(a, register="")))
        computed = computed.union(*(c.registers for c in formulas_of(t.actions)))
        floats |= {a.register for a in t.actions if isinstance(a, Check | Store) and a.value and is_float(a.value)}
    first: dict[tuple[frozenset[tuple[int, Action]], bool, bool], Register] = {}
    return automaton.renamed(
        {r: first.setdefault((frozenset(all_), r in floats, r in computed), r) for r, all_ in stored.items()}
    )


def uses_of(automaton: Automaton) -> dict[Register, frozenset[object]]:
    """For each register: the values stored in it, the values it is compared with, and `Holds` if a formula uses it."""
    found: dict[Register, set[object]] = {r: set() for r in automaton.registers}
    for t in automaton.transitions:
        for a in t.actions:
            if isinstance(a, Store) and a.keep.adds_up:
                found[a.register].add((a.value, a.keep))
            elif isinstance(a, Store | Check):
                found[a.register].add(a.value)
        for f in formulas_of(t.actions):
            for r in f.registers:
                found[r].add(Holds)
    return {r: frozenset(uses) for r, uses in found.items()}


def pruned(automaton: Automaton) -> Automaton:
    """The automaton without stores that no check reads, checks of empty registers, and clears of empty registers.

    >>> from ensue.automata.build import build
    >>> from ensue.automata.automaton_printer import print_automaton
    >>> from ensue.language.parser import parse_pattern
    >>> pattern = parse_pattern("A AS x ;[<= 1 s] B AS y FILTER x.id = y.id")
    >>> print("\\n".join(print_automaton(pruned(build(pattern)))))
    0 -> 1  A / A, x; $1 := time; $2 := id
    1 -> 1  true /
    1 -> 2* B & $2 = id & time since $1 in [<= 1 s] / B, y
    """
    if not automaton.registers:
        return automaton
    live = _live(automaton)
    maybe = _maybe_stored(automaton)

    def kept(t: Transition) -> Iterator[Action]:
        cleared = {a.register for a in t.actions if isinstance(a, Clear)}
        replaced = {a.register for a in t.actions if isinstance(a, Store) and not a.keep.adds_up}
        for a in t.actions:
            if not isinstance(a, Store | Clear):
                if (a.awaited if isinstance(a, Holds) else a.registers) <= maybe[t.source]:
                    yield a
            elif a.register not in live[t.target]:
                continue
            elif isinstance(a, Store):
                yield replace(a, keep=Keep.NEW) if a.register in cleared & replaced else a
            elif a.register in maybe[t.source] - replaced:
                yield a

    found = automaton.relabelled(kept)
    return found if found == automaton else pruned(found)


def _settled(
    automaton: Automaton, found: dict[int, Registers], step: Callable[[Transition], tuple[int, Registers]]
) -> dict[int, Registers]:
    """Applies `step` to all transitions until nothing changes; `step` returns a state and the state's new registers."""
    changed = True
    while changed:
        changed = False
        for t in automaton.transitions:
            state, registers = step(t)
            if registers != found[state]:
                found[state] = registers
                changed = True
    return found


def _live(automaton: Automaton) -> dict[int, Registers]:
    live: dict[int, Registers] = defaultdict(lambda: _NONE)

    def before(t: Transition) -> tuple[int, Registers]:
        return t.source, live[t.source] | (live[t.target] - _replaced(t.actions)) | _read(t.actions)

    return _settled(automaton, live, before)


def _read(actions: Iterable[Action]) -> Registers:
    """The registers that are checked. Keeping the least value reads a register too, but only for its own new value."""
    return _NONE.union(*(a.registers for a in conditions_of(actions)))


def _replaced(actions: Iterable[Action]) -> Registers:
    """The registers whose old value the transition overwrites or clears."""
    return frozenset(
        a.register for a in actions if isinstance(a, Clear) or (isinstance(a, Store) and a.keep is Keep.NEW)
    )


def _maybe_stored(automaton: Automaton) -> dict[int, Registers]:
    """For each state: the registers that some path to it has stored in."""
    found: dict[int, Registers] = defaultdict(lambda: _NONE)
    return _settled(automaton, found, lambda t: (t.target, found[t.target] | _after(found[t.source], t.actions)))


def _stored(automaton: Automaton) -> dict[int, Registers]:
    """For each state: the registers that every path to it has stored in, found by shrinking from all registers."""
    found = {0: _NONE, **{t.target: automaton.registers for t in automaton.transitions}}
    return _settled(automaton, found, lambda t: (t.target, found[t.target] & _after(found[t.source], t.actions)))


def _after(before: Registers, actions: Iterable[Action]) -> Registers:
    cleared = {a.register for a in actions if isinstance(a, Clear)}
    stored = {a.register for a in actions if isinstance(a, Store)}
    return (before - cleared) | stored


def longest_time_checked(automaton: Automaton, register: Register) -> dict[int, Since | None]:
    """For each state: the check of the time since the register that allows the longest time to runs from there.

    It is None if a run from the state may end, or overwrite the register, before it checks that time, or if the check
    has no upper bound. A run that has waited longer than its state's check allows can never end.
    """
    found: dict[int, Since | None] = {}
    changed = True
    while changed:
        changed = False
        for t in automaton.transitions:
            asked = _next_check(automaton, register, t, found)
            if asked is _NOT_YET:
                continue
            longer = _longer(found[t.source], asked) if t.source in found else asked
            if t.source not in found or longer != found[t.source]:
                found[t.source] = longer
                changed = True
    return found


_NOT_YET = Since("", ast.Interval(None, None))


def _next_check(
    automaton: Automaton, register: Register, t: Transition, found: Mapping[int, Since | None]
) -> Since | None:
    own = [a for a in t.actions if isinstance(a, Since) and a.register == register]
    if own:
        bounded = [a for a in own if a.interval.high is not None]
        return bounded[0] if bounded else None
    if t.target in automaton.finals or register in _replaced(t.actions):
        return None
    return found.get(t.target, _NOT_YET)


def _longer(a: Since | None, b: Since | None) -> Since | None:
    if a is None or b is None:
        return None
    assert a.interval.high is not None
    assert b.interval.high is not None
    return max(a, b, key=longest_allowed)


def longest_allowed(asked: Since) -> tuple[Fraction, bool, str]:
    """The sort key of a check of time: the longest time that it allows."""
    assert asked.interval.high is not None
    return asked.interval.high.duration.nanoseconds(), asked.interval.high.inclusive, str(asked)
