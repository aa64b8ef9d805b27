"""The result of `AGGREGATE`: one row for each group of matches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import as_type
from ensue.columns.evaluation import evaluated
from ensue.columns.group_totals import Sums, empty_columns, folded_by_group, of_nothing
from ensue.columns.match_totals import WIDE, rows_of_ends
from ensue.columns.raw_arrays import Mask, array_of, missing, raw
from ensue.data.budget import Budget
from ensue.data.complex_events import ComplexEvents, Positions
from ensue.data.events import EventStream, as_integers, integers, log
from ensue.engines.opening import totals_by_definition
from ensue.errors import DataError, counted, did_you_mean, listed
from ensue.language import ast
from ensue.language.printer import print_duration
from ensue.logic.aggregation import (
    BUCKET,
    END_TIME,
    POSITION,
    Fold,
    Measure,
    Over,
    Part,
    group_columns,
    is_span,
    measures_of_query,
    outer_calls,
    parts_of,
    type_of,
    unit_of,
)
from ensue.logic.check import Checked
from ensue.logic.partition_keys import key_name
from ensue.logic.types import Typing
from ensue.results.gathering import values_at
from ensue.results.rows import SHOWN, Rows, count_of

#: The times of a stream are whole numbers of these many nanoseconds, in the units of differences of times.
_WHOLE = ("count", "sum")
_TICKS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


class Grouping:
    """The groups of a checked query, over events whose times are of this type; `tick` is the step of its times."""

    def __init__(self, checked: Checked, times: pa.DataType, tick: int | None) -> None:
        assert checked.query.aggregation is not None
        self._checked = checked
        self._query = checked.query
        self._aggregation = checked.query.aggregation
        self._schema = checked.schema
        self._times, self._tick = times, tick
        typing = Typing(checked.schema)
        self._parts_of = {m: parts_of(m, typing) for m in measures_of_query(checked.query)}
        self.parts: dict[Part, pa.DataType] = {}
        for measure, parts in self._parts_of.items():
            best = type_of(measure, self._schema, times) if measure.function in ("min", "max") else pa.null()
            for part in parts:
                self.parts[part] = WIDE if part.wide else (pa.int64() if _is_length(part) else best)
        self.columns = group_columns(checked.query)
        self.by = [POSITION] if self._aggregation.per_end else self.columns
        self.every = self._every()

    def _every(self) -> int | None:
        """The length of a bucket in ticks."""
        every = self._aggregation.every
        if every is None:
            return None
        length, text = every.nanoseconds() / (self._tick or 1), print_duration(every)
        if length >= 2**63:
            raise DataError(f"EVERY {text} is longer than the times of these events reach: leave it out")
        if length.denominator != 1:
            raise DataError(f"EVERY {text}: the times of these events have steps that a bucket of {text} cuts")
        return int(length)

    def rows(self, found: ComplexEvents, stream: EventStream, places: Positions | None = None) -> pa.Table:
        """A row for each end in `found`, which has the parts, with the columns of its group.

        `places` are those of the events in the whole stream, where some are left out of this one.
        """
        groups = {name: make() for name, make in self._makers(found, stream).items()}
        if POSITION in groups and places is not None:
            groups[POSITION] = integers(places[found.end])
        computed = found.computed if len(found) else {}
        types = self._part_columns.items()
        parts = {name: _of_type(computed[name], t) if name in computed else pa.nulls(0, t) for name, t in types}
        return pa.table({**groups, **parts})

    @property
    def is_per_end(self) -> bool:
        """Whether each end is a group of its own."""
        return self._aggregation.per_end

    def nothing(self) -> pa.Table:
        """The table of parts without a row."""
        keys = {key_name(k): k.attribute for k in self._query.partition}
        known = {} if self._schema is None else self._schema.attributes
        types = {END_TIME: self._times, BUCKET: self._times, POSITION: pa.int64()}
        types |= {n: _without_dictionary(known[a].arrow) for n, a in keys.items() if n in self.columns and a in known}
        columns = {name: types[name] for name in self.columns} | self._part_columns
        return pa.table({name: pa.nulls(0, type_) for name, type_ in columns.items()})

    @cached_property
    def _part_columns(self) -> dict[str, pa.DataType]:
        return {name: t for part, best in self.parts.items() for name, t in empty_columns(part, best).items()}

    def _makers(self, found: ComplexEvents, stream: EventStream) -> dict[str, Callable[[], pa.ChunkedArray | pa.Array]]:
        keys = {key_name(k): k.attribute for k in self._query.partition}
        made: dict[str, Callable[[], pa.ChunkedArray | pa.Array]] = {}
        for name in self.columns:
            if name in keys and name not in (END_TIME, POSITION):
                made[name] = lambda a=keys[name]: _plain(values_at(stream.table.column(a), found.end))  # type: ignore[misc]
        if self._aggregation.per_end:
            made[END_TIME] = lambda: values_at(stream.time_column, found.end)
            made[POSITION] = lambda: integers(found.end)
        elif self.every is not None:
            made[BUCKET] = lambda: self._bucket_of(stream, found)
        return made

    def _bucket_of(self, stream: EventStream, found: ComplexEvents) -> pa.Array:
        assert self.every is not None
        times = as_integers(values_at(stream.time_column, found.end)) if len(found) else np.zeros(0, dtype=np.int64)
        with np.errstate(over="ignore"):
            begins = np.floor_divide(times, self.every) * self.every
        if bool((begins > times).any()):
            raise DataError("EVERY: a bucket begins before the earliest time that these events can have")
        return _as_times(begins, self._times)

    def folded(self, table: pa.Table) -> pa.Table:
        """One row for each group."""
        return folded_by_group(table, self.by, list(self.parts))

    def begins(self, table: pa.Table) -> np.ndarray:
        """The ticks with which the buckets of the rows begin."""
        return as_integers(table.column(BUCKET)) if len(table) else np.zeros(0, dtype=np.int64)

    def finished(self, table: pa.Table) -> pa.Table:
        """The columns of the result, of a folded table."""
        table = self._with_one_row(table)
        sums = Sums(table)
        measured = {m: self._value_of(m, sums) for m in self._parts_of}
        return self._with_items({name: table.column(name) for name in self.columns}, measured, len(table))

    def finished_or_none(self, table: pa.Table) -> pa.Table:
        """The same where some groups are complete; also without GROUP BY there is no row of nothing then."""
        return self.finished(table) if len(table) else self.finished(self.nothing()).slice(0, 0)

    def _with_items(
        self, groups: dict[str, pa.Array | pa.ChunkedArray], measured: dict[Measure, pa.Array], length: int
    ) -> pa.Table:
        items = {i.alias or "": self._item(i.expression, measured, length) for i in self._aggregation.items}
        return pa.table({**groups, **items})

    def by_definition(self, stream: EventStream, found: ComplexEvents) -> tuple[pa.Table, dict[str, list[Any]]]:
        """The result, and the exact values of its items, as the reference defines them."""
        totals = totals_by_definition(self._checked, stream, found, self.every)
        ends = np.array(list(totals.first_end.values()), dtype=np.int64)
        groups = {name: make() for name, make in self._makers(rows_of_ends(ends, {}), stream).items()}
        measured = {
            m: self._of_times(m, values) if m.over is Over.TIMES else values for m, values in totals.columns().items()
        }
        exact = {
            i.alias or "": totals.values(m)
            for i in self._aggregation.items
            for m in totals.measures
            if m.call == i.expression
        }
        return self._with_items(groups, measured, len(totals.groups)), exact

    def _item(self, e: ast.Expression, measured: dict[Measure, pa.Array], length: int) -> pa.Array:
        named = {m.call: m for m in measured}
        if isinstance(e, ast.Call) and e in named:
            return measured[named[e]]
        columns = {m.text: values for m, values in measured.items()}
        plain = ast.replaced(e, lambda p: ast.Name(named[p].text) if isinstance(p, ast.Call) and p in named else None)
        found = evaluated(plain, columns, length)
        typed = Typing(self._schema).infer(
            ast.replaced(e, lambda p: ast.Literal(0.0, ast.LiteralType.FLOAT) if _is_log(p) else None)
        )
        return found if typed is None else as_type(found, typed.arrow)

    def _value_of(self, measure: Measure, sums: Sums) -> pa.Array:
        parts = self._parts_of[measure]
        (part, *_) = parts
        if measure.function == "log2":
            return sums.logarithm(part)
        if measure.function in ("min", "max"):
            found = sums.best(part)
        elif measure.function == "avg":
            found = sums.average(part, parts[1])
        else:
            found = sums.floats(part) if part.fold is Fold.FLOATS else sums.whole(part, *parts[1:])
        if measure.over is Over.TIMES:
            return self._of_times(measure, found)
        return as_type(found, type_of(measure, self._schema, self._times))

    def _of_times(self, measure: Measure, found: pa.Array) -> pa.Array:
        """Lengths of matches, in ticks, in the unit of their type; points in time as they are stored."""
        wanted = type_of(measure, self._schema, self._times)
        if measure.function == "count":
            return found
        if not is_span(measure.argument):
            return found if found.type == wanted else _as_times(raw(found), wanted, missing(found))
        if not pa.types.is_duration(wanted):
            return found
        null, tick = missing(found), self._tick or 1
        if measure.function == "avg":
            nanoseconds = np.rint(np.nan_to_num(raw(found)) * tick)
            beyond = ~(np.abs(nanoseconds) < 2.0**63)
            null = beyond if null is None else null | beyond
            return array_of(np.where(beyond, 0.0, nanoseconds).astype(np.int64), null, wanted)
        return array_of(raw(found) * (tick // _TICKS[unit_of(self._times)]), null, wanted)

    def exact_part(self, name: str) -> Part:
        """The part that is an item: a number of matches, or a sum of integers."""
        items = [i.alias for i in self._aggregation.items]
        if name not in items:
            hint = did_you_mean(name, map(str, items)) or f"the items are {listed(map(str, items))}"
            raise DataError(f"the result has no item '{name}': {hint}")
        measure, part = self._single.get(name, (None, None))
        if measure is None or part is None or not _is_whole(measure, part):
            raise DataError(f"'{name}' is no number of matches and no sum of integers: only these have exact values")
        return part

    def checked_item(self, exact: Callable[[str], list[Any]]) -> Callable[[str], list[int | None]]:
        """What gives exact values of items, of those only that have them."""

        def of(name: str) -> list[int | None]:
            self.exact_part(name)
            return exact(name)

        return of

    def exact(self, part: Part, table: pa.Table, modulo: Callable[[int], pa.Table] | None) -> list[int | None]:
        """What a part comes to as Python has integers, in the groups of a folded table.

        `modulo` gives that table with numbers modulo a prime; None where they cannot be made anew.
        """
        sums = Sums(self._with_one_row(table))
        return sums.exact(part) if modulo is None else sums.exact_by(part, modulo)

    def beyond(self, table: pa.Table) -> dict[str, int]:
        """For each item that is an integer, in how many groups of a folded table it does not fit 64 bits."""
        sums = Sums(self._with_one_row(table))
        integers_ = {name: p for name, (m, p) in self._single.items() if p.wide or _is_whole(m, p)}
        return {name: count for name, part in integers_.items() if (count := sums.beyond(part))}

    def warn_of_beyond(self, table: pa.Table, instead: str) -> None:
        """Logs which items are NULL since they do not fit 64 bits, and what there is `instead`."""
        for item, count in self.beyond(table).items():
            more = f", {instead}" if _is_whole(*self._single[item]) else ""
            log.warning("%s is NULL in %s: it has more than 64 bits%s", item, counted(count, "group"), more)

    @cached_property
    def _single(self) -> dict[str, tuple[Measure, Part]]:
        """The items that are one measure each, with the first of the parts that it is read from."""
        read = {m.call: (m, parts[0]) for m, parts in self._parts_of.items()}
        return {i.alias or "": read[i.expression] for i in self._aggregation.items if i.expression in read}

    def _with_one_row(self, table: pa.Table) -> pa.Table:
        """Without GROUP BY there is one row, also of nothing."""
        if self._aggregation.grouped or len(table):
            return table
        return pa.table({n: c for part, best in self.parts.items() for n, c in of_nothing(part, best).items()})


def _is_whole(measure: Measure, part: Part) -> bool:
    """Whether a measure, which is read from this part, is a number of matches or a sum of integers."""
    return measure.function in _WHOLE and part.fold in (Fold.COUNT, Fold.INTEGERS)


def _of_type(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The column of a part; points in time come as whole numbers from what folds them."""
    if pa.types.is_date32(wanted) and pa.types.is_int64(column.type):
        column = column.cast(pa.int32())  # Arrow makes dates of these only
    return column.cast(wanted)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without a dictionary, which may be of another kind in the next batch."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _without_dictionary(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _is_length(part: Part) -> bool:
    return part.over is Over.TIMES and part.argument is not None and is_span(part.argument)


