"""`RUNNING sum(y.v)`, `LASTOF(y).v` and `sum(y.v)` in registers, computed anew from what they hold with each event.

A condition that speaks of them is checked with the last event of the filter's own pattern (`construct`), where a whole
set has its register. RUNNING aggregates and LASTOF stay as they are until the iteration is built, which adds theirs
(`told`): so a round is told of those before.

Comparisons with LASTOF around a whole round are cheaper (`chain.py`), so that they are taken out before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from ensue.automata.build.limits import Unsupported
from ensue.automata.build.relate import guard_and_checks, parts_of
from ensue.automata.model import Automaton, Builder, Label
from ensue.automata.predicates import Guard
from ensue.automata.registers import NULL, Action, Clear, Holds, Keep, Store, formulas_of, fresh
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.classify import conjunction, conjuncts_of
from ensue.logic.clauses import bare
from ensue.logic.comparisons import with_conjuncts
from ensue.logic.first import of_one_event
from ensue.logic.scope import (
    aggregated_in,
    aggregates_of,
    attribute_variables,
    bindings,
    has_rounds,
    is_aggregate,
    last_of,
    last_of_names,
    nullable,
    running_of,
    singles,
    variables_of,
    without_aggregates,
)
from ensue.logic.stored_values import Register, register_of, stored_in
from ensue.logic.window import looks_back

#: How a register comes to hold the aggregate.
_KEEP = {
    "count": Keep.COUNT,
    "sum": Keep.TOTAL,
    "min": Keep.LEAST_KNOWN,
    "max": Keep.GREATEST_KNOWN,
    "first": Keep.FIRST,
    "last": Keep.NEW,
}
_TRUE = ast.Literal(True, ast.LiteralType.BOOLEAN)
_ZERO, _ONE = (ast.Literal(n, ast.LiteralType.INTEGER) for n in (0, 1))
_FLOAT_ZERO = ast.Literal(0.0, ast.LiteralType.FLOAT)


def adds_up(c: ast.Expression) -> bool:
    """Whether the condition asks what a round is told of those before, or a whole set."""
    return bool(running_of(c) or last_of_names(c) or aggregates_of(c))


# ---------------------------------------------------------------- at the filter


def construct(condition: ast.Expression, p: ast.Pattern, body: Automaton) -> Automaton:
    """`body`, the automaton of `p`, with the condition checked with the event that it ends with."""
    condition = _in_sums(condition)
    own = bindings(p)
    plain = without_aggregates(condition)
    chosen = attribute_variables(plain) & own.keys()
    if any(ast.find(condition, ast.Each)) or looks_back(condition):
        raise Unsupported(condition, "x[...], or PREV, beside RUNNING, LASTOF or an aggregate")
    if not all(own[x] for x in chosen):
        raise Unsupported(condition, "RUNNING, LASTOF or an aggregate beside each event of a set")
    names = fresh(body.registers)
    parts = {part: next(names) for x in sorted(chosen) for part in parts_of(condition, x)}
    asked = _Told({a: next(names) for a in dict.fromkeys(aggregates_of(condition))}, {})
    made = Builder(0)
    for t in body.transitions:
        first = t.source == 0
        actions: list[Action] = [Store(r, bare(part)) for part, r in parts.items() if variables_of(part) <= t.marks]
        actions += [*asked.stored(t.marks), *(Clear(r) for r in parts.values() if first), *asked.cleared(first=first)]
        label = Label(t.marks, t.actions.union(actions))
        made.add(t.source, t.guard, label, t.target)
        if t.target in body.finals:
            marked = t.marks & own.keys()
            _refuse_this_round(condition, marked, own.keys())
            check = Holds(_with_this_event(_with_sets(condition, asked, marked, first=first), marked))
            guard, checks = guard_and_checks(t.guard, check, chosen & marked, parts)
            made.add(t.source, guard, Label(label.marks, label.actions.union(checks)), "end", final=True)
    return _of_what_came(made.build())


def _with_sets(condition: ast.Expression, asked: _Told, marked: frozenset[str], *, first: bool) -> ast.Expression:
    """The condition with what registers hold of whole sets, at an event with these marks."""

    def from_registers(e: ast.Expression) -> ast.Expression | None:
        if isinstance(e, ast.Running):
            return e  # it has other events
        if not isinstance(e, ast.Call) or e not in asked.running:
            return None
        here = (_added(e),) if aggregated_in(e) <= marked else ()
        with_event = ast.Running(ast.Call(e.function, (*e.arguments, *here)))
        return _in_first_event(with_event, asked) if first else _from_registers(with_event, asked)

    return ast.replaced(condition, from_registers)


def _in_sums(condition: ast.Expression) -> ast.Expression:
    """The condition with its averages as sums and counts; raises Unsupported for what no register can hold."""

    def in_sums(e: ast.Expression) -> ast.Expression | None:
        if not (isinstance(e, ast.Running) or is_aggregate(e)):
            return None
        a = e.aggregate if isinstance(e, ast.Running) else e
        assert isinstance(a, ast.Call)
        if len(aggregated_in(a)) != 1 or looks_back(a):
            raise Unsupported(e, "an aggregate with PREV, or with a second event")
        if a.own is not None or a.function not in (*_KEEP, "avg"):
            raise Unsupported(e, f"{a.shown} in a filter that cannot be judged on whole matches")
        if a.function != "avg":
            return e
        (value,) = a.arguments
        total = ast.Call("sum", (ast.Binary("+", value, _FLOAT_ZERO),))
        count = ast.Call("count", (value,))
        if isinstance(e, ast.Running):
            return ast.Binary("/", ast.Running(total), ast.Running(count))
        return ast.Binary("/", total, count)

    return ast.replaced(condition, in_sums)


def _with_this_event(condition: ast.Expression, marked: frozenset[str]) -> ast.Expression:
    """The condition in which an aggregate of a variable that marks the event has, second, what the event adds to it."""

    def with_event(e: ast.Expression) -> ast.Expression | None:
        if not isinstance(e, ast.Running) or not aggregated_in(e.aggregate) <= marked:
            return e if isinstance(e, ast.Running) else None
        return ast.Running(ast.Call(e.aggregate.function, (*e.aggregate.arguments, _added(e.aggregate))))

    return ast.replaced(condition, with_event)


def _added(a: ast.Call) -> ast.Expression:
    """What an event adds to the aggregate, over bare attributes; a count is one of what is TRUE."""
    argument = a.arguments[0]
    if a.function != "count":
        return bare(argument)
    return _TRUE if isinstance(argument, ast.Name) else ast.IsNull(bare(argument), negated=True)


def _refuse_this_round(condition: ast.Expression, marked: frozenset[str], own: Collection[str]) -> None:
    """The event of the round before is known until this round's is marked."""
    if not last_of_names(condition) & set(map(last_of, own)) <= set(map(last_of, marked)):
        raise Unsupported(condition, "LASTOF in a filter that ends with another event of the round")


