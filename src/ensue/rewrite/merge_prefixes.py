"""`(p ; q) OR (p ; r)` is `p ; (q OR r)`: a shared beginning is matched once."""

from __future__ import annotations

import dataclasses

from ensue.language import ast
from ensue.logic.scope import nullable
from ensue.rewrite.bottom_up import bottom_up


def merge_prefixes(p: ast.Pattern) -> ast.Pattern:
    """The pattern with shared prefixes of alternatives taken out.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> print_pattern(merge_prefixes(parse_pattern("A ; B ; C OR A ; B ; D")))
    'A ; B ; (C OR D)'
    """
    return bottom_up(p, lambda q: _merge(q.left, q.right, q) if isinstance(q, ast.Or) else q)


def _merge(left: ast.Pattern, right: ast.Pattern, here: ast.Or) -> ast.Pattern:
    if left == right:
        return left
    match left, right:
        case ast.Sequence(), ast.Sequence() if (left.link, left.gap) == (right.link, right.gap):
            # Beside OR a step that may be left out could no longer be.
            if left.left == right.left and not nullable(left.right) and not nullable(right.right):
                return dataclasses.replace(left, right=_merge(left.right, right.right, here))
    return dataclasses.replace(here, left=left, right=right)
