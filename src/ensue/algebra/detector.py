"""Runs a deterministic automaton over a stream: a single run says for each event whether a match ends there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ensue.algebra.event_conditions import EventConditions
from ensue.api import Query
from ensue.automata.deterministic import DeterministicAutomaton, age, value_number
from ensue.automata.model import TooLarge
from ensue.automata.registers import Check, Holds, Since
from ensue.automata.unfolding import Question, Unfolding
from ensue.columns.key_columns import with_keys
from ensue.data.events import EventStream, read_events
from ensue.data.partitions import substreams_of
from ensue.data.reading import no_unit
from ensue.errors import EngineError, counted
from ensue.kernels.one_run import BITS, KnownSteps
from ensue.language import ast
from ensue.language.parser import parse_pattern
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.logic.classify import classify
from ensue.plan.detector_automaton import deterministic, unfolding

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Detector:
    """The deterministic automaton with registers of a query, or of a pattern, that has a window in events.

    It gives the same answer as `Query.detect`, in the way of the theory: with a single run, in which each event takes
    exactly one transition, and with a fixed number of registers (Alevizos et al., theorem 14). `automaton` is the whole
    of it, which may be exponentially large in the window, and is refused then. `detect` builds the states that events
    lead to, and no others; `size` says how many there are so far.

    >>> detector = Detector.of("(A AS x ; B AS y) FILTER y.v > x.v WITHIN 3 EVENTS")
    >>> detector.automaton.size, detector.automaton.registers
    (8, ['$1.1', '$1.2'])
    >>> stream = [("A", 1), ("A", 5), ("B", 3), ("B", 9)]
    >>> detector.detect([{"time": k, "type": t, "v": v} for k, (t, v) in enumerate(stream)])
    [None, None, (0, 2), (1, 3)]
    >>> detector.size
    (5, 4)
    """

    query: Query

    @classmethod
    def of(cls, query: str | Query) -> Detector:
        """Makes the detector of a query that was made with `ensue.query`, or of the text of a pattern."""
        if isinstance(query, str):
            tree = ast.Query(None, ("S",), parse_pattern(query))
            query = Query(print_query(tree), tree)
        made = cls(query)
        _ = made._built  # so that an error comes here
        return made

    @cached_property
    def automaton(self) -> DeterministicAutomaton:
        """The whole automaton; if the query has partitions, each of them runs it separately."""
        return deterministic(check(self.query.ast, self.query.text))

    @property
    def size(self) -> tuple[int, int]:
        """How many states and transitions were built so far, for the events that came."""
        return self._built.size, self._built.steps

    @cached_property
    def _built(self) -> Unfolding:
        return unfolding(check(self.query.ast, self.query.text))

    @cached_property
    def _steps(self) -> KnownSteps:
        steps = KnownSteps()
        steps.add_state(self._built.asked(0))
        return steps

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
        run = _Run(self._built, self._steps, stream, substreams)
        found: list[tuple[int, ...] | None] = [None] * len(stream)
        for place, state in enumerate(run.states().tolist()):
            ended = self._built.ends.get(state)
            if ended is not None:
                found[run.order[place]] = tuple(int(run.order[place - before]) for before in reversed(ended))
        return found


class _Run:
    """The run over a stream, partition after partition, with the answers that its events give."""

    def __init__(self, built: Unfolding, steps: KnownSteps, stream: EventStream, substreams: list[list[int]]) -> None:
        self._built, self._steps = built, steps
        self._at = EventConditions(stream, substreams)
        self.order: Integers = np.fromiter((k for s in substreams for k in s), np.int64)
        self._number = np.repeat(np.arange(len(substreams)), [len(s) for s in substreams])
        self._first = np.ones(len(self.order), dtype=np.bool_)
        self._first[1:] = self._number[1:] != self._number[:-1]
        self._answers = np.zeros((len(stream), steps.width), dtype=np.int64)
        self._known = 0  # so many questions were answered
        self._earlier: dict[int, Integers] = {}

    def states(self) -> Integers:
        """The state after each event, in the order of the run."""
        states = np.zeros(len(self.order), dtype=np.int64)
        self._answer()
        place = 0
        while (place := self._steps.follow(self._answers, self.order, self._first, place, states)) < len(self.order):
            self._learn(0 if self._first[place] else int(states[place - 1]), int(self.order[place]))
        return states

    def _learn(self, state: int, k: int) -> None:
        """The step from the state at this event."""
        before = self._built.size
        asked = self._built.asked(state)
        true = {number for number in asked if self._answers[k, number // BITS] >> number % BITS & 1}
        try:
            target = self._built.after(state, true)
        except TooLarge as e:
            raise EngineError(_too_large(self._built, e.most)) from None
        self._steps.learn(state, self._answers[k], target)
        if self._built.size > before:
            self._steps.add_state(self._built.asked(target))
            self._answer()

    def _answer(self) -> None:
        """Answers the questions that are new, for all events."""
        more = self._steps.width - self._answers.shape[1]
        if more:
            self._answers = np.hstack([self._answers, np.zeros((len(self._answers), more), dtype=np.int64)])
        for question, number in [*self._built.questions.items()][self._known :]:
            self._answers[:, number // BITS] |= self._column(question).astype(np.int64) << number % BITS
        self._known = len(self._built.questions)

    def _column(self, question: Question) -> npt.NDArray[np.bool_]:
        if not isinstance(question, Check | Since | Holds):
            return self._at.column(question)
        values = self._built.values
        return self._at.column_of(
            question, {r: (values[value_number(r)], self._before(age(r))) for r in question.registers}
        )

    def _before(self, events: int) -> Integers:
        """The event so many places before each event in its partition; -1 for none."""
        if events not in self._earlier:
            earlier = np.full(len(self.order), -1, dtype=np.int64)
            same = self._number[events:] == self._number[:-events]
            earlier[self.order[events:][same]] = self.order[:-events][same]
            self._earlier[events] = earlier
        return self._earlier[events]


def _too_large(built: Unfolding, most: int) -> str:
    return (
        f"these events lead the deterministic automaton into more than {counted(most, 'transition')}, between "
        f"{built.size:,} states: it must know which of the last events matter, which can double them with each event "
        "of the window. Shorten the window, or use Query.detect, which needs no such automaton"
    )