# ---------------------------------------------------------------- at the iteration


class _Told(NamedTuple):
    """The registers of an iteration: of aggregates, by the aggregate, and of LASTOF."""

    running: Mapping[ast.Call, Register]
    last: Mapping[ast.LastOf, Register]

    def stored(self, marks: frozenset[str]) -> Iterator[Store]:
        """What an event with these marks stores."""
        for a, register in self.running.items():
            if aggregated_in(a) <= marks:
                yield Store(register, _added(a), _KEEP[a.function])
        for e, register in self.last.items():
            if e.variable in marks:
                yield Store(register, ast.Name(e.name))

    def cleared(self, *, first: bool) -> list[Clear]:
        """What the first event empties: an iteration around may have stored something."""
        return [Clear(r) for r in (*self.running.values(), *self.last.values())] if first else []


def told(p: ast.Iteration, made: Automaton) -> Automaton:
    """The automaton of the iteration, with registers for what its conditions say of the rounds before."""
    asked = _asked(made, frozenset(bindings(p.body)) if has_rounds(p) else frozenset())
    if not (asked.running or asked.last):
        return made
    _check_order(p)
    found = Builder(0)
    for t in made.transitions:
        guard: Guard | None = t.guard
        first = t.source == 0
        actions: list[Action] = [*asked.stored(t.marks), *asked.cleared(first=first)]
        resolve = partial(_in_first_event if first else _from_registers, asked=asked)
        for a in t.actions:
            if guard is None or not isinstance(a, Holds):
                actions.append(a)
            elif not (
                first and any(e in asked.last for e in ast.find(a.condition, ast.LastOf))
            ):  # else it says nothing
                guard, checks = guard_and_checks(guard, a.with_parts(resolve), (), {})
                actions += checks
        found.add(t.source, guard, Label(t.marks, frozenset(actions)), t.target, final=t.target in made.finals)
    return _of_what_came(found.build())


