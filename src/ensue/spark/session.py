"""A quiet session for the demo, the command line and the tests; a user's own session works unchanged."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO

from pyspark.sql import SparkSession

from ensue.errors import EngineError
from ensue.spark.prerequisites import PROVIDER, ROCKS_DB

_FILE_SYSTEM = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"

SETTINGS = {
    # The UI takes a port and a second at the start, and nobody uses it here.
    "spark.ui.enabled": "false",
    # Progress bars write over what we print.
    "spark.ui.showConsoleProgress": "false",
    # transformWithState needs it.
    PROVIDER: ROCKS_DB,
    # A micro-batch writes only the changes of the state, not a snapshot of the whole store.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # The largest number means no limit: otherwise Spark computes the size of a batch after every row that crosses to
    # Python, which is half of the cost of crossing. A batch has at most 10,000 rows in any case.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    # Hides the log messages of Spark and its state store; errors still come as exceptions.
    "spark.log.level": "ERROR",
    # Workers start with the engine loaded.
    "spark.python.daemon.module": "ensue.spark.daemon",
}
#: Further settings if driver and executors are one process.
ONE_MACHINE = {
    # The default of 200 tasks per shuffle made a small streaming query twelve times slower; events are distributed
    # evenly, so one task per core is enough.
    "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 1)),
    # The default manager starts processes (`readlink`, `chmod`) for every checkpoint file: 40 ms for each of the three
    # or more files of a micro-batch. This manager also writes and renames files, but within Java.
    "spark.sql.streaming.checkpointFileManagerClass": _FILE_SYSTEM,
    # Spark must start even if the host's name cannot be resolved.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def local_session(master: str = "local[*]", settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session whose Python workers run this interpreter."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise EngineError(
            "Spark needs Java 17 or newer, but none was found: install it (Debian: apt install default-jre-headless)"
        )
    # Without this, workers run the `python3` of PATH, which may not have pyarrow.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    local = master.startswith("local")
    if local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # PySpark warns about pandas 3 wherever Arrow is used, even if pandas is not.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    builder = SparkSession.builder.master(master).appName("ensue")
    for key, value in {**SETTINGS, **(ONE_MACHINE if local else {}), **(settings or {})}.items():
        builder = builder.config(key, value)
    with _stderr_kept_away() as said:
        try:
            return builder.getOrCreate()
        except Exception as e:
            said.seek(0)
            last = said.read().decode(errors="replace").strip().splitlines()[-5:]
            raise EngineError("\n  ".join([f"Spark did not start: {e}", *last])) from None


@contextmanager
def _stderr_kept_away() -> Iterator[BinaryIO]:
    """Redirects standard error to a file for processes that start meanwhile, because Java and its workers log a lot."""
    sys.stderr.flush()
    shown = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield file
        finally:
            os.dup2(shown, 2)
            os.close(shown)
