"""The minimizers of Praveen and Hitarth, section 5, in a batch: each query reads the matches of the one before."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import groupby
from random import Random

import pyarrow as pa

import ensue

T0 = datetime(2024, 1, 1, tzinfo=UTC)
T, P, READS, LENGTH = 7, 3, 5, 80
CODES = " + ".join(f"{4 ** (P - 1 - k)} * e{k}.code" for k in range(P))
CHANGES, STAYS = "ANY[PREV(least) IS NULL OR least <> PREV(least)]", "ANY[least = PREV(least)]"
PIPELINE = (
    f"SELECT {CODES} AS x FROM reads WHERE {' : '.join(f'ANY AS e{k}' for k in range(P))} PARTITION BY read",
    f"SELECT min(w.x) AS least FROM O_P WINDOW w AS (IS ANY:{{{T - P + 1}}}) PARTITION BY read",
    f"""SELECT first(w.least) AS least, count(w) AS mers FROM O_MIN
        WINDOW w AS (IS {CHANGES} : {STAYS}:* UNTIL (ANY[least <> PREV(least)] OR END)) PARTITION BY read""",
)


def reads() -> list[list[int]]:
    rng = Random("reads")
    return [[rng.randrange(4) for _ in range(LENGTH)] for _ in range(READS)]


def supermers(codes: list[int]) -> list[tuple[int, int]]:
    """The least index of each supermer and its number of T-mers; the end of the read closes the last one."""
    indices = [sum(c * 4 ** (P - 1 - k) for k, c in enumerate(codes[i : i + P])) for i in range(LENGTH - P + 1)]
    least = [min(indices[i : i + T - P + 1]) for i in range(LENGTH - T + 1)]
    return [(x, len(list(same))) for x, same in groupby(least)]


def rows(table: pa.Table) -> Counter[tuple[int, int, int]]:
    return Counter((r["read"], r["least"], r["mers"]) for r in table.to_pylist())


def test_supermers(spark):
    table = pa.table(
        [
            pa.array(
                [T0 + timedelta(seconds=s) for _ in range(READS) for s in range(LENGTH)], pa.timestamp("us", "UTC")
            ),
            pa.array([n for n in range(READS) for _ in range(LENGTH)]),
            pa.array([c for codes in reads() for c in codes]),
        ],
        ["time", "read", "code"],
    )
    expected = Counter((n, *found) for n, codes in enumerate(reads()) for found in supermers(codes))
    queries = [ensue.query(text) for text in PIPELINE]
    on_spark = reduce(
        lambda frame, query: query.run(frame, time="end_time" if "end_time" in frame.columns else "time", closed=True),
        queries,
        spark.createDataFrame(table),
    )
    assert rows(on_spark.toArrow()) == expected
    in_memory = table
    for query in queries:
        time = "end_time" if "end_time" in in_memory.column_names else "time"
        in_memory = query.run(in_memory, time=time, closed=True).to_arrow()
    assert rows(in_memory) == expected
