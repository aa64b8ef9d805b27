"""The result of `Query.detect`: where matches end, and which events took part in them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.budget import Budget
from ensue.data.complex_events import ComplexEvents, Piece
from ensue.data.events import EventStream
from ensue.errors import DataError
from ensue.logic.check import Checked
from ensue.logic.partition_keys import key_name
from ensue.plan.mode import Mode
from ensue.results.gathering import events_at, values_at
from ensue.results.matches import Matches
from ensue.results.rows import SHOWN, Rows, count_of

#: How many elements the lists of one Arrow array may have together.
_MOST_IN_LISTS = 1 << 30
#: About how many bytes of events the lists of one table have together.
_BYTES_AT_ONCE = 1 << 25
_NOTHING = ComplexEvents.of(()).pieces[0]


class Detections(Rows):
    """The events at which a match ends, in stream order, each with the events that took part in a match ending there.

    `ends` says for every event of the stream whether a match ends there. `end` has the positions of the events where
    one ends, and `start` the earliest start of the matches that end there. An event took part in a match if one of the
    variables that the query's items use marks it.
    """

    #: The columns besides the partition columns.
    _own: tuple[str, ...] = ("start_time", "end_time", "position", "took_part")

    def __init__(
        self, checked: Checked, stream: EventStream, found: ComplexEvents, budget: Budget | None = None
    ) -> None:
        for key in checked.query.partition:
            if key_name(key) in self._own:
                raise DataError(f"the partition column '{key_name(key)}' is also a column of the result: rename it")
        self._checked = checked
        self._stream = stream
        self._found = found
        self._budget = budget or Budget()

    def __len__(self) -> int:
        """The number of events that end a match."""
        return len(self._found)

    @property
    def start(self) -> npt.NDArray[np.int64]:
        """The position of the first event of the earliest match of each end."""
        return self._found.start

    @property
    def end(self) -> npt.NDArray[np.int64]:
        """The positions of the events at which a match ends."""
        return self._found.end

    @cached_property
    def ends(self) -> npt.NDArray[np.bool_]:
        """For every event of the stream, whether a match ends there."""
        ends = np.zeros(len(self._stream), dtype=np.bool_)
        ends[self.end] = True
        return ends

    def to_arrow(self) -> pa.Table:
        """The partition columns, `start_time` (of the earliest match), `end_time`, `position` and `took_part`.

        `position` is the position in the stream of the event that ends the match, counted from 0. `took_part` lists the
        positions of the events that took part.
        """
        with self._budget.explaining_memory_errors():
            return self._table

    @cached_property
    def _table(self) -> pa.Table:
        pieces = (p for part in self._found.in_parts(_MOST_IN_LISTS) for p in part.pieces)
        took_part = pa.chunked_array([_lists(p) for p in pieces], pa.list_(pa.int64()))
        return pa.table({**self._spans, "position": pa.array(self.end), "took_part": took_part})

    @property
    def _spans(self) -> dict[str, pa.ChunkedArray]:
        """The partition columns, and the times from the earliest start to the end."""
        table, times = self._stream.table, self._stream.time_column
        keys = {key_name(k): values_at(table.column(k.attribute), self.end) for k in self._checked.query.partition}
        return {**keys, "start_time": values_at(times, self.start), "end_time": values_at(times, self.end)}

    def _head(self) -> pa.Table:
        return Detections(self._checked, self._stream, self._found.first(SHOWN), self._budget).to_arrow()

    def _counted(self) -> str:
        return count_of(len(self), "event ends a match", "events end a match")


class DetectedEvents(Detections):
    """The same, with the events that took part in the place of their positions: on Spark, positions mean nothing."""

    _own = ("start_time", "end_time", "took_part")

    def tables(self) -> Iterator[pa.Table]:
        """All rows, a part at a time; there is one table at least."""
        each = self._stream.table.nbytes // max(len(self._stream), 1) + 1
        for found in list(self._found.in_parts(_BYTES_AT_ONCE // each + 1)) or [self._found]:
            with self._budget.explaining_memory_errors():
                table = DetectedEvents(self._checked, self._stream, found, self._budget)._table
            yield table

    @cached_property
    def _table(self) -> pa.Table:
        took_part = [
            pa.ListArray.from_arrays(pa.array(p.offset, pa.int32()), events_at(self._stream.table, p.position))
            for p in (*self._found.pieces, _NOTHING)
        ]
        return pa.table({**self._spans, "took_part": pa.chunked_array(took_part)})


def shown(
    mode: Mode, checked: Checked, events: EventStream, found: ComplexEvents, budget: Budget | None = None
) -> Rows:
    """The rows of what was found in this mode, over events that are not the user's table."""
    return (Matches if mode is Mode.ENUMERATE else DetectedEvents)(checked, events, found, budget)


def _lists(piece: Piece) -> pa.Array:
    """The marked events of each match, as a view of the memory that the engine has written."""
    return pa.ListArray.from_arrays(pa.array(piece.offset, pa.int32()), pa.array(piece.position))
