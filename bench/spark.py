"""`make bench`, the part on Spark: the time of Ensue on Spark, compared with Spark's own in the same run.

What is compared runs in turn, A B A B, and the shortest time of each counts, because the machine may do other work.
Before anything is measured, the matches of every query are compared with those of the embedded engine.
"""

from __future__ import annotations

import argparse
import os
import platform
from typing import Any

import pyspark

from bench import flink
from bench.report import commit, keep, section
from bench.spark_adding import adding
from bench.spark_aggregates import aggregates
from bench.spark_batch import partitioned, row_patterns, serve, unpartitioned
from bench.spark_data import as_csv
from bench.spark_measure import FULL, SETTINGS, SMALL, events, window
from bench.spark_small_batches import small_batches
from bench.spark_streams import NAMED, many_queries, revising, streaming
from ensue.spark import local_session


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--small", action="store_true", help="some seconds: whether it runs at all")
    arguments.add_argument(
        "--only",
        default="",
        help="sections by their letters: p(artitioned) u s f m(any queries) r(ow patterns) d(isorder) a(ggregates) "
        "q(uery added) b(atches that are small)",
    )
    arguments.add_argument("--serve", help="inner: a session with this master, which runs what it is told to")
    given = arguments.parse_args()
    size = SMALL if given.small else FULL
    if given.serve:
        return serve(given.serve, size)
    wanted = given.only or "pusfmrdaqb"
    results: dict[str, Any] = {
        "commit": commit(),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
        "rows": size.rows,
        "load_before": os.getloadavg(),
    }
    if "u" in wanted:
        results["unpartitioned"] = section("unpartitioned, by time slices", unpartitioned(size))
    if set("psmrdaqb") & set(wanted):
        spark = local_session("local[2]", SETTINGS)
        try:
            if "p" in wanted:
                for keys in size.keys:
                    title = f"partitioned, 3 of 20 types, {keys:,} keys"
                    results[title] = section(title, partitioned(spark, size, keys))
            if "r" in wanted:
                results["row patterns"] = section("row patterns, V shape by key", row_patterns(spark, size))
            if "m" in wanted:
                results["many queries"] = section("ten queries over one stream", many_queries(spark, size))
            if "a" in wanted:
                results["aggregates"] = section("aggregates over all matches", aggregates(spark, size))
            if "d" in wanted:
                results["disorder"] = section(
                    "a stream that is corrected, beside one that waits", revising(spark, size)
                )
            if "q" in wanted:
                title = "a query that is added to a running stream"
                results["adding"] = section(title, adding(spark, min(size.rounds, 2)))
            if "b" in wanted:
                title = "micro-batches of ten events"
                results["small micro-batches"] = section(title, small_batches(spark, min(size.rounds, 2)))
            if "s" in wanted:
                for title, rows in streaming(spark, size):
                    results[title] = section(title, rows)
        finally:
            spark.stop()
    if "f" in wanted:
        ours = results.get(f"stream, {NAMED['few']}", [{}])[0].get("million_rows_a_second")
        found = flink.measured("sequence", as_csv(events(size, -1)), size.rows, window(size, -1), ours)
        results["flink"] = section("Flink's MATCH_RECOGNIZE, streaming", found)
    results["load_after"] = os.getloadavg()
    print(f"\nload before and after: {results['load_before']}, {results['load_after']}")
    if not given.small and not given.only:
        keep("spark.json", results)


if __name__ == "__main__":
    main()
