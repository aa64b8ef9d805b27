"""Conditions that relate events other than by a comparison: each is checked when its last event arrives.

    (A AS x ; B AS y FILTER abs(x.v - y.v) < 5 OR x.w <> y.w)+

The values that the condition needs from earlier events are stored, and runs that have stored the same values are one.
If the condition uses an event from outside its own pattern, that part stays unchanged until a pattern around it binds
the event (`bound`). Alevizos et al., algorithm 1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ensue.automata.build.limits import Unsupported
from ensue.automata.liveness import register_liveness
from ensue.automata.model import Automaton, Builder, Label
from ensue.automata.predicates import Guard, Test, conjunction
from ensue.automata.registers import Action, Clear, Holds, Store, formulas_of, fresh
from ensue.language import ast
from ensue.logic.clauses import bare
from ensue.logic.scope import last_of, last_of_names, running_of, variables_of
from ensue.logic.stored_values import Register, register_of, stored_in

_Parts = Mapping[ast.Expression, Register]


def construct(condition: ast.Expression, body: Automaton, own: Collection[str]) -> Automaton:
    """`own` are the variables of the body. A condition that uses none of them is checked where the body starts."""
    variables = variables_of(condition) & set(own)
    names = fresh(body.registers)
    parts = {part: next(names) for x in sorted(variables) for part in parts_of(condition, x)}
    made = Builder(0)
    for t in body.transitions:
        marked = variables & t.marks
        actions: list[Action] = [Store(r, bare(part)) for part, r in parts.items() if variables_of(part) <= marked]
        if t.source == 0:
            actions += [Clear(r) for r in parts.values()]  # an earlier round may have stored values
        guard: Guard | None = t.guard
        if marked == variables if t.source == 0 else marked:
            guard, checks = guard_and_checks(t.guard, Holds(condition), marked, parts)
            actions += checks
        made.add(t.source, guard, Label(t.marks, t.actions.union(actions)), t.target, final=t.target in body.finals)
    automaton = made.build()
    sets = {x for x in variables if _marks_several(body, x)}
    if any(len(variables & t.marks) > 1 and sets & t.marks for t in body.transitions):
        raise Unsupported(condition, "a condition on an event that is of a set and another variable's as well")
    _check_sets(condition, automaton, {r for part, r in parts.items() if variables_of(part) <= sets})
    return automaton


def between_rounds(condition: ast.Expression, iteration: Automaton) -> Automaton:
    """Relates each round's event `y` to the previous round's, `LASTOF(y)`; in the first round the condition holds."""
    variable = next(ast.find(condition, ast.LastOf)).variable
    names = fresh(iteration.registers)
    parts = {part: next(names) for part in parts_of(condition, last_of(variable))}
    made = Builder(0)
    for t in iteration.transitions:
        guard: Guard | None = t.guard
        actions: list[Action] = [Clear(r) for r in parts.values()] if t.source == 0 else []
        if variable in t.marks:
            actions += [Store(r, bare(part)) for part, r in parts.items()]
            if t.source != 0:
                guard, checks = guard_and_checks(t.guard, Holds(condition), {variable}, parts)
                actions += checks
        made.add(
            t.source, guard, Label(t.marks, t.actions.union(actions)), t.target, final=t.target in iteration.finals
        )
    return made.build()


def bound(p: ast.Pattern, automaton: Automaton, variables: Collection[str]) -> Automaton:
    """The automaton of `p` with registers for the parts of inner conditions that use these single variables."""
    used = {
        part: None
        for t in automaton.transitions
        for f in formulas_of(t.actions)
        for x in sorted(f.outside & set(variables))
        for part in parts_of(f.condition, x)
    }
    if not used:
        return automaton
    names = fresh(automaton.registers)
    parts = {part: next(names) for part in used}
    made = Builder(0)
    for t in automaton.transitions:
        guard: Guard | None = t.guard
        actions: list[Action] = [Store(r, bare(part)) for part, r in parts.items() if variables_of(part) <= t.marks]
        for a in t.actions:
            if guard is None or not isinstance(a, Holds):
                actions.append(a)
                continue
            guard, resolved = guard_and_checks(guard, a, t.marks, parts)
            actions += resolved
        made.add(t.source, guard, Label(t.marks, frozenset(actions)), t.target, final=t.target in automaton.finals)
    found = made.build()
    stored = register_liveness(found).stored
    for t in found.transitions:
        for f in formulas_of(t.actions):
            if not f.registers & set(parts.values()) <= stored.get(t.source, frozenset()):
                raise Unsupported(p, "a condition on an outer event that may come after the condition is checked")
    return found


def parts_of(condition: ast.Expression, variable: str) -> Iterator[ast.Expression]:
    """The largest parts of a condition that use this variable only, and not the event of the transition."""
    if isinstance(condition, ast.Running):
        return  # its events are those of other rounds
    used = variables_of(condition)
    if used == {variable} and not any(ast.find(condition, ast.Name)):
        yield condition
    elif variable in used:
        for child in ast.children(condition):
            if isinstance(child, ast.Expression):
                yield from parts_of(child, variable)


def guard_and_checks(
    guard: Guard, formula: Holds, marked: Collection[str], parts: _Parts
) -> tuple[Guard | None, list[Action]]:
    """Adds a formula to a transition: to its guard if it concerns only its own event, else to the register checks.

    A variable in `marked` stands for the event of the transition.
    """

    def here_or_stored(e: ast.Expression) -> ast.Expression | None:
        variables = variables_of(e)
        if register_of(e) is not None or isinstance(e, ast.Running):
            return e
        if variables and variables <= set(marked):
            return bare(e)
        return stored_in(parts[e]) if e in parts else None

    check = formula.with_parts(here_or_stored)
    rounds = running_of(check.condition) or last_of_names(check.condition)  # an iteration around gives them registers
    if check.registers or check.outside or rounds:
        return guard, [check]
    return conjunction(guard, frozenset({(Test(check.condition), not check.absent)})), []


def _marks_several(p: Automaton, variable: str) -> bool:
    """Whether a run can mark more than one event with the variable."""
    reached = {t.target for t in p.transitions if variable in t.marks}
    waiting = list(reached)
    while waiting:
        for t in p.outgoing.get(waiting.pop(), ()):
            if variable in t.marks:
                return True
            if t.target not in reached:
                reached.add(t.target)
                waiting.append(t.target)
    return False


def _check_sets(condition: ast.Expression, automaton: Automaton, registers: Collection[Register]) -> None:
    """Refuses a condition that is checked again after a set's event is stored: a register holds only the last one."""
    live = register_liveness(automaton).live
    for t in automaton.transitions:
        written = {a.register for a in t.actions if isinstance(a, Store)} & set(registers)
        if written & live.get(t.target, frozenset()):
            raise Unsupported(condition, "a condition on several events of a set and a later event")
