"""The automaton engine over a whole stream: constant time an event, on as many cores as the query allows.

A windowed query is cut into slices of the stream; a slice starts as much earlier as its window reaches back, and
reports only what ends inside it. Where a window is no bound in the stream, as with a count of a partition's events, a
query with partitions is shared out by key: every thread steps over all events and takes its own keys. Either way the
answer and its order are those of one thread. What depends on the whole stream before
an event (a selector inside the pattern) is not cut.
"""

from __future__ import annotations

import itertools
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ensue.data.complex_events import ComplexEvents, joined, united
from ensue.data.events import EventStream
from ensue.engines.deadlines import surviving
from ensue.engines.judging import finished
from ensue.language import ast
from ensue.logic.check import Checked
from ensue.plan import Plan, compile_plan

if TYPE_CHECKING:
    from ensue.kernels.runner import Evaluator, Reader

#: Large enough that the work around a batch does not show, small enough for its columns to stay in the cache; and so
#: many rows have the chunks of a Parquet file's columns, so that no batch has to be put together.
BATCH = 1 << 17
#: Where matches are judged once they are whole, fewer wait to be judged.
BATCH_OF_RELATIONS = 1 << 16
#: Below so many events a second thread costs more than it brings.
SMALL = 1 << 16

Progress = Callable[[int, int], None]


def evaluate(
    checked: Checked, stream: EventStream, progress: Progress | None = None, *, union: bool = False
) -> ComplexEvents:
    """The complex events that a query reports, in the order of their ends; with `union`, those of an end as one."""
    return run_plan(plan_of(checked), stream, progress=progress, union=union)


def plan_of(checked: Checked, *, rewriting: bool = True, tying: bool = True) -> Plan:
    """The plan of a query; raises QueryError where the automaton engine does not evaluate a part of it."""
    return compile_plan(checked, rewriting=rewriting, tying=tying)


def run_plan(
    plan: Plan,
    stream: EventStream,
    *,
    threads: int | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
    union: bool = False,
) -> ComplexEvents:
    """The complex events of a plan; `threads` None takes all cores.

    With `union` those of an end are one: the earliest start, and all events that took part.
    """
    if union and not plan.decided_last:
        plan = plan.with_registers  # which events took part is told by walking over each node once
    return surviving(_found(_Run(plan, stream, progress, union), threads, batch), plan, stream)


def _found(run: _Run, threads: int | None, batch: int | None) -> ComplexEvents:
    plan, stream = run.plan, run.stream
    threads = os.cpu_count() or 1 if threads is None else threads
    batch = batch or BATCH
    batch = min(batch, BATCH_OF_RELATIONS) if plan.related else batch
    if threads > 1 and plan.query.consume is not ast.Consume.ANY:
        slices = list(_slices(plan, stream, threads, batch))
        if len(slices) > 1:
            return _sliced(run, slices, batch)
        if plan.query.partition:
            return _shared_out(run, threads, batch)
    return _in_one(run, batch)


@dataclass(frozen=True)
class _Run:
    """What is run, and what becomes of the matches of a batch."""

    plan: Plan
    stream: EventStream
    progress: Progress | None
    union: bool

    def reader(self) -> Reader:
        from ensue.kernels.runner import Reader  # numba is loaded where it is used

        return Reader(self.plan, self.stream.tick)

    def evaluator(self, reader: Reader, *, share: int = 0, shares: int = 1) -> Evaluator:
        from ensue.kernels.runner import evaluator_of

        return evaluator_of(self.plan, self.stream.tick, reader, share=share, shares=shares, union=self.walks)

    @property
    def walks(self) -> bool:
        """Whether the match structure tells which events took part, without the matches."""
        return self.union and not self.plan.decided_last

    def finished(self, found: ComplexEvents) -> ComplexEvents:
        """What is reported of what the evaluators have found in a batch."""
        if self.walks:
            return found
        found = finished(found, self.plan, self.stream)
        return united(found) if self.union else found

    def tell(self, done: int) -> None:
        if self.progress is not None:
            self.progress(min(done, len(self.stream)), len(self.stream))


def _in_one(run: _Run, batch: int) -> ComplexEvents:
    from ensue.kernels.runner import Runner

    runner = Runner(run.plan, run.stream.tick, union=run.walks)
    found: list[ComplexEvents] = []
    for start in range(0, len(run.stream), batch):
        found.append(run.finished(runner.push(run.stream.slice(start, batch))))
        run.tell(start + batch)
    return joined(found, run.plan.final_marks)


