"""Live queries over events in memory: events are pushed as they come, and each step gives changes of the matches."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import pyarrow as pa

from ensue import pipeline
from ensue.columns.key_columns import with_keys
from ensue.corrections.arrival_reader import ArrivalReader, Shape
from ensue.corrections.change_rows import check_names, no_changes, rows_of_changes
from ensue.corrections.current_answer import CurrentAnswer
from ensue.corrections.event_ids import HIGH, LOW
from ensue.corrections.live_options import ALL, LiveOptions
from ensue.corrections.live_stream import LiveStream, Step
from ensue.corrections.revision import MatchChanges, Revision
from ensue.corrections.shown_steps import ShownSteps
from ensue.corrections.watch import Watch
from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts, check_made_by, prefixed, sealed, unprefixed, unsealed
from ensue.data.schema import Schema
from ensue.engines.item_lookback import ItemLookBack
from ensue.errors import EngineError, did_you_mean, listed
from ensue.language import ast
from ensue.logic.aggregation import refuse_aggregation
from ensue.logic.check import check
from ensue.logic.memory_advice import advice_for
from ensue.logic.outputs import attributes_used
from ensue.logic.rows_of_stream import check_rows_of_stream
from ensue.logic.types_read import types_read
from ensue.plan.choice import Choice
from ensue.report.html_page import Page
from ensue.report.kept_page import kept_page
from ensue.results.changes import Answer, Changes
from ensue.results.matches import Matches
from ensue.results.running_query import RunningQuery

_KIND = "live query"


class Asked(Protocol):
    """A query with its text."""

    @property
    def ast(self) -> ast.Query: ...

    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class _Prepared:
    """A query that knows the columns of its events."""

    choice: Choice
    empty: pa.Table  # its result with no rows
    answer: CurrentAnswer | None  # where it is kept


class LiveQueries:
    """Several queries over one stream of events, which come in any order. Make one with `ensue.live`.

    Each step returns a table of changes for each query, by its name. What the changes of a query add up to is its
    answer over the events that are there, as if they had come in order.
    """

    def __init__(self, queries: Mapping[str, Asked], options: LiveOptions, *, whole_events: bool = True) -> None:
        if not queries:
            raise EngineError("there is no query: give at least one, and add others later")
        options.check()
        self._options = options
        for query in queries.values():
            self._check(query)
        self._queries = dict(queries)
        some = next(iter(queries.values())).ast
        # Queries that are added later may use any column.
        used = None if whole_events else attributes_used(some)
        self._budget = Budget.of(options.memory, advice_for(some, options.engine))
        self._held = self._budget.holder()
        self._reader = ArrivalReader(options, some.streams, used)
        self._shape: Shape | None = None
        self._stream = LiveStream(None, None)
        self._prepared: dict[str, _Prepared] = {}
        self._shown = ShownSteps()

    def _check(self, query: Asked) -> None:
        if isinstance(query, str):
            raise TypeError("a query that ensue.query has made is added, not its text")
        check(query.ast, query.text)
        hint = "AGGREGATE runs over tables; over a live answer, aggregate the rows of answer()"
        refuse_aggregation(query.ast, query.text, "a live query tells changes of single matches", hint)
        check_rows_of_stream(query.ast, query.text, revised=self._options.disorder == "revise")

    # -- steps

    def push(self, events: Any) -> dict[str, Changes]:
        """Takes in events, which may come in any order, and returns what they change."""
        with self._budget.explaining_memory_errors():
            arrivals = self._reader.read(events)
            shape = Shape.of(arrivals.events)
            if self._shape is None:
                self._start(shape)
            else:
                self._shape.check(shape)
            return self._step(Step(arrivals))

    def advance(self, time: Any) -> dict[str, Changes]:
        """Says that nothing changes any more at this time or before it, and returns what becomes known by that.

        What comes later with such a time is late: it is left out and counted.
        """
        with self._budget.explaining_memory_errors():
            return self._step(Step(passed_after=self._started.ticks(time)))

    def promise(self, type: str, *, before: Any) -> dict[str, Changes]:
        """Says that nothing changes any more among the events of this type before this time.

        Where that holds for all types that the queries read, their matches are settled. An event that breaks the
        promise is late.
        """
        with self._budget.explaining_memory_errors():
            return self._step(Step(promise=(type, self._started.ticks(before) - 1)))

    @property
    def _started(self) -> Shape:
        if self._shape is None:
            raise EngineError(
                "the columns of the events are not known yet: push events first, of which there may be none"
            )
        return self._shape

    def _start(self, shape: Shape) -> None:
        """Prepares everything for events of this shape; nothing is changed if that fails."""
        prepared, options = {}, self._options
        revise = options.disorder == "revise"
        slack = (options.ticks("slack", shape.tick) or 0) if revise else None
        delay, delays = options.ticks("delay", shape.tick), options.delays_in_ticks(shape.tick)
        stream = LiveStream(options.reading.get("tiebreak"), slack, delay, delays)
        for name, query in self._queries.items():
            prepared[name], revision, watch = self._prepare(query, shape)
            stream.add(name, revision, types_read(query.ast), watch=watch)
        self._shape, self._stream, self._prepared = shape, stream, prepared

    def _prepare(self, query: Asked, shape: Shape) -> tuple[_Prepared, Revision, Watch | None]:
        options = self._options
        pipeline.warn(query.ast, query.text)
        choice = pipeline.prepare(
            query.ast, query.text, Schema.of(shape.columns), shape.tick, options.reading, engine=options.engine
        )
        look_back = ItemLookBack(choice.checked)
        nothing = look_back.extended(with_keys(shape.no_events(), choice.checked.query))
        empty = Matches(look_back.checked, nothing, ComplexEvents.of(())).to_arrow()
        check_names(empty.column_names)
        answer = None if options.keep is None else CurrentAnswer(options.ticks("keep", shape.tick), self._budget)
        running = RunningQuery(choice.unwatched, shape.tick, budget=self._budget, hidden=frozenset((LOW, HIGH)))
        watch = Watch.of(choice, shape.tick, self._budget)
        return _Prepared(choice, empty, answer), Revision(running, self._budget), watch

    def _step(self, step: Step) -> dict[str, Changes]:
        began, clock = datetime.now(UTC), perf_counter()
        found = self._stream.step(step)
        unsettled = self._stream.unsettled
        size = 0 if unsettled.events is None else unsettled.events.table.nbytes
        self._held.hold(Large.UNSETTLED, size, len(unsettled))
        told = {name: self._told(name, changes) for name, changes in found.items()}
        self._shown.add(began, perf_counter() - clock, step, found, self._stream.counts())
        return told

    def _told(self, name: str, changes: MatchChanges) -> Changes:
        prepared = self._prepared[name]
        rows = rows_of_changes(changes)
        if prepared.answer is not None and rows is not None:
            prepared.answer.take(rows, self._stream.unsettled.watermark)
        return self._changes(rows, prepared)

    def _changes(self, rows: pa.Table | None, prepared: _Prepared) -> Changes:
        return Changes(no_changes(prepared.empty) if rows is None else rows, self._budget)

    def answer(self) -> dict[str, Answer]:
        """The matches as things are now, as far back as `keep=` says."""
        if self._options.keep is None:
            raise EngineError(
                "answer() needs keep=: how long a match stays in it after the watermark has passed its end, such as "
                f"keep='1 h'; keep='{ALL}' keeps all, which takes memory for all"
            )
        now = self._stream.unsettled.watermark
        return {name: self._answer(prepared, now) for name, prepared in self._prepared.items()}

    def _answer(self, prepared: _Prepared, watermark: int) -> Answer:
        assert prepared.answer is not None
        return Answer(prepared.answer.now(no_changes(prepared.empty), watermark), self._budget)

    # -- queries that come and go

    def add(self, name: str, query: Asked) -> None:
        """One more query, over the events after the latest one that has come so far."""
        if name in self._queries:
            raise EngineError(f"there is a query named '{name}' already: remove it first, or choose another name")
        self._check(query)
        if self._shape is not None:
            self._prepared[name], revision, watch = self._prepare(query, self._shape)
            self._stream.add(name, revision, types_read(query.ast), watch=watch)
        self._queries[name] = query

    def remove(self, name: str, *, retract: bool = False) -> Changes | None:
        """The query says nothing more. With `retract`, returns deletions of what could still have changed."""
        if name not in self._queries:
            hint = did_you_mean(name, self._queries) or f"there are {listed(self._queries)}"
            raise EngineError(f"there is no query named '{name}': {hint}")
        del self._queries[name]
        if self._shape is None:
            return None
        gone, prepared = self._stream.remove(name), self._prepared.pop(name)
        return self._changes(rows_of_changes(MatchChanges(gone)), prepared) if retract else None

    # -- the state

    def save(self) -> bytes:
        """The state between two steps, from which `state=` goes on."""
        shape = self._started
        with self._budget.explaining_memory_errors():
            parts: Parts = {"shape": shape.stored(), "tick": shape.tick, "made by": self._made_by(shape)}
            parts |= prefixed("stream", self._stream.save())
            for name, prepared in self._prepared.items():
                if prepared.answer is not None:
                    parts |= prefixed(f"answer {name}", prepared.answer.save(self._stream.unsettled.watermark))
            return sealed(_KIND, self._options.made_by, parts, compressed=True)

    def load(self, state: bytes) -> None:
        """Goes on from a state that `save` has returned; that of other queries, or other options, is refused."""
        parts = unsealed(state, _KIND, self._options.made_by)
        shape = Shape.restored(parts["shape"], parts["tick"])
        self._start(shape)
        check_made_by(parts["made by"], self._made_by(shape))
        self._stream.load(unprefixed("stream", parts))
        self._shown = ShownSteps(self._stream.counts())
        for name, prepared in self._prepared.items():
            if prepared.answer is not None:
                prepared.answer.load(unprefixed(f"answer {name}", parts))

    def _made_by(self, shape: Shape) -> dict[str, str]:
        """What the states of the queries depend on."""
        of_queries = {n: p.choice.made_by(shape.tick) for n, p in self._prepared.items()}
        each = {f"{what} of {name}" if name else what: v for name, o in of_queries.items() for what, v in o.items()}
        return {"names of the queries": ", ".join(sorted(self._prepared)), **each}

    @property
    def metrics(self) -> dict[str, int]:
        """How much is unsettled and open, how much was evaluated again, and what was late or had nothing to delete.

        `unexpected` are settled events that are not as EXPECT says.
        """
        return dict(self._stream.counts())

    # -- a page

    def page(self, *, name: str = "live", state: str = "running", every: int = 2) -> Page:
        """A page that shows what the last steps did, with the queries. `save` writes it; see `keep_page`."""
        asked = list(self._queries.items())  # a step may change it meanwhile
        texts = [f"-- {known}\n{query.text.strip()}" if known else query.text.strip() for known, query in asked]
        return self._shown.page(name=name, query="\n\n".join(texts), state=state, every=every)

    def keep_page(self, path: str | Path, *, name: str = "live", every: int = 2) -> AbstractContextManager[None]:
        """Writes that page to a file every so many seconds, for as long as a `with` block runs.

        A browser that shows the file loads it anew by itself. At the end the page says that the query has stopped, or,
        after an error, that it has failed.
        """
        return kept_page(path, lambda state: self.page(name=name, state=state, every=every), every=every)


class Live:
    """One query over events that come in any order. Make one with `Query.live`.

    Each step returns a table of changes. What they add up to is the query's answer over the events that are there, as
    if they had come in order.
    """

    def __init__(self, query: Asked, options: LiveOptions) -> None:
        self._queries = LiveQueries({"": query}, options, whole_events=False)

    def push(self, events: Any) -> Changes:
        """Takes in events, which may come in any order, and returns what they change."""
        return self._queries.push(events)[""]

    def advance(self, time: Any) -> Changes:
        """Says that nothing changes any more at this time or before it, and returns what becomes known by that.

        What comes later with such a time is late: it is left out and counted.
        """
        return self._queries.advance(time)[""]

    def promise(self, type: str, *, before: Any) -> Changes:
        """Says that nothing changes any more among the events of this type before this time.

        Where that holds for all types that the query reads, its matches are settled. An event that breaks the promise
        is late.
        """
        return self._queries.promise(type, before=before)[""]

    def answer(self) -> Answer:
        """The matches as things are now, as far back as `keep=` says."""
        return self._queries.answer()[""]

    def save(self) -> bytes:
        """The state between two steps, from which `state=` goes on."""
        return self._queries.save()

    def load(self, state: bytes) -> None:
        """Goes on from a state that `save` has returned; that of another query, or other options, is refused."""
        self._queries.load(state)

    @property
    def metrics(self) -> dict[str, int]:
        """How much is unsettled and open, how much was evaluated again, and what was late or had nothing to delete.

        `unexpected` are settled events that are not as EXPECT says.
        """
        return self._queries.metrics

    def page(self, *, name: str = "live", state: str = "running", every: int = 2) -> Page:
        """A page that shows what the last steps did, with the query. `save` writes it; see `keep_page`."""
        return self._queries.page(name=name, state=state, every=every)

    def keep_page(self, path: str | Path, *, name: str = "live", every: int = 2) -> AbstractContextManager[None]:
        """Writes that page to a file every so many seconds, for as long as a `with` block runs.

        A browser that shows the file loads it anew by itself. At the end the page says that the query has stopped, or,
        after an error, that it has failed.
        """
        return self._queries.keep_page(path, name=name, every=every)
