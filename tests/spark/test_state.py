"""What a stream's state does over time: late events are told, old checkpoints refused, and it does not grow."""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from every_type import EVERYTHING, everything
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from sparkling import frame_of

import ensue
from ensue.spark.bucket_count import BucketCount
from ensue.spark.frames import final_after, read_frames

T0 = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema([("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int64())])
AB = "SELECT x.time AS a, y.time AS b FROM S WHERE A AS x ; B AS y PARTITION BY k WITHIN 5 s"


def at(seconds):
    return None if seconds is None else T0 + timedelta(seconds=seconds)


class Source:
    """A folder that gets a file for each micro-batch."""

    def __init__(self, spark, folder: Path) -> None:
        self._spark, self.folder = spark, folder
        self._files = 0
        (folder / "source").mkdir(parents=True)

    def add(self, *events) -> None:
        """One file of (seconds, type, key)."""
        rows = [{"time": at(t), "type": x, "k": k} for t, x, k in events]
        hidden = self.folder / "source" / f".{self._files:03}"
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), hidden)
        os.utime(hidden, (1_700_000_000 + self._files,) * 2)
        hidden.rename(self.folder / "source" / f"{self._files:03}.parquet")
        self._files += 1

    def events(self, delay="1 second", *, nullable=True):
        reader = self._spark.readStream.schema("time timestamp, type string, k long").option("maxFilesPerTrigger", 1)
        events = reader.parquet(str(self.folder / "source"))
        if not nullable:
            events = events.withColumn("time", F.coalesce("time", F.lit(T0)))
        return events.withWatermark("time", delay)

    def run(self, matches, name="sink"):
        """Runs over all files there are; the rows so far, and what was observed in each micro-batch."""
        writer = matches.writeStream.format("parquet").option("checkpointLocation", str(self.folder / f"{name}_at"))
        query = writer.trigger(availableNow=True).start(str(self.folder / name))
        query.awaitTermination()
        observed = [p.observedMetrics for p in query.recentProgress]
        rows = self._spark.read.schema(matches.schema).parquet(str(self.folder / name)).toArrow()
        return rows, observed


@pytest.fixture
def source(spark, tmp_path):
    return Source(spark, tmp_path)


def total(observed, name, metric):
    return sum(row[metric] for batch in observed if (row := batch.get(name)) is not None)


def test_late_events_are_counted_and_given(source):
    """The watermark of a micro-batch is that of the ones before it; what comes at or before it is late.

    Of the three late ones the query can use two: the third is of a type that the pattern does not have.
    """
    source.add((1, "A", 0), (2, "B", 0), (None, "A", 0))
    source.add((100, "C", 0))
    source.add((99, "A", 0), (99.001, "A", 0), (3, "B", 0), (98, "C", 0), (100.5, "B", 0), (None, "C", 0))
    source.add((10_000, "C", 0))
    rows, observed = source.run(ensue.match(source.events(), AB))
    assert sorted(zip(rows["a"].to_pylist(), rows["b"].to_pylist(), strict=True)) == [
        (at(1), at(2)),
        (at(99.001), at(100.5)),
    ]
    assert total(observed, "ensue", "late") == 2
    assert total(observed, "ensue", "matches") == 2
    assert total(observed, "ensue", "without_time") == 2
    assert total(observed, "ensue", "relevant") == 6
    late, _ = source.run(ensue.query(AB).late(source.events()), "late")
    assert late.column_names == ["time", "type", "k"]
    assert Counter(zip(late["time"].to_pylist(), late["type"].to_pylist(), strict=True)) == {
        (at(99), "A"): 1,
        (at(3), "B"): 1,
    }


def test_the_largest_of_all_buckets_is_told(source):
    source.add(*((1 + k, "A", k) for k in range(20)))
    _, observed = source.run(ensue.match(source.events(), AB))
    told = observed[0]["ensue"]
    assert told.relevant == 20
    assert told.state_bytes / 8 < told.largest_state < told.state_bytes


def test_counts_are_of_all_buckets(source):
    """Also in micro-batches that have events of one key, of none, or no events at all."""
    source.add(*((100 + k, "A", k) for k in range(20)))
    source.add((119, "A", 0))
    source.add((119, "C", 0))
    source.add((130, "C", 0))
    source.add((130.5, "C", 0))
    rows, observed = source.run(ensue.match(source.events("30 seconds"), AB.replace("5 s", "1 h")))
    told = [b["ensue"] for b in observed]
    assert [t.waiting for t in told] == [20, 21, 21, 21, 20, 20]
    assert [t.open > 0 for t in told] == [False, False, False, False, True, True]
    assert min(t.state_bytes for t in told) > 8 * 500
    assert min(t.largest_state for t in told) > 500
    assert len(rows) == 0


@pytest.mark.parametrize("nullable", [True, False])
def test_a_stream_goes_on_where_it_stopped(source, nullable):
    """Three runs, one checkpoint; events that no pattern uses move the time as well, and release what waits.

    Spark moves a condition that does not ask for the time below the watermark, and `time IS NULL` asks for nothing
    where there is no NULL: then the events that are left out would not move it.
    """
    query = ensue.query(AB)
    source.add((1, "A", 0), (2, "A", 1))
    rows, _ = source.run(query.run(source.events(nullable=nullable)))
    assert len(rows) == 0
    source.add((3, "B", 0), (4, "B", 1), (3.5, "B", 0))
    source.run(query.run(source.events(nullable=nullable)))
    source.add((20, "C", 7))
    rows, observed = source.run(query.run(source.events(nullable=nullable)))
    assert Counter(zip(rows["k"].to_pylist(), rows["b"].to_pylist(), strict=True)) == {
        (0, at(3)): 1,
        (0, at(3.5)): 1,
        (1, at(4)): 1,
    }
    assert total(observed, "ensue", "late") == 0


@pytest.mark.parametrize(
    ("text", "buckets", "said"),
    [(AB.replace("5 s", "6 s"), None, "what differs: query, automaton"), (AB, 7, r"number of buckets \(8, now 7\)")],
    ids=["query", "buckets"],
)
def test_a_changed_query_is_refused(source, text, buckets, said):
    source.add((1, "A", 0), (2, "A", 1))
    source.run(ensue.match(source.events(), AB))
    source.add((3, "B", 0))
    with pytest.raises(ensue.EngineError, match=said):
        source.run(ensue.match(source.events(), text, buckets=buckets))


def test_times_that_no_watermark_can_reach_are_refused(source):
    source.add((1, "A", 0), (-2_000_000_000, "A", 0))
    with pytest.raises(StreamingQueryException, match=r"the time 1960-.*Spark's watermark begins at 1970"):
        source.run(ensue.match(source.events(), AB))


def test_what_is_alone_is_told_a_micro_batch_earlier(source):
    source.add((1, "A", 0), (2, "B", 0), (9, "A", 0))
    rows = {}
    for alone in (False, True):
        matches = ensue.match(source.events(), AB, alone=alone)
        rows[alone], observed = source.run(matches, f"sink {alone}")
        assert [b["ensue"].matches for b in observed if "ensue" in b] == ([1, 0] if alone else [0, 1])
    assert rows[True] == rows[False]
    assert rows[True].select(["a", "b"]).to_pylist() == [{"a": at(1), "b": at(2)}]


def test_what_is_not_alone_after_all_is_told(spark, source, tmp_path):
    """The matches of two streams in one: Spark takes the slower watermark for both."""
    slow = Source(spark, tmp_path / "slow")
    for time in (100, 50, 60):
        source.add((time, "A", 0), (time + 2, "B", 0))
        slow.add((1, "A", 0))
    text = AB.replace("5 s", "1 h")
    both = [
        ensue.match(s.events(), text, alone=alone, name=n) for s, alone, n in ((source, True, "a"), (slow, False, "b"))
    ]
    with pytest.raises(StreamingQueryException, match="another watermark holds this stream's watermark back"):
        source.run(both[0].union(both[1]))


def test_two_streams_in_one_wait_for_the_slower(spark, source, tmp_path):
    slow = Source(spark, tmp_path / "slow")
    for number, time in enumerate((100, 50, 60)):
        source.add((time, "A", 0), (time + 2, "B", 0))
        slow.add((number + 1, "A", 0))
    slow.add((1000, "A", 0))
    source.add((1000, "C", 0))
    both = [ensue.match(s.events(), AB, name=n) for s, n in ((source, "a"), (slow, "b"))]
    rows, _ = source.run(both[0].union(both[1]))
    assert sorted((r["a"], r["b"]) for r in rows.to_pylist()) == [(at(t), at(t + 2)) for t in (50, 60, 100)]


def test_as_many_buckets_as_tasks(spark, source):
    before = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        spark.conf.set("spark.sql.shuffle.partitions", "50")
        assert BucketCount.of(source.events()).in_task() == 50
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        assert BucketCount.of(source.events()).in_task() == 8
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


def test_several_streams_as_one(spark, source, tmp_path):
    """Two sources with their own watermarks: time goes on when it does in both."""
    (tmp_path / "other").mkdir()
    other = Source(spark, tmp_path / "other")
    source.add((1, "A", 0), (50, "C", 0))
    other.add((2, "B", 0), (60, "C", 0))
    source.add((100, "C", 0))
    other.add((100, "C", 0))
    text = AB.replace("FROM S", "FROM S, T")
    rows, _ = source.run(ensue.match({"S": source.events(), "T": other.events()}, text))
    assert (rows["a"].to_pylist(), rows["b"].to_pylist()) == ([at(1)], [at(2)])


def test_a_stream_that_is_alone(source):
    """The latest event tells the next watermark only where nothing but this stream decides it."""

    def after(frame):
        return final_after(read_frames(frame, ("S",), None))

    events = source.events("3 seconds")
    assert after(events) == 3000
    assert after(events.filter("k > 1").withColumn("w", F.col("k") + 1).alias("other")) == 3000
    other = source.events().select(F.col("k").alias("w"), F.col("time").alias("t"))
    for frame in (
        events.union(source.events("1 second")),
        events.withWatermark("time", "1 second"),
        events.dropDuplicatesWithinWatermark(["k"]),
        events.join(other, F.expr("k = w")),
    ):
        with pytest.raises(ensue.DataError, match="alone=True: the stream"):
            after(frame)


def test_a_stream_of_all_types_goes_through_the_state(spark, tmp_path):
    """What waits in the state, and what partial matches keep, comes back as it was."""

    table = pa.Table.from_pylist([everything(n) for n in range(6)], EVERYTHING)
    (tmp_path / "source").mkdir()
    last = pa.Table.from_pylist([{"time": T0 + timedelta(days=900), "type": "C"}], EVERYTHING)
    for i, part in enumerate([table.slice(0, 3), table.slice(3), last]):
        pq.write_table(part, tmp_path / "source" / f"{i}.parquet")
    schema = frame_of(spark, table).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "source"))
    text = "SELECT x, y FROM S WHERE A AS x ; B AS y WITHIN 3 s"
    matches = ensue.match(reader.withWatermark("time", "10 seconds"), text)
    query = matches.writeStream.format("memory").queryName("all_types").trigger(availableNow=True).start()
    query.awaitTermination()
    found = spark.table("all_types").toArrow()
    expected = ensue.match(table, text).to_arrow()
    key = [("start_time", "ascending"), ("end_time", "ascending")]
    assert found.sort_by(key).cast(expected.schema).to_pylist() == expected.sort_by(key).to_pylist()
    assert len(expected)


