"""What the checks and both evaluators know of an aggregate of the user's own: a monoid, one value at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ensue.data.schema import FLOAT, INTEGER, Kind, ValueType
from ensue.errors import EngineError
from ensue.language.own import Own
from ensue.logic.own_functions import accepts


@dataclass(frozen=True)
class Monoid:
    """What a value becomes, how two of these become one, and what is shown of it in the end."""

    lift: Callable[[Any], Any]
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any], Any]


class OwnAggregate(Own):
    """An aggregate of the user's own. NULLs are passed over; of nothing it is NULL."""

    kind = "aggregate"

    def __init__(
        self, name: str, digest: str, monoid: Monoid, *, takes: ValueType, state: pa.DataType, returns: ValueType
    ) -> None:
        super().__init__(name, digest)
        self._monoid = monoid
        self.takes, self.state, self.returns = takes, state, returns

    @property
    def result(self) -> ValueType:
        """The type as expressions compute with it: numbers are of 64 bits."""
        return {Kind.INTEGER: INTEGER, Kind.FLOAT: FLOAT}.get(self.returns.kind, self.returns)

    def accepts(self, given: ValueType) -> bool:
        """Whether it may be of values of this type."""
        return accepts(self.takes, given)

    def lifted(self, value: Any) -> Any:
        """The state of one value; None where the value is NULL."""
        return None if value is None else self._asked("lift", self._monoid.lift, value)

    def combined(self, left: Any, right: Any) -> Any:
        """The state of the values of both, those of `left` first; None is the state of no values."""
        if left is None or right is None:
            return right if left is None else left
        return self._asked("combine", self._monoid.combine, left, right)

    def folded(self, values: Iterable[Any]) -> Any:
        """The state of all values, in their order."""
        state = None
        for value in values:
            state = self.combined(state, self.lifted(value))
        return state

    def results(self, states: Iterable[Any]) -> pa.Array:
        """What is shown of each state."""
        shown = [None if s is None else self._asked("lower", self._monoid.lower, s) for s in states]
        return self._column(shown, self.returns.arrow, "lower gave")

    def stored(self, states: list[Any]) -> pa.Array:
        """The states as a column, for a saved state."""
        return self._column(states, self.state, "state: a saved state cannot hold")

    def check(self, samples: Iterable[Any]) -> None:
        """Tries the laws on all triples of these values, up to rounding; raises ValueError with those that break one.

        The order in which states are combined depends on which windows are open, so that `combine` must be associative.
        It must not change its arguments, and what `state` holds must be what it was.

        >>> import ensue
        >>> parts = dict(lift=float, combine=lambda a, b: (a + b) / 2, takes="float", state="float")
        >>> ensue.aggregate("middle", registered=False, **parts).check([0, 1, 2])
        Traceback (most recent call last):
            ...
        ValueError: combine of 'middle' is not associative: for 0, 0, 1 it gives 0.5 from the left, 0.25 from the right
        """
        values = list(samples)
        states = [self.lifted(v) for v in values]
        for value, state in zip(values, states, strict=True):
            self._check_state(value, state)
        for i, a in enumerate(states):
            for j, b in enumerate(states):
                both = self.combined(a, b)
                self._check_state(f"{values[i]!r}, {values[j]!r}", both)
                for k, c in enumerate(states):
                    left, right = self.combined(both, c), self.combined(a, self.combined(b, c))
                    if not _alike(left, right):
                        shown = ", ".join(repr(values[n]) for n in (i, j, k))
                        told = f"for {shown} it gives {left!r} from the left, {right!r} from the right"
                        raise ValueError(f"combine of '{self.name}' is not associative: {told}")
        again = [self.lifted(v) for v in values]
        for value, state, other in zip(values, states, again, strict=True):
            if not _alike(state, other):
                told = f"the state of {value!r} was {other!r}, and is {state!r} now"
                raise ValueError(f"combine of '{self.name}' changes its arguments: {told}")

    def _check_state(self, values: Any, state: Any) -> None:
        if state is None:
            raise ValueError(f"the state of {values} in '{self.name}' is None, which stands for no values")
        (kept,) = self.stored([state]).to_pylist()
        if not _alike(kept, state):
            told = f"as {self.state} it is {kept!r}, and it was {state!r}"
            raise ValueError(f"a saved state does not keep the state of {values} in '{self.name}': {told}")
        self.results([state])

    def _asked(self, part: str, function: Callable[..., Any], *values: Any) -> Any:
        try:
            return function(*values)
        except Exception as e:
            message = f"{part} of the aggregate '{self.name}' raised {type(e).__name__}: {e}"
            raise EngineError(message) from e

    def _column(self, values: list[Any], type_: pa.DataType, said: str) -> pa.Array:
        try:
            return pa.array(values, type_)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError, OverflowError):
            pass
        wrong = next((v for v in values if not _fits(v, type_)), values)
        raise EngineError(f"the aggregate '{self.name}': {said} {wrong!r}, which is no {type_}")


def _alike(a: Any, b: Any) -> bool:
    """Whether two states are equal up to the rounding of floats."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isclose(a, b, rel_tol=1e-9) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_alike, a, b))
    return bool(a == b)


def _fits(value: Any, type_: pa.DataType) -> bool:
    try:
        pa.array([value], type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError, OverflowError):
        return False
    return True
