"""The lines of `explain` about queries in layers: their parts, and what is decided among the matches of these."""

from __future__ import annotations

from collections.abc import Iterator

from ensue.automata.register_moves import slow_moves
from ensue.language import ast
from ensue.language.printer import print_expression, print_interval, print_pattern
from ensue.plan.choice import Choice
from ensue.plan.layered import Exclusion, LayeredPlan
from ensue.rewrite.take_apart import Alike


def layer_lines(plan: LayeredPlan) -> list[str]:
    """How the parts are evaluated, and put together."""
    several = "several automata" if plan.excluded or plan.inside else "automaton"
    lines = [f"engine        {several}: what each costs, plus the size of its matches, before they are put together"]
    lines += _part("matches", plan.found)
    for inside in plan.inside:
        lines += _part("chosen", inside.choice)
        lines.append(f"              {inside.selector} of these: matches with others are left out")
    for excluded in plan.excluded:
        lines += _part("without", excluded.choice)
        lines.append(f"              the same {_alike(excluded)}, with {print_pattern(excluded.absent)}")
    lines += [
        f"column        PREV({attribute}, {k}): made before conditions ask for it" for attribute, k in plan.look_back
    ]
    if plan.deadline is not None:
        lines.append(f"absent        {print_interval(plan.deadline)} after the end: until then a match waits")
    if plan.consume is not ast.Consume.NONE:
        lines.append(f"consumption   {plan.consume}: of all matches that passed")
    if plan.selector is not ast.Selector.ALL:
        lines.append(f"choice        {plan.selector}: at the end of a match, among all that passed")
    return lines


def _part(what: str, choice: Choice) -> Iterator[str]:
    """The pattern of a part, and what costs more than a look at each event."""
    yield f"{what.ljust(14)}{_printed(choice.checked.query.pattern)}"
    if choice.layers is not None:
        yield from (f"{' ' * 14}{line}" for line in layer_lines(choice.layers)[1:])
    if choice.plan is None:
        return
    slow = slow_moves(choice.plan.automaton, choice.plan.narrowings) if choice.plan.automaton.registers else []
    if slow and not choice.plan.on_one_clock:
        yield f"              linear in its open partial matches at {'; '.join(slow)}"
    for c in choice.plan.related:
        yield f"              judged on whole matches: {print_expression(c)}"


def _printed(p: ast.Pattern) -> str:
    """The pattern without the variables that only tell matches apart."""

    def plain(n: ast.Node) -> ast.Node | None:
        return (
            ast.rebuilt(n.body, plain)
            if isinstance(n, ast.As) and n.variable.startswith(("\0beside", "\0chosen"))
            else None
        )

    return print_pattern(ast.rebuilt(p, plain))


def _alike(excluded: Exclusion) -> str:
    """What the matches that are left out have in common with others."""
    shown = sorted(x for x in excluded.compared if not x.startswith("\0"))
    ends = {Alike.BOTH: "start and end", Alike.START: "start", Alike.END: "end"}[excluded.alike]
    return f"{', '.join(shown)}, {ends}" if shown else ends