RUNS_OF_A = "SELECT count(w) AS n FROM S WINDOW w AS (IS A:* : B) PARTITION BY k"
AT_MOST_THREE = "EXPECT (((A:{1,3} : B) OR B):*)"


def test_a_growing_state_is_refused_with_the_events_that_let_it_grow(source):
    source.add((1, "A", 0))
    with pytest.raises(ensue.EngineError) as refused:
        ensue.match(source.events(), RUNS_OF_A)
    assert str(refused.value) == (
        "the query has no window: over a stream, its state would grow for ever: from the start, each further A leaves "
        "one more open. Bound it with WITHIN, or allow that with unbounded=True"
    )


def test_a_bound_under_an_expectation_admits_a_query(source, caplog):
    """Four A in a row: the fourth is unexpected, and its window is found nevertheless."""
    query = ensue.query(f"{RUNS_OF_A} {AT_MOST_THREE}")
    source.add(*((1 + k, "A", 0) for k in range(4)), (3.5, "A", 1))
    source.add((50, "B", 1))
    source.add((100, "B", 0))
    source.add((200, "A", 0))
    rows, observed = source.run(query.run(source.events()))
    found = Counter(zip(rows["k"].to_pylist(), rows["n"].to_pylist(), strict=True))
    assert found == Counter([*((0, n) for n in range(1, 6)), (1, 1), (1, 2)])
    assert total(observed, "ensue", "unexpected") == 1
    assert max(row.open_windows for batch in observed if (row := batch.get("ensue")) is not None) == 5
    table = source._spark.read.parquet(str(source.folder / "source"))
    assert "does not count unexpected events" not in caplog.text
    batch = query.run(table).toArrow()
    assert Counter(zip(batch["k"].to_pylist(), batch["n"].to_pylist(), strict=True)) == found
    assert "EXPECT: a batch on Spark does not count unexpected events; a stream does" in caplog.text
    assert "unexpected    not counted in a batch" in query.explain(table)


def test_what_is_not_known_to_be_bounded_is_refused_with_the_reason(source):
    source.add((1, "A", 0))
    with pytest.raises(ensue.EngineError, match=r"grow for ever, as far as is known: nothing is decided of sqrt\(k\)"):
        ensue.match(source.events(), "SELECT count(w) AS n FROM S WINDOW w AS (IS ANY[sqrt(k) > 1]:+)")


def test_contiguous_events_need_no_window(source):
    source.add((1, "A", 0), (2, "B", 0), (3, "A", 0))
    source.add((100, "C", 0))
    rows, _ = source.run(ensue.match(source.events(), "SELECT x.time AS a FROM S WHERE A AS x : B : A"))
    assert len(rows) == 1
