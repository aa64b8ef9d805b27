"""Several queries over one stream whose events may still change: one set of unsettled events, and each query's states.

This is what embedded streams and the buckets of Spark share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ensue.corrections.changed_places import ChangedPlaces
from ensue.corrections.promises import Promises
from ensue.corrections.revision import MatchChanges, Revision
from ensue.corrections.unsettled import NO_TIME, Arrivals, Unsettled
from ensue.corrections.watch import Watch
from ensue.data.envelope import Parts, prefixed, unprefixed
from ensue.results.matches import Matches


@dataclass(frozen=True)
class _Follower:
    """A query, which knows only the events after a time: for a query that was added later, the latest one by then."""

    revision: Revision
    types: frozenset[str] | None  # those of the events that it reads; None: all of them
    since: int = NO_TIME
    watch: Watch | None = None  # where it says what it expects

    def look(self, unsettled: Unsettled, passed: int) -> int:
        """How many of the events that are settled now, and were not at this watermark, are not as it expects."""
        own = unsettled.after(self.since)
        first, last = own.up_to(passed), own.up_to(own.watermark)
        if self.watch is None or own.events is None or first == last:
            return 0
        return self.watch.look(own.events.slice(first, last - first))

    def catch_up(self, unsettled: Unsettled, told: int, watermark: int) -> None:
        own = unsettled.after(self.since)
        self.revision.catch_up(own, own.up_to(told), watermark)

    def follow(self, unsettled: Unsettled, before: int, told: int, changed: ChangedPlaces | None) -> MatchChanges:
        """`before` is how many of the events it did not know before this step."""
        own = unsettled.after(self.since)
        seen = None if changed is None else changed.behind(before, len(unsettled) - len(own))
        return self.revision.follow(own, own.up_to(told), seen)

    def settle(self, unsettled: Unsettled) -> int:
        """How many of the events it has left behind."""
        own = unsettled.after(self.since)
        self.revision.settle(own)
        return len(unsettled) - len(own) + self.revision.settled

    def without_first(self, unsettled: Unsettled, count: int) -> None:
        before = unsettled.up_to(self.since)
        self.revision.without_first(max(0, count - before))


@dataclass(frozen=True)
class Step:
    """What happens in a step: rows come, and the watermark passes times before they come and after that."""

    arrivals: Arrivals | None = None
    passed_before: int = NO_TIME
    passed_after: int = NO_TIME
    promise: tuple[str, int] | None = None  # no event of this type comes any more up to this time
    promised_after: Mapping[str, int] = field(default_factory=dict)  # the same of more types, behind these rows


class LiveStream:
    """`step` gives the changes of each query's matches. A step that fails changes nothing.

    The queries speak of the events up to the watermark; with a `slack`, in ticks, of all but those that are less than
    that older than the latest event. `delay` makes the watermark follow the latest event by itself, and `delays` settle
    the events earlier where the latest events of all types that the queries read allow that.
    """

    def __init__(
        self, tiebreak: str | None, slack: int | None, delay: int | None = None, delays: Mapping[str, int] | None = None
    ) -> None:
        self.unsettled = Unsettled(tiebreak)
        self._promises = Promises(delays or {})
        self._followers: dict[str, _Follower] = {}
        self._slack = slack
        self._delay = delay
        self._told = NO_TIME  # the time up to which the queries have spoken of the events
        self.unexpected = 0  # how many settled events were not as the queries expect them

    def add(
        self,
        name: str,
        revision: Revision,
        types: frozenset[str] | None,
        since: int | None = None,
        watch: Watch | None = None,
    ) -> None:
        """One more query, which reads events of these types, over the events after `since`.

        Without it, after the latest one that has come.
        """
        since = self.unsettled.latest if since is None else since
        self._followers[name] = _Follower(revision, types if watch is None else None, since, watch)

    def remove(self, name: str) -> list[Matches]:
        """One query less. Gives what it has told that could still have changed."""
        return self._followers.pop(name).revision.told_since(self.unsettled.watermark)

    def step(self, step: Step) -> dict[str, MatchChanges]:
        """Takes in what has come, moves the watermark, and gives the changes of the matches."""
        now, changed, promises, types = self.unsettled.advanced(step.passed_before), None, self._promises, self._types
        if step.promise is not None:
            promises = promises.promising(*step.promise)
        if step.arrivals is not None:
            promises, arrivals, broken = promises.admitting(step.arrivals, now.watermark, types)
            now, changed = now.refusing(broken).taking(arrivals)
        for type_, time in step.promised_after.items():
            promises = promises.promising(type_, time)
        now = now.advanced(promises.settled(self._watermark_after(now, step.passed_after), types))
        told = max(self._told, self._tip(now))
        changes, followers = {}, self._followers.values()
        watched = [(f.watch, f.watch.save()) for f in followers if f.watch is not None]
        try:
            for name, follower in self._followers.items():
                follower.catch_up(self.unsettled, self._told, now.watermark)
                unknown = self.unsettled.up_to(follower.since)
                changes[name] = follower.follow(now, unknown, told, changed)
            unexpected = sum(follower.look(now, self.unsettled.watermark) for follower in followers)
        except BaseException:
            for follower in followers:
                follower.revision.forget()
            for watch, state in watched:
                watch.load(state)
            raise
        self.unsettled, self._told, self._promises = now, told, promises
        self.unexpected += unexpected
        self._let_go()
        return changes

    @property
    def _types(self) -> frozenset[str] | None:
        """The types of all events that some query reads; None where one reads all of them."""
        read = [follower.types for follower in self._followers.values()]
        return None if None in read else frozenset[str]().union(*(types for types in read if types is not None))

    def _watermark_after(self, unsettled: Unsettled, passed: int) -> int:
        if self._delay is None or unsettled.latest == NO_TIME:
            return passed
        return max(passed, unsettled.latest - self._delay)

    def _tip(self, unsettled: Unsettled) -> int:
        """The time up to which the queries may speak of the events."""
        if self._slack is None or unsettled.latest == NO_TIME:
            return unsettled.watermark
        return max(unsettled.watermark, unsettled.latest - self._slack)

    def _let_go(self) -> None:
        """Lets the events go that every query has left behind."""
        settled = [follower.settle(self.unsettled) for follower in self._followers.values()]
        count = min(settled, default=self.unsettled.up_to(self.unsettled.watermark))
        if count:
            for follower in self._followers.values():
                follower.without_first(self.unsettled, count)
            self.unsettled = self.unsettled.without_first(count)

    # -- the state

    def save(self) -> Parts:
        """The state, as small as the watermark allows."""
        parts: Parts = {"told": self._told, "unexpected": self.unexpected}
        for name, follower in self._followers.items():
            parts |= prefixed(f"query {name}", follower.revision.save(self.unsettled.after(follower.since)))
            parts[f"since {name}"] = follower.since
            if follower.watch is not None:
                parts |= prefixed(f"watch {name}", follower.watch.save())
        final = self.unsettled.up_to(self.unsettled.watermark)
        parts |= prefixed("promises", self._promises.save())
        return {**parts, **prefixed("unsettled", self.unsettled.without_first(final).save())}

    def load(self, parts: Parts) -> None:
        """Goes on from a saved state, with the same queries."""
        self._told = parts["told"]
        self.unexpected = parts.get("unexpected", 0)  # states of live queries did not have it before
        self._promises = self._promises.restored(unprefixed("promises", parts))
        self.unsettled = self.unsettled.restored(unprefixed("unsettled", parts))
        for name, follower in self._followers.items():
            follower.revision.load(unprefixed(f"query {name}", parts))
            self._followers[name] = replace(follower, since=parts[f"since {name}"])
            if follower.watch is not None:
                follower.watch.load(unprefixed(f"watch {name}", parts))

    def counts(self) -> Mapping[str, int]:
        """How much is open, and what was left out so far."""
        refused = self.unsettled.refused
        revisions = [follower.revision for follower in self._followers.values()]
        return {
            "unsettled": len(self.unsettled) - self.unsettled.up_to(self.unsettled.watermark),
            "open": sum(r.open for r in revisions),
            "replayed": sum(r.replayed for r in revisions),
            "late": refused.late,
            "late_deletions": refused.late_deletions,
            "unmatched_deletions": refused.unmatched_deletions,
            "unexpected": self.unexpected,
        }
