"""Guards: conjunctions of atomic predicates of one event and of their negations.

A predicate either holds or does not: a test holds if its expression is TRUE, so its negation covers FALSE and NULL.
Event types exclude each other; to keep guards small, no other check of satisfiability is needed. A fact about the
events before an event is a predicate too, if a deterministic machine can compute it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from ensue.language import ast
from ensue.language.printer import print_expression, print_name, print_window


@dataclass(frozen=True)
class TypeIs:
    """The event is of this type."""

    name: str

    def __str__(self) -> str:
        return print_name(self.name)


@dataclass(frozen=True)
class Test:
    """The expression, over bare attribute names, is TRUE at the event."""

    expression: ast.Expression

    def __str__(self) -> str:
        return print_expression(self.expression)


@dataclass(frozen=True)
class Machine:
    """A deterministic automaton that reads all events from the first one on, separately in each partition.

    Its name identifies it: machines with the same name are the same.
    """

    name: str
    states: tuple[str, ...] = field(compare=False, repr=False)  # their descriptions; state 0 is the first
    steps: tuple[tuple[tuple[Guard, int], ...], ...] = field(compare=False, repr=False)  # of each state

    @property
    def guards(self) -> Iterator[Guard]:
        return (guard for steps in self.steps for guard, _ in steps)

    @property
    def predicates(self) -> list[Predicate]:
        return predicates_of(self.guards)

    def is_in(self, state: int) -> Guard:
        """The guard that holds if the machine is in this state just before the event."""
        bits = range((len(self.states) - 1).bit_length())
        return frozenset((Before(self, bit), bool(state >> bit & 1)) for bit in bits)


@dataclass(frozen=True)
class Before:
    """The machine's state just before the event has this bit set in its number."""

    machine: Machine
    bit: int

    def __str__(self) -> str:
        return f"bit {self.bit} of {self.machine.name}"


@dataclass(frozen=True)
class LatestStart:
    """For each event: when the latest match of an automaton has started that was over before it, in each partition.

    The automaton has no registers. Its name identifies it: those with the same name are the same.
    """

    name: str
    deadline: ast.Interval  # how long before an event the start of such a match matters
    size: int = field(compare=False, repr=False)  # how many states there are; state 0 is the first
    finals: frozenset[int] = field(compare=False, repr=False)
    moves: tuple[tuple[int, Guard, int], ...] = field(compare=False, repr=False)  # from a state, where the guard holds

    @property
    def guards(self) -> Iterator[Guard]:
        return (guard for _, guard, _ in self.moves)

    @property
    def predicates(self) -> list[Predicate]:
        return predicates_of(self.guards)


@dataclass(frozen=True)
class CameBefore:
    """Such a match was over before the event, and it had started no longer before it than the deadline says."""

    machine: LatestStart

    def __str__(self) -> str:
        return f"{self.machine.name} within {print_window(self.machine.deadline)} before"


@dataclass(frozen=True)
class Ranking:
    """The order of an automaton's runs for NEXT or LAST, as far as it matters: that of the best run of each state.

    The ranks are sets of states: the best runs to the states of a rank have marked the same events, and more is to be
    had of them than of those of the next rank (Grez, Algorithm 2). State 0 is that of runs which have not started.
    Its name identifies it: rankings with the same name are the same.
    """

    name: str
    selector: ast.Selector  # NEXT, where the first difference decides, or LAST, where the most recent one does
    finals: frozenset[int] = field(compare=False, repr=False)
    moves: tuple[tuple[int, Guard, bool, int], ...] = field(compare=False, repr=False)  # the flag: an event is marked

    @property
    def guards(self) -> Iterator[Guard]:
        return (guard for _, guard, _, _ in self.moves)

    @property
    def predicates(self) -> list[Predicate]:
        return predicates_of(self.guards)


@dataclass(frozen=True)
class Best:
    """No run of a ranked automaton comes to the target with this event that is better than those of this step."""

    ranking: Ranking
    source: int
    marked: bool
    target: int

    def __str__(self) -> str:
        return f"best to {self.target} from {self.source}{' marked' if self.marked else ''} in {self.ranking.name}"


@dataclass(frozen=True)
class Chosen:
    """No run of a ranked automaton ends with this event that is better than the best that come to the target."""

    ranking: Ranking
    target: int

    def __str__(self) -> str:
        return f"best end at {self.target} in {self.ranking.name}"


Predicate = TypeIs | Test | Before | CameBefore | Best | Chosen
#: What tells of the events before an event.
Past = Machine | LatestStart
Literal = tuple[Predicate, bool]
#: A conjunction; the empty one always holds.
Guard = frozenset[Literal]
ALWAYS: Guard = frozenset()


