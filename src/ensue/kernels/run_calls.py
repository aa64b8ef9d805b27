"""Python functions as fences and transfers, compiled by Numba into one function that the steps over runs call.

It takes the number of a function, the columns, where the events of the step are, the step, and a run with its register.
What it gives is a whole number, as registers hold them.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit, types
from numba.core.errors import NumbaError

from ensue.data.schema import Kind
from ensue.errors import EngineError
from ensue.kernels import runs
from ensue.kernels.formulas import float_of
from ensue.kernels.value_trees import NULL
from ensue.language import ast
from ensue.logic.own_automata import OwnAutomaton, OwnCall

#: The type of a column that a function reads: for each kind of attribute, that of NumPy and that of Numba.
COLUMN_TYPES: dict[Kind, tuple[str, Any]] = {
    Kind.BOOLEAN: ("bool", types.boolean),
    Kind.INTEGER: ("int64", types.int64),
    Kind.FLOAT: ("float64", types.float64),
}
_STORED = {
    ast.LiteralType.BOOLEAN: "register[row, {0}] != 0",
    ast.LiteralType.INTEGER: "register[row, {0}]",
    ast.LiteralType.FLOAT: "float_of(register[row, {0}])",
}
_GIVEN = {
    ast.LiteralType.BOOLEAN: "np.int64(bool({0}))",
    ast.LiteralType.INTEGER: "np.int64({0})",
    ast.LiteralType.FLOAT: "number_of(np.float64({0}))",
}
_SIGNATURE_OF = {
    ast.LiteralType.BOOLEAN: types.boolean,
    ast.LiteralType.INTEGER: types.int64,
    ast.LiteralType.FLOAT: types.float64,
}
Called = tuple[OwnCall, ast.LiteralType]


@lru_cache(maxsize=64)
def compiled(own: OwnAutomaton, calls: tuple[Called, ...], kinds: tuple[tuple[str, Kind], ...]) -> tuple[Any, Any]:
    """The function, and the steps over runs that call it; raises EngineError with the reason of Numba.

    `kinds` are those of the attributes that are read, in the order of the columns; behind these is a column for each
    function, which says where one of its values is NULL.
    """
    attributes = [name for name, _ in kinds]
    made: dict[str, Any] = {"np": np, "float_of": njit(float_of.py_func), "number_of": njit(runs.number_of.py_func)}
    made["Register"] = _named("Register", own.fields)
    lines = ["def call(number, columns, events, step, register, row):"]
    for n, (call, type_) in enumerate(calls):
        made[f"Event{n}"] = _named("Event", call.uses)
        made[f"f{n}"] = _compile(own, (call, type_), dict(kinds), (made[f"Event{n}"], made["Register"]))
        lines += [f"    if number == {n}:", *_body(own, n, call, type_, attributes)]
    lines.append("    return np.int64(0)")
    exec("\n".join(lines), made)
    return njit(made["call"]), njit(runs.step_over, nogil=True)


def _body(own: OwnAutomaton, n: int, call: OwnCall, type_: ast.LiteralType, attributes: Sequence[str]) -> list[str]:
    """The lines that call one function."""
    place = "events[0]:events[1]" if own.shape.by_time else "step"
    event = ", ".join(f"columns[{attributes.index(a)}][{place}]" for a in call.uses) or "0"
    register = ", ".join(_STORED[f.type].format(i) for i, f in enumerate(own.shape.fields)) or "0"
    unknown = [f"columns[{len(attributes) + n}][step]"]
    unknown += [f"register[row, {i}] == {NULL}" for i in range(len(own.shape.fields))]
    value = f"f{n}(Event{n}({event}{',' if not call.uses else ''}), Register({register}))"
    return [
        f"        if {' or '.join(unknown)}:",
        f"            return np.int64({NULL})",
        f"        return {_GIVEN[type_].format(value)}",
    ]


def _named(name: str, fields: Iterable[str]) -> Any:
    """A named tuple; Numba takes none that is empty."""
    return namedtuple(name, list(fields) or ["nothing"])


def _compile(own: OwnAutomaton, called: Called, kinds: dict[str, Kind], tuples: tuple[Any, Any]) -> Any:
    """One function by itself, so that an error is told of it; `tuples` are the types of its arguments."""
    (call, type_), (event, register) = called, tuples
    made = njit(call.function)
    columns = [COLUMN_TYPES[kinds[a]][1] for a in call.uses]
    if own.shape.by_time:
        columns = [types.Array(c, 1, "C", readonly=True) for c in columns]
    fields = [_SIGNATURE_OF[f.type] for f in own.shape.fields] or [types.int64]
    given = tuple(
        types.NamedTuple(of, made_of)  # type: ignore[no-untyped-call]
        for of, made_of in ((columns or [types.int64], event), (fields, register))
    )
    try:
        made.compile(given)
        found = made.overloads[given].signature.return_type
    except (NumbaError, TypeError, NotImplementedError) as e:
        raise EngineError(f"{_where(own, call)}: Numba does not compile {call}: {_reason(e)}") from None
    if not isinstance(found, types.Integer | types.Float | types.Boolean):
        wanted = "a truth value" if type_ is ast.LiteralType.BOOLEAN else "a number"
        raise EngineError(f"{_where(own, call)}: {call} gives {found}, and {wanted} is wanted")
    if isinstance(found, types.Float) and type_ is ast.LiteralType.INTEGER:
        raise EngineError(f"{_where(own, call)}: {call} gives a float for a field that holds whole numbers")
    return made


def _where(own: OwnAutomaton, call: OwnCall) -> str:
    arc = next(a for a in own.shape.arcs if call in a.values)
    return f"in the automaton '{own.name}', {arc}"


def _reason(e: Exception) -> str:
    """What Numba says, without where in its own code it said it."""
    lines = [line.strip() for line in str(e).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("Failed in"):
        return lines[1]
    return lines[0] if lines else type(e).__name__
