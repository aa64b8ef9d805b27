"""Packs rows into Arrow blobs, one for each bucket: few rows cross the shuffle, and Spark does not take them apart.

A blob's place says where it came from, so that events of equal time keep the order in which they arrived.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.arrow_bytes import table_bytes, table_of
from ensue.data.events import as_integers
from ensue.spark.bucket_count import BucketCount
from ensue.spark.crossing import restored
from ensue.spark.layout import Slices
from ensue.spark.recipe import HASH, SLICE, TIME

Buckets = npt.NDArray[np.int64]
Batches = Iterator[pa.RecordBatch]

#: The columns that cross the shuffle; `bucket` has the key that `bucket_key` gives for the bucket's number.
PACKED = "bucket long, place long, rows binary"
_SCHEMA = pa.schema([("bucket", pa.int64()), ("place", pa.int64()), ("rows", pa.binary())])
#: The number of rows that are packed at a time: enough that the cost of handling a blob is negligible.
_ROWS = 1 << 18


def gathered(batches: Iterable[pa.RecordBatch], rows: int = _ROWS) -> Iterator[pa.Table]:
    """Joins small batches into tables of at least `rows` rows, with the travelling columns restored."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            count += batch.num_rows
        if count >= rows:
            yield restored(pa.Table.from_batches(waiting))
            waiting, count = [], 0
    if waiting:
        yield restored(pa.Table.from_batches(waiting))


@dataclass(frozen=True)
class Packer:
    """`mapInArrow` function: packs rows into blobs. An event near the end of a slice also goes into the next one.

    With `of_stream`, one task also sends a blob without rows, to the bucket that knows what the checkpoint is for.
    """

    buckets: BucketCount
    slices: Slices | None = None
    of_stream: bool = False

    def __call__(self, batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        task = context.partitionId() if context else 0
        place, buckets_in_all = task << 32, self.buckets.in_task()
        if self.of_stream and task == 0:
            yield pa.RecordBatch.from_pylist([{"bucket": IDENTITY, "place": place, "rows": None}], _SCHEMA)
        for table in gathered(batches):
            table, buckets = self._shared_out(table, buckets_in_all)
            blobs = []
            # NumPy sorts 16-bit numbers with a radix sort, which is several times as fast as for longer numbers.
            order = np.argsort(buckets.astype(np.uint16) if buckets_in_all <= 1 << 16 else buckets, kind="stable")
            sorted_table, sorted_buckets = table.take(pa.array(order)), buckets[order]
            cuts = [0, *(np.flatnonzero(np.diff(sorted_buckets)) + 1).tolist(), len(sorted_buckets)]
            for first, last in itertools.pairwise(cuts):
                rows = sorted_table.slice(first, last - first).combine_chunks()
                key = bucket_key(int(sorted_buckets[first]))
                blobs.append({"bucket": key, "place": place, "rows": table_bytes(rows)})
            place += 1
            yield pa.RecordBatch.from_pylist(blobs, _SCHEMA)

    def _shared_out(self, table: pa.Table, buckets: int) -> tuple[pa.Table, Buckets]:
        """The rows, with their slice if there are slices, and the bucket of each row."""
        hashes = np.zeros(len(table), dtype=np.int64)
        if HASH in table.column_names:
            hashes = table.column(HASH).to_numpy().astype(np.int64)
            table = table.drop_columns([HASH])
        if self.slices is None:
            return table, hashes % buckets
        first, last = slice_range(as_integers(table.column(TIME)), self.slices)
        twice = np.flatnonzero(last > first)
        numbers = np.concatenate([first, last[twice]])
        if len(twice):
            table = pa.concat_tables([table, table.take(pa.array(twice))])
            hashes = np.concatenate([hashes, hashes[twice]])
        return table.append_column(SLICE, pa.array(numbers)), (hashes + numbers) % buckets


_WORD = (1 << 32) - 1


def bucket_key(number: int) -> int:
    """The key whose hash in Spark is `number`, so that it goes to partition `number`, modulo the number of partitions.

    So buckets spread evenly over any number of tasks; the keys 0, 1, 2 and 3 would leave two of four tasks idle. This
    inverts Spark's Murmur3 of a long (seed 42, upper half 0), step by step from the last to the first.
    """
    h = number ^ number >> 16
    h = h * pow(0xC2B2AE35, -1, 1 << 32) & _WORD
    h ^= h >> 13 ^ h >> 26
    h = h * pow(0x85EBCA6B, -1, 1 << 32) & _WORD
    h = h ^ h >> 16 ^ 8  # the length of a long
    for _ in range(2):  # the upper half, then the lower one
        h = (h - 0xE6546B64) * pow(5, -1, 1 << 32) & _WORD
        h = _rotated(h, 32 - 13)
    k = (h ^ 42) * pow(0x1B873593, -1, 1 << 32) & _WORD
    return _rotated(k, 32 - 15) * pow(0xCC9E2D51, -1, 1 << 32) & _WORD


def _rotated(word: int, left: int) -> int:
    return (word << left | word >> 32 - left) & _WORD


#: The key of the bucket that has no events: its state says what the checkpoint is for. No other bucket has this number.
IDENTITY = bucket_key(_WORD)


def slice_range(times: Buckets, slices: Slices) -> tuple[Buckets, Buckets]:
    """The slice of each event, and the last slice that reads it: the next one, if that begins within the window."""
    first = times // slices.length
    left = slices.length - times % slices.length  # the time to the next slice, without a sum that could overflow
    return first, first + (left <= slices.window)


def unpacked(batches: Batches) -> pa.Table | None:
    """All rows of the blobs, in the order in which they came; None if there are none."""
    blobs = [(row["place"], row["rows"]) for batch in batches for row in batch.select(["place", "rows"]).to_pylist()]
    return joined_blobs(blobs)


def joined_blobs(blobs: list[tuple[int, bytes]]) -> pa.Table | None:
    """The rows of the blobs in the order of their places; None if there are none."""
    tables = [table_of(rows) for _, rows in sorted(blobs, key=lambda blob: blob[0])]
    return pa.concat_tables(tables) if tables else None
