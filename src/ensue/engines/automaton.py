"""The automaton engine behind the protocol of all engines: the kernels' runner of a plan."""

from __future__ import annotations

from collections.abc import Iterator

from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts
from ensue.data.events import EventStream
from ensue.engines.protocol import Positions
from ensue.kernels.delivery import Delivery
from ensue.kernels.runner import Runner
from ensue.plan import Plan


class AutomatonEngine:
    """Constant time an event, then as long as the matches are."""

    def __init__(self, plan: Plan, tick: int | None, delivery: Delivery, *, given: int = 0) -> None:
        self._runner = Runner(plan, tick, given=given, delivery=delivery)

    @property
    def open(self) -> int:
        return self._runner.nodes

    @property
    def begun(self) -> int:
        return self._runner.begun

    @property
    def next_due(self) -> None:
        """Every match is known at its end: none waits for a time."""

    def push(self, events: EventStream) -> ComplexEvents:
        return self._runner.push(events)

    def parts(self, events: EventStream) -> Iterator[ComplexEvents]:
        return self._runner.parts(events)

    def pass_time(self, time: int) -> ComplexEvents:
        self._runner.pass_time(time)
        return ComplexEvents((), self._runner.plan.marks)

    def finish(self) -> ComplexEvents:
        return ComplexEvents((), self._runner.plan.marks)

    def referenced(self) -> Positions:
        return self._runner.referenced()

    def save(self) -> Parts:
        return self._runner.save()

    def load(self, parts: Parts) -> None:
        self._runner.load(parts)
