"""Asks the engine how far matches come, step by step, and how many more would come if one constraint were lifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ensue.columns.key_columns import with_keys
from ensue.data.budget import Budget
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream, read_events
from ensue.data.reading import Reading
from ensue.data.schema import Schema
from ensue.engines.whole_tables import evaluate_table
from ensue.errors import EngineError, QueryError
from ensue.language import ast
from ensue.logic.check import Checked, check
from ensue.logic.memory_advice import advice_for
from ensue.logic.outputs import attributes_used
from ensue.logic.partition_keys import key_name
from ensue.pipeline import RunOptions, prepare
from ensue.plan.choice import check_engine, choose
from ensue.why.answer import MOST, Ended, Step
from ensue.why.lifting import Constraint, Lifted, lifted
from ensue.why.pattern_steps import PatternStep, filtered, length, own_conditions, prefix, steps_of

#: Up to so many matches are compared one by one, to tell those that a lifted constraint adds from the others.
COMPARED = 20_000

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Asked:
    """A query over a stream that has been read, of which other patterns are asked too."""

    query: ast.Query
    text: str
    stream: EventStream
    schema: Schema
    options: RunOptions

    @classmethod
    def of(cls, query: ast.Query, text: str, events: Any, options: RunOptions, reading: Reading) -> Asked:
        """Reads the events, and refuses what `run` would refuse."""
        check_engine(options.engine)
        check(query, text)
        stream = read_events(events, query.streams, used=attributes_used(query), **reading)
        prepare(query, text, stream.schema, stream.tick, reading, engine=options.engine)
        return cls(query, text, with_keys(stream, query), stream.schema, options)

    @cached_property
    def keys(self) -> list[str]:
        return [key_name(k) for k in self.query.partition]

    def found(self, lifted: Lifted | ast.Pattern, *, whole: bool = False) -> ComplexEvents | None:
        """The matches of a pattern, at most `MOST`; None if it cannot be asked. With `whole`, the query chooses."""
        pattern = lifted.pattern if isinstance(lifted, Lifted) else lifted
        query = replace(self.query, items=None, pattern=pattern, order=(), expect=None, limit=MOST, per=ast.Per.RESULT)
        query = replace(query, consume=ast.Consume.NONE)
        if not whole:
            query = replace(query, selector=ast.Selector.ALL)
        if isinstance(lifted, Lifted) and lifted.kind is Constraint.PARTITION:
            query = replace(query, partition=())
        return self._evaluated(query)

    @property
    def matches(self) -> int:
        """How many matches the query itself has, at most `MOST`."""
        query = replace(self.query, order=(), expect=None)
        return len(self._evaluated(replace(query, limit=MOST) if query.limit is None else query) or ())

    def _evaluated(self, query: ast.Query) -> ComplexEvents | None:
        try:
            choice = choose(check(query, self.text, self.schema), self.options.engine)
            budget = Budget.of(self.options.memory, advice_for(query, self.options.engine))
            with budget.explaining_memory_errors():
                return evaluate_table(choice, self.stream, budget=budget, closed=self.options.closed)
        except (QueryError, EngineError):  # the pattern means nothing without the constraint, or there is no room
            return None

    def checked(self, pattern: ast.Pattern, *expressions: ast.Expression) -> Checked | None:
        """A query that shows the values of these in the matches of a pattern; None if they have none there."""
        items = tuple(ast.Item(e, str(k)) for k, e in enumerate(expressions))
        query = ast.Query(items, self.query.streams, pattern)
        try:
            return check(query, self.text, self.schema)
        except QueryError:
            return None


@dataclass(frozen=True)
class Frontier:
    """How far matches of a pattern come: its steps, and what ended those that came the furthest."""

    steps: list[Step]
    reached: ComplexEvents  # at the last step that was asked
    ended: list[tuple[Lifted, ComplexEvents]]  # what would be there without a constraint, for each that ended some


def frontier(asked: Asked, pattern: ast.Pattern, progress: Progress | None = None) -> Frontier:
    """Follows a pattern from its first step to the first one that no match reaches, or to its last."""
    steps: list[Step] = []
    last: tuple[ComplexEvents, list[tuple[Lifted, ComplexEvents]]] = (ComplexEvents.of(()), [])
    known = steps_of(pattern)
    for count, step in enumerate(known, start=1):
        events, passed = _of_the_event(asked, pattern, step)
        blocked = bool(steps) and not steps[-1].reached
        if blocked:
            steps.append(Step(step.text, events, passed, 0))
        else:
            whole = count == len(known)
            last = _reached(asked, prefix(pattern, count), whole=whole)
            told = [Ended(str(found.kind), found.text, _more(last[0], more)) for found, more in last[1]]
            steps.append(Step(step.text, events, passed, len(last[0]), tuple(told)))
        if progress is not None:
            progress(count, len(known))
    return Frontier(steps, *last)


def _of_the_event(asked: Asked, pattern: ast.Pattern, step: PatternStep) -> tuple[int, int]:
    """How many events have the type of a step, and how many of them satisfy its conditions."""
    conditions = own_conditions(pattern, step.plain)
    there = asked.found(step.plain)
    passed = asked.found(filtered(step.plain, conditions)) if conditions else there
    return len(there or ()), len(passed or ())


def _reached(
    asked: Asked, pattern: ast.Pattern, *, whole: bool
) -> tuple[ComplexEvents, list[tuple[Lifted, ComplexEvents]]]:
    """The matches of a pattern, and those that each of its constraints ends, most first."""
    reached = asked.found(pattern, whole=whole) or ComplexEvents.of(())
    ended = []
    for found in _liftable(asked, pattern, whole=whole):
        more = asked.found(found, whole=whole and found.kind is not Constraint.SELECTOR)
        if more is not None and _more(reached, more):
            ended.append((found, more))
    ended.sort(key=lambda pair: -_more(reached, pair[1]))
    if not ended and not len(reached):
        ended = list(_both(asked, pattern))
    return reached, ended


def _liftable(asked: Asked, pattern: ast.Pattern, *, whole: bool) -> Iterator[Lifted]:
    yield from lifted(pattern)
    if asked.keys and length(pattern) > 1:
        yield Lifted(Constraint.PARTITION, f"PARTITION BY {', '.join(asked.keys)}", pattern)
    if whole and asked.query.selector is not ast.Selector.ALL:
        yield Lifted(Constraint.SELECTOR, f"SELECT {asked.query.selector}", pattern)


def _both(asked: Asked, pattern: ast.Pattern) -> Iterator[tuple[Lifted, ComplexEvents]]:
    """Where no constraint by itself ended all: two that did so together, the first pair that is found."""
    once = list(_liftable(asked, pattern, whole=False))
    for k, first in enumerate(once):
        for second in once[k + 1 :]:
            pattern_without = next((s.pattern for s in lifted(first.pattern) if _same(s, second)), None)
            kind = first.kind
            if second.kind is Constraint.PARTITION:
                pattern_without, kind = first.pattern, Constraint.PARTITION
            if pattern_without is None:
                continue
            both = Lifted(kind, f"{first.text}, and {second.text}", pattern_without)
            found = asked.found(both)
            if found is not None and len(found):
                yield both, found
                return


def _same(one: Lifted, other: Lifted) -> bool:
    return (one.kind, one.text) == (other.kind, other.text)


def _more(reached: ComplexEvents, lifted: ComplexEvents) -> int:
    """How many of the second are not among the first."""
    if not len(reached) or max(len(reached), len(lifted)) > COMPARED:
        return max(len(lifted) - len(reached), 0)
    return len(frozenset(lifted.each()) - frozenset(reached.each()))
