"""AGGREGATE in the buckets of a stream, and in the tasks of a batch: random queries give what their definition gives.

Buckets run without Spark, with a handle of our own; many batches are one job. What only Spark does, and examples that
can be read, are in test_aggregates_on_spark.py.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from aggregating import alike, random_aggregation, random_events, rows
from amounts import most, shares
from fake_state import FakeStore, Timers
from in_a_bucket import recipe_of, run_in_a_bucket, travelling
from pyspark.sql import Row, SparkSession
from sparkling import FAR, Case, case_of, on_a_clock, rows_of, run_in_batch

import ensue
from ensue.columns.key_columns import with_keys
from ensue.data.arrow_bytes import table_bytes
from ensue.data.events import read_events
from ensue.engines.reference import evaluate
from ensue.errors import EngineError, QueryError
from ensue.language import ast
from ensue.language.parser import parse_expression, parse_query
from ensue.language.printer import print_query
from ensue.logic.aggregation import POSITION, group_columns
from ensue.logic.check import check
from ensue.logic.classify import deadline_of
from ensue.results.totals import Grouping
from ensue.spark.bucket_count import BucketCount
from ensue.spark.groups_of_tasks import PutTogether, sent
from ensue.spark.streaming import BucketProcessor

#: So many queries are one job.
IN_A_JOB = 40


def query_of(rng: Random, *, streamed: bool) -> str:
    """A random query; on a stream with groups that time completes."""
    query = random_aggregation(rng)
    aggregation = query.aggregation
    assert aggregation is not None
    if streamed and not aggregation.per_end:
        keys = tuple(ast.GroupKey(k.attribute) for k in query.partition)
        length = parse_expression(rng.choice(("1 s", "2 s", "5 s")))
        assert isinstance(length, ast.DurationLiteral)
        query = replace(query, aggregation=replace(aggregation, keys=keys, every=aggregation.every or length.duration))
    return print_query(query)


def random_case(seed: int, *, streamed: bool) -> Case | None:
    """None if the query cannot be asked, such as one of two sets in one aggregate."""
    rng = Random(f"aggregates {seed} {streamed}")
    text, table = query_of(rng, streamed=streamed), random_events(rng, 12)
    try:
        ensue.query(text).check(table.schema)
        ensue.query(text).run(table, unit="s")
    except (QueryError, EngineError):
        return None
    case = case_of(f"seed {seed}", text, table, unit="s")
    return on_a_clock(case) if streamed else case


def by_definition(case: Case) -> pa.Table:
    """What the reference gives, once time has passed all deadlines."""
    tree = parse_query(case.text)
    stream = read_events(case.table, tree.streams, **case.options)
    checked = check(tree, case.text, stream.schema)
    stream = with_keys(stream, tree)
    passed = int(FAR.timestamp()) * 10**6 if deadline_of(tree.pattern) is not None else None
    grouping = Grouping(checked, stream.time_column.type, stream.tick)
    table, _ = grouping.by_definition(stream, evaluate(checked, stream, passed=passed))
    return without_positions(table, case)


def without_positions(table: pa.Table, case: Case) -> pa.Table:
    """Positions are those of the events that came to a bucket or a task: Spark does not tell them."""
    return table.drop_columns([POSITION]) if POSITION in group_columns(parse_query(case.text)) else table


def compare_in_bucket(seed: int) -> str:
    """One random query in micro-batches of events out of order, with its state saved and restored."""
    case = random_case(seed, streamed=True)
    if case is None:
        return "refused"
    told = run_in_a_bucket(case, Random(f"bucket {seed}"))
    expected = by_definition(case)
    if not told:
        assert not len(expected), (seed, case.text, expected.to_pylist())
        return "nothing"
    found = without_positions(pa.concat_tables(told), case)
    wanted = expected.cast(found.schema, safe=False)
    told_rows, wanted_rows = (sorted(rows(table), key=repr) for table in (found, wanted))
    size = 1e301 if "f" in case.text else 0.0
    assert alike(told_rows, wanted_rows, size), (seed, case.text, case.table.to_pylist(), told_rows, wanted_rows)
    return "compared" if len(found) else "nothing"


@pytest.mark.parametrize("seeds", shares(200, each=100))
def test_random_queries_in_buckets(seeds: range) -> None:
    became = Counter(map(compare_in_bucket, seeds))
    assert became["compared"] > most(seeds, 0.2), became


def compare_in_batch(spark: SparkSession, seeds: range) -> list[str]:
    """The texts of random queries whose tasks, of one job, give something else than their definition."""
    cases = [case for seed in seeds if (case := random_case(seed, streamed=False)) is not None]
    told = []
    for case, found in zip(cases, run_in_batch(spark, cases), strict=True):
        expected = rows_of(by_definition(case))
        if not alike(_values(found), _values(expected), 1e301 if "f" in case.text else 0.0):
            told.append(f"{case.name}\n{case.text}\nfound {sorted(found)}\nexpected {sorted(expected)}")
    return told


def _values(texts: Counter[str]) -> list[tuple[Any, ...]]:
    """The values of rows that are texts."""
    return sorted((tuple(json.loads(text)) for text in texts.elements()), key=repr)


@pytest.mark.parametrize("seeds", shares(40, each=IN_A_JOB))
def test_random_queries_in_batch(spark: SparkSession, seeds: range) -> None:
    assert compare_in_batch(spark, seeds) == []


def test_numbers_beyond_64_bits_are_counted() -> None:
    """Of a run of A's, 2^i matches end at the i-th: from the 64th on they have no 64 bits."""
    text = "AGGREGATE count(*) AS n, sum(count(y)) AS s, max(y.v) AS m FROM S WHERE (A AS y)+ GROUP BY END"
    events = [{"time": k, "type": "A", "v": k} for k in range(70)]
    case = on_a_clock(case_of("beyond", text, pa.Table.from_pylist(events), unit="s"))
    processor = BucketProcessor(recipe_of(case), BucketCount(1, 0))
    processor.init(FakeStore().handle)
    assert processor.counted[-1] == "beyond_64_bits"
    came = iter([Row(place=0, rows=table_bytes(travelling(case)))])
    (waits,) = processor.handleInputRows((0,), came, Timers(0))
    assert (waits.matches, waits.beyond_64_bits) == (0, 0)
    (row,) = processor.handleExpiredTimer((0,), Timers(10**14), None)
    shown = by_definition_of_doubling(70)
    assert row.matches == 70
    assert row.beyond_64_bits == sum(number >= 2**63 for numbers in shown for number in numbers) == 7 + 11


def by_definition_of_doubling(count: int) -> list[tuple[int, int]]:
    """How many subsets of events end at each, and how many events are in all of these."""
    return [(2**i, 2**i + i * 2**i // 2) for i in range(count)]


def test_the_log_of_a_task_tells_of_them(caplog: pytest.LogCaptureFixture) -> None:
    events = pa.Table.from_pylist([{"time": k, "type": "A"} for k in range(70)])
    case = on_a_clock(case_of("log", "AGGREGATE count(*) AS n, log2(count(*)) AS l FROM S WHERE A+", events, unit="s"))
    recipe = recipe_of(case)
    running = recipe.folding_once(recipe.budget())
    running.add(recipe.stream(travelling(case)))
    caplog.clear()
    with caplog.at_level("WARNING"):
        (batch,) = PutTogether(recipe)(sent(recipe, running.groups(closed=True)))
    assert batch.to_pylist() == [{"n": None, "l": 70.0}]
    instead = "and log2(count(*)) says how large a number of matches is"
    assert caplog.messages == [f"n is NULL in 1 group: it has more than 64 bits, {instead}"]
