"""What the JVM evaluates has the reference's meaning, and what it filters out changes no match."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from sparkling import case_of, frame_of, rows_of
from strategies import events_table, random_query, random_stream

import ensue
from ensue.automata.predicates import TypeIs
from ensue.data.events import read_events
from ensue.engines import reference
from ensue.language import ast
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.spark.pushdown import _may_prune, _relevant
from ensue.spark.run import prepare

# ---------------------------------------------------------------- predicates over odd values

BIG = 2**63 - 1
INTEGERS = [None, 0, 1, -1, 2, 2**31, -(2**31), 2**53, 2**53 + 1, BIG, BIG - 1, -BIG - 1, -BIG]
FLOATS = [None, 0.0, -0.0, 1.0, 0.1, float("nan"), float("inf"), -float("inf"), 5e-324, 1.8e308, 2.0**53, -(2.0**63)]
SINGLES = [None, 0.0, -0.0, 1.0, 0.1, float("nan"), float("inf"), 3.4e38, 1e-45, 16777216.0]
SMALL = [None, 0, 1, -1, 127, -128]
TEXTS = [
    None,
    "",
    "a",
    "A",
    "ab",
    "a%b",
    "a_b",
    "\N{LATIN SMALL LETTER A WITH DIAERESIS}",
    "\ue000",
    "\U0001f600",
    "\0",
    "\N{LATIN CAPITAL LETTER A WITH DIAERESIS}B",
    "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}",
    "\N{GREEK CAPITAL LETTER ALPHA}\N{GREEK CAPITAL LETTER SIGMA}",
    "stra\N{LATIN SMALL LETTER SHARP S}e",
    "\N{LATIN CAPITAL LETTER DZ WITH CARON}",
    "\N{DESERET CAPITAL LETTER LONG I}",
]
FLAGS = [None, True, False]
INSTANTS = [None, 0, 1, -1, 1_700_000_000_000_000, 1_700_000_000_000_001, -(3 * 10**16), 253_402_300_799_999_999]
TIMES = ["1970-01-01 00:00Z", "2023-11-14 22:13:20.000001Z", "1019-05-03T18:40:00Z", "9999-12-31 23:59:59.999999Z"]
LOCAL = [None, 0, 1_700_000_000_000_001, -(3 * 10**16), 19_675 * 86_400_000_000]
DAYS = [None, 0, -1, 19_675, -347_222, 2_932_896]
LOCAL_TIMES = ["1970-01-01", "2023-11-14 22:13:20.000001", "2023-11-14", "1019-05-03 18:40"]
LITERALS = ["0", "1", "2", "-1", "9007199254740993", str(BIG), str(-BIG), "0.0", "0.1", "-0.5", "1e308", "1.5"]


MAPS: list[Any] = [None, [], [("a", 1)], [("b", 2), ("", None)], [("a", None), ("b", BIG)]]
NESTED = pa.struct([("A", pa.int64()), ("b", pa.string())])
PATHS = ["x.n.A", "x.m['a']", "x.m['b']", "x.m['']", "x.l[1]", "x.l[-2]", "x.l[3]"]
WHOLE = [*PATHS, "length(x.t)", "length(x.n.b)", "abs(x.i)", "abs(x.f)", "-x.i", "-x.f"]
TEXT = ["x.t", "x.u", "x.n.b", "lower(x.t)", "upper(x.t)", "lower(x.u)", "upper(x.n.b)"]


def odd_table(rng: Random, rows: int = 400) -> pa.Table:
    """Every odd value with every other now and then."""
    kinds: dict[str, tuple[list[Any], pa.DataType]] = {
        "i": (INTEGERS, pa.int64()),
        "j": (INTEGERS, pa.int64()),
        "s": (SMALL, pa.int8()),
        "f": (FLOATS, pa.float64()),
        "g": (SINGLES, pa.float32()),
        "t": (TEXTS, pa.string()),
        "u": (TEXTS, pa.string()),
        "b": (FLAGS, pa.bool_()),
        "w": (INSTANTS, pa.timestamp("us", "UTC")),
        "o": (LOCAL, pa.timestamp("us")),
        "d": (DAYS, pa.date32()),
        "n": ([None, *({"A": i, "b": t} for i, t in zip(INTEGERS, TEXTS, strict=False))], NESTED),
        "m": (
            [None, [], [("a", 1)], [("b", 2), ("", None)], [("a", None), ("b", BIG)]],
            pa.map_(pa.string(), pa.int64()),
        ),
        "l": ([None, [], [1], [2, None, -1], [None], [BIG, 0, 3, 1]], pa.list_(pa.int64())),
    }
    columns = {n: pa.array([rng.choice(values) for _ in range(rows)], kind) for n, (values, kind) in kinds.items()}
    return pa.table({"time": pa.array(range(rows)), **columns})


def number(rng: Random, depth: int) -> str:
    if depth and rng.random() < 0.1:
        one, two, three = (number(rng, depth - 1) for _ in range(3))
        return rng.choice(
            [
                f"CASE WHEN {one} < {two} THEN {three} ELSE {two} END",
                f"CASE {one} WHEN {two} THEN {three} WHEN 0 THEN 1 END",
            ]
        )
    if depth and rng.random() < 0.5:
        return f"({number(rng, depth - 1)} {rng.choice('+-*/%')} {number(rng, depth - 1)})"
    return rng.choice([*(f"x.{rng.choice('ijsfg')}" for _ in "abc"), rng.choice(LITERALS), rng.choice(WHOLE)])


def condition(rng: Random, depth: int = 2) -> str:
    """A condition on one event, of all forms that may be pushed down and some that are not."""
    compare = rng.choice(["=", "<>", "<", "<=", ">", ">="])
    match rng.randrange(11) if depth else rng.randrange(7):
        case 0 | 1 | 2:
            return f"{number(rng, depth)} {compare} {number(rng, depth)}"
        case 3:
            return f"{rng.choice(TEXT)} {compare} {rng.choice([*TEXT, repr('a'), repr('')])}"
        case 4:
            no = rng.choice(["", "NOT "])
            return f"{number(rng, 1)} {no}{rng.choice(['IN (0, x.i, 0.1)', 'BETWEEN x.f AND 2', 'IN (1, x.g)'])}"
        case 5:
            return f"{rng.choice(['x.t', 'x.b', number(rng, 2)])} IS {rng.choice(['', 'NOT '])}NULL"
        case 6:
            no, like = rng.choice(["", "NOT "]), rng.choice(["a%", "%", "_", "a_b", "%b", "", "a%b"])
            return f"x.t {no}LIKE '{like}'"
        case 10:
            local = f"{rng.choice('od')} {compare} timestamp('{rng.choice(LOCAL_TIMES)}')"
            return f"x.{rng.choice([local, f'w {compare} timestamp(' + repr(rng.choice(TIMES)) + ')'])}"
        case 7:
            return f"NOT ({condition(rng, depth - 1)})"
        case 8:
            return f"(x.b OR {condition(rng, depth - 1)})"
    return f"({condition(rng, depth - 1)} {rng.choice(['AND', 'OR'])} {condition(rng, depth - 1)})"


def test_conditions_over_odd_values_hold_where_the_reference_says(spark):
    """NaN, NULL, -0.0, huge integers, overflow, division by zero: 300 conditions in one job, all in the JVM."""
    rng = Random("odd values")
    table = odd_table(rng)
    events = frame_of(spark, table)
    columns: list[Any] = []
    expected, texts = [], []
    while len(columns) < 300:
        text = f"SELECT x.time AS t FROM S WHERE S AS x FILTER {condition(rng)}"
        job = prepare(parse_query(text), text, events, time="time", type=None, unit=None, tiebreak=None)
        if job.pushdown.local or job.pushdown.relevant is None:
            continue  # Python evaluates some of it
        columns.append(F.coalesce(job.pushdown.relevant, F.lit(False)).alias(f"c{len(columns)}"))
        expected.append(set(ensue.match(table, text, engine="reference").to_arrow()["t"].to_pylist()))
        texts.append(text)
    found = events.select("time", *columns).toArrow()
    times = found["time"].to_pylist()
    wrong = []
    for i, (text, wanted) in enumerate(zip(texts, expected, strict=True)):
        got = {t for t, yes in zip(times, found[f"c{i}"].to_pylist(), strict=True) if yes}
        if got != wanted:
            row = table.slice(min(got ^ wanted), 1).to_pylist()[0]
            wrong.append(f"{text}\n  {'too many' if min(got ^ wanted) in got else 'missing'}, such as {row}")
    assert wrong == [], f"{len(wrong)} of {len(texts)}\n" + "\n".join(wrong[:5])
    assert sum(0 < len(e) < len(table) for e in expected) > 150


# ---------------------------------------------------------------- events that change nothing


def holds(predicate, event, schema) -> bool:
    """Whether a predicate holds at one event, by the reference."""
    if isinstance(predicate, TypeIs):
        return bool(event["type"] == predicate.name)
    query = ast.Query(None, ("S",), ast.Filter(ast.As(ast.Any(), "x"), ast.Each("x", predicate.expression)))
    stream = read_events(pa.Table.from_pylist([event], schema), ("S",), unit="s")
    return bool(len(reference.evaluate(check(query, print_query(query), stream.schema), stream)))


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 400])
def test_pruned_events_change_no_match(first):
    """Random queries: events at which no guard of `relevant` holds are left out, and the matches stay as they were."""
    pruned = queries = 0
    for seed in range(first, first + 400):
        rng = Random(f"prune {seed}")
        text = print_query(random_query(rng))
        case = case_of(str(seed), text, events_table(random_stream(rng, 10)), unit="s")
        checked = check(parse_query(text), text, read_events(case.table, ("S",), unit="s").schema)
        plan = choose(checked).plan
        if plan is None or not _may_prune(plan) or (guards := _relevant(plan)) is None:
            continue
        queries += 1
        kept = []
        known: dict[object, bool] = {}
        for event in case.table.to_pylist():
            known = {p: holds(p, event, case.table.schema) for p in plan.predicates}
            if any(all(known[p] == yes for p, yes in guard) for guard in guards):
                kept.append(event)
        pruned += len(case.table) - len(kept)
        fewer = pa.Table.from_pylist(kept, case.table.schema)
        found = rows_of(ensue.query(text).run(fewer, unit="s", engine="reference").to_arrow())
        if not case.limited:
            assert found == case.expected, f"seed {seed}: {text}\n{case.table.to_pylist()}"
    assert queries > 40
    assert pruned > 40


def test_look_back_in_an_item_keeps_all_events(spark):
    """PREV in an item counts events that the pattern does not use."""
    rows = [{"time": t, "type": x, "v": t} for t, x in enumerate("CABCCAB")]
    text = "SELECT PREV(x.v) AS p, PREV(y.v, 2) AS q FROM S WHERE A AS x ; B AS y"
    events = spark.createDataFrame(pa.Table.from_pylist(rows))
    assert rows_of(ensue.match(events, text).toArrow()) == rows_of(ensue.match(rows, text).to_arrow())


def test_a_window_in_events_counts_all_of_them(spark):
    rows = [{"time": t, "type": x} for t, x in enumerate("ACCBAB")]
    text = "SELECT A.time AS a, B.time AS b FROM S WHERE A ; B WITHIN 3 EVENTS"
    events = spark.createDataFrame(pa.Table.from_pylist(rows))
    assert rows_of(ensue.match(events, text).toArrow()) == rows_of(ensue.match(rows, text).to_arrow())


def test_keys_are_sent_where_tasks_do_not_share_them_out(spark):
    """No match shows an event, so the other columns of all events are NULL in Python."""
    rows = [
        {"time": t, "type": x, "k": k} for t, (x, k) in enumerate(zip("ABABBA", (None, 0, 0, 0, 1, 1), strict=True))
    ]
    text = "SELECT * FROM S WHERE (b TO e WHERE e > b - 1 AND e IS B) PARTITION BY k CONSUME BY ANY LIMIT 1 PER END"
    found = rows_of(ensue.match(frame_of(spark, pa.Table.from_pylist(rows)), text).toArrow())
    assert found == rows_of(ensue.match(rows, text, engine="reference").to_arrow())
    assert len(found) == 3
