"""Which engine evaluates a query, and why."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property

from ensue.automata.build import Unsupported
from ensue.automata.build.expect import Expectation
from ensue.automata.model import Marks
from ensue.errors import EngineError, Problem, ProblemKind, QueryError, did_you_mean, listed
from ensue.language import ast
from ensue.language.printer import print_query
from ensue.logic.aggregation import parts_asked
from ensue.logic.check import Checked
from ensue.logic.outputs import attributes_shown, attributes_used
from ensue.logic.own_automata import automata_of
from ensue.logic.scope import attributes_read
from ensue.logic.until import are_alike, by_closing, closings_of
from ensue.logic.window import Window, peel_windows
from ensue.plan.by_spans import by_spans
from ensue.plan.expectation import expectation_of, plan_of
from ensue.plan.from_query import planned
from ensue.plan.lanes import NotFolded, folded_plan
from ensue.plan.layered import LayeredPlan, layered_plan
from ensue.plan.plan import Plan
from ensue.plan.runs_plan import RunsPlan, runs_plan
from ensue.rewrite import RULES, UNTIED, QueryParts, RewriteStep, Rule
from ensue.rewrite.spell_out_next import spell_out_next
from ensue.rewrite.take_out_closing import without_closing
from ensue.rewrite.tie_equalities import tied

#: What a user may ask for. `auto` is the automaton engine if it can evaluate the query, and otherwise the reference.
ENGINES = ("auto", "automaton", "reference")


@dataclass(frozen=True)
class Choice:
    """The engine of a checked query: the automaton engine with its plan, or the reference with the reason why."""

    checked: Checked
    evaluated: Checked  # with the equalities that tie its events as partitions: it has the same matches
    plan: Plan | None
    because: str  # why the reference evaluates it; empty if it does not
    steps: tuple[RewriteStep, ...] = ()  # the query after each rewriting rule, if it has a plan
    expectation: Expectation | None = None  # which events EXPECT does not expect
    runs: RunsPlan | None = None  # an automaton of the user's own with a register, where it needs a plan of its own
    layers: LayeredPlan | None = None  # parts with plans of their own, where no plan has all of the query

    @property
    def engine(self) -> str:
        return "reference" if self.plan is None and self.runs is None and self.layers is None else "automaton"

    @property
    def without_plan(self) -> str:
        """Why no single automaton evaluates the query; empty if one does."""
        if self.runs is not None:
            return "its automaton has a register"
        return "several automata evaluate it, a part each" if self.layers is not None else self.because

    @property
    def final_marks(self) -> list[Marks]:
        """The sets of variables that matches have in the end; those of the reference differ from match to match."""
        made = self.plan if self.layers is None else self.layers
        if made is not None:
            return made.final_marks
        return [] if self.runs is None else list(self.runs.marks)

    @property
    def by_time(self) -> bool:
        """Whether all events of one time are one step: then those of a time must come together."""
        return any(own.shape.by_time for own in automata_of(self.checked.query))

    @cached_property
    def for_rows(self) -> Choice:
        """The same where only rows are asked for: windows are then found by their ends, if the rows show no more."""
        plan = None if self.plan is None else by_spans(self.plan, self.checked)
        return self if plan is None else replace(self, plan=plan)

    @cached_property
    def for_table(self) -> Choice:
        """The same where all events are there in the end: windows whose events are shown may be found by their ends."""
        plan = None if self.plan is None else by_spans(self.plan, self.checked, at_hand=True)
        return self if plan is None else replace(self, plan=plan)

    @cached_property
    def for_totals(self) -> Choice:
        """The same where only what AGGREGATE asks for is told: then matches are folded as they end, if they can be."""
        try:
            return replace(self, plan=self._folded())
        except NotFolded:
            return self

    @property
    def not_folded(self) -> str:
        """Why the matches of AGGREGATE are written out; empty if they are not."""
        try:
            self._folded()
        except NotFolded as e:
            return str(e)
        return ""

    @property
    def walked(self) -> str:
        """Why the nodes of the window are visited at each end of AGGREGATE; empty if they are not."""
        lanes = self.for_totals.plan.lanes if self.for_totals.plan is not None else None
        return "" if lanes is None else lanes.walked

    @property
    def _way(self) -> str:
        """How the matches of AGGREGATE are folded."""
        return self.not_folded or self.walked or "folded"

    def _folded(self) -> Plan:
        if self.plan is None:
            raise NotFolded(self.without_plan)
        return folded_plan(self.plan, parts_asked(self.checked.query, self.checked.schema))

    @property
    def window(self) -> Window:
        """How far apart the ends of a match may be."""
        return peel_windows(self.checked.query.pattern)[1] if self.plan is None else self.plan.window

    @property
    def attributes_kept(self) -> frozenset[str] | None:
        """The attributes that are needed to judge and show matches; None means all of them."""
        shown = attributes_shown(self.checked.outputs, self.checked.query)
        if shown is None or self.plan is None:
            return shown
        return shown.union(attributes_read(self.plan.related))

    @property
    def keys(self) -> tuple[str, ...]:
        """The attributes that the events of a match agree on: the user's keys, and what equalities tie."""
        return tuple(k.attribute for k in self.evaluated.query.partition)

    @property
    def own_keys(self) -> bool:
        """Whether these are the user's keys only."""
        return self.keys == tuple(k.attribute for k in self.checked.query.partition)

    @property
    def unwatched(self) -> Choice:
        """The same where events that EXPECT does not expect are not counted: not all come, or some come again."""
        return replace(self, expectation=None)

    @cached_property
    def watching(self) -> Plan | None:
        """The plan whose matches are the events that EXPECT does not expect."""
        return None if self.expectation is None else plan_of(self.expectation, self.checked)

    def made_by(self, tick: int | None) -> dict[str, str]:
        """What a saved state depends on, each with a fingerprint. A state can be read only if all of them are equal."""
        return {
            "query": _digest(print_query(self.checked.query)),
            **({"functions of one's own": _digest(*own)} if (own := self._own()) else {}),
            "columns or their types": _digest(*self._columns()),
            "unit of time": str(tick),
            "engine": self.engine,
            **({} if self.checked.query.aggregation is None else {"aggregation": self._way}),
            "automaton": "" if (made := self.plan or self.layers) is None else made.fingerprint,
        }

    def _own(self) -> list[str]:
        """What the query uses of the user's own: its text has only the names."""
        named = [n for n in ast.walk(self.checked.query) if isinstance(n, ast.Call | ast.Matches)]
        things = {node.own for node in named if node.own is not None}
        return sorted(f"{thing.kind} {thing.name} {thing.digest}" for thing in things)

    def _columns(self) -> list[str]:
        schema, used = self.checked.schema, attributes_used(self.checked.query)
        known = {} if schema is None else schema.attributes
        return [f"{name} {type_.arrow}" for name, type_ in sorted(known.items()) if used is None or name in used]


