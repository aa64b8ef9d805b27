"""Builds the automaton of a formula: one file for each construction, dispatched here.

The constructions are those of Grez, chapter 7, and Garcia and Riveros, appendix A. If no automaton of this kind
expresses a part of the query, `Unsupported` is raised with that part.
"""

from __future__ import annotations

from collections.abc import Collection

from ensue.automata.build import (
    after,
    all_,
    and_,
    as_,
    atom,
    chain,
    filter_,
    from_to,
    iteration,
    named_automaton,
    not_between,
    or_,
    project,
    relate,
    rounds,
    select_,
    sequence,
    span,
    strict,
    unless,
    within_events,
    within_time,
)
from ensue.automata.build.limits import Unsupported
from ensue.automata.build.tracking import Watcher
from ensue.automata.liveness import pruned, uses_of
from ensue.automata.model import Automaton, TooLarge
from ensue.automata.predicates import rankings_of
from ensue.automata.registers import fresh
from ensue.language import ast
from ensue.language.position_logic import FromTo
from ensue.language.printer import print_pattern
from ensue.logic.comparisons import chains
from ensue.logic.scope import captured, free, has_rounds, is_atom, joined, nullable, singles
from ensue.logic.stored_values import Register

__all__ = ["Unsupported", "apart", "build", "told_apart"]


def build(p: ast.Pattern) -> Automaton:
    """An automaton whose runs, over the events of a stream from the first on, give exactly the complex events of `p`.

    >>> from ensue.language.parser import parse_pattern
    >>> build(parse_pattern("A ; B+"))
    Automaton(size=4, finals=frozenset({2}))
    """
    try:
        made, given = _construct(p), _given(p)
        return relate.bound(p, made, given) if given else made
    except TooLarge as e:
        raise Unsupported(p, f"a pattern whose automaton has more than {e.most:,} transitions") from None


def _construct(p: ast.Pattern) -> Automaton:
    match p:
        case ast.Type():
            return atom.of_type(p.name)
        case ast.Any():
            return atom.of_any()
        case ast.Matches():
            return named_automaton.construct(p)
        case ast.Satisfying():
            return atom.satisfying(build(p.body), p.condition)
        case ast.SpanOf():
            return span.construct(build(p.body), p.variable)
        case ast.After():
            return _after(p)
        case FromTo():
            return from_to.construct(p)
        case ast.As():
            return as_.construct(build(p.body), p.variable, marks_all=is_atom(p.body))
        case ast.Filter():
            return filter_.construct(p, build(p.body))
        case ast.Sequence() | ast.NotBetween():
            return _sequence(p)
        case ast.Iteration():
            return _iteration(p)
        case ast.Or():
            return or_.construct(*told_apart(build(p.left), build(p.right)))
        case ast.And():
            return and_.construct(*apart(build(p.left), build(p.right)))
        case ast.All():
            return all_.construct(*apart(build(p.left), build(p.right)), joined(p))
        case ast.Unless():
            return unless.construct(p, build(p.body), _absent(p.absent))
        case ast.NotBefore():
            raise Unsupported(p, "an absence with a deadline before a pattern")
        case ast.Project():
            return project.construct(build(p.body), frozenset(p.variables))
        case ast.Within(window=ast.EventCount(count=count)):
            return within_events.construct(build(p.body), count)
        case ast.Within(window=ast.Interval() as interval):
            return within_time.construct(build(p.body), interval)
        case ast.Select(selector=ast.Selector.STRICT):
            return strict.construct(build(p.body))
        case ast.Select() if select_.is_settled(p.selector, p.body):
            return build(p.body)
        case ast.Select():
            return select_.construct_any(p.selector, _without_actions(p.body), print_pattern(p.body))
        case ast.Optional():
            return build(p.body)  # the sequence around it allows skipping it
    raise AssertionError(p)


def _sequence(p: ast.Sequence | ast.NotBetween) -> Automaton:
    if isinstance(p, ast.Sequence) and p.link is ast.Link.NEXT:
        where = "what comes next depends on a name that is bound on both sides, or in a step that may be left out"
        raise Unsupported(p, f"-> where {where}")
    left, right = told_apart(build(p.left), build(p.right))
    optional = {"left_optional": nullable(p.left), "right_optional": nullable(p.right)}
    if isinstance(p, ast.NotBetween):
        return not_between.construct(p, left, _absent(p.absent), right, gap=p.gap, **optional)
    return sequence.construct(left, right, contiguous=p.link is ast.Link.DIRECTLY, gap=p.gap, **optional)


def _after(p: ast.After) -> Automaton:
    if p.past is None:
        return after.construct(build(p.body), p, None, "", begins=True)
    past = pruned(build(p.past))
    if past.registers:
        raise Unsupported(p.past, "a comparison of events, or of their times, behind AFTER")
    if rankings_of(t.guard for t in past.transitions):
        raise Unsupported(p.past, "NEXT or LAST of so large a pattern behind AFTER")
    return after.construct(build(p.body), p, past, print_pattern(p.past), begins=nullable(p.past))


def _iteration(p: ast.Iteration) -> Automaton:
    if not has_rounds(p):
        return build(p.body)  # its conditions on the round before speak of an iteration around it
    p = rounds.gathered(p)
    body, compared, related = chains(p.body)
    watcher = None if p.absent is None else Watcher(p, _absent(p.absent))
    directly = p.link is ast.Link.DIRECTLY
    made = iteration.construct(build(body), p.low, p.high, contiguous=directly, gap=p.gap, watcher=watcher)
    for c in compared:
        made = chain.construct(c, made)
    for condition in related:
        made = relate.between_rounds(condition, made)
    return rounds.told(p, made)


def apart(p: Automaton, q: Automaton) -> tuple[Automaton, Automaton]:
    """The two automata with disjoint registers, for automata that run at the same time."""
    return _without_clash(p, q, p.registers & q.registers)


def told_apart(p: Automaton, q: Automaton) -> tuple[Automaton, Automaton]:
    """The two automata, which do not run at the same time, so that they may share registers.

    A register has one type, so they share only registers that both use for the same values.
    """
    common = p.registers & q.registers
    if not common:
        return p, q
    used, other = uses_of(p), uses_of(q)
    return _without_clash(p, q, {r for r in common if used[r] != other[r]})


def _without_clash(p: Automaton, q: Automaton, clash: Collection[Register]) -> tuple[Automaton, Automaton]:
    names = fresh(p.registers, q.registers)
    return p, q.renamed({r: next(names) for r in sorted(clash)})


def _given(p: ast.Pattern) -> frozenset[str]:
    """The variables of `p` that conditions inside `p` use from outside their own pattern."""
    match p:
        case ast.Unless() | ast.NotBetween():
            return captured(p) | (free(p.absent) & singles(p))
        case ast.Iteration(absent=ast.Pattern() as absent):
            return captured(p) | (free(absent) & singles(p.body))
    return captured(p)


def _absent(p: ast.Pattern) -> Automaton:
    """The automaton of an absent pattern: all its runs are followed at once, as sets of states."""
    made = pruned(build(p))
    if made.registers:
        raise Unsupported(p, "a comparison of events, or of their times, inside an absent pattern")
    if rankings_of(t.guard for t in made.transitions):
        raise Unsupported(p, "NEXT or LAST of so large a pattern inside an absent pattern")
    return made


def _without_actions(p: ast.Pattern) -> Automaton:
    """The automaton of the body of a selector, whose runs are compared with each other: it must have no registers."""
    made = build(p)
    if any(t.actions for t in made.transitions):
        raise Unsupported(p, "a comparison of events, or of their times, under a selector inside the pattern")
    return made
