"""`CAST` over columns. What a text does not name, and what does not fit the type, is NULL."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.conversions import as_floats, kind_of
from ensue.columns.raw_arrays import Value, array_of, as_array, column_of_texts, missing, nulls, raw
from ensue.columns.rounding import half_away_from_zero
from ensue.columns.time_texts import read_times, written_times
from ensue.data.schema import Kind
from ensue.logic.cast_types import CASTS

_is = pa.types
_SPACE = " \t\n\r\v\f"
_TRUTH = ("false", "f", "0", "true", "t", "1")
_FLOAT = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity|nan)$"
_INTEGER = r"^[+-]?0*[0-9]{1,19}$"


def cast(value: Value, wanted: str) -> pa.Array:
    """The column as the type that CAST names.

    >>> cast(pa.array(["1", " +2 ", "2.5", "x"]), "integer").to_pylist()
    [1, 2, None, None]
    """
    array = as_array(value)
    if _is.is_null(array.type):
        return nulls(CASTS[wanted].arrow, array)
    return _OF_KIND[wanted](as_floats(array) if _is.is_decimal(array.type) else array)


def _to_string(array: pa.Array) -> pa.Array:
    if kind_of(array) is Kind.TIMESTAMP:
        return written_times(array)
    return array if kind_of(array) is Kind.STRING else array.cast(pa.string())


def _to_boolean(array: pa.Array) -> pa.Array:
    if kind_of(array) is Kind.STRING:
        found = pc.index_in(pc.ascii_lower(_trimmed(array)), column_of_texts(_TRUTH).cast(array.type))
        return pc.greater_equal(found, 3)
    return array if _is.is_boolean(array.type) else array_of(raw(array) != 0, missing(array), pa.bool_())


def _to_float(array: pa.Array) -> pa.Array:
    if kind_of(array) is Kind.STRING:
        return _floats_of(_trimmed(array))
    return array.cast(pa.float64(), safe=False)


def _to_integer(array: pa.Array) -> pa.Array:
    match kind_of(array):
        case Kind.STRING:
            return _integers_of(_trimmed(array))
        case Kind.FLOAT:
            floats = raw(array)
            with np.errstate(invalid="ignore"):
                near = half_away_from_zero(floats)
            fits = (near >= -(2.0**63)) & (near < 2.0**63)
            null = missing(array)
            return array_of(
                np.where(fits, near, 0.0).astype(np.int64), ~fits if null is None else null | ~fits, pa.int64()
            )
        case Kind.BOOLEAN:
            return array.cast(pa.int64())
    if not _is.is_uint64(array.type):
        return array
    large, null = raw(array) >= 2**63, missing(array)
    return array_of(raw(array).view(np.int64), large if null is None else null | large, pa.int64())


_OF_KIND: dict[str, Callable[[pa.Array], pa.Array]] = {
    "string": _to_string,
    "boolean": _to_boolean,
    "float": _to_float,
    "integer": _to_integer,
    "timestamp": lambda array: _to_time(array, zoned=False),
    "timestamptz": lambda array: _to_time(array, zoned=True),
}


def _to_time(array: pa.Array, *, zoned: bool) -> pa.Array:
    return read_times(_trimmed(array), zoned=zoned) if kind_of(array) is Kind.STRING else array


# ---------------------------------------------------------------- numbers of texts


def _trimmed(texts: pa.Array) -> pa.Array:
    return pc.utf8_trim(texts, characters=_SPACE)


def _only(texts: pa.Array, pattern: str) -> pa.Array:
    """The texts that the pattern describes; NULL for others."""
    return pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, texts.type))


def _floats_of(texts: pa.Array) -> pa.Array:
    try:
        found = texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return _only(texts, _FLOAT).cast(pa.float64())
    if np.isnan(raw(found)).any():  # Arrow reads `nan(1)`, too
        return pc.if_else(pc.match_substring_regex(texts, _FLOAT), found, pa.scalar(None, pa.float64()))
    return found


def _have_an_x(texts: pa.Array) -> bool:
    """Whether one of the texts may have an x: what is beside a slice of a column counts, too."""
    characters = bytes(texts.buffers()[2] or b"")
    return b"x" in characters or b"X" in characters


def _integers_of(texts: pa.Array) -> pa.Array:
    if not _have_an_x(texts):  # Arrow reads 0x1f, too
        try:
            return texts.cast(pa.int64())
        except pa.ArrowInvalid:
            pass
    # Each number of so few digits fits a decimal, which is compared with what 64 bits hold.
    digits = pc.replace_substring_regex(_only(texts, _INTEGER), r"^\+?(-?)0*([0-9])", r"\1\2")
    wide = digits.cast(pa.decimal128(20, 0))
    least, most = (pa.scalar(n, pa.int64()).cast(wide.type) for n in (-(2**63), 2**63 - 1))
    fits = pc.and_(pc.greater_equal(wide, least), pc.less_equal(wide, most))
    return pc.if_else(fits, wide, pa.scalar(None, wide.type)).cast(pa.int64())
