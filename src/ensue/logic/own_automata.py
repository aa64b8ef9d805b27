"""What the checks and both evaluators know of an automaton of the user's own: states, arcs, a register and clocks.

The model is that of Chandramouli, Goldstein and Maier: an arc has a *fence*, which says at which events a run may take
it, and a *transfer*, which gives the new register. Marks are those of match automata (Grez, chapter 6), and clocks
those of timed complex event automata (Garcia and Riveros, section 4): a clock that was not reset satisfies nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ensue.data.schema import ValueType
from ensue.language import ast
from ensue.language.own import Own
from ensue.logic.functions import AGGREGATES
from ensue.logic.own_aggregates import OwnAggregate

#: The variable that stands for the events of one time, where these are one step.
STEP = "\0step"
#: The names of a fence that say something of all events of a step, as the aggregates that they are.
_OF_ALL = {"has": ("max", True), "whole": ("min", True)}


@dataclass(frozen=True)
class Field:
    """A field of the register, with its value when a run begins; None is NULL."""

    name: str
    type: ast.LiteralType
    initial: bool | int | float | str | None
    hidden: bool = False  # whether rows never show it
    of: ValueType | None = None  # its type where no literal has it: a time, a duration, a decimal

    @property
    def literal(self) -> ast.Literal:
        return literal_of(self.initial, self.type)


def literal_of(value: bool | int | float | str | None, type_: ast.LiteralType) -> ast.Literal:
    """A value of a field, as a part of an expression."""
    return ast.Literal(value, ast.LiteralType.NULL if value is None else type_)


@dataclass(frozen=True)
class Written:
    """An expression over attributes and fields of the register, with the text that errors show."""

    text: str
    expression: ast.Expression

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class OwnCall:
    """A Python function of the event, or of the list of events, and of the register."""

    function: Callable[[Any, Any], Any]
    uses: tuple[str, ...]  # the attributes that it reads
    compiled: bool = True

    def __str__(self) -> str:
        return f"{getattr(self.function, '__name__', 'function')}(event, register)"


#: A fence, or what a transfer gives for a field.
Value = Written | OwnCall


@dataclass(frozen=True)
class Arc:
    """From one state to another, at an event, or a list of events, for which all conditions are TRUE."""

    source: str
    target: str
    when: tuple[Value, ...] = ()
    then: tuple[tuple[str, Value], ...] = ()  # the fields that get a new value
    marks: frozenset[str] = frozenset()
    resets: frozenset[str] = frozenset()
    since: tuple[tuple[str, ast.Interval], ...] = ()  # how long ago clocks were reset
    types: tuple[tuple[str, bool], ...] = ()  # types that the event has, or (False) has not

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"

    @property
    def values(self) -> Iterator[Value]:
        """Its conditions, then what its transfer gives."""
        yield from self.when
        yield from (value for _, value in self.then)


@dataclass(frozen=True)
class Shape:
    """An automaton without its name."""

    starts: tuple[str, ...]
    accepts: frozenset[str]
    arcs: tuple[Arc, ...]
    fields: tuple[Field, ...] = ()
    clocks: tuple[str, ...] = ()
    by_time: bool = False  # whether all events of one time are one step


class OwnAutomaton(Own):
    """An automaton of the user's own. Its matches are those of its runs: contiguous, but for the arcs that skip."""

    kind = "automaton"

    def __init__(self, name: str, digest: str, shape: Shape) -> None:
        super().__init__(name, digest)
        self.shape = shape

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The states, those in which runs start first."""
        found = dict.fromkeys(self.shape.starts)
        return tuple(found | dict.fromkeys(s for a in self.shape.arcs for s in (a.source, a.target)))

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The fields of the register by their names."""
        return {f.name: f for f in self.shape.fields}

    @cached_property
    def outgoing(self) -> dict[str, list[Arc]]:
        """The arcs of each state."""
        found: dict[str, list[Arc]] = defaultdict(list)
        for arc in self.shape.arcs:
            found[arc.source].append(arc)
        return found

    @cached_property
    def written(self) -> list[ast.Expression]:
        """Every expression of its fences and transfers."""
        return [v.expression for a in self.shape.arcs for v in a.values if isinstance(v, Written)]

    @cached_property
    def calls(self) -> tuple[OwnCall, ...]:
        """Every Python function of its fences and transfers, once."""
        return tuple(dict.fromkeys(v for a in self.shape.arcs for v in a.values if isinstance(v, OwnCall)))

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes of events that it reads."""
        names = {n.name for e in self.written for n in ast.find(e, ast.Name)} - self.fields.keys()
        return frozenset(names).union(*(call.uses for call in self.calls))

    @property
    def looks_back(self) -> bool:
        """Whether a fence or transfer reads events before the present one with `PREV`."""
        return any(call.function == "prev" for e in self.written for call in ast.find(e, ast.Call))

    @cached_property
    def _counts(self) -> Mapping[str, frozenset[int]]:
        """How many steps each variable marks in a match: 0, 1, or 2 for more."""
        return {x: self._counts_of(x) for x in sorted({x for a in self.shape.arcs for x in a.marks})}

    def _counts_of(self, variable: str) -> frozenset[int]:
        stack = [(s, 0) for s in self.shape.starts]
        seen: set[tuple[str, int]] = set()  # where a run can be after a step or more
        while stack:
            state, count = stack.pop()
            for arc in self.outgoing[state]:
                there = (arc.target, min(2, count + (variable in arc.marks)))
                if there not in seen:
                    seen.add(there)
                    stack.append(there)
        return frozenset(count for state, count in seen if state in self.shape.accepts)

    @property
    def bindings(self) -> dict[str, bool]:
        """The variables that it marks, each with True if it marks one event in every match."""
        single = {1} if not self.shape.by_time else set()
        return {x: bool(counts) and counts <= single for x, counts in self._counts.items()}

    @property
    def always_marked(self) -> frozenset[str]:
        """The variables that mark an event in every match."""
        return frozenset(x for x, counts in self._counts.items() if 0 not in counts)

    def with_values(self, by: Callable[[ast.Expression], ast.Expression], digest: str) -> OwnAutomaton:
        """The same with other expressions, and so with another digest."""

        def changed(value: Value) -> Value:
            return replace(value, expression=by(value.expression)) if isinstance(value, Written) else value

        arcs = tuple(
            replace(a, when=tuple(map(changed, a.when)), then=tuple((f, changed(v)) for f, v in a.then))
            for a in self.shape.arcs
        )
        return OwnAutomaton(self.name, digest, replace(self.shape, arcs=arcs))


def own_automaton_of(node: ast.Matches) -> OwnAutomaton | None:
    """The automaton that a pattern names, once that is known."""
    return node.own if isinstance(node.own, OwnAutomaton) else None


def automata_of(query: ast.Query) -> tuple[OwnAutomaton, ...]:
    """The automata that a query names, each once."""
    named = (own_automaton_of(node) for node in ast.find(query.pattern, ast.Matches))
    return tuple(dict.fromkeys(own for own in named if own is not None))


def fields_in(e: ast.Expression, fields: Collection[str]) -> frozenset[str]:
    """The fields of the register that an expression reads."""
    return frozenset(n.name for n in ast.find(e, ast.Name) if n.name in fields)


def over_step(e: ast.Expression, fields: Collection[str]) -> ast.Expression:
    """An expression over the events of one time, with what it says of all of them as aggregates of a variable.

    >>> from ensue.language.parser import parse_expression
    >>> from ensue.language.printer import print_expression
    >>> print_expression(over_step(parse_expression("sum(v) > n"), {"n"})).replace(STEP, "step")
    'sum(#step.v) > n'
    """

    def named(part: ast.Expression) -> ast.Expression | None:
        if isinstance(part, ast.Name) and part.name not in fields:
            return ast.Attribute(STEP, part.name, span=part.span)
        return None

    def aggregated(part: ast.Expression) -> ast.Expression | None:
        if not isinstance(part, ast.Call):
            return None
        if part.function == "count" and not part.arguments:
            return ast.Call("count", (ast.Name(STEP, span=part.span),), span=part.span)
        if part.function in _OF_ALL and len(part.arguments) == 1:
            aggregate, wanted = _OF_ALL[part.function]
            one, other = (ast.Literal(int(v), ast.LiteralType.INTEGER) for v in (wanted, not wanted))
            held = ast.Case(None, (ast.replaced(part.arguments[0], named), one), other, span=part.span)
            return ast.Binary("=", ast.Call(aggregate, (held,), span=part.span), one, span=part.span)
        arguments = tuple(ast.replaced(a, named) for a in part.arguments)
        return ast.Call(part.function, arguments, part.own, span=part.span) if is_of_step(part) else None

    return ast.replaced(e, aggregated)


def is_of_step(call: ast.Call) -> bool:
    """Whether a call says something of all events of a step."""
    if call.function in _OF_ALL or (call.function == "count" and not call.arguments):
        return True
    return call.function in AGGREGATES or isinstance(call.own, OwnAggregate)
