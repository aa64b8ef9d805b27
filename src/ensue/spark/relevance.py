"""Drops events that can change nothing, where Python reads them: as the JVM drops them where Spark reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.automata.predicates import Guard, Predicate, Test, TypeIs
from ensue.columns.evaluation import holds
from ensue.data.events import EventStream, one_chunk
from ensue.language import ast

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Relevance:
    """At an event that can change something, one of the guards holds, which are of one event each."""

    guards: tuple[Guard, ...]

    def among(self, events: EventStream) -> Mask:
        """The events that can change something."""
        predicates = {p for guard in self.guards for p, _ in guard}
        truth = {p: _holding(p, events) for p in predicates}
        found = np.zeros(len(events), dtype=np.bool_)
        for guard in self.guards:
            found |= reduce(np.logical_and, [truth[p] if positive else ~truth[p] for p, positive in guard])
        return found


def _holding(p: Predicate, events: EventStream) -> Mask:
    if isinstance(p, TypeIs):
        types = one_chunk(events.types)
        encoded = types if pa.types.is_dictionary(types.type) else types.dictionary_encode()
        names = [*encoded.dictionary.to_pylist(), None]  # the last one is for events without a type
        codes = encoded.indices.fill_null(len(names) - 1) if encoded.null_count else encoded.indices
        holding: Mask = np.array([name == p.name for name in names])[codes.to_numpy()]
        return holding
    assert isinstance(p, Test), "machines look at all events"
    columns: Mapping[str, pa.Array] = {
        n.name: one_chunk(events.table.column(n.name)) for n in ast.find(p.expression, ast.Name)
    }
    return holds(p.expression, columns, len(events))
