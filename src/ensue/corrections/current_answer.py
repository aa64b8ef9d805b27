"""The answer that the changes of a live query add up to, as far back as the user wants it kept."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.corrections.unsettled import NO_TIME
from ensue.data.budget import Budget, Large
from ensue.data.envelope import Parts
from ensue.data.events import as_integers, integers, one_chunk
from ensue.results.changes import CHANGE, INSERT, MATCH

#: Changes are added up when there are so many, and more than matches.
_FEWEST = 1 << 12


class CurrentAnswer:
    """Takes the changes of each step. Matches that ended more than `keep` ticks before the watermark may leave."""

    def __init__(self, keep: int | None, budget: Budget) -> None:
        self._keep = keep  # None: all of them stay
        self._held = budget.holder()
        self._answer: pa.Table | None = None
        self._changes: list[pa.Table] = []

    def take(self, changes: pa.Table, watermark: int) -> None:
        """One more step's changes, after which the watermark is here."""
        self._changes.append(changes)
        size = 0 if self._answer is None else len(self._answer)
        if sum(map(len, self._changes)) > max(_FEWEST, size):
            self.now(changes.slice(0, 0), watermark)

    def now(self, nothing: pa.Table, watermark: int) -> pa.Table:
        """The matches as things are now, with their ids. `nothing` is a table of no changes."""
        known = [] if self._answer is None else [self._answer]
        table = pa.concat_tables([nothing, *known, *self._changes])
        count = len(table)
        # One id has at most one more insertion than deletions; what is inserted last stands.
        signs = pc.if_else(pc.equal(table.column(CHANGE), INSERT), 1, -1)
        places = table.append_column("\0sign", signs).append_column("\0place", integers(np.arange(count)))
        sums = places.group_by(MATCH).aggregate([("\0sign", "sum"), ("\0place", "max")])
        there = one_chunk(sums.filter(pc.equal(sums.column("\0sign_sum"), 1)).column("\0place_max")).to_numpy()
        answer = table.take(integers(np.sort(there)))
        if self._keep is not None and watermark > NO_TIME:
            ended = as_integers(answer.column("end_time"))
            answer = answer.take(integers(np.flatnonzero(ended > watermark - self._keep)))
        self._answer, self._changes = answer.combine_chunks(), []
        self._held.hold(Large.ANSWER, answer.nbytes, len(answer))
        return answer.drop_columns([CHANGE])

    def save(self, watermark: int) -> Parts:
        if self._changes:
            self.now(self._changes[0].slice(0, 0), watermark)
        return {} if self._answer is None else {"answer": self._answer}

    def load(self, parts: Parts) -> None:
        self._answer, self._changes = parts.get("answer"), []