def _asked(made: Automaton, own: frozenset[str]) -> _Told:
    conditions = {f.condition: None for t in made.transitions for f in formulas_of(t.actions)}
    running = {_whole(r): None for c in conditions for r in running_of(c) if not _is_known(r)}
    last = {e: None for c in conditions for e in ast.find(c, ast.LastOf) if e.variable in own}
    names = fresh(made.registers)
    return _Told(
        {a: next(names) for a in sorted(running, key=print_expression) if aggregated_in(a) <= own},
        {e: next(names) for e in sorted(last, key=print_expression)},
    )


def _whole(r: ast.Running) -> ast.Call:
    """The aggregate, without what the present event adds to it."""
    return ast.Call(r.aggregate.function, r.aggregate.arguments[:1])


def _is_known(r: ast.Running) -> bool:
    """Whether the aggregate has its register: an inner iteration has given it one."""
    return register_of(r.aggregate.arguments[0]) is not None


def _from_registers(e: ast.Expression, asked: _Told) -> ast.Expression | None:
    if isinstance(e, ast.LastOf) and e in asked.last:
        return stored_in(asked.last[e])
    if not isinstance(e, ast.Running):
        return None
    if _is_known(e) or _whole(e) not in asked.running:
        return e
    register, here = stored_in(asked.running[_whole(e)]), e.aggregate.arguments[1:]
    if e.aggregate.function == "last" and here:
        return here[0]
    return ast.Running(ast.Call(e.aggregate.function, (register, *here)))


def _in_first_event(e: ast.Expression, asked: _Told) -> ast.Expression | None:
    """The aggregate over the event alone with which the iteration begins, or over nothing."""
    if not isinstance(e, ast.Running):
        return None
    if _is_known(e) or _whole(e) not in asked.running:
        return e
    if len(e.aggregate.arguments) == 2:
        alone = of_one_event(_whole(e))
        assert alone is not None, "there are registers for these only"
        return bare(alone)
    return _ZERO if e.aggregate.function == "count" else NULL


# ---------------------------------------------------------------- what cannot have been stored


def _of_what_came(made: Automaton) -> Automaton:
    """The automaton in which no aggregate is asked of a register that is empty then: it is over the event alone.

    Else a register would be asked for in which nothing is ever stored, of which nobody knows what it has room for.
    """
    filled = _may_be_filled(made)
    found = Builder(0)
    for t in made.transitions:
        guard: Guard | None = t.guard
        actions: list[Action] = []
        for a in t.actions:
            if guard is None or not isinstance(a, Holds) or not running_of(a.condition):
                actions.append(a)
                continue
            guard, checks = guard_and_checks(guard, a.with_parts(partial(_without, filled[t.source])), (), {})
            actions += checks
        found.add(t.source, guard, Label(t.marks, frozenset(actions)), t.target, final=t.target in made.finals)
    return found.build()


def _may_be_filled(made: Automaton) -> dict[int, set[Register]]:
    """For each state: the registers in which some run may have stored something."""
    filled: dict[int, set[Register]] = {state: set() for t in made.transitions for state in (t.source, t.target)}
    grown = True
    while grown:
        grown = False
        for t in made.transitions:
            cleared = {a.register for a in t.actions if isinstance(a, Clear)}
            stored = {a.register for a in t.actions if isinstance(a, Store)}
            new = (filled[t.source] - cleared) | stored
            grown |= not new <= filled[t.target]
            filled[t.target] |= new
    return filled


def _without(filled: set[Register], e: ast.Expression) -> ast.Expression | None:
    """An aggregate in an empty register, over what the event adds to it."""
    if not isinstance(e, ast.Running):
        return None
    register, *here = e.aggregate.arguments
    if not _is_known(e) or register_of(register) in filled:
        return e
    if e.aggregate.function != "count":
        return here[0] if here else NULL
    return ast.Call("if", (here[0], _ONE, _ZERO)) if here else _ZERO


