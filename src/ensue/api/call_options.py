"""The options of the calls that users make: their types, and what they mean for a table, for Spark and live."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict

from ensue.corrections.live_options import LiveOptions
from ensue.data.reading import Reading
from ensue.errors import EngineError, did_you_mean
from ensue.pipeline import RunOptions


class SparkFrame(Protocol):
    """The attribute that distinguishes a Spark DataFrame, so that type checkers do not need pyspark installed."""

    @property
    def isStreaming(self) -> bool: ...


class Options(TypedDict, total=False):
    """The options of `Query.run` over events in memory or in files."""

    time: str | Mapping[str, str] | None
    type: str | None
    unit: str | None
    tiebreak: str | None
    engine: str
    memory: str | int | None
    progress: Callable[[int, int], None] | None
    closed: bool


class LiveArguments(TypedDict, total=False):
    """The options of `Query.live` and of `live`."""

    time: str
    type: str | None
    unit: str | None
    tiebreak: str | None
    disorder: Literal["revise", "wait"]
    slack: str | None
    delay: str | None
    id: str | Sequence[str] | None
    changes: str | None
    engine: str
    memory: str | int | None
    keep: str | None
    delays: Mapping[str, str]
    state: bytes | None


class _OnSpark(TypedDict, total=False):
    time: str
    type: str | None
    unit: str | None
    tiebreak: str | None
    memory: str | int | None
    unbounded: bool
    buckets: int | None
    name: str | None


class _Changing(TypedDict, total=False):
    disorder: Literal["revise", "wait"] | None
    slack: str | None
    id: str | Sequence[str] | None
    changes: str | None
    delays: Mapping[str, str] | None
    promises: str | None


class SparkOptions(_OnSpark, total=False):
    """The options of `Query.run` over Spark DataFrames."""

    engine: Literal["auto", "spark"]
    alone: bool
    closed: bool


class ChangingOptions(SparkOptions, _Changing, total=False):
    """The same with those of streams whose events, or whose matches, may change."""


class SeveralOptions(_OnSpark, _Changing, total=False):
    """The options of `run`, for several queries over one Spark DataFrame."""


@dataclass(frozen=True)
class Call:
    """The options of a call, by what they concern."""

    reading: Reading
    engine: str
    memory: str | int | None
    progress: Callable[[int, int], None] | None
    closed: bool
    spark: Mapping[str, Any]  # those for Spark alone that were given

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Call:
        """The call with these options; those that are not there have their defaults."""
        left = dict(options)
        reading: Any = {"time": left.pop("time", "time")}
        reading |= {c: left.pop(c, None) for c in ("type", "unit", "tiebreak")}
        engine, memory = left.pop("engine", "auto"), left.pop("memory", None)
        progress, closed = left.pop("progress", None), left.pop("closed", False)
        left |= {o: left[o] or None for o in ("unbounded", "alone") if o in left}
        return cls(reading, engine, memory, progress, closed, given(left))

    def over_table(self, events: Any) -> RunOptions:
        """How a query is run over events in memory or in files, which are no Spark DataFrame."""
        if self.engine == "spark":
            raise EngineError(
                f"engine='spark' takes a Spark DataFrame, not {kind_of(events)}: give it spark.read.parquet(...) or "
                "spark.createDataFrame(...)"
            )
        if self.spark:
            hint = "; Query.live is for events in memory" if {*self.spark} & {*_CHANGING} else ""
            raise TypeError(f"{', '.join(self.spark)}: for Spark DataFrames only{hint}")
        return RunOptions(self.engine, self.memory, self.progress, self.closed)

    def on_spark(self) -> dict[str, Any]:
        """The arguments for Spark."""
        from ensue.spark.run import OfStream

        check_spark_engine(self.engine)
        if self.progress is not None:
            raise TypeError("progress: not for Spark DataFrames, which are evaluated lazily")
        of_stream = OfStream(**options_of_stream(self.spark, self.reading))
        return {"memory": self.memory, "closed": self.closed, "of_stream": of_stream, **self.reading}


def check_known(options: Mapping[str, Any], call: str, *kinds: Any) -> None:
    """Refuses an option that there is not, as Python does of arguments that are written out."""
    known = sorted({option for kind in kinds for option in kind.__optional_keys__})
    for option in options:
        if option not in known:
            hint = did_you_mean(option, known)
            more = f": {hint}" if hint else ""
            raise TypeError(f"{call}() got an unexpected keyword argument '{option}'{more}")


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given; each of the others gets its default where it is used."""
    return {option: value for option, value in options.items() if value is not None}


#: The options of streams whose events, or whose matches, may change.
_CHANGING = tuple(_Changing.__annotations__)


def options_of_stream(of_spark: Mapping[str, Any], reading: Mapping[str, Any]) -> dict[str, Any]:
    """The options for Spark, with those of events that change as one."""
    changing: Any = {o: of_spark[o] for o in _CHANGING if of_spark.get(o) is not None}
    others = {o: value for o, value in given(of_spark).items() if o not in changing}
    if not changing:
        return others
    times: Any = {option: value for option, value in reading.items() if option in ("time", "unit")}
    options: Any = {"disorder": "wait", **times, **changing}
    return {**others, "changing": live_options(options)}


def check_spark_engine(engine: str) -> None:
    """Refuses an engine that does not run on Spark."""
    if engine not in ("auto", "spark"):
        raise EngineError(f"a Spark DataFrame is evaluated on Spark, not by engine={engine!r}: leave it out")


def live_options(options: LiveArguments) -> LiveOptions:
    """The options of live queries as they know them."""
    said: dict[str, Any] = {**options}
    said.pop("state", None)
    reading: Any = {"time": "time"} | {c: said.pop(c) for c in ("time", "type", "unit", "tiebreak") if c in said}
    if (id := said.pop("id", None)) is not None:
        said["id"] = (id,) if isinstance(id, str) else tuple(id)
    return LiveOptions(reading, **given(said))


def kind_of(events: Any) -> str:
    """What kind of thing these events are, for messages."""
    return f"{events.__class__.__module__}.{events.__class__.__qualname__}".removeprefix("builtins.")
