"""The parent process of Python workers, which loads the engine and its kernels before it forks the first worker.

Set `spark.python.daemon.module` to `ensue.spark.daemon`; without it, every worker loads them itself, which takes a
second or two. `local_session` sets it.
"""

import gc

from pyspark.daemon import manager


def warm_up() -> None:
    """Loads all that workers need, by evaluating a very small query."""
    import pyarrow.parquet  # noqa: F401

    import ensue
    import ensue.spark.batch_from_files
    import ensue.spark.streaming

    events = [{"time": 1, "type": "A", "k": 0}, {"time": 2, "type": "B", "k": 0}]
    text = "SELECT x FROM S WHERE A AS x ; B PARTITION BY k WITHIN 5 s"
    len(ensue.match(events, text, unit="s", engine="automaton").to_arrow())
    # PySpark collects garbage after every task: freezing keeps it from scanning the loaded modules each time.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    warm_up()
    manager()
