"""Paths: what is read out of one column of an event, such as `user.id`, `tags[1]` and `props['k']`."""

from __future__ import annotations

from ensue.language import ast

#: The event's own column, with which a path begins.
Root = ast.Attribute | ast.LastOf | ast.Name


def root_of(e: ast.Expression) -> Root | None:
    """The column that a path begins with; None for what is no path, since an index of it is computed.

    >>> from ensue.language.parser import parse_expression
    >>> root_of(parse_expression("x.user.emails[1]")), root_of(parse_expression("x.tags[x.v]"))
    (Attribute(variable='x', name='user'), None)
    """
    while isinstance(e, ast.Field | ast.Element):
        if isinstance(e, ast.Element) and not _is_constant(e.index):
            return None
        e = e.of
    return e if isinstance(e, ast.Attribute | ast.LastOf | ast.Name) else None


def _is_constant(index: ast.Expression) -> bool:
    if isinstance(index, ast.Unary):
        return index.operator == "-" and isinstance(index.operand, ast.Literal)
    return isinstance(index, ast.Literal)


def field_names(e: ast.Expression) -> tuple[str, ...] | None:
    """The names in a path of fields only, from its variable on: the default name of a result column has all of them.

    >>> from ensue.language.parser import parse_expression
    >>> field_names(parse_expression("x.user.id")), field_names(parse_expression("x.tags[1]"))
    (('x', 'user', 'id'), None)
    """
    if isinstance(e, ast.InRegister):
        return (e.name,)
    names: list[str] = []
    while isinstance(e, ast.Field):
        names.append(e.name)
        e = e.of
    return (e.variable, e.name, *reversed(names)) if isinstance(e, ast.Attribute) else None
