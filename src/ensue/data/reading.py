"""The options that say how to read events: one set of rules and messages for tables and for Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypedDict

from ensue.errors import DataError, did_you_mean, listed
from ensue.language.ast import NANOSECONDS, UNITS

#: The name of the time column, for each stream if they differ; None keeps the order of the rows.
TimeColumn = str | Mapping[str, str] | None


class Reading(TypedDict, total=False):
    """The columns for time, type and tie-break, and the unit of time: see `Query.run`."""

    time: TimeColumn
    type: str | None
    unit: str | None
    tiebreak: str | None


def check_reading(**reading: object) -> None:
    """Refuses options that are not strings; `time` may be a mapping of strings."""
    for option, value in reading.items():
        if option == "time" and isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values()):
            continue
        if value is not None and not isinstance(value, str):
            raise DataError(f"{option}= takes a string, not {value!r}")


def events_by_stream(events: Any, streams: tuple[str, ...]) -> dict[str, Any]:
    """The events of each stream in FROM, given directly for one stream or as a mapping from the streams' names."""
    if isinstance(events, Mapping):
        missing = [s for s in streams if s not in events]
        if missing:
            hint = "" if len(missing) < len(streams) else "\n  of a dict of columns, make a table: pyarrow.table({...})"
            raise DataError(f"no events were given for the stream {listed(missing)}; given are {listed(events)}{hint}")
        return {s: events[s] for s in streams}
    if len(streams) > 1:
        example = ", ".join(f"{s!r}: ..." for s in streams)
        raise DataError(f"the query reads the streams {listed(streams)}: give a mapping {{{example}}}")
    return {streams[0]: events}


def time_of_stream(time: TimeColumn, stream: str) -> str | None:
    """The time column of one stream."""
    if not isinstance(time, Mapping):
        return time
    if stream not in time:
        raise DataError(f"no time column was given for the stream {stream}; given are those of {listed(time)}")
    return time[stream]


def named_times(time: TimeColumn) -> str:
    """The time columns as messages name them."""
    return ", ".join(dict.fromkeys(time.values())) if isinstance(time, Mapping) else time or ""


#: For each role of a column: how to name another column.
TIME_ADVICE = "name the time column with time='...', or keep the order of the rows with time=None"
_ADVICE = {
    "time": "name it with time='...'",
    "type": "name it with type=...",
    "tie-break": "name it with tiebreak=...",
    "id": "name the columns that identify an event with id='...'",
    "change": "name the column that says what a row does with changes='...'",
    "promise": "name the column of rows that promise something with promises='...'",
}


def check_column(known: Collection[str], name: str, role: str, advice: str | None = None) -> None:
    """Refuses a column that does not exist, with a hint at the one that may have been meant."""
    if name not in known:
        columns = f"the columns are {listed(known)}" if known else "the events have no columns"
        hint = did_you_mean(name, known) or columns
        raise DataError(f"there is no {role} column '{name}': {hint}\n  {advice or _ADVICE[role]}")


def nanoseconds_of_a_step(time: str, type_: str, own: str | None, unit: str | None) -> int | None:
    """The length of one step of the time column; `own` is the unit of its type, None for a whole number.

    It is None if a whole number has no unit: then the query must not compare times.
    """
    if own is not None:
        if unit is not None:
            raise DataError(f"the time column '{time}' is of type {type_} and has its unit already: leave out unit=")
        return NANOSECONDS[own]
    if unit is None:
        return None
    if unit.lower() not in UNITS:
        raise DataError(f"unknown unit of time '{unit}': {did_you_mean(unit, UNITS) or 'one of ' + listed(UNITS)}")
    return NANOSECONDS[UNITS[unit.lower()]]


def no_time_type(time: str, type_: str, advice: str) -> DataError:
    """The error for a time column of a type that is not a time."""
    wanted = f"it must be a timestamp, a date, or an integer with a unit{advice}"
    return DataError(f"the time column '{time}' is of type {type_}: {wanted}")


def no_unit(column: TimeColumn) -> DataError:
    """The error for a query that compares times whose unit is not known."""
    time = named_times(column)
    if column is None:
        return DataError("the query compares times, but with time=None events have no time: name the time column")
    return DataError(
        f"the query compares times, and the time column '{time}' is an integer: say its unit, such as unit='ms'"
    )
