"""The commands: `ensue check`, `explain`, `new`, `prepare`, `report`, `run`, `why`."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core
from rich.console import Console
from rich.text import Text

from ensue.api import Query, query
from ensue.cli.inputs import (
    check_master,
    check_standard_input,
    read_events,
    read_query,
    read_standard_input,
    spark_frame,
)
from ensue.cli.interruption import stop_if_asked
from ensue.cli.options import Columns, Events, Master, Params, QueryFile, Running, Sample, SchemaOf, Seed, with_options
from ensue.cli.progress_bars import asking, counted, counting
from ensue.cli.starter import starter
from ensue.data.sources import read_schema
from ensue.errors import EngineError, EnsueError
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
    check_standard_input(file, input)
    made = read_query(file, param)
    if input is None:
        made.check()
    else:
        made.check(read_standard_input().schema if input == "-" else read_schema(input))
    typer.echo(f"{'standard input' if file == '-' else file}: ok")


@app.command("explain")
@with_options(Columns)
def explain_command(
    how: Columns,
    file: QueryFile,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the determinised automaton too.")] = False,
    deterministic: Annotated[
        bool,
        typer.Option("--deterministic", help="Show the deterministic automaton of a window in events."),
    ] = False,
    input: Annotated[
        str | None, typer.Option("--input", "-i", help="The events, a file or a folder; only with --engine spark.")
    ] = None,
    svg: Annotated[bool, typer.Option("--svg", help="Draw the automaton instead, as SVG.")] = False,
    engine: Annotated[str, typer.Option(help="'spark' also shows what Spark does for the query.")] = "auto",
    master: Master = None,
) -> None:
    """Shows how a query was understood and how it is evaluated."""
    if (input is not None) != (engine == "spark"):
        raise typer.BadParameter("--input and --engine spark go together: they show what Spark does with the events")
    check_master(master, engine)
    made = read_query(file, how.param)
    if svg:
        typer.echo(str(made.plot()))
        return
    if input is None:
        typer.echo(made.explain(verbose=verbose, deterministic=deterministic))
        return
    with spark_frame(input, master) as events:
        typer.echo(made.explain(events, verbose=verbose, deterministic=deterministic, **how.reading))


@app.command("run")
@with_options(Running)
def run_command(
    how: Running,
    file: QueryFile,
    input: Events,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="The file for the matches; '-' writes JSON lines to standard output."),
    ] = None,
    format: Annotated[
        OutputFormat | None, typer.Option(help="The output's format; by default, the ending of its name.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="The engine that evaluates the query: auto, automaton, reference, or spark.")
    ] = "auto",
    master: Master = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as the input grows, until Ctrl-C.")] = False,
    delay: Annotated[
        str | None, typer.Option(help="With --follow: how late events come at most, such as '10 s'.")
    ] = None,
    page: Annotated[
        str | None, typer.Option(metavar="FILE", help="With --follow: a page that shows the query as it runs.")
    ] = None,
    sample: Sample = None,
    seed: Seed = None,
) -> None:
    """Runs a query over events and writes its matches; without --output, shows a short table."""
    _check_sample(sample, seed, "--follow" if follow else engine)
    if follow:
        _check_follow(output, engine, no_time=how.no_time)
        _follow(read_query(file, how.param), input, how, delay, format or OutputFormat.jsonl, page)
        return
    if delay is not None or page is not None:
        raise typer.BadParameter("--delay and --page say how to go on as the input grows: they need --follow")
    check_standard_input(file, input)
    check_master(master, engine)
    if output not in (None, "-") and Path(str(output)).resolve() in (Path(file).resolve(), Path(input).resolve()):
        raise typer.BadParameter(f"the output would overwrite {output}")
    wanted = format or _format_of(output)
    made = read_query(file, how.param)
    if engine == "spark":
        with spark_frame(input, master) as frame:
            from ensue.spark.files import SparkMatches

            rows = made.run(frame, **how.running)
            _write(SparkMatches(rows, sorted=bool(made.ast.order)), output, wanted, session=frame.sparkSession)
        return
    events = read_events(input)
    with counting("matching") as told:
        running: Any = {**how.running, "engine": engine, "progress": told}
        found = made.run(events, **running) if sample is None else made.sample(events, sample, seed=seed, **running)
    _write(found, output, wanted)


@app.command("new")
def new_command(
    input: Annotated[str, typer.Argument(metavar="EVENTS", help="The events: a file, a folder or a pattern.")],
    output: Annotated[str | None, typer.Option("--output", "-o", help="The file for the query.")] = None,
) -> None:
    """Writes a first query for the events, with comments, to start from."""
    if output not in (None, "-") and Path(str(output)).exists():
        raise typer.BadParameter(f"there is a file {output} already")
    text, command = starter(read_events(input), input)
    query(text)  # what is written is a query
    write_text(text, output)
    typer.echo(f"run it with: {command.replace('QUERY.sql', output or 'QUERY.sql')}", err=True)


@app.command("why")
@with_options(Running)
def why_command(how: Running, file: QueryFile, input: Events) -> None:
    """Shows why a query matches no more: how far matches come, what ends them, and the nearest misses."""
    check_standard_input(file, input)
    made = read_query(file, how.param)
    events = read_events(input)
    with counting("asking") as told:
        because = made.why(events, **how.running, progress=told)
    typer.echo(str(because))


@app.command("report")
@with_options(Running)
def report_command(
    how: Running,
    file: QueryFile,
    input: Events,
    output: Annotated[str, typer.Option("--output", "-o", help="The page; '-' writes to standard output.")],
) -> None:
    """Writes a page about a query over events, to be opened in a browser: one HTML file that needs nothing else."""
    check_standard_input(file, input)
    made = read_query(file, how.param)
    events = read_events(input)
    with counting("matching") as told:
        page = made.report(events, **how.running, progress=told)
    stop_if_asked()
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


def _follow(made: Query, input: str, how: Running, delay: str | None, wanted: OutputFormat, page: str | None) -> None:
    from ensue.cli.changes_as_they_come import follow  # numba is loaded where it is used

    count = follow(made, input, {**how.reading, "memory": how.memory, "delay": delay}, wanted=wanted, page=page)
    typer.echo(f"{count:,} change{'' if count == 1 else 's'}", err=True)


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


def _write(found: Matches | SparkMatches, output: str | None, wanted: OutputFormat, *, session: Any = None) -> None:
    stop_if_asked()
    if wanted is OutputFormat.table:
        with _spark_at_work(session):
            text = f"{found!r}"
        if output is None and sys.stdout.isatty():
            Console(highlight=False).print(_coloured(text))
        else:
            write_text(f"{text}\n", output)
        return
    if output in (None, "-") and sys.stdout.isatty():  # no bar between the rows
        count = write_tables(found.tables(), output, wanted)
    elif isinstance(found, Matches):
        count = write_tables(counted("writing", found.tables(), len, len(found)), output, wanted)
    else:
        with _spark_at_work(session):
            count = write_tables(found.tables(), output, wanted)
    where = "" if output in (None, "-") else f" in {output}"
    typer.echo(f"{count:,} match{'' if count == 1 else 'es'}{where}", err=True)


def _spark_at_work(session: Any) -> AbstractContextManager[None]:
    """A bar of Spark's tasks, where there is a session."""
    if session is None:
        return nullcontext()
    from ensue.spark.files import running_tasks

    return asking("Spark", lambda: running_tasks(session))


def _coloured(text: str) -> Text:
    """The same table as in a file, with its head and its count told apart."""
    head, rule, *rows, count = text.split("\n")
    lines = [Text(head, "bold cyan"), Text(rule, "dim"), *map(Text, rows), Text(count, "bold")]
    return Text("\n", no_wrap=True, overflow="ellipsis").join(lines)


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


class _Notes(logging.Handler):
    """Writes to what standard error is at the moment: while a bar is shown, above it."""

    def emit(self, record: logging.LogRecord) -> None:
        """A line."""
        typer.echo(self.format(record), err=True)


def run() -> int:
    """Runs the command and returns its exit code; errors of the query or the data have no traceback."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", handlers=[_Notes()])
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
