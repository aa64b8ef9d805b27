"""How many buckets the keys of a stream are distributed over.

A state belongs to one bucket, so the number must stay what it was when the checkpoint began. Spark keeps the number of
partitions of its state store in the checkpoint and tells it to every task: by default there are as many buckets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

#: The least number of buckets that is chosen; each bucket is one value of the state store.
_FEWEST = 8
#: Where Spark tells a task the checkpoint's number of partitions; versions before 4.1 have only the second property.
_TOLD_BY_SPARK = ("spark.sql.streaming.internal.stateStore.partitions", "spark.sql.shuffle.partitions")


@dataclass(frozen=True)
class BucketCount:
    """The number that the user gave, or else the number of tasks after a shuffle, as the session has it."""

    given: int | None
    tasks: int

    @classmethod
    def of(cls, frame: DataFrame, given: int | None = None) -> BucketCount:
        return cls(given, int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions", None) or 0))

    def in_task(self) -> int:
        """The number that holds in the task that asks: with fewer buckets than tasks, some tasks would be idle."""
        if self.given is not None:
            return self.given
        from pyspark import TaskContext

        context = TaskContext.get()
        told = {name: context.getLocalProperty(name) for name in _TOLD_BY_SPARK} if context else {}
        return buckets_by_default(told) or max(_FEWEST, self.tasks)


def buckets_by_default(told: Mapping[str, str | None]) -> int | None:
    """The number where the user gives none, by the properties of a checkpoint; None if they do not tell."""
    tasks = next((int(t) for name in _TOLD_BY_SPARK if (t := told.get(name))), None)
    return None if tasks is None else max(_FEWEST, tasks)
