"""A running query: batches of events in, matches out, and its state in between.

Whatever the cuts between batches, the matches are the same, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ensue.data.complex_events import ComplexEvents, concatenated
from ensue.data.envelope import Parts
from ensue.data.events import EventStream
from ensue.kernels.batch_reader import Reader
from ensue.kernels.clock_evaluator import ClockEvaluator
from ensue.kernels.counted_evaluator import CountedEvaluator
from ensue.kernels.delivery import Delivery
from ensue.kernels.evaluator import Evaluator
from ensue.kernels.stack_evaluator import StackEvaluator
from ensue.kernels.walk_evaluator import WalkEvaluator
from ensue.plan import Plan

Positions = npt.NDArray[np.int64]
#: Below so many keys, those that are idle may stay.
_FEW_KEYS = 1 << 12


def evaluator_of(
    plan: Plan,
    tick: int | None,
    reader: Reader,
    *,
    share: int = 0,
    shares: int = 1,
    configurations: int = 4096,
    delivery: Delivery | None = None,
) -> Evaluator:
    """The evaluator for a plan; see `Evaluator`."""
    kind: type[Evaluator] = ClockEvaluator if plan.on_one_clock else Evaluator
    if plan.lanes is not None:
        kind = WalkEvaluator if plan.lanes.walked else StackEvaluator
    if plan.spans is not None and plan.spans.count is not None:
        kind = CountedEvaluator
    return kind(plan, tick, reader, share=share, shares=shares, configurations=configurations, delivery=delivery)


class Runner:
    """One query over one stream that arrives in batches. `push` gives the matches that end in each.

    `given`: the bits of the predicates that come evaluated with the events, in `EventStream.predicate_bits`. With
    `union` the matches of an end are found as one, which has all their events; a `delivery` says that, and more.
    """

    def __init__(
        self,
        plan: Plan,
        tick: int | None,
        *,
        given: int = 0,
        configurations: int = 4096,
        union: bool = False,
        delivery: Delivery | None = None,
    ) -> None:
        delivery = delivery or Delivery(union, together=plan.judged)
        plan = plan.with_registers if delivery.union else plan
        self.plan = plan
        self.reader = Reader(plan, tick, given)
        self.evaluator = evaluator_of(plan, tick, self.reader, configurations=configurations, delivery=delivery)
        self.position = 0
        self._kept = (0, 0)  # how many keys and texts stayed when idle ones were last dropped

    def push(self, events: EventStream) -> ComplexEvents:
        """The matches that end in these events, which follow those of earlier calls."""
        return concatenated(self.parts(events), self.plan.marks)

    def parts(self, events: EventStream) -> Iterator[ComplexEvents]:
        """The same in parts, as many matches at a time as one buffer holds; all of them must be asked for."""
        yield from self.evaluator.parts(self.reader.read(events, self.position))
        self.position += len(events)
        known = (len(self.reader.keys), len(self.reader.columns.texts))
        if any(n > max(2 * kept, _FEW_KEYS) for n, kept in zip(known, self._kept, strict=True)):
            self.drop_idle()

    def pass_time(self, time: int) -> None:
        """No later event is before this time: what windows have left behind by then goes."""
        self.evaluator.latest = max(self.evaluator.latest, time)
        self.drop_idle()

    @property
    def next_due(self) -> None:
        """Every match is reported at its end: none waits for a time."""

    def drop_idle(self) -> None:
        """Forgets the keys that have no open run, unless earlier events may still matter to their next event.

        It forgets the texts that no run has stored, too.
        """
        classifier = self.reader.classifier
        if self.evaluator.rules.keyed and not classifier.needs_all_keys and not self.plan.rankings:
            busy, recent = self.evaluator.busy(self.position), classifier.recent_keys(self.evaluator.latest)
            busy = np.union1d(busy, recent) if len(recent) else busy  # they are in order already
            if len(busy) < len(self.reader.keys):
                self.reader.keys.keep(busy)
                self.evaluator.keep(busy)
                classifier.keep_keys(busy)
        else:
            self.evaluator.collect(self.position)
        self.evaluator.drop_texts()
        self._kept = (len(self.reader.keys), len(self.reader.columns.texts))

    @property
    def nodes(self) -> int:
        """How many nodes the match structure holds now."""
        return self.evaluator.nodes

    @property
    def begun(self) -> int:
        """From how many events the open partial matches began."""
        self.evaluator.collect(self.position)
        return len(self.evaluator.started())

    def referenced(self) -> Positions:
        """The positions of the events that matches of later batches can still speak of, in stream order."""
        self.evaluator.collect(self.position)
        return self.evaluator.begun()

    def save(self) -> Parts:
        """The state between two batches; `load` goes on from it exactly."""
        from ensue.kernels.state import save

        return save(self)

    def load(self, parts: Parts) -> None:
        """Takes over a state that a runner of the same plan saved."""
        from ensue.kernels.state import load

        load(self, parts)
        self._kept = (len(self.reader.keys), len(self.reader.columns.texts))
