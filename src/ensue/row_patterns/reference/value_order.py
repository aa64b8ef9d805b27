"""The order of two values, with NULLs where ORDER BY says."""

from __future__ import annotations

from typing import Any


def compared(a: Any, b: Any, descending: bool, nulls_first: bool) -> int:
    """Below 0 if `a` comes first, above 0 if `b` does."""
    if a is None or b is None:
        return 0 if a is b else (-1 if (a is None) == nulls_first else 1)
    less, greater = _is_less(a, b), _is_less(b, a)
    return (greater - less) * (-1 if descending else 1)


def _is_less(a: Any, b: Any) -> bool:
    """NaN is greater than every number."""
    if a != a or b != b:
        return bool(a == a)
    return bool(a < b)
