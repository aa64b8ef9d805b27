"""Reading events: every kind of source, every kind of time, and what is refused."""

import gzip
import json
import logging
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import ensue
from ensue import DataError
from ensue.data.events import read_events
from ensue.data.sources import read_table
from ensue.results.gathering import values_at

ROWS = [{"time": 1, "type": "A", "v": 7}, {"time": 2, "type": "B", "v": 8}, {"time": 5, "type": "A", "v": 9}]
TABLE = pa.Table.from_pylist(ROWS)
ASK = "SELECT x.v, y.v FROM S WHERE A AS x ; B AS y"


def found(events, text=ASK, **options):
    return ensue.match(events, text, **options).to_arrow().to_pylist()


def refused(events, text=ASK, **options):
    with pytest.raises(DataError) as error:
        ensue.match(events, text, **options)
    return str(error.value)


# ---------------------------------------------------------------- sources


def write_json_lines(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def write_csv_gz(path):
    path.write_bytes(gzip.compress(b"time,type,v\n1,A,7\n2,B,8\n5,A,9\n"))


IN_MEMORY = {
    "table": lambda: TABLE,
    "chunked table": lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
    "record batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(max_chunksize=1),
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas with an index": lambda: pd.DataFrame(ROWS, index=[7, 8, 9]),
    "polars": lambda: pl.DataFrame(ROWS),
    "polars lazy": lambda: pl.DataFrame(ROWS).lazy(),
    "list of dicts": lambda: ROWS,
    "mapping of one stream": lambda: {"S": ROWS},
    "mapping with a stream too many": lambda: {"S": ROWS, "other": ROWS},
}


def write_parquet_folder(path):
    path.mkdir()
    (path / "_SUCCESS").touch()
    pa.parquet.write_table(TABLE[:2], path / "part-00000.snappy.parquet")
    pa.parquet.write_table(TABLE[2:], path / "part-00001.snappy.parquet")


FILES = {
    "events.parquet": lambda path: pa.parquet.write_table(TABLE, path),
    "groups.parquet": lambda path: pa.parquet.write_table(TABLE, path, row_group_size=1),
    "folder.parquet": write_parquet_folder,
    "events.pq": lambda path: pa.parquet.write_table(TABLE, path),
    "events.PARQUET": lambda path: pa.parquet.write_table(TABLE, path),
    "events.csv": lambda path: pa.csv.write_csv(TABLE, path),
    "events.csv.gz": write_csv_gz,
    "events.2024.01.csv": lambda path: pa.csv.write_csv(TABLE, path),
    "events.jsonl": write_json_lines,
    "events.ndjson": write_json_lines,
    "events.arrow": lambda path: pa.feather.write_feather(TABLE, path),
    "events.feather": lambda path: pa.feather.write_feather(TABLE, path),
}
EXPECTED = [{"start_time": 1, "end_time": 2, "x_v": 7, "y_v": 8}]


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_source_in_memory(kind):
    assert found(IN_MEMORY[kind]()) == EXPECTED


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("as_text", [True, False], ids=["str", "Path"])
def test_source_file(name, as_text, tmp_path):
    path = tmp_path / name
    FILES[name](path)
    assert found(str(path) if as_text else path) == EXPECTED


def test_missing_file(tmp_path):
    path = tmp_path / "nothing.parquet"
    assert refused(path) == f"there is no file {path}"


@pytest.mark.parametrize("name", ["events.xlsx", "events", "events.gz"])
def test_unknown_ending(name, tmp_path):
    path = tmp_path / name
    path.write_text("x")
    assert (
        refused(path) == f"cannot tell the format of {path}: name it .parquet, .csv, .tsv, .jsonl, .geojson or .arrow"
    )


@pytest.mark.parametrize("name", ["events.parquet", "events.jsonl", "events.arrow", "events.csv", "events.csv.gz"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00 nothing of the kind"], ids=["empty", "garbage"])
def test_broken_file(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    assert refused(path).startswith((f"cannot read {path}: ", "there is no time column 'time'"))


def test_directory_that_is_no_data_set(tmp_path):
    assert refused(tmp_path).startswith(f"the folder {tmp_path} has no files")


@pytest.mark.parametrize("source", [42, None, [1, 2], "SELECT", {"S": 42}, ROWS[0]], ids=repr)
def test_what_is_no_source(source):
    message = refused(source)
    assert message.startswith(("cannot read events from builtins.", "there is no file", "no events were given"))


def test_duplicate_column_names():
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["time", "v", "v"])
    assert refused(twice) == "the events have two columns named v"
    with pytest.raises(DataError, match="two columns named a, b"):
        read_table(pa.Table.from_arrays([pa.array([1])] * 4, names=["b", "a", "a", "b"]))


def test_reserved_column_name():
    assert refused([{"time": 1, "\0time": 2}]) == "the name of a column begins with a NUL character"


def test_rows_may_have_different_keys():
    rows = [{"time": 1, "type": "A"}, {"time": 2, "type": "B", "v": 8}]
    assert found(rows) == [{"start_time": 1, "end_time": 2, "x_v": None, "y_v": 8}]


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (pd.DataFrame([[1, 2]], columns=["time", "time"]), "the events have two columns named time"),
        (pd.DataFrame({"time": [1, 2], "v": [1, "one"]}), "cannot read the events: Conversion failed for column v "),
        ([{"time": 1, "v": 1}, {"time": 2, "v": "one"}], "the column 'v' cannot be read: "),
        (pd.Series([1, 2]), "a Series is one column, and events have several: "),
        (pl.Series([1, 2]), "a Series is one column, and events have several: "),
    ],
    ids=["pandas, names twice", "pandas, mixed", "rows, mixed", "pandas series", "polars series"],
)
def test_what_arrow_cannot_hold(events, told):
    assert refused(events).startswith(told)


def test_polars_strings_can_be_sorted_and_selected():
    frame = pl.DataFrame({"time": [2, 1], "type": ["B", "A"], "s": ["b", "a"], "many": [["b"], ["a"]]})
    text = "SELECT x, x.s, upper(y.s) AS u, y.many FROM S WHERE A AS x ; B AS y"
    assert found(frame, text) == [
        {
            "start_time": 1,
            "end_time": 2,
            "x": [{"time": 1, "type": "A", "s": "a", "many": ["a"]}],
            "x_s": "a",
            "u": "B",
            "y_many": ["b"],
        }
    ]


@pytest.mark.parametrize("type_", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_kinds_of_strings(type_):
    texts = pa.array(["a", "b"]).cast(type_)
    stream = pa.table({"time": [2, 1], "s": texts})
    text = "SELECT x.s, lower(x.s) AS t FROM S WHERE S AS x FILTER x.s LIKE 'b' PARTITION BY s"
    assert found(stream, text) == [{"s": "b", "start_time": 1, "end_time": 1, "x_s": "b", "t": "b"}]


# ---------------------------------------------------------------- several streams

TWO = "SELECT x.v, y.w FROM left, right WHERE left AS x ; right AS y"


def test_streams_are_merged_by_time():
    events = {"left": [{"time": 3, "v": 1}, {"time": 5, "v": 2}], "right": [{"time": 1, "w": 3}, {"time": 4, "w": 4}]}
    assert found(events, TWO) == [{"start_time": 3, "end_time": 4, "x_v": 1, "y_w": 4}]


def test_streams_of_equal_time_keep_the_order_of_from():
    events = {"right": [{"time": 1, "w": 3}], "left": [{"time": 1, "v": 1}]}
    assert len(found(events, TWO)) == 1
    assert len(found(events, "SELECT x.w FROM right, left WHERE right AS x ; left AS y")) == 1
    assert found(events, "SELECT x.v FROM right, left WHERE left AS x ; right AS y") == []


def test_columns_of_one_stream_are_null_in_the_other():
    events = {"left": [{"time": 1, "v": 1}], "right": [{"time": 2, "w": 2}]}
    text = "SELECT x, y.v FROM left, right WHERE left AS x ; right AS y FILTER x.w IS NULL AND y.v IS NULL"
    assert found(events, text) == [
        {"start_time": 1, "end_time": 2, "x": [{"time": 1, "v": 1, "w": None}], "y_v": None},
    ]


def test_number_columns_of_different_width_are_promoted():
    left = pa.table({"time": [1], "v": pa.array([1], pa.int32())})
    right = pa.table({"time": [2], "v": pa.array([0.5], pa.float64()), "w": [1]})
    assert found({"left": left, "right": right}, TWO)[0]["x_v"] == 1.0


def test_missing_stream():
    message = refused({"left": ROWS}, TWO)
    assert message == "no events were given for the stream right; given are left"


def test_several_streams_need_a_mapping():
    message = refused(ROWS, TWO)
    assert message == "the query reads the streams left, right: give a mapping {'left': ..., 'right': ...}"


def test_conflicting_column_types():
    events = {"left": [{"time": 1, "v": 1}], "right": [{"time": 2, "v": "one"}]}
    message = refused(events, TWO)
    assert message.startswith("the streams left, right have columns of one name and different types: ")
    assert "v" in message


def test_streams_without_time_cannot_be_merged():
    message = refused({"left": [{"v": 1}], "right": [{"w": 1}]}, TWO, time=None)
    assert message == "several streams are merged by time: name their time column with time='...'"


# ---------------------------------------------------------------- times

NOON = datetime(2024, 1, 31, 12)
WITHIN = "SELECT x.v, y.v FROM S WHERE A AS x ; B AS y WITHIN "


def timed(times):
    types = ["A", "B", "B"][: len(times)]
    return pa.table({"time": times, "type": types, "v": list(range(len(times)))})


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+02:00"])
def test_timestamps(unit, zone):
    seconds = pa.array([0, 5, 6]).cast(pa.timestamp("s", zone))
    stream = timed(seconds.cast(pa.timestamp(unit, zone)))
    rows = ensue.match(stream, WITHIN + "5 s").to_arrow()
    assert rows.column("y_v").to_pylist() == [1]
    assert rows.schema.field("start_time").type == pa.timestamp(unit, zone)
    assert len(found(stream, WITHIN + "[> 5 s]")) == 1
    assert len(found(stream, WITHIN + "4999 ms")) == 0


def test_nanoseconds_count():
    stream = timed(pa.array([0, 1, 2], pa.timestamp("ns")))
    assert len(found(stream, WITHIN + "1 ns")) == 1
    assert len(found(stream, WITHIN + "[< 1 ns]")) == 0
    assert len(found(stream, WITHIN + "1.5 ns")) == 1


@pytest.mark.parametrize("type_", [pa.date32(), pa.date64()], ids=str)
def test_dates(type_):
    stream = timed(pa.array([date(2024, 1, 31), date(2024, 2, 1), date(2024, 2, 3)], type_))
    assert len(found(stream, WITHIN + "1 d")) == 1
    assert len(found(stream, WITHIN + "[> 24 h]")) == 1
    assert found(stream)[0]["start_time"] == date(2024, 1, 31)


@pytest.mark.parametrize("unit", ["s", "Seconds", "SEC"])
@pytest.mark.parametrize("type_", [pa.int64(), pa.int32(), pa.uint8(), pa.uint64()], ids=str)
def test_integers_with_a_unit(unit, type_):
    stream = timed(pa.array([0, 5, 6], type_))
    assert len(found(stream, WITHIN + "5 s", unit=unit)) == 1
    assert len(found(stream, WITHIN + "5 min", unit=unit)) == 2


def test_integers_without_a_unit_are_fine_where_no_times_are_compared():
    stream = timed([0, 5, 6])
    assert len(found(stream)) == 2
    assert len(found(stream, WITHIN + "2 EVENTS")) == 1


@pytest.mark.parametrize(
    "pattern", ["A ; B WITHIN 5 s", "A ;[<= 5 s] B", "(A ; B)+[<= 5 s]", "A ; B WITHIN [> 1 s]", "A :{2}[<= 1 s]"]
)
def test_integers_without_a_unit_are_refused_where_times_are_compared(pattern):
    message = refused(timed([0, 5, 6]), f"SELECT * FROM S WHERE {pattern}")
    assert (
        message == "the query compares times, and the time column 'time' is an integer: say its unit, such as unit='ms'"
    )


def test_no_time():
    stream = timed([0, 5, 6]).drop_columns("time")
    assert found(stream, time=None) == [
        {"start_time": 0, "end_time": 1, "x_v": 0, "y_v": 1},
        {"start_time": 0, "end_time": 2, "x_v": 0, "y_v": 2},
    ]
    message = refused(stream, WITHIN + "5 s", time=None)
    assert message == "the query compares times, but with time=None events have no time: name the time column"


def test_no_time_keeps_the_order_of_the_rows():
    rows = [{"time": 9, "type": "A", "v": 1}, {"time": 1, "type": "B", "v": 2}]
    assert len(found(rows, time=None)) == 1
    assert len(found(rows)) == 0


def test_unknown_unit():
    assert refused(timed([0, 5]), unit="milisecond") == (
        "unknown unit of time 'milisecond': did you mean 'millisecond' or 'milliseconds'?"
    )


def test_a_unit_for_a_timestamp():
    message = refused(timed(pa.array([NOON, NOON])), unit="s")
    assert message == "the time column 'time' is of type timestamp[us] and has its unit already: leave out unit="


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2024-01-31T12:00:00", "2024-01-31T12:00:05"),
        ("2024-01-31 12:00:00", "2024-01-31 12:00:05"),
        ("2024-01-31 12:00:00Z", "2024-01-31 12:00:05Z"),
        ("2024-01-31 12:00:00+01:00", "2024-01-31 12:00:05+01:00"),
        ("2024-01-31 12:00:00.000000001", "2024-01-31 12:00:05.000000001"),
    ],
)
@pytest.mark.parametrize("type_", [pa.string(), pa.large_string()], ids=str)
def test_times_as_text(first, second, type_):
    stream = timed(pa.array([first, second], type_))
    assert len(found(stream, WITHIN + "5 s")) == 1
    assert len(found(stream, WITHIN + "4 s")) == 0


