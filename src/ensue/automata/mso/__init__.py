"""Formulas over positions as automata: one file for each construction, dispatched here.

Praveen and Hitarth, section 2: a variable is a track beside the events, which marks the position or the positions that
it stands for; connectives are operations on automata. Each automaton is made as small as it can be at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from ensue.automata.mso import atoms, connective, existence, negation
from ensue.automata.mso.diagrams import Diagrams, TooMuchWork, leaf
from ensue.automata.mso.tracked import MOST_STATES, TooManyStates, Tracked
from ensue.automata.predicates import Predicate, Test, TypeIs
from ensue.language import ast
from ensue.language.position_logic import (
    Bound,
    Compared,
    Connected,
    EventIs,
    Formula,
    FromTo,
    IsIn,
    Negated,
    Place,
    Quantified,
)

__all__ = ["Compiled", "FormulaTooLarge", "compiled"]


class FormulaTooLarge(Exception):
    """Raised for the part of a formula whose automaton exceeds the limits; `said` tells how large it has become."""

    def __init__(self, part: Formula, said: str) -> None:
        self.part = part
        self.said = said
        super().__init__(said)


@dataclass
class Compiled:
    """The automaton of a formula: it accepts the events up to an end, with the tracks of first and last position."""

    diagrams: Diagrams
    predicates: list[Predicate]  # the questions of the first levels
    begin: int  # the levels of the two tracks
    end: int
    automaton: Tracked


def compiled(p: FromTo) -> Compiled:
    """The smallest deterministic automaton of a formula; raises FormulaTooLarge.

    >>> from ensue.language.parser import parse_pattern
    >>> compiled(parse_pattern("(b TO e WHERE b IS A AND e IS B AND b < e)")).automaton.size
    4
    """
    predicates = list(dict.fromkeys(q for e in ast.find(p.formula, EventIs) for q in _asked(e.event)))
    diagrams = Diagrams()
    begin, end = len(predicates), len(predicates) + 1
    compiler = _Compiler(diagrams, {q: n for n, q in enumerate(predicates)}, begin)
    ordered = Compared(Place(p.begin), "<=", Place(p.end), span=p.span)
    found = compiler.whole(Connected("AND", ordered, p.formula, span=p.formula.span), p)
    return Compiled(diagrams, predicates, begin, end, found)


def _asked(event: ast.Pattern) -> list[Predicate]:
    match event:
        case ast.Type():
            return [TypeIs(event.name)]
        case ast.Satisfying():
            return [*_asked(event.body), Test(event.condition)]
    return []


@dataclass
class _Compiler:
    diagrams: Diagrams
    level: dict[Predicate, int]
    free: int  # the next level that no variable has
    largest: int = 0

    def whole(self, f: Formula, p: FromTo) -> Tracked:
        """The automaton of the formula where the first two tracks mark one event each, and the second the last one."""
        begin, end = self.free, self.free + 1
        self.free += 2
        found = self.of(f, {p.begin: begin, p.end: end})
        ends_last = (atoms.last(self.diagrams, end), atoms.once(self.diagrams, end))
        try:
            for track in (atoms.once(self.diagrams, begin), *ends_last):
                found = self.both(found, track)
        except (TooManyStates, TooMuchWork):
            raise FormulaTooLarge(p.formula, f"more than {found.size:,} states") from None
        return found

    def of(self, f: Formula, names: dict[str, int]) -> Tracked:
        """The automaton of a formula; `names` gives the level of each variable."""
        try:
            return self._of(f, names)
        except TooManyStates:
            raise FormulaTooLarge(f, f"more than {MOST_STATES:,} states") from None
        except TooMuchWork:
            raise FormulaTooLarge(f, f"too many transitions, with up to {self.largest:,} states") from None

    def _of(self, f: Formula, names: dict[str, int]) -> Tracked:
        match f:
            case Compared():
                later = f.right.later - f.left.later
                made = atoms.compared(self.diagrams, names[f.left.variable], f.operator, names[f.right.variable], later)
            case EventIs():
                condition = leaf(1)
                for level in sorted((self.level[q] for q in _asked(f.event)), reverse=True):
                    condition = self.diagrams.node(level, leaf(0), condition)
                made = atoms.implies_at(self.diagrams, names[f.variable], condition)
            case IsIn():
                inside = self.diagrams.node(names[f.set], leaf(0), leaf(1))
                made = atoms.implies_at(self.diagrams, names[f.variable], inside)
            case Negated():
                made = negation.construct(self.of(f.body, names))
            case Connected():
                made = connective.construct(self.diagrams, self.of(f.left, names), f.operator, self.of(f.right, names))
            case Quantified():
                made = self._quantified(f, names)
            case _:
                raise AssertionError(f)
        self.largest = max(self.largest, made.size)
        return made

    def both(self, f: Tracked, g: Tracked) -> Tracked:
        return connective.construct(self.diagrams, f, "AND", g)

    def _quantified(self, f: Quantified, names: dict[str, int]) -> Tracked:
        inner = dict(names)
        for b in f.over:
            inner[b.name] = self.free
            self.free += 1
        made = self.of(f.body, inner)
        for b in reversed(f.over):
            made = negation.construct(made) if f.every else made
            made = existence.construct(self.diagrams, inner[b.name], self._bounded(b, made, inner))
            made = negation.construct(made) if f.every else made
        return made

    def _bounded(self, b: Bound, f: Tracked, inner: dict[str, int]) -> Tracked:
        """The automaton where the track of a position marks one event, within its range."""
        if b.is_set:
            return f
        limits = [atoms.once(self.diagrams, inner[b.name])]
        for place, symbol in ((b.low, ">="), (b.high, "<=")):
            if place is not None:
                level = inner[place.variable]
                limits.append(atoms.compared(self.diagrams, inner[b.name], symbol, level, place.later))
        for limit in limits:
            f = self.both(f, limit)
        return f
