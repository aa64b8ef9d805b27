"""A query over events that arrive in batches: it returns rows of matches, and its state can be saved in between."""

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
    """One query over one stream: `push` returns the rows of the matches that become known with each batch.

    If the query ends in an absence with a deadline, a match becomes known when its deadline has passed; `pass_time`
    returns such matches without new events. `given` is a bit mask of the predicates that are already evaluated when the
    events come (see `EventStream.words`).
    """

    def __init__(self, choice: Choice, tick: int | None, *, given: int = 0) -> None:
        self._choice = choice
        self._engine = opened(choice, tick, given=given)
        self._look_back = ItemLookBack(choice.checked)
        self._kept = KeptEvents(self._look_back.kept(choice.attributes_kept), tick)
        self._made_by = choice.made_by(tick)

    @property
    def open(self) -> int:
        """The number of nodes in the match structure, which holds the open partial matches."""
        return self._engine.open

    @property
    def next_due(self) -> int | None:
        """The time from which on `pass_time` may return rows; None if it returns none without new events."""
        return self._engine.next_due

    def push(self, events: EventStream) -> pa.Table:
        """Returns the rows of the matches that become known with these events, which must follow the earlier ones."""
        found = self._engine.push(events)
        self._kept.add(self._look_back.extended(events))
        rows = self._rows(found)
        if self._kept.crowded:
            self._kept.keep(self._engine.referenced())
        return rows

    def pass_time(self, time: int) -> pa.Table | None:
        """Promises that no later event is before this time, which is in the unit of the events' times.

        Returns the rows of the matches whose deadline has passed now, or None if there are none.
        """
        found = self._engine.pass_time(time)
        return self._rows(found) if len(found) else None

    def _rows(self, found: ComplexEvents) -> pa.Table:
        located, events = self._kept.located(found)
        return Matches(self._look_back.checked, events, finished(located, self._choice, events)).to_arrow()

    # -- the state

    def save(self) -> bytes:
        """Returns the state between two batches as bytes."""
        return sealed(_KIND, self._made_by, self.parts())

    def load(self, state: bytes) -> None:
        """Continues from a state that `save` returned; a state of another query is refused, and nothing is changed."""
        self.restore(unsealed(state, _KIND, self._made_by))

    def parts(self) -> Parts:
        """The state as parts of a larger state."""
        self._kept.keep(self._engine.referenced())
        return {
            **put_under("engine", self._engine.save()),
            **put_under("kept", self._kept.save()),
            **put_under("look_back", self._look_back.save()),
        }

    def restore(self, parts: Parts) -> None:
        """Continues from the parts that `parts` returned."""
        self._engine.load(taken_from("engine", parts))
        self._kept.load(taken_from("kept", parts))
        self._look_back.load(taken_from("look_back", parts))