def test_text_that_is_no_time():
    message = refused(timed(["2024-01-31", "noon"]))
    wanted = "the time column 'time' holds 'noon' in row 2, which is not an ISO time such as 2024-03-31 01:30:00"
    assert message == wanted


def test_text_with_and_without_zones():
    message = refused(timed(["2024-01-31 12:00", "2024-01-31 12:00Z"]))
    assert message.endswith("has some times with a zone and some without: give all of them a zone")


def test_rows_with_and_without_zones():
    times = [datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)]
    message = refused([{"time": t, "type": "A"} for t in times], "SELECT * FROM S WHERE A")
    assert message.endswith("has some times with a zone and some without: give all of them a zone")


@pytest.mark.parametrize(
    ("times", "name"),
    [([0.5, 1.5], "double"), ([True, False], "bool"), ([Decimal(1), Decimal(2)], "decimal128"), ([[1], [2]], "list")],
)
def test_times_of_another_type(times, name):
    message = refused(timed(times))
    assert message.startswith(f"the time column 'time' is of type {name}")
    assert ": it must be a timestamp, a date, or an integer with a unit" in message


def test_times_beyond_64_bits():
    message = refused(timed(pa.array([1, 2**64 - 1], pa.uint64())))
    assert message.startswith("a time does not fit 64 bits: ")


