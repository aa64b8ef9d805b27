"""The command line as people use it: formats, a growing file, a first query, and what happens at a bad moment."""

import contextlib
import html
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from command_line import run_here, run_in_a_process

import ensue
from ensue.cli.app import app
from ensue.cli.new_lines import whole_lines
from ensue.cli.starter import starter

PROGRAM = [sys.executable, "-m", "ensue.cli"]
CSV = "time,type,v\n2024-01-01 00:00:01,A,7\n2024-01-01 00:00:02,B,8\n"
TEXT = "SELECT x.v, y.v FROM S WHERE A AS x ; B AS y"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.sql").write_text(TEXT)
    (tmp_path / "events.csv").write_text(CSV)
    return tmp_path


def command(*arguments, input=b""):
    done = run_here(*arguments, input=input)
    return done.code, done.out, done.err.decode()


@contextmanager
def started(*arguments: str, program: Sequence[str] = PROGRAM, **options: Any) -> Iterator[Any]:
    """The command as a process, which ends with the test. It heeds Ctrl-C, which a shell's background jobs ignore."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    environment = {**os.environ, "NO_COLOR": "1"}
    heeding = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen([*program, *arguments], env=environment, preexec_fn=heeding, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


# ---------------------------------------------------------------- formats


def test_formats_on_standard_output(folder):
    row = {"start_time": "2024-01-01 00:00:01", "end_time": "2024-01-01 00:00:02", "x_v": 7, "y_v": 8}
    asked = ("run", "q.sql", "-i", "events.csv", "--format")
    assert json.loads(command(*asked, "json")[1]) == [row]
    assert json.loads(command(*asked, "jsonl")[1]) == row
    assert command(*asked, "csv")[1].startswith(b'"start_time","end_time","x_v","y_v"\n')
    assert pa.ipc.open_file(command(*asked, "arrow")[1]).read_all()["y_v"].to_pylist() == [8]
    assert pa.parquet.read_table(pa.BufferReader(command(*asked, "parquet")[1]))["y_v"].to_pylist() == [8]
    assert command(*asked, "table")[1].endswith(b"1 match\n")


def test_a_sample(folder):
    (folder / "q.sql").write_text("SELECT * FROM S WHERE A+")
    (folder / "events.csv").write_text("time,type\n" + "".join(f"{k},A\n" for k in range(80)))
    asked = ("run", "q.sql", "-i", "events.csv", "--unit", "s", "--format", "jsonl", "--sample")
    drawn = [command(*asked, "3", "--seed", seed)[1] for seed in ("1", "1", "2")]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0].splitlines())) == 3
    assert command(*asked, "0") == (0, b"", "0 matches\n")
    for wrong in (("-1",), ("1", "--engine", "spark"), ("1", "--follow")):
        assert "--sample" in command(*asked, *wrong)[2]
    assert "it needs --sample" in command("run", "q.sql", "-i", "events.csv", "--seed", "1")[2]


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "arrow", "parquet", "feather"])
def test_what_is_written_can_be_read(folder, ending):
    assert command("run", "q.sql", "-i", "events.csv", "-o", f"found.{ending}")[0] == 0
    again = ensue.match(f"found.{ending}", "SELECT found.y_v FROM found WHERE found", time="end_time")
    assert again.to_arrow()["found_y_v"].to_pylist() == [8]


def test_json_of_no_rows(folder):
    Path("none.sql").write_text("SELECT x.v FROM S WHERE B AS x ; B")
    assert command("run", "none.sql", "-i", "events.csv", "--format", "json")[1] == b"[]\n"


def test_a_folder_and_a_pattern_are_read(folder):
    (folder / "days").mkdir()
    for k in (1, 2):
        (folder / "days" / f"{k}.csv").write_text(f"time,type,v\n2024-01-0{k} 00:00:00,{'AB'[k - 1]},{k}\n")
    for input in ("days", "days/*.csv"):
        assert b'"x_v": 1, "y_v": 2' in command("run", "q.sql", "-i", input, "--format", "jsonl")[1]


def on_a_terminal(*arguments, **environment):
    """What a terminal gets of the command's standard output."""
    ours, theirs = pty.openpty()
    inherited = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | environment
    with subprocess.Popen([*PROGRAM, *arguments], stdout=theirs, stderr=subprocess.DEVNULL, env=inherited):
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # this is how a terminal ends on Linux
                return text.decode()
            text += part


@pytest.mark.slow
def test_colours_only_on_a_terminal(folder):
    asked = ("run", "q.sql", "-i", "events.csv")
    coloured, plain = on_a_terminal(*asked), on_a_terminal(*asked, NO_COLOR="1")
    assert "\x1b[1;36m" in coloured
    assert "1 match" in coloured
    assert "\x1b[1;36m" not in plain
    assert "1 match" in plain
    assert b"\x1b" not in command(*asked)[1]


