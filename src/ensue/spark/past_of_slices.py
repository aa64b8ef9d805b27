"""What stands before each slice, where a query asks for that: the first of two passes.

A slice does not know the events before it. But what they do to the machines of AFTER is a function from states to
states, and these functions can be found side by side and put together. So the first pass finds the function of the
events that each slice is the last to read; behind those of all earlier slices, the machines are where it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from ensue.automata.predicates import Machine
from ensue.data.events import EventStream, one_chunk
from ensue.spark.bucket_count import BucketCount
from ensue.spark.crossing import compacted
from ensue.spark.layout import Slices
from ensue.spark.packing import PACKED, Batches, Packer, unpacked
from ensue.spark.recipe import SLICE, Recipe, in_order

_MOVES = "slice long, moves array<array<long>>"
_SCHEMA = pa.schema([("slice", pa.int64()), ("moves", pa.list_(pa.list_(pa.int64())))])
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Past:
    """The states of the machines before each slice: `states[i]` are those behind the first `i` of these slices."""

    slices: Integers
    states: Integers  # [slices + 1, machines]
    names: tuple[str, ...]

    def told_to(self, stream: EventStream) -> EventStream:
        """The events of slices, with a column for each machine that says where it is before the slice."""
        numbers = one_chunk(stream.table.column(SLICE)).to_numpy()
        states, table = self.states[np.searchsorted(self.slices, numbers)], stream.table
        for place, name in enumerate(self.names):
            table = table.append_column(name, pa.array(states[:, place]))
        return replace(stream, table=table)


@dataclass(frozen=True)
class MovesOfSlices:
    """`mapInArrow` function: from the blobs of some slices to what each does to the machines."""

    by_slice: Recipe

    def __call__(self, batches: Batches) -> Batches:
        from ensue.kernels.classes import moves_of  # numba is loaded where it is used

        budget = self.by_slice.budget()
        with budget.explaining_memory_errors():
            table = unpacked(batches)
            if table is None:
                return
            stream = self.by_slice.stream(in_order(table))
            slices, groups = np.unique(one_chunk(stream.table.column(SLICE)).to_numpy(), return_inverse=True)
            types = one_chunk(stream.types)
            found = [moves_of(m, stream.table, types, groups, len(slices)) for m in machines_of(self.by_slice)]
            moves = [[of[k].tolist() for of in found] for k in range(len(slices))]
            yield pa.record_batch([pa.array(slices), pa.array(moves, _SCHEMA.field("moves").type)], schema=_SCHEMA)


def machines_of(recipe: Recipe) -> list[Machine]:
    """What reads the stream from its first event on."""
    plan = recipe.choice.plan
    return [] if plan is None else [m for m in plan.machines if isinstance(m, Machine)]


def past_of(travelling: DataFrame, slices: Slices, buckets: int, recipe: Recipe) -> Past:
    """Runs the first pass: Spark finds what each slice does, and here they are put together."""
    from ensue.kernels.classes import begins_in  # numba is loaded where it is used

    by_slice = recipe.by_slice
    packer = Packer(BucketCount(buckets, 0), slices, last_only=True)
    packed = compacted(travelling).mapInArrow(packer, PACKED).repartition("bucket")
    rows = sorted(packed.mapInArrow(MovesOfSlices(by_slice), _MOVES).collect())
    machines = machines_of(by_slice)
    states = np.zeros((len(rows) + 1, len(machines)), dtype=np.int64)
    for number, row in enumerate(rows):
        states[number + 1] = [of[state] for of, state in zip(row.moves, states[number].tolist(), strict=True)]
    return Past(np.array([row.slice for row in rows], dtype=np.int64), states, tuple(map(begins_in, machines)))