def test_null_times():
    message = refused(timed(pa.array([1, None, 3])))
    assert message == (
        "the time column 'time' has 1 NULL value, the first in row 2: "
        "an event without a time has no place in the stream"
    )
    message = refused(pa.concat_tables([timed(pa.array([1, 2])), timed(pa.array([None, None, 3], pa.int64()))]))
    assert message.startswith("the time column 'time' has 2 NULL values, the first in row 3: ")
    assert "2 NULL values, the first in row 1" in refused(timed(pa.array([None, None])))


def test_missing_time_column():
    assert refused([{"timestamp": 1, "type": "A"}]) == (
        "there is no time column 'time': did you mean 'timestamp'?\n"
        "  name the time column with time='...', or keep the order of the rows with time=None"
    )
    assert "there is no time column 'when': the columns are time, type, v\n" in refused(ROWS, time="when")


def test_the_time_column_has_a_name():
    rows = [{"ts": 1, "type": "A", "v": 1}, {"ts": 2, "type": "B", "v": 2}]
    assert found(rows, time="ts") == [{"start_time": 1, "end_time": 2, "x_v": 1, "y_v": 2}]


# ---------------------------------------------------------------- order


def test_events_out_of_order_are_sorted_stably_and_it_is_logged(caplog):
    rows = [
        {"time": 3, "type": "B", "v": 1},
        {"time": 1, "type": "A", "v": 2},
        {"time": 3, "type": "B", "v": 3},
        {"time": 1, "type": "A", "v": 4},
    ]
    with caplog.at_level(logging.WARNING, logger="ensue"):
        stream = read_events(rows, ("S",))
    assert stream.table.column("v").to_pylist() == [2, 4, 1, 3]
    assert [r.getMessage() for r in caplog.records] == [
        "the events were not in the order of time (2 steps back): sorted, stably"
    ]


