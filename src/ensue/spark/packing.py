"""Packs rows into Arrow blobs, one for each bucket: few rows cross the shuffle, and Spark does not take them apart.

A blob's place says where it came from, so that events of equal time keep the order in which they arrived.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.data.arrow_bytes import table_bytes, table_of
from ensue.data.events import as_integers
from ensue.spark.bucket_count import BucketCount
from ensue.spark.crossing import restored
from ensue.spark.layout import Slices
from ensue.spark.recipe import HASH, PROMISE, SLICE, TIME

Buckets = npt.NDArray[np.int64]
Batches = Iterator[pa.RecordBatch]

#: The columns that cross the shuffle; `bucket` has the key that `bucket_key` gives for the bucket's number.
PACKED = "bucket long, place long, rows binary"
_SCHEMA = pa.schema([("bucket", pa.int64()), ("place", pa.int64()), ("rows", pa.binary())])
#: The number of rows that are packed at a time: enough that the cost of handling a blob is negligible.
_ROWS = 1 << 18
#: The number of rows of a result that are returned at a time.
_ROWS_BACK = 1 << 14
#: Rows may be huge. So at most about as many bytes are packed, or handed to the JVM, at a time.
_BYTES = 1 << 25
#: The JVM writes up to 10,000 rows into one Arrow batch, whatever their size, if `maxBytesPerBatch` sets no limit. So a
#: blob is followed by an empty row for every so many of its bytes, and a batch of blobs has 240 MB at most.
_BYTES_A_ROW = 24_000


def gathered(batches: Iterable[pa.RecordBatch], rows: int = _ROWS) -> Iterator[pa.Table]:
    """Joins small batches into tables of `rows` rows or more, or fewer if they are huge, with the columns restored."""
    waiting: list[pa.RecordBatch] = []
    count = size = 0
    for batch in itertools.chain.from_iterable(map(in_pieces, batches)):
        waiting.append(batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        if count >= rows or size >= _BYTES:
            yield restored(pa.Table.from_batches(waiting))
            waiting, count, size = [], 0, 0
    if waiting:
        yield restored(pa.Table.from_batches(waiting))


def in_pieces(batch: pa.RecordBatch, most: int = _BYTES) -> Iterator[pa.RecordBatch]:
    """The batch without a copy, in pieces of at most about so many bytes; nothing if it is empty."""
    rows = batch.num_rows * most // max(batch.nbytes, most)
    for first in range(0, batch.num_rows, max(rows, 1)):
        yield batch.slice(first, max(rows, 1))


def handed_back(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows of a result as batches for the JVM, which holds one batch at a time."""
    for batch in table.combine_chunks().to_batches(max_chunksize=_ROWS_BACK):
        yield from in_pieces(batch)


class _Blob(NamedTuple):
    bucket: int
    place: int
    rows: bytes | None


