"""Checks the automata of the user's own that a query names: the names and types of their fences and transfers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ensue.data.schema import BOOLEAN, FLOAT, INTEGER, STRING, Kind, Schema, ValueType
from ensue.errors import Problem, ProblemKind, QueryError, did_you_mean, listed
from ensue.language import ast
from ensue.logic.check_filters import problem
from ensue.logic.own_automata import (
    STEP,
    Arc,
    Field,
    OwnAutomaton,
    OwnCall,
    Written,
    automata_of,
    fields_in,
    is_of_step,
    over_step,
)
from ensue.logic.own_functions import accepts
from ensue.logic.types import Typing

#: The types of the fields of a register.
FIELD_TYPES: dict[ast.LiteralType, ValueType] = {
    ast.LiteralType.BOOLEAN: BOOLEAN,
    ast.LiteralType.INTEGER: INTEGER,
    ast.LiteralType.FLOAT: FLOAT,
    ast.LiteralType.STRING: STRING,
}
#: What a Python function can read of an event.
_NUMBERS = (Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT)


def type_of(field: Field) -> ValueType:
    """The type of what a field holds."""
    return field.of or FIELD_TYPES[field.type]


def check_automata(query: ast.Query, schema: Schema | None) -> None:
    """Raises a QueryError, which shows the fence or transfer, for the first one that has problems."""
    for own in automata_of(query):
        _check(own, schema)


def register_problems(query: ast.Query) -> Iterator[Problem]:
    """Fields of a register can be shown only where the automaton's matches are those of the query."""
    core = query.pattern
    while isinstance(core, ast.Within):
        core = core.body
    if isinstance(core, ast.Matches):
        return
    asked = [*(i.expression for i in query.items or ()), *(k.expression for k in query.order)]
    for e in asked:
        for node in ast.find(e, ast.InRegister):
            message = (
                f"'{node.name}' is a field of an automaton's register, and here the automaton is part of a pattern"
            )
            yield problem(node, message, "show it where MATCHES is the whole pattern, or mark events instead")


def schema_with_fields(own: OwnAutomaton, schema: Schema | None) -> Schema | None:
    """The attributes of events, and the fields of the register."""
    if schema is None:
        return None
    return Schema({**schema.attributes, **{f.name: type_of(f) for f in own.shape.fields}})


def _check(own: OwnAutomaton, schema: Schema | None) -> None:
    both = [] if schema is None else sorted(schema.attributes.keys() & own.fields.keys())
    known = schema_with_fields(own, schema)
    for arc in own.shape.arcs:
        for value in arc.when:
            _check_value(own, arc, value, known, None)
            _raise(own, arc, value, _of_both(value, both))
        for name, value in arc.then:
            _check_value(own, arc, value, known, name)
            _raise(own, arc, value, _of_both(value, both))


def _of_both(value: Written | OwnCall, both: list[str]) -> Iterator[Problem]:
    if isinstance(value, Written):
        for node in ast.find(value.expression, ast.Name):
            if node.name in both:
                message = f"'{node.name}' is an attribute of the events and a field of the register"
                yield problem(node, message, "give the field another name")


def _check_value(
    own: OwnAutomaton, arc: Arc, value: Written | OwnCall, known: Schema | None, field: str | None
) -> None:
    """One condition, or what a field gets."""
    if isinstance(value, OwnCall):
        _check_call(own, arc, value, known)
        return
    problems = list(_scope_problems(own, value.expression))
    typing = Typing(known)
    e = over_step(value.expression, own.fields) if own.shape.by_time else value.expression
    if field is None:
        typing.condition(e)
    else:
        found, wanted = typing.infer(e), type_of(own.fields[field])
        if found is not None and not accepts(wanted, found):
            message = f"the field '{field}' of the register is of type {wanted}, but this is of type {found}"
            problems.append(Problem(ProblemKind.TYPE, message, value.expression.span))
    _raise(own, arc, value, [*problems, *typing.problems])


def _raise(own: OwnAutomaton, arc: Arc, value: Written | OwnCall, problems: list[Problem] | Iterator[Problem]) -> None:
    where = f"in the automaton '{own.name}', {arc}: "
    told = [replace(p, message=where + p.message.replace(f" of {STEP}", "")) for p in problems]
    if told:
        raise QueryError(str(value), list(dict.fromkeys(told)))


def _scope_problems(own: OwnAutomaton, e: ast.Expression) -> Iterator[Problem]:
    """By event a fence speaks of one event, and by time of all events of a time."""
    aggregated: set[int] = set()
    for node in ast.walk(e):
        if isinstance(node, ast.Attribute | ast.Each | ast.LastOf | ast.Running):
            yield problem(node, "there are no variables here", "write bare names: v for the attribute v of the event")
        if not isinstance(node, ast.Call):
            continue
        if not own.shape.by_time and is_of_step(node):
            hint = "make the automaton with by='time', where all events of one time are one step"
            yield problem(node, f"{node.function} is of several events, and here is one", hint)
        if own.shape.by_time and node.function == "prev":
            yield problem(node, "PREV looks back from one event, and here are all events of a time")
        if own.shape.by_time and is_of_step(node):
            aggregated |= {id(part) for a in node.arguments for part in ast.walk(a)}
            for argument in node.arguments:
                for name in sorted(fields_in(argument, own.fields)):
                    hint = "compare the aggregate with the field: sum(v) > n"
                    yield problem(node, f"{node.function} is of the events, and '{name}' is a field", hint)
    if own.shape.by_time:
        for node in ast.find(e, ast.Name):
            if node.name not in own.fields and id(node) not in aggregated:
                hint = f"write max({node.name}), sum({node.name}), any({node.name} > 0), ..."
                yield problem(node, f"'{node.name}' may differ between the events of one time", hint)


def _check_call(own: OwnAutomaton, arc: Arc, call: OwnCall, known: Schema | None) -> None:
    """A Python function reads numbers and truth values of events, and the whole register."""
    where = f"in the automaton '{own.name}', {arc}"
    texts = [f.name for f in own.shape.fields if f.type is ast.LiteralType.STRING]
    exact = [f.name for f in own.shape.fields if f.of is not None]
    wrong = ""
    if texts and call.compiled:
        wrong = f"the field '{texts[0]}' is a text, which Numba does not compute with: pass compiled=False"
    if exact and call.compiled:
        wrong = f"the field '{exact[0]}' is no number that Numba computes with: pass compiled=False"
    for name in call.uses if known is not None else ():
        assert known is not None
        if name not in known.attributes or name in own.fields:
            attributes = [a for a in known.attributes if a not in own.fields]
            hint = did_you_mean(name, attributes) or f"the attributes are {listed(attributes)}"
            wrong = f"uses= names '{name}', which is no attribute: {hint}"
        elif call.compiled and known.attributes[name].kind not in _NUMBERS:
            type_ = known.attributes[name]
            wrong = f"uses= names '{name}' of type {type_}, and Numba computes with numbers: pass compiled=False"
    if wrong:
        message = f"{where}: {wrong}"
        raise QueryError(str(call), [Problem(ProblemKind.SCOPE, message, ast.NOWHERE)])