def conjunction(*guards: Guard) -> Guard | None:
    """The conjunction of the guards; None if they cannot hold at once."""
    literals = frozenset().union(*guards)
    types = {p.name for p, positive in literals if positive and isinstance(p, TypeIs)}
    if len(types) > 1 or any((p, not positive) in literals for p, positive in literals):
        return None
    if types:  # an event of one type has no other type
        literals = frozenset((p, positive) for p, positive in literals if positive or not isinstance(p, TypeIs))
    return literals


def predicates_of(guards: Iterable[Guard]) -> list[Predicate]:
    """The distinct predicates, in a fixed order."""
    return sorted({p for g in guards for p, _ in g}, key=_place)


def types_asked(guards: Iterable[Guard]) -> dict[Test, frozenset[str]]:
    """For each test that is asked of events of certain types only: these types.

    >>> test = Test(ast.Name("flag"))
    >>> types_asked([frozenset({(TypeIs("A"), True), (test, False)}), frozenset({(TypeIs("B"), True)})])[test]
    frozenset({'A'})
    """
    found: dict[Test, frozenset[str] | None] = {}
    for guard in guards:
        types = frozenset(p.name for p, positive in guard if positive and isinstance(p, TypeIs))
        for p, _ in guard:
            if isinstance(p, Test):
                before = found.get(p, types)
                found[p] = before | types if before and types else None
    return {p: types for p, types in found.items() if types is not None}


@lru_cache(maxsize=10_000)
def _place(p: Predicate) -> tuple[int, str]:
    return (TypeIs, Test, Before, CameBefore, Best, Chosen).index(type(p)), str(p)


def machines_of(predicates: Iterable[Predicate]) -> list[Past]:
    """The machines that the predicates use, each after the machines that its own guards use."""
    found: dict[Past, None] = {}
    for p in predicates:
        if isinstance(p, Before | CameBefore) and p.machine not in found:
            found |= dict.fromkeys([*machines_of(p.machine.predicates), p.machine])
        elif isinstance(p, Best | Chosen):
            found |= dict.fromkeys(machines_of(p.ranking.predicates))
    return list(found)


def rankings_of(guards: Iterable[Guard]) -> list[Ranking]:
    """The rankings that the guards use, each after the rankings that its own guards use."""
    found: dict[Ranking, None] = {}
    for p in predicates_of(guards):
        if isinstance(p, Best | Chosen) and p.ranking not in found:
            found |= dict.fromkeys([*rankings_of(p.ranking.guards), p.ranking])
    return list(found)


def guards_asked(guards: Iterable[Guard]) -> list[Guard]:
    """The guards, and those of the rankings that they use."""
    own = list(guards)
    return [*own, *(g for ranking in rankings_of(own) for g in ranking.guards)]


def predicates_asked(guards: Iterable[Guard]) -> list[Predicate]:
    """The predicates that are evaluated for each event: all but those of rankings, whose own are among them."""
    return [p for p in predicates_of(guards_asked(guards)) if not isinstance(p, Best | Chosen)]


def cells(predicates: Iterable[Predicate]) -> Iterator[Guard]:
    """Every satisfiable combination of the predicates and their negations: disjoint, and together all events."""
    predicates = list(predicates)
    for signs in itertools.product((True, False), repeat=len(predicates)):
        cell = conjunction(frozenset(zip(predicates, signs, strict=True)))
        if cell is not None:
            yield cell


def implied(cell: Guard, guard: Guard) -> bool:
    """Whether every event of the cell satisfies the guard; the cell decides all of the guard's predicates."""
    types = {p.name for p, positive in cell if positive and isinstance(p, TypeIs)}
    return all(
        literal in cell or (isinstance(literal[0], TypeIs) and bool(types) and (literal[0].name in types) == literal[1])
        for literal in guard
    )


def print_guard(guard: Guard) -> str:
    """The guard as text; `true` for the guard that always holds."""
    printed: set[Literal] = set()
    before = []
    for machine in (m for m in machines_of(p for p, _ in guard) if isinstance(m, Machine)):
        for number, state in enumerate(machine.states):
            if machine.is_in(number) <= guard:
                printed |= machine.is_in(number)
                before.append(f"{machine.name}: {state}")
    rest = sorted(guard - printed, key=lambda x: (str(x[0]), x[1]))
    return " & ".join([*(str(p) if positive else f"not({p})" for p, positive in rest), *before]) or "true"
