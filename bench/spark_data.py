"""The events for the measurements on Spark: Parquet files that are made once from a seed, and kept in bench/.cache."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

CACHE = Path(__file__).parent / ".cache"
TYPES = [chr(ord("A") + i) for i in range(20)]
FILES = 10
#: One millisecond apart, from 2024 on.
_BEGIN = 1_704_067_200_000_000
_STEP = 1_000  # microseconds


def events_of(rows: int, keys: int) -> Path:
    """A folder of ten Parquet files in the order of time. The events are spread evenly over 20 types and the keys."""
    folder = CACHE / f"{rows}-{keys}"
    if not folder.exists():
        unfinished = CACHE / f"{rows}-{keys}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        rng = np.random.default_rng(keys)
        for number in range(FILES):
            first, last = rows * number // FILES, rows * (number + 1) // FILES
            table = _table(rng, first, last, keys)
            path = unfinished / f"part-{number:02}.parquet"
            # Small row groups, which several tasks can read, as if Spark had written the files.
            pq.write_table(table, path, row_group_size=max(1, (last - first) // 8))
            os.utime(path, (1_700_000_000 + number,) * 2)  # a stream reads older files first
        unfinished.rename(folder)
    return folder


def _table(rng: np.random.Generator, first: int, last: int, keys: int) -> pa.Table:
    ids = np.arange(first, last)
    names = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, len(TYPES), len(ids), dtype=np.int8)), TYPES)
    return pa.table(
        {
            "id": ids,
            "time": pa.array(_BEGIN + ids * _STEP).cast(pa.timestamp("us", "UTC")),
            "type": names.cast(pa.string()),
            "key": rng.integers(0, keys, len(ids)).astype(np.int32),
            "v": rng.random(len(ids)),
        }
    )


def as_csv(folder: Path) -> Path:
    """The same events as CSV files, for a program that cannot read Parquet here."""
    copy = folder.with_name(f"{folder.name}-csv")
    if not copy.exists():
        unfinished = folder.with_name(f"{folder.name}-csv.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for path in sorted(folder.glob("*.parquet")):
            table = pq.read_table(path)
            plain = table.set_column(1, "time", table.column("time").cast(pa.timestamp("ms")))
            options = pyarrow.csv.WriteOptions(include_header=False)
            pyarrow.csv.write_csv(plain, unfinished / f"{path.stem}.csv", options)
        unfinished.rename(copy)
    return copy
