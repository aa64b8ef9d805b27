"""How much memory a task of a query may take, in the Python worker that evaluates it."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass

from pyspark.sql import SparkSession

from ensue.data.budget import VARIABLE, Advice, Budget, bytes_of_setting, memory_of
from ensue.data.machine_memory import usual_budget


@dataclass(frozen=True)
class TaskMemory:
    """What was asked for, or else what Spark's settings say, in bytes; its machine also limits a worker. It pickles."""

    asked: int | None = None  # for each task
    executor: int | None = None  # what an executor may take outside of the JVM, if that is set
    tasks: int | None = None  # how many run at a time in an executor; None if it is not known

    def budget(self, advice: Advice) -> Budget:
        """The budget of a task, made in its worker."""
        if self.asked is not None or os.environ.get(VARIABLE):
            return Budget(memory_of(self.asked), advice, whose="a task of the query")
        tasks = self.tasks or os.cpu_count() or 1
        limit = usual_budget(shared_by=tasks)
        if self.executor is not None:
            limit = min(limit, self.executor // tasks)
        return Budget(limit, advice, whose="a task of the query")


def memory_of_tasks(session: SparkSession, asked: str | int | None) -> TaskMemory:
    """What holds for the tasks of this session."""
    if asked is not None or os.environ.get(VARIABLE, "").strip():
        return TaskMemory(memory_of(asked))
    master = _setting(session, "spark.master") or ""
    local = re.fullmatch(r"local(?:\[([0-9*]+)(?:,.*)?\])?", master)
    if local is not None:
        said = local[1] or "1"
        return TaskMemory(tasks=None if said == "*" else int(said))
    cores, each = (_setting(session, f"spark.{name}") for name in ("executor.cores", "task.cpus"))
    tasks = max(1, int(cores) // int(each or 1)) if cores else None
    # What Python may take has a setting of its own, which Spark makes a limit of the worker: it is seen there.
    outside = _setting(session, "spark.executor.memoryOverhead", "M") or _setting(session, "spark.executor.memory", "M")
    return TaskMemory(executor=None if outside is None else bytes_of_setting(outside), tasks=tasks)


def _setting(session: SparkSession, name: str, unit: str = "") -> str | None:
    """A setting of the session, with its usual unit if it has none; None if it is not set, or cannot be asked for."""
    with contextlib.suppress(Exception):  # over Spark Connect, not all settings are told
        value = session.conf.get(name, None)
        return f"{value}{unit}" if value and value.isdigit() else value
    return None
