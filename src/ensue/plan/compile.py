"""The plan of a query: its automaton, its window, and the rules by which complex events are reported."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from ensue.automata.ambiguity import is_ambiguous
from ensue.automata.build import Unsupported, build, project, select_, strict
from ensue.automata.formula import Formula, NoInstruction, formula_of, kind_of
from ensue.automata.fuse import fuse_tests
from ensue.automata.liveness import pruned, shared
from ensue.automata.model import Automaton, Marks, TooLarge
from ensue.automata.predicates import Before, Guard, Machine, Predicate, machines_of, predicates_of, print_guard
from ensue.automata.registers import NO_ACTIONS, Actions, Check, Holds, Register, Store, formulas_of
from ensue.automata.timing.one_clock import on_one_clock
from ensue.data.schema import Kind
from ensue.errors import Problem, ProblemKind, QueryError
from ensue.language import ast
from ensue.language.printer import print_expression, print_interval, print_pattern, print_query
from ensue.logic.check import Checked
from ensue.logic.clauses import NotUnary
from ensue.logic.comparisons import fits_a_register
from ensue.logic.outputs import projected
from ensue.logic.scope import free, is_atom, names_in
from ensue.logic.types import Typing
from ensue.logic.window import Window, bounded, looks_back, peel_windows
from ensue.plan.mode import Mode
from ensue.rewrite import RULES, rewrite
from ensue.rewrite.lift_windows import lift_windows
from ensue.rewrite.move_relations import Conditions, take_out
from ensue.rewrite.tie_equalities import tied

#: Marks are stored in 16 bits and predicates of an event in one word.
MAX_MARKS = 2**16 - 1
MAX_PREDICATES = 63
#: The registers of a run that are in use are the bits of a word.
MAX_REGISTERS = 30
#: Each bit of what came before an event can double the classes of events, of which there are at most 2^16.
MAX_BITS_BEFORE = 12
#: The selectors that compare complex events with each other.
CHOOSING = (ast.Selector.NEXT, ast.Selector.LAST, ast.Selector.MAX)


@dataclass(frozen=True)
class Absence:
    """What must not follow a match by the deadline: an event at which one of the guards holds."""

    guards: tuple[Guard, ...]
    deadline: ast.Interval

    @cached_property
    def predicates(self) -> list[Predicate]:
        return predicates_of(self.guards)

    def holds(self, word: int) -> bool:
        """Whether an event is one that must not follow; bit `k` of its word says whether predicate `k` holds."""
        true = {p for k, p in enumerate(self.predicates) if word >> k & 1}
        return any(all((p in true) == positive for p, positive in guard) for guard in self.guards)


@dataclass(frozen=True)
class Plan:
    """What the automaton engine runs. It holds no data and pickles."""

    checked: Checked
    steps: tuple[tuple[str, ast.Pattern], ...]  # the formula after each rewriting rule
    automaton: Automaton
    window: Window
    chooses: ast.Selector | None  # the selector that chooses among the matches of an end; mostly the automaton has
    shown: Marks  # the variables that the items use
    counts_all: bool  # whether a window in events counts those of all keys: where the keys are not the user's
    related: Conditions  # what is judged on whole matches: the conditions between events
    chooses_judged: ast.Selector | None = None  # the selector that chooses among those for which they hold
    absence: Absence | None = None  # what must not follow them
    as_built: Automaton | None = None  # where the automaton is one that one clock evaluates: what it was made of

    @property
    def on_one_clock(self) -> bool:
        """Whether the lists of `kernels/clock_lists.py` evaluate it: constant time an event, windows included."""
        return self.as_built is not None

    @property
    def with_registers(self) -> Plan:
        """The same query with registers and a window, for what those lists do not tell."""
        return self if self.as_built is None else replace(self, automaton=self.as_built, as_built=None)

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
    def actions(self) -> list[Actions]:
        """What transitions do with registers, by number; 0 is nothing."""
        used = {t.actions for t in self.automaton.transitions if t.actions}
        return [NO_ACTIONS, *sorted(used, key=lambda actions: sorted(map(str, actions)))]

    @property
    def remembered(self) -> frozenset[str]:
        """The attributes whose values registers hold or are compared with."""
        used = [a.value for actions in self.actions for a in actions if isinstance(a, Store | Check)]
        used += [f.condition for actions in self.actions for f in formulas_of(actions)]
        return frozenset(n.name for e in used if e is not None for n in ast.find(e, ast.Name))

    @cached_property
    def formulas(self) -> dict[Holds, Formula]:
        """The conditions over several registers, as instructions."""
        found = dict.fromkeys(f for actions in self.actions for f in formulas_of(actions))
        return {f: formula_of(f, self._stored, self.checked.schema) for f in found}

    @property
    def _stored(self) -> dict[Register, ast.Expression]:
        """What registers hold other than times."""
        return {a.register: a.value for actions in self.actions for a in actions if isinstance(a, Store) and a.value}

    @cached_property
    def computed(self) -> dict[Register, Kind]:
        """The registers that formulas compute with, each with the kind of what it holds."""
        typing = Typing(self.checked.schema)
        return {r: kind_of(self._stored[r], typing) for f in self.formulas.values() for r in f.registers}

    @cached_property
    def terms(self) -> dict[ast.Expression, Kind]:
        """What formulas take of the event, each with its kind."""
        typing = Typing(self.checked.schema)
        return {t: kind_of(t, typing) for f in self.formulas.values() for t in f.terms}

    @cached_property
    def final_marks(self) -> list[Marks]:
        """The same once the conditions between events are judged and their variables left out."""
        return list(dict.fromkeys(m & self.shown for m in self.marks)) if self.related else self.marks

    @cached_property
    def ambiguous(self) -> bool:
        """Whether the automaton may report the same complex event twice."""
        return is_ambiguous(self.automaton)

    @property
    def chooses_earliest(self) -> bool:
        """Whether a match is chosen by its start: that is NEXT, unless a run can start with an unmarked event."""
        starts = [t for t in self.automaton.transitions if t.source == 0]
        return self.chooses is ast.Selector.NEXT and not self.automaton.registers and all(t.marks for t in starts)

    @property
    def judged(self) -> bool:
        """Whether some of what the automaton reports is not reported in the end: it counts no matches then."""
        return bool(self.related) or self.ambiguous

    @property
    def decided_last(self) -> str:
        """What is decided among the matches of an end once they are written out, in words; mostly nothing is.

        Otherwise the match structure itself tells which events took part in them.
        """
        if self.chooses is not None:
            return f"{self.chooses} chooses among those of an end"
        if self.related:
            return "conditions are judged on whole ones"
        return "LIMIT takes some of those of an end" if self.query.limit is not None else ""

    def walks(self, mode: Mode) -> bool:
        """Whether the match structure tells by itself which events took part, without the matches."""
        return mode is Mode.UNION and not self.decided_last

    @cached_property
    def fingerprint(self) -> str:
        """Tells plans apart whose saved states must not be mixed: other queries, and other rewritings of the same."""
        texts = [print_query(self.query), print_pattern(self.steps[-1][1]), *map(print_expression, self.related)]
        if self.absence is not None:
            texts += [*sorted(map(print_guard, self.absence.guards)), print_interval(self.absence.deadline)]
        if self.on_one_clock:
            texts.append("on one clock")
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def compile_plan(checked: Checked, *, rewriting: bool = True, tying: bool = True) -> Plan:
    """The plan of a query; raises QueryError where the automaton engine does not evaluate a part of it.

    Without `tying`, no equality between events becomes a partition: registers check them all.
    """
    steps = [("as written", checked.query.pattern)]
    own_keys = bool(checked.query.partition)
    checked = _step(steps, "tie by equality", tied(checked, counting=not own_keys)) if rewriting and tying else checked
    try:
        checked, absence = _without_absence(checked)
    except (Unsupported, NotUnary) as e:
        raise _refusal(checked, e) from None
    _step(steps, "take out the absence", checked)
    checked, related = _without_relations(checked)
    _step(steps, "move relations", checked)
    steps += rewrite(checked.query.pattern, RULES if rewriting else ())[1:]
    query = checked.query
    try:
        selector, pattern = peel_selector(query, steps[-1][1])
        pattern, window = peel_windows(pattern)
        written = window
        window = bounded(window, pattern)
        automaton, chooses = pruned(shared(build(pattern), _is_float(checked))), None
        settled = selector not in CHOOSING or select_.is_settled(selector, pattern)
        # What is judged is judged before the query's own selector chooses, and after one inside the pattern has.
        chooses_judged = selector if related and query.selector in CHOOSING and not settled else None
        if selector is ast.Selector.STRICT:
            automaton = pruned(strict.construct(automaton))  # what only events between have asked for goes
        elif not settled and chooses_judged is None:
            limited = window != Window() or query.consume is not ast.Consume.NONE
            automaton, chooses = _select(selector, pattern, automaton, limited=limited)
        # The items project: determinisation then reports once what agrees on the variables that they use.
        shown = projected(checked.outputs)
        kept = shown.union(*map(names_in, related))
        if chooses_judged is not None:  # which compares all marked events
            kept = kept.union(*(t.marks for t in automaton.transitions))
        construct = project.construct if chooses is None else project.construct_with_support
        automaton = fuse_tests(construct(automaton, kept))
        counts_all = bool(query.partition) and not own_keys
        plan = Plan(
            checked, tuple(steps), automaton, window, chooses, shown, counts_all, related, chooses_judged, absence
        )
        plan = _on_one_clock(plan, written)
        asked = [plan.predicates, *(m.predicates for m in plan.machines), absence.predicates if absence else ()]
        if max(map(len, asked)) > MAX_PREDICATES:
            raise Unsupported(query, f"a query with more than {MAX_PREDICATES} different conditions")
        if sum(isinstance(p, Before) for p in plan.predicates) > MAX_BITS_BEFORE:
            raise Unsupported(query, "a query whose selectors ask for so much of what came before")
        _check_registers(plan)
        if len(plan.marks) > MAX_MARKS:
            raise Unsupported(query, f"a query with more than {MAX_MARKS} different sets of marks")
        return plan
    except (Unsupported, NotUnary) as e:
        raise _refusal(checked, e) from None


def _on_one_clock(plan: Plan, written: Window) -> Plan:
    """The plan for one clock, if the query is such; a window that only follows from the gaps is no bound of its own."""
    if plan.chooses is not None or written.events is not None:
        return plan
    automaton = on_one_clock(plan.automaton, written.time)
    return plan if automaton is None else replace(plan, automaton=automaton, as_built=plan.automaton)


def _refusal(checked: Checked, e: Unsupported | NotUnary) -> QueryError:
    message = f"the automaton engine does not evaluate {e.what}"
    problem = Problem(ProblemKind.UNSUPPORTED, message, e.part.span, "engine='auto' takes one that does")
    return QueryError(checked.text, [problem])


def _select(
    selector: ast.Selector, pattern: ast.Pattern, p: Automaton, *, limited: bool
) -> tuple[Automaton, ast.Selector | None]:
    """The automaton of a whole query's selector, and the selector where a choice is left for the end of a match.

    Where a window or consumption takes early candidates away, a run cannot be compared with those that started
    before it until it ends; unless they do not matter anyway.
    """
    if p.registers:
        return p, selector  # what runs can still become depends on values: every match is a candidate
    text = print_pattern(pattern)
    try:
        selected = select_.construct(selector, p, text)
        if not limited or not select_.asks_for_earlier_runs(selected, selector, text):
            return selected, None
    except TooLarge:
        pass
    try:
        return select_.construct_by_start(selector, p), selector
    except TooLarge:
        return p, selector  # every match is a candidate then: as slow as reporting them all


def _is_float(checked: Checked) -> Callable[[ast.Expression], bool]:
    """Says of expressions over bare attributes whether they are floats, where the schema is known."""
    typing = Typing(checked.schema)
    return lambda e: (type_ := typing.infer(e)) is not None and type_.kind is Kind.FLOAT


def _check_registers(plan: Plan) -> None:
    """Refuses what no register can keep; a comparison that could be judged on whole matches is not here any more."""
    if len(plan.automaton.registers) > MAX_REGISTERS:
        raise Unsupported(plan.query, f"a query that remembers more than {MAX_REGISTERS} values")
    outside = next((f for actions in plan.actions for f in formulas_of(actions) if f.outside), None)
    if outside is not None:
        raise Unsupported(plan.query, "a condition on an event that may come later than what it is said of")
    try:
        _ = plan.formulas
    except NoInstruction as e:
        raise Unsupported(e.part, str(e)) from None
    typing = Typing(plan.checked.schema)
    checks = [c for actions in plan.actions for c in actions if isinstance(c, Check)]
    if not all(fits_a_register(c.value, typing, c.operator) for c in checks):
        what = "the order of texts, or long integers or decimals, of two events inside an iteration or among choices"
        raise Unsupported(plan.query, what)


def _step(steps: list[tuple[str, ast.Pattern]], rule: str, checked: Checked) -> Checked:
    """Notes the pattern if the rule has changed it."""
    if checked.query.pattern != steps[-1][1]:
        steps.append((rule, checked.query.pattern))
    return checked


def _without_absence(checked: Checked) -> tuple[Checked, Absence | None]:
    """The query without the absence at its end, and that absence."""
    query = checked.query
    node = next(ast.find(query.pattern, ast.NotAfter), None)
    if node is None:
        return checked, None
    if query.consume is not ast.Consume.NONE:
        raise Unsupported(node, "CONSUME BY with a deadline")
    if free(node.absent):
        raise Unsupported(node, "a deadline for what speaks of the pattern before it")
    if not is_atom(node.absent) or looks_back(node.absent):
        raise Unsupported(node, "a deadline for what depends on several events")
    automaton = pruned(shared(build(rewrite(node.absent)[-1][1])))
    guards = tuple(dict.fromkeys(t.guard for t in automaton.transitions))
    if automaton.registers or machines_of(predicates_of(guards)) or {t.source for t in automaton.transitions} > {0}:
        raise Unsupported(node, "a deadline for what depends on several events")
    return replace(checked, query=replace(query, pattern=_ended(query.pattern))), Absence(guards, node.deadline)


def _ended(p: ast.Pattern) -> ast.Pattern:
    """The pattern without the absence at its end, which has only filters and windows around it."""
    if isinstance(p, ast.NotAfter):
        return p.body
    assert isinstance(p, ast.Filter | ast.Within)
    return replace(p, body=_ended(p.body))


def _without_relations(checked: Checked) -> tuple[Checked, Conditions]:
    """The query with its comparisons where registers check them, and the conditions to be judged on whole matches.

    None are where consumption decides among complex events before.
    """
    query = checked.query
    pattern, related = take_out(query.pattern, checked.schema)
    if related and query.consume is not ast.Consume.NONE:
        return checked, ()
    return replace(checked, query=replace(query, pattern=pattern)), related


def peel_selector(query: ast.Query, p: ast.Pattern) -> tuple[ast.Selector, ast.Pattern]:
    """`SELECT ALL ... WHERE NEXT(p)` is `SELECT NEXT ... WHERE p`.

    Not with CONSUME BY, which takes candidates away from a query's selector but not from one inside the pattern.
    """
    if query.selector is ast.Selector.ALL and query.consume is ast.Consume.NONE and isinstance(p, ast.Select):
        return p.selector, lift_windows(p.body)
    return query.selector, p
