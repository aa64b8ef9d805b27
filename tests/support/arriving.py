"""A clause over rows that arrive part after part, and what is told of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
from random_clauses import Clauses

from ensue.data.envelope import sealed, unsealed
from ensue.row_patterns.arriving_rows import ArrivingRows
from ensue.row_patterns.match_finding import Plan
from ensue.row_patterns.match_terms import CheckedClause
from ensue.row_patterns.select_reader import parse_select
from ensue.row_patterns.select_rows import Selecting


def plan_of(text: str, schema: pa.Schema) -> Plan:
    plans: list[Plan] = []

    def keep(clause: CheckedClause, table: pa.Table) -> pa.Table:
        plans.append(Plan.of(clause))
        return table

    written, select = parse_select(text)
    Selecting(written, {"T": schema.empty_table()}, keep).select(select)
    return plans[0]


def micros(table: pa.Table) -> list[int]:
    return [int(m) for m in table.column("at").cast(pa.int64()).to_pylist()]


def moved(table: pa.Table, by: int) -> pa.Table:
    return table.set_column(2, "at", pa.array([m + by for m in micros(table)], pa.timestamp("us")))


def told(text: str, table: pa.Table, times: list[int], *, saved: bool = False) -> Iterator[list[str]]:
    """What is told at each of the times, each a promise that all rows up to it have come."""
    plan = plan_of(text, table.schema)
    arriving = ArrivingRows(plan, table.schema)
    before = -(2**62)
    at = micros(table)
    for time in times:
        arriving.push(table.take(pa.array([i for i, t in enumerate(at) if before < t <= time], pa.int64())))
        found = arriving.pass_time(time)
        yield [] if found is None else [repr(row) for row in found.to_pylist()]
        before = time
        if saved:
            state = sealed("test", {}, arriving.parts())
            arriving = ArrivingRows(plan, table.schema)
            arriving.restore(unsealed(state, "test", {}))


def all_told(text: str, table: pa.Table, times: list[int], **how: bool) -> Counter[str]:
    return Counter(row for rows in told(text, table, times, **how) for row in rows)


def streaming_text(r: random.Random) -> str:
    """A random clause that a stream takes: it has no `$`, and begins ORDER BY with the time."""
    while True:
        text = Clauses(r, paths=r.choice((0.0, 0.0, 0.4))).query()
        if "$" not in text and "ORDER BY at" in text:
            return text
