"""One Spark session for all tests of this folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'ensue[spark]'")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("Spark needs Java, and there is none", allow_module_level=True)

SETTINGS = {
    # Two cores, so two tasks a shuffle: more only wait for one another.
    "spark.sql.shuffle.partitions": "2",
    # Plans are small and known: to plan anew after each shuffle takes longer than to run it.
    "spark.sql.adaptive.enabled": "false",
    # Times are printed and compared in UTC; the tests of time zones set their own.
    "spark.sql.session.timeZone": "UTC",
    # A union of a hundred queries makes a long plan: its text is not needed, and no code is generated that runs once.
    "spark.sql.maxPlanStringLength": "1000",
    "spark.sql.codegen.wholeStage": "false",
    # Each query in a stream has its own state: keep what one takes small.
    "spark.sql.streaming.stateStore.rocksdb.writeBufferSizeMB": "1",
    "spark.sql.streaming.stateStore.maintenanceInterval": "10min",
    # One micro-batch after another has its own files of state; only the last ones are of use.
    "spark.sql.streaming.minBatchesToRetain": "2",
    # The driver is the executor here.
    "spark.driver.memory": "2g",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session with two cores."""
    from ensue.spark import local_session

    session = local_session("local[2]", SETTINGS)
    yield session
    session.stop()
