"""Input and output of Spark on the command line: Spark reads files, and matches are handed over table by table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ensue.data.arrow_bytes import table_bytes, table_of
from ensue.errors import DataError
from ensue.results.rows import SHOWN, as_text, count_of
from ensue.spark.packing import Batches, gathered
from ensue.spark.type_mapping import arrow_schema

# ---------------------------------------------------------------- events in


_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
_OPTIONS = {
    "parquet": {},
    # A value that does not fit its column is an error, as in the other engines; Spark's default is to make it NULL.
    "csv": {"header": "true", "inferSchema": "true", "mode": "FAILFAST"},
    "json": {"inferTimestamp": "true", "mode": "FAILFAST"},
}


def read_frame(path: str) -> Callable[[SparkSession], DataFrame]:
    """How a session reads a file or a folder of files; an unknown format raises before a session is started."""
    named = _format(path)
    return lambda session: session.read.options(**_OPTIONS[named]).format(named).load(path)


def _format(path: str) -> str:
    plain = "://" not in path and not any(c in path for c in "*?[{")
    if plain and not Path(path).exists():
        raise DataError(f"there is no file {path}")
    names = [path]
    if plain and Path(path).is_dir():  # like Spark, ignore names that begin with '.' or '_'
        names += sorted(f.name for f in Path(path).rglob("*") if f.is_file() and f.name[0] not in "._")
    for name in names:
        endings = [s.lower() for s in Path(name).suffixes if s not in (".gz", ".bz2", ".zst")]
        if endings and endings[-1] in _FORMATS:
            return _FORMATS[endings[-1]]
    raise DataError(f"cannot tell the format of {path}: Spark reads files that end in .parquet, .csv or .jsonl")


# ---------------------------------------------------------------- matches out


class SparkMatches:
    """The matches of a batch in the order of their ends, or as they are `sorted`; found once, handed over in tables."""

    def __init__(self, frame: DataFrame, *, sorted: bool = False) -> None:
        # Stored on the executors' disks, because sorting reads the rows twice and would find the matches twice.
        self._kept = frame.persist(StorageLevel.DISK_ONLY)
        self._in_order = self._kept if sorted else self._kept.orderBy("end_time", "start_time")

    def tables(self) -> Iterator[pa.Table]:
        """All rows, in at least one table; the driver holds the rows of one partition at a time."""
        schema = arrow_schema(self._kept.schema)
        yield schema.empty_table()
        for row in self._in_order.mapInArrow(_as_blobs, "rows binary").toLocalIterator():
            yield table_of(bytes(row.rows)).cast(schema)

    def __repr__(self) -> str:
        count = self._kept.count()
        return as_text(self._in_order.limit(SHOWN).toArrow(), count_of(count, "match", "matches"))


def running_tasks(session: SparkSession) -> tuple[int, int]:
    """How many tasks of the stages that run now are done, and how many they have."""
    tracker = session.sparkContext.statusTracker()
    stages = [found for number in tracker.getActiveStageIds() if (found := tracker.getStageInfo(number)) is not None]
    return sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages)


def _as_blobs(batches: Batches) -> Batches:
    """`mapInArrow` function: packs rows into Arrow blobs, so that the driver does not handle single rows."""
    for table in gathered(batches, _ROWS_A_BLOB):
        yield pa.RecordBatch.from_pydict({"rows": pa.array([table_bytes(table.combine_chunks())], pa.binary())})


_ROWS_A_BLOB = 1 << 14


@contextmanager
def explaining_spark_errors() -> Iterator[None]:
    """Turns Spark's exceptions into a DataError that says what is wrong, without the trace."""
    try:
        yield
    except PySparkException as e:
        raise DataError(_reason(str(e))) from None


def _reason(said: str) -> str:
    """The reason of a Spark error: our own error in a worker's trace, the text of `raise_error`, or the first line."""
    ours = re.findall(r"ensue\.errors\.\w+: (.*(?:\n  +(?:hint|or): .*)*)", said) or re.findall(
        r"\[USER_RAISED_EXCEPTION\] (.*?)(?: SQLSTATE: .*)?$", said, re.MULTILINE
    )
    return str(ours[0]) if ours else f"Spark: {said.strip().splitlines()[0]}"
