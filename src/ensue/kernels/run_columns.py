"""From events to the steps of an automaton with a register: which conditions hold, and what formulas take of events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.columns.conversions import as_type
from ensue.columns.evaluation import evaluated, holds, named_by_text
from ensue.columns.lookback import LookBack, spell_out
from ensue.columns.match_aggregates import aggregated_of
from ensue.columns.raw_arrays import missing, raw
from ensue.data.complex_events import ComplexEvents, Piece
from ensue.data.events import EventStream, integers, one_chunk
from ensue.data.schema import Kind
from ensue.kernels.jit import read_only
from ensue.kernels.keys import TextNumbers
from ensue.kernels.register_columns import as_computed
from ensue.kernels.run_calls import COLUMN_TYPES
from ensue.kernels.runs import Steps
from ensue.language import ast
from ensue.logic.own_automata import STEP
from ensue.logic.scope import aggregates_of
from ensue.plan.runs_plan import RunsPlan

Integers = npt.NDArray[np.int64]
_NOTHING = np.zeros(0, dtype=np.int64)


class RunColumns:
    """Makes the steps of each batch. By time, a batch has all events of each of its times."""

    def __init__(self, plan: RunsPlan) -> None:
        self._plan = plan
        self._by_time = plan.own.shape.by_time
        shifted: dict[str, tuple[str, int]] = {}
        self._conditions = [spell_out(e, shifted) for e in plan.conditions]
        self._terms = [(spell_out(e, shifted), kind) for e, kind in plan.terms.items()]
        self.look_back = LookBack(shifted.values())
        self._texts = TextNumbers()  # of no use: no field holds a text
        self.read = tuple(dict.fromkeys(a for call, _ in plan.calls for a in call.uses))

    def kinds(self) -> tuple[tuple[str, Kind], ...]:
        """The attributes that Python functions read, each with its kind."""
        return tuple((a, self._plan.schema_known.attributes[a].kind) for a in self.read)

    def steps(
        self, events: EventStream, keys: Integers | None, base: int
    ) -> tuple[Steps, tuple[npt.NDArray[Any], ...]]:
        """The steps, and the columns of Python functions; `base` is the position of the first event."""
        if self._by_time:
            return self._of_times(events, keys, base)
        shifted = self.look_back.columns(events.table, keys)
        columns = {n: one_chunk(events.table.column(n)) for n in self._names() - shifted.keys()} | shifted
        value: Callable[[ast.Expression], pa.Array] = lambda e: evaluated(e, columns, len(events))  # noqa: E731
        words = self._words(lambda e: holds(e, columns, len(events)), len(events))
        partition = _NOTHING if keys is None else keys
        times, terms = read_only(events.times), self._numbers(value, len(events))
        steps = Steps(read_only(partition), times, words, terms, _NOTHING, _NOTHING, base)
        return steps, self._of_calls(events, None, None)

    def _of_times(
        self, events: EventStream, keys: Integers | None, base: int
    ) -> tuple[Steps, tuple[npt.NDArray[Any], ...]]:
        times = events.times
        codes = np.zeros(len(events), dtype=np.int64) if keys is None else keys
        order = np.lexsort((codes, times))  # stable: events of one time and key stay in their order
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (np.diff(times[order]) != 0) | (np.diff(codes[order]) != 0)
        begin = np.append(np.flatnonzero(new), len(order))
        first = order[begin[:-1]]
        step_of = ComplexEvents(
            (Piece(first, first, begin, order, np.zeros(len(order), dtype=np.uint16)),), [frozenset({STEP})]
        )

        def values_at(attribute: str, positions: Integers) -> pa.Array:
            return one_chunk(events.table.column(attribute)).take(integers(positions))

        def columns(e: ast.Expression) -> dict[str, pa.Array]:
            return aggregated_of(step_of, aggregates_of(e), values_at)

        value: Callable[[ast.Expression], pa.Array] = lambda e: evaluated(  # noqa: E731
            named_by_text(e), columns(e), len(first)
        )
        words = self._words(lambda e: holds(named_by_text(e), columns(e), len(first)), len(first))
        partition = _NOTHING if keys is None else codes[first]
        terms = self._numbers(value, len(first))
        steps = Steps(read_only(partition), read_only(times[first]), words, terms, begin, order + base, base)
        return steps, self._of_calls(events, order, begin)

    def _names(self) -> set[str]:
        asked = [*self._conditions, *(e for e, _ in self._terms)]
        return {n.name for e in asked for n in ast.find(e, ast.Name)}

    def _words(self, mask: Callable[[ast.Expression], npt.NDArray[np.bool_]], count: int) -> npt.NDArray[np.uint64]:
        words = np.zeros(count, dtype=np.uint64)
        for bit, condition in enumerate(self._conditions):
            words |= mask(condition).astype(np.uint64) << np.uint64(bit)
        return words

    def _numbers(self, value: Callable[[ast.Expression], pa.Array], count: int) -> npt.NDArray[np.int64]:
        found = np.empty((len(self._terms), count), dtype=np.int64)
        for row, (e, kind) in enumerate(self._terms):
            found[row] = as_computed(value(e), kind, self._texts)
        return found

    def _of_calls(
        self, events: EventStream, order: Integers | None, begin: Integers | None
    ) -> tuple[npt.NDArray[Any], ...]:
        """The attributes that functions read, then for each function whether one of its values is NULL."""
        if not self._plan.calls:
            return ()
        columns, null = {}, {}
        for name, kind in self.kinds():
            type_ = COLUMN_TYPES[kind][0]
            array = as_type(one_chunk(events.table.column(name)), _ARROW[type_])
            absent = missing(array)
            values = np.ascontiguousarray(raw(array), dtype=type_)
            gone = np.zeros(len(array), dtype=np.bool_) if absent is None else absent
            columns[name] = read_only(values if order is None else values[order])
            null[name] = gone if begin is None else np.logical_or.reduceat(gone[order], begin[:-1])
        count = len(events) if begin is None else len(begin) - 1
        unknown = []
        for call, _ in self._plan.calls:
            none = np.zeros(count, dtype=np.bool_)
            for name in call.uses:
                none = none | null[name]
            unknown.append(read_only(none))
        return (*columns.values(), *unknown)


_ARROW = {"bool": pa.bool_(), "int64": pa.int64(), "float64": pa.float64()}
