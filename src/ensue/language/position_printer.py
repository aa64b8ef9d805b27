"""Prints formulas over positions as text, with the fewest parentheses that keep the meaning."""

from __future__ import annotations

from collections.abc import Callable

from ensue.language import ast
from ensue.language.position_logic import Bound, Compared, Connected, EventIs, Formula, IsIn, Negated, Place, Quantified

_IFF, _IMPLIES, _OR, _AND, _NOT, _ATOM = range(6)
_STRENGTH = {"<=>": _IFF, "=>": _IMPLIES, "OR": _OR, "AND": _AND}


class FormulaPrinter:
    """Prints formulas; names and patterns of one event are printed by these functions."""

    def __init__(self, name: Callable[[str], str], pattern: Callable[[ast.Pattern], str]) -> None:
        self._name = name
        self._pattern = pattern

    def text(self, f: Formula) -> str:
        return self._formula(f)[0]

    def _at(self, f: Formula, least: int) -> str:
        text, strength = self._formula(f)
        return text if strength >= least else f"({text})"

    def _formula(self, f: Formula) -> tuple[str, int]:
        match f:
            case Compared():
                return f"{self._place(f.left)} {f.operator} {self._place(f.right)}", _ATOM
            case EventIs(event=ast.Satisfying(body=ast.Any())):
                return f"{self._name(f.variable)}{self._pattern(f.event).removeprefix('ANY')}", _ATOM
            case EventIs():
                return f"{self._name(f.variable)} IS {self._pattern(f.event)}", _ATOM
            case IsIn():
                return f"{self._name(f.variable)} IN {self._name(f.set)}", _ATOM
            case Negated():
                return f"NOT {self._at(f.body, _NOT)}", _NOT
            case Connected():
                strength = _STRENGTH[f.operator]
                to_the_right = f.operator == "=>"
                left, right = (
                    self._at(f.left, strength + to_the_right),
                    self._at(f.right, strength + (not to_the_right)),
                )
                return f"{left} {f.operator} {right}", strength
            case Quantified():
                over = ", ".join(map(self._bound, f.over))
                return f"{'FORALL' if f.every else 'EXISTS'} {over} ({self.text(f.body)})", _ATOM
        raise AssertionError(f)

    def _bound(self, b: Bound) -> str:
        if b.is_set:
            return f"SET {self._name(b.name)}"
        within = f" IN [{self._place(b.low)}, {self._place(b.high)}]" if b.low and b.high else ""
        return f"{self._name(b.name)}{within}"

    def _place(self, p: Place) -> str:
        moved = f" {'-' if p.later < 0 else '+'} {abs(p.later)}" if p.later else ""
        return f"{self._name(p.variable)}{moved}"
