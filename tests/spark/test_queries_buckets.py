"""Several queries in the buckets of a stream, which come and go, without Spark: they tell what each tells alone."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fake_state import FakeStore, Timers
from pyspark.sql import Row

import ensue
from ensue.data.arrow_bytes import table_bytes, table_of
from ensue.data.schema import Schema
from ensue.errors import EngineError
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.spark.bucket_count import BucketCount
from ensue.spark.packing import FIRST, ControlPacker, bucket_key
from ensue.spark.pushdown import nothing_pushed_down
from ensue.spark.query_set import Adding, QuerySet
from ensue.spark.recipe import TIME, TYPE, Recipe
from ensue.spark.relevance import Relevance
from ensue.spark.revised_bucket import Disorder
from ensue.spark.streaming import BucketProcessor
from ensue.spark.waiting_queries import WaitingQueries

EVENTS = pa.schema([("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int64()), ("v", pa.float64())])
PLAIN = "SELECT a.v AS v, b.time AS t FROM S WHERE A AS a ; B AS b PARTITION BY k WITHIN 9 s"
ABSENCE = "SELECT a.v AS v FROM S WHERE A AS a ; NOT B ; C PARTITION BY k WITHIN 7 s"
CHOICE = "SELECT NEXT a.v AS v FROM S WHERE A AS a ; C FILTER a.v > 1 PARTITION BY k WITHIN 9 s"
TOLD = pa.schema(
    [
        ("query", pa.string()),
        ("change", pa.string()),
        ("match", pa.string()),
        ("start_time", pa.timestamp("us", "UTC")),
        ("end_time", pa.timestamp("us", "UTC")),
        ("row", pa.string()),
    ]
)


def queries_of(texts: dict[str, str]) -> QuerySet:
    recipes = {}
    for name, text in texts.items():
        query = ensue.query(text)
        checked = check(query.ast, query.text, Schema.of(EVENTS))
        recipes[name] = Recipe(choose(checked), 1000, 0, pa.schema([]))
    adding = Adding(EVENTS, 1000, (("time", "time"),), ("k",), None, True, False)
    return QuerySet(recipes, TOLD, adding)


def sent(events: pa.Table) -> Row:
    travelling = events.append_column(TIME, events.column("time")).append_column(TYPE, events.column("type"))
    return Row(place=0, rows=table_bytes(travelling))


@dataclass
class Stream:
    """One bucket, the latest watermark, and the rows that its queries have told."""

    queries: QuerySet
    store: FakeStore = field(default_factory=FakeStore)
    watermark: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    unexpected: int = 0

    def step(self, events: pa.Table | None = None, control: list[tuple[str | None, str | None]] | None = None) -> None:
        """A micro-batch, by a processor that has just been started."""
        processor = BucketProcessor(self.queries, BucketCount(1, 0), disorder=Disorder(0, controlled=True))
        processor.init(self.store.handle)
        came = []
        if events is not None:
            came.append(sent(events))
        if control is not None:
            rows = pa.Table.from_pylist([{"name": n, "text": t} for n, t in control], CONTROL)
            (blob,) = [b for b in in_blobs(rows) if b["bucket"] == FIRST]
            came.append(Row(place=blob["place"], rows=blob["rows"]))
        for row in processor.handleInputRows((FIRST,), iter(came), Timers(self.watermark)):
            if row.rows is not None:
                self.rows += table_of(row.rows).to_pylist()
            self.unexpected += row.unexpected
            assert row.errors == sum(r["change"] == "error" for r in self.rows)
        processor.close()

    def now(self, name: str) -> Counter[str]:
        """The rows of a query that are there, as its changes add up."""
        found: Counter[str] = Counter()
        for row in self.rows:
            if row["query"] == name and row["change"] != "error":
                found[row["row"]] += 1 if row["change"] == "insert" else -1
        assert min(found.values(), default=0) >= 0
        return +found


CONTROL = pa.schema([("name", pa.string()), ("text", pa.string())])


@pytest.mark.parametrize("seed", range(8))
def test_queries_that_only_wait_tell_what_the_watermark_has_passed(seed: int) -> None:
    """Each query gets the events that matter to it, and tells what it tells alone."""
    rng = Random(f"only wait {seed}")
    texts = {"plain": PLAIN, "absence": ABSENCE, "choice": CHOICE}
    told = pa.schema([field for field in TOLD if field.name not in ("change", "match")])
    queries = replace(queries_of(texts), result=told, adding=None)
    relevance = {}
    for name, recipe in queries.recipes.items():
        assert recipe.choice.plan is not None
        guards = nothing_pushed_down(recipe.choice.plan, items_look_back=False).changing
        assert guards is not None
        relevance[name] = Relevance(tuple(guards))
    store, watermark, rows, late = FakeStore(), 0, list[dict[str, Any]](), 0
    in_time: list[pa.Table] = []
    for _ in range(8):
        begin = max(1, watermark // 1000 - 2)
        events = random_events(rng, range(begin, begin + 8))
        early = events.filter(pc.greater(pc.cast(events.column("time"), pa.int64()), watermark * 1000))
        in_time.append(early)
        processor = BucketProcessor(WaitingQueries(queries, relevance), BucketCount(1, 0))
        processor.init(store.handle)
        for row in processor.handleInputRows((FIRST,), iter([sent(events)]), Timers(watermark)):
            rows += [] if row.rows is None else table_of(row.rows).to_pylist()
            assert row.late == len(events) - len(early)
            late += row.late
        processor.close()
        known = pa.concat_tables(in_time)
        known = known.filter(pc.less_equal(pc.cast(known.column("time"), pa.int64()), watermark * 1000))
        for name, text in texts.items():
            found = Counter(row["row"] for row in rows if row["query"] == name)
            assert found == (answer(text, [known]) if len(known) else Counter()), (seed, name)
        watermark += rng.choice((0, 2000, 4000))
    assert len(rows) > 10


def in_blobs(rows: pa.Table) -> list[dict[str, Any]]:
    packed = pa.Table.from_batches(ControlPacker(BucketCount(3, 0))(iter(rows.to_batches())))
    assert set(packed.column("bucket").to_pylist()) > {bucket_key(n) for n in range(3)}
    blobs: list[dict[str, Any]] = packed.to_pylist()
    return blobs


def random_events(rng: Random, seconds: range) -> pa.Table:
    """Events within these seconds, in any order."""
    rows = [
        {
            "time": 1_000_000 * rng.choice(seconds),
            "type": rng.choice("ABC"),
            "k": rng.randrange(2),
            "v": rng.random() * 4,
        }
        for _ in range(8)
    ]
    return pa.Table.from_pylist(rows, EVENTS)


def answer(text: str, events: list[pa.Table], after: int = 0) -> Counter[str]:
    """The rows of a query over the events after a time, in milliseconds, as they cross to the JVM."""
    table = pa.concat_tables(events)
    ticks = table.column("time").cast(pa.int64()).to_pylist()
    table = table.take(pa.array([i for i, t in enumerate(ticks) if not after or t > after * 1000], pa.int64()))
    query = ensue.query(text)
    rows = query.run(table).to_arrow().to_pylist()
    return Counter(
        json.dumps({n: v if isinstance(v, int | float) else v.isoformat() for n, v in r.items()}) for r in rows
    )


@pytest.mark.parametrize("seed", range(12))
def test_queries_that_come_read_the_events_after_the_watermark(seed: int) -> None:
    rng = Random(f"come and go {seed}")
    stream, came = Stream(queries_of({"plain": PLAIN})), list[pa.Table]()
    began = {"plain": (PLAIN, 0)}
    gone: dict[str, Counter[str]] = {}
    for step in range(8):
        control: list[tuple[str | None, str | None]] = []
        for name, text in (("absence", ABSENCE), ("choice", CHOICE)):
            if rng.random() < 0.3 and name not in began:
                control.append((name, text))
                began[name] = (text, stream.watermark)
                gone.pop(name, None)
                stream.rows = [r for r in stream.rows if r["query"] != name]  # what it said in its earlier life
            elif rng.random() < 0.15 and name in began:
                control.append((name, None))
                del began[name]
                gone[name] = stream.now(name)
        earliest = stream.watermark // 1000 + 1
        events = random_events(rng, range(earliest, earliest + 6)) if rng.random() < 0.8 else None
        if events is not None:
            came.append(events)
        if events is not None or control:
            stream.step(events, control or None)
        for name, (text, after) in began.items():
            assert stream.now(name) == (answer(text, came, after) if came else Counter()), (seed, step, name)
        for name, rows in gone.items():
            assert stream.now(name) == rows
        if rng.random() < 0.6:
            stream.watermark += rng.choice((1000, 3000))
    assert stream.rows


def test_a_text_that_is_no_query_is_told_and_changes_nothing() -> None:
    rng = Random("bad texts")
    stream = Stream(queries_of({"plain": PLAIN}))
    first, second = random_events(rng, range(1, 5)), random_events(rng, range(5, 9))
    stream.step(first)
    bad = {
        "FORM": ("choice", "SELECT * FORM S WHERE A"),
        "unknown attribute 'w'": ("plain", PLAIN.replace("a.v", "a.w")),
        "PARTITION BY k is missing": ("sum", "SELECT * FROM S WHERE A ; B WITHIN 5 s"),
        "AGGREGATE cannot be used here": (
            "totals",
            "AGGREGATE count(*) AS n FROM S WHERE A ; B PARTITION BY k WITHIN 5 s",
        ),
        "no end": ("tens", PLAIN + " LIMIT 10"),
        "no window": ("ever", "SELECT * FROM S WHERE A ; B PARTITION BY k"),
        "named 'match'": ("match", PLAIN.replace("AS v", "AS match")),
        "did you mean 'plain'": ("plane", None),
        "has no name": (None, PLAIN),
    }
    stream.step(second, list(bad.values()))
    errors = [r for r in stream.rows if r["change"] == "error"]
    assert [r["query"] for r in errors] == [name for name, _ in bad.values()]
    said = [json.loads(r["row"]) for r in errors]
    assert [s["text"] for s in said] == [text for _, text in bad.values()]
    assert all(part in s["error"] for part, s in zip(bad, said, strict=True)), said
    assert stream.now("plain") == answer(PLAIN, [first, second])


def test_a_query_of_the_same_name_takes_the_place_of_the_other() -> None:
    rng = Random("the same name")
    stream = Stream(queries_of({"q": PLAIN}))
    first, second = random_events(rng, range(1, 5)), random_events(rng, range(5, 9))
    stream.step(first)
    before = len(stream.rows)
    stream.step(None, [("q", ABSENCE)])
    stream.step(second, [("q", ABSENCE)])  # as it is already: nothing begins anew
    stream.rows = stream.rows[before:]
    assert stream.now("q") == answer(ABSENCE, [first, second])


def test_the_queries_with_which_the_stream_began_belong_to_its_state() -> None:
    stream = Stream(queries_of({"q": PLAIN}))
    stream.step(random_events(Random(1), range(1, 5)))
    stream.queries = queries_of({"q": ABSENCE})
    with pytest.raises(EngineError, match="what differs: query of q"):
        stream.step(random_events(Random(2), range(5, 9)))


def test_what_queries_expect_is_counted_of_the_events_that_are_settled() -> None:
    rng = Random("expected")
    plain, added = PLAIN + " EXPECT ((A : B):*)", PLAIN.replace("9 s", "8 s") + " EXPECT (C:*)"
    stream = Stream(queries_of({"plain": plain}))
    parts = [random_events(rng, range(1, 9)), random_events(rng, range(9, 17))]
    stream.step(parts[0])
    assert stream.unexpected == 0
    stream.watermark = 9000
    stream.step(parts[1], [("added", added)])
    assert stream.unexpected == ensue.query(plain).run(parts[0]).unexpected > 0
    stream.watermark = 18000
    stream.step(random_events(rng, range(20, 21)))
    assert (
        stream.unexpected
        == ensue.query(plain).run(pa.concat_tables(parts)).unexpected + ensue.query(added).run(parts[1]).unexpected
    )
