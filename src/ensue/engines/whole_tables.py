"""A query over a whole table: on as many cores as it allows, and else batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np

from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents, Variables, concatenated, merged_by_end
from ensue.data.events import EventStream
from ensue.engines.collected import Collected
from ensue.engines.deadlines import Deadlines
from ensue.engines.finishing import finished, totals_of_ends
from ensue.engines.opening import Progress, opened, opened_closings
from ensue.engines.protocol import Engine
from ensue.engines.row_quota import RowQuota
from ensue.plan import Plan
from ensue.plan.choice import Choice
from ensue.plan.closing import searched
from ensue.plan.mode import Mode

#: Large enough that the work around a batch does not show, small enough for its columns to stay in the cache; and so
#: many rows have the chunks of a Parquet file's columns, so that no batch has to be put together.
BATCH = 1 << 17
#: Where matches are judged once they are whole, fewer wait to be judged.
BATCH_OF_RELATIONS = 1 << 16
#: With little memory a batch has fewer events, an event for so many bytes of it, but not less than so many.
_BYTES_AN_EVENT, _FEWEST_EVENTS = 1 << 13, 1 << 12
#: Where only the first rows are asked for, so many events are looked at by one thread, which stops when it has them.
_FIRST_EVENTS = 1 << 20


@dataclass(frozen=True)
class Work:
    """A query over a table, with how it is to be run and who is told of the progress."""

    choice: Choice
    stream: EventStream
    mode: Mode = Mode.ENUMERATE
    threads: int | None = None  # None: all cores
    batch: int | None = None
    progress: Progress | None = None
    given: int = 0  # the predicates that come evaluated with the events
    budget: Budget = field(default_factory=Budget)
    closed: bool = False  # whether the table is all of the stream, so that nothing follows
    passing: bool = False  # whether each part of the matches is let go before the next one is asked for

    @property
    def cores(self) -> int:
        return os.cpu_count() or 1 if self.threads is None else self.threads

    @property
    def step(self) -> int:
        """How many events are evaluated at a time; the reference starts over with each batch, so it gets all.

        So does what takes all events of one time together, since a batch may end between two of them.
        """
        if self.choice.runs is not None and not self.choice.by_time:
            return self.batch or BATCH
        if self.choice.layers is not None:
            return min(self.batch or BATCH, BATCH_OF_RELATIONS)
        if self.choice.plan is None:
            return max(1, len(self.stream))
        step = min(self.batch or BATCH, BATCH_OF_RELATIONS) if self.choice.plan.related else self.batch or BATCH
        if len(self.stream) <= _FEWEST_EVENTS:
            return step
        return min(step, max(_FEWEST_EVENTS, self.budget.limit // _BYTES_AN_EVENT))

    def finished(self, found: ComplexEvents) -> ComplexEvents:
        return finished(found, self.choice, self.stream, self.mode, self.budget)

    def collected(self) -> Collected:
        """Where parts of the matches are kept; several threads have one each."""
        return Collected(self.budget, Large.MATCHES if self.mode is Mode.ENUMERATE else Large.TOOK_PART)

    def tell(self, done: int) -> None:
        if self.progress is not None and self.choice.plan is not None:
            self.progress(min(done, len(self.stream)), len(self.stream))


def evaluate_table(
    choice: Choice,
    stream: EventStream,
    *,
    mode: Mode = Mode.ENUMERATE,
    threads: int | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
    budget: Budget | None = None,
    closed: bool = False,
) -> ComplexEvents:
    """What the query reports of the table, in the order of ends; any number of threads gives the same.

    ORDER BY, and the LIMIT behind it, are left to the caller.
    """
    work = Work(choice, stream, mode, threads, batch, progress, budget=budget or Budget(), closed=closed)
    quota = RowQuota.of(choice.checked.query)
    if quota is None:
        return _all_rows(work)
    found = _first_rows(replace(work, mode=Mode.ENUMERATE), quota)
    return merged_by_end(found) if mode is Mode.UNION else found


def _all_rows(work: Work) -> ComplexEvents:
    found = _in_parallel(work)
    if found is None:
        found = work.collected().add_all(evaluate_in_batches(work)).concatenated(_sets(work))
    if work.choice.plan is None or not work.choice.plan.waits:
        return found
    return found.in_order(np.argsort(found.end, kind="stable"))  # they came as they became known


def _first_rows(work: Work, quota: RowQuota) -> ComplexEvents:
    """The rows that a quota takes. One thread looks for them in the first events; if it takes all, others help."""
    waits = work.choice.plan is not None and work.choice.plan.waits
    if (len(work.stream) <= _FIRST_EVENTS or work.choice.plan is None) and not waits:
        return _taken(work, quota)
    if quota.of_each_key or waits:
        return quota.take(_all_rows(work), work.stream)  # there may be another key, or an earlier end, at the end
    first = replace(work, stream=work.stream.slice(0, _FIRST_EVENTS), closed=False, progress=None)
    quota_of_first = copy(quota)
    found = _taken(first, quota_of_first)
    return found if quota_of_first.full else quota.take(_all_rows(work), work.stream)


def _taken(work: Work, quota: RowQuota) -> ComplexEvents:
    """The rows that a quota takes of a table, and no more of the table than they need."""
    parts = work.collected()
    for found in evaluate_in_batches(work):
        parts.add(quota.take(found, work.stream))
        if quota.full:
            break
    return parts.concatenated(_sets(work))


def _sets(work: Work) -> Sequence[Variables]:
    return work.choice.final_marks


def evaluate_in_batches(work: Work) -> Iterator[ComplexEvents]:
    """The same by one thread, a batch at a time: so the complex events of one batch can go before the next."""
    stream = work.stream
    engine = opened(
        work.choice,
        stream.tick,
        given=work.given,
        mode=work.mode,
        progress=work.progress,
        budget=work.budget,
        passing=work.passing,
        closing=work.closed,
    )
    if work.choice.engine == "reference" and work.closed:
        yield work.finished(_of_reference(engine, stream))
        return
    step = work.step
    for start in range(0, len(stream), step):
        yield from map(work.finished, engine.parts(stream.slice(start, step)))
        work.tell(start + step)
    if work.closed:
        yield work.finished(engine.finish())


def _of_reference(engine: Engine, stream: EventStream) -> ComplexEvents:
    """What the reference knows of a closed table: each of its answers has sets of variables of its own."""
    known, rest = engine.push(stream), engine.finish()
    if not len(rest):
        return known
    return ComplexEvents.of(sorted((c for found in (known, rest) for c in found.each()), key=lambda c: c[1]))


def _in_parallel(work: Work) -> ComplexEvents | None:
    """By several threads; None where the query, or the table, is not one for them."""
    plan = work.choice.plan
    if plan is None or work.cores < 2 or plan.alternatives:
        return None
    from ensue.engines.parallel import in_slices_or_shares, is_for_several  # numba is loaded where it is used

    if plan.closing is not None:
        return _closed_in_parallel(work, plan) if is_for_several(work, plan) else None
    found = in_slices_or_shares(work, plan)
    if found is None or plan.absence is None:
        return found
    deadlines = Deadlines.of(plan, work.stream.tick, work.budget, closing=work.closed)
    due = deadlines.take(found, work.stream)
    return concatenated([due, deadlines.rest()], due.sets) if work.closed else due


def _closed_in_parallel(work: Work, plan: Plan) -> ComplexEvents:
    """The windows of a table that are closed: it is read for what closes them, and then by several threads."""
    from ensue.engines.parallel import in_slices_or_shares  # numba is loaded where it is used

    assert plan.closing is not None
    closings = opened_closings(plan, work.stream.tick, work.budget)
    read = replace(work, stream=closings.read(work.stream, work.step))
    # What takes others away is one window, and not all of an end.
    merged = work.mode is Mode.UNION and plan.closing.consumes
    whole = merged or work.mode is Mode.TOTALS
    found = in_slices_or_shares(replace(read, mode=Mode.ENUMERATE) if whole else read, searched(plan))
    assert found is not None, "several threads have work"
    known = closings.take(found)
    told = concatenated([known, closings.rest()], known.sets) if work.closed else known
    if not whole:
        return told
    told = told.in_order(np.argsort(told.end, kind="stable"))
    return merged_by_end(told) if merged else totals_of_ends(told, work.choice, work.stream)
