"""A query over events that arrive in batches: rows of matches out, and a state that can be saved in between.

An engine keeps positions; the rows of section 7 show the events themselves. So the events that open partial matches
speak of are kept here, as columns, and leave when no later match can speak of them.
"""

from __future__ import annotations

import json
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import parcel, table_bytes, table_of, unparcel
from ensue.data.events import EventStream, as_integers, integers
from ensue.engines.deadlines import DeadlineRunner
from ensue.engines.item_lookback import ItemLookBack
from ensue.engines.judging import finished
from ensue.engines.reference.batches import ReferenceRunner
from ensue.errors import EngineError
from ensue.language import ast
from ensue.logic.check import Checked
from ensue.logic.outputs import attributes_shown
from ensue.plan import Plan
from ensue.results.matches import Matches
from ensue.rewrite.tie_equalities import tied

Positions = npt.NDArray[np.int64]
#: Below so many kept events it does not pay to look which of them may leave.
_FEW = 1 << 14


class Engine(Protocol):
    """What evaluates a query batch by batch: the automaton engine's `Runner`, or the reference's."""

    @property
    def nodes(self) -> int:
        """How much is open: nodes of the match structure, or events that the reference keeps."""

    def push(self, events: EventStream) -> ComplexEvents:
        """The matches that end in these events, which follow those of earlier calls."""

    def pass_time(self, time: int) -> ComplexEvents | None:
        """No later event is before this time: what windows have left behind by then may go.

        Gives the matches that waited for a deadline which has passed now, if the query has one.
        """

    @property
    def next_due(self) -> int | None:
        """The time by which `pass_time` may give matches; None where it gives none without new events."""

    def referenced(self) -> Positions:
        """The events that matches of later batches can still speak of, in stream order."""

    def save(self) -> bytes: ...

    def load(self, state: bytes) -> None: ...


def engine_for(checked: Checked, plan: Plan | str, tick: int | None, given: int = 0) -> Engine:
    """The automaton engine with the plan, or the reference where there is none."""
    if isinstance(plan, Plan):
        from ensue.kernels.runner import Runner  # numba is loaded where it is used

        runner = Runner(plan, tick, given=given)
        return runner if plan.absence is None else DeadlineRunner(runner, plan, tick)
    return ReferenceRunner(checked, tick)


class RunningQuery:
    """One query over one stream: `push` gives the rows of the matches that end in each batch.

    Of a query that ends in an absence with a deadline, `push` and `pass_time` give those whose deadline has passed.

    `plan` is the automaton engine's, or why it has none; `given` are the predicates that come evaluated with the
    events (see `EventStream.words`).
    """

    def __init__(self, checked: Checked, plan: Plan | str, tick: int | None, *, given: int = 0) -> None:
        self._engine = engine_for(tied(checked), plan, tick, given)
        self._look_back = ItemLookBack(checked)
        self._checked = self._look_back.checked
        self._plan = plan
        self._tick = tick
        self._shown = attributes_kept(self._checked, plan)
        self._position = 0
        self._kept: pa.Table | None = None  # with each event's time and place in the stream
        self._few = _FEW

    @property
    def open(self) -> int:
        """How much is open: nodes of the match structure."""
        return self._engine.nodes

    def push(self, events: EventStream) -> pa.Table:
        """The rows of the matches that end in these events, which follow those of earlier calls."""
        found = self._engine.push(events)
        new = self._to_keep(self._look_back.extended(events))
        self._position += len(events)
        kept = self._kept = new if self._kept is None else pa.concat_tables([self._kept, new])
        rows = self._rows(found, kept)
        if len(kept) > 2 * self._few:
            self._forget()
            self._few = max(_FEW, len(self._kept))
        return rows

    def pass_time(self, time: int) -> pa.Table | None:
        """No later event is before this time, which is in the unit of the events' times.

        Gives the rows of the matches whose deadline has passed now, if any.
        """
        found = self._engine.pass_time(time)
        return self._rows(found, self._kept) if found is not None and len(found) else None

    @property
    def next_due(self) -> int | None:
        """The time by which `pass_time` may give rows; None where it gives none without new events."""
        return self._engine.next_due

    def _rows(self, found: ComplexEvents, kept: pa.Table) -> pa.Table:
        """The rows of matches over the kept events."""
        places = kept.column(_PLACE).to_numpy()
        found = found.moved(lambda p: np.searchsorted(places, p))
        stream = _stream(kept, self._tick)
        if isinstance(self._plan, Plan):
            found = finished(found, self._plan, stream)
        return Matches(self._checked, stream, found).to_arrow()

    def _to_keep(self, events: EventStream) -> pa.Table:
        """The events with the columns that rows of matches show."""
        shown = [n for n in events.table.column_names if self._shown is None or n in self._shown]
        columns = {n: events.table.column(n) for n in shown}
        places = integers(np.arange(self._position, self._position + len(events)))
        return pa.table({**columns, _TIME: events.time_column, _PLACE: places})

    def _forget(self) -> None:
        """Lets go of the events that no later match can speak of."""
        if self._kept is not None:
            places = self._kept.column(_PLACE).to_numpy()
            # What is referenced has been kept, and both are in stream order.
            there = np.searchsorted(places, self._engine.referenced())
            self._kept = self._kept.take(integers(there)).combine_chunks()

    # -- the state

    def save(self) -> bytes:
        """The state between two batches."""
        self._forget()
        parts = {
            "header": json.dumps({"position": self._position}).encode(),
            "engine": self._engine.save(),
            "look_back": self._look_back.save(),
        }
        if self._kept is not None:
            parts["kept"] = table_bytes(self._kept)
        return parcel(parts)

    def load(self, state: bytes) -> None:
        """Goes on from a state that `save` gave, of the same query."""
        try:
            parts = unparcel(state)
            header = json.loads(parts["header"])
            kept = table_of(parts["kept"]) if "kept" in parts else None
            self._look_back.load(parts["look_back"])
        except (ValueError, KeyError, pa.ArrowException) as e:
            raise EngineError(f"the saved state cannot be read: it is not one, or it is damaged ({e})") from None
        self._engine.load(parts["engine"])
        self._position, self._kept, self._few = header["position"], kept, _FEW


def attributes_kept(checked: Checked, plan: Plan | str) -> frozenset[str] | None:
    """The attributes of events that matches need: to be judged, and to be shown. None where that is all of them."""
    shown = attributes_shown(checked.outputs, checked.query)
    if shown is None or not isinstance(plan, Plan):
        return shown
    return shown.union(a.name for e in plan.related for a in ast.find(e, ast.Attribute))


_TIME, _PLACE = "\0time", "\0place"


def _stream(kept: pa.Table, tick: int | None) -> EventStream:
    """The kept events as what matches are judged by and rows are made of; neither takes their types."""
    types = pa.chunked_array([pa.nulls(len(kept), pa.string())])
    times = kept.column(_TIME)
    return EventStream(kept.drop_columns([_TIME, _PLACE]), types, as_integers(times), tick, times)
