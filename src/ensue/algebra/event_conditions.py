"""Evaluates the conditions of an automaton at one event of a stream, for automata that run in plain Python.

Each condition is evaluated over the columns of the whole stream when it is first needed, as in the engine. A register
holds an Arrow scalar; the time of an event, from which gaps are measured, is a plain integer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.automata.predicates import Guard, Predicate, Test, TypeIs
from ensue.automata.registers import Check, Condition, Holds, Keep, Since
from ensue.columns.evaluation import evaluated, holds
from ensue.columns.lookback import LookBack, spell_out
from ensue.columns.raw_arrays import Mask
from ensue.data.events import EventStream, one_chunk
from ensue.kernels.register_columns import longest_ticks, shortest_ticks
from ensue.language import ast
from ensue.logic.stored_values import Register, register_of

Integers = npt.NDArray[np.int64]
#: The content of an empty register.
NOTHING = object()
#: The column that holds what a register has stored, while a check is evaluated; no user's column has its name.
_STORED = "\0stored"


class EventConditions:
    """Guards, values and checks over the events of a stream; each is evaluated once."""

    def __init__(self, stream: EventStream, substreams: Sequence[Sequence[int]]) -> None:
        self._stream = stream
        self._types: list[str | None] = stream.types.to_pylist()
        self._keys = np.zeros(len(stream), dtype=np.int64)
        for number, substream in enumerate(substreams):
            self._keys[list(substream)] = number
        self._columns = {name: one_chunk(stream.table.column(name)) for name in stream.table.column_names}
        self._truth: dict[Any, Mask] = {}
        self._values: dict[ast.Expression, pa.Array] = {}
        self._scalars: dict[tuple[ast.Expression, int], pa.Scalar] = {}

    def holds(self, guard: Guard, k: int) -> bool:
        return all(self._is_true(p, k) == positive for p, positive in guard)

    def _is_true(self, p: Predicate, k: int) -> bool:
        if isinstance(p, TypeIs):
            return self._types[k] == p.name
        assert isinstance(p, Test)
        return self._holds(p.expression, {}, k)

    def column(self, p: Predicate) -> Mask:
        """The events at which a predicate holds."""
        if isinstance(p, TypeIs):
            return np.array([name == p.name for name in self._types], dtype=np.bool_)
        assert isinstance(p, Test)
        return holds(self._known(p.expression), self._columns, len(self._stream))

    def column_of(self, c: Condition, stored: Mapping[Register, tuple[ast.Expression | None, Integers]]) -> Mask:
        """The events at which a check passes, where each register holds a value of another event: -1 for none."""
        length = len(self._stream)
        if isinstance(c, Since):
            assert self._stream.tick is not None, "a pattern that compares times needs a stream whose unit is known"
            _, source = stored[c.register]
            since, tick = self._stream.times - self._stream.times[source], self._stream.tick
            longest = longest_ticks(c.interval, tick)
            found: Mask = since >= shortest_ticks(c.interval, tick)
            if longest is not None:
                found &= since <= longest
            return found
        known = {_STORED + r: self._values_at(*of) for r, of in stored.items()}
        if isinstance(c, Holds):
            e = c.with_parts(lambda part: ast.Name(_STORED + r) if (r := register_of(part)) is not None else None)
            true = holds(self._known(e.condition), {**self._columns, **known}, length)
            return ~true if c.absent else true
        compared = ast.Binary(c.operator, ast.Name(_STORED + c.register), c.value)
        return holds(self._known(compared), {**self._columns, **known}, length)

    def _values_at(self, e: ast.Expression | None, source: Integers) -> pa.Array:
        assert e is not None, "only checks of the time read a stored time"
        if e not in self._values:
            self._values[e] = evaluated(self._known(e), self._columns, len(self._stream))
        return self._values[e].take(pa.array(source, mask=source < 0))

    def value(self, e: ast.Expression | None, k: int) -> Any:
        """The value of the expression, over bare attributes, at the event; without an expression, the event's time."""
        if e is None:
            return int(self._stream.times[k])
        if e not in self._values:
            self._values[e] = evaluated(self._known(e), self._columns, len(self._stream))
        # One object for each event, so that NaN is equal to itself where what is stored is compared.
        return self._scalars.setdefault((e, k), self._values[e][k])

    def kept(self, keep: Keep, old: Any, new: Any) -> Any:
        """What a register holds after a store: the new value, or the less or the greater of the two."""
        if old is NOTHING or keep is Keep.NEW:
            return new
        for value in (old, new):
            if not value.is_valid:
                return value
        symbol = "<" if keep is Keep.LEAST else ">"
        better = ast.Binary(symbol, ast.Name(_STORED), ast.Name("\0old"))
        return new if holds(better, {_STORED: pa.repeat(new, 1), "\0old": pa.repeat(old, 1)}, 1)[0] else old

    def passes(self, c: Condition, stored: Mapping[Register, Any], k: int) -> bool:
        """Whether a check holds for these contents of the registers; a check of an empty register holds."""
        if not c.registers <= stored.keys():
            return True
        if isinstance(c, Holds):
            known = c.with_parts(lambda e: ast.Name(_STORED + r) if (r := register_of(e)) is not None else None)
            return self._holds(known.condition, {r: stored[r] for r in c.registers}, k) != c.absent
        if isinstance(c, Check):
            compared = ast.Binary(c.operator, ast.Name(_STORED + c.register), c.value)
            return self._holds(compared, {c.register: stored[c.register]}, k)
        assert self._stream.tick is not None, "a pattern that compares times needs a stream whose unit is known"
        return c.interval.contains((int(self._stream.times[k]) - stored[c.register]) * self._stream.tick)

    def _holds(self, e: ast.Expression, stored: Mapping[Register, pa.Scalar], k: int) -> bool:
        """Whether the condition is TRUE at the event, with what these registers hold."""
        key = (e, frozenset(stored.items()))
        if key not in self._truth:
            length = len(self._stream)
            constant = {_STORED + r: pa.repeat(value, length) for r, value in stored.items()}
            self._truth[key] = holds(self._known(e), {**self._columns, **constant}, length)
        return bool(self._truth[key][k])

    def _known(self, e: ast.Expression) -> ast.Expression:
        """The expression with look-back as columns, which are added to those of the stream."""
        shifted: dict[str, tuple[str, int]] = {}
        made = spell_out(e, shifted)
        missing = {name: pair for name, pair in shifted.items() if name not in self._columns}
        self._columns |= LookBack(missing.values()).columns(self._stream.table, self._keys)
        return made
