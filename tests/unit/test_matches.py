"""The result: columns and their order and types, every aggregate, conversions, and what people see."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ensue

ROWS = [
    {"time": 1, "type": "A", "v": 3, "w": 0.5, "s": "b"},
    {"time": 2, "type": "A", "v": None, "w": 1.5, "s": None},
    {"time": 3, "type": "A", "v": 4, "w": None, "s": "a"},
    {"time": 4, "type": "B", "v": 1, "w": 2.5, "s": "<b>"},
]
TABLE = pa.Table.from_pylist(ROWS)
ALL_THREE = "(A AS x){3} ; B AS y"


def table(items, pattern="A AS x ; B AS y", clauses="", events=TABLE, **options):
    return ensue.match(events, f"SELECT {items} FROM S WHERE {pattern} {clauses}", **options).to_arrow()


# ---------------------------------------------------------------- columns


def test_columns_and_their_order():
    found = table("y.v, x, x.s AS name, x.v + y.v AS total", clauses="PARTITION BY type", pattern="A AS x ; A AS y")
    assert found.column_names == ["type", "start_time", "end_time", "y_v", "x", "name", "total"]


def test_select_star_is_every_variable_and_type():
    assert table("*").column_names == ["start_time", "end_time", "A", "x", "B", "y"]
    assert table("*", "A ; ANY AS z ; (B OR C AS q)").column_names == [
        "start_time",
        "end_time",
        "A",
        "z",
        "B",
        "C",
        "q",
    ]


def test_a_whole_variable_is_a_list_of_structs_with_all_columns():
    found = table("x", ALL_THREE)
    assert found.schema.field("x").type == pa.list_(pa.struct(list(TABLE.schema)))
    assert found.column("x").to_pylist() == [ROWS[:3]]


def test_a_variable_that_marks_nothing_is_an_empty_list():
    assert table("x, z", "A AS x OR C AS z", "LIMIT 1 PER END").column("z").to_pylist() == [[], [], []]


def test_rows_come_in_the_order_of_the_ends():
    found = table("x", "ANY AS x ; ANY")
    assert found.column("end_time").to_pylist() == [2, 3, 3, 4, 4, 4]


def test_attributes_keep_their_type():
    types = {
        "i8": pa.int8(),
        "u64": pa.uint64(),
        "f32": pa.float32(),
        "dec": pa.decimal128(10, 2),
        "day": pa.date32(),
        "ns": pa.timestamp("ns", "Europe/Berlin"),
        "long": pa.duration("ms"),
        "big": pa.large_string(),
        "code": pa.dictionary(pa.int8(), pa.string()),
        "truth": pa.bool_(),
        "many": pa.list_(pa.int64()),
        "pair": pa.struct([("a", pa.int64())]),
        "nothing": pa.null(),
    }
    events = pa.schema([("time", pa.int64()), *types.items()]).empty_table()
    # One chunk: of several, small indices of dictionaries are widened so that they can be put together.
    one = pa.concat_tables([events, pa.table({"time": [1]})], promote_options="default").combine_chunks()
    found = table(", ".join(f"x.{name}" for name in types), "S AS x", events=one)
    assert {f.name.removeprefix("x_"): f.type for f in found.schema if f.name.startswith("x_")} == types
    assert found.num_rows == 1


def test_an_empty_result_has_the_full_schema():
    items = "x, x.v, y.s, x.v / 2 AS half, x.v > 1 AS big, upper(y.s) AS u, count(z) AS n, collect(z.w) AS ws"
    pattern = "A AS x ; (B AS z)+ ; A AS y"
    none = table(items, pattern, "PARTITION BY type")
    some = table(items, pattern, events=pa.concat_tables([TABLE, TABLE.slice(0, 1)]), time=None)
    assert none.num_rows == 0
    assert some.num_rows > 0
    assert none.schema.names == ["type", *some.schema.names]
    assert none.schema.types[3:] == some.schema.types[2:]


def test_empty_stream():
    found = ensue.match(TABLE.slice(0, 0), "SELECT x, max(x.v) AS m FROM S WHERE (A AS x)+")
    assert len(found) == 0
    assert found.to_arrow().schema.field("m").type == pa.int64()


# ---------------------------------------------------------------- expressions and aggregates


@pytest.mark.parametrize(
    ("item", "type_", "expected"),
    [
        ("y.v + 1", pa.int64(), 2),
        ("y.v / 2", pa.float64(), 0.5),
        ("y.v * 1.0", pa.float64(), 1.0),
        ("y.v > 0", pa.bool_(), True),
        ("y.s || '!'", pa.string(), "<b>!"),
        ("NULL", pa.null(), None),
        ("5 s", pa.duration("s"), timedelta(seconds=5)),
        ("1.5 s", pa.duration("ms"), timedelta(seconds=1.5)),
        ("count(x)", pa.int64(), 3),
        ("count(x.v)", pa.int64(), 2),
        ("sum(x.v)", pa.int64(), 7),
        ("sum(x.w)", pa.float64(), 2.0),
        ("avg(x.v)", pa.float64(), 3.5),
        ("min(x.v)", pa.int64(), 3),
        ("max(x.v)", pa.int64(), 4),
        ("min(x.s)", pa.string(), "a"),
        ("max(x.s)", pa.string(), "b"),
        ("first(x.v)", pa.int64(), 3),
        ("last(x.v)", pa.int64(), 4),
        ("first(x.s)", pa.string(), "b"),
        ("last(x.w)", pa.float64(), None),
        ("collect(x.v)", pa.list_(pa.int64()), [3, None, 4]),
        ("collect(x.s)", pa.list_(pa.string()), ["b", None, "a"]),
        ("sum(x.v * 2 + y.v)", pa.int64(), 16),
        ("max(x.v) - min(x.v)", pa.int64(), 1),
        ("coalesce(sum(x.v), 0) / count(x)", pa.float64(), 7 / 3),
        ("max(PREV(x.v))", pa.int64(), 3),
    ],
)
def test_item(item, type_, expected):
    column = table(f"{item} AS it", ALL_THREE).column("it")
    assert column.type == type_
    assert column.to_pylist() == [expected]


def test_aggregates_of_nothing():
    items = ", ".join(f"{f}(z.v) AS `{f}`" for f in ("count", "sum", "avg", "min", "max", "first", "last", "collect"))
    (row,) = table(f"{items}, count(z) AS n", "(C AS z)? ; B AS y").to_pylist()
    assert row == {
        **dict.fromkeys(("sum", "avg", "min", "max", "first", "last")),
        "start_time": 4,
        "end_time": 4,
        "count": 0,
        "collect": [],
        "n": 0,
    }


def test_aggregates_of_nulls_alone():
    events = pa.table({"time": [1, 2], "v": pa.array([None, None], pa.int32())})
    items = ", ".join(f"{f}(x.v) AS `{f}`" for f in ("count", "sum", "avg", "min", "max", "first", "collect"))
    (row,) = table(items, "(S AS x){2}", events=events).to_pylist()
    assert [row[k] for k in ("count", "sum", "avg", "min", "max", "first")] == [0, None, None, None, None, None]
    assert row["collect"] == [None, None]


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([datetime(2024, 1, 1), datetime(2024, 1, 2, 3, 4, 5, 6)], pa.timestamp("us")),
        ([datetime(2024, 1, 1), datetime(2024, 1, 2)], pa.timestamp("s")),
        ([datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)], pa.timestamp("ms", "UTC")),
        ([date(2024, 1, 1), date(2024, 1, 2)], pa.date32()),
        ([date(2024, 1, 1), date(2024, 1, 2)], pa.date64()),
        ([timedelta(seconds=1), timedelta(seconds=2)], pa.duration("ms")),
        (["a", "b"], pa.string()),
        (["a", "b"], pa.large_string()),
        ([1, 2], pa.int8()),
        ([0.5, 1.5], pa.float32()),
        ([False, True], pa.bool_()),
    ],
    ids=str,
)
def test_aggregates_keep_the_type_of_what_they_choose(values, type_):
    events = pa.table({"time": [1, 2], "v": pa.array(values, type_)})
    items = "min(x.v) AS low, max(x.v) AS high, first(x.v) AS f, last(x.v) AS l, collect(x.v) AS c"
    found = table(items, "(S AS x){2}", events=events)
    assert found.schema.types[2:] == [type_, type_, type_, type_, pa.list_(type_)]
    (row,) = found.to_pylist()
    low, high = values
    assert (row["low"], row["high"], row["f"], row["l"], row["c"]) == (low, high, low, high, values)


def test_decimals_are_computed_with_as_floats_and_selected_as_they_are():
    events = pa.table({"time": [1, 2], "v": pa.array([Decimal("1.10"), Decimal("2.20")])})
    found = table("y.v, y.v + 1 AS w", "S ; S AS y", events=events)
    assert found.schema.field("y_v").type == pa.decimal128(3, 2)
    assert found.schema.field("w").type == pa.float64()
    assert found.column("w").to_pylist() == [pytest.approx(3.2)]
    found = table("sum(x.v) AS s, max(x.v) AS m", "(S AS x){2}", events=events)
    assert found.schema.types[2:] == [pa.float64(), pa.decimal128(3, 2)]
    assert found.column("s").to_pylist() == [pytest.approx(3.3)]
    assert found.column("m").to_pylist() == [Decimal("2.20")]


def test_decimals_are_compared_exactly():
    large = Decimal("12345678901234567.89")
    events = pa.table({"time": [1, 2, 3], "v": pa.array([large, large, large + Decimal("0.01")])})
    assert len(ensue.match(events, "SELECT * FROM S WHERE S AS x ; S AS y FILTER x.v = y.v")) == 1


def test_dictionaries_are_computed_with_as_their_values():
    events = pa.table({"time": [1, 2], "s": pa.array(["a", "b"]).dictionary_encode()})
    found = table("x.s, max(z.s) AS m, lower(x.s) AS l", "S AS x ; (S AS z)+", events=events)
    assert found.schema.field("x_s").type == pa.dictionary(pa.int32(), pa.string())
    assert found.schema.field("m").type == pa.string()
    assert found.to_pylist() == [{"start_time": 1, "end_time": 2, "x_s": "a", "m": "b", "l": "a"}]


def test_nanoseconds_are_not_lost():
    events = pa.table({"time": pa.array([1, 1_000_000_002], pa.timestamp("ns")), "type": ["A", "B"]})
    found = table("y.time - x.time AS gap, x.time + 1 ns AS later, x.time", events=events)
    assert found.column("gap").cast(pa.int64()).to_pylist() == [1_000_000_001]
    assert found.column("later").cast(pa.int64()).to_pylist() == [2]
    assert found.column("start_time").cast(pa.int64()).to_pylist() == [1]
    assert found.schema.field("gap").type == pa.duration("ns")


def test_units_of_time_arithmetic_are_the_finer_ones():
    events = pa.table({"time": pa.array([0, 1], pa.timestamp("s", "UTC")), "type": ["A", "B"]})
    found = table(
        "y.time + 1 ms AS a, y.time - x.time AS b, 2 * (y.time - x.time) AS c, 1 s / 1 ms AS d", events=events
    )
    assert found.schema.types[2:] == [pa.timestamp("ms", "UTC"), pa.duration("s"), pa.duration("s"), pa.float64()]
    assert found.column("a").cast(pa.int64()).to_pylist() == [1001]
    assert found.column("d").to_pylist() == [1000.0]


# ---------------------------------------------------------------- conversions


def test_len_and_iteration():
    found = ensue.match(TABLE, "SELECT x.v FROM S WHERE A AS x")
    assert len(found) == 3
    assert list(found) == [{"start_time": t, "end_time": t, "x_v": v} for t, v in ((1, 3), (2, None), (3, 4))]
    assert list(found) == list(found)


def test_to_pandas():
    frame = ensue.match(TABLE, "SELECT x.s FROM S WHERE A AS x").to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["start_time", "end_time", "x_s"]
    assert frame["x_s"].tolist()[0] == "b"


def test_to_polars():
    frame = ensue.match(TABLE, "SELECT x FROM S WHERE A AS x").to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["start_time", "end_time", "x"]
    assert frame["x"].to_list()[2] == [ROWS[2]]


@pytest.mark.parametrize("to", ["to_pandas", "to_polars", "to_arrow"])
def test_empty_conversions(to):
    frame = getattr(ensue.match(TABLE, "SELECT x, x.v FROM S WHERE C AS x"), to)()
    names = frame.column_names if to == "to_arrow" else list(frame.columns)
    assert (len(frame), names) == (0, ["start_time", "end_time", "x", "x_v"])


# ---------------------------------------------------------------- for people


def test_repr():
    # The order among matches of one end is the reference evaluator's; the language page does not fix it.
    text = "SELECT x.v, y FROM S WHERE A AS x ; B AS y"
    assert repr(ensue.match(TABLE, text, engine="reference")) == (
        "start_time  end_time  x_v   y\n"
        "----------  --------  ----  -----------------------------------\n"
        "1           4         3     (time=4, type=B, v=1, w=2.5, s=<b>)\n"
        "2           4         NULL  (time=4, type=B, v=1, w=2.5, s=<b>)\n"
        "3           4         4     (time=4, type=B, v=1, w=2.5, s=<b>)\n"
        "3 matches"
    )


def test_repr_of_none_and_one():
    assert repr(ensue.match(TABLE, "SELECT x.v FROM S WHERE C AS x")).endswith("--------  ---\n0 matches")
    assert repr(ensue.match(TABLE, "SELECT x.v FROM S WHERE B AS x")).endswith("\n1 match")


def test_repr_of_many_is_short():
    events = [{"time": i, "s": "x" * 1000} for i in range(1500)]
    lines = repr(ensue.match(events, "SELECT x.s FROM S WHERE S AS x")).split("\n")
    assert len(lines) == 23
    assert lines[-1] == "1,500 matches, the first 20 shown"
    assert max(map(len, lines)) < 100


def test_repr_of_times_that_python_has_not():
    for unit, value in (("s", 2**62), ("ns", 1)):
        events = pa.table({"time": pa.array([value], pa.timestamp(unit))})
        assert repr(ensue.match(events, "SELECT x FROM S WHERE S AS x")).endswith("\n1 match")


def test_html_is_escaped():
    events = [{"time": 1, "<i>": "<script>alert(1)</script> & more"}]
    html = ensue.match(events, "SELECT x.`<i>` FROM S WHERE S AS x")._repr_html_()
    assert "<th>x_&lt;i&gt;</th>" in html
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt; &amp; more</td>" in html
    assert "<script>" not in html
    assert html.endswith("<p>1 match</p>")
