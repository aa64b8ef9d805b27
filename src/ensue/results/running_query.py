"""A query over events that arrive in batches: rows of matches out, and a state that can be saved in between."""

from __future__ import annotations

import pyarrow as pa

from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts, put_under, sealed, taken_from, unsealed
from ensue.data.events import EventStream
from ensue.engines.finishing import finished
from ensue.engines.item_lookback import ItemLookBack
from ensue.engines.kept_events import KeptEvents
from ensue.engines.opening import opened
from ensue.plan.choice import Choice
from ensue.results.matches import Matches

_KIND = "running query"


class RunningQuery:
    """One query over one stream: `push` gives the rows of the matches that become known with each batch.

    Of a query that ends in an absence with a deadline, these are the matches whose deadline has passed; `pass_time`
    gives such without new events. `given` are the predicates that come evaluated with the events (see
    `EventStream.words`).
    """

    def __init__(self, choice: Choice, tick: int | None, *, given: int = 0) -> None:
        self._choice = choice
        self._engine = opened(choice, tick, given=given)
        self._look_back = ItemLookBack(choice.checked)
        self._kept = KeptEvents(self._look_back.kept(choice.attributes_kept), tick)
        self._made_by = choice.made_by(tick)

    @property
    def open(self) -> int:
        """How much is open: nodes of the match structure."""
        return self._engine.open

    @property
    def next_due(self) -> int | None:
        """The time by which `pass_time` may give rows; None where it gives none without new events."""
        return self._engine.next_due

    def push(self, events: EventStream) -> pa.Table:
        """The rows of the matches that become known with these events, which follow those of earlier calls."""
        found = self._engine.push(events)
        self._kept.add(self._look_back.extended(events))
        rows = self._rows(found)
        if self._kept.crowded:
            self._kept.keep(self._engine.referenced())
        return rows

    def pass_time(self, time: int) -> pa.Table | None:
        """Takes note that no later event is before this time, which is in the unit of the events' times.

        Gives the rows of the matches whose deadline has passed now, if any.
        """
        found = self._engine.pass_time(time)
        return self._rows(found) if len(found) else None

    def _rows(self, found: ComplexEvents) -> pa.Table:
        located, events = self._kept.located(found)
        return Matches(self._look_back.checked, events, finished(located, self._choice, events)).to_arrow()

    # -- the state

    def save(self) -> bytes:
        """The state between two batches."""
        return sealed(_KIND, self._made_by, self.parts())

    def load(self, state: bytes) -> None:
        """Goes on from a state that `save` gave; refuses, with nothing changed, what is not one of the same query."""
        self.restore(unsealed(state, _KIND, self._made_by))

    def parts(self) -> Parts:
        """The state as parts of a larger one."""
        self._kept.keep(self._engine.referenced())
        return {
            **put_under("engine", self._engine.save()),
            **put_under("kept", self._kept.save()),
            **put_under("look_back", self._look_back.save()),
        }

    def restore(self, parts: Parts) -> None:
        """Goes on from what `parts` gave."""
        self._engine.load(taken_from("engine", parts))
        self._kept.load(taken_from("kept", parts))
        self._look_back.load(taken_from("look_back", parts))
