"""What the search remembers of a way through the pattern: the rows that conditions go to, and chains for aggregates.

Registers are values that are never changed, so that to turn back is to forget. Two ways to one point and one row have
the same future if the registers that are still read from there are equal: failures are remembered by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ensue.row_patterns.match_terms import Aggregate, Formula, Navigation, Term
from ensue.row_patterns.pattern_program import ACCEPT, BEHIND_STEP, DEAD, Program

#: The rows of the match with one of these variables; None for all rows.
Of = frozenset[str] | None


@dataclass(frozen=True)
class Register:
    """Rows of `of` with their variables: the first `keeps`, the last `keeps`, or, where that is 0, all as a chain."""

    of: Of
    first: bool
    keeps: int


class Link:
    """A row at the end of a chain of rows; equal chains are one object, so that their numbers tell them apart."""

    __slots__ = ("before", "known", "length", "number", "row", "variable")

    def __init__(self, before: Link | None, row: int, variable: int, number: int) -> None:
        self.before = before
        self.row = row
        self.variable = variable
        self.number = number
        self.length: int = 1 if before is None else before.length + 1
        self.known: dict[Term, Any] = {}  # what aggregates have come to so far

    def rows(self) -> list[tuple[int, int]]:
        """The rows from the first one on, each with its variable."""
        found = []
        link: Link | None = self
        while link is not None:
            found.append((link.row, link.variable))
            link = link.before
        return found[::-1]


class Chains:
    """Makes links, each only once."""

    def __init__(self) -> None:
        self._links: dict[tuple[int, int, int], Link] = {}

    def longer(self, before: Link | None, row: int, variable: int) -> Link:
        key = (-1 if before is None else before.number, row, variable)
        found = self._links.get(key)
        if found is None:
            found = self._links[key] = Link(before, row, variable, len(self._links))
        return found

    def __len__(self) -> int:
        return len(self._links)

    def clear(self) -> None:
        self._links.clear()


def register_of(term: Term) -> Register | None:
    """The register that a term is computed from; None for the number of the match."""
    match term:
        case Navigation() if term.value.uses_label and term.step:
            return Register(None, False, 0)
        case Navigation():
            return Register(term.of, term.from_first, term.offset + 1)
        case Aggregate():
            return Register(term.of, False, 0)
    return None


@dataclass(frozen=True)
class Layout:
    """The registers of a program's conditions, and which of them are read from each point on."""

    program: Program
    conditions: Mapping[str, tuple[Formula, ...]]
    within: bool

    @cached_property
    def registers(self) -> tuple[Register, ...]:
        return tuple(dict.fromkeys(r for t in self._terms() if (r := register_of(t)) is not None))

    @cached_property
    def takes(self) -> list[list[bool]]:
        """For each variable of the program, whether each register takes its rows."""
        return [[r.of is None or name in r.of for r in self.registers] for name in self.program.variables]

    def empty(self) -> tuple[Any, ...]:
        return tuple(() if r.keeps else None for r in self.registers)

    def taken(self, values: tuple[Any, ...], row: int, variable: int, chains: Chains) -> tuple[Any, ...]:
        """The registers once the row has the variable."""
        found = []
        for register, value, takes in zip(self.registers, values, self.takes[variable], strict=True):
            if takes and not register.keeps:
                value = chains.longer(value, row, variable)
            elif takes and register.first:
                value = value if len(value) == register.keeps else (*value, (row, variable))
            elif takes:
                value = (*value[-register.keeps + 1 :], (row, variable)) if register.keeps > 1 else ((row, variable),)
            found.append(value)
        return tuple(found)

    # -- what is alive

    def _reads(self, variable: str) -> set[int]:
        """The registers that the condition of a variable reads, as they were before the candidate row."""
        found = set()
        for part in self.conditions.get(variable, ()):
            for term in part.terms.values():
                register = register_of(term)
                if register is None or self._is_overwritten(register, variable):
                    continue
                found.add(self.registers.index(register))
        return found

    @staticmethod
    def _is_overwritten(register: Register, variable: str) -> bool:
        """Whether a row of the variable replaces all that is in the register."""
        return register.keeps == 1 and not register.first and (register.of is None or variable in register.of)

    def _is_implied(self, register: Register) -> bool:
        """Whether the first row of the match and the current one say what is in it, whatever the variables are."""
        return register.of is None and not any(reads_label(t) for t in self._terms() if register_of(t) == register)

    def _terms(self) -> Iterator[Term]:
        for parts in self.conditions.values():
            for part in parts:
                yield from part.terms.values()

    @cached_property
    def alive(self) -> list[tuple[int, ...]]:
        """For each point: the registers that some condition reads from there on before they are overwritten."""
        program, names = self.program, self.program.variables
        reads = [self._reads(v) for v in names]
        clears = [{i for i, r in enumerate(self.registers) if self._is_overwritten(r, v)} for v in names]
        found: list[set[int]] = [set() for _ in range(program.points)]
        before = [[] for _ in range(program.points)]  # type: list[list[int]]
        for point in range(program.points):
            for step in program.next_of(point).tolist():
                if step not in (ACCEPT, DEAD):
                    before[step + BEHIND_STEP].append(point)
        open_ = list(range(program.points))
        while open_:
            point = open_.pop()
            now = set()
            for step in program.next_of(point).tolist():
                if step not in (ACCEPT, DEAD):
                    v = int(program.variable[step])
                    now |= reads[v] | (found[step + BEHIND_STEP] - clears[v])
            if now != found[point]:
                found[point] = now
                open_.extend(before[point])
        return [tuple(sorted(f)) for f in found]

    @cached_property
    def keys(self) -> list[tuple[int, ...]]:
        """For each point: the registers by which a failure there is remembered."""
        implied = [self._is_implied(r) for r in self.registers]
        return [tuple(i for i in alive if not implied[i]) for alive in self.alive]

    @cached_property
    def depends_on_start(self) -> np.ndarray[Any, Any]:
        """For each point: whether what comes from there depends on where the match began, beside the registers."""
        implied = [self._is_implied(r) for r in self.registers]
        return np.array([self.within or any(implied[i] for i in alive) for alive in self.alive], dtype=np.bool_)

    @cached_property
    def depends_on_number(self) -> bool:
        """Whether a condition reads the number of the match."""
        return any(register_of(t) is None or _uses_number(t) for t in self._terms())


def reads_label(term: Term) -> bool:
    """Whether the term reads which variables rows have."""
    if isinstance(term, Navigation):
        return term.value.uses_label
    return isinstance(term, Aggregate) and any(a.uses_label for a in term.arguments)


def _uses_number(term: Term) -> bool:
    if isinstance(term, Navigation):
        return term.value.uses_number
    return isinstance(term, Aggregate) and any(a.uses_number for a in term.arguments)
