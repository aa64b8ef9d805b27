"""Runs the command `ensue` in the process of the test, or in a new one.

In this process it takes milliseconds; a new process takes a second. If the command starts Spark, it needs a new one:
Java reads relative paths from the folder in which it was started.
"""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from unittest import mock

from ensue import cli


@dataclass(frozen=True)
class Finished:
    """The exit code of a command, and what it wrote."""

    code: int
    out: bytes
    err: bytes


def run_in_a_process(*arguments: str, input: bytes = b"", columns: int = 200, together: bool = False) -> Finished:
    """Runs the command as a shell does. With `together`, `out` has both outputs in the order in which they came."""
    program = [sys.executable, "-c", "from ensue.cli import main; main()"]
    done = subprocess.run(
        [*program, *arguments],
        input=input,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if together else subprocess.PIPE,
        env={**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"},
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr or b"")


def run_here(*arguments: str, input: bytes = b"", columns: int = 200, together: bool = False) -> Finished:
    """Runs the command within this process, with the same result."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = out if together else io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    stdin = io.TextIOWrapper(io.BytesIO(input), encoding="utf-8")
    environment = {"COLUMNS": str(columns), "NO_COLOR": "1"}
    process = mock.patch.multiple(sys, argv=["-c", *arguments], stdin=stdin, stdout=out, stderr=err)
    with process, _named_as_a_program(), mock.patch.dict(os.environ, environment), _fresh_logging():
        try:
            cli.main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return Finished(code, _written(out), b"" if together else _written(err))


def _written(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue()


@contextmanager
def _named_as_a_program() -> Iterator[None]:
    """The messages of the program take its name from this module. What the command imports stays imported: some
    libraries cannot be loaded twice."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = before


@contextmanager
def _fresh_logging() -> Iterator[None]:
    """Puts pytest's handlers aside, so that the command sets up logging as in a process of its own."""
    root = logging.getLogger()
    handlers, level, name = root.handlers[:], root.level, logging.getLevelName(logging.WARNING)
    root.handlers = []
    try:
        yield
    finally:
        root.handlers = handlers
        root.setLevel(level)
        logging.addLevelName(logging.WARNING, name)
