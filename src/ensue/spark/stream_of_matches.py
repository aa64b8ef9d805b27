"""A stream of matches as a DataFrame that still knows so after `select`, `filter`, `union` and their like.

So `withWatermark` for the end of matches can be left without an effect, two queries of one name are refused with our
own words, and a stream that is started on the checkpoint of another query is refused before it starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from ensue.errors import EngineError, listed
from ensue.spark.begun_by import BegunBy, compare
from ensue.spark.chaining import is_event_time, names_of_metrics

#: The operators behind which a column of theirs may still be the end of matches.
_FOLLOWED = (
    "alias",
    "coalesce",
    "crossJoin",
    "distinct",
    "drop",
    "dropDuplicates",
    "dropDuplicatesWithinWatermark",
    "drop_duplicates",
    "dropna",
    "fillna",
    "filter",
    "hint",
    "join",
    "mapInArrow",
    "mapInPandas",
    "observe",
    "repartition",
    "replace",
    "sample",
    "select",
    "selectExpr",
    "toDF",
    "union",
    "unionAll",
    "unionByName",
    "where",
    "withColumn",
    "withColumnRenamed",
    "withColumns",
    "withColumnsRenamed",
    "withMetadata",
)
#: Spark's condition of an error for two queries of one name.
_TWO_NAMES = "DUPLICATED_METRICS_NAME"
#: Which of several watermarks Spark goes by: the slowest, unless this says "max".
_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
_ROOT = "spark.sql.streaming.checkpointLocation"
_LOCATION = "checkpointlocation"


def of_matches(frame: DataFrame, *begun: BegunBy, waits: bool) -> DataFrame:
    """The same stream, which knows what its states are made by, and whether its matches wait for the watermark."""
    known: Any = frame
    known.__class__ = _kind(_StreamOfMatches, type(frame))
    known.ensue_begun_by = begun
    known.ensue_waits = waits
    return frame


def begun_by(frame: Any) -> tuple[BegunBy, ...]:
    """What the states of the queries in this stream are made by, as far as that is known."""
    return frame.ensue_begun_by if isinstance(frame, _StreamOfMatches) else ()


def _waits(frame: Any) -> bool:
    return isinstance(frame, _StreamOfMatches) and frame.ensue_waits


_kinds: dict[Any, Any] = {}


def _kind(ours: Any, theirs: Any) -> Any:
    """The class of a DataFrame, or of what writes a stream, with our methods before its own."""
    if issubclass(theirs, ours):
        return theirs
    if theirs not in _kinds:
        seen = {"__doc__": theirs.__doc__, "__module__": theirs.__module__}
        _kinds[theirs] = type(theirs.__name__, (ours, theirs), seen)
    return _kinds[theirs]


class _StreamOfMatches:
    """The methods of a DataFrame that say more of a stream of matches."""

    ensue_begun_by: tuple[BegunBy, ...]
    ensue_waits: bool

    def withWatermark(self, eventTime: str, delayThreshold: str) -> Any:
        """It changes nothing for the end of matches, which is event time already.

        A second watermark is refused: it would only advance with the matches, which wait for the slowest watermark.
        """
        frame: Any = self
        if eventTime in frame.columns and is_event_time(frame.schema[eventTime]):
            return frame
        if frame.ensue_waits and frame.sparkSession.conf.get(_POLICY, "min") != "max":
            raise EngineError(
                f"a watermark on '{eventTime}' behind a stream of matches would stand still, and nothing would ever be "
                "released: it would advance with the matches, which wait for the slowest watermark. The end_time of "
                "matches is event time already; for another time, write the matches to a table, and read that as a "
                "stream"
            )
        return super().withWatermark(eventTime, delayThreshold)  # type: ignore[misc]

    @property
    def writeStream(self) -> Any:
        writer = super().writeStream  # type: ignore[misc]
        writer.__class__ = _kind(_WriterOfMatches, type(writer))
        writer.ensue_writes = (begun_by(self), self.sparkSession, {})  # type: ignore[attr-defined]
        return writer


def _passing(name: str) -> Callable[..., Any]:
    """The method of this name, whose result knows as much."""

    def method(self: Any, *given: Any, **named: Any) -> Any:
        others = [a for a in (*given, *named.values()) if isinstance(a, DataFrame)]
        try:
            frame = getattr(super(_StreamOfMatches, self), name)(*given, **named)
        except AnalysisException as e:
            if e.getCondition() != _TWO_NAMES:
                raise
            raise _two_names([self, *others]) from None
        begun = (b for other in others for b in begun_by(other))
        return of_matches(frame, *begun_by(self), *begun, waits=any(map(_waits, (self, *others))))

    method.__name__ = name
    return method


for _name in _FOLLOWED:
    setattr(_StreamOfMatches, _name, _passing(_name))


def _two_names(frames: list[Any]) -> EngineError:
    first, *others = map(names_of_metrics, frames)
    twice = sorted(first.intersection(*others))
    return EngineError(
        f"two queries in one stream have the name '{listed(twice)}', under which their metrics are reported: give one "
        "of them another, with run(..., name='...')"
    )


class _WriterOfMatches:
    """The methods of what writes a stream that tell where its checkpoint is, and start it."""

    ensue_writes: tuple[tuple[BegunBy, ...], Any, dict[str, Any]]

    def option(self, key: str, value: Any) -> Any:
        self._note(**{key: value})
        return super().option(key, value)  # type: ignore[misc]

    def options(self, **options: Any) -> Any:
        self._note(**options)
        return super().options(**options)  # type: ignore[misc]

    def queryName(self, queryName: str) -> Any:
        self._note(queryName=queryName)
        return super().queryName(queryName)  # type: ignore[misc]

    def start(self, *given: Any, **named: Any) -> Any:
        self._compare(named)
        return super().start(*given, **named)  # type: ignore[misc]

    def toTable(self, *given: Any, **named: Any) -> Any:
        self._compare(named)
        return super().toTable(*given, **named)  # type: ignore[misc]

    def _note(self, **options: Any) -> None:
        self.ensue_writes[2].update({key.lower(): value for key, value in options.items()})

    def _compare(self, named: dict[str, Any]) -> None:
        """Refuses the checkpoint of another query."""
        self._note(**named)
        begun, session, noted = self.ensue_writes
        where = noted.get(_LOCATION)
        if where is None and noted.get("queryname") is not None and session.conf.get(_ROOT, None):
            where = f"{session.conf.get(_ROOT)}/{noted['queryname']}"
        if where is not None and begun:
            compare(session, str(where), begun)