def test_events_in_order_are_not_logged(caplog):
    with caplog.at_level(logging.INFO, logger="ensue"):
        read_events(ROWS, ("S",))
    assert caplog.records == []


def test_a_long_run_of_equal_times_keeps_its_order():
    rows = [{"time": 2, "v": -1}] + [{"time": 1, "v": i} for i in range(2000)]
    assert read_events(rows, ("S",)).table.column("v").to_pylist() == [*range(2000), -1]


def test_tie_break():
    rows = [{"time": 1, "type": "B", "n": 2}, {"time": 1, "type": "A", "n": 1}]
    text = "SELECT x.n FROM S WHERE A AS x ; B"
    assert found(rows, text) == []
    assert found(rows, text, tiebreak="n") == [{"start_time": 1, "end_time": 1, "x_n": 1}]
    assert refused(rows, text, tiebreak="m").startswith("there is no tie-break column 'm': ")


def test_tie_break_with_equal_values_keeps_the_arrival():
    rows = [{"time": 1, "n": 1, "v": i} for i in range(100)] + [{"time": 1, "n": 0, "v": 100}]
    assert read_events(rows, ("S",), tiebreak="n").table.column("v").to_pylist() == [100, *range(100)]


def test_tie_break_without_time_is_refused():
    assert "tiebreak" in refused([{"n": 1}], time=None, tiebreak="n")


