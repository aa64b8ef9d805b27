"""Promises that events of a type do not come any more: they settle events before the watermark does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from ensue.corrections.unsettled import NO_TIME, Arrivals
from ensue.data.envelope import Parts
from ensue.data.events import one_chunk

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Promises:
    """A value. `delays` says how many ticks an event of a type comes late at most, behind the latest one of its type.

    `promised` has, for each type of which something was promised, the time up to which no event of it comes any more.
    """

    delays: Mapping[str, int] = field(default_factory=dict)
    promised: Mapping[str, int] = field(default_factory=dict)

    def settled(self, watermark: int, types: Collection[str] | None) -> int:
        """The time up to which nothing changes any more for queries that read events of these types.

        None means that they read all events, of which nothing is promised.
        """
        if not types:
            return watermark
        return max(watermark, min(self.promised.get(type_, NO_TIME) for type_ in types))

    def admitting(
        self, arrivals: Arrivals, watermark: int, types: Collection[str] | None
    ) -> tuple[Promises, Arrivals, int]:
        """With the delays held against these rows; the rows that keep to the promises; how many do not.

        Rows of other types than those that are read are left out where they come after the watermark has passed them:
        they make no difference.
        """
        if not self.delays and not self.promised:
            return self, arrivals, 0
        times, of_type = arrivals.events.times, one_chunk(arrivals.events.types)
        broken, passed = np.zeros(len(times), dtype=np.bool_), dict(self.promised)
        for type_ in {*self.delays, *self.promised}:
            own = pc.equal(of_type, type_).fill_null(False).to_numpy(zero_copy_only=False)
            broken |= own & (times <= self.promised.get(type_, NO_TIME))
            if type_ in self.delays and own.any():
                passed[type_] = max(passed.get(type_, NO_TIME), int(times[own].max()) - self.delays[type_])
        needless = np.zeros(len(times), dtype=np.bool_)
        if types:
            read = np.isin(np.array(of_type.to_numpy(zero_copy_only=False), dtype=object), list(types))
            needless = ~read & (times <= watermark)
        kept = np.flatnonzero(~broken & ~needless)
        admitted = arrivals if len(kept) == len(times) else arrivals.at(kept)
        return replace(self, promised=passed), admitted, int(np.count_nonzero(broken))

    def promising(self, type_: str, time: int) -> Promises:
        """No event of this type comes any more at this time or before it."""
        return replace(self, promised={**self.promised, type_: max(time, self.promised.get(type_, NO_TIME))})

    def save(self) -> Parts:
        return {"promised": dict(self.promised)}

    def restored(self, parts: Parts) -> Promises:
        """What was saved, with the same delays."""
        return replace(self, promised=parts["promised"])
