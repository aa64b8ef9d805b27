"""All streams that can be, as a finite automaton: what is known of the events so far, and what the next one can be.

A state has what is remembered of values, and the states of the machines beside the query. An event that EXPECT rules
out is no next event.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ensue.automata.build.expect import Expectation
from ensue.automata.overlap.conditions import (
    NAN,
    Atom,
    Condition,
    IsMissing,
    Operand,
    Truth,
    Undecided,
    Value,
    atoms_of,
    condition_of,
    made_of,
    truth_of,
)
from ensue.automata.overlap.values import Memory, Next, groups_of
from ensue.automata.predicates import (
    Best,
    CameBefore,
    Chosen,
    Guard,
    Machine,
    Predicate,
    Test,
    TypeIs,
    machines_of,
    predicates_of,
)
from ensue.data.schema import Schema

#: More kinds of next events than this are too many to go through.
MOST_LETTERS = 2_000

Memories = tuple[Memory, ...]
Predicates = frozenset[Predicate]


#: What is not decided may be any of these; where it is NULL, its negation does not hold either.
_TRUTHS: tuple[Truth, ...] = (True, False, None)


class TooMany(Exception):
    """There is too much to go through: nothing is decided."""


class Situation(NamedTuple):
    """What is known of the events so far."""

    memories: Memories
    machines: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Letter:
    """A kind of event: its type, where its values lie, and what holds of it."""

    type: str | None  # None: a type that nothing asks for
    nexts: tuple[Next, ...]  # for each group
    undecided: tuple[tuple[str, Truth], ...]
    true: frozenset[Predicate]  # of those that ask nothing of a machine

    @property
    def after(self) -> Memories:
        return tuple(n.after for n in self.nexts)


class Streams:
    """The streams as far as these guards, and what they ask of the past, can tell them apart.

    If they are `timed`, the attribute `time` is the time of the events: it is never missing and never falls. Where the
    schema does not tell that a value is no float, it may be NaN.
    """

    def __init__(
        self,
        guards: Iterable[Guard],
        expectation: Expectation | None,
        *,
        timed: bool = True,
        schema: Schema | None = None,
    ) -> None:
        self._expectation = expectation
        own = predicates_of(guards)
        asked = [*own, *(predicates_of(expectation.unexpected) if expectation else ())]
        past = machines_of(asked)
        self.machines = [m for m in past if isinstance(m, Machine)]
        everything = dict.fromkeys(p for p in [*asked, *(p for m in past for p in m.predicates)])
        self._types = [p for p in everything if isinstance(p, TypeIs)]
        self._conditions: dict[Predicate, Condition] = {
            p: condition_of(p.expression) for p in everything if isinstance(p, Test)
        }
        self._conditions |= {p: Undecided(str(p)) for p in everything if isinstance(p, CameBefore | Best | Chosen)}
        atoms = list(dict.fromkeys(a for c in self._conditions.values() for a in atoms_of(c)))
        self._parts = {name: made_of(name) for g in groups_of(atoms) for name, made in g.names if made}
        atoms += [IsMissing(v) for parts in self._parts.values() for v in parts]
        self._undecided = [a for a in atoms if isinstance(a, Undecided)]
        self.groups = groups_of(atoms, timed=timed, schema=schema)
        self._letters: dict[Memories, list[Letter]] = {}

    @property
    def first(self) -> Situation:
        return Situation(tuple(g.first for g in self.groups), (0,) * len(self.machines))

    @cached_property
    def undecided(self) -> list[str]:
        """The texts of what is not decided: more streams seem possible than there are."""
        made = [name for g in self.groups for name, is_made in g.names if is_made]
        return [*(a.text for a in self._undecided), *made]

    def next(self, situation: Situation) -> list[tuple[Letter, frozenset[Predicate], Situation]]:
        """Each kind of event that can come next: what holds of it, and what is known then."""
        found = []
        for letter in self._letters_after(situation.memories):
            true, machines = self._read(situation.machines, letter.true)
            expected = self._expectation is None or not any(holds(g, true) for g in self._expectation.unexpected)
            if expected:
                found.append((letter, true, Situation(letter.after, machines)))
        return found

    def _read(
        self, states: tuple[int, ...], true: frozenset[Predicate]
    ) -> tuple[frozenset[Predicate], tuple[int, ...]]:
        """What holds of an event once the machines have said what came before, and their states after it."""
        after = []
        for machine, state in zip(self.machines, states, strict=True):
            true |= {p for p, is_set in machine.is_in(state) if is_set}
            # What satisfies no guard does not occur; where it seems possible, it is passed over.
            after.append(next((target for guard, target in machine.steps[state] if holds(guard, true)), state))
        return true, tuple(after)

    def _letters_after(self, memories: Memories) -> list[Letter]:
        if memories not in self._letters:
            self._letters[memories] = self._possible(memories)
        return self._letters[memories]

    def _possible(self, memories: Memories) -> list[Letter]:
        choices = [list(g.following(m)) for g, m in zip(self.groups, memories, strict=True)]
        types: list[str | None] = [*(p.name for p in self._types), None]
        size = len(types) * len(_TRUTHS) ** len(self._undecided) * math.prod(map(len, choices))
        if size > 20 * MOST_LETTERS:
            raise TooMany
        unknown = itertools.product(_TRUTHS, repeat=len(self._undecided))
        found: dict[tuple[frozenset[Predicate], Memories], Letter] = {}
        for type_, nexts, said in itertools.product(types, itertools.product(*choices), unknown):
            if self._parts and not self._can_be_made(memories, nexts):
                continue
            true = self._true(type_, nexts, said)
            after = tuple(n.after for n in nexts)
            if (true, after) not in found:
                undecided = tuple((a.text, t) for a, t in zip(self._undecided, said, strict=True))
                found[true, after] = Letter(type_, nexts, undecided, true)
        if len(found) > MOST_LETTERS:
            raise TooMany
        return list(found.values())

    def _can_be_made(self, memories: Memories, nexts: tuple[Next, ...]) -> bool:
        """Whether nothing is computed from a value that is missing, and only NaN from NaN."""
        places: dict[Operand, float | None] = {}
        for group, memory, chosen in zip(self.groups, memories, nexts, strict=True):
            places |= group.places(memory, chosen.placement)
        for name, parts in self._parts.items():
            found = places[Value(name, made=True)]
            if found is not None and any(places[v] is None or (places[v] == NAN != found) for v in parts):
                return False
        return True

    def _true(self, type_: str | None, nexts: tuple[Next, ...], said: Iterable[Truth]) -> frozenset[Predicate]:
        known: dict[Atom, Truth] = dict(zip(self._undecided, said, strict=True))
        for group, chosen in zip(self.groups, nexts, strict=True):
            known |= zip(group.atoms, chosen.truths, strict=True)
        true = {p for p, c in self._conditions.items() if truth_of(c, known.__getitem__)}
        return frozenset(true.union(p for p in self._types if p.name == type_))


def holds(guard: Guard, true: frozenset[Predicate] | Mapping[Predicate, object]) -> bool:
    """Whether a guard holds of an event of which exactly these predicates are true."""
    return all((p in true) == positive for p, positive in guard)
