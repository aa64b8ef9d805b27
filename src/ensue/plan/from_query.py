"""Checked query to automaton, and to its plan: the constructions in their order, and what they leave to be decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ensue.automata.build import Unsupported, build, not_before, project, select_, strict
from ensue.automata.build.limits import TooLargeToBuild
from ensue.automata.liveness import pruned, with_shared_registers
from ensue.automata.model import NO_MARKS, Automaton, TooLarge
from ensue.data.schema import Kind, Schema
from ensue.errors import Problem, ProblemKind, QueryError
from ensue.language import ast
from ensue.language.printer import print_pattern
from ensue.logic.check import Checked
from ensue.logic.outputs import projected
from ensue.logic.scope import free, names_in
from ensue.logic.types import Typing
from ensue.logic.window import bounded
from ensue.plan.absence import absence_of
from ensue.plan.automaton_spec import NO_WINDOW, AutomatonSpec
from ensue.plan.closing import Closing, closing_of, followers_of
from ensue.plan.from_automaton import plan_automaton
from ensue.plan.plan import Plan
from ensue.rewrite import RULES, QueryParts, RewriteStep, Rule, rewrite, rewrite_pattern, with_less_to_remember

#: The selectors that compare complex events with each other.
_CHOOSING = (ast.Selector.NEXT, ast.Selector.LAST, ast.Selector.MAX)


def compile_plan(checked: Checked, rules: tuple[Rule, ...] = RULES) -> Plan:
    """The plan of a query after these rules; raises QueryError as `plan_query` does."""
    return planned(checked, rules)[1]


def planned(checked: Checked, rules: tuple[Rule, ...] = RULES) -> tuple[tuple[RewriteStep, ...], Plan]:
    """The query after each rule, and its plan; where registers cannot hold all, they are asked for less."""
    steps = rewrite(checked, rules)
    try:
        return steps, plan_query(steps[-1].parts)
    except QueryError as e:
        refused = e
    tried = [steps[-1].parts]
    for other in with_less_to_remember(rules):
        if any(p.kind is not ProblemKind.UNSUPPORTED for p in refused.problems):
            break
        fewer = rewrite(checked, other)
        if fewer[-1].parts in tried:
            continue
        try:
            return fewer, plan_query(fewer[-1].parts)
        except QueryError as e:
            refused = e
            tried.append(fewer[-1].parts)
    raise refused


def plan_query(parts: QueryParts) -> Plan:
    """The plan of a rewritten query; raises QueryError where the automaton engine does not evaluate a part of it."""
    try:
        return plan_automaton(automaton_of(parts))
    except Unsupported as e:
        message = f"the automaton engine does not evaluate {e.what}"
        part = parts.query if e.part is None else e.part
        problem = Problem(ProblemKind.UNSUPPORTED, message, part.span, "engine='auto' chooses one that does")
        raise QueryError(parts.checked.text, [problem]) from None
    except TooLargeToBuild as e:
        problem = Problem(ProblemKind.SIZE, f"the formula is too large: {e.what}", e.part.span, e.hint)
        raise QueryError(parts.checked.text, [problem]) from None


def automaton_of(parts: QueryParts) -> AutomatonSpec:
    """The automaton of a rewritten query, with what is decided outside of it; raises Unsupported with the part."""
    query, schema = parts.query, parts.checked.schema
    if any(next(ast.find(o.expression, ast.InRegister), None) for o in parts.checked.outputs):
        raise Unsupported(parts.pattern, "rows that show the register of an automaton")
    absence = None if parts.absence is None else absence_of(parts.absence, query.consume)
    whole = parts.pattern if parts.before is None else replace(parts.before, body=parts.pattern)
    window = bounded(parts.window, whole)
    built = pruned(with_shared_registers(build(parts.pattern), _is_float(schema)))
    if parts.before is not None:
        built = _preceded(built, parts.before)
    closing = _closing(parts)
    if closing is not None and closing.consumes:
        query = replace(query, selector=ast.Selector.ALL, consume=ast.Consume.NONE, limit=None)
        parts = replace(parts, checked=replace(parts.checked, query=query))  # that is decided once windows are closed
    chosen = _chosen(parts, built, limited=window != NO_WINDOW or query.consume is not ast.Consume.NONE)
    # The items project: determinisation then reports once what agrees on the variables that they use.
    shown = projected(parts.checked.outputs)
    kept = shown.union(*map(names_in, parts.related))
    if chosen.judged is not None:  # it compares all marked events
        kept = kept.union(*(t.marks for t in chosen.automaton.transitions))
    construct = project.construct if chosen.left is None else project.construct_with_support
    return AutomatonSpec(
        automaton=construct(chosen.automaton, kept),
        schema=schema,
        window=window,
        keys=tuple(k.attribute for k in query.partition),
        limit=None if query.order else query.limit,  # no end has more of the first rows than there are
        consume=query.consume,
        chooses=chosen.left,
        compares_all=chosen.among_all,
        own_window=None if window == parts.window else parts.window,
        counts_all=parts.counts_all,
        related=parts.related,
        only_judged=kept - shown if parts.related else NO_MARKS,
        chooses_judged=chosen.judged,
        absence=absence,
        closing=closing,
    )


def _closing(parts: QueryParts) -> Closing | None:
    """What closes windows, with its own plan."""
    until, query = parts.closing, parts.query
    if until is None:
        return None
    if query.consume is not ast.Consume.NONE and parts.related:
        raise Unsupported(parts.related[0], "CONSUME BY with UNTIL and a condition on whole windows")
    automaton, keys = followers_of(until), tuple(k.attribute for k in query.partition)
    spec = None if automaton is None else AutomatonSpec(automaton, parts.checked.schema, keys=keys)
    return closing_of(until, None if spec is None else plan_automaton(spec), query)


def _preceded(built: Automaton, before: ast.NotBefore) -> Automaton:
    """The automaton whose runs start only where the absent pattern has not come before."""
    if free(before.absent):
        why = "an absence before a pattern that uses its events, unless equalities tie it to all of them"
        raise Unsupported(before, why)
    absent = pruned(build(rewrite_pattern(before.absent)))
    if absent.registers:
        raise Unsupported(before.absent, "a comparison of events, or of their times, in an absence before a pattern")
    return not_before.construct(built, absent, before.deadline, print_pattern(before.absent))


def _is_float(schema: Schema | None) -> Callable[[ast.Expression], bool]:
    """Says of expressions over bare attributes whether they are floats, where the schema is known."""
    typing = Typing(schema)
    return lambda e: (type_ := typing.infer(e)) is not None and type_.kind is Kind.FLOAT


# ---------------------------------------------------------------- the selector of the whole


@dataclass(frozen=True)
class _Chosen:
    """An automaton with a selector built into it, as far as that can be."""

    automaton: Automaton
    left: ast.Selector | None = None  # what is left to choose at the end of a match
    among_all: bool = False  # whether every match of that end is a candidate
    judged: ast.Selector | None = None  # the same, to choose among matches that were judged


def _chosen(parts: QueryParts, built: Automaton, *, limited: bool) -> _Chosen:
    """What is judged is judged before the query's own selector chooses, and after one inside the pattern has."""
    selector = parts.selector or parts.query.selector
    if selector is ast.Selector.STRICT:
        try:
            return _Chosen(pruned(strict.construct(built)))  # what only events between have asked for goes
        except TooLarge as e:
            raise Unsupported(
                parts.pattern, f"a pattern whose automaton has more than {e.most:,} transitions"
            ) from None
    if selector not in _CHOOSING or select_.is_settled(selector, parts.pattern):
        return _Chosen(built)
    if parts.related and parts.selector is None:
        return _Chosen(built, judged=selector)
    return _selected(selector, parts.pattern, built, limited=limited)


def _selected(selector: ast.Selector, pattern: ast.Pattern, p: Automaton, *, limited: bool) -> _Chosen:
    """Where a window or consumption takes early candidates away, a choice is left for the end of a match.

    A run cannot be compared with those that started before it until it ends; unless they do not matter anyway.
    """
    if p.registers:
        return _Chosen(p, left=selector, among_all=True)  # what runs can still become depends on values
    text = print_pattern(pattern)
    try:
        # Under a limit, what depends on all events before is not used, and so need not be made small.
        selected = (select_.construct if limited else select_.construct_any)(selector, p, text)
        if not limited or not select_.asks_for_earlier_runs(selected, selector, text):
            return _Chosen(selected)
    except TooLarge:
        pass
    try:
        return _Chosen(select_.construct_by_start(selector, p), left=selector)
    except TooLarge:
        return _Chosen(p, left=selector, among_all=True)  # as slow as reporting them all
