"""Changes of matches in a Spark stream's buckets, without Spark: the same as those of `Query.live`, ids included."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from amounts import most, shares
from fake_state import FakeStore, Timers
from live_runs import Followed, options_of, random_case, table_of
from pyspark.sql import Row

import ensue
from ensue.corrections.change_rows import no_changes
from ensue.data.arrow_bytes import table_bytes
from ensue.data.arrow_bytes import table_of as rows_of
from ensue.data.schema import Schema
from ensue.logic.check import check
from ensue.logic.outputs import attributes_used
from ensue.plan.choice import choose
from ensue.spark.bucket_count import BucketCount
from ensue.spark.recipe import TIME, TYPE, Recipe
from ensue.spark.revised_bucket import DOES, Disorder
from ensue.spark.streaming import BucketProcessor
from ensue.spark.type_mapping import arrow_schema, spark_schema

INSTANT = pa.timestamp("us", "UTC")


def on_a_clock(table: pa.Table) -> pa.Table:
    """The same events at instants, the first of them one second after 1970 began."""
    ticks = pa.array([1_000_000 * (t + 1) for t in table.column("time").to_pylist()], pa.int64())
    return table.set_column(0, "time", ticks.cast(INSTANT))


def travelling(query: ensue.Query, table: pa.Table, id_: str | None) -> pa.Table:
    used = attributes_used(query.ast)
    names = [n for n in table.column_names if n != "op" and (used is None or n in used or n == id_)]
    columns = {n: table.column(n) for n in names}
    return pa.table({TIME: table.column("time"), **columns, DOES: table.column("op"), TYPE: table.column("type")})


def compare(seed: int) -> str:
    """Each micro-batch by a bucket and by an embedded live query, which must tell the same."""
    rng, query, batches, distinct = random_case(seed)
    options, expected = options_of(rng, distinct=distinct)
    options.pop("unit")
    delays = {t: rng.choice((0, 1, 3)) for t in "ABC" if rng.random() < 0.3}
    options["delays"] = {t: f"{d} s" for t, d in delays.items()}
    tables = [on_a_clock(table_of(rng, batch)) for batch in batches]
    live = query.live(**options)
    nothing = no_changes(query.run(tables[0].drop_columns(["op"]).slice(0, 0)).to_arrow())
    slack = None if expected.slack is None else expected.slack * 1_000_000
    checked = check(query.ast, query.text, Schema.of(tables[0].drop_columns(["op"]).schema))
    recipe = Recipe(choose(checked), 1000, 0, arrow_schema(spark_schema(nothing.schema)))
    in_ticks = tuple((t, d * 1_000_000) for t, d in delays.items())
    disorder = Disorder(slack, (options["id"],) if "id" in options else None, changes=True, delays=in_ticks)
    store = FakeStore()

    def processor() -> BucketProcessor:
        made = BucketProcessor(recipe, BucketCount(1, 0), disorder=disorder)
        made.init(store.handle)
        return made

    running, ours, theirs, watermark, latest = processor(), Followed(), Followed(), 0, 0
    settings: dict[str, Any] = {"finite": False, "only_adds": False}
    for table in [*tables, None]:
        if rng.random() < 0.5 or table is None:
            watermark = max(watermark, 1000 * (latest - rng.choice((0, 1, 2, 4)))) if table is not None else 10**9
        if rng.random() < 0.3:  # as after a restart
            running.close()
            running = processor()
        told = []
        if table is not None:
            rows = [Row(place=0, rows=table_bytes(travelling(query, table, options.get("id"))))]
            told = list(running.handleInputRows((0,), iter(rows), Timers(watermark)))
        for due in store.due(watermark):
            told += running.handleExpiredTimer((0,), Timers(watermark), due)
        for row in told:
            if row.rows is not None:
                ours.take(rows_of(row.rows), watermark, **settings)
        if watermark and table is not tables[0]:
            theirs.take(live.advance(pa.scalar(watermark * 1000, INSTANT).as_py()).to_arrow(), watermark, **settings)
        if table is not None:
            theirs.take(live.push(table).to_arrow(), watermark, **settings)
            latest = max(latest, *(int(t.timestamp()) for t in table.column("time").to_pylist()))
        assert ours.current == theirs.current, (seed, query.text, options)
    return "compared" if theirs.told else "without a match"


@pytest.mark.parametrize("seeds", shares(200, each=100))
def test_buckets_tell_what_live_queries_tell(seeds: range) -> None:
    assert [compare(seed) for seed in seeds].count("compared") > most(seeds, 0.2)
