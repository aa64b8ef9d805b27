"""`ensue run --follow`: matches as a file grows, told at once and taken back where a late event says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pyarrow as pa

from ensue.api import Query
from ensue.cli.new_lines import growing_tables
from ensue.corrections.live_queries import Live
from ensue.results.changes import MATCH
from ensue.results.writers import OutputFormat, rows_as_written


def follow(query: Query, input: str, options: dict[str, Any], *, wanted: OutputFormat, page: str | None) -> int:
    """Writes the changes of the matches to standard output as they become known; returns how many there were.

    A `page` shows the query as it runs.
    """
    live = query.live(**{option: value for option, value in options.items() if value is not None})
    count, first = 0, True
    with nullcontext() if page is None else live.keep_page(page, name=input):
        for table in changes(live, growing_tables(input)):
            sys.stdout.buffer.write(rows_as_written(table, wanted, first=first))
            sys.stdout.buffer.flush()
            count, first = count + len(table), False
    return count


def changes(live: Live, tables: Iterator[pa.Table | None]) -> Iterator[pa.Table]:
    """The rows of what each new part of the events changes, where it changes anything."""
    for table in tables:
        if table is not None and len(told := live.push(table)):
            yield told.to_arrow().drop_columns([MATCH])
