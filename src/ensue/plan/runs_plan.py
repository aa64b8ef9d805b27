"""The plan of an automaton of the user's own whose register only its runs can tell: what `kernels/runs.py` steps over.

What a fence asks of the event alone is split off, as the paper's condition on events is, and evaluated over columns; an
arc is looked at only where that holds. What is left are short programs over the register.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from ensue.automata.build import Unsupported
from ensue.data.schema import Kind, Schema
from ensue.language import ast
from ensue.logic.check import Checked
from ensue.logic.check_automata import FIELD_TYPES
from ensue.logic.classify import conjuncts_of
from ensue.logic.formula import Formula, NoInstruction, computed, formula_of, kind_of
from ensue.logic.outputs import projected
from ensue.logic.own_automata import Arc, OwnAutomaton, OwnCall, Value, fields_in, over_step, own_automaton_of
from ensue.logic.stored_values import stored_in
from ensue.logic.types import Typing
from ensue.logic.window import Window, peel_windows
from ensue.plan.capacity import MAX_MARKS, MAX_PREDICATES

Marks = frozenset[str]


@dataclass(frozen=True)
class RegisterCheck:
    """A comparison of a field with a value of the event, or with a constant: most fences need no more."""

    field: int
    operator: str
    term: ast.Expression | None = None
    constant: bool | int | float | str | None = None


@dataclass(frozen=True)
class Write:
    """What an arc stores in a field: what one of these gives, a constant added to a field, or a constant."""

    field: int
    formula: int | None = None
    call: int | None = None
    term: ast.Expression | None = None  # a value of the event
    added_to: int | None = None  # the field that the constant is added to
    constant: bool | int | float | str | None = None


@dataclass(frozen=True)
class PlannedArc:
    """An arc in numbers: the conditions on the event, then what is asked of the register, then what is stored."""

    source: int
    target: int
    asked: tuple[int, ...]
    checks: tuple[RegisterCheck, ...]
    formulas: tuple[int, ...]
    calls: tuple[int, ...]
    since: tuple[tuple[int, ast.Interval], ...]
    writes: tuple[Write, ...]
    resets: tuple[int, ...]
    mark: int


@dataclass(frozen=True)
class RunsPlan:
    """It holds no data, and it pickles. Fields come before clocks in the register."""

    own: OwnAutomaton
    schema: Schema | None  # known where it runs
    window: Window
    keys: tuple[str, ...]
    limit: int | None  # of the matches of each end
    consumes: bool
    arcs: tuple[PlannedArc, ...]  # by their sources
    conditions: tuple[ast.Expression, ...]  # on one event, or on the events of a step
    formulas: tuple[Formula, ...]
    calls: tuple[tuple[OwnCall, ast.LiteralType], ...]  # each with the type of what it gives
    marks: tuple[Marks, ...]
    shown: tuple[str, ...]  # the fields that rows show

    @cached_property
    def terms(self) -> dict[ast.Expression, Kind]:
        """The values of the event that are stored, compared with fields or computed with, each with its kind."""
        typing = Typing(self.schema)
        asked = [t for f in self.formulas for t in f.terms]
        for arc in self.arcs:
            found = [*(c.term for c in arc.checks), *(w.term for w in arc.writes)]
            asked += [t for t in found if t is not None]
        return {t: kind_of(t, typing) for t in asked}

    @property
    def schema_known(self) -> Schema:
        assert self.schema is not None, "events have columns"
        return self.schema

    @property
    def starts(self) -> list[int]:
        return [self.own.states.index(s) for s in self.own.shape.starts]

    @property
    def finals(self) -> list[int]:
        return [n for n, s in enumerate(self.own.states) if s in self.own.shape.accepts]

    @property
    def repeats(self) -> bool:
        """Whether two runs may find one match: of several accepting states, or with fields that are not shown."""
        return len(self.finals) > 1 or len(self.shown) < len(self.own.fields) + len(self.own.shape.clocks)


def runs_plan(checked: Checked) -> RunsPlan:
    """The plan of a query that is an automaton by itself; raises Unsupported for what its kernel does not do."""
    query = checked.query
    core, window = peel_windows(query.pattern)
    own = own_automaton_of(core) if isinstance(core, ast.Matches) else None
    if own is None:
        raise Unsupported(query.pattern, "MATCHES inside a larger pattern, with a register")
    keys = tuple(k.attribute for k in query.partition)
    _check(query, own, keys)
    return _Planner(own, checked, window, keys).plan()


def _check(query: ast.Query, own: OwnAutomaton, keys: tuple[str, ...]) -> None:
    if query.selector is not ast.Selector.ALL:
        raise Unsupported(query, f"{query.selector} over an automaton with a register")
    if query.consume is ast.Consume.ANY and keys:
        raise Unsupported(query, "CONSUME BY ANY over an automaton with a register")
    if any(f.type is ast.LiteralType.STRING for f in own.shape.fields):
        raise Unsupported(query, "texts in the register of an automaton")
    if any(f.of is not None for f in own.shape.fields):
        raise Unsupported(query, "times or decimals in the register of an automaton that computes with it")
    if any(arc.types for arc in own.shape.arcs):
        raise Unsupported(query, "what algebra makes of automata, with a register that rows show")
    if not all(call.compiled for call in own.calls):
        raise Unsupported(query, "a fence or transfer that Numba does not compile")


T = TypeVar("T")
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
#: A value of the event, or none and a constant.
_Given = tuple[ast.Expression | None, bool | int | float | str | None]


class _Planner:
    def __init__(self, own: OwnAutomaton, checked: Checked, window: Window, keys: tuple[str, ...]) -> None:
        self._own, self._checked, self._schema = own, checked, checked.schema
        self._window, self._keys = window, keys
        self._stored = {f.name: f.literal if f.initial is not None else _any_of(f.type) for f in own.shape.fields}
        self._place = {name: n for n, name in enumerate((*own.fields, *own.shape.clocks))}
        self._conditions: list[ast.Expression] = []
        self._formulas: list[Formula] = []
        self._calls: list[tuple[OwnCall, ast.LiteralType]] = []
        self._shown = projected(checked.outputs)
        self._marks: list[Marks] = [frozenset()]

    def plan(self) -> RunsPlan:
        query = self._checked.query
        try:
            arcs = tuple(sorted(map(self._arc, self._own.shape.arcs), key=lambda a: a.source))
            made = self._made(arcs)
            _ = made.terms
        except NoInstruction as e:
            raise Unsupported(query, str(e).replace("of several events", "over the register of an automaton")) from None
        if len(self._conditions) > MAX_PREDICATES:
            raise Unsupported(query, f"an automaton with more than {MAX_PREDICATES} different conditions on events")
        if len(self._marks) > MAX_MARKS:
            raise Unsupported(query, f"a query with more than {MAX_MARKS} different sets of marks")
        return made

    def _made(self, arcs: tuple[PlannedArc, ...]) -> RunsPlan:
        query = self._checked.query
        return RunsPlan(
            self._own,
            self._schema,
            self._window,
            self._keys,
            query.limit if query.per is ast.Per.END else None,
            query.consume is not ast.Consume.NONE,
            arcs,
            tuple(self._conditions),
            tuple(self._formulas),
            tuple(self._calls),
            tuple(self._marks),
            tuple(name for name in self._own.fields if name in self._shown),
        )

    def _arc(self, arc: Arc) -> PlannedArc:
        states = self._own.states
        asked, checks, formulas, calls = self._when(arc.when)
        return PlannedArc(
            states.index(arc.source),
            states.index(arc.target),
            asked,
            checks,
            formulas,
            calls,
            tuple((self._place[clock], interval) for clock, interval in arc.since),
            tuple(self._write(name, value) for name, value in arc.then),
            tuple(sorted(self._place[clock] for clock in arc.resets)),
            _numbered(self._marks, arc.marks & self._shown),
        )

    def _when(
        self, values: Iterable[Value]
    ) -> tuple[tuple[int, ...], tuple[RegisterCheck, ...], tuple[int, ...], tuple[int, ...]]:
        """Conditions on the event alone, comparisons with fields, other conditions on the register, functions."""
        asked, checks, related, calls = [], [], [], []
        for value in values:
            if isinstance(value, OwnCall):
                calls.append(_numbered(self._calls, (value, ast.LiteralType.BOOLEAN)))
                continue
            for conjunct in conjuncts_of(value.expression):
                if not fields_in(conjunct, self._own.fields):
                    asked.append(_numbered(self._conditions, self._of_step(conjunct)))
                    continue
                check = self._comparison(conjunct)
                if check is None:
                    related.append(self._over_register(conjunct))
                else:
                    checks.append(check)
        formulas = [self._add(formula_of(c, self._stored, self._schema)) for c in related]
        return tuple(asked), tuple(checks), tuple(formulas), tuple(calls)

    def _comparison(self, e: ast.Expression) -> RegisterCheck | None:
        """A comparison of a field with something of its own kind; None for all else."""
        if not (isinstance(e, ast.Binary) and e.operator in _MIRRORED):
            return None
        for field, other, operator in ((e.left, e.right, e.operator), (e.right, e.left, _MIRRORED[e.operator])):
            if isinstance(field, ast.Name) and field.name in self._own.fields:
                given = self._of_kind(other, self._own.fields[field.name].type)
                if given is not None:
                    return RegisterCheck(self._place[field.name], operator, *given)
        return None

    def _of_kind(self, e: ast.Expression, type_: ast.LiteralType) -> _Given | None:
        """The value of the event, or the constant, where it is of the kind of a field."""
        if fields_in(e, self._own.fields):
            return None
        if isinstance(e, ast.Literal):
            whole = e.type is ast.LiteralType.INTEGER and type_ is ast.LiteralType.FLOAT
            return (None, e.value) if e.type is type_ or (whole and e.value is not None) else None
        term = self._of_step(e)
        kind = kind_of(term, Typing(self._schema))
        return (term, None) if kind is FIELD_TYPES[type_].kind else None

    def _write(self, name: str, value: Value) -> Write:
        type_, place = self._own.fields[name].type, self._place[name]
        if isinstance(value, OwnCall):
            return Write(place, call=_numbered(self._calls, (value, type_)))
        given = self._of_kind(value.expression, type_)
        if given is not None:
            return Write(place, term=given[0], constant=given[1])
        added = self._added(value.expression) if type_ is ast.LiteralType.INTEGER else None
        if added is not None:
            return Write(place, added_to=added[0], constant=added[1])
        e = self._over_register(value.expression)
        formula = computed(e, self._stored, self._schema, as_float=type_ is ast.LiteralType.FLOAT)
        return Write(place, formula=self._add(formula))

    def _added(self, e: ast.Expression) -> tuple[int, int] | None:
        """The field of whole numbers, and what is added to it, of `n + 1` and `n - 1`."""
        match e:
            case ast.Binary("+" | "-", ast.Name(name), ast.Literal(int(by), ast.LiteralType.INTEGER)):
                field = self._own.fields.get(name)
                if field is not None and field.type is ast.LiteralType.INTEGER:
                    return self._place[name], by if e.operator == "+" else -by
        return None

    def _of_step(self, e: ast.Expression) -> ast.Expression:
        return over_step(e, self._own.fields) if self._own.shape.by_time else e

    def _over_register(self, e: ast.Expression) -> ast.Expression:
        def stored(part: ast.Expression) -> ast.Expression | None:
            return stored_in(part.name) if isinstance(part, ast.Name) and part.name in self._own.fields else None

        return ast.replaced(self._of_step(e), stored)

    def _add(self, formula: Formula) -> int:
        self._formulas.append(formula)
        return len(self._formulas) - 1


def _any_of(type_: ast.LiteralType) -> ast.Literal:
    """Some value of a type: formulas ask only what kind of value a field holds."""
    values: dict[ast.LiteralType, float | str] = {ast.LiteralType.FLOAT: 0.0, ast.LiteralType.STRING: ""}
    return ast.Literal(values.get(type_, 0), type_)


def _numbered(known: list[T], item: T) -> int:
    if item not in known:
        known.append(item)
    return known.index(item)
