"""How rows are packed: buckets must not meet in one task while another has none, and no batch may be huge."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from ensue.data.arrow_bytes import table_bytes
from ensue.spark.bucket_count import BucketCount
from ensue.spark.packing import Packer, bucket_key, handed_back, joined_blobs, unpacked
from ensue.spark.recipe import HASH, TIME, in_order


@pytest.mark.parametrize("partitions", [2, 3, 4, 32])
def test_buckets_are_shared_out_evenly(spark, partitions):
    keys = [(bucket_key(n),) for n in range(2 * partitions)]
    placed = spark.createDataFrame(keys, "bucket long").repartition(partitions, "bucket")
    found = [r.place for r in placed.select(F.spark_partition_id().alias("place")).collect()]
    assert sorted(found) == sorted(list(range(partitions)) * 2)


def test_a_bucket_key_is_the_hash_undone(spark):
    keys = [(n, bucket_key(n)) for n in (*range(300), 70_000, 2**31 - 1)]
    rows = spark.createDataFrame(keys, "number long, key long").select("number", F.hash("key").alias("hash")).collect()
    assert [r.hash for r in rows] == [r.number for r in rows]


# ---------------------------------------------------------------- huge rows, without a session


def wide(rows: int, width: int) -> pa.RecordBatch:
    """Travelling columns with a text of this many bytes in each event."""
    n = np.arange(rows)
    times = pa.array(n * 1_000_000).cast(pa.timestamp("us", "UTC"))
    texts = [chr(97 + i % 26) * width for i in n.tolist()]
    return pa.record_batch({TIME: times, "s": texts, HASH: pa.array(n % 7, pa.int32())})


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "width", "fewest"), [(30_000, 9_000, 8), (200, 1_000_000, 6), (40_000, 5, 1)])
def test_what_crosses_is_cut_by_bytes(rows, width, fewest):
    """The JVM writes up to 10,000 rows into one batch, so it takes the most for 10,000 rows that follow one another."""
    batch = wide(rows, width)
    given = [batch.slice(first, 10_000) for first in range(0, rows, 10_000)]
    packed = list(Packer(BucketCount(8, 0))(iter(given)))
    assert len(packed) >= fewest
    assert max(p.nbytes for p in packed) < 1 << 26
    sizes = np.cumsum([0, *(len(r["rows"] or b"") for p in packed for r in p.to_pylist())])
    at_once = max(sizes[min(k + 10_000, len(sizes) - 1)] - size for k, size in enumerate(sizes.tolist()))
    assert at_once < 260 << 20
    table = unpacked(iter(packed))
    assert table is not None
    assert in_order(table).column("s").equals(pa.chunked_array([batch.column("s")]))
    back = list(handed_back(table))
    assert max(b.nbytes for b in back) < 1 << 26
    assert pa.Table.from_batches(back).equals(table.combine_chunks())


def test_a_bucket_of_a_stream_passes_over_empty_rows():
    with_rows = pa.record_batch({TIME: pa.array([1_700_000_000_000_000], pa.timestamp("us", "UTC")), "k": [1]})
    table = pa.Table.from_batches([with_rows])
    assert joined_blobs([(1, None), (0, table_bytes(table)), (0, None)]) == table
    assert joined_blobs([(0, None)]) is None
