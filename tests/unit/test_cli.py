"""The command line: nearly all of it within this process, and what only a process has in one of its own."""

import contextlib
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from command_line import run_here, run_in_a_process

import ensue
from ensue import cli

ROWS = [{"time": 1, "type": "A", "v": 7}, {"time": 2, "type": "B", "v": 8}, {"time": 5, "type": "B", "v": 9}]
TABLE = pa.Table.from_pylist(ROWS)
TEXT = "SELECT x, y.v FROM S WHERE A AS x ; B AS y"
BAD = "SELECT z FROM S WHERE A AS x"
TOLD = (
    "error: unknown variable 'z'\n"
    "  line 1, column 8\n"
    "    SELECT z FROM S WHERE A AS x\n"
    "           ^\n"
    "  hint: the variables are A, x\n"
)
JSON = [
    {"start_time": 1, "end_time": 2, "x": [ROWS[0]], "y_v": 8},
    {"start_time": 1, "end_time": 5, "x": [ROWS[0]], "y_v": 9},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.sql").write_text(TEXT)
    (tmp_path / "bad.sql").write_text(BAD)
    pa.parquet.write_table(TABLE, tmp_path / "events.parquet")
    return tmp_path


def command(*arguments, input=b""):
    done = run_here(*arguments, input=input)
    return done.code, done.out, done.err.decode()


def words(text):
    return " ".join(text.replace("│", " ").split())


# ---------------------------------------------------------------- check and explain


def test_check(folder):
    assert command("check", "good.sql") == (0, b"good.sql: ok\n", "")
    assert command("check", "-", input=TEXT.encode()) == (0, b"standard input: ok\n", "")
    assert command("check", "bad.sql") == (1, b"", TOLD)
    assert command("check", "-", input=BAD.encode()) == (1, b"", TOLD)


def test_check_tells_what_never_matches_and_refuses_nothing(folder):
    text = "SELECT * FROM S WHERE A AS x FILTER x.v = NULL"
    told = (
        "note: this query never matches: x.v = NULL is never TRUE\n"
        "  line 1, column 37\n"
        "    SELECT * FROM S WHERE A AS x FILTER x.v = NULL\n"
        "                                        ^^^^^^^^^^\n"
        "  hint: write x.v IS NULL\n"
    )
    assert command("check", "-", input=text.encode()) == (0, b"standard input: ok\n", told)
    (folder / "never.sql").write_text(text)
    assert command("check", "never.sql", "--input", "events.parquet") == (0, b"never.sql: ok\n", told)
    assert command("run", "never.sql", "--input", "events.parquet", "-o", "-") == (0, b"", told + "0 matches\n")


def test_check_against_events(folder):
    (folder / "column.sql").write_text("SELECT x.w FROM S WHERE A AS x")
    assert command("check", "good.sql", "--input", "events.parquet")[0] == 0
    assert command("check", "column.sql")[0] == 0
    code, _, told = command("check", "column.sql", "--input", "events.parquet")
    assert (code, told.splitlines()[0]) == (1, "error: unknown attribute 'w' of x")
    code, _, told = command("check", "good.sql", "--input", "nothing.parquet")
    assert (code, told) == (1, "error: there is no file nothing.parquet\n")


def test_explain(folder):
    code, shown, _ = command("explain", "good.sql")
    assert code == 0
    assert shown.decode() == ensue.query(TEXT).explain() + "\n"
    assert command("explain", "bad.sql") == (1, b"", TOLD)


def test_explain_deterministic(folder):
    text = "SELECT * FROM S WHERE A AS x : B AS y FILTER x.v = y.v WITHIN 2 EVENTS"
    (folder / "windowed.sql").write_text(text)
    code, shown, _ = command("explain", "windowed.sql", "--deterministic")
    assert code == 0
    assert shown.decode() == ensue.query(text).explain(deterministic=True) + "\n"
    assert "\ndeterministic\n  3 states, 8 transitions, 1 register\n  0 -> 1  A / A, x; $1.1 := v\n" in shown.decode()
    code, shown, _ = command("explain", "good.sql", "--deterministic")
    assert code == 0
    reason = "without a window, every event may have to be stored; add WITHIN n EVENTS"
    assert shown.decode().endswith(f"\ndeterministic\n  there is no deterministic automaton: {reason}\n")


def test_text_that_is_not_utf_8(folder):
    code, _, told = command("check", "-", input=b"SELECT \xff")
    assert code == 1
    assert told.startswith("error: the text is not UTF-8: byte 0xff at offset 7\n")


# ---------------------------------------------------------------- run


def test_run_shows_a_table(folder):
    code, shown, told = command("run", "good.sql", "--input", "events.parquet")
    assert (code, told) == (0, "")
    assert shown.decode() == repr(ensue.match(TABLE, TEXT)) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "input"),
    [
        (["run", "good.sql", "-i", "-", "-o", "-", "--format", "parquet"], "events.parquet"),
        (["run", "good.sql", "-i", "mixed.parquet", "-o", "-"], None),
        (["run", "bad.sql", "-i", "events.parquet"], None),
        (["run", "good.sql"], None),
    ],
    ids=["standard input and output", "a note", "a wrong query", "wrong usage"],
)
def test_a_process_of_its_own_says_the_same(folder, arguments, input):
    """Bytes in and out, notes, exit codes: as a shell sees them."""
    pa.parquet.write_table(TABLE.take(pa.array([1, 0, 2])), "mixed.parquet")
    data = (folder / input).read_bytes() if input else b""
    assert run_in_a_process(*arguments, input=data) == run_here(*arguments, input=data)


