"""What a query reads out of columns of type VARIANT, such as `x.payload.user.id`: a text, as `->>` gives it elsewhere.

Neither Arrow nor Python has variants. So the JVM reads each path that the query names out of its column, and the query
goes on with the column that is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ensue.errors import Problem, ProblemKind, QueryError
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.partition_keys import key_name
from ensue.logic.paths import Root, field_names
from ensue.spark.frames import Frames
from ensue.spark.plain_columns import quoted


def without_variants(query: ast.Query, text: str, events: Frames) -> tuple[ast.Query, Frames]:
    """The query over columns of texts, and the events with these columns; both as they are without a variant."""
    frames = events if isinstance(events, Mapping) else {"": events}
    variants = {f.name for frame in frames.values() for f in _fields(frame) if isinstance(f.dataType, T.VariantType)}
    if not variants:
        return query, events
    paths = _Paths(frozenset(variants))
    made = ast.rebuilt(_named(query), paths.read)
    if paths.problems:
        raise QueryError(text, paths.problems)
    if isinstance(events, Mapping):
        return made, {name: _with_columns(frame, paths) for name, frame in events.items()}
    return made, _with_columns(events, paths)


def _fields(frame: object) -> list[T.StructField]:
    return list(frame.schema.fields) if hasattr(frame, "schema") else []


def _with_columns(frame: DataFrame, paths: _Paths) -> DataFrame:
    columns: dict[str, Column] = {}
    for name, (root, path) in paths.read_out.items():
        known = root in frame.columns and isinstance(frame.schema[root].dataType, T.VariantType)
        column = F.try_variant_get(F.col(quoted(root)), path, "string") if known else F.lit(None).cast("string")
        columns[name] = column
    return frame.withColumns(columns) if columns else frame


def _named(query: ast.Query) -> ast.Query:
    """The query in which items and keys have the names that they would get from their paths."""
    items = query.items and tuple(
        replace(i, alias="_".join(names)) if i.alias is None and (names := field_names(i.expression)) else i
        for i in query.items
    )
    keys = tuple(k if k.expression is None else replace(k, alias=key_name(k)) for k in query.partition)
    return replace(query, items=items, partition=keys)


class _Paths:
    """The paths that a query reads out of variants."""

    def __init__(self, variants: frozenset[str]) -> None:
        self._variants = variants
        #: For each new column: the variant, and the path in it as Spark writes it.
        self.read_out: dict[str, tuple[str, str]] = {}
        self.problems: list[Problem] = []

    def read(self, node: ast.Node) -> ast.Node | None:
        """The column for a path out of a variant; None for everything else."""
        root, steps = _taken_apart(node)
        if root is None or root.name not in self._variants or not steps:
            return None
        assert isinstance(node, ast.Expression)
        path = "".join(self._step(step) for step in steps)
        name = root.name + print_expression(node).removeprefix(print_expression(root))
        self.read_out[name] = (root.name, f"${path}")
        return replace(root, name=name, span=node.span)

    def _step(self, step: ast.Field | ast.Element) -> str:
        key = step.name if isinstance(step, ast.Field) else getattr(step.index, "value", None)
        if isinstance(key, int) and not isinstance(key, bool) and key >= 1:
            return f"[{key - 1}]"
        if isinstance(key, str) and not ("'" in key and '"' in key):
            return f'["{key}"]' if "'" in key else f"['{key}']"
        message = f"{print_expression(step)} cannot be read out of a variant"
        hint = "a path has names, and elements that are written out and counted from 1: x.payload.items[1]"
        self.problems.append(Problem(ProblemKind.TYPE, message, step.span, hint))
        return ""


def _taken_apart(node: ast.Node) -> tuple[Root | None, list[ast.Field | ast.Element]]:
    """The column that a path begins with, and its steps in their order."""
    steps: list[ast.Field | ast.Element] = []
    while isinstance(node, ast.Field | ast.Element):
        steps.append(node)
        node = node.of
    return (node if isinstance(node, Root) else None), steps[::-1]
