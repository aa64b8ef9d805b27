"""What users hand to queries under a name: functions, aggregates and automata of their own.

A query names them, and `own/registry.py` puts them into its tree, so that each later stage finds them where they are
used. They compare and hash by their digests, which are also what a saved state depends on.
"""

from __future__ import annotations

import hashlib
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar


class Own:
    """Something of the user's own; a subclass for each kind. It is immutable, and cloudpickle takes it to Spark."""

    #: What it is called in messages: function, aggregate or automaton.
    kind: ClassVar[str]

    def __init__(self, name: str, digest: str) -> None:
        self.name = name
        #: Equal for two things that give the same results; it is the same in every process.
        self.digest = digest

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Own) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def _identity(self) -> tuple[str, str]:
        return self.name, self.digest


class Draft(ABC):
    """What users put together step by step; a query takes it as it is when the query is made."""

    @abstractmethod
    def finished(self, name: str) -> Own:
        """The thing as it is now, under a name; raises ValueError where something is missing."""


def digest_of(*parts: object) -> str:
    """A digest of texts, numbers and functions: of what a function does, as far as its code shows it."""
    return hashlib.sha256("\0".join(text for part in parts for text in _texts(part, set())).encode()).hexdigest()


def _texts(part: object, seen: set[int]) -> Iterator[str]:
    """What the digest of a value is made of."""
    code = getattr(part, "py_func", part)  # what Numba has compiled
    if isinstance(code, types.FunctionType):
        yield from _of_function(code, seen)
    elif isinstance(code, partial):
        for inner in (code.func, *code.args, *sorted(code.keywords.items())):
            yield from _texts(inner, seen)
    elif isinstance(code, types.MethodType):
        yield from _texts(code.__func__, seen)
    elif isinstance(code, tuple | list):
        yield f"{len(code)} of"
        for inner in code:
            yield from _texts(inner, seen)
    elif isinstance(code, str | bytes | int | float | complex | bool | None):
        yield repr(code)
    elif callable(code) and not hasattr(code, "__qualname__"):  # an object that can be called
        yield from _texts(type(code).__call__, seen)
    else:  # a module, a class, a function in C: what it is called
        name = getattr(code, "__qualname__", None) or getattr(code, "__name__", type(code).__qualname__)
        yield f"{getattr(code, '__module__', '')}.{name}"


def _of_function(function: Callable[..., Any], seen: set[int]) -> Iterator[str]:
    """Its code, the values that it has kept, and the functions and constants of its module that it names."""
    if id(function) in seen:
        return
    seen.add(id(function))
    assert isinstance(function, types.FunctionType)
    yield from _of_code(function.__code__)
    for kept in (function.__defaults__ or (), sorted((function.__kwdefaults__ or {}).items())):
        yield from _texts(tuple(kept), seen)
    for cell in function.__closure__ or ():
        yield from _texts(cell.cell_contents, seen)
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name
            yield from _texts(function.__globals__[name], seen)


def _of_code(code: types.CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _of_code(constant)
        else:  # a set is in another order in each process
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)
