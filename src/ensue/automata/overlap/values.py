"""The order of values: what is remembered of earlier events, and where the values of the next event can lie.

Values that are compared with each other are a *group*. Of a group only the order matters, that of its values still in
reach and of its constants: a weak order. For dense values each order that agrees with itself can occur (these are the
maximal consistent sets of Demri and D'Souza), so nothing is lost. Between whole numbers there may be no room: then more
seems possible than is. NaN is in no order, so a value that may be NaN has one more place, beside the line.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa

from ensue.automata.overlap.conditions import (
    NAN,
    Atom,
    Compares,
    Fixed,
    IsMissing,
    Nanoseconds,
    Operand,
    Truth,
    Undecided,
    Value,
    atom_truth,
    in_order,
    made_of,
)
from ensue.data.schema import Kind, Schema, ValueType
from ensue.language.parser import parse_expression
from ensue.logic.types import Typing

#: Each remembered value's rank in the order, or NAN, or None if it is missing; then the ranks of the constants.
Memory = tuple[tuple[float | None, ...], tuple[int, ...]]
#: Where the new values lie: ranks, between two ranks, or at NAN; None for what is missing.
Placement = tuple[float | None, ...]
#: The attribute that has the time of events, unless another one is named.
TIME = "time"


class Next(NamedTuple):
    """One way in which the next event can have its values of a group."""

    placement: Placement
    truths: tuple[Truth, ...]  # of the group's atoms
    after: Memory


@dataclass(frozen=True)
class Group:
    """Attributes that are compared with each other, directly or not, or with the same constants."""

    names: tuple[tuple[str, bool], ...]  # each with whether it is made of others
    reach: tuple[int, ...]  # how many events back each is asked for
    constants: tuple[int | float | str, ...]  # in their order
    atoms: tuple[Compares | IsMissing, ...]
    timed: bool = True  # whether the attribute `time` is the time of the events
    floats: frozenset[tuple[str, bool]] = frozenset()  # the names whose values may be NaN

    @property
    def only_constants(self) -> bool:
        """Whether there are no values but the constants: FALSE and TRUE."""
        return any(isinstance(c, bool) for c in self.constants)

    @property
    def ordered(self) -> bool:
        """Whether the order of the values matters; else only which of them are missing."""
        return any(isinstance(a, Compares) for a in self.atoms)

    @cached_property
    def remembered(self) -> list[Value]:
        """The values of earlier events, as the next event sees them."""
        return [Value(n, k) for (n, _), reach in zip(self.names, self.reach, strict=True) for k in range(1, reach + 1)]

    @property
    def first(self) -> Memory:
        """Before the stream, every value is missing."""
        return (None,) * len(self.remembered), tuple(range(len(self.constants)))

    def following(self, memory: Memory) -> Iterator[Next]:
        """What can come next; of several ways with the same outcome, one.

        What is missing or NaN is part of the outcome, as it tells what is computed from these values.
        """
        seen = set()
        for placement in self._placements(memory):
            places = self.places(memory, placement)
            truths = tuple(atom_truth(a, places) for a in self.atoms)
            after = self.after(memory, placement)
            outcome = (truths, after, tuple(p if p is None or p == NAN else 0 for p in placement))
            if outcome not in seen:
                seen.add(outcome)
                yield Next(placement, truths, after)

    def _placements(self, memory: Memory) -> Iterator[Placement]:
        known = sorted(in_order(memory[0]) | set(memory[1]))
        yield from self._placed(memory, known, ())

    def _placed(self, memory: Memory, known: list[float], so_far: Placement) -> Iterator[Placement]:
        if len(so_far) == len(self.names):
            yield so_far
            return
        name, made = self.names[len(so_far)]
        is_time = self.timed and name == TIME and not made
        least = dict(zip(self.remembered, memory[0], strict=True)).get(Value(TIME, 1)) if is_time else None
        for place in self._possible(known):
            if least is None or place >= least:
                yield from self._placed(memory, sorted({*known, place}), (*so_far, place))
        if not is_time:
            yield from self._placed(memory, known, (*so_far, None))
        if self.ordered and (name, made) in self.floats:
            yield from self._placed(memory, known, (*so_far, NAN))

    def _possible(self, known: Sequence[float]) -> Iterable[float]:
        if not self.ordered:
            return (0,)
        return known if self.only_constants else _around(known)

    def places(self, memory: Memory, placement: Placement) -> dict[Operand, float | None]:
        """Where everything lies when the next event has come."""
        found: dict[Operand, float | None] = dict(zip(self.remembered, memory[0], strict=True))
        found |= {Fixed(c): r for c, r in zip(self.constants, memory[1], strict=True)}
        found[Fixed(None)] = None
        found |= {Value(n, 0, made): p for (n, made), p in zip(self.names, placement, strict=True)}
        return found

    def kept(self, memory: Memory, placement: Placement) -> list[float | None]:
        """Where the values lie that are remembered when the next event has come."""
        places = self.places(memory, placement)
        return [places[Value(v.name, v.back - 1)] for v in self.remembered]

    def after(self, memory: Memory, placement: Placement) -> Memory:
        """What is remembered then."""
        kept = self.kept(memory, placement)
        rank = {p: r for r, p in enumerate(sorted(in_order(kept) | set(memory[1])))}
        return tuple(p if p is None else rank.get(p, NAN) for p in kept), tuple(rank[c] for c in memory[1])


def _around(known: Sequence[float]) -> Iterator[float]:
    """A place between each two of these, one at each, one below and one above all."""
    if not known:
        yield 0.0
        return
    yield known[-1] + 1
    for low, high in itertools.pairwise(known):
        yield (low + high) / 2
    yield known[0] - 1
    yield from known


def groups_of(atoms: Iterable[Atom], *, timed: bool = True, schema: Schema | None = None) -> list[Group]:
    """The groups that these atoms speak of; the schema tells which values are floats, and so may be NaN."""
    asked = [a for a in dict.fromkeys(atoms) if not isinstance(a, Undecided)]
    together: dict[tuple[str, bool], set[tuple[str, bool]]] = {}
    for a in asked:
        joined = {(v.name, v.made) for v in _values(a)}
        merged = joined.union(*(together.get(n, set()) for n in joined))
        for n in merged:
            together[n] = merged
    found = []
    for members in dict.fromkeys(frozenset(m) for m in together.values()):
        own = [a for a in asked if any((v.name, v.made) in members for v in _values(a))]
        names = sorted(members)
        reach = [max((v.back for a in own for v in _values(a) if (v.name, v.made) == n), default=0) for n in names]
        constants = {c for a in own for c in _constants(a)}
        if any(isinstance(c, bool) for c in constants):
            constants = {False, True}
        floats = _floats(names, constants, timed, schema)
        found.append(Group(tuple(names), tuple(reach), tuple(_in_order(constants)), tuple(own), timed, floats))
    return found


def _floats(
    names: Iterable[tuple[str, bool]], constants: Iterable[object], timed: bool, schema: Schema | None
) -> frozenset[tuple[str, bool]]:
    """Those of the values, which are compared with each other, that may be NaN: floats, and what may be floats."""
    types = {n: _type(*n, schema) for n in names}
    numbers = all(t is None or t.kind.numeric or t.kind is Kind.NULL for t in types.values())
    if not numbers or any(isinstance(c, str | bool | Nanoseconds) for c in constants):
        return frozenset()
    return frozenset(n for n, t in types.items() if _may_be_nan(t) and not (timed and _is_of_time(*n)))


def _type(name: str, made: bool, schema: Schema | None) -> ValueType | None:
    if made:
        return Typing(schema).infer(parse_expression(name))
    return None if schema is None else schema.attributes.get(name)


def _may_be_nan(type_: ValueType | None) -> bool:
    return type_ is None or (type_.kind is Kind.FLOAT and not pa.types.is_decimal(type_.arrow))


def _is_of_time(name: str, made: bool) -> bool:
    """Whether it is the time of an event, or made of such times alone."""
    return {v.name for v in made_of(name)} == {TIME} if made else name == TIME


def _values(a: Compares | IsMissing) -> list[Value]:
    sides = [a.value] if isinstance(a, IsMissing) else [a.left, a.right]
    return [s for s in sides if isinstance(s, Value)]


def _constants(a: Compares | IsMissing) -> list[int | float | str]:
    sides = [] if isinstance(a, IsMissing) else [a.left, a.right]
    return [s.value for s in sides if isinstance(s, Fixed) and s.value is not None]


def _in_order(constants: set[int | float | str]) -> list[int | float | str]:
    """Numbers before texts: a group with both is of a query that no schema lets pass."""
    return sorted(constants, key=lambda c: (isinstance(c, str), c))