def test_run_into_parquet(folder):
    code, shown, told = command("run", "good.sql", "-i", "events.parquet", "-o", "matches.parquet")
    assert (code, shown, told) == (0, b"", "2 matches in matches.parquet\n")
    assert pa.parquet.read_table("matches.parquet").to_pylist() == JSON


def test_run_into_json(folder):
    assert command("run", "good.sql", "-i", "events.parquet", "-o", "matches.json")[0] == 0
    assert json.loads((folder / "matches.json").read_text()) == JSON


@pytest.mark.parametrize("name", ["matches.jsonl", "matches.ndjson"])
def test_run_into_json_lines(folder, name):
    assert command("run", "good.sql", "-i", "events.parquet", "-o", name)[0] == 0
    assert [json.loads(line) for line in (folder / name).read_text().splitlines()] == JSON


def test_run_into_csv(folder):
    assert command("run", "good.sql", "-i", "events.parquet", "-o", "matches.csv")[0] == 0
    found = pa.csv.read_csv("matches.csv")
    assert found.column_names == ["start_time", "end_time", "x", "y_v"]
    assert json.loads(found.column("x")[0].as_py()) == [ROWS[0]]
    assert found.column("y_v").to_pylist() == [8, 9]


def test_run_into_a_table(folder):
    assert command("run", "good.sql", "-i", "events.parquet", "-o", "matches.txt", "--format", "table")[0] == 0
    assert (folder / "matches.txt").read_text() == repr(ensue.match(TABLE, TEXT)) + "\n"


def test_run_to_standard_output(folder):
    code, shown, told = command("run", "good.sql", "-i", "events.parquet", "-o", "-")
    assert (code, told) == (0, "2 matches\n")
    assert [json.loads(line) for line in shown.splitlines()] == JSON
    code, shown, _ = command("run", "good.sql", "-i", "events.parquet", "-o", "-", "--format", "parquet")
    assert code == 0
    assert pa.parquet.read_table(io.BytesIO(shown)).to_pylist() == JSON
    code, shown, _ = command("run", "good.sql", "-i", "events.parquet", "-o", "-", "--format", "csv")
    assert code == 0
    assert shown.startswith(b'"start_time","end_time","x","y_v"\n')


def as_bytes(write):
    target = io.BytesIO()
    write(target)
    return target.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        as_bytes(lambda f: pa.parquet.write_table(TABLE, f)),
        as_bytes(lambda f: pa.feather.write_feather(TABLE, f)),
        as_bytes(lambda f: pa.csv.write_csv(TABLE, f)),
        "\n".join(map(json.dumps, ROWS)).encode(),
    ],
    ids=["parquet", "arrow", "csv", "jsonl"],
)
def test_run_from_standard_input(folder, data):
    code, shown, _ = command("run", "good.sql", "-i", "-", "-o", "-", input=data)
    assert code == 0
    assert [json.loads(line) for line in shown.splitlines()] == JSON


def test_the_query_from_standard_input(folder):
    assert command("run", "-", "-i", "events.parquet", input=TEXT.encode())[0] == 0


@pytest.mark.parametrize("data", [b"", b"  \n", b'{"time": 1', b"PAR1 and no more", b"ARROW1"])
def test_broken_standard_input(folder, data):
    code, _, told = command("run", "good.sql", "-i", "-", input=data)
    assert code == 1
    assert told.startswith(("error: cannot read standard input as ", "error: standard input is empty"))


