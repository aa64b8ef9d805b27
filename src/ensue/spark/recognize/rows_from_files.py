"""A clause over Parquet files: the tasks read them, and share the rows out by key, instead of the JVM.

Rows that come from the JVM are written value by value, which takes longer than to find the matches. What is a plain
scan of files, and what is not, is decided as for queries (`plain_scan.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ensue.corrections.row_hashes import hashes_of_rows
from ensue.spark.file_reading import FileReader, OpenFile
from ensue.spark.packing import PACKED, Batches, Packer
from ensue.spark.parquet_footers import RowGroup, read_footers
from ensue.spark.plain_scan import LeftToSpark, plain_scan
from ensue.spark.recipe import HASH
from ensue.spark.type_mapping import arrow_schema

#: For each task that can run at a time, more rows than this are more tasks.
_MOST_ROWS = 1 << 24


@dataclass(frozen=True)
class RowsFromFiles:
    """The files, the row groups of each task, and what the columns are called on their way."""

    reader: FileReader
    shares: tuple[tuple[RowGroup, ...], ...]
    travelling: Mapping[str, str]  # by the names of the DataFrame
    keys: tuple[str, ...]

    def __str__(self) -> str:
        files = len(self.reader.files)
        return f"the tasks themselves, from {files:,} file{'' if files == 1 else 's'}"

    def packed(self, frame: DataFrame, packer: Packer) -> DataFrame:
        """The rows as blobs for the buckets of keys."""
        tasks = len(self.shares)
        return frame.sparkSession.range(0, tasks, 1, tasks).mapInArrow(PackFiles(self, packer), PACKED)


def rows_from_files(frame: DataFrame, travelling: Mapping[str, str], keys: Sequence[str]) -> RowsFromFiles:
    """How the tasks read the files of the DataFrame; raises LeftToSpark with the reason why Spark reads them."""
    if not travelling:
        raise LeftToSpark("the clause uses no columns")
    try:
        scan = plain_scan(frame, list(travelling))
        footers = read_footers(scan, None)
        at_a_time = frame.sparkSession.sparkContext.defaultParallelism
    except (Py4JError, PySparkException) as e:  # some clusters allow few calls, and versions of Spark differ
        raise LeftToSpark(f"Spark does not show its plan here ({type(e).__name__})") from None
    shares = shared_out(footers.groups, at_a_time * (1 + footers.rows // (at_a_time * _MOST_ROWS)))
    if 2 * len(shares) < at_a_time and footers.rows > _MOST_ROWS // at_a_time:
        raise LeftToSpark(f"the files have too few row groups for {at_a_time} tasks")
    columns = arrow_schema(T.StructType([T.StructField(c.name, c.type) for c in scan.columns]))
    reader = FileReader(footers.files, columns, (), "", None, "", None)
    return RowsFromFiles(reader, shares, travelling, tuple(keys))


def shared_out(groups: Sequence[RowGroup], tasks: int) -> tuple[tuple[RowGroup, ...], ...]:
    """The row groups in order, in about equal shares; none is empty unless there are no rows."""
    rows = sum(g.rows for g in groups)
    shares: list[list[RowGroup]] = [[] for _ in range(max(tasks, 1))]
    before = 0
    for group in groups:
        shares[(before + group.rows // 2) * len(shares) // max(rows, 1)].append(group)
        before += group.rows
    return tuple(tuple(s) for s in shares if s) or ((),)


@dataclass(frozen=True)
class PackFiles:
    """`mapInArrow` function: a row is the number of a share, whose row groups it reads and packs."""

    files: RowsFromFiles
    packer: Packer

    def __call__(self, batches: Batches) -> Batches:
        for number in itertools.chain.from_iterable(batch.column(0).to_pylist() for batch in batches):
            yield from self.packer.packed(self._tables(number), number)

    def _tables(self, number: int) -> Iterator[pa.Table]:
        opened = OpenFile(self.files.reader)
        for group in self.files.shares[number]:
            table = opened.read(group)
            if self.files.keys:
                table = table.append_column(HASH, pa.array(_hashes([table.column(k) for k in self.files.keys])))
            yield table.rename_columns([self.files.travelling.get(n, n) for n in table.column_names])


def _hashes(keys: Sequence[pa.ChunkedArray]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A number for the keys of each row: equal for equal keys, in every task."""
    words = hashes_of_rows(keys, len(keys[0]))[:, 0]
    return (words >> np.uint64(33)).astype(np.int64)
