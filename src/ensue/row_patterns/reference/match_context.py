"""What terms are worth at one row of one match: navigation, aggregates, variables and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, cmp_to_key, partial
from typing import Any

from ensue.data.schema import INTEGER, STRING, Schema
from ensue.engines.reference.expressions import Expressions, Scope, aggregate
from ensue.engines.reference.scalar_functions import as_computed, nan_last
from ensue.language import ast
from ensue.logic.types import Typing
from ensue.row_patterns.match_terms import (
    LABEL,
    NUMBER,
    Aggregate,
    Formula,
    Navigation,
    NumberOfMatch,
    RowValue,
    Term,
)
from ensue.row_patterns.reference.value_order import compared

_NOWHERE = Scope()


class NamedValues(Expressions):
    """Expressions over names alone; `value_of` gives the value of each name."""

    def __init__(self, schema: Schema, value_of: Callable[[str], Any]) -> None:
        self._typing = Typing(schema)
        self._types = {}
        self._value_of = value_of

    def value(self, e: ast.Expression, scope: Scope) -> Any:
        if isinstance(e, ast.Name):
            return self._value_of(e.name)
        return super().value(e, scope)


@dataclass(frozen=True)
class Partition:
    """The rows of one partition in order; a column is a list of Python values, times as nanoseconds."""

    columns: Mapping[str, Sequence[Any]]
    schema: Schema
    size: int


@dataclass(frozen=True)
class MatchContext:
    """A match, or the part of it that there is so far, and the row of it from which one looks.

    The match begins at row `start` of the partition, and `labels` are the variables of its rows. `current` counts in
    the match from 0; in an empty match it is -1. In DEFINE the candidate row is the last one and the current one.
    """

    partition: Partition
    start: int
    labels: Sequence[str]
    current: int
    number: int

    def value(self, formula: Formula) -> Any:
        """What the condition or the measure is worth here."""
        terms = formula.terms
        found = NamedValues(formula.schema, lambda name: self._term(terms[name])).value(formula.expression, _NOWHERE)
        return found

    def _term(self, term: Term) -> Any:
        match term:
            case NumberOfMatch():
                return self.number
            case Navigation():
                return self._navigated(term)
            case Aggregate():
                return self._aggregated(term)

    def _visible(self, of: frozenset[str] | None, final: bool) -> list[int]:
        """The rows of the match with one of these variables: all of them, or those as far as the current row."""
        end = len(self.labels) if final else self.current + 1
        return [i for i in range(end) if of is None or self.labels[i] in of]

    def _navigated(self, term: Navigation) -> Any:
        candidates = self._visible(term.of, term.final)
        if not term.from_first:
            candidates.reverse()
        if term.offset >= len(candidates):
            return None
        row = self.start + candidates[term.offset] + term.step
        return self._at(row, term.value) if 0 <= row < self.partition.size else None

    def _at(self, row: int, value: RowValue) -> Any:
        """The value at a row of the partition; a row that is not in the match has no variable."""
        in_match = row - self.start
        label = self.labels[in_match] if 0 <= in_match < len(self.labels) else None

        def named(name: str) -> Any:
            if name == LABEL:
                return label
            return self.number if name == NUMBER else self.partition.columns[name][row]

        return NamedValues(self._row_schema, named).value(value.expression, _NOWHERE)

    @cached_property
    def _row_schema(self) -> Schema:
        return Schema({**self.partition.schema.attributes, LABEL: STRING, NUMBER: INTEGER})

    def _aggregated(self, term: Aggregate) -> Any:
        visible = self._visible(term.of, term.final)
        if not term.arguments:
            return len(visible)
        given = [[self._at(self.start + i, value) for value in term.values] for i in visible]
        if term.order:
            given = sorted(given, key=cmp_to_key(partial(_compared, term)))
        values = [row[0] for row in given]
        if term.distinct:
            values = list({_key(v): v for v in reversed(values)}.values())[::-1]
        match term.function:
            case "string_agg":
                known = [v for v in values if v is not None]
                return term.separator.join(known) if known else None
            case "bool_and" | "bool_or":
                known = [v for v in values if v is not None]
                return (all(known) if term.function == "bool_and" else any(known)) if known else None
            case "any_value":
                return next((as_computed(v) for v in values if v is not None), None)
            case "max_by" | "min_by":
                known = [row for row in given if row[1] is not None]
                best = max if term.function == "max_by" else min
                return as_computed(best(known, key=lambda row: nan_last(row[1]))[0]) if known else None
            case "collect" if not values:
                return None
        return aggregate(term.function, list(map(as_computed, values)))


def _compared(term: Aggregate, a: list[Any], b: list[Any]) -> int:
    """Which of two rows comes first by the order of the aggregate."""
    places = range(len(a) - len(term.order), len(a))
    for order, i in zip(term.order, places, strict=True):
        found = compared(a[i], b[i], order.descending, order.nulls_first)
        if found:
            return found
    return 0


def _key(value: Any) -> Any:
    """What equal values share; NaN is equal to itself here, as in any DISTINCT."""
    return ("NaN",) if isinstance(value, float) and value != value else value
