"""Compiles the conditions that speak of the match for the search in `kernels/row_search.py`.

Each term becomes a few cells that a way through the pattern carries along, and each condition instructions over them
(`logic/formula.py`). What has no instructions is left to the search in Python (`ordered_search.py`): the variable of
a row, aggregates that need all their values again, and expressions of texts and of the calendar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
import numpy.typing as npt

from ensue.data.schema import Kind, Schema
from ensue.kernels import fixed_point, row_search
from ensue.language import ast
from ensue.logic.formula import Formula as Instructions
from ensue.logic.formula import NoInstruction, formula_of, kind_of
from ensue.logic.stored_values import stored_in
from ensue.logic.types import Typing
from ensue.row_patterns.match_terms import Aggregate, Formula, Navigation, NumberOfMatch, RowValue, Term
from ensue.row_patterns.pattern_program import Program
from ensue.row_patterns.search_registers import Layout, Register, register_of

_EXTREMES = {"min": row_search.LEAST, "max": row_search.GREATEST}


class Interpreted(Exception):
    """Raised for a part of a condition that the compiled search does not evaluate, with the reason."""


@dataclass(frozen=True)
class Needed:
    """A column that terms read: of the values as they are, of numbers to add up, or of what is only counted."""

    value: RowValue
    kind: Kind
    use: str


#: The uses of a column.
SHOWN, ADDED, COMPARED, COUNTED = "shown", "added", "compared", "counted"


class SearchProgram:
    """What does not depend on the rows: the terms, the conditions and the columns that they need."""

    def __init__(self, program: Program, conditions: Mapping[str, tuple[Formula, ...]], *, within: bool) -> None:
        self.program, self.layout = program, Layout(program, conditions, within)
        self._of_variable = [conditions.get(v, ()) for v in program.variables]
        self.parts = list(chain(*self._of_variable))
        self.terms: list[Term] = list(dict.fromkeys(t for part in self.parts for t in part.terms.values()))
        self.columns: list[Needed] = list(dict.fromkeys(c for t in self.terms if (c := _needed(t)) is not None))
        compiled = [self._compiled(part) for part in self.parts]
        self.instructions: list[Instructions] = compiled
        self.constants: list[ast.Expression] = list(dict.fromkeys(chain(*(c.terms for c in compiled))))

    def _compiled(self, part: Formula) -> Instructions:
        names = {name: f"${self.terms.index(term)}" for name, term in part.terms.items()}
        stored = {register: ast.Name(name) for name, register in names.items()}

        def in_cells(e: ast.Expression) -> ast.Expression | None:
            return stored_in(names[e.name]) if isinstance(e, ast.Name) else None

        try:
            return formula_of(ast.replaced(part.expression, in_cells), stored, part.schema)
        except NoInstruction as e:
            raise Interpreted(f"{e}".replace("of several events", "of the rows of a match")) from None

    @property
    def numbers(self) -> dict[str, int]:
        """Where the value of each term stands that instructions read."""
        return {f"${n}": n for n in range(len(self.terms))}

    @property
    def kinds_of_constants(self) -> list[Kind]:
        return [kind_of(e, Typing(Schema({}))) for e in self.constants]

    def cells_of(self, limbs: Callable[[Needed], tuple[int, int]]) -> Cells:
        """The cells, once it is known of the sums of a column which limb is the first, and how many there are."""
        return Cells(self, limbs)

    def needs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The parts of each variable's condition, and the terms of each part, as ranges."""
        needed = [[self.terms.index(t) for t in dict.fromkeys(part.terms.values())] for part in self.parts]
        return _ranges(self._of_variable), _ranges(needed), np.array(list(chain(*needed)), dtype=np.int64)


