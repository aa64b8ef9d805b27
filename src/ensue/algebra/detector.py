"""Runs a deterministic automaton over a stream: a single run says for each event whether a match ends there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ensue.algebra.event_conditions import EventConditions
from ensue.api import Query
from ensue.automata.deterministic import Copy, DeterministicAutomaton, Step
from ensue.columns.key_columns import with_keys
from ensue.data.events import read_events
from ensue.data.partitions import substreams_of
from ensue.data.reading import no_unit
from ensue.errors import EngineError
from ensue.language import ast
from ensue.language.parser import parse_pattern
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.logic.classify import classify
from ensue.logic.stored_values import Register
from ensue.plan.detector_automaton import deterministic


@dataclass(frozen=True)
class Detector:
    """The deterministic automaton with registers of a query, or of a pattern, that has a window in events.

    It gives the same answer as `Query.detect`, in the way of the theory: with a single run, in which each event takes
    exactly one transition, and with a fixed number of registers (Alevizos et al., theorem 14). The automaton may be
    exponentially large in the window; then it is refused. It runs in plain Python: use `Query.detect` for long streams.

    >>> detector = Detector.of("(A AS x ; B AS y) FILTER y.v > x.v WITHIN 3 EVENTS")
    >>> detector.automaton.size, detector.automaton.registers
    (8, ['$1.1', '$1.2'])
    >>> stream = [("A", 1), ("A", 5), ("B", 3), ("B", 9)]
    >>> detector.detect([{"time": k, "type": t, "v": v} for k, (t, v) in enumerate(stream)])
    [None, None, (0, 2), (1, 3)]
    """

    query: Query

    @classmethod
    def of(cls, query: str | Query) -> Detector:
        """Makes the detector of a query that was made with `ensue.query`, or of the text of a pattern."""
        if isinstance(query, str):
            tree = ast.Query(None, ("S",), parse_pattern(query))
            query = Query(print_query(tree), tree)
        made = cls(query)
        _ = made.automaton  # builds the automaton, so that an error comes here
        return made

    @cached_property
    def automaton(self) -> DeterministicAutomaton:
        """The automaton; if the query has partitions, each of them runs it separately."""
        return deterministic(check(self.query.ast, self.query.text))

    def detect(
        self,
        events: Any,
        *,
        time: str | None = "time",
        type: str | None = None,
        unit: str | None = None,
        tiebreak: str | None = None,
    ) -> list[tuple[int, ...] | None]:
        """For each event: the positions of the events in the matches that end there, or None if no match does."""
        query = self.query.ast
        stream = read_events(events, query.streams, time=time, type=type, unit=unit, tiebreak=tiebreak)
        check(query, self.query.text, stream.schema)
        if stream.tick is None and classify(query).uses_time:
            raise no_unit(time)
        stream = with_keys(stream, query)
        substreams = substreams_of(stream, [k.attribute for k in query.partition])
        at = EventConditions(stream, substreams)
        found: list[tuple[int, ...] | None] = [None] * len(stream)
        for substream in substreams:
            run = Run(self.automaton, at)
            for rank, k in enumerate(substream):
                ended = run.step(k)
                if ended is not None:
                    found[k] = tuple(substream[rank - before] for before in reversed(ended))
        return found


class Run:
    """The single run of a deterministic automaton: its state and the contents of its registers."""

    def __init__(self, automaton: DeterministicAutomaton, at: EventConditions) -> None:
        self._automaton = automaton
        self._at = at
        self.state = 0
        self.stored: dict[Register, Any] = {}

    def fitting(self, k: int) -> list[Step]:
        """The transitions whose conditions the event satisfies: exactly one, unless numbers have no common order."""
        return [
            s
            for s in self._automaton.outgoing[self.state]
            if self._at.holds(s.guard, k)
            and all(self._at.passes(c, self.stored, k) == holds for c, holds in s.outcomes)
        ]

    def step(self, k: int) -> tuple[int, ...] | None:
        """Takes the transition for the event; if a match ends, returns how far back each event that took part is."""
        fitting = self.fitting(k)
        if len(fitting) != 1:  # the automaton was built for one order of all values, which these values do not have
            raise EngineError(
                "whole numbers beyond 2^53 are compared with floats and with each other, which fits no common order of "
                "values: use Query.detect"
            )
        step = fitting[0]
        self.stored = {
            w.register: self.stored[w.source] if isinstance(w, Copy) else self._at.value(w.value, k)
            for w in step.writes
        }
        self.state = step.target
        return self._automaton.ends.get(self.state)
