"""The parts of an aggregation at each end: folded over the matches that end there.

Numbers of matches and sums can be far beyond 64 bits, so a part is several columns. A number is `residue`, which is it
modulo 2^64, and `size * 2^exponent`, which is near it; of a sum, `magnitude * 2^exponent` is near the sum of the
absolute values, so that it is known how near. `known` says whether there is a value at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from ensue.columns.aggregates import aggregate
from ensue.columns.conversions import as_floats
from ensue.columns.evaluation import evaluated, named_by_text
from ensue.columns.exact_sums import exact_sums
from ensue.columns.match_aggregates import ValuesAt, aggregated, aggregated_of
from ensue.columns.raw_arrays import Floats, Integers, array_of, missing, raw
from ensue.data.complex_events import ComplexEvents, Marks
from ensue.data.events import integers
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.aggregation import Fold, Over, Part, is_span
from ensue.logic.scope import aggregates_of, attribute_variables, without_aggregates

#: The columns of each kind of part.
COLUMNS: Mapping[Fold, tuple[str, ...]] = {
    Fold.COUNT: ("residue", "size", "exponent"),
    Fold.INTEGERS: ("residue", "size", "magnitude", "exponent", "known"),
    Fold.FLOATS: ("size", "exponent", "known"),
    Fold.LEAST: ("best",),
    Fold.GREATEST: ("best",),
}
_TYPES = {
    "residue": pa.int64(),
    "exponent": pa.int64(),
    "size": pa.float64(),
    "magnitude": pa.float64(),
    "known": pa.bool_(),
}
#: What values that are compared need that are sums of integers: more than 64 bits.
WIDE = pa.decimal128(38, 0)


def column(part: Part, what: str) -> str:
    """The name of a column of a part."""
    return f"{part.name}\0{what}"


def type_of_column(what: str, best: pa.DataType) -> pa.DataType:
    """The type of such a column, where the best value of the part is of the other type."""
    return _TYPES.get(what, best)


def folded_by_end(found: ComplexEvents, parts: Sequence[Part], values_at: ValuesAt, times: pa.Array) -> ComplexEvents:
    """One row for each end, which has the parts and marks no event. The matches are in the order of their ends."""
    first = np.flatnonzero(np.diff(found.end, prepend=-1)) if len(found) else np.zeros(0, dtype=np.int64)
    values = _Values(found, values_at, times)
    folded: dict[str, pa.Array] = {}
    for part in parts:
        folded |= folded_columns(part, *values.of(part, np.append(first, len(found))))
    ends = found.end[first]
    return rows_of_ends(ends, folded)


def rows_of_ends(ends: Integers, folded: Mapping[str, pa.Array]) -> ComplexEvents:
    """Such rows as complex events without marks, so that they go the way of all that is found."""
    one = ComplexEvents.of(())
    (piece,) = one.pieces
    nothing = np.zeros(len(ends) + 1, dtype=np.int64)
    row = piece.__class__(ends, ends, nothing, piece.position, piece.mark, dict(folded))
    return ComplexEvents((row,), [frozenset()])


class _Values:
    """What the parts fold: the values, and where those of each end begin."""

    def __init__(self, found: ComplexEvents, values_at: ValuesAt, times: pa.Array) -> None:
        self._found = found
        self._values_at = values_at
        self._times = times

    def of(self, part: Part, bounds: Integers) -> tuple[pa.Array | None, Integers]:
        """The values, None where only their number counts; `bounds` are the first matches of the ends."""
        match part.over:
            case Over.MATCHES:
                return None, bounds
            case Over.TIMES:
                return self._of_times(part), bounds
            case Over.VALUES:
                return self._of_matches(part), bounds
        values, offsets = self._of_events(part)
        return values, offsets[bounds]

    def _of_times(self, part: Part) -> pa.Array:
        assert part.argument is not None
        start, end = (self._times.take(integers(p)) for p in (self._found.start, self._found.end))
        if is_span(part.argument):
            return integers(raw(_whole(end)).astype(np.int64) - raw(_whole(start)).astype(np.int64))
        return start if part.argument == ast.Name("start_time") else end

    def _of_events(self, part: Part) -> tuple[pa.Array | None, Integers]:
        """The values of the pairs of a match and an event, and where those of each match begin."""
        argument = part.argument
        assert argument is not None
        if isinstance(argument, ast.Name):
            return None, self._marks(argument.name).offsets
        marks = {x: self._marks(x) for x in sorted(attribute_variables(argument))}
        several = (x for x, m in marks.items() if not bool((np.diff(m.offsets) == 1).all()))
        over = next(several, next(iter(marks)))
        offsets = marks[over].offsets
        match_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        columns = {}
        for term in ast.find(argument, ast.Attribute):
            own = marks[term.variable].positions
            positions = own if term.variable == over else own[match_of]
            columns[print_expression(term)] = self._values_at(term.name, positions)
        return evaluated(named_by_text(argument), columns, len(match_of)), offsets

    def _of_matches(self, part: Part) -> pa.Array:
        """One value for each match."""
        argument = part.argument
        assert argument is not None
        if part.wide:
            assert isinstance(argument, ast.Call)
            return self._wide_sums(argument)
        columns = aggregated_of(self._found, aggregates_of(argument), self._values_at)
        for a in ast.find(without_aggregates(argument), ast.Attribute):
            columns[print_expression(a)] = self._values_at(a.name, self._marks(a.variable).positions)
        return evaluated(named_by_text(argument), columns, len(self._found))

    def _wide_sums(self, call: ast.Call) -> pa.Array:
        """The sums of integers of each match, also those that do not fit 64 bits."""
        found = aggregated(call, self._marks, self._values_at)
        none = raw(aggregated(ast.Call("count", call.arguments), self._marks, self._values_at)) == 0
        wide = found.cast(WIDE)
        lost = raw(found.is_null()) & ~none
        if not lost.any():
            return wide
        values, offsets = self._of_events(Part(Fold.INTEGERS, Over.EVENTS, call.arguments[0]))
        assert values is not None
        sums = wide.to_pylist()
        for m in np.flatnonzero(lost).tolist():
            sums[m] = sum(v for v in values[offsets[m] : offsets[m + 1]].to_pylist() if v is not None)
        return pa.array(sums, WIDE)

    def _marks(self, variable: str) -> Marks:
        return self._found.marks(variable)


def _whole(times: pa.Array) -> pa.Array:
    return times.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(times.type) else times.cast(pa.int64())


def folded_columns(part: Part, values: pa.Array | None, offsets: Integers) -> dict[str, pa.Array]:
    """The columns of a part over sets of values: those of a set are from one of the offsets to the next."""
    made = _FOLDS[part.fold](part, values, offsets)
    return {column(part, what): array for what, array in zip(COLUMNS[part.fold], made, strict=True)}


def _counted(_part: Part, values: pa.Array | None, offsets: Integers) -> tuple[pa.Array, ...]:
    counts = np.diff(offsets)
    null = None if values is None else missing(values)
    if values is not None and pa.types.is_null(values.type):
        counts = np.zeros_like(counts)
    elif null is not None:
        counts = np.diff(np.concatenate([[0], np.cumsum(~null)])[offsets])
    return integers(counts), _floats(counts.astype(np.float64)), integers(np.zeros_like(counts))


def _integers(_part: Part, values: pa.Array | None, offsets: Integers) -> tuple[pa.Array, ...]:
    numbers, offsets = _known(values, offsets)
    near = numbers.astype(np.float64)
    with np.errstate(over="ignore"):
        residue = _reduced(np.add, numbers.astype(np.int64), offsets)
    size, magnitude = _reduced(np.add, near, offsets), _reduced(np.add, np.abs(near), offsets)
    known = array_of(np.diff(offsets) > 0, None, pa.bool_())
    return integers(residue), _floats(size), _floats(magnitude), integers(np.zeros_like(residue)), known


def _of_floats(_part: Part, values: pa.Array | None, offsets: Integers) -> tuple[pa.Array, ...]:
    assert values is not None
    numbers, offsets = _known(as_floats(values), offsets)
    full = np.diff(offsets) > 0
    sums = np.zeros(len(full), dtype=np.float64)
    if full.any():
        sums[full] = exact_sums(numbers.astype(np.float64), offsets[:-1][full])
    return _floats(sums), integers(np.zeros(len(full), dtype=np.int64)), array_of(full, None, pa.bool_())


def _best(part: Part, values: pa.Array | None, offsets: Integers) -> tuple[pa.Array, ...]:
    assert values is not None
    if pa.types.is_null(values.type):
        return (pa.nulls(len(offsets) - 1, values.type),)
    return (aggregate("min" if part.fold is Fold.LEAST else "max", values, offsets),)


_FOLDS: dict[Fold, Callable[[Part, pa.Array | None, Integers], tuple[pa.Array, ...]]] = {
    Fold.COUNT: _counted,
    Fold.INTEGERS: _integers,
    Fold.FLOATS: _of_floats,
    Fold.LEAST: _best,
    Fold.GREATEST: _best,
}


def _known(values: pa.Array | None, offsets: Integers) -> tuple[np.ndarray, Integers]:
    """The numbers that are not NULL, and where those of each set begin."""
    assert values is not None
    if pa.types.is_null(values.type):
        return np.zeros(0, dtype=np.int64), np.zeros_like(offsets)
    values = values if pa.types.is_floating(values.type) or pa.types.is_uint64(values.type) else values.cast(pa.int64())
    null = missing(values)
    if null is None:
        return raw(values), offsets
    return raw(values.drop_null()), np.concatenate([[0], np.cumsum(~null)])[offsets]


def _reduced(by: np.ufunc, numbers: np.ndarray, offsets: Integers) -> np.ndarray:
    """The sums of sets, some of which may be empty."""
    found = np.zeros(len(offsets) - 1, dtype=numbers.dtype)
    full = np.diff(offsets) > 0
    if full.any():
        found[full] = by.reduceat(numbers, offsets[:-1][full])
    return found


def _floats(numbers: Floats) -> pa.Array:
    return array_of(numbers, None, pa.float64())
