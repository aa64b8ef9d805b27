"""What is aggregated over all matches is what comes of them one by one: random queries, cuts, states, threads."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from aggregating import alike, random_aggregation, random_events, rows
from amounts import most, shares

import ensue
from ensue.data.events import read_events
from ensue.errors import DataError, EngineError, QueryError
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.results.running_groups import RunningTotals
from ensue.results.totals import Totals

#: Sums of these are not exact, relative to the greatest number in them.
GREATEST = 1e301


def totals(query: ensue.Query, table: pa.Table, engine: str = "auto") -> Totals:
    found = query.run(table, unit="s", engine=engine)
    assert isinstance(found, Totals)
    return found


def compare(seed: int) -> str:
    """One random query over one random stream, in every way there is."""
    rng = Random(f"aggregate {seed}")
    text = print_query(random_aggregation(rng))
    table = random_events(rng)
    try:
        query = ensue.query(text)
        query.check(table.schema)
    except QueryError:  # such as what ALL joins, or two sets in one aggregate
        return "refused"
    told = (seed, text, table.to_pylist())
    defined = totals(query, table, "reference")
    try:
        found = totals(query, table)
    except EngineError:  # such as an integer of -2^63 that is compared between events
        return "refused"
    expected, size = rows(defined.to_arrow()), GREATEST if "f" in text else 0.0
    assert found.to_arrow().schema == defined.to_arrow().schema, told
    assert alike(rows(found.to_arrow()), expected, size), (told, rows(found.to_arrow()), expected)
    assert found.exact("n") == defined.exact("n"), told
    assert query.ast.aggregation is not None
    in_pieces = rows(_in_pieces(query, table, rng))
    assert alike(_in_order(in_pieces, text), _in_order(expected, text), size), (told, in_pieces, expected)
    return "nothing" if all(row[-len(query.ast.aggregation.items)] == 0 for row in expected) else "compared"


def _in_order(found: list[tuple[object, ...]], text: str) -> list[tuple[object, ...]]:
    """Groups of a running query come when they are complete."""
    return sorted(found, key=repr) if "GROUP BY" in text else found


def _in_pieces(query: ensue.Query, table: pa.Table, rng: Random) -> pa.Table:
    stream = read_events(table, query.ast.streams, unit="s")
    choice = choose(check(query.ast, query.text, stream.schema))

    def new() -> RunningTotals:
        return RunningTotals(choice, stream.tick, stream.time_column.type)

    running = new()
    found = []
    start = 0
    while start < len(stream):
        size = rng.choice([0, 1, 2, 3, len(stream)])
        found.append(running.push(stream.slice(start, size)))
        start += size
        if rng.random() < 0.3:
            state, running = running.save(), new()
            running.load(state)
    assert query.ast.aggregation is not None
    if query.ast.aggregation.grouped and not len(stream):
        return query.run(table, unit="s").to_arrow()
    # Nothing more is told of the end than of the table: what waits for a deadline goes on waiting.
    found.append(running.groups_left())
    return pa.concat_tables(found)


@pytest.mark.parametrize("seeds", shares(1_000, each=250))
def test_random_queries(seeds: range) -> None:
    became = Counter(map(compare, seeds))
    assert became["compared"] > most(seeds, 0.3), became


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_any_number_of_threads_gives_the_same(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random("threads")
    columns = {
        "time": pa.array(range(1_500), pa.int64()),
        "type": pa.array([rng.choice("AABBC") for _ in range(1_500)]),
        "v": pa.array([rng.choice((1, 2, None, 2**61)) for _ in range(1_500)], pa.int64()),
        "k": pa.array([rng.randrange(7) for _ in range(1_500)], pa.int64()),
    }
    table = pa.table(columns)
    monkeypatch.setattr("ensue.engines.whole_tables.os.cpu_count", lambda: threads)
    monkeypatch.setattr("ensue.engines.parallel.SMALL", 100)
    items = "count(*) AS n, sum(y.v) AS s, max(sum(y.v)) AS best, avg(end_time - start_time) AS took"
    pattern = "FROM S WHERE A AS x ; (B AS y)+ ; C WITHIN 9 EVENTS"
    matches = len(ensue.query(f"SELECT * {pattern}").run(table, unit="s"))
    for rest in ("", "GROUP BY EVERY 1 min", "PARTITION BY k GROUP BY k, EVERY 10 min", "GROUP BY END"):
        found = totals(ensue.query(f"AGGREGATE {items} {pattern} {rest}"), table)
        assert sum(n or 0 for n in found.exact("n")) == matches or "PARTITION" in rest
        assert alike(rows(found.to_arrow()), _OF_ONE_THREAD.setdefault(rest, rows(found.to_arrow())))


@pytest.mark.parametrize(
    "type_",
    [pa.date32(), pa.date64()]
    + [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Asia/Kolkata")],
    ids=str,
)
def test_every_type_of_time(type_: pa.DataType) -> None:
    """Days around 1970: buckets begin at whole multiples since then, also before."""
    days = [-400, -3, -2, -1, 0, 1, 2, 5, 500]
    seconds = pa.array([86_400 * day for day in days], pa.int64()).cast(pa.timestamp("s"))
    zone = getattr(type_, "tz", None)
    times = seconds.cast(type_) if zone is None else seconds.cast(pa.timestamp(type_.unit)).cast(pa.int64()).cast(type_)
    table = pa.table({"time": times, "type": ["A"] * len(days), "k": [day % 2 for day in days]})
    items = "count(*) AS n, min(start_time) AS earliest, max(end_time) AS latest, max(end_time - start_time) AS longest"
    text = f"AGGREGATE {items}, avg(end_time - start_time) AS took FROM S WHERE A ; A PARTITION BY k GROUP BY"
    for groups in ("EVERY 2 d", "k, EVERY 7 d", "k", "END"):
        query = ensue.query(f"{text} {groups}")
        found, defined = (query.run(table, engine=engine).to_arrow() for engine in ("auto", "reference"))
        assert found.equals(defined), (groups, found, defined)
        assert len(found) > 1
    (begins,) = query.run(table).to_arrow().group_by([]).aggregate([("n", "sum")]).to_pylist()
    assert begins["n_sum"] == 16  # 4 of the days are odd and 5 are even, of which any two are a match
    buckets = ensue.query("AGGREGATE count(*) AS n FROM S WHERE A GROUP BY EVERY 2 d").run(table).to_arrow()
    expected = [-400, -4, -2, 0, 2, 4, 500]
    assert buckets.column("end_bucket").cast(pa.int32() if pa.types.is_date32(type_) else pa.int64()).to_pylist() == [
        day * _TICKS_A_DAY[str(type_).partition("[")[2].partition(",")[0].rstrip("]")] for day in expected
    ]
    assert buckets.column("n").to_pylist() == [1, 1, 2, 2, 1, 1, 1]


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize(
    ("time", "length", "message"),
    [
        (2**62, "200000 d", "EVERY 200000 d is longer than the times of these events reach"),
        (-(2**63) + 1, "1 h", "a bucket begins before the earliest time"),
    ],
)
def test_buckets_that_no_time_can_name(engine: str, time: int, length: str, message: str) -> None:
    query = ensue.query(f"AGGREGATE count(*) AS n FROM S WHERE A GROUP BY EVERY {length}")
    with pytest.raises(DataError, match=message):
        query.run([{"time": time, "type": "A"}], unit="ns", engine=engine)


_TICKS_A_DAY = {"day": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_OF_ONE_THREAD: dict[str, list[tuple[object, ...]]] = {}
