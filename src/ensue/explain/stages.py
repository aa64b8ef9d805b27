"""`explain`: how a query was understood and how it is evaluated, in words."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from ensue.automata.automaton_printer import print_automaton, print_determinised, print_deterministic
from ensue.automata.predicates import print_guard
from ensue.automata.register_moves import slow_moves
from ensue.errors import EngineError, counted
from ensue.explain.count_lines import count_lines
from ensue.explain.late_lines import late_lines
from ensue.explain.layer_lines import layer_lines
from ensue.explain.run_lines import arc_lines, run_lines
from ensue.explain.timing_lines import timing_lines
from ensue.explain.window_lines import kept_lines, pair_lines, window_lines
from ensue.language import ast
from ensue.language.printer import print_expression, print_interval, print_pattern, print_query
from ensue.logic.aggregation import group_columns
from ensue.logic.check import Checked
from ensue.logic.classify import Fragment, classify
from ensue.logic.late_events import told_of_late_events
from ensue.logic.local_conditions import MOST_TIMES_LARGER, combinations, local_conditions
from ensue.logic.never import warnings_of
from ensue.logic.own_automata import automata_of
from ensue.logic.partition_keys import key_name
from ensue.logic.scope import bindings, named_twice
from ensue.plan import Plan
from ensue.plan.choice import Choice
from ensue.plan.detector_automaton import deterministic
from ensue.plan.redundant import warnings_by_automata
from ensue.rewrite import RewriteStep
from ensue.rewrite.split_cases import MOST_CONDITIONS, conditions_on_outer_events


def explain(choice: Choice, *, verbose: bool = False, more: Mapping[str, list[str]] | None = None) -> str:
    """The query in normal form, its variables, the properties that decide how it is evaluated, and the engine.

    If there is a plan, its formula is shown after each rule that changed it, then the automaton; `verbose` also shows
    the determinised automaton. `more` has further sections, such as those about Spark.
    """
    checked, plan = choice.checked, choice.plan
    sections = {
        "query": print_query(checked.query).splitlines(),
        "warnings": [line for w in _warnings(choice) for line in w.splitlines()],
        "variables": _variables(checked.query.pattern),
        "result": _columns(checked),
        "evaluation": [
            *_filters(checked.query),
            *_properties(classify(checked.query)),
            f"late          {told_of_late_events(checked.query)}",
            *_keys(choice),
            *_engine(choice),
            *_aggregation(choice),
            *count_lines(choice),
        ],
    }
    sections["windows"] = window_lines(choice)
    sections |= {f"automaton {own.name}": arc_lines(own) for own in automata_of(checked.query)}
    if plan is not None:
        sections["formula"] = _formulas(choice.steps)
        sections["formula as pairs"] = pair_lines(checked.query.pattern)
        sections["automaton"] = print_automaton(plan.automaton)
        if verbose:
            sections["determinised"] = print_determinised(plan.automaton, plan.predicates, plan.marks, plan.actions)
    sections.update(more or {})
    return "\n".join(section(title, lines) for title, lines in sections.items() if lines)


def _warnings(choice: Choice) -> tuple[str, ...]:
    return (*warnings_of(choice.checked.query, choice.checked.text), *warnings_by_automata(choice))


def section(title: str, lines: list[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])


def explain_deterministic(checked: Checked) -> str:
    """The section with the deterministic automaton of the query, or with the reason why there is none."""
    try:
        automaton = deterministic(checked)
    except EngineError as e:
        return section("deterministic", [str(e)])
    keys = ", ".join(key_name(k) for k in checked.query.partition)
    sizes = [(automaton.size, "state"), (len(automaton.steps), "transition"), (len(automaton.registers), "register")]
    size = ", ".join(counted(n, what) for n, what in sizes if n) + (f", for each {keys}" if keys else "")
    return section("deterministic", [size, *print_deterministic(automaton)])


def _formulas(steps: Sequence[RewriteStep]) -> list[str]:
    """The formula as written, and after each rule that changed its text."""
    texts = [(step.rule, print_pattern(step.parts.formula)) for step in steps]
    shown = [texts[0], *(after for before, after in itertools.pairwise(texts) if after[1] != before[1])]
    width = max(len(rule) for rule, _ in shown)
    return [f"{rule.ljust(width)}  {text}" for rule, text in shown]


def _engine(choice: Choice) -> list[str]:
    plan = choice.plan
    if choice.runs is not None:
        return run_lines(choice.runs)
    if choice.layers is not None:
        return layer_lines(choice.layers)
    if plan is None:
        slow_engine = "engine        reference: time grows with all complex events of every part"
        return [slow_engine, f"because       {choice.because}"]
    judged = " before they are judged" if plan.related else ""
    if plan.chooses is not None and plan.compares_all:
        judged = f" before {plan.chooses} chooses"
    slow = slow_moves(plan.automaton, plan.narrowings) if plan.automaton.registers and not plan.on_one_clock else []
    lines = [f"engine        automaton: {_time(plan, slow)}, plus the size of the matches{judged}"]
    spans = None if choice.for_rows.plan is None else choice.for_rows.plan.spans
    if spans is not None:
        folded = "; ".join(f.text for f in spans.folded) or "nothing"
        lines.append(f"folded        {folded}: while events come, none of which is kept for {spans.variable}")
    else:
        lines += kept_lines(choice.checked)
    for ranking in plan.rankings:
        states = counted(1 + len({target for *_, target in ranking.moves}), "state")
        lines.append(f"ranks         {ranking.selector}: the best partial match of each of {states}, in their order")
    if plan.chooses is not None:
        lines.append(f"choice        {plan.chooses}: at the end of a match, among {_candidates(plan)}")
    if plan.chooses_judged is not None:
        lines.append(f"choice        {plan.chooses_judged}: at the end of a match, among all that passed")
    lines += late_lines(choice)
    if plan.absence is not None:
        absent = " or ".join(map(print_guard, plan.absence.guards))
        lines.append(f"absent        {absent}: looked for after the end of each match")
    for closing in (p.closing for p in (plan, *plan.alternatives) if p.closing is not None):
        if closing.followers is not None:
            lines.append(f"closed        by {_closers(closing.followers, closing.one_event)}")
    lines += timing_lines(choice, slow)
    if plan.decided_last:
        lines.append(f"detection     from the matches, because {plan.decided_last}")
    return lines


def _aggregation(choice: Choice) -> list[str]:
    """How what AGGREGATE asks for is evaluated."""
    if choice.checked.query.aggregation is None:
        return []
    if choice.not_folded:
        return [f"aggregation   matches are written out, and folded at each end: {choice.not_folded}"]
    if choice.walked:
        return [f"aggregation   folded at each end, over the nodes that its matches share: {choice.walked}"]
    return ["aggregation   folded while events come: constant time per event, whatever the window and the matches"]


def _closers(followers: Plan, one_event: bool) -> str:
    """What can close a window."""
    if one_event:
        guards = dict.fromkeys(print_guard(t.guard) for t in followers.automaton.transitions)
        return f"{' or '.join(guards)}: the next event decides"
    return f"an automaton of {counted(followers.automaton.size, 'state')}: windows wait while it goes on"


def _candidates(plan: Plan) -> str:
    """Which matches of an end a selector compares with each other."""
    if not plan.compares_all:
        return "the best of each start in reach"
    among = "all of its earliest start in reach" if plan.chooses_earliest else "all of this end"
    return f"{among}, which are listed"


def _time(plan: Plan, slow: list[str]) -> str:
    """The time that an event takes."""
    if not plan.automaton.registers or (plan.on_one_clock and not plan.in_trees):
        return "constant time per event"
    if not slow:
        return "time per event logarithmic in the open partial matches"
    return f"time per event linear in the open partial matches of the window, at {'; '.join(slow)}"


def _keys(choice: Choice) -> list[str]:
    """The partition keys that were made from equalities between events."""
    if choice.plan is None:
        return []
    own = [k.attribute for k in choice.checked.query.partition]
    new = [k for k in choice.plan.keys if k not in own]
    return [f"keys          {', '.join(new)}: equal in all events of a match, so a partition"] if new else []


def _variables(pattern: ast.Pattern) -> list[str]:
    known = bindings(pattern)
    width = max(map(len, known), default=0)
    lines = [f"{x.ljust(width)}  {'one event' if single else 'a set of events'}" for x, single in known.items()]
    return lines or ["none: the pattern marks no event"]


def _columns(checked: Checked) -> list[str]:
    aggregation = checked.query.aggregation
    if aggregation is not None:
        return [", ".join([*group_columns(checked.query), *(i.alias or "" for i in aggregation.items)])]
    keys = [key_name(k) for k in checked.query.partition]
    return [", ".join([*keys, "start_time", "end_time", *(o.name for o in checked.outputs if not o.hidden)])]


def _filters(query: ast.Query) -> list[str]:
    """What the filters say of how many events, and in which form they are checked."""
    combined, local = combinations(query.pattern), local_conditions(query.pattern)
    alone = {print_expression(c) for c in combined}
    related = "; ".join(c for c in classify(query).related if c not in alone)
    several = ", or chooses between conditions on one event each" if combined else ""
    lines = [f"filters       {'related events: ' + related if related else f'each concerns one event{several}'}"]
    checked = [print_expression(c) for c in combined if c in local]
    if checked:
        lines.append(f"local         at the event of each part: {'; '.join(checked)}")
    larger = f"with it the automaton could be more than {MOST_TIMES_LARGER} times larger"
    lines += [f"not local     {print_expression(c)}: {larger}" for c in combined if c not in local]
    outer = conditions_on_outer_events(query.pattern)
    if len(outer) > MOST_CONDITIONS:
        several = f"{len(outer)} conditions on earlier events inside of choices"
        lines.append(f"not local     {several}: each can double the pattern")
    shared = named_twice(query.pattern)
    if shared:
        lines.append(f"not safe      {', '.join(shared)}: named on both sides of a sequence, AND or ALL, so a set")
    return lines


def _properties(fragment: Fragment) -> list[str]:
    lines = []
    if fragment.look_back:
        lines.append("look-back     PREV reads earlier events of the stream")
    if fragment.windows:
        lines.append(f"windows       {', '.join(_window(w) for w in fragment.windows)}")
    else:
        lines.append("windows       none: a complex event may span the whole stream")
    if fragment.timed_gaps:
        lines.append("gaps          time intervals between steps")
    if fragment.selectors:
        lines.append(f"selection     {', '.join(fragment.selectors)}")
    if fragment.absence:
        lines.append("absence       some events must not occur")
    if fragment.deadline_before is not None:
        lines.append(f"before        {_window(fragment.deadline_before)} before the start: what must not have come")
    if fragment.deadline is not None:
        lines.append(f"deadline      {_window(fragment.deadline)} after the end: reported when that time has passed")
    for closing in fragment.closings:
        lines.append(f"until         {closing} directly follows a window: it is reported then")
    return lines


def _window(window: ast.Interval | ast.EventCount) -> str:
    return f"{window.count} events" if isinstance(window, ast.EventCount) else print_interval(window)