# ---------------------------------------------------------------- types


def test_without_a_type_column_the_streams_name_is_the_type():
    assert found([{"time": 1, "v": 3}], "SELECT x.v FROM S WHERE S AS x") == [
        {"start_time": 1, "end_time": 1, "x_v": 3}
    ]


def test_another_type_column():
    rows = [{"time": 1, "kind": "A", "type": "B"}]
    assert len(found(rows, "SELECT * FROM S WHERE A", type="kind")) == 1
    assert len(found(rows, "SELECT * FROM S WHERE A")) == 0


def test_missing_type_column():
    message = refused(ROWS, type="typ")
    assert message == "there is no type column 'typ': did you mean 'type'?\n  name it with type=..."


def test_dictionary_types():
    stream = TABLE.set_column(1, "type", TABLE.column("type").dictionary_encode())
    assert found(stream) == EXPECTED
    assert found(pd.DataFrame(ROWS).astype({"type": "category"})) == EXPECTED
    assert found(pl.DataFrame(ROWS).cast({"type": pl.Categorical})) == EXPECTED


def test_integer_types_are_named_by_their_digits():
    rows = [{"time": 1, "type": 17}, {"time": 2, "type": 18}]
    assert len(found(rows, "SELECT * FROM S WHERE `17` ; `18`")) == 1


def test_null_types_match_any_alone():
    rows = [{"time": 1, "type": None}, {"time": 2, "type": "A"}]
    assert len(found(rows, "SELECT x FROM S WHERE ANY AS x")) == 2
    assert len(found(rows, "SELECT x FROM S WHERE A AS x")) == 1
    assert found([{"time": 1, "type": None}], "SELECT x FROM S WHERE `None` AS x OR `null` AS x") == []


def test_types_of_another_type():
    message = refused(pa.table({"time": [1], "type": [[1, 2]]}))
    assert message == "the type column 'type' is of type list<item: int64>, not of strings"


# ---------------------------------------------------------------- small streams


