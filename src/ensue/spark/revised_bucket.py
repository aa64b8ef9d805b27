"""The same where events may be deleted, or where matches are told at once and corrected: see `ensue.corrections`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ensue.corrections.change_rows import rows_of_changes
from ensue.corrections.event_ids import HIGH, LOW, countable, ids_of_content
from ensue.corrections.live_stream import LiveStream, Step
from ensue.corrections.revision import MatchChanges, Revision
from ensue.corrections.unsettled import NO_TIME, Arrivals, Refused
from ensue.corrections.watch import Watch
from ensue.data.budget import Budget, Large
from ensue.data.change_words import signs_of
from ensue.data.envelope import Parts, prefixed, sealed, unprefixed
from ensue.data.events import as_integers
from ensue.logic.types_read import types_read
from ensue.results.changes import CHANGE, DELETE, INSERT
from ensue.results.running_query import RunningQuery
from ensue.spark.bucket import KIND, MicroBatch, Told, opened, passed_by, time_to_wake, timed
from ensue.spark.recipe import PROMISE, TIME, Recipe

#: The column that travels with what a row does to an event.
DOES = "__ensue_change"
#: The columns that a query of such a stream needs of its matches, beside those that it shows.
HIDDEN = frozenset((LOW, HIGH))


@dataclass(frozen=True)
class Disorder:
    """How a stream's events may change, and when its matches are told."""

    slack: int | None  # in steps of the events' times; None: a match waits for the watermark
    id: tuple[str, ...] | None = None  # the columns that identify an event; None: its whole content does
    changes: bool = False  # whether rows say what they do
    tiebreak: str | None = None
    delays: tuple[tuple[str, int], ...] = ()  # how late events of a type come at most, in steps of the events' times
    controlled: bool = False  # whether queries come and go
    promises: bool = False  # whether rows promise that no event of a type comes any more

    @property
    def counts(self) -> tuple[str, ...]:
        """The names of the counts that only such a bucket has."""
        errors = ("errors",) if self.controlled else ()
        return ("inserted", "deleted", "replayed", "late_deletions", "unmatched_deletions", *errors)

    def __str__(self) -> str:
        waits = "waits" if self.slack is None else f"slack {self.slack}"
        come = (", queries come and go" if self.controlled else "") + (", promises" if self.promises else "")
        return f"{waits}, id {self.id}, changes {self.changes}, tie-break {self.tiebreak}, delays {self.delays}{come}"


class Followed(NamedTuple):
    """A query for one bucket after another: each puts its own state into it."""

    recipe: Recipe
    revision: Revision
    fresh: Parts  # the state with which a bucket begins
    watch: Watch | None  # what it expects of the events
    fresh_watch: Parts

    @classmethod
    def of(cls, recipe: Recipe, budget: Budget) -> Followed:
        watch = Watch.of(recipe.choice, recipe.tick, budget)
        running = RunningQuery(recipe.choice.unwatched, recipe.tick, given=recipe.given, budget=budget, hidden=HIDDEN)
        nothing_seen = {} if watch is None else watch.save()
        return cls(recipe, Revision(running, budget), running.parts(), watch, nothing_seen)

    def follow(self, stream: LiveStream, name: str, since: int | None = None) -> None:
        """Begins to read the events of a bucket."""
        if self.watch is not None:
            self.watch.load(self.fresh_watch)
        stream.add(name, self.revision, self.types, since, self.watch)

    @property
    def types(self) -> frozenset[str] | None:
        """The types of the events that it reads; None where it reads all."""
        return types_read(self.recipe.choice.checked.query)


