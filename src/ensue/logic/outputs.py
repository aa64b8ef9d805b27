"""The result columns of a query's items, with names and types; `SELECT *` is expanded."""

from __future__ import annotations

from dataclasses import dataclass

from ensue.data.schema import ValueType
from ensue.errors import Span
from ensue.language import ast
from ensue.logic.own_automata import Field, automata_of, own_automaton_of
from ensue.logic.partition_keys import attributes_of
from ensue.logic.paths import field_names
from ensue.logic.scope import attribute_variables, bindings
from ensue.logic.types import Typing


@dataclass(frozen=True)
class Output:
    """One result column. A whole variable has an `ast.Name` as its expression and no type of its own.

    A hidden one only sorts the rows.
    """

    name: str
    expression: ast.Expression
    type: ValueType | None
    span: Span
    hidden: bool = False

    @property
    def whole(self) -> str | None:
        """The variable whose events the column lists, or None if the column holds values."""
        return self.expression.name if isinstance(self.expression, ast.Name) else None


def outputs(query: ast.Query, typing: Typing) -> tuple[Output, ...]:
    """The columns in their order; `SELECT *` gives every variable and type, and the register of an automaton."""
    if query.items is None:
        where = query.places.get("items", query.span)
        marked = [Output(x, ast.Name(x), None, where) for x in bindings(query.pattern)]
        held = [ast.InRegister(f.name, f.type) for f in _register(query.pattern)]
        return (*marked, *(Output(e.name, e, typing.infer(e), where) for e in held))
    columns = []
    for item in query.items:
        e = item.expression
        type_ = None if isinstance(e, ast.Name) else typing.infer(e)
        columns.append(Output(item.alias or _default_name(e), e, type_, item.span))
    return tuple(columns)


def _register(pattern: ast.Pattern) -> tuple[Field, ...]:
    """The fields of the register, where the matches are those of an automaton."""
    while isinstance(pattern, ast.Within):
        pattern = pattern.body
    own = own_automaton_of(pattern) if isinstance(pattern, ast.Matches) else None
    return () if own is None else tuple(f for f in own.shape.fields if not f.hidden)


def _default_name(e: ast.Expression) -> str:
    if isinstance(e, ast.Name | ast.InRegister):
        return e.name
    return "_".join(field_names(e) or ())


def projected(columns: tuple[Output, ...]) -> frozenset[str]:
    """The variables that the items use: complex events that agree on them are the same result."""
    used: set[str] = set()
    for column in columns:
        used |= attribute_variables(column.expression)
        used |= {n.name for n in ast.walk(column.expression) if isinstance(n, ast.Name | ast.InRegister)}
    return frozenset(used)


def attributes_used(query: ast.Query) -> frozenset[str] | None:
    """The attributes that a query uses; None if it returns whole events, which have all attributes."""
    items = query.items if query.aggregation is None else query.aggregation.items
    if items is None or (query.aggregation is None and any(isinstance(i.expression, ast.Name) for i in items)):
        return None
    parts = [query.pattern, *([] if query.expect is None else [query.expect])]
    conditions = [f.condition for p in parts for f in ast.walk(p) if isinstance(f, ast.Filter | ast.Satisfying)]
    used = set[str]().union(*map(attributes_of, query.partition))
    for e in [*conditions, *(i.expression for i in items), *(k.expression for k in query.order)]:
        used |= {n.name for n in ast.find(e, ast.Attribute)}
    for e in conditions:
        used |= {n.name for n in ast.walk(e) if isinstance(n, ast.Name | ast.LastOf)}
    return frozenset(used).union(*(own.attributes for own in automata_of(query)))


def attributes_shown(columns: tuple[Output, ...], query: ast.Query) -> frozenset[str] | None:
    """The attributes that the result rows show; None if the query returns whole events, which have all attributes."""
    shown = [c.expression for c in columns]
    if query.aggregation is not None:
        shown = [i.expression for i in query.aggregation.items]
    elif any(c.whole is not None for c in columns):
        return None
    used = {k.attribute for k in query.partition}
    return frozenset(used.union(*({n.name for n in ast.find(e, ast.Attribute)} for e in shown)))
