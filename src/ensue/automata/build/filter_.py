"""`p FILTER f`: conditions that concern one event each, compare two (`compare.py`) or relate more (`relate.py`).

`f` is a conjunction of clauses, a clause is a disjunction of parts, and a part is a condition on every event that one
variable marks (or, under NOT x[g], on some event). Since the choices from different sets are independent, "every
choice satisfies P(x) or Q(y)" means "every x satisfies P, or every y satisfies Q". So a clause of one part becomes a
guard on the transitions that mark its variable; a larger clause becomes a monitor, which tracks which parts still hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from ensue.automata.build import compare, relate, rounds
from ensue.automata.build.limits import Unsupported, check_predicates
from ensue.automata.model import Automaton, Builder, Transition
from ensue.automata.predicates import Guard, Test, cells, conjunction, implied, predicates_of
from ensue.language import ast
from ensue.logic.classify import conjuncts_of
from ensue.logic.clauses import Clause, NotUnary, Part, clauses_of
from ensue.logic.comparisons import split, with_conjuncts
from ensue.logic.scope import bindings, singles


def construct(p: ast.Filter, body: Automaton) -> Automaton:
    comparisons, formulas, rest = split(p)
    for comparison in comparisons:
        body = compare.construct(comparison, body, singles(p.body))
    for formula in formulas:
        body = relate.construct(formula, body, bindings(p.body))
    told = [c for c in conjuncts_of(rest.condition) if rounds.adds_up(c)] if rest is not None else []
    for condition in told:
        body = rounds.construct(condition, p.body, body)
    if rest is not None:
        rest = with_conjuncts(rest, [c for c in conjuncts_of(rest.condition) if c not in told])
    for clause in _clauses(rest) if rest is not None else ():
        every = [part for part in clause if not part.exists]
        body = _guarded(body, every[0]) if len(clause) == len(every) == 1 else _monitored(p, body, clause)
    return body


def _clauses(p: ast.Filter) -> list[Clause]:
    try:
        return clauses_of(p)
    except NotUnary as e:
        raise Unsupported(e.part, e.what) from None


def _test(part: Part) -> Guard:
    return frozenset({(Test(part.condition), True)})


def _guarded(body: Automaton, part: Part) -> Automaton:
    """The automaton in which every event that the variable marks must satisfy the condition."""
    made = Builder(0)
    for t in body.transitions:
        guard = conjunction(t.guard, _test(part)) if part.variable in t.marks else t.guard
        made.add(t.source, guard, t.label, t.target, final=t.target in body.finals)
    return made.build()


@dataclass(frozen=True)
class _Monitor:
    """Which parts of a clause have held for every event so far, and whether an `exists` part has found its event."""

    holding: frozenset[Part]
    satisfied: bool

    def accepts(self) -> bool:
        return self.satisfied or bool(self.holding)

    def after(self, t: Transition, cell: Guard) -> _Monitor:
        concerned = {part for part in self.holding if part.variable in t.marks}
        failed = {part for part in concerned if not implied(cell, _test(part))}
        return _Monitor(self.holding - failed, self.satisfied)

    def found(self, clause: Clause, t: Transition, cell: Guard) -> bool:
        return any(p.exists and p.variable in t.marks and implied(cell, _test(p)) for p in clause)


def _monitored(p: ast.Filter, body: Automaton, clause: Clause) -> Automaton:
    start = (0, _Monitor(frozenset(part for part in clause if not part.exists), False))
    made = Builder(start)
    seen = {start}
    stack = [start]
    while stack:
        state, monitor = stack.pop()
        for t in body.outgoing.get(state, ()):
            concerned = [] if monitor.satisfied else [part for part in clause if part.variable in t.marks]
            predicates = predicates_of(_test(part) for part in concerned)
            check_predicates(p, len(predicates))
            for cell in cells(predicates):
                following = monitor.after(t, cell)
                if not monitor.satisfied and monitor.found(clause, t, cell):
                    following = _Monitor(frozenset(), True)
                if not following.accepts() and not any(part.exists for part in clause):
                    continue
                guard = conjunction(t.guard, cell)
                target = (t.target, following)
                made.add(
                    (state, monitor), guard, t.label, target, final=following.accepts() and t.target in body.finals
                )
                if guard is not None and target not in seen:
                    seen.add(target)
                    stack.append(target)
    return made.build()