class RevisedBucket:
    """The unsettled events, and the state of each query at the watermark; one that runs alone has the name ''."""

    def __init__(self, disorder: Disorder, queries: Mapping[str, Followed]) -> None:
        self._disorder = disorder
        self._queries = dict(queries)
        self._reading = next(iter(queries.values())).recipe  # all of them read events alike
        self._stream = LiveStream(disorder.tiebreak, disorder.slack, delays=dict(disorder.delays))
        for name, followed in self._queries.items():
            followed.follow(self._stream, name)
            followed.revision.load(followed.fresh)
        self.timer: int | None = None

    def advance(self, batch: MicroBatch, budget: Budget) -> Told:
        """Takes in the changes of the events, and gives those of the matches."""
        now = self._stream.unsettled
        before, replayed, unexpected = now.refused, self._sum("replayed"), self._stream.unexpected
        arrivals, without_time = self._arrivals(batch.events)
        if arrivals is not None:
            size = arrivals.events.table.nbytes + (0 if now.events is None else now.events.table.nbytes)
            budget.check(Large.TASK, 2 * size, len(now) + len(arrivals))
        passed = passed_by(batch.watermark)
        # Rows that another operator releases as the watermark passes them are not late.
        before_rows = NO_TIME if batch.behind_operator else passed
        step = Step(arrivals, before_rows, passed, promised_after=_promised(batch.promised))
        rows = self._rows(self._stream.step(step))
        refused = self._stream.unsettled.refused
        inserted, deleted = (0, 0) if rows is None else _counts(rows)
        counts = {
            "relevant": 0 if arrivals is None else len(arrivals),
            "without_time": without_time,
            "waiting": self._stream.counts()["unsettled"],
            "open": self._sum("open"),
            "open_windows": self._sum("open_windows"),
            "unexpected": self._stream.unexpected - unexpected,
            "matches": inserted + deleted,
            "inserted": inserted,
            "deleted": deleted,
            "replayed": self._sum("replayed") - replayed,
            **_more(before, refused),
        }
        return Told(rows, counts)

    def _rows(self, changes: Mapping[str, MatchChanges]) -> pa.Table | None:
        """What the queries have to tell."""
        return rows_of_changes(changes[""])

    def _sum(self, count: str) -> int:
        """A count of all queries."""
        return sum(getattr(followed.revision, count) for followed in self._queries.values())

    def _arrivals(self, events: pa.Table | None) -> tuple[Arrivals | None, int]:
        if events is None:
            return None, 0
        events, without_time = timed(events)
        signs = np.ones(len(events), dtype=np.int64)
        if self._disorder.changes:
            signs = signs_of(events, DOES)
            events = events.drop_columns([DOES])
        stream = countable(self._reading.stream(events))
        return Arrivals(stream, ids_of_content(stream, self._disorder.id), signs), without_time

    def next_timer(self, watermark: int) -> int | None:
        unsettled = self._stream.unsettled
        final = unsettled.up_to(unsettled.watermark)
        times = [int(t) for t in unsettled.times[final : final + 1]]
        times += [d for d in (f.revision.next_due for f in self._queries.values()) if d is not None]
        expire = [t for t in (f.recipe.expires_after for f in self._queries.values()) if t is not None]
        due = time_to_wake(max(expire, default=None), times, self._sum("open"), watermark)
        if due is None or (self.timer is not None and watermark < self.timer <= due):
            return None
        self.timer = due
        return due

    def save(self, made_by: Mapping[str, str]) -> bytes:
        return sealed(KIND, made_by, self._parts(), compressed=True)

    def _parts(self) -> Parts:
        return {"timer": self.timer, **prefixed("stream", self._stream.save())}

    def load(self, state: bytes, made_by: Mapping[str, str]) -> RevisedBucket:
        """Goes on from what `save` has returned."""
        self._restore(opened(state, KIND, made_by))
        return self

    def _restore(self, parts: Parts) -> None:
        self.timer = parts["timer"]
        self._stream.load(unprefixed("stream", parts))


def _promised(said: pa.Table | None) -> dict[str, int]:
    """For each type the time up to which no event of it comes any more: each row speaks of what is before its time."""
    found: dict[str, int] = {}
    if said is not None:
        said, _ = timed(said)
        for type_, before in zip(
            said.column(PROMISE).to_pylist(), as_integers(said.column(TIME)).tolist(), strict=True
        ):
            found[type_] = max(before - 1, found.get(type_, before - 1))
    return found


def _counts(rows: pa.Table) -> tuple[int, int]:
    """How many rows insert a match, and how many delete one."""
    words = rows.column(CHANGE).value_counts().to_pylist()
    found = {word["values"]: word["counts"] for word in words}
    return found.get(INSERT, 0), found.get(DELETE, 0)


def _more(before: Refused, now: Refused) -> dict[str, int]:
    """What was refused since."""
    return {
        "late": now.late - before.late,
        "late_deletions": now.late_deletions - before.late_deletions,
        "unmatched_deletions": now.unmatched_deletions - before.unmatched_deletions,
    }
