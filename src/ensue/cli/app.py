"""The commands: `ensue check`, `explain`, `new`, `prepare`, `report`, `run`, `why`."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer
import typer.core
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from ensue.api import Query, query
from ensue.cli.starter import starter
from ensue.data.sources import read_schema, read_stream_format, read_table
from ensue.errors import DataError, EngineError, EnsueError
from ensue.results.matches import Matches
from ensue.results.writers import OutputFormat, write_tables, write_text

if TYPE_CHECKING:
    from ensue.spark.files import SparkMatches


class _Passing(Exception):
    """Carries what typer would handle in its own way, past it."""

    def __init__(self, told: BaseException) -> None:
        self.told = told
        super().__init__(str(told))


class _Commands(typer.core.TyperGroup):
    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Reads the arguments, and writes `--help`."""
        return self._passing(super().make_context, *arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Runs a command."""
        return self._passing(super().invoke, ctx)

    @staticmethod
    def _passing(work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Ctrl-C and a closed pipe are for `main`."""
        try:
            return work(*arguments, **options)
        except (KeyboardInterrupt, BrokenPipeError) as e:
            raise _Passing(e) from e


app = typer.Typer(
    help="Complex event recognition: patterns over streams of events.",
    no_args_is_help=True,
    cls=_Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
_stderr = Console(stderr=True, highlight=False)


QueryFile = Annotated[str, typer.Argument(metavar="FILE", help="The query's text; '-' reads standard input.")]
SchemaOf = Annotated[
    str | None,
    typer.Option(
        "--input", "-i", help="Checks names and types against the columns of these events; '-' reads standard input."
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="The value of $NAME in the query: a number, TRUE, FALSE, NULL, else a text, also in single quotes.",
    ),
]
Time = Annotated[str, typer.Option(help="The time column.")]
Type = Annotated[str | None, typer.Option(help="The column with each event's type.")]
Unit = Annotated[str | None, typer.Option(help="The unit of an integer time column, such as ms.")]
Tiebreak = Annotated[str | None, typer.Option(help="A column that orders events of equal time.")]
Memory = Annotated[
    str | None,
    typer.Option(help="The memory that the query may take, such as '512 MB'; by default a part of all memory."),
]
Master = Annotated[
    str | None, typer.Option(help="Where Spark runs, local[*] by default: all cores of this machine.", metavar="URL")
]

Engine = Annotated[str, typer.Option(help="The engine that evaluates the query: auto, automaton, reference, or spark.")]
Format = Annotated[OutputFormat | None, typer.Option(help="The output's format; by default, the ending of its name.")]
Sample = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="So many of the matches, drawn at random from all.")
]
Seed = Annotated[int | None, typer.Option(help="With --sample: the same seed gives the same matches.")]
Delay = Annotated[str | None, typer.Option(help="With --follow: how late events come at most, such as '10 s'.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"ensue {version('ensue')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Complex event recognition: patterns over streams of events."""


@app.command("check")
def check_command(file: QueryFile, input: SchemaOf = None, param: Params = None) -> None:
    """Reports every problem of a query, or that it has none, and what of it can never match."""
    _check_standard_input(file, input)
    made = _read_query(file, param)
    if input is None:
        made.check()
    else:
        made.check(_read_standard_input().schema if input == "-" else read_schema(input))
    typer.echo(f"{'standard input' if file == '-' else file}: ok")


@app.command("explain")
def explain_command(
    file: QueryFile,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the determinised automaton too.")] = False,
    deterministic: Annotated[
        bool,
        typer.Option("--deterministic", help="Show the deterministic automaton of a window in events."),
    ] = False,
    input: Annotated[
        str | None, typer.Option("--input", "-i", help="The events, a file or a folder; only with --engine spark.")
    ] = None,
    time: Time = "time",
    type: Type = None,
    unit: Unit = None,
    tiebreak: Tiebreak = None,
    param: Params = None,
    svg: Annotated[bool, typer.Option("--svg", help="Draw the automaton instead, as SVG.")] = False,
    engine: Annotated[str, typer.Option(help="'spark' also shows what Spark does for the query.")] = "auto",
    master: Master = None,
) -> None:
    """Shows how a query was understood and how it is evaluated."""
    if (input is not None) != (engine == "spark"):
        raise typer.BadParameter("--input and --engine spark go together: they show what Spark does with the events")
    _check_master(master, engine)
    made = _read_query(file, param)
    if svg:
        typer.echo(str(made.plot()))
        return
    if input is None:
        typer.echo(made.explain(verbose=verbose, deterministic=deterministic))
        return
    reading: dict[str, Any] = {"time": time, "type": type, "unit": unit, "tiebreak": tiebreak}
    with _spark_frame(input, master) as events:
        typer.echo(made.explain(events, verbose=verbose, deterministic=deterministic, **reading))


@app.command("run")
def run_command(
    file: QueryFile,
    input: Annotated[
        str,
        typer.Option(
            "--input", "-i", help="Events: a file, a folder or a pattern such as '*.csv'; '-' reads standard input."
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="The file for the matches; '-' writes JSON lines to standard output."),
    ] = None,
    time: Time = "time",
    no_time: Annotated[bool, typer.Option("--no-time", help="Keep the rows in their order.")] = False,
    type: Type = None,
    unit: Unit = None,
    tiebreak: Tiebreak = None,
    param: Params = None,
    engine: Engine = "auto",
    memory: Memory = None,
    closed: Annotated[bool, typer.Option("--closed", help="Nothing follows the events: tell what waits too.")] = False,
    master: Master = None,
    format: Format = None,
    sample: Sample = None,
    seed: Seed = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as the input grows, until Ctrl-C.")] = False,
    delay: Delay = None,
) -> None:
    """Runs a query over events and writes its matches; without --output, shows a short table."""
    _check_sample(sample, seed, "--follow" if follow else engine)
    if follow:
        _check_follow(output, engine, no_time=no_time)
        reading: dict[str, Any] = {"time": time, "type": type, "unit": unit, "tiebreak": tiebreak, "memory": memory}
        _follow(_read_query(file, param), input, reading, delay, format or OutputFormat.jsonl)
        return
    if delay is not None:
        raise typer.BadParameter("--delay says how late events come: it needs --follow")
    _check_standard_input(file, input)
    _check_master(master, engine)
    if output not in (None, "-") and Path(str(output)).resolve() in (Path(file).resolve(), Path(input).resolve()):
        raise typer.BadParameter(f"the output would overwrite {output}")
    wanted = format or _format_of(output)
    made = _read_query(file, param)
    when = None if no_time else time
    if engine == "spark":
        from_spark: dict[str, Any] = {"time": when, "type": type, "unit": unit, "tiebreak": tiebreak}
        with _spark_frame(input, master) as frame:
            from ensue.spark.files import SparkMatches

            rows = made.run(frame, memory=memory, closed=closed, **from_spark)
            _write(SparkMatches(rows, sorted=bool(made.ast.order)), output, wanted)
        return
    events = _read_events(input)
    with _progress(events.num_rows) as report:
        reading = {"time": when, "type": type, "unit": unit, "tiebreak": tiebreak}
        how: Any = {**reading, "engine": engine, "memory": memory, "progress": report, "closed": closed}
        found = made.run(events, **how) if sample is None else made.sample(events, sample, seed=seed, **how)
    _write(found, output, wanted)


@app.command("new")
def new_command(
    input: Annotated[str, typer.Argument(metavar="EVENTS", help="The events: a file, a folder or a pattern.")],
    output: Annotated[str | None, typer.Option("--output", "-o", help="The file for the query.")] = None,
) -> None:
    """Writes a first query for the events, with comments, to start from."""
    if output not in (None, "-") and Path(str(output)).exists():
        raise typer.BadParameter(f"there is a file {output} already")
    text, command = starter(_read_events(input), input)
    query(text)  # what is written is a query
    write_text(text, output)
    typer.echo(f"run it with: {command.replace('QUERY.sql', output or 'QUERY.sql')}", err=True)


@app.command("why")
def why_command(
    file: QueryFile,
    input: Annotated[str, typer.Option("--input", "-i", help="Events, as for run; '-' reads standard input.")],
    time: Time = "time",
    no_time: Annotated[bool, typer.Option("--no-time", help="Keep the rows in their order.")] = False,
    type: Type = None,
    unit: Unit = None,
    tiebreak: Tiebreak = None,
    param: Params = None,
    memory: Memory = None,
    closed: Annotated[bool, typer.Option("--closed", help="Nothing follows the events.")] = False,
) -> None:
    """Shows why a query matches no more: how far matches come, what ends them, and the nearest misses."""
    _check_standard_input(file, input)
    made = _read_query(file, param)
    events = _read_events(input)
    reading: Any = {"time": None if no_time else time, "type": type, "unit": unit, "tiebreak": tiebreak}
    typer.echo(str(made.why(events, **reading, memory=memory, closed=closed)))


@app.command("report")
def report_command(
    file: QueryFile,
    input: Annotated[str, typer.Option("--input", "-i", help="Events, as for run; '-' reads standard input.")],
    output: Annotated[str, typer.Option("--output", "-o", help="The page; '-' writes to standard output.")],
    time: Time = "time",
    no_time: Annotated[bool, typer.Option("--no-time", help="Keep the rows in their order.")] = False,
    type: Type = None,
    unit: Unit = None,
    tiebreak: Tiebreak = None,
    param: Params = None,
    memory: Memory = None,
    closed: Annotated[bool, typer.Option("--closed", help="Nothing follows the events.")] = False,
) -> None:
    """Writes a page about a query over events, to be opened in a browser: one HTML file that needs nothing else."""
    _check_standard_input(file, input)
    made = _read_query(file, param)
    events = _read_events(input)
    reading: Any = {"time": None if no_time else time, "type": type, "unit": unit, "tiebreak": tiebreak}
    with _progress(events.num_rows) as told:
        page = made.report(events, **reading, memory=memory, closed=closed, progress=told)
    write_text(str(page), output)
    typer.echo(page.heading + ("" if output == "-" else f": {output}"), err=True)


@app.command("prepare")
def prepare_command() -> None:
    """Compiles the engine for this machine, so that no query waits for it: once after an installation, in an image."""
    from ensue.preparation import folder, steps  # numba is loaded where it is used

    seconds = 0.0
    for done in steps():
        typer.echo(f"{done.seconds:5.1f} s  {done.kind}")
        seconds += done.seconds
    kept = folder()
    typer.echo(f"{seconds:5.1f} s of processor time in all; {f'kept in {kept}' if kept else 'kept nowhere'}")
    if kept is None:
        raise EngineError("no folder for compiled kernels can be written to", "NUMBA_CACHE_DIR names another")


def _check_sample(sample: int | None, seed: int | None, engine: str) -> None:
    if sample is None and seed is not None:
        raise typer.BadParameter("--seed says which sample is drawn: it needs --sample")
    if sample is not None and engine in ("spark", "--follow"):
        raise typer.BadParameter(f"--sample draws from events in a file, not with {engine}")


def _check_follow(output: str | None, engine: str, *, no_time: bool) -> None:
    if engine == "spark":
        raise typer.BadParameter("--follow is not for Spark, which has streams of its own")
    if no_time:
        raise typer.BadParameter("--follow needs the times of the events, so it does not go with --no-time")
    if output not in (None, "-"):
        raise typer.BadParameter("--follow writes to standard output: leave out --output, and write > FILE")


def _follow(made: Query, input: str, reading: dict[str, Any], delay: str | None, wanted: OutputFormat) -> None:
    from ensue.cli.changes_as_they_come import follow  # numba is loaded where it is used

    count = follow(made, input, reading, delay=delay, wanted=wanted)
    typer.echo(f"{count:,} change{'' if count == 1 else 's'}", err=True)


def _check_master(master: str | None, engine: str) -> None:
    if master is not None and engine != "spark":
        raise typer.BadParameter("--master says where Spark runs: it needs --engine spark")


@contextmanager
def _spark_frame(input: str, master: str | None) -> Iterator[Any]:
    """The events as a DataFrame in a session that ends with the command. Spark's errors are shown like our own."""
    if input == "-":
        raise typer.BadParameter("Spark reads files and folders, not standard input")
    try:
        from ensue.spark.files import explaining_spark_errors, read_frame
        from ensue.spark.session import local_session
    except ImportError as e:
        raise EngineError(f"Spark is not installed ({e}): pip install 'ensue[spark]'") from None
    source = read_frame(input)
    # Timestamps without a zone stay without a zone, as in the other engines.
    session = local_session(master or "local[*]", {"spark.sql.timestampType": "TIMESTAMP_NTZ"})
    try:
        with explaining_spark_errors():
            yield source(session)
    finally:
        session.stop()


def _check_standard_input(file: str, input: str | None) -> None:
    if file == "-" and input == "-":
        raise typer.BadParameter("the query and the events cannot both come from standard input")


def _read_events(input: str) -> pa.Table:
    return _read_standard_input() if input == "-" else read_table(input)


def _read_query(file: str, params: list[str] | None) -> Query:
    path = Path(file)
    if file != "-" and not path.exists():
        raise typer.BadParameter(f"there is no file {file}")
    try:
        text = sys.stdin.buffer.read() if file == "-" else path.read_bytes()
    except OSError as e:
        raise DataError(f"cannot read {file}: {e.strerror}") from None
    try:
        return query(text, params=_values_of(params or []))
    except TypeError as e:  # a value without a parameter
        raise typer.BadParameter(str(e).removeprefix("params: ")) from None


def _values_of(params: list[str]) -> dict[str, Any]:
    """The values of `name=value`, typed by what they look like."""
    values: dict[str, Any] = {}
    for param in params:
        name, equals, written = param.partition("=")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"--param {param}: write it as --param least=3")
        if name in values:
            raise typer.BadParameter(f"--param {name} is given twice")
        values[name] = _value_of(written)
    return values


def _value_of(written: str) -> Any:
    known = {"TRUE": True, "FALSE": False, "NULL": None}
    if written.upper() in known:
        return known[written.upper()]
    if re.fullmatch(r"'(?:[^']|'')*'", written):
        return written[1:-1].replace("''", "'")
    if re.fullmatch(r"[+-]?\d+", written):
        return int(written)
    return float(written) if re.fullmatch(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", written) else written


def _read_standard_input() -> pa.Table:
    """Reads Parquet, Arrow, JSON lines or CSV; the first bytes say which."""
    data = sys.stdin.buffer.read()
    if data.startswith(b"PAR1"):
        ending = ".parquet"
    elif data.startswith(b"ARROW1"):
        ending = ".arrow"
    else:
        ending = ".jsonl" if data.lstrip()[:1] in (b"{", b"[") else ".csv"
    if not data.strip():
        raise DataError("standard input is empty")
    try:
        # An Arrow buffer, not a Python file: Arrow's threads must not hold Python objects when the interpreter ends.
        return read_stream_format(pa.BufferReader(data), ending)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as e:
        raise DataError(f"cannot read standard input as {ending[1:]}: {e}") from None


def _format_of(output: str | None) -> OutputFormat:
    if output is None:
        return OutputFormat.table
    if output == "-":
        return OutputFormat.jsonl
    endings = {".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json"}
    endings |= {".arrow": "arrow", ".feather": "arrow"}
    ending = Path(output).suffix.lower()
    if ending not in endings:
        raise typer.BadParameter(
            f"cannot tell the format of {output}: name it .parquet, .csv or .jsonl, or say --format"
        )
    return OutputFormat(endings[ending])


def _write(found: Matches | SparkMatches, output: str | None, wanted: OutputFormat) -> None:
    if wanted is OutputFormat.table:
        if output is None and sys.stdout.isatty():
            Console(highlight=False).print(_coloured(f"{found!r}"))
        else:
            write_text(f"{found!r}\n", output)
        return
    count = write_tables(found.tables(), output, wanted)
    where = "" if output in (None, "-") else f" in {output}"
    typer.echo(f"{count:,} match{'' if count == 1 else 'es'}{where}", err=True)


def _coloured(text: str) -> Text:
    """The same table as in a file, with its head and its count told apart."""
    head, rule, *rows, count = text.split("\n")
    lines = [Text(head, "bold cyan"), Text(rule, "dim"), *map(Text, rows), Text(count, "bold")]
    return Text("\n", no_wrap=True, overflow="ellipsis").join(lines)


_LONG_INPUT = 10_000


@contextmanager
def _progress(events: int) -> Iterator[Any]:
    """A progress bar on standard error if the input is long and standard error is a terminal."""
    if events < _LONG_INPUT or not _stderr.is_terminal:
        yield None
        return
    columns = (TextColumn("matching"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_stderr, transient=True) as bar:
        task = bar.add_task("matching", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


#: Options as the library's errors write them, and the options of the command line that they correspond to.
_OPTIONS = {
    "memory='": "--memory '",
    "time='...'": "--time",
    "time=None": "--no-time",
    "unit='ms'": "--unit ms",
    "unit=": "--unit",
    "type=...": "--type",
    "tiebreak=...": "--tiebreak",
    "engine='auto'": "--engine auto",
}


def run() -> int:
    """Runs the command and returns its exit code; errors of the query or the data have no traceback."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)
    logging.addLevelName(logging.WARNING, "note")
    try:
        app()
    except SystemExit as e:
        return e.code if isinstance(e.code, int) else int(e.code is not None)
    except _Passing as passing:
        raise passing.told from None
    except EnsueError as e:
        typer.echo(_in_terms_of_options(str(e)), err=True)
        return 1
    return 0


def _in_terms_of_options(message: str) -> str:
    """An error as the command line would say it."""
    for named, option in _OPTIONS.items():
        message = message.replace(named, option)
    message = re.sub(r"params=\{'(\w+)': 3\}", r"--param \1=3", message)
    return message if message.startswith("error:") else f"error: {message}"