def _needed(term: Term) -> Needed | None:
    """The column that a term reads."""
    match term:
        case NumberOfMatch():
            return None
        case Navigation():
            if term.value.uses_label or term.value.uses_number:
                raise Interpreted("the variable of a row, or the number of the match, in an expression")
            return Needed(term.value, _kind(term.value), SHOWN)
        case Aggregate(arguments=()):
            return None
    if term.distinct or term.order or term.function not in ("count", "sum", "avg", *_EXTREMES):
        raise Interpreted(f"{term.function}, which needs all its values again")
    value = term.arguments[0]
    if value.uses_label or value.uses_number:
        raise Interpreted("the variable of a row in an aggregate")
    if term.function == "count":
        return Needed(value, Kind.INTEGER, COUNTED)
    kind = _kind(value)
    if kind not in (Kind.INTEGER, Kind.FLOAT):
        raise Interpreted(f"{term.function} of values of type {value.type}")
    return Needed(value, kind, COMPARED if term.function in _EXTREMES else ADDED)


def _kind(value: RowValue) -> Kind:
    try:
        return kind_of(ast.Name("value"), Typing(Schema({"value": value.type})))
    except NoInstruction as e:
        raise Interpreted(f"{e}".replace("of several events", "of the rows of a match")) from None


class Cells:
    """Which cells hold what, how rows change them, and how terms are computed from them."""

    def __init__(self, search: SearchProgram, limbs: Callable[[Needed], tuple[int, int]]) -> None:
        self._search, self._limbs = search, limbs
        self.empty: list[int] = []
        self._of_register: dict[Register, list[int]] = {}
        self._changes: list[tuple[Register, tuple[int, int, int, int, int]]] = []
        for register in search.layout.registers:
            self._of_register[register] = []
            if register.keeps:
                cell = self._add(register, register.keeps, empty=-1)
                how = row_search.FIRST if register.first else row_search.LAST
                self._changes.append((register, (how, cell, register.keeps, 0, 0)))
        self.terms = np.array([self._term(t) for t in search.terms], dtype=np.int64).reshape(-1, 6)

    def _add(self, register: Register, count: int, *, empty: int = 0) -> int:
        first = len(self.empty)
        self.empty += [empty] * count
        self._of_register[register] += range(first, len(self.empty))
        return first

    def _term(self, term: Term) -> tuple[int, int, int, int, int, int]:
        register, needed = register_of(term), _needed(term)
        column = 0 if needed is None else self._search.columns.index(needed)
        if register is None:
            return row_search.NUMBER_OF_MATCH, 0, 0, 0, 0, 0
        if isinstance(term, Navigation):
            return row_search.AT_ROW, self._of_register[register][0] + term.offset, 0, column, 0, term.step
        assert isinstance(term, Aggregate)
        width, first, rest = 1, 0, 0
        if needed is None or needed.use == COUNTED:
            change = row_search.COUNT_ROWS if needed is None else row_search.COUNT
            how, width = row_search.COUNTED, 0
        elif needed.use == COMPARED:
            change, how = _EXTREMES[term.function], row_search.EXTREME
        elif needed.kind is Kind.INTEGER:
            change = row_search.ADD_WHOLE
            how = row_search.WHOLE_MEAN if term.function == "avg" else row_search.WHOLE_SUM
        else:
            change = row_search.ADD_FLOAT
            how = row_search.FLOAT_MEAN if term.function == "avg" else row_search.FLOAT_SUM
            (first, width), rest = self._limbs(needed), fixed_point.SPECIALS
        cell = self._add(register, 1 + width + rest)
        self._changes.append((register, (change, cell, width, column, first)))
        return how, cell, width, column, first, 0

    def changes(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The changes that a row of each variable makes, as a range and a table."""
        made: list[list[tuple[int, int, int, int, int]]] = []
        for takes in self._search.layout.takes:
            taken = dict(zip(self._search.layout.registers, takes, strict=True))
            made.append([change for register, change in self._changes if taken[register]])
        return _ranges(made), np.array(list(chain(*made)), dtype=np.int64).reshape(-1, 5)

    def keys(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The cells by which failures are remembered at each point, as a range and a list."""
        registers = self._search.layout.registers
        cells = [list(self._cells(registers[i] for i in keys)) for keys in self._search.layout.keys]
        return _ranges(cells), np.array(list(chain(*cells)), dtype=np.int64)

    def _cells(self, registers: Iterator[Register]) -> Iterator[int]:
        for register in registers:
            yield from self._of_register[register]


def _ranges(parts: Sequence[Sequence[object]]) -> npt.NDArray[np.int64]:
    return np.array(list(accumulate(map(len, parts), initial=0)), dtype=np.int64)