# ---------------------------------------------------------------- growing input


def test_lines_come_whole():
    assert list(whole_lines(iter([b"a\nb", b"c", None, b"\n", b"\n\n"]))) == [b"a\n", None, b"bc\n", b"\n\n"]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_follow_standard_input(folder, format):
    done = run_in_a_process("run", "q.sql", "-i", "-", "--follow", "--format", format, input=CSV.encode())
    assert done.code == 0
    assert done.err.decode().endswith("1 change\n")
    if format == "jsonl":
        (row,) = map(json.loads, done.out.splitlines())
        assert (row["change"], row["x_v"], row["y_v"]) == ("insert", 7, 8)
    else:
        assert done.out.splitlines()[0] == b'"change","start_time","end_time","x_v","y_v"'


def test_follow_a_file_until_ctrl_c(folder):
    """Matches come as the file grows, one with a late event too; half a line waits for its rest."""
    with started("run", "q.sql", "-i", "events.csv", "-f") as process:
        assert json.loads(process.stdout.readline())["y_v"] == 8
        with open("events.csv", "a") as file:
            file.write("2024-01-01 00:00:03,B,9\n2024-01-01 00:0")
            file.flush()
            assert json.loads(process.stdout.readline())["y_v"] == 9
            file.write("0:05,B,10\n")
        assert json.loads(process.stdout.readline())["y_v"] == 10
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read().decode().splitlines()[-1] == "interrupted"


def test_follow_with_a_page(folder):
    done = run_here("run", "q.sql", "-i", "-", "--follow", "--page", "page.html", input=CSV.encode())
    assert (done.code, done.err) == (0, b"1 change\n")
    page = Path("page.html").read_text()
    assert "<h1>-: stopped</h1>" in page
    assert "<b>1</b>inserted" in page
    assert ensue.query(TEXT).text in html.unescape(page)
    code, shown, told = command("run", "q.sql", "-i", "events.csv", "--follow", "--page", "none/page.html")
    assert (code, shown, told) == (1, b"", "error: cannot write none/page.html: No such file or directory\n")


def test_ctrl_c_that_got_lost_in_a_callback(folder, monkeypatch):
    """Python writes away what is raised in one, and goes on; the file is followed no longer all the same."""

    class Callback:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("sys.unraisablehook", lambda _: None)
    before = signal.getsignal(signal.SIGINT)
    events = (Callback() for _ in range(1))
    # Only this module's: other threads sleep too.
    monkeypatch.setattr("ensue.cli.new_lines.time", SimpleNamespace(sleep=lambda _: next(events, None) and None))
    try:
        code, shown, told = command("run", "q.sql", "-i", "events.csv", "-f")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (code, told) == (130, "interrupted\n")
    assert json.loads(shown)["y_v"] == 8


@pytest.mark.slow
def test_follow_a_file_that_is_cut(folder):
    with started("run", "q.sql", "-i", "events.csv", "-f") as process:
        process.stdout.readline()
        Path("events.csv").write_text("time")
        assert process.wait(60) == 1
        assert (
            process.stderr.read()
            .decode()
            .endswith("events.csv is shorter than it was, or gone: what follows is not known\n")
        )


def test_follow_refuses(folder):
    for more, code, said in (
        (["--no-time"], 2, "--follow needs the times"),
        (["-o", "x.csv"], 2, "writes to standard output"),
        (["--engine", "spark"], 2, "is not for Spark"),
        (["--format", "parquet"], 1, "written in lines"),
    ):
        told = command("run", "q.sql", "-i", "events.csv", "--follow", *more)
        assert told[0] == code
        assert said in " ".join(told[2].replace("│", " ").split())
    for option in (["--delay", "1 s"], ["--page", "page.html"]):
        assert command("run", "q.sql", "-i", "events.csv", *option)[0] == 2
    assert "--follow reads lines" in command("run", "q.sql", "-i", "x.parquet", "--follow")[2]
    assert "there is no file x.csv" in command("run", "q.sql", "-i", "x.csv", "--follow")[2]


# ---------------------------------------------------------------- a first query


