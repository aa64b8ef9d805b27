"""Any frame in, any frame out: what is read, and what results are read by."""

import json
import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
from small_s3 import small_s3

import ensue
from ensue import DataError
from ensue.data.sources import read_schema, read_table

ROWS = [{"time": 1, "type": "A", "v": 7}, {"time": 2, "type": "B", "v": 8}, {"time": 5, "type": "A", "v": 9}]
TABLE = pa.Table.from_pylist(ROWS)
ASK = "SELECT x.v, y.v FROM S WHERE A AS x ; B AS y"
FOUND = [{"start_time": 1, "end_time": 2, "x_v": 7, "y_v": 8}]


class Capsule:
    """Only what the Arrow protocol for streams asks for."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Array:
    """Only what the Arrow protocol for arrays asks for."""

    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


SOURCES = {
    "a stream of the Arrow protocol": lambda: Capsule(TABLE),
    "an array of the Arrow protocol": lambda: Array(TABLE.to_batches()[0]),
    "a dataset": lambda: pa.dataset.dataset(TABLE),
    "a scanner": lambda: pa.dataset.dataset(TABLE).scanner(),
    "a scanner of some columns": lambda: pa.dataset.dataset(TABLE).scanner(columns=["v", "type", "time"]),
    "a generator of dicts": lambda: (row for row in ROWS),
    "a tuple of dicts": lambda: tuple(ROWS),
    "a generator of batches": lambda: iter(TABLE.to_batches(max_chunksize=1)),
    "a list of tables": lambda: [TABLE[:2], TABLE[2:]],
    "a list of polars frames": lambda: [pl.DataFrame(ROWS[:1]), pl.DataFrame(ROWS[1:])],
    "a lazy frame with a column too many": lambda: pl.DataFrame(ROWS).lazy().with_columns(pl.lit(1).alias("w")),
    "pandas with the time as its index": lambda: pd.DataFrame(ROWS).set_index("time"),
    "pandas with a type in its index": lambda: pd.DataFrame(ROWS).set_index(["time", "type"]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources(name):
    assert ensue.match(SOURCES[name](), ASK).to_arrow().to_pylist() == FOUND


def test_an_index_of_times_needs_no_name():
    index = pd.to_datetime(["2024-01-01 00:00:01", "2024-01-01 00:00:02", "2024-01-01 00:00:05"])
    frame = pd.DataFrame({"type": list("ABA"), "v": [7, 8, 9]}, index=index)
    assert len(ensue.match(frame, ASK + " WITHIN 1 s")) == 1
    assert ensue.match(frame.rename_axis("at"), ASK, time="at").to_arrow()["end_time"][0].as_py().second == 2
    assert frame.index.name is None, "the frame is as it was"


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "jsonl", "arrow", "json"])
def test_a_folder_of_any_name_and_a_pattern(tmp_path, ending):
    folder = tmp_path / "day one"
    (folder / "part").mkdir(parents=True)
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.csv").write_text("no\n")
    for path, part in ((folder / f"a.{ending}", TABLE[:2]), (folder / "part" / f"b.{ending}", TABLE[2:])):
        match ending:
            case "parquet":
                pa.parquet.write_table(part, path)
            case "csv":
                pa.csv.write_csv(part, path)
            case "tsv":
                pa.csv.write_csv(part, path, pa.csv.WriteOptions(delimiter="\t"))
            case "arrow":
                pa.feather.write_feather(part, path)
            case "json":
                path.write_text(json.dumps(part.to_pylist()))
            case _:
                path.write_text("".join(json.dumps(row) + "\n" for row in part.to_pylist()))
    assert ensue.match(str(folder), ASK).to_arrow().to_pylist() == FOUND
    assert ensue.match(folder / "**" / f"*.{ending}", ASK).to_arrow().to_pylist() == FOUND
    assert ensue.match(sorted(folder.rglob(f"[ab].{ending}")), ASK).to_arrow().to_pylist() == FOUND
    assert ensue.match(folder.as_uri(), ASK).to_arrow().to_pylist() == FOUND
    assert ensue.match((folder / f"a.{ending}").as_uri(), ASK).to_arrow().to_pylist() == FOUND
    assert read_schema(folder).names == read_schema(folder / f"a.{ending}").names == ["time", "type", "v"]


def test_folders_that_cannot_be_read(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    pa.csv.write_csv(TABLE, tmp_path / "mixed" / "a.csv")
    pa.parquet.write_table(TABLE, tmp_path / "mixed" / "a.parquet")
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "a.xlsx").touch()
    for name, said in {
        "empty": "has no files",
        "mixed": r"files of several formats \(csv, parquet\): name those to read, as in folder/",
        "strange": "cannot tell the format of .*a.xlsx: name it .parquet, .csv, .tsv, .jsonl, .geojson or .arrow",
        "none*.csv": "no file is named like",
        "none": "there is no file",
    }.items():
        with pytest.raises(DataError, match=said):
            ensue.match(tmp_path / name, ASK)
    with pytest.raises(DataError, match=r"there is no file file:///nowhere/at_all\.csv"):
        ensue.match("file:///nowhere/at_all.csv", ASK)
    with pytest.raises(DataError, match=r"cannot read nothing://x/y\.csv: "):
        ensue.match("nothing://x/y.csv", ASK)


@pytest.fixture(scope="module")
def bucket():
    """Files at an address of S3, and how the address ends."""
    parquet, zipped = pa.BufferOutputStream(), pa.BufferOutputStream()
    pa.parquet.write_table(TABLE[:2], parquet)
    with pa.CompressedOutputStream(zipped, "gzip") as stream:
        pa.csv.write_csv(TABLE, stream)
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    files = {
        "all.csv.gz": zipped.getvalue().to_pybytes(),
        "day one/a.parquet": parquet.getvalue().to_pybytes(),
        "day one/_temporary/b.parquet": b"half",
        "days/1/a.jsonl": lines[: lines.index("\n") + 1].encode(),
        "days/2/a.jsonl": lines[lines.index("\n") + 1 :].encode(),
        "days/2/notes.txt": b"no events",
        "mixed/a.csv": b"time",
        "mixed/b.tsv": b"time",
    }
    with small_s3(files) as end:
        yield lambda path: f"s3://key:secret@bucket/{path}{end}"


@pytest.mark.parametrize(
    "path",
    ["all.csv.gz", "day%20one", "day%20one/a.parquet", "days", "days/*/a.jsonl", "days/**/*.jsonl"],
)
def test_a_remote_path(bucket, path):
    assert ensue.match(bucket(path), ASK).to_arrow().to_pylist() == FOUND
    assert read_schema(bucket(path)).names == ["time", "type", "v"]


def test_remote_paths_that_cannot_be_read(bucket):
    """Without the keys that the address has."""
    for path, said in {
        "none.csv": "there is no file s3://bucket/none.csv",
        "none*.csv": r"no file is named like s3://bucket/none\*.csv",
        "days/2/notes.txt": "cannot tell the format of bucket/days/2/notes.txt",
        "mixed": "s3://bucket/mixed.* has files of several formats",
        "day%20one/_temporary/b.parquet": "cannot read s3://bucket/day%20one/_temporary/b.parquet",
    }.items():
        with pytest.raises(DataError, match=said) as refused:
            ensue.match(bucket(path), ASK)
        assert "secret" not in str(refused.value)


def test_geojson(tmp_path):
    def feature(time, v, **more):
        return {"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2.5]}, **more} | {
            "properties": {"time": time, "type": "quake", "v": v}
        }

    features = [feature(1, 7, id="a"), feature(2, 8, id="b"), feature(5, 9) | {"geometry": None}]
    text = "SELECT x.id, x.longitude, x.latitude, y.v FROM S WHERE quake AS x ; quake AS y FILTER y.longitude IS NULL"
    (tmp_path / "whole.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    (tmp_path / "whole.json").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    (tmp_path / "lines.geojsonl").write_text("".join("\x1e" + json.dumps(f) + "\n" for f in features))
    for name in ("whole.geojson", "whole.json", "lines.geojsonl"):
        rows = ensue.match(tmp_path / name, text).to_arrow().to_pylist()
        assert sorted((r["x_id"], r["x_longitude"], r["x_latitude"], r["y_v"]) for r in rows) == [
            ("a", 1.0, 2.5, 9),
            ("b", 1.0, 2.5, 9),
        ]
    (tmp_path / "bad.geojson").write_text('{"type": "Point"}')
    with pytest.raises(DataError, match="GeoJSON must be a FeatureCollection, or one Feature a line"):
        ensue.match(tmp_path / "bad.geojson", text)


# ---------------------------------------------------------------- time


def test_each_stream_has_its_time_column():
    events = {
        "smoke": [{"at": 1, "v": 3}, {"at": 7, "v": 4}],
        "heat": pa.table({"when": [5, 9], "v": [1, 2]}),
    }
    asked = ensue.query("SELECT s.at, h.when FROM smoke, heat WHERE smoke AS s ; heat AS h WITHIN 4 s")
    found = asked.run(events, time={"smoke": "at", "heat": "when"}, unit="s").to_arrow().to_pylist()
    assert [(r["start_time"], r["end_time"], r["s_at"], r["h_when"]) for r in found] == [(1, 5, 1, 5), (7, 9, 7, 9)]
    with pytest.raises(DataError, match="no time column was given for the stream heat; given are those of smoke"):
        asked.run(events, time={"smoke": "at"}, unit="s")
    with pytest.raises(DataError, match="there is no time column 'on'"):
        asked.run(events, time={"smoke": "at", "heat": "on"}, unit="s")
    with pytest.raises(DataError, match="'at, when' is an integer: say its unit"):
        asked.run(events, time={"smoke": "at", "heat": "when"})
    with pytest.raises(DataError, match="do not compare: they are of types int64, timestamp"):
        asked.run(
            events | {"heat": [{"when": pd.Timestamp(2024, 1, 1).to_pydatetime(), "v": 1}]},
            time={"smoke": "at", "heat": "when"},
        )


def test_seconds_as_floats():
    rows = [{"time": t, "type": k} for t, k in ((0.0, "A"), (0.25, "B"), (0.1, "A"), (1.5, "B"))]
    asked = ensue.query("SELECT * FROM S WHERE A AS x ; B AS y WITHIN 250 ms")
    found = asked.run(rows, unit="s").to_arrow().to_pylist()
    assert sorted((r["start_time"], r["end_time"]) for r in found) == [(0.0, 0.25), (0.1, 0.25)]
    assert len(ensue.match([{"time": 1e9 + 0.1, "type": "A"}, {"time": 1e9 + 0.3, "type": "B"}], asked, unit="s")) == 1
    for rows, said in (
        ([{"time": 0.5, "type": "A"}], "of floats, too, say the unit"),
        ([{"time": 0.5, "type": "A"}, {"time": math.nan, "type": "A"}], "is not finite in row 2"),
        ([{"time": 1e300, "type": "A"}], "does not fit 64 bits"),
    ):
        with pytest.raises(DataError, match=said):
            asked.run(rows, unit=None if "unit" in said else "s")
    with pytest.raises(DataError, match="pushed have no float times"):
        asked.live(unit="s").push([{"time": 0.5, "type": "A"}])


def test_whole_and_float_times_merge():
    events = {"A": [{"time": 1}, {"time": 3}], "B": [{"time": 1.5}]}
    assert len(ensue.match(events, "SELECT * FROM A, B WHERE A ; B ; A WITHIN 2 s", unit="s")) == 1


# ---------------------------------------------------------------- NaN


NAN = {"time": [1, 2], "type": ["A", "A"], "v": [math.nan, 1.0]}


def written(kind, tmp_path):
    table = pa.table(NAN)
    path = tmp_path / f"nan.{kind}"
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    elif kind == "arrow":
        pa.feather.write_feather(table, path)
    else:
        separator = "\t" if kind == "tsv" else ","
        path.write_text(
            "\n".join(separator.join(line) for line in (["time", "type", "v"], ["1", "A", "NaN"], ["2", "A", "1"]))
        )
    return path


@pytest.mark.parametrize(
    "source",
    [
        lambda _: pa.table(NAN),
        lambda _: pl.DataFrame(NAN),
        lambda _: pl.DataFrame(NAN).lazy(),
        lambda _: [dict(zip(NAN, row, strict=True)) for row in zip(*NAN.values(), strict=True)],
        *(lambda folder, kind=kind: written(kind, folder) for kind in ("parquet", "arrow", "csv", "tsv")),
    ],
)
def test_nan_is_a_number_that_equals_nothing(source, tmp_path):
    def times(condition):
        return (
            ensue.match(source(tmp_path), f"SELECT A.time AS t FROM S WHERE A FILTER {condition}")
            .to_arrow()["t"]
            .to_pylist()
        )

    assert times("A.v IS NULL") == []
    assert times("A.v = A.v") == [2]


def test_nan_of_pandas_is_what_pandas_means_by_it():
    """A pandas float column has no other way to say that a value is missing."""
    assert len(ensue.match(pd.DataFrame(NAN), "SELECT * FROM S WHERE A FILTER A.v IS NULL")) == 1


# ---------------------------------------------------------------- frames out


def test_results_are_streams_of_arrow():
    matches = ensue.match(TABLE, "SELECT x.v FROM S WHERE A AS x")
    assert pl.DataFrame(matches).to_dicts() == matches.to_arrow().to_pylist()
    assert pa.table(matches) == matches.to_arrow()
    assert pa.RecordBatchReader.from_stream(matches).read_all() == matches.to_arrow()
    assert pa.table(ensue.match(TABLE, "SELECT x.v FROM S WHERE C AS x")).num_rows == 0
    assert ensue.match(matches, "SELECT * FROM A WHERE A AS a ; A AS b", time="end_time").to_arrow().num_rows == 1
    assert pa.table(ensue.query(ASK).detect(TABLE)).column_names == ["start_time", "end_time", "position", "took_part"]


def test_head():
    matches = ensue.match(TABLE, "SELECT x.v FROM S WHERE A AS x")
    assert list(matches.head(1)) == list(matches)[:1]
    assert list(matches.head()) == list(matches)


def test_write_parquet(tmp_path):
    matches = ensue.match(TABLE, "SELECT x, x.v FROM S WHERE A AS x")
    assert matches.write_parquet(tmp_path / "found.parquet") == 2
    assert pa.parquet.read_table(tmp_path / "found.parquet").to_pylist() == matches.to_arrow().to_pylist()
    with pytest.raises(DataError, match=r"cannot write .*: No such file or directory"):
        matches.write_parquet(tmp_path / "none" / "found.parquet")


def test_duckdb():
    matches = ensue.match(TABLE, "SELECT x.v FROM S WHERE A AS x")
    connection = duckdb.connect()
    assert duckdb.execute("SELECT sum(x_v) FROM matches").fetchall() == [(16,)]
    assert matches.to_duckdb().aggregate("sum(x_v)").fetchall() == [(16,)]
    assert matches.to_duckdb(connection).columns == ["start_time", "end_time", "x_v"]
    relation = connection.from_arrow(TABLE)
    assert ensue.match(relation, ASK).to_arrow().to_pylist() == FOUND
    assert len(ensue.match(relation.limit(0), ASK)) == 0
    with pytest.raises(DataError, match="two columns named v"):
        ensue.match(connection.sql("SELECT 1 AS time, 'A' AS type, 2 AS v, 3 AS v"), ASK)


# ---------------------------------------------------------------- bad input


EMPTY = {
    "a list": lambda: [],
    "a generator": lambda: iter(()),
    "a table": lambda: pa.table({}),
    "pandas": lambda: pd.DataFrame(),
    "polars": lambda: pl.DataFrame(),
    "polars lazy": lambda: pl.DataFrame().lazy(),
    "a dataset": lambda: pa.dataset.dataset(pa.table({})),
    "the Arrow protocol": lambda: Capsule(pa.table({})),
}


@pytest.mark.parametrize("name", EMPTY)
def test_no_columns(name):
    with pytest.raises(DataError, match="there is no time column 'time': the events have no columns"):
        ensue.match(EMPTY[name](), ASK)


NO_ROWS = {
    "a table": lambda: TABLE[:0],
    "a reader": lambda: TABLE[:0].to_reader(),
    "pandas": lambda: TABLE[:0].to_pandas(),
    "polars": lambda: pl.DataFrame(TABLE[:0]),
    "a dataset": lambda: pa.dataset.dataset(TABLE[:0]),
    "the Arrow protocol": lambda: Capsule(TABLE[:0]),
    "a list of tables": lambda: [TABLE[:0]],
}


@pytest.mark.parametrize("name", NO_ROWS)
def test_no_rows(name):
    assert len(ensue.match(NO_ROWS[name](), ASK)) == 0


TWICE = pa.Table.from_arrays(
    [pa.array([1]), pa.array(["A"]), pa.array([1]), pa.array([2])], names=["time", "type", "v", "v"]
)


@pytest.mark.parametrize(
    "source",
    [lambda: TWICE, lambda: TWICE.to_reader(), lambda: Capsule(TWICE), lambda: [TWICE.to_batches()[0]]],
)
def test_two_columns_of_one_name(source):
    with pytest.raises(DataError, match="v"):
        ensue.match(source(), ASK)


def test_two_columns_of_one_name_in_pandas():
    frame = pd.DataFrame(np.array([[1, 2, 3]]), columns=["time", "v", "v"])
    with pytest.raises(DataError, match="the events have two columns named v"):
        ensue.match(frame, "SELECT * FROM S WHERE S")


@pytest.mark.parametrize("series", [pd.Series([1, 2], name="time"), pl.Series("time", [1, 2])])
def test_a_series_is_no_frame(series):
    with pytest.raises(DataError, match="a Series is one column, and events have several: give a frame"):
        ensue.match(series, ASK)


def test_a_dict_of_columns_is_no_stream():
    with pytest.raises(DataError, match=r"of a dict of columns, make a table: pyarrow.table"):
        ensue.match({"time": [1], "type": ["A"], "v": [7]}, ASK)


def test_a_column_of_several_types_in_pandas():
    frame = pd.DataFrame({"time": [1, "x"], "type": ["A", "B"], "v": [1, 2]})
    with pytest.raises(DataError, match="cannot read the events: Conversion failed for column time with type object: "):
        ensue.match(frame, ASK)


@pytest.mark.parametrize(
    "bad", [5, 1.5, None, object(), b"events.csv", [1, 2], [ROWS[0], 3], {"S": 5}, (TABLE, ROWS[0])]
)
def test_what_is_no_frame(bad):
    with pytest.raises(DataError, match=r"cannot read events from|cannot read the events"):
        ensue.match(bad, ASK)


@pytest.mark.parametrize("values", [[True], [[1]], [{"a": 1}], [b"x"], ["soon"]])
def test_a_time_column_of_a_wrong_type(values):
    with pytest.raises(DataError, match="the time column 'time'"):
        ensue.match(pa.table({"time": values, "type": ["A"]}), "SELECT * FROM S WHERE A")


def test_read_table_reads_only_what_is_asked():
    lazy = pl.DataFrame(ROWS).lazy()
    assert read_table(lazy, only=frozenset({"time", "v"})).column_names == ["time", "v"]
    assert read_table(pa.dataset.dataset(TABLE), only=frozenset({"v"})).column_names == ["v"]
