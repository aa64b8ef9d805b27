"""The streams and queries that are measured. They are made from a seed, so they are the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

TYPES = [f"A{i}" for i in range(1, 25)]
NAMES = ["INTC", "RIMM", "QQQ", "IPIX", "AMAT", "CSCO", "YHOO", "DELL", "ORCL", "MSFT"] + [f"S{i}" for i in range(10)]


def typed_stream(events: int, seed: int = 1) -> pa.Table:
    """Events spread evenly over 24 types, one each millisecond."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(TYPES), events, dtype=np.int8)
    return pa.table(
        {
            "time": pa.array(np.arange(events)),
            "type": pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(TYPES)),
        }
    )


def blocks(sizes: list[int]) -> pa.Table:
    """A number of events of the first type, then as many of the second, and so on, one each millisecond."""
    codes = np.repeat(np.arange(len(sizes), dtype=np.int8), sizes)
    return pa.table(
        {
            "time": pa.array(np.arange(len(codes))),
            "type": pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(TYPES)),
        }
    )


def stock_stream(events: int, seed: int = 2) -> pa.Table:
    """Buys and sells of 20 names, one in 2.5 milliseconds on average."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, events, dtype=np.int8)
    names = rng.integers(0, len(NAMES), events, dtype=np.int8)
    return pa.table(
        {
            "time": pa.array(np.cumsum(rng.integers(0, 6, events))),
            "type": pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["SELL", "BUY"])),
            "name": pa.DictionaryArray.from_arrays(pa.array(names), pa.array(NAMES)),
            "price": pa.array(rng.integers(1, 50, events).astype(np.float64)),
            "volume": pa.array(rng.integers(1, 11, events) * 100),
        }
    )


def keyed_stream(events: int, types: int, keys: int, seed: int = 3) -> pa.Table:
    """Events spread evenly over types and keys, one each millisecond."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, types, events, dtype=np.int8)
    letters = [chr(ord("A") + i) for i in range(types)]
    return pa.table(
        {
            "time": pa.array(np.arange(events)),
            "type": pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(letters)),
            "key": pa.array(rng.integers(0, keys, events)),
            "v": pa.array(rng.random(events)),
        }
    )


@dataclass(frozen=True)
class Workload:
    """A query over a stream. `name` does not change, so that results can be compared over time."""

    name: str
    query: str
    stream: pa.Table
    unit: str = "ms"


def sequence(steps: int, window: int, *, output: bool) -> str:
    names = TYPES[:steps] if output else [*TYPES[: steps - 1], "NEVER"]
    return f"SELECT * FROM S WHERE {' ; '.join(names)} WITHIN {window} EVENTS"


def selected(selector: str, window: int) -> str:
    return f"SELECT {selector} * FROM S WHERE {' ; '.join(TYPES[:3])} WITHIN {window} EVENTS"


STOCK = """
SELECT * FROM S
WHERE SELL AS a ; BUY AS b ; BUY AS c ; SELL AS d
FILTER a.name = 'INTC' AND b.name = 'RIMM' AND c.name = 'QQQ' AND d.name = 'IPIX'
WITHIN 100 EVENTS WITHIN 500 ms
"""
KEYED = "SELECT * FROM S WHERE A AS x ; B AS y ; C AS z PARTITION BY key WITHIN 1 s"


def selector_workloads(events: int) -> list[Workload]:
    """The selectors of whole queries, and one inside a pattern."""
    typed = typed_stream(events)
    # MAX keeps all matches of this sequence, which are 3.6 billion within 10,000 events.
    windows = [(s, w) for s in ("NEXT", "LAST", "MAX") for w in (100, 1_000, 10_000) if (s, w) != ("MAX", 10_000)]
    inside = "SELECT * FROM S WHERE NEXT(A1 ; A2) : A3 WITHIN 10000 EVENTS"
    return [
        *(Workload(f"{s} of a sequence of 3 within {w}", selected(s, w), typed) for s, w in windows),
        *(
            Workload(f"{s} of a sequence of 3", f"SELECT {s} * FROM S WHERE {' ; '.join(TYPES[:3])}", typed)
            for s in ("NEXT", "LAST")
        ),
        Workload("MAX of A1 ; A2+ ; A3 within 1000", selected("MAX", 1_000).replace("A2", "A2+"), typed),
        Workload("NEXT inside a pattern", inside, typed),
    ]


def engine_workloads(events: int) -> list[Workload]:
    """The workloads of the engine: on one core, with all matches as positions."""
    typed = typed_stream(events)
    stock = stock_stream(events)
    found = [
        Workload(f"sequence of {n} within {w}, no output", sequence(n, w, output=False), typed)
        for n in (3, 6, 12)
        for w in (100, 1_000, 10_000)
    ]
    # With longer windows there are too many matches: 3.6 billion for 3 types within 10,000 events.
    found += [
        Workload(f"sequence of {n} within {w}, all matches", sequence(n, w, output=True), typed)
        for n, w in ((3, 100), (3, 1_000), (6, 100), (12, 100))
    ]
    return [
        *found,
        Workload("A1 ; A2+ ; A3 within 100", "SELECT * FROM S WHERE A1 ; A2+ ; A3 WITHIN 100 EVENTS", typed),
        Workload("stock, 4 steps with names", STOCK, stock),
        Workload("stock, partition by volume", STOCK.replace("WITHIN 100", "PARTITION BY volume WITHIN 100"), stock),
        Workload("3 steps, 1,000,000 keys", KEYED.replace("1 s", "1000 s"), keyed_stream(events, 10, 1_000_000)),
    ]
