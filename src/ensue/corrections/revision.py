"""One query over events that may still change: from changes of the events to changes of the matches.

The query has been evaluated up to the tip, the latest event that it may speak of. Some of its states on the way are
kept as points. When something changes among the events, the evaluation goes back to the latest point before the
change, and goes on from there: what it finds now that it had not found is new, and what it does not find any more is
gone. So it is exact for every query of the language, with either engine. The oldest point moves on with the watermark,
behind which nothing changes.

Runs of an automaton with a register end soon. Where a state behind the change goes on like the point that was kept
there, all that follows is as it was: the evaluation stops there, and begins again before the next change (the early
stop of Chandramouli, Goldstein and Maier).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.corrections.changed_places import ChangedPlaces
from ensue.corrections.match_ids import difference
from ensue.corrections.unsettled import NO_TIME, Unsettled
from ensue.data.budget import Budget, Large
from ensue.data.envelope import Parts
from ensue.results.matches import Matches
from ensue.results.running_query import RunningQuery

#: Where an event costs its open runs, a state is kept the more often, the more runs there are.
_FEW_RUNS, _MOST_PARTS = 4, 16
#: The evaluation stops early where so many times the events of pieces with a change lie behind the first one.
_CLEAN_FOR_DIRTY = 4

Mask = npt.NDArray[np.bool_]

#: A state is kept to go back to after so many events, or a part of all that may change, and not sooner than an event
#: for so many bytes of the state: keeping it then takes less time than evaluating the events.
_FEWEST_BETWEEN, _PARTS_BETWEEN, _BYTES_AN_EVENT = 1 << 12, 8, 128


@dataclass(frozen=True)
class _Point:
    """A state of the query, how many unsettled events it has seen, and what was found from it to the next point."""

    events: int
    state: Parts
    found: tuple[Matches, ...] = ()


@dataclass(frozen=True)
class MatchChanges:
    """What a step takes back, and what it adds."""

    gone: list[Matches] = field(default_factory=list)
    came: list[Matches] = field(default_factory=list)


class Revision:
    """Goes along with the unsettled events: `follow` gives the changes of the matches after each change of them."""

    def __init__(self, running: RunningQuery, budget: Budget) -> None:
        self._running = running
        self._held = budget.holder()
        self._points: list[_Point] = [_Point(0, running.parts())]
        self._seen: int | None = 0  # the unsettled events that the running query has seen; None if that is not known
        self.replayed = 0  # how many events were evaluated once more

    @property
    def open(self) -> int:
        """The number of nodes in the match structure, which holds the open partial matches."""
        return self._running.open

    @property
    def open_windows(self) -> int:
        """From how many events the open partial matches began; 0 where the reference evaluates them."""
        return self._running.open_windows

    @property
    def next_due(self) -> int | None:
        """The time from which on the watermark alone may change something; None if it does not."""
        return self._running.next_due

    @property
    def settled(self) -> int:
        """How many of the unsettled events lie before the oldest point: nobody asks for them any more."""
        return self._points[0].events

    def catch_up(self, unsettled: Unsettled, until: int, watermark: int) -> None:
        """Finds again what had been told of the first `until` events, after the state was loaded.

        The watermark is the one that settles events now.
        """
        if self._seen is None:
            self._go_back(0)
            settled = unsettled.up_to(watermark)
            if 0 < settled <= until:
                self._evaluate(unsettled, settled)
                self._keep_point(settled)
            self._evaluate(unsettled, until)

    def follow(self, unsettled: Unsettled, until: int, changed: ChangedPlaces | None) -> MatchChanges:
        """The changes now that the query may speak of the first `until` events, among which these have changed."""
        assert self._seen is not None, "it has caught up"
        first = self._seen if changed is None else changed.first
        if changed is not None and self._running.by_time:
            first = self._before_time_of(unsettled, first)
        if changed is None or first >= self._seen:
            return MatchChanges([], self._go_on(unsettled, until))
        if self._running.comparable:
            borders = np.array([*(p.events for p in self._points), self._seen])
            if _mostly_clean(borders, changed.between(borders)):
                old, new = self._replay_changes(unsettled, *self._moved(unsettled, changed, borders))
                return MatchChanges(*difference(old, [*new, *self._go_on(unsettled, until)]))
        last = max(i for i, p in enumerate(self._points) if p.events <= first)
        old = [m for p in self._points[last:] for m in p.found]
        self._go_back(last)
        self.replayed += until - self._points[last].events
        return MatchChanges(*difference(old, self._go_on(unsettled, until)))

    def forget(self) -> None:
        """After a step that failed: what has been told is found again from the oldest point."""
        self._seen = None

    def _replay_changes(
        self, unsettled: Unsettled, points: list[_Point], dirty: Mask
    ) -> tuple[list[Matches], list[Matches]]:
        """Evaluates again what was seen, from each change up to where all goes on as before.

        Gives what had been found there, and what is found now.
        """
        old: list[Matches] = []
        new: list[Matches] = []
        alike, at = 0, _next(dirty, 0)
        self._points = []
        while at < len(points):
            self._points += points[alike : at + 1]
            self._go_back(len(self._points) - 1)
            alike = self._replay(unsettled, points, at, (old, new))
            at = _next(dirty, alike)
        if alike < len(points):
            self._points += points[alike:]
            self._go_back(len(self._points) - 1)
        if len(self._points) > 1 and self._points[-1].events - self._points[-2].events < self._stride(0):
            del self._points[-1]  # so few events are sooner evaluated than a state is kept
        return old, new

    def _moved(
        self, unsettled: Unsettled, changed: ChangedPlaces, borders: npt.NDArray[np.int64]
    ) -> tuple[list[_Point], Mask]:
        """The points and the tip at their places now, and whether something has changed from each to the next."""
        points = [*self._points, _Point(int(borders[-1]), self._running.parts())]
        places, dirty = changed.moved(borders), np.append(changed.between(borders), False)
        moved = [replace(p, events=int(place)) for p, place in zip(points, places, strict=True)]
        if not self._running.by_time:
            return moved, dirty
        times, kept, behind = unsettled.times, [moved[0]], [bool(dirty[0])]
        for point, is_dirty in zip(moved[1:], dirty[1:], strict=True):
            if 0 < point.events < len(times) and times[point.events - 1] == times[point.events]:
                # The events of one time are one step, so nothing can begin between them.
                kept[-1], behind[-1] = replace(kept[-1], found=(*kept[-1].found, *point.found)), True
            else:
                kept.append(point)
                behind.append(bool(is_dirty))
        return kept, np.array(behind)

    def _replay(
        self, unsettled: Unsettled, points: list[_Point], at: int, matches: tuple[list[Matches], list[Matches]]
    ) -> int:
        """Evaluates on from this point up to the first one behind it that goes on alike; the number of points if none.

        What had been found, and what is found, is added to the matches.
        """
        old, new = matches
        while True:
            old += points[at].found
            at += 1
            if at == len(points):
                return at
            self.replayed += points[at].events - self._points[-1].events
            new += self._evaluate(unsettled, points[at].events)
            state = self._running.parts()
            if self._running.go_on_alike(points[at].state, state):
                return at
            self._points.append(_Point(points[at].events, state))

    def _before_time_of(self, unsettled: Unsettled, changed: int) -> int:
        """How many events are as before, and lie before the time of the first change: its events are one step."""
        times, seen = unsettled.times, self._seen or 0
        if changed >= seen and (not 0 < seen < len(times) or times[seen] > times[seen - 1]):
            return changed
        changed = min(changed, seen)
        return int(np.searchsorted(times, times[changed - 1])) if changed else 0

    def _up_to(self, unsettled: Unsettled, most: int, until: int) -> int:
        """Where to stop after so many events: where all events of one time are a step, not between two of these."""
        if most >= until or not self._running.by_time:
            return min(most, until)
        assert self._seen is not None
        times = unsettled.times
        before = int(np.searchsorted(times, times[most]))
        return before if before > self._seen else min(until, int(np.searchsorted(times, times[most], side="right")))

    def _go_back(self, point: int) -> None:
        self._points = [*self._points[:point], replace(self._points[point], found=())]
        self._running.restore(self._points[point].state)
        self._seen = self._points[point].events

    def _go_on(self, unsettled: Unsettled, until: int) -> list[Matches]:
        """Evaluates the events that have not been seen, and keeps points on the way."""
        stride = self._stride(until)
        found: list[Matches] = []
        assert self._seen is not None
        while True:
            stop = self._up_to(unsettled, self._seen + stride, until)
            found += self._evaluate(unsettled, stop)
            if stop - self._points[-1].events >= stride:
                self._keep_point(stop)
            if stop == until:
                return found

    def _evaluate(self, unsettled: Unsettled, until: int) -> list[Matches]:
        """What is found as the query sees events up to `until`, and that the watermark has passed."""
        assert self._seen is not None
        seen, self._seen = self._seen, None
        found: list[Matches] = []
        if until > seen and unsettled.events is not None:
            found += self._running.matches(unsettled.events.slice(seen, until - seen))
        last = int(unsettled.times[until - 1]) if until else NO_TIME
        if last < unsettled.watermark and unsettled.up_to(unsettled.watermark) <= until:
            due = self._running.matches_due(unsettled.watermark)
            found += [] if due is None else [due]
        found = [m for m in found if len(m)]
        self._points[-1] = replace(self._points[-1], found=(*self._points[-1].found, *found))
        told = [m.found for p in self._points for m in p.found]
        self._held.hold(Large.TOLD, sum(f.nbytes for f in told), sum(map(len, told)))
        self._seen = until
        return found

    def _stride(self, until: int) -> int:
        """After how many events a point is kept. Where the evaluation stops early, it begins at many of them."""
        return self._fewest_between if self._running.comparable else max(self._fewest_between, until // _PARTS_BETWEEN)

    @property
    def _fewest_between(self) -> int:
        fewest = _FEWEST_BETWEEN
        if self._running.comparable:
            fewest //= min(max(1, self._running.open // _FEW_RUNS), _MOST_PARTS)
        return max(1, fewest, _size(self._points[-1].state) // _BYTES_AN_EVENT)

    def _keep_point(self, events: int) -> None:
        self._points.append(_Point(events, self._running.parts()))

    def told_since(self, watermark: int) -> list[Matches]:
        """What was found that ends after the watermark, as far as that is known."""
        found = [m for p in self._points for m in p.found]
        late = [np.flatnonzero(m.stream.times[m.end] > watermark) for m in found]
        return [m.some(places) for m, places in zip(found, late, strict=True) if len(places)]

    def settle(self, unsettled: Unsettled) -> None:
        """Lets go of what lies before the latest point that the watermark has passed."""
        final = unsettled.up_to(unsettled.watermark)
        if self._seen == final and final - self._points[-1].events >= self._fewest_between:
            self._keep_point(final)
        last = max(i for i, p in enumerate(self._points) if p.events <= final or i == 0)
        del self._points[:last]

    def without_first(self, count: int) -> None:
        """The first `count` unsettled events are gone from the stream, all of them settled."""
        self._points = [replace(p, events=p.events - count) for p in self._points]
        self._seen = None if self._seen is None else self._seen - count

    # -- the state

    def save(self, unsettled: Unsettled) -> Parts:
        """The state at the watermark: `settled` says up to where it has come."""
        self.settle(unsettled)
        final = unsettled.up_to(unsettled.watermark)
        if self._points[0].events < final:
            if self._seen != final:
                self._go_back(0)
                self._evaluate(unsettled, final)
                self._seen = None  # what has been told after that must be found again
            self._points = [_Point(final, self._running.parts())]
        return self._points[0].state

    def load(self, state: Parts) -> None:
        self._points, self._seen = [_Point(0, state)], None

    def begin(self, state: Parts) -> None:
        """Begins with this state, over events of which nothing has been told yet, whatever others have been told."""
        self.load(state)
        self._go_back(0)


def _mostly_clean(borders: npt.NDArray[np.int64], dirty: Mask) -> bool:
    """Whether few of the pieces behind the first change have changed: to compare states takes time, too."""
    first = _next(dirty, 0)
    events = np.diff(borders[first:])
    return bool(_CLEAN_FOR_DIRTY * events[dirty[first:]].sum() < events.sum())


def _next(dirty: Mask, point: int) -> int:
    """The first point from this one on behind which something has changed; the number of points if there is none."""
    later = np.flatnonzero(dirty[point:])
    return point + int(later[0]) if len(later) else len(dirty)


def _size(state: Parts) -> int:
    """The bytes of the arrays and tables of a state."""
    return sum(part.nbytes for part in state.values() if isinstance(part, np.ndarray | pa.Table))
