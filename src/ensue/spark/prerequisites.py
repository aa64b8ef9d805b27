"""What a session must have for a query: workers that can load Ensue, and for a stream a state store that can hold it.

A session of the user's own may lack both. What can be set without harm is set here; for the rest, one line says what
to set, before any job. Without it, a job would end in a page of Java with the reason at the bottom.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

from pyspark.sql import SparkSession

from ensue.data.events import log
from ensue.errors import EngineError

ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_PYTHON = "PYSPARK_PYTHON"
_SECONDS = 30
#: Prints the version, then the modules that are not there.
_PROBE = """
import importlib.util as found, sys
print('.'.join(map(str, sys.version_info[:2])), *[m for m in ('ensue', 'pyarrow', 'numba') if not found.find_spec(m)])
"""


def prepare_session(session: SparkSession, *, streaming: bool) -> None:
    """Makes the settings that a query needs, or raises EngineError with the one that the user must make."""
    _prepare_workers(session)
    if streaming:
        _prepare_state_store(session)


def _prepare_workers(session: SparkSession) -> None:
    context = getattr(session, "_sc", None)
    if context is None or context.pythonExec == sys.executable:  # over Spark Connect, workers are the server's
        return
    if not context.master.startswith("local"):
        if _PYTHON not in os.environ:
            _warn_of_executors(context.pythonExec)
    elif _PYTHON not in os.environ:
        # Driver and workers are on one machine, so what loads Ensue here loads it there.
        context.pythonExec = sys.executable
    elif (wrong := _wrong_with(context.pythonExec)) is not None:
        raise EngineError(
            f"Spark's Python workers run {context.pythonExec}, {wrong}: set {_PYTHON} to {sys.executable} in the "
            "environment before the session starts"
        )


@cache
def _warn_of_executors(python: str) -> None:
    """Whether executors on other machines have Ensue is not known here."""
    log.warning("%s is not set: executors run '%s', which must have Ensue, in Python %s", _PYTHON, python, _version())


@cache
def _wrong_with(python: str) -> str | None:
    """Why this interpreter, which is not ours, cannot run workers; None if it can."""
    try:
        # Elsewhere than here, because Python also looks for modules in the current folder.
        done = subprocess.run(
            [python, "-c", _PROBE], capture_output=True, text=True, timeout=_SECONDS, check=True, cwd=os.sep
        )
    except (OSError, subprocess.SubprocessError):
        return "which cannot be run"
    version, *missing = done.stdout.split()
    if missing:
        return f"which lacks {', '.join(missing)}"
    return None if version == _version() else f"which is Python {version} and not {_version()}"


def _version() -> str:
    return ".".join(map(str, sys.version_info[:2]))


def _prepare_state_store(session: SparkSession) -> None:
    provider = session.conf.get(PROVIDER, None)
    if provider is None:
        # A checkpoint that exists goes on with the provider that it began with.
        session.conf.set(PROVIDER, ROCKS_DB)
    elif "RocksDB" not in provider:
        raise EngineError(f"a stream keeps its state in RocksDB, and {PROVIDER} is {provider}: set it to {ROCKS_DB}")
