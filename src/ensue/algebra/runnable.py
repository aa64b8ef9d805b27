"""Makes an automaton one that queries take under a name, as those that users draw: states, arcs, a register and clocks.

A state of the result also says which registers hold something. A check of an empty register holds, so arcs from states
in which it is empty do not have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from ensue.algebra.ways import not_true
from ensue.automata.model import MAX_TRANSITIONS, Automaton, Transition
from ensue.automata.predicates import Test, TypeIs
from ensue.automata.registers import Check, Clear, Condition, Holds, Since, Store, conditions_of, writes_of
from ensue.data.schema import Kind, Schema, ValueType
from ensue.errors import EngineError
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.own_automata import Arc, Field, OwnAutomaton, Shape, Written
from ensue.logic.stored_values import Register, register_of
from ensue.logic.types import Typing
from ensue.own.user_automata import digest_of_shape

_LITERALS = {
    Kind.BOOLEAN: ast.LiteralType.BOOLEAN,
    Kind.INTEGER: ast.LiteralType.INTEGER,
    Kind.FLOAT: ast.LiteralType.FLOAT,
    Kind.STRING: ast.LiteralType.STRING,
}
#: Values that no literal has.
_EXACT = (Kind.TIMESTAMP, Kind.DURATION)
#: A state, and the registers that hold something in it.
_State = tuple[int, frozenset[Register]]


def field_types(p: Automaton, schema: Schema | None) -> dict[Register, ValueType]:
    """The types of the values that registers store; raises an EngineError where the schema does not tell them."""
    found: dict[Register, ValueType] = {}
    for t in p.transitions:
        for a in t.actions:
            if isinstance(a, Store) and a.value is not None:
                found[a.register] = _type_of(a.value, schema)
    return found


def _type_of(e: ast.Expression, schema: Schema | None) -> ValueType:
    known = Typing(schema).infer(e)
    if known is None:
        raise EngineError(f"the automaton stores {print_expression(e)}: say of which type it is, as schema=")
    if known.kind not in _LITERALS and known.kind not in _EXACT:
        what = f"{print_expression(e)}, of type {known}"
        raise EngineError(f"the automaton stores {what}: it can keep truth values, numbers, texts, times and durations")
    return known


def _field(register: Register, type_: ValueType) -> Field:
    """A field that holds what the register does."""
    exact = type_.kind in _EXACT or pa.types.is_decimal(type_.arrow)
    literal = _LITERALS.get(type_.kind, ast.LiteralType.INTEGER)
    return Field(register, literal, None, hidden=True, of=type_ if exact else None)


def runnable(name: str, p: Automaton, types: Mapping[Register, ValueType]) -> OwnAutomaton:
    """The automaton as queries take it."""
    clocks = sorted(p.registers - types.keys())
    fields = tuple(_field(r, types[r]) for r in sorted(types))
    numbers: dict[_State, str] = {(0, frozenset()): "0"}
    waiting = [*numbers]
    arcs: list[Arc] = []
    accepts = set()
    while waiting:
        source = waiting.pop()
        for t in p.outgoing.get(source[0], ()):
            target = (t.target, _filled(source[1], t))
            if target not in numbers:
                numbers[target] = str(len(numbers))
                waiting.append(target)
            arcs.append(_arc(t, numbers[source], numbers[target], source[1]))
            if t.target in p.finals:
                accepts.add(numbers[target])
        if len(arcs) > MAX_TRANSITIONS:
            raise EngineError(f"the automaton would have more than {MAX_TRANSITIONS:,} transitions")
    shape = Shape(("0",), frozenset(accepts), tuple(arcs), fields, tuple(clocks))
    return OwnAutomaton(name, digest_of_shape(shape), shape)


def _filled(before: frozenset[Register], t: Transition) -> frozenset[Register]:
    """The registers that hold something after the transition."""
    for w in writes_of(t.actions):
        before = before - {w.register} if isinstance(w, Clear) else before | {w.register}
    return before


def _arc(t: Transition, source: str, target: str, filled: frozenset[Register]) -> Arc:
    asked = [c for c in conditions_of(t.actions) if c.registers <= filled]
    stores = [w for w in writes_of(t.actions) if isinstance(w, Store)]
    return Arc(
        source,
        target,
        (*_tests(t), *(_written(c) for c in asked if not isinstance(c, Since))),
        tuple((w.register, Written(print_expression(w.value), w.value)) for w in stores if w.value is not None),
        t.marks,
        frozenset(w.register for w in stores if w.value is None),
        tuple((c.register, c.interval) for c in asked if isinstance(c, Since)),
        tuple(sorted((p.name, positive) for p, positive in t.guard if isinstance(p, TypeIs))),
    )


def _tests(t: Transition) -> Iterator[Written]:
    for p, positive in sorted(t.guard, key=str):
        if isinstance(p, Test):
            e = p.expression if positive else not_true(p.expression)
            yield Written(print_expression(e), e)


def _written(c: Condition) -> Written:
    """A check as a condition on attributes and fields."""
    assert not isinstance(c, Since)
    if isinstance(c, Check):
        return Written(str(c), ast.Binary(c.operator, ast.Name(c.register), c.value))

    def named(part: ast.Expression) -> ast.Expression | None:
        held = register_of(part)
        return None if held is None else ast.Name(held)

    assert isinstance(c, Holds)
    e = ast.replaced(c.condition, named)
    return Written(str(c), not_true(e) if c.absent else e)
