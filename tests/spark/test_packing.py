"""How rows are packed: buckets must not meet in one task while another has none."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from ensue.spark.packing import bucket_key


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
