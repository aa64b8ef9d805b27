"""The Spark session of the tests and of the soak: two cores, and settings for many small queries."""

from __future__ import annotations

from pyspark.sql import SparkSession

from ensue.spark import local_session

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


def session_of_tests() -> SparkSession:
    return local_session("local[2]", SETTINGS)