def _digest(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def check_engine(engine: str) -> None:
    """Refuses a name that no engine has."""
    if engine not in ENGINES:
        raise EngineError(f"unknown engine '{engine}': {did_you_mean(engine, ENGINES) or 'one of ' + listed(ENGINES)}")


def choose(checked: Checked, engine: str = "auto", *, tying: bool = True) -> Choice:
    """The engine that evaluates the query; raises QueryError if the engine that the user named cannot evaluate it.

    Without `tying`, no equality between events becomes a partition.
    """
    check_engine(engine)
    return _chosen(checked, engine, tying=tying, layers=True)


def _chosen(checked: Checked, engine: str, *, tying: bool, layers: bool) -> Choice:
    """The same; without `layers`, all must be in one plan."""
    expectation = expectation_of(checked)
    if engine == "reference":  # the meaning as it is written, with no rewriting
        return Choice(checked, checked, None, "it was asked for", expectation=expectation)
    evaluated = _tied(checked) if tying else checked
    try:
        steps, plan = _planned(checked, RULES if tying else UNTIED)
        return Choice(checked, evaluated, plan, "", steps, expectation)
    except QueryError as e:
        refused = any(p.kind is not ProblemKind.UNSUPPORTED for p in e.problems)
        own = any(ast.find(checked.query.pattern, ast.Matches)) and checked.query.aggregation is None
        runs = _runs_or_error(checked, e) if own and not refused else e
        if isinstance(runs, RunsPlan):
            return Choice(checked, checked, None, "", expectation=expectation, runs=runs)
        parts = _in_layers(checked, tying=tying) if layers and not refused and not own else None
        if parts is not None:
            return Choice(checked, checked, None, "", expectation=expectation, layers=parts)
        if engine == "automaton" or refused:
            raise runs from None
        return Choice(checked, evaluated, None, runs.problems[0].message, expectation=expectation)


def _in_layers(checked: Checked, *, tying: bool) -> LayeredPlan | None:
    """The plan in layers; None where they do not help."""

    def simply(part: Checked) -> Choice:
        return _chosen(part, "automaton", tying=tying, layers=False)

    return layered_plan(checked, lambda part: _chosen(part, "automaton", tying=tying, layers=True), simply)


def _runs_or_error(checked: Checked, error: QueryError) -> RunsPlan | QueryError:
    """The plan of an automaton of the user's own with its register, or why there is none."""
    try:
        return runs_plan(checked)
    except Unsupported as e:
        span = error.problems[0].span if e.part is None else e.part.span
        message = f"the automaton engine does not evaluate {e.what}"
        hint = "engine='auto' chooses one that does"
        return QueryError(checked.text, [Problem(ProblemKind.UNSUPPORTED, message, span, hint)])


def _planned(checked: Checked, rules: tuple[Rule, ...]) -> tuple[tuple[RewriteStep, ...], Plan]:
    """The query after each rule, and its plan. Pairs that other events close have plans of their own."""
    pattern = checked.query.pattern
    if are_alike(closings_of(pattern)):
        return planned(checked, rules)
    steps, plan = planned(_of(checked, without_closing(pattern)), rules)
    each = (planned(_of(checked, pairs), rules)[1] for pairs in by_closing(pattern))
    return steps, replace(plan, alternatives=tuple(each))


def _of(checked: Checked, pattern: ast.Pattern) -> Checked:
    return replace(checked, query=replace(checked.query, pattern=pattern))


def _tied(checked: Checked) -> Checked:
    """The query with the partitions that its equalities are, for the reference and for sharing out its work."""
    parts = QueryParts(checked)
    return tied(parts.with_pattern(spell_out_next(parts.pattern)).checked)
