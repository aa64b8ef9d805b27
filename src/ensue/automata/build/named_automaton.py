"""An automaton of the user's own, where its register only stores what events have: it is one of the engine's then.

A state of the result also says which fields and clocks were written. So a fence that reads a field before any arc has
written it reads the value that the field has at first, and a clock that was not reset satisfies nothing, as Garcia and
Riveros define it (section 4); the engine's own registers say nothing where nothing was stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ensue.automata.build.limits import Unsupported
from ensue.automata.model import Automaton, Builder, Label
from ensue.automata.predicates import Guard, Literal, Test, TypeIs
from ensue.automata.registers import Action, Check, Holds, Since, Store, fresh
from ensue.language import ast
from ensue.logic.classify import conjuncts_of
from ensue.logic.own_automata import Arc, Field, OwnAutomaton, Written, fields_in, own_automaton_of
from ensue.logic.stored_values import Register, stored_in

#: Where a run stands, and the fields and clocks that it has written; None before its first event.
_State = tuple[str, frozenset[str]] | None
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def construct(p: ast.Matches) -> Automaton:
    """The automaton; raises Unsupported where only the runs themselves can tell what is in the register."""
    own = own_automaton_of(p)
    assert own is not None, "a query is checked with what its names stand for"
    why = _not_plain(own)
    if why:
        raise Unsupported(p, why)
    register = registers_of(own)
    builder = Builder(None)
    pending: list[_State] = [None]
    seen: set[_State] = {None}
    while pending:
        state = pending.pop()
        for arc, written in _leaving(own, state):
            after = (arc.target, written.union((f for f, _ in arc.then), arc.resets))
            made = _made(own, arc, written, register)
            if made is None:
                continue
            builder.add(state, made[0], made[1], after, final=arc.target in own.shape.accepts)
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return builder.build()


def registers_of(own: OwnAutomaton) -> dict[str, Register]:
    """The registers that hold its fields and clocks."""
    return dict(zip((*own.fields, *own.shape.clocks), fresh(()), strict=False))


def _not_plain(own: OwnAutomaton) -> str:
    """Why it is none of the engine's automata; empty if it is."""
    if own.shape.by_time:
        return "an automaton whose steps are all events of a time"
    if own.calls:
        return "Python functions as fences and transfers"
    sets = [v.expression for a in own.shape.arcs for _, v in a.then if isinstance(v, Written)]
    if any(fields_in(e, own.fields) for e in sets):
        return "a transfer that computes with the register"
    return ""


def _leaving(own: OwnAutomaton, state: _State) -> Iterator[tuple[Arc, frozenset[str]]]:
    """The arcs that a run can take, each with what was written before."""
    if state is not None:
        yield from ((arc, state[1]) for arc in own.outgoing[state[0]])
        return
    for start in own.shape.starts:
        yield from ((arc, frozenset()) for arc in own.outgoing[start])


def _made(
    own: OwnAutomaton, arc: Arc, written: frozenset[str], register: Mapping[str, Register]
) -> tuple[Guard, Label] | None:
    """The guard and label of an arc; None if it asks for a clock that was not reset."""
    if any(clock not in written for clock, _ in arc.since):
        return None
    actions: set[Action] = {Since(register[clock], interval) for clock, interval in arc.since}
    tests: set[ast.Expression] = set()
    for value in arc.when:
        assert isinstance(value, Written)
        for conjunct in conjuncts_of(_with_first_values(own, value.expression, written)):
            asked = fields_in(conjunct, own.fields)
            if asked:
                actions.add(_condition(conjunct, own, register))
            else:
                tests.add(conjunct)
    for name, value in arc.then:
        assert isinstance(value, Written)
        actions.add(Store(register[name], _as_field(value.expression, own.fields[name])))
    actions |= {Store(register[clock]) for clock in arc.resets}
    guard: set[Literal] = {(Test(e), True) for e in tests}
    guard |= {(TypeIs(name), wanted) for name, wanted in arc.types}
    return frozenset(guard), Label(arc.marks, frozenset(actions))


def _with_first_values(own: OwnAutomaton, e: ast.Expression, written: frozenset[str]) -> ast.Expression:
    """The expression with the first value of each field that was not written."""

    def first(part: ast.Expression) -> ast.Expression | None:
        known = isinstance(part, ast.Name) and part.name in own.fields and part.name not in written
        return own.fields[part.name].literal if known else None  # type: ignore[attr-defined]

    return ast.replaced(e, first)


def _condition(e: ast.Expression, own: OwnAutomaton, register: Mapping[str, Register]) -> Action:
    """A comparison of one field with a value of the event can be looked up; others are computed for each run."""
    if isinstance(e, ast.Binary) and e.operator in _MIRRORED:
        for field, other, operator in ((e.left, e.right, e.operator), (e.right, e.left, _MIRRORED[e.operator])):
            if isinstance(field, ast.Name) and field.name in own.fields and not fields_in(other, own.fields):
                return Check(register[field.name], operator, other)

    def stored(part: ast.Expression) -> ast.Expression | None:
        known = isinstance(part, ast.Name) and part.name in own.fields
        return stored_in(register[part.name]) if known else None  # type: ignore[attr-defined]

    return Holds(ast.replaced(e, stored))


def _as_field(e: ast.Expression, field: Field) -> ast.Expression:
    """The value as one of the field's type: whole numbers become floats."""
    if field.of is not None or field.type is not ast.LiteralType.FLOAT:
        return e
    if isinstance(e, ast.Literal) and isinstance(e.value, float):
        return e
    return ast.Cast(e, "float")
