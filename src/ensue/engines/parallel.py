"""The automaton engine on several cores: a table is cut into slices, or its keys are shared out.

A slice starts as much earlier as the query reaches back, and reports only what ends inside it. Where nothing bounds
that, as with a count of a partition's events, a query with partitions is shared out by key: every thread steps over all
events and takes its own keys. Either way the answer and its order are those of one thread.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ensue.data.budget import Large
from ensue.data.complex_events import ComplexEvents, concatenated
from ensue.data.events import EventStream
from ensue.engines.collected import Collected
from ensue.kernels.batch_reader import Reader
from ensue.kernels.delivery import delivery_of
from ensue.kernels.evaluator import Evaluator
from ensue.kernels.runner import evaluator_of
from ensue.kernels.stepping import Batch
from ensue.language import ast
from ensue.plan import Plan
from ensue.plan.reach import Reach, reach_of

if TYPE_CHECKING:
    from ensue.engines.whole_tables import Work

#: Below so many events a second thread costs more than it brings.
SMALL = 1 << 16


def in_slices_or_shares(work: Work, plan: Plan) -> ComplexEvents | None:
    """The complex events of the table; None where neither way is open."""
    if plan.walks(work.mode):
        plan = plan.with_registers  # the lists of one clock do not tell which events took part
    slices = _slices(work)
    if len(slices) > 1:
        return _sliced(work, plan, slices)
    if plan.keys and plan.consume is not ast.Consume.ANY:
        return _shared_out(work, plan)
    return None


def is_for_several(work: Work, plan: Plan) -> bool:
    """Whether one of both ways is open."""
    return len(_slices(work)) > 1 or bool(plan.keys and plan.consume is not ast.Consume.ANY)


def _evaluator(work: Work, plan: Plan, reader: Reader, share: int = 0, shares: int = 1) -> Evaluator:
    delivery = delivery_of(plan, work.mode, work.budget)
    return evaluator_of(plan, work.stream.tick, reader, share=share, shares=shares, delivery=delivery)


# ---------------------------------------------------------------- keys


def _shared_out(work: Work, plan: Plan) -> ComplexEvents:
    stream, batch = work.stream, work.step
    reader = Reader(plan, stream.tick)
    shares = 1 << (work.cores - 1).bit_length()  # the kernel tells keys apart by their last bits
    evaluators = [_evaluator(work, plan, reader, i, shares) for i in range(shares)]
    found = work.collected()
    with ThreadPoolExecutor(work.cores) as pool:
        stepping: list[Future[Collected]] = []
        for start in [*range(0, len(stream), batch), len(stream)]:
            # The next batch is read while the threads step over this one.
            events = reader.read(stream.slice(start, batch), start) if start < len(stream) else None
            if stepping:
                parts = [s.result() for s in stepping]
                found.add(_by_end([p.concatenated(plan.final_marks) for p in parts], work, plan))
                for part in parts:
                    part.release()
                work.tell(start)
            stepping = [pool.submit(_stepped, e, events, work) for e in evaluators] if events is not None else []
    return found.concatenated(plan.final_marks)


def _stepped(evaluator: Evaluator, events: Batch, work: Work) -> Collected:
    return work.collected().add_all(map(work.finished, evaluator.parts(events)))


#: What puts the matches of a batch in order: all of them in one piece, their numbers, and the same in order.
_COPIES = 3


def _by_end(shares: list[ComplexEvents], work: Work, plan: Plan) -> ComplexEvents:
    """All matches with one end are of one partition, so of one thread: a stable sort keeps their order."""
    together = concatenated(shares, plan.final_marks)
    work.budget.check(Large.MATCHES, _COPIES * together.nbytes, len(together))
    return together.in_order(np.argsort(together.end, kind="stable"))


# ---------------------------------------------------------------- slices


@dataclass(frozen=True)
class _Slice:
    """Events from `warm` on are read; what ends from `first` up to `last`, not included, is reported."""

    warm: int
    first: int
    last: int


def _slices(work: Work) -> list[_Slice]:
    """One slice a thread; a single one where the query cannot be cut, or where it would not pay."""
    total = len(work.stream)
    whole = [_Slice(0, 0, total)]
    reach = reach_of(work.choice, work.stream.tick)
    if reach.because or total < SMALL:
        return whole
    # Slices start where batches do, if there are enough: so the columns need not be put together from their chunks.
    step = work.step if total >= 8 * work.step * work.cores else 1
    cuts = [total * i // work.cores // step * step for i in range(work.cores)] + [total]
    made = [_Slice(_begin(reach, work.stream, first), first, last) for first, last in itertools.pairwise(cuts)]
    overlap = sum(s.first - s.warm for s in made)
    return made if 4 * overlap < total else whole


def _begin(reach: Reach, stream: EventStream, first: int) -> int:
    """The earliest event that a complex event ending at `first` or later can start with, or look back to."""
    earliest = 0
    if reach.events is not None:
        earliest = max(0, first - reach.events + 1)
    if reach.ticks is not None and first < len(stream):
        earliest = max(earliest, _since(stream, first, reach.ticks))
    if reach.ticks_before and earliest < len(stream):
        earliest = _since(stream, earliest, reach.ticks_before)
    return max(0, earliest - reach.looked_back)


def _since(stream: EventStream, position: int, ticks: int) -> int:
    """The first event that is at most so many ticks before the one at this position."""
    return bisect_left(range(position), stream.time_at(position) - ticks, key=stream.time_at)


def _sliced(work: Work, plan: Plan, slices: list[_Slice]) -> ComplexEvents:
    done = [0] * len(slices)

    def run_slice(number: int) -> ComplexEvents:
        part = slices[number]
        reader = Reader(plan, work.stream.tick)
        evaluator = _evaluator(work, plan, reader)
        found = work.collected()
        warming = [part.warm] if part.warm < part.first else []
        starts = [*warming, *range(part.first, part.last, work.step), part.last]
        for start, end in itertools.pairwise(starts):
            events = work.stream.slice(start, end - start)
            for matches in evaluator.parts(reader.read(events, start), report_from=part.first):
                found.add(work.finished(matches))
            done[number] = start + len(events) - part.warm
            work.tell(sum(done))
        return found.concatenated(plan.final_marks)

    with ThreadPoolExecutor(len(slices)) as pool:
        return concatenated(list(pool.map(run_slice, range(len(slices)))), plan.final_marks)
