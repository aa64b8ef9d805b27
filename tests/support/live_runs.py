"""Live queries in tests: random arrivals in any order, and what their changes have to add up to after every step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pyarrow as pa
from strategies import EVENT_SCHEMA, random_following_query, random_query, random_selecting_query, random_stream

import ensue
from ensue.corrections.live_queries import Live
from ensue.data.events import read_events
from ensue.language import ast
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.logic.late_events import only_adds
from ensue.logic.outputs import attributes_used
from ensue.logic.types_read import types_read
from ensue.plan.choice import choose
from ensue.results.running_query import RunningQuery

Event = dict[str, Any]
Change = tuple[int, Event]  # 1 and the event that is inserted, or -1 and the one that is deleted
SCHEMA = EVENT_SCHEMA.append(pa.field("n", pa.int64()))
WORDS = {1: ("insert", "update_postimage"), -1: ("delete", "update_preimage")}


_KINDS = (random_query, random_query, random_selecting_query, random_following_query)


@dataclass
class Expected:
    """The events that are there, by the words of the design: a slow and plain model."""

    identified: bool  # by the column `n`, and else by all that the query uses of them
    slack: int | None  # None: it waits for the watermark
    watermark: int = -1
    latest: int = -1
    told: int = -1
    late: int = 0
    came: int = 0
    there: list[tuple[int, int, Event]] = field(default_factory=list)  # with time and arrival
    missing: list[tuple[int, Any]] = field(default_factory=list)  # deletions without their insertions: time, key
    types: frozenset[str] | None = None  # what the query reads, where something is promised of it
    delays: dict[str, int] = field(default_factory=dict)
    promised: dict[str, int] = field(default_factory=dict)
    used: frozenset[str] | None = None  # the attributes that the query uses

    def key(self, event: Event) -> Any:
        if self.identified:
            return event["n"]
        return tuple(v for n, v in sorted(event.items()) if self.used is None or n in {*self.used, "time", "type"})

    def take(self, changes: list[Change]) -> None:
        before = dict(self.promised)
        for type_, time in ((e["type"], e["time"]) for _, e in changes):
            if type_ in self.delays:
                self.promised[type_] = max(self.promised.get(type_, -1), time - self.delays[type_])
        for sign, event in changes:
            if event["time"] <= before.get(event["type"], -1):
                self.late += 1
                continue
            if event["time"] <= self.watermark:
                # What the query does not read makes no difference, and is not late where promises settle.
                self.late += self.types is None or event["type"] in self.types or not (self.delays or before)
                continue
            self.came += 1
            self.latest = max(self.latest, event["time"])
            key = self.key(event)
            if sign > 0:
                waiting = next((m for m in self.missing if m[1] == key), None)
                if waiting is None:
                    self.there.append((event["time"], self.came, event))
                else:
                    self.missing.remove(waiting)
            else:
                same = [e for e in self.there if self.key(e[2]) == key]
                if same:
                    self.there.remove(max(same, key=lambda e: e[1]))
                else:
                    self.missing.append((event["time"], key))
        self.advance(self.watermark)

    def promise(self, type_: str, before: int) -> None:
        self.promised[type_] = max(self.promised.get(type_, -1), before - 1)
        self.advance(self.watermark)

    def advance(self, time: int) -> None:
        settled = min((self.promised.get(t, -1) for t in self.types or ()), default=-1)
        self.watermark = max(self.watermark, time, settled)
        self.missing = [m for m in self.missing if m[0] > self.watermark]

    def events(self) -> list[Event]:
        """The events of which the query may speak, in their order."""
        tip = self.watermark if self.slack is None else max(self.watermark, self.latest - self.slack)
        self.told = max(self.told, tip)
        return [e for time, _, e in sorted(self.there, key=lambda e: e[:2]) if time <= self.told]

    def answer(self, query: ensue.Query) -> Counter[str]:
        """The rows of the query over these events, by the reference."""
        events = self.events()
        stream = read_events(pa.Table.from_pylist(events, schema=SCHEMA), query.ast.streams, unit="s")
        running = RunningQuery(choose(check(query.ast, query.text, stream.schema), "reference"), stream.tick)
        rows = running.push(stream).to_pylist()
        if events and self.watermark > events[-1]["time"]:
            due = running.pass_time(self.watermark)
            rows += [] if due is None else due.to_pylist()
        return Counter(map(repr, rows))


@dataclass
class Followed:
    """Adds up the changes of a live query, and checks of each step what holds of every step."""

    current: dict[str, str] = field(default_factory=dict)  # the row of each match that is there, by its id
    told: dict[str, str] = field(default_factory=dict)  # the row of each id that ever was there

    def take(self, changes: pa.Table, watermark: int, *, finite: bool, only_adds: bool) -> None:
        ids = changes.column("match").to_pylist()
        assert len(ids) == len(set(ids)), "a match has two changes in one step"
        for row in changes.to_pylist():
            change, id_ = row.pop("change"), row.pop("match")
            assert self.told.setdefault(id_, repr(row)) == repr(row), "an id stands for two rows"
            if finite:
                assert row["end_time"] > watermark, "what the watermark had passed has changed"
            assert change == "insert" or not only_adds
            if change == "insert":
                assert id_ not in self.current
                self.current[id_] = repr(row)
            else:
                assert self.current.pop(id_) == repr(row)

    @property
    def answer(self) -> Counter[str]:
        return Counter(self.current.values())


def random_case(
    seed: int, kinds: Sequence[Callable[[Random], ast.Query]] = _KINDS
) -> tuple[Random, ensue.Query, list[list[Change]], bool]:
    """A query, and batches of changes: events in any order, some deleted, some before they come, some updated.

    Also whether the column `n` tells the events apart.
    """
    rng = Random(f"live {seed}")
    kind = rng.choice(kinds)
    made = replace(kind(rng), limit=None, per=ast.Per.RESULT, order=())  # no row of a stream is the first of all
    events = [{**e, "n": n} for n, e in enumerate(random_stream(rng, 10))]
    distinct = rng.random() < 0.7
    if not distinct:
        events += [dict(e) for e in events if rng.random() < 0.2]
        events = [{**e, "n": 0} for e in events] if rng.random() < 0.5 else events
    displaced = rng.choice((0, 2, 100))
    arrivals = sorted(events, key=lambda e: e["time"] + rng.uniform(0, displaced))
    changes: list[Change] = [(1, e) for e in arrivals]
    if rng.random() < 0.5:
        for event in arrivals:
            if rng.random() < 0.25:
                changes.insert(rng.randrange(len(changes) + 1), (-1, event))
            elif rng.random() < 0.2:
                after = {
                    **event,
                    rng.choice(("v", "k")): rng.choice((0, 1, 2)),
                    "time": event["time"] + rng.choice((0, 0, 1)),
                }
                place = rng.randrange(changes.index((1, event)) + 1, len(changes) + 1)
                changes[place:place] = [(-1, event), (1, after)]
    batches = []
    while changes:
        size = rng.choice((1, 1, 2, 3, 5))
        batches.append(changes[:size])
        changes = changes[size:]
    return rng, ensue.Query(print_query(made), made), batches, distinct


def options_of(rng: Random, *, distinct: bool) -> tuple[dict[str, Any], Expected]:
    slack = rng.choice((None, 0, 0, 0, 1, 3))
    identified = distinct and rng.random() < 0.5
    options: dict[str, Any] = {
        "unit": "s",
        "changes": "op",
        "engine": rng.choice(("auto", "auto", "auto", "reference")),
    }
    options |= {"disorder": "wait"} if slack is None else {"disorder": "revise", "slack": f"{slack} s"}
    if identified:
        options["id"] = "n"
    return options, Expected(identified, slack)


def table_of(rng: Random, changes: list[Change]) -> pa.Table:
    rows = [{**event, "op": rng.choice(WORDS[sign])} for sign, event in changes]
    return pa.Table.from_pylist(rows, schema=SCHEMA.append(pa.field("op", pa.string())))


def compare(seed: int, kinds: Sequence[Callable[[Random], ast.Query]] = _KINDS) -> str:
    """A random query over random changes, step by step, saved and restored in between."""
    rng, query, batches, distinct = random_case(seed, kinds)
    options, expected = options_of(rng, distinct=distinct)
    expected.used = attributes_used(query.ast)
    if rng.random() < 0.4:
        expected.types = types_read(query.ast)
        expected.delays = {t: rng.choice((0, 1, 3)) for t in "ABC" if rng.random() < 0.7}
        options["delays"] = {t: f"{d} s" for t, d in expected.delays.items()}
    live: Live = query.live(**options)
    followed = Followed()
    where = (seed, query.text, options)
    # A deadline may pass after the watermark has passed the end of its match.
    finite = not any(isinstance(p, ast.NotAfter) for p in ast.walk(query.ast.pattern))
    only = only_adds(query.ast) and not any(sign < 0 for batch in batches for sign, _ in batch)
    for number, batch in enumerate(batches):
        before = expected.watermark
        expected.take(batch)
        followed.take(live.push(table_of(rng, batch)).to_arrow(), before, finite=finite, only_adds=only)
        assert followed.answer == expected.answer(query), (where, number, "push")
        if rng.random() < 0.4:
            before = expected.watermark
            expected.advance(expected.latest - rng.choice((0, 1, 2, 4)))
            followed.take(live.advance(max(expected.watermark, 0)).to_arrow(), before, finite=finite, only_adds=only)
            expected.advance(0)
            assert followed.answer == expected.answer(query), (where, number, "advance")
        if "delays" in options and rng.random() < 0.2:
            before, type_, time = expected.watermark, rng.choice("ABC"), max(expected.latest, 0)
            expected.promise(type_, time)
            followed.take(live.promise(type_, before=time).to_arrow(), before, finite=finite, only_adds=only)
            assert followed.answer == expected.answer(query), (where, number, "promise")
        if rng.random() < 0.2:
            live = query.live(**options, state=live.save())
    assert live.metrics["late"] + live.metrics["late_deletions"] == expected.late, where
    return "compared" if followed.told else "without a match"
