"""What a run has stored, as a part of a condition: the name of a register stands for its content."""

from __future__ import annotations

from ensue.language import ast

Register = str
#: The variable that stands for the registers in a condition over several of them.
_REGISTERS = "$"


def stored_in(register: Register) -> ast.Expression:
    """The register's content, as a part of a condition."""
    return ast.Attribute(_REGISTERS, register)


def register_of(e: ast.Node) -> Register | None:
    """The register whose content the expression is, or None."""
    return e.name if isinstance(e, ast.Attribute) and e.variable == _REGISTERS else None