def test_options_of_run(folder):
    rows = [{"at": 2, "kind": "B", "v": 1, "n": 2}, {"at": 2, "kind": "A", "v": 2, "n": 1}]
    pa.parquet.write_table(pa.Table.from_pylist(rows), "other.parquet")
    (folder / "timed.sql").write_text(TEXT + " WITHIN 5 s")
    options = ["--time", "at", "--type", "kind", "--unit", "s", "--tiebreak", "n", "--engine", "reference"]
    code, shown, _ = command("run", "timed.sql", "-i", "other.parquet", *options)
    assert code == 0
    assert shown.endswith(b"1 match\n")
    code, shown, _ = command("run", "good.sql", "-i", "other.parquet", "--no-time", "--type", "kind")
    assert shown.endswith(b"0 matches\n")


def test_unsorted_events_are_said_on_standard_error(folder):
    pa.parquet.write_table(TABLE.take(pa.array([1, 0, 2])), "mixed.parquet")
    code, shown, told = command("run", "good.sql", "-i", "mixed.parquet")
    assert code == 0
    assert shown.endswith(b"2 matches\n")
    assert "the events were not in the order of time (1 step back): sorted, stably" in words(told)


def test_parameters(folder):
    (folder / "with.sql").write_text(f"{TEXT} FILTER y.v > $least AND x.type = $type LIMIT $n")
    code, shown, _ = command("run", "with.sql", "-i", "events.parquet", "--param", "least=8.5", "--param", "type=A", *N)
    assert (code, shown.endswith(b"1 match\n")) == (0, True)
    code, shown, _ = command("explain", "with.sql", "--param", "least=null", "--param", "type='8'", *N)
    assert code == 0
    assert b"FILTER y.v > NULL AND x.type = '8'" in shown
    assert command("check", "with.sql", "--param", "least=true", "--param", "type=x=y", *N)[0] == 0
    code, _, told = command("check", "with.sql", "--param", "least=-1e3", *N)
    assert (code, "hint: hand it over: --param type=3" in told) == (1, True)


N = ("--param", "n=7")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--param", "least"), "write it as --param least=3"),
        (("--param", "v=1", "--param", "v=2"), "--param v is given twice"),
        (("--param", "v=1"), "the query has no $v"),
    ],
)
def test_parameters_that_are_none(folder, given, message):
    code, _, told = command("check", "good.sql", *given)
    assert code == 2
    assert message in words(told)


# ---------------------------------------------------------------- exit codes


def test_a_query_error_is_1(folder):
    assert command("run", "bad.sql", "-i", "events.parquet") == (1, b"", TOLD)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-i", "nothing.parquet"], "error: there is no file nothing.parquet\n"),
        (["-i", "events.parquet", "--time", "when"], "error: there is no time column 'when'"),
        (["-i", "events.parquet", "--engine", "fast"], "error: unknown engine 'fast': "),
        (["-i", "events.parquet", "-o", "no/such/folder/m.parquet"], "error: cannot write no/such/folder/m.parquet: "),
    ],
)
def test_a_data_error_is_1(folder, arguments, message):
    code, shown, told = command("run", "good.sql", *arguments)
    assert (code, shown) == (1, b"")
    assert told.startswith(message)
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "good.sql"], "Missing option '--input'"),
        (["run", "nothing.sql", "-i", "events.parquet"], "there is no file nothing.sql"),
        (["run", "-", "-i", "-"], "cannot both come from standard input"),
        (["run", "good.sql", "-i", "events.parquet", "-o", "matches.xlsx"], "cannot tell the format of matches.xlsx"),
        (["run", "good.sql", "-i", "events.parquet", "--format", "xml"], "'xml' is not one of"),
        (["run", "good.sql", "-i", "events.parquet", "--nonsense"], "No such option"),
        (["check", "nothing.sql"], "there is no file nothing.sql"),
        (["run", "good.sql", "-i", "events.parquet", "--master", "local[2]"], "it needs --engine spark"),
        (["run", "good.sql", "-i", "-", "--engine", "spark"], "Spark reads files and folders, not standard input"),
        (["explain", "good.sql", "--master", "local[2]"], "it needs --engine spark"),
        (["explain", "good.sql", "-i", "events.parquet"], "--input and --engine spark go together"),
        (["explain", "good.sql", "--engine", "spark"], "--input and --engine spark go together"),
        (["check"], "Missing argument 'FILE'"),
        (["nonsense"], "No such command"),
        ([], "Usage: "),
    ],
    ids=lambda a: " ".join(a) if isinstance(a, list) else "",
)
def test_wrong_usage_is_2(folder, arguments, message):
    code, shown, told = command(*arguments)
    assert code == 2
    assert message in words(told) + words(shown.decode())
    assert "Traceback" not in told


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"], ["explain", "--help"], ["run", "--help"]])
def test_help_is_0(arguments):
    code, shown, _ = command(*arguments)
    assert code == 0
    assert b"Usage: " in shown


