"""What a live query expects of its events: asked of those that nothing changes any more, so that each counts once."""

from __future__ import annotations

from ensue.columns.key_columns import with_keys
from ensue.data.budget import Budget
from ensue.data.envelope import Parts
from ensue.data.events import EventStream
from ensue.engines.unexpected import Unexpected
from ensue.language import ast
from ensue.plan.choice import Choice


class Watch:
    """Looks at the settled events of a stream, in their order."""

    def __init__(self, query: ast.Query, unexpected: Unexpected) -> None:
        self._query = query
        self._unexpected = unexpected

    @classmethod
    def of(cls, choice: Choice, tick: int | None, budget: Budget) -> Watch | None:
        """For a query with EXPECT."""
        if choice.watching is None:
            return None
        return cls(choice.checked.query, Unexpected(choice, tick, budget))

    def look(self, events: EventStream) -> int:
        """How many of these events, which follow the earlier ones, are not as EXPECT says."""
        self._unexpected.push(with_keys(events, self._query))
        return self._unexpected.taken()

    def save(self) -> Parts:
        return self._unexpected.save()

    def load(self, parts: Parts) -> None:
        self._unexpected.load(parts)
