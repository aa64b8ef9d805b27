"""Queries that need more memory than there is, or seem to. Each must be answered or refused with an error.

Each has a name, events, a text, and what is done with its result. They run in processes with a limit on their memory
(`limited_process.py`), so the events have names here, and `events_of` makes them there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

#: A week of earthquakes (USGS, public domain).
QUAKES = Path(__file__).parents[1] / "hostile" / "quakes.parquet"
ROWS = 1707


@dataclass(frozen=True)
class Hostile:
    """A query over events. `method` runs it, and `then` says what is done with the result."""

    name: str
    events: str  # "A 60": sixty events of the type A; "ABC 300": of these types in turn; "quakes"
    text: str
    method: str = "run"
    then: str = "len"
    engine: str = "auto"
    on_spark: bool = True

    def __str__(self) -> str:
        return self.name


def events_of(said: str) -> pa.Table:
    """The events of a query: one each second, with the types in turn, and with values and keys that repeat."""
    if said == "quakes":
        import pyarrow.parquet as pq

        return pq.read_table(QUAKES)
    types, number, *keys = said.split()
    n = int(number)
    columns = {
        "time": pa.array([k * 1_000_000 for k in range(n)], pa.timestamp("us", "UTC")),
        "type": [types[k % len(types)] for k in range(n)],
        "v": pa.array([k * 7919 % 101 for k in range(n)], pa.int64()),
        "w": pa.array([k * 31 % 17 / 7 for k in range(n)], pa.float64()),
        "k": pa.array([k if keys == ["keys"] else k % 5 for k in range(n)], pa.int64()),
        "s": ["a text of some length " * 5] * n if keys == ["wide"] else [f"t{k % 13}" for k in range(n)],
    }
    return pa.table(columns)


#: What can be done with a result.
THEN: dict[str, Callable[[Any], object]] = {
    "len": len,
    "arrow": lambda found: found.to_arrow().num_rows,
    "pandas": lambda found: len(found.to_pandas()),
    "repr": repr,
    "first row": lambda found: next(iter(found)),
    "tables": lambda found: sum(map(len, found.tables())),
    "marks": lambda found: [len(m.positions) for m in found.marks.values()],
}
_NEAR = "abs({0}.lat - {1}.lat) < 1 AND abs({0}.lon - {1}.lon) < 1"


def _near(a: str, b: str) -> str:
    return _NEAR.format(a, b)


def _all_of(*parts: str) -> str:
    return " ALL ".join(parts)


SELECT = "SELECT * FROM S WHERE "
QUERIES: list[Hostile] = [
    # Matches of one end, and of all ends together.
    Hostile("powers of two in a window", "A 60", SELECT + "A+ WITHIN 60 EVENTS"),
    Hostile("powers of two in time", "A 60", SELECT + "A+ WITHIN 1 h"),
    Hostile("powers of two of variables", "A 200", SELECT + "(A AS x)+ ; (A AS y)+ ; (A AS z)+"),
    Hostile("fourth powers", "A 3000", SELECT + "A ; A ; A ; A"),
    Hostile("cubes over many events", "A 20000", SELECT + "A ; A ; A WITHIN 5000 EVENTS"),
    Hostile("nested iterations", "ABCD 80", SELECT + "((A+ ; B+)+ ; (C+ ; D+)+)+"),
    Hostile("many rounds", "A 2000", SELECT + "A{1,20000}"),
    Hostile("rounds of a choice", "AB 100", SELECT + "(A OR B OR ANY){5,50} WITHIN 100 EVENTS"),
    Hostile("in partitions", "A 1000", SELECT + "A+ PARTITION BY k WITHIN 100 EVENTS"),
    Hostile("in many partitions", "A 300000 keys", SELECT + "A+ PARTITION BY k"),
    Hostile("every order of five", "ABCDE 300", SELECT + _all_of("A", "B", "C", "D", "E")),
    Hostile("every order of seven", "ABCDEFG 300", SELECT + _all_of(*"ABCDEFG")),
    Hostile("every order of twelve", "ABCDEFGHIJKL 200", SELECT + _all_of(*"ABCDEFGHIJKL")),
    Hostile("up to a limit", "A 60", SELECT + "A+ WITHIN 60 EVENTS LIMIT 3 PER END"),
    Hostile("a limit that is none", "A 60", SELECT + "A+ WITHIN 60 EVENTS LIMIT 1000000000 PER END"),
    Hostile("consumed at each end", "A 60", SELECT + "A{30,} CONSUME BY ANY"),
    Hostile("without all but one variable", "AB 120", "SELECT y FROM S WHERE A+ ; B AS y"),
    Hostile("ends alone", "A 3000", SELECT + "A+", method="detect"),
    Hostile("ends in a long stream", "A 30000", SELECT + "A+", method="detect"),
    # Choices.
    Hostile("the first of powers of two", "AB 300", "SELECT NEXT * FROM S WHERE A+ ; B WITHIN 300 EVENTS"),
    Hostile("the largest of many", "AB 300", "SELECT MAX * FROM S WHERE A{1,100} ; B WITHIN 300 EVENTS"),
    Hostile(
        "the last of those that rise",
        "A 100",
        "SELECT LAST * FROM S WHERE (A AS x FILTER x.v > LASTOF(x).v - 50)+ WITHIN 100 EVENTS",
    ),
    Hostile(
        "choices in a choice", "ABC 200", "SELECT MAX * FROM S WHERE LAST(A+ ; B) ; MAX(B+ ; C+) WITHIN 200 EVENTS"
    ),
    # Conditions between events.
    Hostile("values of each round", "A 400", SELECT + "(A AS x FILTER x.v > LASTOF(x).v)+"),
    Hostile("sums of two", "A 3000", SELECT + "A AS x ; A AS y ; A AS z FILTER x.v + y.v = z.v + 1 AND x.w <> y.w"),
    Hostile("pairs of two sets", "AB 100", SELECT + "(A AS x)+ ; (B AS y)+ FILTER x.v + y.v <> 7 WITHIN 40 EVENTS"),
    Hostile(
        "choices of five sets",
        "ABCDE 120",
        "SELECT STRICT * FROM S WHERE (A AS a OR B AS b OR C AS c OR D AS d OR E AS e){100}"
        " FILTER a.v + b.v + c.v + d.v + e.v <> 3",
    ),
    Hostile("aggregates of sets", "AB 60", SELECT + "(A AS x)+ ; B AS y FILTER avg(x.v) > y.v WITHIN 50 EVENTS"),
    Hostile("gaps of a clock", "A 200", SELECT + "A+[<= 5 s]"),
    Hostile("gaps of two clocks", "AB 400", SELECT + "(A ;[<= 9 s] B)+[>= 1 s]"),
    Hostile("a deadline for all", "A 2000", SELECT + "A ; A ; A ; NOT B WITHIN 1 d"),
    # The reference.
    Hostile("the reference", "A 60", SELECT + "A+ WITHIN 60 EVENTS", engine="reference", on_spark=False),
    Hostile("the reference over pairs", "A 5000", SELECT + "A ; A ; A", engine="reference", on_spark=False),
    Hostile("left to the reference", "A 40", SELECT + "A AS x ; (A AS y FILTER PREV(y.v) < x.v)+"),
    # Short texts with large automata.
    Hostile("rounds of rounds", "AB 100", SELECT + "((((A{1,9} ; B){1,9} ; A){1,9} ; B){1,9})+"),
    Hostile("the largest of rounds", "A 60", "SELECT MAX * FROM S WHERE (A{1,40} ; A{1,40}){1,9} WITHIN 60 EVENTS"),
    Hostile("a window inside", "AB 300", SELECT + "((A ; B) WITHIN 20000 EVENTS) ; (A ; B+ WITHIN 90000 EVENTS)"),
    Hostile("steps that may be left out", "AB 100", SELECT + " ; ".join(["A?", "B?"] * 90) + " ; A"),
    Hostile("at once", "A 100", SELECT + " AND ".join(f"(ANY{{{n},}})" for n in (2, 3, 5, 7))),
    Hostile("absent in absent", "ABCD 200", SELECT + "A ; NOT ((B ; C)+ ; D+) ; B ; NOT ((C ; D)+ ; A) ; D"),
    # Earthquakes.
    Hostile(
        "three quakes of growing magnitude near each other",
        "quakes",
        SELECT + "S AS x ; S AS y ; S AS z FILTER y.mag > x.mag AND z.mag > y.mag"
        f" AND {_near('x', 'y')} AND {_near('y', 'z')} WITHIN 2 d",
    ),
    Hostile("three quakes", "quakes", SELECT + "S AS x ; S AS y ; S AS z WITHIN 7 d"),
    Hostile("a swarm", "quakes", SELECT + "(S AS x)+ ; S AS y FILTER y.mag > 5 WITHIN 1 d"),
    Hostile(
        "a swarm near a big one",
        "quakes",
        SELECT + f"(S AS x)+ ; S AS y FILTER y.mag > 5 AND {_near('x', 'y')} WITHIN 1 d",
    ),
    Hostile(
        "three quakes near a strong one",
        "quakes",
        SELECT
        + "(S AS m FILTER m.mag >= 5) ; (S AS b FILTER distance(m.lat, m.lon, b.lat, b.lon) <= 100000){3} WITHIN 1 d",
    ),
    Hostile(
        "three quakes near a strong one, spelled out",
        "quakes",
        SELECT + "(S AS m FILTER m.mag >= 5) ; (S AS b FILTER 2 * 6371 * asin(sqrt("
        "power(sin(radians(b.lat - m.lat) / 2), 2) + cos(radians(m.lat)) * cos(radians(b.lat))"
        " * power(sin(radians(b.lon - m.lon) / 2), 2))) <= 100){3} WITHIN 1 d",
    ),
    Hostile("aftershocks", "quakes", SELECT + "S AS m ; (S AS a FILTER a.mag < m.mag)+ FILTER m.mag > 4.5 WITHIN 1 d"),
    # Tables that are larger than the matches from which they are made.
    Hostile("a wide table", "AB 3000 wide", SELECT + "A AS x ; B AS y WITHIN 2000 EVENTS", then="arrow"),
    Hostile(
        "a wide frame", "AB 2000 wide", SELECT + "A AS x ; B AS y WITHIN 500 EVENTS", then="pandas", on_spark=False
    ),
    Hostile(
        "the first rows", "AB 3000 wide", SELECT + "A AS x ; B AS y WITHIN 2000 EVENTS", then="repr", on_spark=False
    ),
    Hostile(
        "a row at a time",
        "AB 3000 wide",
        SELECT + "A AS x ; B AS y WITHIN 2000 EVENTS",
        then="first row",
        on_spark=False,
    ),
    Hostile("all rows in parts", "AB 2000 wide", SELECT + "A AS x ; B AS y WITHIN 500 EVENTS", then="tables"),
    Hostile("all positions", "AB 5000", SELECT + "A AS x ; B AS y", then="marks", on_spark=False),
]