def test_new(folder):
    code, shown, told = command("new", "events.csv")
    assert (code, told) == (0, "run it with: ensue run QUERY.sql --input events.csv\n")
    assert len(ensue.match("events.csv", shown)) == 1
    assert command("new", "events.csv", "-o", "first.sql")[0] == 0
    assert command("run", "first.sql", "-i", "events.csv")[1].endswith(b"1 match\n")
    assert command("new", "events.csv", "-o", "first.sql")[0] == 2


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"x": [1.5, 2.5]}),
        pa.table({"select": ["a", "b"], "from where": [1, 2], "time": [1, 2]}),
        pa.table({"type": pa.array([None, None], pa.string()), "ts": [1, 2]}),
        pa.table({"time": pa.array([], pa.timestamp("us")), "type": pa.array([], pa.string())}),
        pa.table({"user_id": [1, 1, 2, 2], "timestamp": [1, 2, 3, 4], "type": list("abab")}),
        pa.table({"Kind": ["go", "a b", "go"], "note": ["", "x", ""], "when": pa.array([1, 2, 3], pa.timestamp("s"))}),
    ],
)
@pytest.mark.parametrize("source", ["2024.csv", "my events.parquet", "-", "a/b/select.csv", "folder/"])
def test_a_first_query_is_a_query(table, source):
    text, told = starter(table, source)
    options: dict[str, Any] = {"time": None} if "--no-time" in told else {}
    if "--time" in told:
        options["time"] = told.split("--time ")[1].split()[0]
    if "--unit" in told:
        options["unit"] = "ms"
    assert ("--type Kind" in told) == ("Kind" in table.column_names)
    if "--type" in told:
        options["type"] = told.split("--type ")[1].split()[0]
        assert "WHERE go AS a ; `a b` AS b" in text
    ensue.match(table, text, **options)


# ---------------------------------------------------------------- shells


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ensue re", ["report"]),
        ("ensue run --fo", ["--format", "--follow"]),
        ("ensue report q.sql --no", ["--no-time"]),
    ],
)
def test_a_shell_completes(monkeypatch, typed, offered):
    """As bash asks for it: the words so far, and which of them is being typed."""
    for name, value in {
        "_ENSUE_COMPLETE": "complete_bash",
        "_TYPER_COMPLETE_ARGS": typed,
        "COMP_WORDS": typed,
        "COMP_CWORD": str(typed.count(" ")),
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended, contextlib.redirect_stdout(io.StringIO()) as shown:
        app(prog_name="ensue", args=[])
    assert ended.value.code == 0
    assert sorted(shown.getvalue().split()) == sorted(offered)


def test_completion_can_be_installed():
    assert "--install-completion" in command("--help")[1].decode()


# ---------------------------------------------------------------- bad moments


@pytest.mark.parametrize("wait", [0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.8, 1.2])
def test_ctrl_c_at_any_moment(folder, wait):
    """One line, and no output. What comes before `main` is begun, a few milliseconds, is not ours to catch."""
    long = pa.table({"time": range(60_000), "type": ["A", "B"] * 30_000, "v": range(60_000)})
    pa.parquet.write_table(long, "long.parquet")
    program = "import sys; print(1, flush=True); from ensue.cli import main; main()"
    arguments = ["run", "q.sql", "-i", "long.parquet", "-o", "found.parquet", "--memory", "4 GB"]
    with started(*arguments, program=[sys.executable, "-c", program]) as process:
        process.stdout.readline()
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        told = process.stderr.read().decode()
        code = process.wait(60)
    if code == 1:  # it was refused before
        assert "memory" in told
        return
    assert code in (130, -signal.SIGINT)
    assert "in main" not in told
    assert not Path("found.parquet").exists()
    assert not Path("found.parquet.part").exists()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["explain", "q.sql"], ["run", "q.sql", "-i", "long.csv", "-o", "-"]])
def test_a_closed_pipe(folder, arguments):
    Path("long.csv").write_text("time,type,v\n" + "".join(f"{k},{'AB'[k % 2]},{k}\n" for k in range(600)))
    read, write = os.pipe()
    os.close(read)
    with started(*arguments, stdout=write) as process:
        os.close(write)
        told = process.stderr.read().decode()
        assert process.wait() == 0
    assert "Traceback" not in told
    assert "BrokenPipe" not in told


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [["explain", "q.sql"], ["run", "q.sql", "-i", "events.csv"], ["run", "q.sql", "-i", "events.csv", "-o", "-"]],
)
def test_a_full_disk(folder, arguments):
    with open("/dev/full", "wb") as full, started(*arguments, stdout=full) as process:
        told = process.stderr.read().decode()
        assert process.wait() == 1
    assert "cannot write" in told
    assert "No space left on device" in told
    assert "Traceback" not in told


