"""What commands read: the text of a query, the values of its parameters, and events."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer

from ensue.api import Query, query
from ensue.cli.progress_bars import moving
from ensue.data.sources import read_stream_format, read_table
from ensue.errors import DataError, EngineError


def read_query(file: str, params: list[str] | None) -> Query:
    """The query in a file, or on standard input."""
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


def check_standard_input(file: str, input: str | None) -> None:
    """Refuses to read two things from one place."""
    if file == "-" and input == "-":
        raise typer.BadParameter("the query and the events cannot both come from standard input")


def read_events(input: str) -> pa.Table:
    """The events of a path, or of standard input."""
    with moving(f"reading {'standard input' if input == '-' else Path(input).name.partition('?')[0]}"):
        return read_standard_input() if input == "-" else read_table(input)


def read_standard_input() -> pa.Table:
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


def check_master(master: str | None, engine: str) -> None:
    """Refuses a place for Spark where there is no Spark."""
    if master is not None and engine != "spark":
        raise typer.BadParameter("--master says where Spark runs: it needs --engine spark")


@contextmanager
def spark_frame(input: str, master: str | None) -> Iterator[Any]:
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
