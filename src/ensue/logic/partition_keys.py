"""Keys of PARTITION BY that are computed, such as `date(time)` and `user.id`: their names, checks and types.

What such a key is worth becomes a column of the events (`columns/key_columns.py`) under a name that no user's column
can have. The result shows it under the key's own name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ensue.data.schema import Schema
from ensue.errors import Problem, ProblemKind, did_you_mean, listed
from ensue.language import ast
from ensue.language.printer import print_expression, print_name
from ensue.logic.check_filters import problem
from ensue.logic.paths import root_of
from ensue.logic.scope import is_aggregate
from ensue.logic.types import Typing


def key_name(key: ast.PartitionKey) -> str:
    """The name of the key's column in the result: its alias, else `user_id` of `user.id`, else its text.

    >>> from ensue.language.parser import parse_query
    >>> query = parse_query("SELECT * FROM S WHERE A PARTITION BY k, user.id, date(time), v % 2 AS odd")
    >>> [key_name(k) for k in query.partition]
    ['k', 'user_id', 'date(time)', 'odd']
    """
    if key.alias is not None:
        return key.alias
    if key.expression is None:
        return key.attribute
    names: list[str] = []
    e = key.expression
    while isinstance(e, ast.Field):
        names.append(e.name)
        e = e.of
    return "_".join((e.name, *reversed(names))) if isinstance(e, ast.Name) else print_expression(key.expression)


def column_shown(column: str) -> str:
    """A column of the events as messages name it: of a computed key, its text."""
    return column.removeprefix("\0")


def attributes_of(key: ast.PartitionKey) -> frozenset[str]:
    """The attributes of the events that the key is made of."""
    if key.expression is None:
        return frozenset((key.attribute,))
    return frozenset(n.name for n in ast.find(key.expression, ast.Name))


def with_key_types(query: ast.Query, schema: Schema) -> Schema:
    """The schema of the events with a column for each computed key."""
    computed = {}
    for key in query.partition:
        found = None if key.expression is None else Typing(schema).infer(key.expression)
        if found is not None:
            computed[key.attribute] = found
    return Schema({**schema.attributes, **computed}) if computed else schema


def key_problems(query: ast.Query, schema: Schema | None, variables: Collection[str]) -> Iterator[Problem]:
    """What is wrong with the keys: their names, and what they are made of."""
    names = [key_name(k) for k in query.partition]
    for i, (key, name) in enumerate(zip(query.partition, names, strict=True)):
        if name in names[:i]:
            yield problem(key, f"the attribute '{name}' appears twice in PARTITION BY")
        if name in ("start_time", "end_time"):
            message = f"the result has a column '{name}' of its own, so it cannot be a partition column"
            yield problem(key, message, "rename the column of the events")
        if key.expression is not None:
            yield from _computed_problems(key, key.expression, schema, variables)
        elif schema is not None:
            yield from _plain_problems(key, schema)


def _plain_problems(key: ast.PartitionKey, schema: Schema) -> Iterator[Problem]:
    found = schema.attributes.get(key.attribute)
    if found is None:
        hint = did_you_mean(key.attribute, schema.attributes) or f"the attributes are {listed(schema.attributes)}"
        yield Problem(ProblemKind.NAME, f"unknown attribute '{key.attribute}'", key.span, hint)
    elif found.kind.nested:
        yield Problem(ProblemKind.TYPE, f"cannot partition by '{key.attribute}' of type {found}", key.span)


def _computed_problems(
    key: ast.PartitionKey, e: ast.Expression, schema: Schema | None, variables: Collection[str]
) -> Iterator[Problem]:
    text = print_expression(e)
    for part in ast.walk(e):
        refused = isinstance(part, ast.LastOf | ast.Running) or (
            isinstance(part, ast.Call) and (part.function == "prev" or is_aggregate(part))
        )
        if refused:
            assert isinstance(part, ast.Expression)
            message = f"{print_expression(part)} cannot be in PARTITION BY"
            yield problem(part, message, "a key is made of the attributes of one event, as in date(time)")
            return
    if not any(ast.find(e, ast.Name)):
        yield problem(key, f"{text} is the same for all events", "PARTITION BY takes attributes: PARTITION BY user")
        return
    root = root_of(e)
    unknown = schema is not None and isinstance(root, ast.Name) and root.name not in schema.attributes
    if unknown and isinstance(e, ast.Field) and isinstance(e.of, ast.Name) and e.of.name in variables:
        message = f"'{e.of.name}' is a variable and no column of the events"
        hint = f"write PARTITION BY {print_name(e.name)}: keys are attributes of all events"
        yield Problem(ProblemKind.NAME, message, key.span, hint)
        return
    typing = Typing(schema)
    found = typing.infer(e)
    yield from typing.problems
    if found is not None and found.kind.nested:
        yield Problem(ProblemKind.TYPE, f"cannot partition by {text} of type {found}", key.span)
