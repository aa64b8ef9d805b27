"""The same where events may be deleted, or where matches are told at once and corrected: see `ensue.corrections`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ensue.corrections.change_rows import rows_of_changes
from ensue.corrections.event_ids import HIGH, LOW, countable, ids_of_content
from ensue.corrections.live_stream import LiveStream, Step
from ensue.corrections.revision import Revision
from ensue.corrections.unsettled import NO_TIME, Arrivals, Refused
from ensue.data.budget import Budget, Large
from ensue.data.change_words import signs_of
from ensue.data.envelope import Parts, prefixed, sealed, unprefixed
from ensue.logic.types_read import types_read
from ensue.results.changes import CHANGE, DELETE, INSERT
from ensue.results.running_query import RunningQuery
from ensue.spark.bucket import KIND, MicroBatch, Told, opened, passed_by, time_to_wake, timed
from ensue.spark.recipe import Recipe

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

    @property
    def counts(self) -> tuple[str, ...]:
        """The names of the counts that only such a bucket has."""
        return ("inserted", "deleted", "replayed", "late_deletions", "unmatched_deletions")

    def __str__(self) -> str:
        waits = "waits" if self.slack is None else f"slack {self.slack}"
        return f"{waits}, id {self.id}, changes {self.changes}, tie-break {self.tiebreak}, delays {self.delays}"


class RevisedBucket:
    """The unsettled events, and the state of the query at the watermark."""

    def __init__(self, recipe: Recipe, disorder: Disorder, revision: Revision, fresh: Parts) -> None:
        self._recipe = recipe
        self._disorder = disorder
        self._revision = revision
        self._stream = LiveStream(disorder.tiebreak, disorder.slack, delays=dict(disorder.delays))
        self._stream.add("", revision, types_read(recipe.choice.checked.query))
        revision.load(fresh)
        self.timer: int | None = None

    @classmethod
    def revision(cls, recipe: Recipe, budget: Budget) -> tuple[Revision, Parts]:
        """The query, for one bucket after another, and the state with which each begins."""
        running = RunningQuery(recipe.choice.unwatched, recipe.tick, given=recipe.given, budget=budget, hidden=HIDDEN)
        return Revision(running, budget), running.parts()

    def advance(self, batch: MicroBatch, budget: Budget) -> Told:
        """Takes in the changes of the events, and gives those of the matches."""
        now = self._stream.unsettled
        before, replayed = now.refused, self._revision.replayed
        arrivals, without_time = self._arrivals(batch.events)
        if arrivals is not None:
            size = arrivals.events.table.nbytes + (0 if now.events is None else now.events.table.nbytes)
            budget.check(Large.TASK, 2 * size, len(now) + len(arrivals))
        passed = passed_by(batch.watermark)
        # Rows that another operator releases as the watermark passes them are not late.
        step = Step(arrivals, NO_TIME if batch.behind_operator else passed, passed)
        changes = self._stream.step(step)[""]
        rows = rows_of_changes(changes)
        refused = self._stream.unsettled.refused
        inserted, deleted = (0, 0) if rows is None else _counts(rows)
        counts = {
            "relevant": 0 if arrivals is None else len(arrivals),
            "without_time": without_time,
            "waiting": self._stream.counts()["unsettled"],
            "open": self._revision.open,
            "open_windows": self._revision.open_windows,
            "matches": 0 if rows is None else len(rows),
            "inserted": inserted,
            "deleted": deleted,
            "replayed": self._revision.replayed - replayed,
            **_more(before, refused),
        }
        return Told(rows, counts)

    def _arrivals(self, events: pa.Table | None) -> tuple[Arrivals | None, int]:
        if events is None:
            return None, 0
        events, without_time = timed(events)
        signs = np.ones(len(events), dtype=np.int64)
        if self._disorder.changes:
            signs = signs_of(events, DOES)
            events = events.drop_columns([DOES])
        stream = countable(self._recipe.stream(events))
        return Arrivals(stream, ids_of_content(stream, self._disorder.id), signs), without_time

    def next_timer(self, watermark: int) -> int | None:
        unsettled = self._stream.unsettled
        final = unsettled.up_to(unsettled.watermark)
        times = [int(t) for t in unsettled.times[final : final + 1]]
        if self._revision.next_due is not None:
            times.append(self._revision.next_due)
        due = time_to_wake(self._recipe, times, self._revision.open, watermark)
        if due is None or (self.timer is not None and watermark < self.timer <= due):
            return None
        self.timer = due
        return due

    def save(self, made_by: Mapping[str, str]) -> bytes:
        parts: Parts = {"timer": self.timer, **prefixed("stream", self._stream.save())}
        return sealed(KIND, made_by, parts, compressed=True)

    def load(self, state: bytes, made_by: Mapping[str, str]) -> RevisedBucket:
        """Goes on from what `save` has returned."""
        parts = opened(state, KIND, made_by)
        self.timer = parts["timer"]
        self._stream.load(unprefixed("stream", parts))
        return self


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
