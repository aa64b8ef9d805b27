"""What the checks and both evaluators know of a function of the user's own: its types, and how it is called."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ensue.data.schema import FLOAT, INTEGER, Kind, ValueType
from ensue.errors import EngineError
from ensue.language.own import Own


class OwnFunction(Own):
    """A function of the user's own. Unless it takes NULLs, it is NULL where an argument is, and is not asked."""

    kind = "function"

    def __init__(
        self, name: str, digest: str, takes: Sequence[ValueType], returns: ValueType, *, takes_nulls: bool
    ) -> None:
        super().__init__(name, digest)
        self.takes = tuple(takes)
        self.returns = returns
        self.takes_nulls = takes_nulls

    @property
    def result(self) -> ValueType:
        """The type as expressions compute with it: numbers are of 64 bits."""
        return {Kind.INTEGER: INTEGER, Kind.FLOAT: FLOAT}.get(self.returns.kind, self.returns)

    def accepts(self, position: int, given: ValueType) -> bool:
        """Whether an argument may be of this type: a whole number is a float where one is wanted."""
        return accepts(self.takes[position], given)

    @abstractmethod
    def over(self, columns: Sequence[pa.Array]) -> pa.Array:
        """The function of columns of the types that it takes, which have a row at least: one value for each row."""

    def failed(self, error: Exception) -> EngineError:
        """What a user is told whose function has raised an error."""
        return EngineError(f"the function '{self.name}' raised {type(error).__name__}: {error}")

    def checked(self, found: Any, rows: int) -> pa.Array:
        """What a function has given, as a column of the promised type and length."""
        try:
            column = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
            if not isinstance(column, pa.Array):
                column = pa.array(found, self.returns.arrow)
            column = column.cast(self.returns.arrow)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError) as e:
            kind = str(found.type) if isinstance(found, pa.Array | pa.ChunkedArray) else type(found).__name__
            message = f"the function '{self.name}' gave {kind}, which is no column of {self.returns.arrow}: {e}"
            raise EngineError(message) from None
        if len(column) != rows:
            raise EngineError(
                f"the function '{self.name}' gave {len(column):,} values for {rows:,} rows: it must give one for each"
            )
        return column


def accepts(wanted: ValueType, given: ValueType) -> bool:
    """Whether a value of one type is taken where another is wanted: a whole number is a float where one is."""
    if given.kind is Kind.NULL:
        return True
    if wanted.kind.nested or given.kind.nested:
        return bool(wanted.arrow == given.arrow)
    if wanted.kind is Kind.TIMESTAMP and given.kind is Kind.TIMESTAMP:
        return (_zone(wanted) is None) == (_zone(given) is None)
    return given.kind is wanted.kind or (wanted.kind is Kind.FLOAT and given.kind is Kind.INTEGER)


def _zone(type_: ValueType) -> str | None:
    return type_.arrow.tz if pa.types.is_timestamp(type_.arrow) else None
