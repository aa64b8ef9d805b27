"""Calls parts of kernels from a test: by themselves they can be called by kernels only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def callable_from_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that does what the compiled one does, compiled with a way in from Python."""

    def call(*arguments: Any) -> Any:
        return function(*arguments)

    made: Callable[..., Any] = njit(call)
    return made
