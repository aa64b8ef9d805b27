"""The one way that rules walk: children first, then the node itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ensue.language import ast
from ensue.logic.scope import nullable


def bottom_up(p: ast.Pattern, change: Callable[[ast.Pattern], ast.Pattern]) -> ast.Pattern:
    """`p` with `change` applied to every pattern in it, innermost first.

    A change that would let a sequence leave out what it could not leave out before is not made: what `(A? ; B?)`
    stands bare in may skip it, what `(A? ; B?) FILTER f` stands in may not.
    """
    if isinstance(p, ast.Satisfying):  # inside it is nothing but a type
        return change(p)
    parts = {
        f.name: bottom_up(value, change)
        for f in dataclasses.fields(p)
        if isinstance(value := getattr(p, f.name), ast.Pattern)
    }
    before = dataclasses.replace(p, **parts) if parts else p  # type: ignore[arg-type]
    after = change(before)
    return before if nullable(after) and not nullable(before) else after