def _in_batches(blobs: Iterable[_Blob]) -> Batches:
    """The blobs, each with its empty rows, in batches that are not too large."""
    waiting: list[_Blob] = []
    size = 0
    for blob in blobs:
        length = len(blob.rows or b"")
        if waiting and size + length > _BYTES:
            yield _batch_of(waiting)
            waiting, size = [], 0
        waiting += [blob, *[blob._replace(rows=None)] * (length // _BYTES_A_ROW)]
        size += length
    if waiting:
        yield _batch_of(waiting)


def _batch_of(blobs: Iterable[_Blob]) -> pa.RecordBatch:
    columns = zip(*blobs, strict=True)
    return pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA)


@dataclass(frozen=True)
class Packer:
    """`mapInArrow` function: packs rows into blobs. An event near the end of a slice also goes into the next one.

    Where `last_only` is asked for, it goes only into the last slice that reads it.
    With `of_stream`, one task also sends a row without a blob to each bucket, which tells of itself, and to the one
    that knows what the checkpoint is for. A row that promises something goes to all buckets.
    """

    buckets: BucketCount
    slices: Slices | None = None
    of_stream: bool = False
    last_only: bool = False

    def __call__(self, batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        task = context.partitionId() if context else 0
        place, buckets_in_all = task << 32, self.buckets.in_task()
        if self.of_stream and task == 0:
            yield _batch_of([_Blob(key, place, None) for key in (IDENTITY, *map(bucket_key, range(buckets_in_all)))])
        for table in gathered(batches):
            if PROMISE in table.column_names:
                promised = table.column(PROMISE).is_valid()
                said = table.select([TIME, PROMISE]).filter(promised)
                table = table.filter(pc.invert(promised)).drop_columns([PROMISE])
                if len(said):
                    yield from _to_all(said, Sent.PROMISES.place + place, buckets_in_all)
            yield from _in_batches(self._blobs(table, place, buckets_in_all))
            place += 1

    def packed(self, tables: Iterable[pa.Table], task: int) -> Batches:
        """The rows of tables that a task has read by itself, as blobs."""
        for place, table in enumerate(tables, start=task << 32):
            yield from _in_batches(self._blobs(table, place, self.buckets.in_task()))

    def _blobs(self, table: pa.Table, place: int, buckets_in_all: int) -> Iterator[_Blob]:
        """The rows of the table as blobs, one for each bucket."""
        table, buckets = self._shared_out(table, buckets_in_all)
        # NumPy sorts 16-bit numbers with a radix sort, which is several times as fast as for longer numbers.
        order = np.argsort(buckets.astype(np.uint16) if buckets_in_all <= 1 << 16 else buckets, kind="stable")
        sorted_table, sorted_buckets = table.take(pa.array(order)), buckets[order]
        cuts = [0, *(np.flatnonzero(np.diff(sorted_buckets)) + 1).tolist(), len(sorted_buckets)]
        for first, last in itertools.pairwise(cuts):
            rows = sorted_table.slice(first, last - first).combine_chunks()
            yield _Blob(bucket_key(int(sorted_buckets[first])), place, table_bytes(rows))

    def _shared_out(self, table: pa.Table, buckets: int) -> tuple[pa.Table, Buckets]:
        """The rows, with their slice if there are slices, and the bucket of each row."""
        hashes = np.zeros(len(table), dtype=np.int64)
        if HASH in table.column_names:
            hashes = table.column(HASH).to_numpy().astype(np.int64)
            table = table.drop_columns([HASH])
        if self.slices is None:
            return table, hashes % buckets
        first, last = slice_range(as_integers(table.column(TIME)), self.slices)
        if self.last_only:
            return table.append_column(SLICE, pa.array(last)), (hashes + last) % buckets
        twice = np.flatnonzero(last > first)
        numbers = np.concatenate([first, last[twice]])
        if len(twice):
            table = pa.concat_tables([table, table.take(pa.array(twice))])
            hashes = np.concatenate([hashes, hashes[twice]])
        return table.append_column(SLICE, pa.array(numbers)), (hashes + numbers) % buckets


@dataclass(frozen=True)
class ControlPacker:
    """`mapInArrow` function: sends rows that control the stream to every bucket, and the one that checks it."""

    buckets: BucketCount

    def __call__(self, batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        place = Sent.CONTROL.place + ((context.partitionId() if context else 0) << 32)
        for table in gathered(batches):
            yield from _to_all(table, place, self.buckets.in_task())
            place += 1


class Sent(Enum):
    """What the rows of a blob are: its place tells. All but events go to every bucket."""

    CONTROL = -2
    PROMISES = -1
    EVENTS = 0

    @property
    def place(self) -> int:
        """The first place of such blobs."""
        return int(self.value) << 61

    @classmethod
    def of(cls, place: int) -> Sent:
        return cls(place >> 61)


def _to_all(rows: pa.Table, place: int, buckets: int) -> Batches:
    """The rows as a blob for each bucket; one that checks the checkpoint comes along."""
    yield _batch_of([_Blob(IDENTITY, place, None)])
    blob = table_bytes(rows)
    yield from _in_batches(_Blob(bucket_key(n), place, blob) for n in range(buckets))


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
#: The key of the first bucket, which is there whatever their number.
FIRST = bucket_key(0)


def slice_range(times: Buckets, slices: Slices) -> tuple[Buckets, Buckets]:
    """The slice of each event, and the last slice that reads it: the next one, if that begins within the window."""
    first = times // slices.length
    left = slices.length - times % slices.length  # the time to the next slice, without a sum that could overflow
    return first, first + (left <= slices.window)


def unpacked(batches: Batches) -> pa.Table | None:
    """All rows of the blobs, in the order in which they came; None if there are none."""
    rows = itertools.chain.from_iterable(batch.select(["place", "rows"]).to_pylist() for batch in batches)
    return joined_blobs((row["place"], row["rows"]) for row in rows)


def joined_blobs(blobs: Iterable[tuple[int, bytes | None]]) -> pa.Table | None:
    """The rows of the blobs in the order of their places; None if there are none. Rows without a blob are empty."""
    filled = [(place, rows) for place, rows in blobs if rows is not None]
    tables = [table_of(rows) for _, rows in sorted(filled, key=lambda blob: blob[0])]
    return pa.concat_tables(tables) if tables else None
