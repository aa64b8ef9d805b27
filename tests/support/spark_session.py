"""The Spark session of the tests and of the soak: two cores, and settings for many small queries."""

from __future__ import annotations

from pyspark.sql import SparkSession

from ensue.spark import local_session

SETTINGS = {
    # There are two cores, so a shuffle has two tasks: more would only wait for each other.
    "spark.sql.shuffle.partitions": "2",
    # Plans are small and known. Planning again after each shuffle takes longer than running it.
    "spark.sql.adaptive.enabled": "false",
    # Times are printed and compared in UTC; the tests of time zones set their own.
    "spark.sql.session.timeZone": "UTC",
    # A union of a hundred queries has a long plan. Nobody reads its text, and generated code would run only once.
    "spark.sql.maxPlanStringLength": "1000",
    "spark.sql.codegen.wholeStage": "false",
    # Each query in a stream has its own state, so each state must be small.
    "spark.sql.streaming.stateStore.rocksdb.writeBufferSizeMB": "1",
    "spark.sql.streaming.stateStore.maintenanceInterval": "10min",
    # Each micro-batch writes its own files of state; only the last ones are needed.
    "spark.sql.streaming.minBatchesToRetain": "2",
    # The driver is the executor here.
    "spark.driver.memory": "2g",
}


def session_of_tests() -> SparkSession:
    return local_session("local[2]", SETTINGS)
