"""The plan of a query: its automaton, its window, and the rules by which complex events are reported."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from ensue.automata.build import Unsupported, build, project, select_, strict
from ensue.automata.fuse import fuse_tests
from ensue.automata.model import Automaton, Marks, TooLarge
from ensue.automata.predicates import Before, Machine, Predicate, machines_of, predicates_of
from ensue.errors import Problem, ProblemKind, QueryError
from ensue.language import ast
from ensue.language.printer import print_pattern, print_query
from ensue.logic.check import Checked
from ensue.logic.clauses import NotUnary
from ensue.logic.outputs import projected
from ensue.rewrite import RULES, rewrite
from ensue.rewrite.lift_windows import lift_windows

#: Marks are stored in 16 bits and predicates of an event in one word.
MAX_MARKS = 2**16 - 1
MAX_PREDICATES = 63
#: Each bit of what came before an event can double the classes of events, of which there are at most 2^16.
MAX_BITS_BEFORE = 12
#: The selectors that compare complex events with each other.
CHOOSING = (ast.Selector.NEXT, ast.Selector.LAST, ast.Selector.MAX)


_FARTHEST = 2**63 - 1  # a window of so many ticks bounds nothing


@dataclass(frozen=True)
class Window:
    """How far apart the ends of a complex event may be: in events, in time, in both; None is no bound."""

    events: int | None = None
    time: ast.Bound | None = None

    def ticks(self, tick: int | None) -> int | None:
        """The largest whole number of ticks that lies in the window's time, or None where time bounds nothing."""
        if self.time is None:
            return None
        assert tick is not None, "a query that compares times runs over a stream whose unit is known"
        length = self.time.duration.nanoseconds() / tick
        whole = length.numerator // length.denominator
        whole = whole - 1 if whole == length and not self.time.inclusive else whole
        return whole if whole < _FARTHEST else None


@dataclass(frozen=True)
class Plan:
    """What the automaton engine runs. It holds no data and pickles."""

    checked: Checked
    steps: tuple[tuple[str, ast.Pattern], ...]  # the formula after each rewriting rule
    automaton: Automaton
    window: Window
    chooses: ast.Selector | None  # the selector that chooses among the matches of an end; mostly the automaton has

    @property
    def query(self) -> ast.Query:
        return self.checked.query

    @cached_property
    def predicates(self) -> list[Predicate]:
        return predicates_of(t.guard for t in self.automaton.transitions)

    @cached_property
    def machines(self) -> list[Machine]:
        """What tells of the events before an event: those that others ask come first."""
        return machines_of(self.predicates)

    @cached_property
    def marks(self) -> list[Marks]:
        """The sets of variables that transitions mark, by number; 0 is no mark."""
        used = {t.marks for t in self.automaton.transitions if t.marks}
        return [frozenset(), *sorted(used, key=sorted)]

    @cached_property
    def fingerprint(self) -> str:
        """Tells plans apart whose saved states must not be mixed: other queries, and other rewritings of the same."""
        texts = [print_query(self.query), print_pattern(self.steps[-1][1])]
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def compile_plan(checked: Checked, *, rewriting: bool = True) -> Plan:
    """The plan of a query; raises QueryError where the automaton engine does not evaluate a part of it."""
    query = checked.query
    steps = rewrite(query.pattern, RULES if rewriting else ())
    try:
        selector, pattern = _peel_selector(query, steps[-1][1])
        pattern, window = _peel_windows(pattern)
        automaton, chooses = build(pattern), None
        if selector is ast.Selector.STRICT:
            automaton = strict.construct(automaton)
        elif selector in CHOOSING and not select_.is_settled(selector, pattern):
            bounded = window != Window() or query.consume is not ast.Consume.NONE
            automaton, chooses = _select(selector, pattern, automaton, bounded=bounded)
        # The items project: determinisation then reports once what agrees on the variables that they use.
        kept = projected(checked.outputs)
        construct = project.construct if chooses is None else project.construct_with_support
        plan = Plan(checked, tuple(steps), fuse_tests(construct(automaton, kept)), window, chooses)
        if max(len(plan.predicates), *(len(m.predicates) for m in plan.machines), 0) > MAX_PREDICATES:
            raise Unsupported(query, f"a query with more than {MAX_PREDICATES} different conditions")
        if sum(isinstance(p, Before) for p in plan.predicates) > MAX_BITS_BEFORE:
            raise Unsupported(query, "a query whose selectors ask for so much of what came before")
        if len(plan.marks) > MAX_MARKS:
            raise Unsupported(query, f"a query with more than {MAX_MARKS} different sets of marks")
        return plan
    except (Unsupported, NotUnary) as e:
        message = f"the automaton engine does not evaluate {e.what}"
        problem = Problem(ProblemKind.UNSUPPORTED, message, e.part.span, "engine='auto' takes one that does")
        raise QueryError(checked.text, [problem]) from None


def _select(
    selector: ast.Selector, pattern: ast.Pattern, p: Automaton, *, bounded: bool
) -> tuple[Automaton, ast.Selector | None]:
    """The automaton of a whole query's selector, and the selector where a choice is left for the end of a match.

    Where a window or consumption takes early candidates away, a run cannot be compared with those that started
    before it until it ends; unless they do not matter anyway.
    """
    text = print_pattern(pattern)
    try:
        selected = select_.construct(selector, p, text)
        if not bounded or not select_.asks_for_earlier_runs(selected, selector, text):
            return selected, None
    except TooLarge:
        pass
    try:
        return select_.construct_by_start(selector, p), selector
    except TooLarge:
        return p, selector  # every match is a candidate then: as slow as reporting them all


def _peel_selector(query: ast.Query, p: ast.Pattern) -> tuple[ast.Selector, ast.Pattern]:
    """`SELECT ALL ... WHERE NEXT(p)` is `SELECT NEXT ... WHERE p`.

    Not with CONSUME BY, which takes candidates away from a query's selector but not from one inside the pattern.
    """
    if query.selector is ast.Selector.ALL and query.consume is ast.Consume.NONE and isinstance(p, ast.Select):
        return p.selector, lift_windows(p.body)
    return query.selector, p


def _peel_windows(p: ast.Pattern) -> tuple[ast.Pattern, Window]:
    """The pattern without the upper bounds on its whole length, which the match structure keeps."""
    events: int | None = None
    time: ast.Bound | None = None
    while isinstance(p, ast.Within):
        window = p.window
        if isinstance(window, ast.EventCount):
            events = window.count if events is None else min(events, window.count)
        elif window.high is None or not _from_zero(window.low):
            break
        elif time is None or _tighter(window.high, time):
            time = window.high
        p = p.body
    return p, Window(events, time)


def _from_zero(low: ast.Bound | None) -> bool:
    return low is None or (low.inclusive and low.duration.nanoseconds() == 0)


def _tighter(a: ast.Bound, b: ast.Bound) -> bool:
    length, other = a.duration.nanoseconds(), b.duration.nanoseconds()
    return length < other or (length == other and not a.inclusive)