# ---------------------------------------------------------------- partitions


def _shared_out(run: _Run, threads: int, batch: int) -> ComplexEvents:
    plan, stream = run.plan, run.stream
    reader = run.reader()
    shares = 1 << (threads - 1).bit_length()  # the kernel tells keys apart by their last bits
    evaluators = [run.evaluator(reader, share=i, shares=shares) for i in range(shares)]
    found: list[ComplexEvents] = []
    with ThreadPoolExecutor(threads) as pool:
        stepping: list[Future[ComplexEvents]] = []
        for start in [*range(0, len(stream), batch), len(stream)]:
            # The next batch is read while the threads step over this one.
            events = reader.read(stream.slice(start, batch), start) if start < len(stream) else None
            if stepping:
                found.append(run.finished(_by_end([s.result() for s in stepping], plan)))
                run.tell(start)
            stepping = [pool.submit(e.step, events) for e in evaluators] if events is not None else []
    return joined(found, plan.final_marks)


def _by_end(shares: list[ComplexEvents], plan: Plan) -> ComplexEvents:
    """All matches with one end are of one partition, so of one thread: a stable sort keeps their order."""
    together = joined(shares, plan.marks)
    return together.in_order(np.argsort(together.end, kind="stable"))


# ---------------------------------------------------------------- slices


@dataclass(frozen=True)
class _Slice:
    """Events from `warm` on are read; what ends from `first` up to `last`, not included, is reported."""

    warm: int
    first: int
    last: int


def _slices(plan: Plan, stream: EventStream, threads: int, batch: int) -> Iterator[_Slice]:
    """One slice a thread; a single one where the query cannot be cut, or where it would not pay."""
    total = len(stream)
    whole = _Slice(0, 0, total)
    reach = _Reach.of(plan, stream.tick)
    if reach is None or plan.machines or plan.query.consume is not ast.Consume.NONE or total < SMALL:
        yield whole
        return
    # Slices start where batches do, if there are enough: so the columns need not be put together from their chunks.
    step = batch if total >= 8 * batch * threads else 1
    cuts = [total * i // threads // step * step for i in range(threads)] + [total]
    made = [_Slice(reach.back(stream, first), first, last) for first, last in itertools.pairwise(cuts)]
    overlap = sum(s.first - s.warm for s in made)
    yield from made if 4 * overlap < total else [whole]


@dataclass(frozen=True)
class _Reach:
    """How far back of an event the stream matters to it: so many events at most, so many ticks at most, and so many
    events more that these look back to."""

    events: int | None
    ticks: int | None
    looked_back: int

    @staticmethod
    def of(plan: Plan, tick: int | None) -> _Reach | None:
        """None where nothing bounds it: the events of one partition can be any distance apart."""
        from ensue.kernels.classes import Classifier

        ticks = plan.window.ticks(tick)
        looked_back = Classifier(plan.predicates).look_back.most
        if plan.query.partition and not plan.counts_all:
            return None if ticks is None or looked_back else _Reach(None, ticks, 0)
        return None if ticks is None and plan.window.events is None else _Reach(plan.window.events, ticks, looked_back)

    def back(self, stream: EventStream, first: int) -> int:
        """The earliest event that a complex event ending at `first` or later can start with, or look back to."""
        earliest = 0
        if self.events is not None:
            earliest = first - self.events + 1
        if self.ticks is not None and first < len(stream):
            since = stream.time_at(first) - self.ticks
            earliest = max(earliest, bisect_left(range(first), since, key=stream.time_at))
        return max(0, earliest - self.looked_back)


def _sliced(run: _Run, slices: list[_Slice], batch: int) -> ComplexEvents:
    done = [0] * len(slices)

    def run_slice(number: int) -> ComplexEvents:
        part = slices[number]
        reader = run.reader()
        evaluator = run.evaluator(reader)
        found: list[ComplexEvents] = []
        starts = [*([part.warm] if part.warm < part.first else []), *range(part.first, part.last, batch), part.last]
        for start, end in itertools.pairwise(starts):
            events = run.stream.slice(start, end - start)
            found.append(run.finished(evaluator.step(reader.read(events, start), report_from=part.first)))
            done[number] = start + len(events) - part.warm
            run.tell(sum(done))
        return joined(found, run.plan.final_marks)

    with ThreadPoolExecutor(len(slices)) as pool:
        return joined(list(pool.map(run_slice, range(len(slices)))), run.plan.final_marks)