#: Runs each command with a limit on the size of files, as on a disk that is full soon, and says what came of it.
ON_A_SMALL_DISK = """
import json, os, resource, signal, sys
sys.path.insert(0, sys.argv[1])
from command_line import run_here
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
for name in sys.argv[2:]:
    asked = {"first.sql": ["new", "wide.csv"], "page.html": ["report", "q.sql", "-i", "long.csv", "--unit", "s"]}
    done = run_here(*asked.get(name, ["run", "q.sql", "-i", "long.csv"]), "-o", name)
    print(json.dumps([name, done.code, done.err.decode().splitlines()[-1:], sorted(os.listdir())]))
"""


@pytest.mark.slow
def test_a_disk_that_is_full_soon(folder):
    """One line that names the file, and neither half of it nor an older one lost."""
    Path("long.csv").write_text("time,type,v\n" + "".join(f"{k},{'AB'[k % 2]},{k}\n" for k in range(400)))
    Path("wide.csv").write_text(",".join(f"a_column_with_a_long_name_{k}" for k in range(200)) + "\n")
    names = ["f.parquet", "f.csv", "f.arrow", "f.jsonl", "f.json", "page.html", "first.sql"]
    Path("f.csv").write_text("old")
    support = str(Path(run_here.__code__.co_filename).parent)
    done = subprocess.run(
        [sys.executable, "-c", ON_A_SMALL_DISK, support, *names], capture_output=True, text=True, check=True
    )
    there = sorted(["events.csv", "f.csv", "long.csv", "q.sql", "wide.csv"])
    expected = [[name, 1, [f"error: cannot write {name}: File too large"], there] for name in names]
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected
    assert Path("f.csv").read_text() == "old"


def test_an_output_that_is_no_plain_file(folder):
    """A pipe is written to, and a link leads where it did; what is replaced keeps its rights."""
    asked = ("run", "q.sql", "-i", "events.csv", "--format", "jsonl", "-o")
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert command(*asked, "pipe")[0] == 0
    assert json.loads(os.read(reader, 10_000))["y_v"] == 8
    os.close(reader)
    assert Path("pipe").is_fifo()
    Path("real.jsonl").write_text("old")
    Path("real.jsonl").chmod(0o600)
    Path("link.jsonl").symlink_to("real.jsonl")
    assert command(*asked, "link.jsonl")[0] == 0
    assert Path("link.jsonl").is_symlink()
    assert json.loads(Path("real.jsonl").read_text())["y_v"] == 8
    assert Path("real.jsonl").stat().st_mode & 0o777 == 0o600
    (folder / "folder.csv").mkdir()
    code, _, told = command(*asked, "folder.csv")
    assert (code, told) == (1, "error: cannot write folder.csv: Is a directory\n")


@pytest.mark.slow
def test_standard_streams_that_are_closed(folder):
    shell = f'"{sys.executable}" -m ensue.cli run q.sql'
    for said, code, told in (
        ("-i events.csv >&-", 0, ""),
        ("-i - <&-", 1, "error: standard input is empty\n"),
        ("-i none.csv 2>&-", 1, ""),
    ):
        done = subprocess.run(["sh", "-c", f"{shell} {said}"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (code, told)


BAD = {
    "a missing file": ("none.csv", "error: there is no file none.csv"),
    "a folder without files": ("empty", "error: the folder empty has no files"),
    "a binary": ("binary.csv", "error: cannot read binary.csv: "),
    "a binary called Parquet": ("binary.parquet", "error: cannot read binary.parquet: "),
    "an empty file": ("nothing.csv", "error: cannot read nothing.csv: "),
    "an unknown format": ("events.xlsx", "error: cannot tell the format of events.xlsx"),
}


@pytest.mark.parametrize(
    "asked",
    [
        ["run", "q.sql", "-i"],
        ["check", "q.sql", "-i"],
        ["why", "q.sql", "-i"],
        ["report", "q.sql", "-o", "page.html", "-i"],
        ["new"],
    ],
    ids=lambda asked: asked[0],
)
@pytest.mark.parametrize("name", BAD)
def test_bad_input(folder, asked, name):
    (folder / "empty").mkdir()
    for binary in ("binary.csv", "binary.parquet", "events.xlsx"):
        (folder / binary).write_bytes(bytes(range(256)) * 4)
    (folder / "nothing.csv").touch()
    input, said = BAD[name]
    code, shown, told = command(*asked, input)
    assert (code, shown) == (1, b"")
    assert told.startswith(said)
    assert told.count("\n") == 1


def test_a_query_that_cannot_be_read(folder):
    (folder / "binary.sql").write_bytes(b"\xff\xfe\x00SELECT")
    assert command("check", "none.sql")[0] == 2
    code, _, told = command("check", str(folder))
    assert (code, told) == (1, f"error: cannot read {folder}: Is a directory\n")
    assert command("check", "binary.sql")[0] == 1
