"""`ensue.Automaton`: automata of the user's own, with marks, clocks and a register, used as `MATCHES name`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from ensue.data.schema import Kind, value_type
from ensue.errors import did_you_mean
from ensue.language import ast
from ensue.language.expression_rules import over_attributes
from ensue.language.own import Draft, digest_of
from ensue.language.parser import parse_expression, parse_interval
from ensue.language.printer import print_interval
from ensue.logic.own_automata import Arc, Field, OwnAutomaton, OwnCall, Shape, Value, Written
from ensue.own.registry import check_name, register

Names: TypeAlias = "str | Iterable[str]"
State: TypeAlias = "str | int"
#: A fence or a transfer: an expression, or a function of the event and the register.
Given: TypeAlias = "str | Callable[[Any, Any], Any]"

_TYPES: dict[type, ast.LiteralType] = {
    bool: ast.LiteralType.BOOLEAN,
    int: ast.LiteralType.INTEGER,
    float: ast.LiteralType.FLOAT,
    str: ast.LiteralType.STRING,
}
#: Outside of strings: count(*) and any(...), which the language has no names for.
_OF_ALL = re.compile(r"'(?:[^']|'')*'|\bcount\s*\(\s*\*\s*\)|\b(?:any|every)(?=\s*\()", re.IGNORECASE)


class Automaton(Draft):
    """An automaton of one's own: states, and arcs that events take. A query uses it as `MATCHES name`.

    A run starts before any event, in a start state, with the register as it is given here. At every following event
    it takes an arc of its state whose conditions hold, or it ends; `skip` says which events it may pass over. Where a
    run stands in an accepting state, there is a match: from its first event to its last, with the events that arcs
    have marked. Items show marks as they show variables, and fields of the register by their names. The result is a
    set: what several runs find alike is one match.

    `register` names the fields, each with its first value, or with a type for no value: `bool`, `int`, `float`, `str`.
    Fields of times, durations and decimals have the Arrow type of the attribute that is stored in them, begin without a
    value, and are not shown in rows.
    `clocks` names clocks. With `by="time"`, all events of one time are one step: conditions then speak of them by
    aggregates, as in `sum(v) < 0`, `count(*) > 2`, `any(v > 9)`, `every(v > 9)`.

    >>> import ensue
    >>> dip = ensue.Automaton(register={"n": 0, "low": 0.0})
    >>> dip.start("flat").accept("risen")
    <automaton of 1 state and 0 arcs>
    >>> dip.arc("flat", "falling", when="v < PREV(v)", then={"n": 1, "low": "v"}, mark="first")
    <automaton of 2 states and 1 arc>
    >>> dip.arc("falling", "falling", when="v <= low", then={"n": "n + 1", "low": "v"})
    <automaton of 2 states and 2 arcs>
    >>> dip.arc("falling", "risen", when="v > low AND n >= 2")
    <automaton of 3 states and 3 arcs>
    >>> rows = [{"time": k, "type": "quote", "v": v} for k, v in enumerate([9.0, 7.0, 6.0, 6.5])]
    >>> ensue.query("SELECT n, low, first.v FROM S WHERE MATCHES dip", dip=dip).run(rows, unit="s")
    start_time  end_time  n  low  first_v
    ----------  --------  -  ---  -------
    1           3         2  6.0  7.0
    1 match
    """

    def __init__(
        self,
        *,
        register: Mapping[str, Any] | None = None,
        clocks: Names = (),
        by: Literal["event", "time"] = "event",
    ) -> None:
        if by not in ("event", "time"):
            raise ValueError(f"by: a step is an 'event', or all events of one 'time', not {by!r}")
        self._by_time = by == "time"
        self._fields = tuple(_field(name, first) for name, first in (register or {}).items())
        self._clocks = _names(clocks, "clocks")
        both = {f.name for f in self._fields} & {*self._clocks}
        if both:
            raise ValueError(f"clocks: '{min(both)}' is the name of a field of the register already")
        self._starts: dict[str, None] = {}
        self._accepts: set[str] = set()
        self._arcs: list[Arc] = []

    def __repr__(self) -> str:
        states = {*self._starts, *(s for a in self._arcs for s in (a.source, a.target))}
        counts = ((len(states), "state"), (len(self._arcs), "arc"))
        return f"<automaton of {' and '.join(f'{n} {what}' + 's' * (n != 1) for n, what in counts)}>"

    def start(self, *states: State) -> Automaton:
        """Runs start in these states."""
        self._starts |= dict.fromkeys(map(str, states))
        return self

    def accept(self, *states: State) -> Automaton:
        """A run that stands in one of these states after an event is a match."""
        self._accepts |= set(map(str, states))
        return self

    def arc(
        self,
        source: State,
        target: State,
        when: Given | None = None,
        *,
        on: str | None = None,
        then: Mapping[str, Given | int | float | bool] | None = None,
        mark: Names = (),
        reset: Names = (),
        since: Mapping[str, str] | None = None,
        uses: Names = (),
        compiled: bool = True,
    ) -> Automaton:
        """From `source` to `target`, where the conditions `on` and `when` are TRUE.

        They are expressions over attributes of the event and fields of the register; `then` gives fields their new
        values, and the others stay. `mark` names variables that mark the event. `reset` sets clocks to zero, and
        `since={"c": "<= 5 s"}` asks how long ago that was; a clock that was not reset satisfies nothing.

        `when` and what stands in `then` may be Python functions of two named tuples, `f(event, register)`, which Numba
        compiles. `event` has the attributes that `uses` names; with `by="time"`, an array of each. Where one of
        these, or a field of the register, is NULL, the function is not asked, and its result is NULL. With
        `compiled=False`, Python runs it, slowly.
        """
        known = _names(uses, "uses")
        given = [value for value in (on, when) if value is not None]
        fields = {f.name for f in self._fields}
        for name in then or {}:
            if name not in fields:
                raise ValueError(f"then: {_unknown('field', name, fields)}")
        conditions = tuple(_value(value, known, compiled) for value in given)
        sets = tuple((name, _value(value, known, compiled)) for name, value in (then or {}).items())
        marks, resets = _names(mark, "mark"), _names(reset, "reset")
        for name in marks:
            check_name(name, "variable")
            if name in fields:
                raise ValueError(f"mark: '{name}' is the name of a field of the register")
        for option, names in (("reset", resets), ("since", (since or {}).keys())):
            for name in names:
                if name not in self._clocks:
                    raise ValueError(f"{option}: {_unknown('clock', name, set(self._clocks))}")
        measured = tuple((name, _interval(text)) for name, text in (since or {}).items())
        self._arcs.append(
            Arc(str(source), str(target), conditions, sets, frozenset(marks), frozenset(resets), measured)
        )
        return self

    def skip(self, state: State, when: Given | None = None, *, on: str | None = None, uses: Names = ()) -> Automaton:
        """A run in this state passes over events for which the conditions are TRUE: an arc that changes nothing."""
        return self.arc(state, state, when, on=on, uses=uses)

    def register(self, name: str) -> Automaton:
        """Makes it known to all queries of the program that are made from now on, as it is now."""
        register(self.finished(name))
        return self

    def finished(self, name: str) -> OwnAutomaton:
        """The automaton as it is now, under a name."""
        check_name(name, OwnAutomaton.kind)
        if not self._starts:
            raise ValueError(f"the automaton '{name}' starts nowhere: say .start(state)")
        if not self._accepts:
            raise ValueError(f"the automaton '{name}' accepts nothing: say .accept(state)")
        reached = {a.target for a in self._arcs}
        for state in sorted(self._accepts - reached):
            raise ValueError(
                f"the automaton '{name}' accepts a state that no arc leads to: {_unknown('state', state, reached)}"
            )
        for state in sorted(self._starts.keys() - {a.source for a in self._arcs}):
            raise ValueError(f"the automaton '{name}' starts in the state '{state}', from which no arc leads")
        shape = Shape(
            tuple(self._starts), frozenset(self._accepts), tuple(self._arcs), self._fields, self._clocks, self._by_time
        )
        return OwnAutomaton(name, digest_of_shape(shape), shape)


def digest_of_shape(shape: Shape) -> str:
    """Of all that decides about its matches."""
    parts: list[object] = [*shape.starts, "accepts", *sorted(shape.accepts), shape.by_time, *shape.clocks]
    parts += [part for f in shape.fields for part in (f.name, f.type, f.initial)]
    parts += [part for f in shape.fields if f.of is not None for part in (f.name, str(f.of.arrow))]
    for arc in shape.arcs:
        parts += [str(arc), *sorted(arc.marks), "resets", *sorted(arc.resets)]
        parts += [text for clock, interval in arc.since for text in (clock, print_interval(interval))]
        parts += ["types", *(part for t in arc.types for part in t)] if arc.types else []
        parts += ["then", *(name for name, _ in arc.then)]
        for value in arc.values:
            parts += [value.text] if isinstance(value, Written) else [value.function, *value.uses, value.compiled]
    return digest_of("automaton", *parts)


def _field(name: str, first: Any) -> Field:
    check_name(name, "field")
    if isinstance(first, pa.DataType):
        return _exact_field(name, first)
    type_ = _TYPES.get(first if isinstance(first, type) else type(first))
    if type_ is None:
        shown = first.__name__ if isinstance(first, type) else type(first).__name__
        raise TypeError(f"register: '{name}' is a bool, int, float or str, or one of these types, not {shown}")
    return Field(name, type_, None if isinstance(first, type) else first)


def _exact_field(name: str, arrow: pa.DataType) -> Field:
    """A field of times, durations or decimals: it only stores what events have, and rows do not show it."""
    of = value_type(arrow)
    if of.kind not in (Kind.TIMESTAMP, Kind.DURATION) and not pa.types.is_decimal(arrow):
        raise TypeError(f"register: '{name}' is of an Arrow type of times, durations or decimals, not {arrow}")
    return Field(name, ast.LiteralType.INTEGER, None, hidden=True, of=of)


def _value(given: Any, uses: tuple[str, ...], compiled: bool) -> Value:
    if isinstance(given, bool | int | float):
        given = str(given).upper() if isinstance(given, bool) else repr(given)
    if isinstance(given, str):
        read = _OF_ALL.sub(_named, given)
        return Written(given, over_attributes(parse_expression(read)))
    if not callable(given):
        raise TypeError(f"a fence or transfer is an expression or a function, not {type(given).__name__}")
    return OwnCall(getattr(given, "py_func", given), uses, compiled)


def _named(found: re.Match[str]) -> str:
    """What is read in its place, of the same length, so that errors point at the right place."""
    text = found[0]
    if text[0] == "'":
        return text
    return text.replace("*", " ") if text[0] in "cC" else {3: "has", 5: "whole"}[len(text)]


def _interval(text: str) -> ast.Interval:
    read = text.strip()
    return parse_interval(read if read.startswith("[") else f"[{read}]")


def _names(given: Names, option: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{option}: a name, or several")
    return tuple(dict.fromkeys(names))


def _unknown(what: str, name: str, known: set[str]) -> str:
    hint = did_you_mean(name, sorted(known)) or (f"there are {', '.join(sorted(known))}" if known else "there are none")
    return f"there is no {what} '{name}': {hint}"
