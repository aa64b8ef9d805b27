"""ORDER BY: the columns that it sorts by, some of which are not shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ensue.errors import Problem, did_you_mean, listed
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.check_filters import problem, unknown
from ensue.logic.outputs import Output, projected
from ensue.logic.partition_keys import key_name
from ensue.logic.scope import attribute_variables, bindings, is_aggregate
from ensue.logic.types import Typing

#: What the names of columns begin with that only sort; Spark takes them too.
_HIDDEN = "__ensue_order_"


@dataclass(frozen=True)
class SortColumn:
    """A column of the result, or one that is not shown, by which its rows are sorted."""

    name: str
    descending: bool
    nulls_first: bool


def with_sort_columns(
    query: ast.Query, columns: tuple[Output, ...], typing: Typing
) -> tuple[tuple[Output, ...], tuple[SortColumn, ...]]:
    """The columns, with those that only sort at their end; and what ORDER BY sorts by."""
    hidden: list[Output] = []
    sorting: list[SortColumn] = []
    for key in query.order:
        e = sort_expression(key, query, columns)
        name = _column_of(key.expression, query, columns) or f"{_HIDDEN}{len(hidden)}"
        if e is not None:
            hidden.append(Output(name, e, typing.infer(e), key.span, hidden=True))
        sorting.append(SortColumn(name, key.descending, key.nulls_first))
    return (*columns, *hidden), tuple(sorting)


def all_shown(columns: tuple[Output, ...]) -> tuple[Output, ...]:
    """The columns, also those that only sort: for whoever sorts the rows later."""
    return tuple(replace(c, hidden=False) for c in columns)


def only_sorting(columns: tuple[Output, ...]) -> frozenset[str]:
    """The names of the columns that `with_sort_columns` has added."""
    return frozenset(c.name for c in columns if c.name.startswith(_HIDDEN))


def sort_expression(key: ast.SortKey, query: ast.Query, columns: tuple[Output, ...]) -> ast.Expression | None:
    """What a key is worth, where it is no column of the result; in it, names of items stand for their expressions."""
    if _column_of(key.expression, query, columns) is not None:
        return None
    named = {c.name: c.expression for c in columns if c.whole is None}

    def spelled(part: ast.Expression) -> ast.Expression | None:
        if isinstance(part, ast.Name):
            return named.get(part.name)
        return part if isinstance(part, ast.Each) or is_aggregate(part) else None

    return ast.replaced(key.expression, spelled)


def _column_of(e: ast.Expression, query: ast.Query, columns: tuple[Output, ...]) -> str | None:
    """The name of the column that the key is: named, or the expression of an item."""
    if isinstance(e, ast.Name) and e.name in _names(query, columns):
        return e.name
    return next((c.name for c in columns if c.expression == e), None)


def _names(query: ast.Query, columns: tuple[Output, ...]) -> list[str]:
    """The columns of the result."""
    return [*map(key_name, query.partition), "start_time", "end_time", *(c.name for c in columns)]


# ---------------------------------------------------------------- problems


def sort_problems(query: ast.Query, columns: tuple[Output, ...]) -> Iterator[Problem]:
    """What is wrong with ORDER BY, and with LIMIT beside it."""
    if query.order and query.limit is not None and query.per is not ast.Per.RESULT:
        where = query.places.get("LIMIT", query.span)
        hint = f"write LIMIT {query.limit} for the first rows, or leave ORDER BY out"
        yield problem(where, f"ORDER BY sorts the whole result, and LIMIT {query.limit} PER {query.per} does not", hint)
    for key in query.order:
        e = sort_expression(key, query, columns)
        if e is not None:
            yield from _expression_problems(key, e, query, columns)


def unordered(query: ast.Query, order: tuple[SortColumn, ...], columns: tuple[Output, ...]) -> Iterator[Problem]:
    """The keys whose values have no order."""
    named = {c.name: c for c in columns}
    for key, by in zip(query.order, order, strict=True):
        column = named.get(by.name)
        if column is not None and column.whole is not None:
            hint = f"name one of its attributes, {by.name}.a, or an aggregate, first({by.name}.a)"
            yield problem(key, f"'{by.name}' lists whole events, which have no order", hint)
        elif column is not None and column.type is not None and column.type.kind.nested:
            yield problem(key, f"{print_expression(key.expression)} is of type {column.type}, which has no order")


def _expression_problems(
    key: ast.SortKey, e: ast.Expression, query: ast.Query, columns: tuple[Output, ...]
) -> Iterator[Problem]:
    names, known, shown = _names(query, columns), bindings(query.pattern), projected(columns)
    if isinstance(e, ast.Name):
        hint = did_you_mean(e.name, names) or f"the columns are {listed(names)}"
        yield problem(key, f"the result has no column '{e.name}'", hint, name=True)
        return
    used = attribute_variables(e) | {n.name for n in ast.find(e, ast.Name)}
    if not used:
        message = f"{print_expression(e)} is the same for every row"
        yield problem(key, message, f"name a column of the result: {listed(names)}")
    for variable in sorted(used - known.keys()):
        yield unknown(key, variable, list(known))
    for variable in sorted((used & known.keys()) - shown):
        message = f"'{variable}' is not among the items, and a row stands for all matches that agree on these"
        yield problem(key, message, f"select {variable} as well, or an attribute of it")
