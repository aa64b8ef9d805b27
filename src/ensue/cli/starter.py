"""`ensue new`: a first query for a file, with comments that say what each line does."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ensue.errors import DataError
from ensue.language.printer import print_name

#: Names that a time column mostly has.
_TIMES = ("time", "timestamp", "ts", "datetime", "date", "event_time")
#: Names that a column with the types of events mostly has.
_TYPES = ("type", "event_type", "eventtype", "event", "kind", "action")
#: A column with fewer values than this part of the rows is worth a partition.
_FEW = 0.5


def starter(table: pa.Table, source: str) -> tuple[str, str]:
    """A query over the events of a table, and how it is run from the command line.

    >>> rows = pa.table({"time": [1, 2, 3, 4], "type": list("ABAB"), "room": list("kkll"), "v": [1, 2, 3, 4]})
    >>> text, command = starter(rows, "rooms.csv")
    >>> print("".join(f"{line.partition('--')[0].rstrip()}\\n" for line in text.splitlines() if line[:2] != "--"))
    SELECT a, b
    FROM rooms
    WHERE A AS a ; B AS b
    FILTER b.v > a.v
    PARTITION BY room
    WITHIN 1 h
    <BLANKLINE>
    >>> command
    'ensue run QUERY.sql --input rooms.csv --unit ms'
    """
    if not table.column_names:
        raise DataError(f"{source} has no columns")
    stream = _name_of(source)
    time = _time_column(table)
    type_column = _type_column(table)
    types = _types(table, type_column) or [stream]
    a, b = types[0], types[1] if len(types) > 1 else types[0]
    number = next((f.name for f in table.schema if _is_number(f.type) and f.name != time), None)
    key = _key(table, (time, type_column))
    lines = [
        f"-- A first query over {source}. Change a line, run it, look: {_said(table)}",
        "SELECT a, b                      -- what a row shows: whole events, or a.attribute, or count(b)",
        f"FROM {print_name(stream)}",
        f"{f'WHERE {print_name(a)} AS a ; {print_name(b)} AS b'.ljust(32)} -- an event, and later another one",
    ]
    if number is not None:
        condition = f"FILTER b.{print_name(number)} > a.{print_name(number)}"
        lines.append(f"{condition.ljust(32)} -- what must hold between them")
    if key is not None:
        lines.append(f"{f'PARTITION BY {print_name(key)}'.ljust(32)} -- only events that have the same value")
    window = "WITHIN 10 EVENTS" if time is None else "WITHIN 1 h"
    lines.append(f"{window.ljust(32)} -- from the first event of a match to its last")
    return "\n".join(lines) + "\n", " ".join(
        ["ensue run QUERY.sql --input", source, *_options(table, time, type_column)]
    )


def _name_of(source: str) -> str:
    """The name of a stream: that of its file, as far as it can stand without backticks."""
    stem = source.rstrip("/").rpartition("/")[2].partition(".")[0]
    name = "".join(c if c.isalnum() else "_" for c in stem).strip("_")
    return name if name and not name[0].isdigit() else "events"


def _said(table: pa.Table) -> str:
    return f"its columns are {', '.join(table.column_names)}."


def _time_column(table: pa.Table) -> str | None:
    times = [f.name for f in table.schema if pa.types.is_temporal(f.type)]
    named = [n for n in table.column_names if n.lower() in _TIMES]
    return next((n for n in named if n in times), None) or next(iter([*times, *named]), None)


def _type_column(table: pa.Table) -> str | None:
    """The column with the types of events, by its name; one that is named otherwise than `type` has texts."""
    if "type" in table.column_names:
        return "type"
    texts = {f.name.lower(): f.name for f in table.schema if pa.types.is_string(f.type)}
    return next((texts[name] for name in _TYPES if name in texts), None)


def _types(table: pa.Table, column: str | None) -> list[str]:
    """The two most frequent types of events."""
    if column is None:
        return []
    counts = pc.value_counts(table.column(column).drop_null().cast(pa.string())).to_pylist()
    counts.sort(key=lambda c: -c["counts"])
    return [c["values"] for c in counts[:2]]


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_))


def _key(table: pa.Table, others: Sequence[str | None]) -> str | None:
    """A column of texts, or of whole numbers named like an id, that has some values again and again."""
    for f in table.schema:
        fits = pa.types.is_string(f.type) or (pa.types.is_integer(f.type) and f.name.lower().endswith("id"))
        if fits and f.name not in others:
            many = pc.count_distinct(table.column(f.name)).as_py()
            if 1 < many <= max(len(table) * _FEW, 2):
                return str(f.name)
    return None


def _options(table: pa.Table, time: str | None, type_: str | None) -> list[str]:
    types = ["--type", type_] if type_ not in ("type", None) else []
    if time is None:
        return ["--no-time", *types]
    number = _is_number(table.schema.field(time).type)
    return [*(["--time", time] if time != "time" else []), *(["--unit ms"] if number else []), *types]
