"""How a query is evaluated where Spark shares its events out: the same on the driver and on a worker."""

from __future__ import annotations

from ensue import pipeline
from ensue.data.reading import Reading
from ensue.data.schema import Schema
from ensue.language import ast
from ensue.plan.choice import Choice


def chosen(
    query: ast.Query, text: str, schema: Schema, tick: int | None, reading: Reading, *, tying: bool = True
) -> Choice:
    """The query checked against the columns of the events, and its engine; `tying` makes partitions of equalities."""
    choice = pipeline.prepare(query, text, schema, tick, reading, tying=tying)
    # With keys from equalities, a slice or a bucket would count the events of each key by itself.
    counts_all = choice.plan is not None and choice.plan.counts_all and choice.plan.window.events is not None
    # The rows of a partition are counted in one place, so keys from equalities must not divide it.
    of_partition = query.limit is not None and query.per is ast.Per.PARTITION
    return pipeline.prepare(query, text, schema, tick, reading, tying=False) if counts_all or of_partition else choice
