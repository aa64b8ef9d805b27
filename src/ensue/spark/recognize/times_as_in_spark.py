"""Times without a zone in a clause over Spark's timestamps: Spark reads them in the session's zone.

In Spark, TIMESTAMP '2024-01-31 12:00' is an instant, and so is the CAST of a string. In the language, a time has a zone
if it is written, and no time with a zone is compared with one without. So the session's zone is written here.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from ensue.data.schema import timestamp_literal
from ensue.language import ast
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.column_names import ColumnNames


def with_session_zone(clause: rows.MatchRecognize, table: pa.Schema, zone: str) -> rows.MatchRecognize:
    """The clause with the zone at its times, if all times of the table are instants."""
    times = [f for f in table if pa.types.is_timestamp(f.type)]
    if not times or any(f.type.tz is None for f in times):
        return clause
    columns = ColumnNames(table.names)

    def by(e: ast.Expression) -> ast.Expression | None:
        match e:
            case ast.Call("timestamp", (ast.Literal(value=str(text)),)):
                found = timestamp_literal(text)
                zoned = found is None or found.type.tz is not None
                return None if zoned else ast.AtTimeZone(e, zone, span=e.span)
            case ast.Cast(operand, "timestamp"):
                inner = ast.replaced(operand, by)
                if _is_instant(operand, columns, table):
                    return inner
                return ast.AtTimeZone(ast.Cast(inner, "timestamp", span=e.span), zone, span=e.span)
        return None

    return replace(
        clause,
        measures=tuple(replace(m, expression=ast.replaced(m.expression, by)) for m in clause.measures),
        definitions=tuple(replace(d, condition=ast.replaced(d.condition, by)) for d in clause.definitions),
    )


def _is_instant(e: ast.Expression, columns: ColumnNames, table: pa.Schema) -> bool:
    """Whether this is a column of instants, or such a column in another row."""
    if isinstance(e, rows.Navigate):
        return _is_instant(e.argument, columns, table)
    if isinstance(e, ast.Call) and e.function == "timestamp":
        return True
    name = columns.find(e.name) if isinstance(e, ast.Name | ast.Attribute) else None
    return name is not None and pa.types.is_timestamp(table.field(name).type)
