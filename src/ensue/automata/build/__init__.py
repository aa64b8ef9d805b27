"""Formula to automaton: one file a construction, dispatched here.

The constructions are those of Grez, chapter 7, and Garcia and Riveros, appendix A. A query part that no automaton
of this kind expresses raises `Unsupported` with the part.
"""

from __future__ import annotations

from ensue.automata.build import (
    all_,
    and_,
    as_,
    atom,
    filter_,
    iteration,
    not_between,
    or_,
    project,
    select_,
    sequence,
    strict,
    unless,
    within_events,
)
from ensue.automata.build.limits import Unsupported
from ensue.automata.model import Automaton, TooLarge
from ensue.language import ast
from ensue.language.printer import print_pattern
from ensue.logic.scope import is_atom, nullable, singles

__all__ = ["Unsupported", "build"]


def build(p: ast.Pattern) -> Automaton:
    """An automaton whose runs, over the events of a stream from the first on, give exactly the complex events of `p`.

    >>> from ensue.language.parser import parse_pattern
    >>> build(parse_pattern("A ; B+"))
    Automaton(size=4, finals=frozenset({2}))
    """
    try:
        return _construct(p)
    except TooLarge as e:
        raise Unsupported(p, f"a pattern whose automaton has more than {e.most:,} transitions") from None


def _construct(p: ast.Pattern) -> Automaton:
    match p:
        case ast.Type():
            return atom.of_type(p.name)
        case ast.Any():
            return atom.of_any()
        case ast.As():
            return as_.construct(build(p.body), p.variable, marks_all=is_atom(p.body))
        case ast.Filter():
            return filter_.construct(p, build(p.body))
        case ast.Sequence() if p.gap is None:
            return sequence.construct(
                build(p.left),
                build(p.right),
                contiguous=p.contiguous,
                left_optional=nullable(p.left),
                right_optional=nullable(p.right),
            )
        case ast.Iteration() if p.gap is None:
            return iteration.construct(build(p.body), p.low, p.high, contiguous=p.contiguous)
        case ast.Or():
            return or_.construct(build(p.left), build(p.right))
        case ast.And():
            return and_.construct(build(p.left), build(p.right))
        case ast.All():
            return all_.construct(build(p.left), build(p.right), singles(p.left) & singles(p.right))
        case ast.Unless():
            return unless.construct(p, build(p.body), build(p.absent))
        case ast.NotBetween():
            return not_between.construct(
                p,
                build(p.left),
                build(p.absent),
                build(p.right),
                left_optional=nullable(p.left),
                right_optional=nullable(p.right),
            )
        case ast.Project():
            return project.construct(build(p.body), frozenset(p.variables))
        case ast.Within(window=ast.EventCount(count=count)):
            return within_events.construct(build(p.body), count)
        case ast.Select(selector=ast.Selector.STRICT):
            return strict.construct(build(p.body))
        case ast.Select() if select_.is_settled(p.selector, p.body):
            return build(p.body)
        case ast.Select():
            return select_.construct(p.selector, build(p.body), print_pattern(p.body))
        case ast.Sequence() | ast.Iteration() | ast.Within():
            raise Unsupported(p, "a time interval inside a pattern")
        case ast.Optional():
            return build(p.body)  # that it may be left out is the sequence's to say
    raise AssertionError(p)
