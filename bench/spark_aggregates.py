"""Aggregates over all matches on Spark, beside the same query's matches and beside passing all rows through Python.

`python -m bench.spark_aggregates` measures these lines alone, over fewer events, and keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import ensue
from bench.spark_measure import SETTINGS, UNLIMITED, Size, consumed, events, in_turn, passed_on, row, sequence, window
from ensue.spark import local_session

ALONE = Size(2_000_000, (100, 20_000), 0, 3)


def aggregates(spark: SparkSession, size: Size) -> list[dict[str, Any]]:
    """By key, with few keys and with many."""
    rows = []
    for which, keys in enumerate(size.keys):
        frame = spark.read.parquet(str(events(size, which)))
        matches = ensue.query(sequence(size, which))
        items = "count(*) AS n, sum(y.id) AS s, max(z.id) AS m"
        pattern = f"A AS x ; B AS y ; C AS z PARTITION BY key WITHIN {window(size, which)} ms"
        groups = ensue.query(f"AGGREGATE {items} FROM S WHERE {pattern} GROUP BY key")
        ((counted,),) = groups.run(frame).agg(F.sum("n")).collect()
        found = matches.run(frame).count()
        assert counted == found, (counted, found)
        passing = f"Spark: mapInArrow, all rows as they are{UNLIMITED}"
        works: dict[str, Callable[[], Any]] = {
            "groups": partial(run, groups, frame),
            "matches": partial(run, matches, frame),
            passing: partial(pass_on, frame),
        }
        times = in_turn(size.rounds, works)
        ours = times.pop("groups")
        rows.append(row(f"groups of {keys:,} keys", size.rows, ours, matches=found))
        goals = {"matches": {"goal": 1}}
        rows += [row(name, size.rows, cost, ours, **goals.get(name, {})) for name, cost in times.items()]
    return rows


def run(query: ensue.Query, frame: DataFrame) -> None:
    consumed(query.run(frame))


def pass_on(frame: DataFrame) -> None:
    consumed(frame.mapInArrow(passed_on, frame.schema))


if __name__ == "__main__":
    from bench.report import commit, keep, section

    session = local_session("local[2]", SETTINGS)
    measured = section("aggregates over all matches, beside the matches", aggregates(session, ALONE))
    session.stop()
    keep("spark_aggregates.json", {"commit": commit(), "rows": ALONE.rows, "aggregates": measured})
