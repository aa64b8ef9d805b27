"""The state of a stream for a bucket of keys where several queries read its events, which may come and go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ensue.corrections.change_rows import rows_of_changes
from ensue.corrections.revision import MatchChanges
from ensue.data.budget import Budget
from ensue.data.envelope import Parts, check_made_by
from ensue.errors import EngineError, EnsueError, did_you_mean, listed
from ensue.spark.bucket import Control, MicroBatch, Told, passed_by
from ensue.spark.query_set import SharedQueries
from ensue.spark.revised_bucket import Disorder, Followed, RevisedBucket
from ensue.spark.tagged_rows import NAME, TEXT, Failed, rows_of_queries


class QueriesBucket(RevisedBucket):
    """The unsettled events, and the states of those queries that are there now.

    A query that is added reads the events after the watermark, which is the same for all buckets.
    """

    def __init__(self, disorder: Disorder, shared: SharedQueries) -> None:
        super().__init__(disorder, shared.begun)
        self._shared = shared
        self._texts: dict[str, str] = {}  # of the queries that were added
        self._failed: list[Failed] = []

    def advance(self, batch: MicroBatch, budget: Budget) -> Told:
        """Queries come and go first; then as with one query."""
        if batch.control is not None:
            self._obey(batch.control, passed_by(batch.watermark))
        told = super().advance(batch, budget)
        return Told(told.rows, {**told.counts, "errors": len(self._failed)})

    def _obey(self, control: Control, watermark: int) -> None:
        for row in control.rows.select([NAME, TEXT]).to_pylist():
            name, text = row[NAME], row[TEXT]
            try:
                self._come_or_go(name, text, watermark)
            except EnsueError as e:
                if control.telling:
                    self._failed.append(Failed(name, text, str(e)))

    def _come_or_go(self, name: str | None, text: str | None, watermark: int) -> None:
        if name is None:
            raise EngineError(f"a row of queries= has no name in its column '{NAME}'")
        if text is None:
            if name not in self._queries:
                hint = did_you_mean(name, self._queries) or f"there are {listed(self._queries) or 'none'}"
                raise EngineError(f"there is no query named '{name}': {hint}")
            self._forget(name)
        elif text != self._texts.get(name):
            followed = self._shared.added(name, text)
            if name in self._queries:
                self._forget(name)
            followed.revision.begin(followed.fresh)
            self._follow(name, text, followed, watermark)

    def _follow(self, name: str, text: str, followed: Followed, watermark: int) -> None:
        self._queries[name], self._texts[name] = followed, text
        followed.follow(self._stream, name, watermark)

    def _forget(self, name: str) -> None:
        self._stream.remove(name)
        del self._queries[name]
        self._texts.pop(name, None)

    def _rows(self, changes: Mapping[str, MatchChanges]) -> pa.Table | None:
        tables = {name: rows_of_changes(of_query) for name, of_query in changes.items()}
        told = {name: rows for name, rows in tables.items() if rows is not None and len(rows)}
        return rows_of_queries(told, self._failed, self._shared.queries.result)

    # -- the state

    def _parts(self) -> Parts:
        added = {name: [text, self._queries[name].recipe.made_by] for name, text in self._texts.items()}
        return {**super()._parts(), "names": list(self._queries), "added": added}

    def _restore(self, parts: Parts) -> None:
        for name in [n for n in self._queries if n not in parts["names"] or n in parts["added"]]:
            self._forget(name)
        for name, (text, made_by) in parts["added"].items():
            self._follow(name, text, self._as_stored(name, text, made_by), watermark=0)
        super()._restore(parts)

    def _as_stored(self, name: str, text: str, made_by: Mapping[str, Any]) -> Followed:
        """A query that was added in an earlier micro-batch."""
        try:
            followed = self._shared.added(name, text)
            check_made_by(made_by, followed.recipe.made_by)
        except EnsueError as e:
            raise EngineError(f"the checkpoint cannot be used: the query '{name}', which was added: {e}") from None
        return followed