def test_an_existing_output_is_left_alone_where_the_query_is_wrong(folder):
    (folder / "matches.jsonl").write_text("old\n")
    assert command("run", "bad.sql", "-i", "events.parquet", "-o", "matches.jsonl")[0] == 1
    assert (folder / "matches.jsonl").read_text() == "old\n"


# ---------------------------------------------------------------- on Spark


@pytest.mark.parametrize(
    ("input", "message"),
    [
        ("nothing.parquet", "error: there is no file nothing.parquet\n"),
        ("good.sql", "error: cannot tell the format of good.sql: Spark reads files that end in .parquet, "),
    ],
)
def test_spark_is_not_started_for_events_that_it_cannot_read(folder, input, message):
    code, _, told = command("run", "good.sql", "-i", input, "--engine", "spark")
    assert code == 1
    assert told.startswith(message)


# ---------------------------------------------------------------- progress


@pytest.mark.slow
def test_a_bar_while_standard_input_is_awaited(folder):
    """On a terminal, and gone when the events are there."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    program = [sys.executable, "-m", "ensue.cli", "run", "good.sql", "-i", "-", "-o", "m.jsonl"]
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": theirs}
    with subprocess.Popen(program, env=environment, **streams) as process:
        os.close(theirs)
        shown = b""
        while b"reading standard input" not in shown:
            shown += os.read(ours, 65536)
        assert process.stdin is not None
        process.stdin.write(Path("events.parquet").read_bytes())
        process.stdin.close()
        with contextlib.suppress(OSError):  # how Linux tells that the other end was closed
            while part := os.read(ours, 65536):
                shown += part
    os.close(ours)
    assert process.returncode == 0
    assert shown.decode().endswith("2 matches in m.jsonl\r\n")


def test_no_progress_where_nobody_looks(folder):
    long = pa.table({"time": range(20_000), "type": ["C"] * 20_000, "v": range(20_000)})
    pa.parquet.write_table(long, "long.parquet")
    code, shown, told = command("run", "good.sql", "-i", "long.parquet", "-o", "m.jsonl")
    assert (code, shown) == (0, b"")
    assert told.endswith("0 matches in m.jsonl\n")
    assert "matching" not in told


def test_a_type_that_no_event_has_is_told_where_nothing_matched(folder):
    pa.parquet.write_table(pa.table({"time": [1, 2], "type": ["Bee", "Cat"], "v": [1, 2]}), "other.parquet")
    _, _, told = command("run", "good.sql", "-i", "other.parquet")
    assert "note: no event has the type" in told


def test_check_reads_events_from_standard_input(folder):
    data = Path("events.parquet").read_bytes()
    assert command("check", "good.sql", "-i", "-", input=data)[0] == 0


def test_the_output_does_not_overwrite_what_it_comes_from(folder):
    before = Path("good.sql").read_bytes()
    assert command("run", "good.sql", "-i", "events.parquet", "-o", "good.sql", "--format", "csv")[0] == 2
    assert Path("good.sql").read_bytes() == before


def test_json_has_no_nan(folder):
    pa.parquet.write_table(pa.table({"time": [1], "type": ["A"], "v": [float("nan")], "b": [b"\xff"]}), "nan.parquet")
    Path("nan.sql").write_text("SELECT A.v, A.b FROM S WHERE A", encoding="utf-8")
    _, shown, _ = command("run", "nan.sql", "-i", "nan.parquet", "-o", "-")
    assert json.loads(shown) == {"start_time": 1, "end_time": 1, "A_v": None, "A_b": "ff"}


def test_version(folder):
    assert command("--version")[1].startswith(b"ensue 0.")


def test_the_entry_point_is_installed():
    from importlib.metadata import entry_points

    (entry,) = entry_points(group="console_scripts", name="ensue")
    assert entry.load() is cli.main