@pytest.mark.parametrize(
    "events",
    [
        pa.schema([("time", pa.int64()), ("type", pa.string()), ("v", pa.int64())]).empty_table(),
        pd.DataFrame({"time": pd.Series(dtype="int64"), "type": pd.Series(dtype="str"), "v": pd.Series(dtype="int64")}),
        pl.DataFrame(schema={"time": pl.Int64, "type": pl.String, "v": pl.Int64}),
    ],
    ids=["arrow", "pandas", "polars"],
)
def test_empty_stream(events):
    matches = ensue.match(events, ASK + " WITHIN 5 s PARTITION BY v", unit="s")
    assert len(matches) == 0
    assert matches.to_arrow().column_names == ["v", "start_time", "end_time", "x_v", "y_v"]


def test_empty_list_has_no_columns():
    assert refused([]) == (
        "there is no time column 'time': the events have no columns\n"
        "  name the time column with time='...', or keep the order of the rows with time=None"
    )


def test_one_event():
    row = {"time": datetime(2024, 1, 1, tzinfo=UTC), "type": "A", "v": 1}
    assert len(found([row])) == 0
    assert len(found([row], "SELECT x.v FROM S WHERE A AS x UNLESS B WITHIN 1 ns")) == 1
    assert len(found([row], "SELECT x.v FROM S WHERE NEXT(A AS x)")) == 1


def test_a_file_of_which_only_the_header_is_there(tmp_path):
    path = tmp_path / "header.csv"
    path.write_text("time,type,v\n")
    assert found(path) == []


def test_a_stream_of_no_rows_beside_another():
    both = "SELECT x.v FROM S, T WHERE A AS x"
    assert len(found({"S": ROWS, "T": []}, both, unit="s")) == 2


def test_a_json_array(tmp_path):
    path = tmp_path / "array.json"
    path.write_text(json.dumps(ROWS))
    assert found(path) == found(ROWS)


def test_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes(b"time,type,v\n1,A,x\n2,B,K\xf6ln\n")
    assert refused(path).endswith("the column 'v' is not UTF-8 text, first in row 2: save the file as UTF-8")


def test_a_missing_time_of_pandas_in_a_row():
    rows = [{"time": pd.Timestamp(0), "type": "A"}, {"time": pd.NaT, "type": "A"}]
    assert "has 1 NULL value, the first in row 2" in refused(rows, "SELECT * FROM S WHERE A")


@pytest.mark.parametrize("value", [2**70, object()])
def test_a_value_that_arrow_cannot_hold(value):
    assert refused([{"time": 1, "type": "A", "v": value}]).startswith("the column 'v' cannot be read: ")


def test_options_are_texts():
    assert refused(ROWS, time=1) == "time= takes a string, not 1"


def test_a_query_object_is_a_query_too():
    assert len(ensue.match(ROWS, ensue.query(ASK))) == 1
    with pytest.raises(TypeError, match="a query is a text"):
        ensue.query(None)  # type: ignore[arg-type]


def test_values_of_a_column_in_chunks():
    chunks = [pa.array(["a", None]), pa.array([], pa.string()), pa.array(["b", "c", "d"]), pa.array(["e"])]
    columns = [pa.chunked_array(chunks), pa.chunked_array([c.dictionary_encode() for c in chunks])]
    for column in columns:
        for places in ([], [5], [0, 1, 4, 5], [5, 0, 2, 2, 1, 4, 0], list(range(6))):
            found = values_at(column, np.array(places, dtype=np.int64))
            assert found.to_pylist() == [column[i].as_py() for i in places]
            assert found.type == column.type


def test_times_of_a_stream_in_chunks():
    table = pa.table({"time": pa.chunked_array([[1, 2], [], [2, 5], [7]], pa.int64()), "type": ["A"] * 5})
    stream = read_events(table, ("S",), unit="s")
    assert stream.times.tolist() == [1, 2, 2, 5, 7]
    assert [stream.time_at(i) for i in range(5)] == [1, 2, 2, 5, 7]
    assert stream.slice(1, 3).times.tolist() == [2, 2, 5]


def test_a_step_back_between_chunks_is_seen(caplog):
    table = pa.table({"time": pa.chunked_array([[1, 5], [2, 6]]), "type": ["A"] * 4})
    assert read_events(table, ("S",), unit="s").times.tolist() == [1, 2, 5, 6]
    assert "1 step back" in caplog.text
