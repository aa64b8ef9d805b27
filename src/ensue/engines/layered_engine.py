"""The engine of queries in layers: matches of one part without those of others, then what is decided among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts, prefixed, unprefixed
from ensue.data.events import EventStream, integers
from ensue.engines.collected import Collected
from ensue.engines.consumption import Consumption
from ensue.engines.deadlines import Deadlines
from ensue.engines.exclusion import Mask, are_among
from ensue.engines.finishing import chosen_of_ends, each_once, finished
from ensue.engines.item_lookback import EarlierValues
from ensue.engines.kept_events import KeptEvents
from ensue.engines.keys_of_events import keys_of
from ensue.engines.protocol import Engine, Positions
from ensue.engines.selected_inside import SelectedInside
from ensue.language import ast
from ensue.plan.choice import Choice
from ensue.plan.layered import LayeredPlan
from ensue.rewrite.take_apart import Alike


class LayeredEngine:
    """Finds the matches of the parts by engines of their own, which `opened` opens."""

    def __init__(
        self,
        plan: LayeredPlan,
        tick: int | None,
        budget: Budget,
        opened: Callable[[Choice], Engine],
        *,
        closing: bool = False,
    ) -> None:
        self._plan, self._budget = plan, budget
        self._found = opened(plan.found)
        self._others = [opened(e.choice) for e in plan.excluded]
        self._choosers = [opened(s.choice) for s in plan.inside]
        self._selected = [SelectedInside(s.variable, budget) for s in plan.inside]
        self._look_back = EarlierValues(plan.look_back, plan.keys)
        self._kept = KeptEvents(plan.judged, tick, budget) if plan.judged else None
        self._deadlines = None
        if plan.deadline is not None:
            self._deadlines = Deadlines(plan.deadline, plan.found.final_marks, plan.keys, tick, budget, closing=closing)
        self._consumption = None if plan.consume is ast.Consume.NONE else Consumption()

    @property
    def _engines(self) -> list[Engine]:
        return [self._found, *self._others, *self._choosers]

    @property
    def open(self) -> int:
        waiting = 0 if self._deadlines is None else len(self._deadlines)
        return sum(e.open for e in self._engines) + waiting

    @property
    def begun(self) -> int:
        return self._found.begun

    @property
    def next_due(self) -> int | None:
        return self._found.next_due if self._deadlines is None else self._deadlines.next_due

    def push(self, events: EventStream) -> ComplexEvents:
        if not len(events):
            return ComplexEvents((), self._plan.final_marks)
        events = self._look_back.extended(events)
        if self._kept is not None:
            self._kept.add(events)
        for inside, engine, selected in zip(self._plan.inside, self._choosers, self._selected, strict=True):
            selected.add(self._judged(engine, inside.choice, events))
        found = self._judged(self._found, self._plan.found, events)
        for selected in self._selected:
            found = _some(found, selected.having(found))
            if selected.crowded:
                selected.keep(self._found.referenced())
        late: list[tuple[ComplexEvents, frozenset[str]]] = []
        for part, engine in zip(self._plan.excluded, self._others, strict=True):
            others = self._judged(engine, part.choice, events)
            if part.alike is Alike.START:
                late.append((others, part.compared))
            else:
                found = _some(found, ~are_among(found, others, part.compared, part.alike))
        if self._deadlines is not None:
            found = self._deadlines.take(found, events, lambda waiting: _left_out(waiting, late))
        told = self._decided(found)
        if self._kept is not None and self._kept.crowded:
            self._kept.keep(self._in_use())
        return told

    def parts(self, events: EventStream) -> Iterator[ComplexEvents]:
        yield self.push(events)

    def pass_time(self, time: int) -> ComplexEvents:
        for other in self._others:
            other.pass_time(time)
        found = self._found.pass_time(time)
        return self._decided(found if self._deadlines is None else self._deadlines.due(time))

    def finish(self) -> ComplexEvents:
        found = self._found.finish()
        return self._decided(found if self._deadlines is None else self._deadlines.rest())

    def _judged(self, engine: Engine, choice: Choice, events: EventStream) -> ComplexEvents:
        """The matches of a part that become known with these events."""
        parts = Collected(self._budget, Large.JUDGED)
        for found in engine.parts(events):
            if choice.plan is None or not choice.plan.related or self._kept is None:
                parts.add(finished(found, choice, events, budget=self._budget))
            elif len(found):
                located, kept = self._kept.located(found)
                places = self._kept.places
                parts.add(finished(located, choice, kept, budget=self._budget).moved(lambda p: places[p]))  # noqa: B023
        found = parts.concatenated(choice.final_marks)
        parts.release()
        return found.numbered(choice.final_marks) if len(found) else ComplexEvents((), choice.final_marks)

    def _decided(self, found: ComplexEvents) -> ComplexEvents:
        """Those that are reported, once all that must not be there is known."""
        plan = self._plan
        if not len(found):
            return ComplexEvents((), plan.final_marks)
        found = found.in_order(np.argsort(found.end, kind="stable"))
        if self._consumption is not None:
            keys = self._keys(found)
            found = _some(found, self._consumption.reported(keys, found.start, found.end))
        if not len(found):
            return ComplexEvents((), plan.final_marks)
        selector = None if plan.selector is ast.Selector.ALL else plan.selector
        found = chosen_of_ends(each_once(found.only(plan.seen)), selector)
        return each_once(found.only(plan.shown)).first_of_each_end(plan.limit).numbered(plan.final_marks)

    def _keys(self, found: ComplexEvents) -> pa.Table:
        """The keys that the matches consume events of, a row for each of them."""
        if self._plan.consume is ast.Consume.ANY or not self._plan.keys:
            return pa.table({"\0": integers(np.zeros(len(found), dtype=np.int64))})
        assert self._kept is not None
        located, events = self._kept.located(found)
        return keys_of(events, self._plan.keys).take(integers(located.end))

    # -- the state

    def referenced(self) -> Positions:
        waiting = [] if self._deadlines is None else [self._deadlines.positions]
        return np.unique(np.concatenate([*waiting, *(e.referenced() for e in self._engines)]))

    def _in_use(self) -> Positions:
        """The kept events that are still asked for."""
        return np.intersect1d(self.referenced(), self._kept.places) if self._kept is not None else self.referenced()

    def save(self) -> Parts:
        parts: Parts = {**prefixed("look back", self._look_back.save())}
        for number, engine in enumerate(self._engines):
            parts |= prefixed(f"part {number}", engine.save())
        for number, selected in enumerate(self._selected):
            selected.keep(self._found.referenced())
            parts |= prefixed(f"selected {number}", selected.save())
        if self._kept is not None:
            self._kept.keep(self._in_use())
            parts |= prefixed("kept", self._kept.save())
        for name, layer in (("deadlines", self._deadlines), ("consumption", self._consumption)):
            parts |= {} if layer is None else prefixed(name, layer.save())
        return parts

    def load(self, parts: Parts) -> None:
        self._look_back.load(unprefixed("look back", parts))
        for number, engine in enumerate(self._engines):
            engine.load(unprefixed(f"part {number}", parts))
        for number, selected in enumerate(self._selected):
            selected.load(unprefixed(f"selected {number}", parts))
        if self._kept is not None:
            self._kept.load(unprefixed("kept", parts))
        for name, layer in (("deadlines", self._deadlines), ("consumption", self._consumption)):
            if layer is not None:
                layer.load(unprefixed(name, parts))


def _some(found: ComplexEvents, mask: Mask) -> ComplexEvents:
    return found if bool(mask.all()) else found.in_order(np.flatnonzero(mask))


def _left_out(waiting: ComplexEvents, late: list[tuple[ComplexEvents, frozenset[str]]]) -> Mask:
    """Which of the matches that wait something has followed."""
    mask = np.zeros(len(waiting), dtype=np.bool_)
    for others, compared in late:
        mask |= are_among(waiting, others, compared, Alike.START)
    return mask
