"""A quiet session, for the demo, the command line and the tests; a user's own session works as it is."""

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

_ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_FILE_SYSTEM = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"

SETTINGS = {
    # The UI takes a port and a second of start, and nobody looks at it.
    "spark.ui.enabled": "false",
    # Progress bars write over what we print.
    "spark.ui.showConsoleProgress": "false",
    # transformWithState needs it.
    "spark.sql.streaming.stateStore.providerClass": _ROCKS_DB,
    # A micro-batch writes what changed in the state, and not a snapshot of the whole store.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # The largest number is no limit: else the size of a batch is computed after every row that crosses to Python, which
    # is half of what crossing costs. A batch has 10,000 rows at most in any case.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    # What Spark and its state store say of themselves; errors still come as exceptions.
    "spark.log.level": "ERROR",
    # Workers start with the engine loaded.
    "spark.python.daemon.module": "ensue.spark.daemon",
}
#: Where driver and executors are one process.
ONE_MACHINE = {
    # The default of 200 tasks a shuffle made a small streaming query twelve times slower; events are shared out evenly,
    # so one task a core is enough.
    "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 1)),
    # The default manager starts processes (`readlink`, `chmod`) for every file of a checkpoint: 40 ms for each of the
    # three or more of a micro-batch. This one writes and renames files too, within Java.
    "spark.sql.streaming.checkpointFileManagerClass": _FILE_SYSTEM,
    # A host name that cannot be looked up must not keep Spark from starting.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def local_session(master: str = "local[*]", settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session whose Python workers are this interpreter."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise EngineError(
            "Spark needs Java 17 or newer, and there is none: install it (Debian: apt install default-jre-headless)"
        )
    # Without it workers are the `python3` of PATH, which need not have pyarrow.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    local = master.startswith("local")
    if local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # PySpark warns of pandas 3 wherever it meets Arrow, though no pandas is used.
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
    """What is started meanwhile writes its standard error into a file: Java and its workers say much of themselves."""
    sys.stderr.flush()
    shown = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield file
        finally:
            os.dup2(shown, 2)
            os.close(shown)