def _is_log(e: ast.Expression) -> bool:
    return isinstance(e, ast.Call) and e.function == "log2" and any(True for _ in outer_calls(e))


def _as_times(ticks: np.ndarray, times: pa.DataType, null: Mask | None = None) -> pa.Array:
    """Points in time that are given in ticks."""
    column = array_of(ticks, null, pa.int64())
    return column.cast(pa.int32()).cast(times) if pa.types.is_date32(times) else column.cast(times)


class Totals(Rows):
    """What `AGGREGATE` comes to: one row for each group, in the order of their first ends; one row without GROUP BY."""

    def __init__(
        self, table: pa.Table, exact: Callable[[str], list[int | None]], budget: Budget, *, unexpected: int = 0
    ) -> None:
        #: How many events of the stream are not as EXPECT says.
        self.unexpected = unexpected
        self._table = table
        self._exact = exact
        self._budget = budget

    def __len__(self) -> int:
        """The number of groups."""
        return len(self._table)

    def to_arrow(self) -> pa.Table:
        """The columns of the groups, and one column for each item."""
        return self._table

    def exact(self, item: str) -> list[int | None]:
        """A number of matches, or a sum of integers, for each row as a Python integer, also where it has no 64 bits."""
        return self._exact(item)

    def _head(self) -> pa.Table:
        return self._table.slice(0, SHOWN)

    def _counted(self) -> str:
        return count_of(len(self), "group", "groups")