# ---------------------------------------------------------------- where a filter stands in its round


def gathered(p: ast.Iteration) -> ast.Iteration:
    """The iteration with the conditions around the whole round that must wait for an event that comes later in it."""
    own, body, moved = frozenset(bindings(p.body)), p.body, []
    for f, path in _filters(p.body, own, ()) if has_rounds(p) else ():
        waiting = [c for c in conjuncts_of(f.condition) if _may_wait(c, f, path, p.body)]
        if waiting:
            kept = with_conjuncts(f, [c for c in conjuncts_of(f.condition) if c not in waiting])
            body = ast.rebuilt(body, {f: kept or f.body}.get)  # type: ignore[arg-type]
            moved += waiting
    return dataclasses.replace(p, body=ast.Filter(body, conjunction(moved)) if moved else body)


def _may_wait(c: ast.Expression, f: ast.Filter, path: _Path, body: ast.Pattern) -> bool:
    """Whether the condition asks for an event to the right of it, and means the same around the round."""
    over = {y for r in running_of(c) for y in aggregated_in(r.aggregate) & bindings(body).keys()}
    plain = (ast.Sequence, ast.NotBetween, ast.Filter, ast.Within)
    return (
        any(_side(f, path, y) == "left" for y in over)
        and all(isinstance(node, plain) and name != "absent" for node, name in path)
        and not (last_of_names(c) or aggregates_of(c) or nullable(f.body))
        and attribute_variables(without_aggregates(c)) & bindings(f.body).keys() <= singles(body)
    )


#: The nodes from the body of an iteration down to a filter, each with the part in which the filter is.
_Path = tuple[tuple[ast.Pattern, str], ...]


def _check_order(p: ast.Iteration) -> None:
    """Refuses a condition that is checked when it is not known yet what it speaks of, or no longer.

    An aggregate has its event of this round once that is marked; LASTOF speaks of the round before until then.
    """
    own = frozenset(bindings(p.body))
    for f, path in _filters(p.body, own, ()):
        for r in running_of(f.condition):
            (y,) = aggregated_in(r.aggregate) or {""}
            if y in own and _side(f, path, y) not in ("own", "right"):
                raise Unsupported(r, "RUNNING over an event that comes later in the round, or twice in it")
        for e in ast.find(f.condition, ast.LastOf):
            if e.variable in own and _side(f, path, e.variable) not in ("own", "left"):
                raise Unsupported(e, "LASTOF behind this round's event")


def _filters(p: ast.Pattern, own: frozenset[str], path: _Path) -> Iterator[tuple[ast.Filter, _Path]]:
    """The filters of a round that speak of other rounds of it, each with its path."""
    if isinstance(p, ast.Filter) and _names(p):
        yield p, path
    for name in ("body", "left", "right", "absent"):
        part = getattr(p, name, None)
        if isinstance(part, ast.Pattern):
            inner = own - bindings(part).keys() if isinstance(p, ast.Iteration) and has_rounds(p) else own
            yield from ((f, q) for f, q in _filters(part, inner, (*path, (p, name))) if _names(f) & inner)


def _names(f: ast.Filter) -> frozenset[str]:
    """The variables of whose other rounds the filter speaks."""
    names = frozenset(e.variable for e in ast.find(f.condition, ast.LastOf))
    return names.union(*(aggregated_in(r.aggregate) for r in running_of(f.condition)))


def _side(f: ast.Filter, path: _Path, y: str) -> str:
    """Where the filter stands: around what binds the variable, to the left or to the right of it; else nothing."""
    own = y in bindings(f.body)
    found = []
    for node, name in path:
        if name == "absent" or (isinstance(node, ast.As | ast.SpanOf) and node.variable == y):
            return ""
        others = [side for side in ("left", "right") if side != name and y in bindings(getattr(node, side, ast.Any()))]
        if others and own and not isinstance(node, ast.Or | ast.And):
            return ""
        if others and not own:
            found.append(name if isinstance(node, ast.Sequence | ast.NotBetween) else "")
    return "own" if own else found[0] if len(found) == 1 else ""
