"""The functions of texts over columns. A text is counted in characters, not in bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns import text_search
from ensue.columns.character_arrays import Texts, over_characters
from ensue.columns.conversions import as_texts
from ensue.columns.raw_arrays import Integers, Mask, Value, array_of, as_array, in_rows, length_of, missing, raw, truth

_FARTHEST = 2**63 - 1


def length(text: Value) -> pa.Array:
    return pc.utf8_length(text).cast(pa.int64())


def trim(text: Value) -> pa.Array:
    return pc.utf8_trim(text, characters=" ")


def concat(*texts: Value) -> pa.Array:
    return pc.binary_join_element_wise(*as_texts(texts), pa.scalar("", as_texts(texts)[0].type))


def replace(text: Value, old: Value, new: Value) -> pa.Array:
    if isinstance(old, pa.Scalar) and isinstance(new, pa.Scalar):
        return pc.replace_substring(text, pattern=old.as_py(), replacement=new.as_py()) if old.as_py() else text
    rows = length_of(text, old, new)
    texts = in_rows(text, rows)
    null = missing(text, old, new)
    null = np.broadcast_to(False if null is None else null, rows)
    # Most rows stay as they are, and are copied as they are.
    changing = array_of(np.broadcast_to(truth(as_array(contains(text, old))), rows) & ~null, None, pa.bool_())
    own = (v.filter(changing) if isinstance(v, pa.Array) else v for v in (texts, old, new))
    changed = over_characters(text_search.replaced, *own).cast(texts.type)
    found = pc.replace_with_mask(texts, changing, changed)
    return pc.if_else(array_of(null, None, pa.bool_()), pa.scalar(None, texts.type), found)


def searching(
    kernel: Callable[..., pa.Array], by_row: Callable[[Texts, Texts], Mask]
) -> Callable[[Value, Value], pa.Array]:
    """A test for a part of a text: with one part for all rows by Arrow's kernel."""

    def apply(text: Value, part: Value) -> pa.Array:
        if isinstance(part, pa.Scalar):
            return kernel(text, pattern=part.as_py())
        return over_characters(by_row, text, part)

    return apply


contains = searching(pc.match_substring, text_search.contains)
starts_with = searching(pc.starts_with, text_search.starts_with)
ends_with = searching(pc.ends_with, text_search.ends_with)


def regexp_matches(text: Value, pattern: Value) -> pa.Array:
    """Whether the regular expression describes some part of the text."""
    return pc.match_substring_regex(text, pattern=as_array(pattern)[0].as_py())


def split(text: Value, separator: Value) -> pa.Array:
    """The pieces between the separators, as a list."""
    return pc.split_pattern(as_array(text), pattern=as_array(separator)[0].as_py()).cast(pa.list_(pa.string()))


def substr(text: Value, start: Value, count: Value | None = None) -> pa.Array:
    """SQL's: positions count from 1, and a negative one from the end."""
    if isinstance(start, pa.Scalar) and (count is None or isinstance(count, pa.Scalar)):
        return _one_part(text, start.as_py(), None if count is None else max(count.as_py(), 0))
    if count is None:
        count = pa.scalar(_FARTHEST)
    return over_characters(_parts, text, start, count)


def _one_part(text: Value, start: int, count: int | None) -> pa.Array:
    if start < 0:
        tail = pc.utf8_slice_codeunits(text, start=start, stop=None)
        return tail if count is None else pc.utf8_slice_codeunits(tail, start=0, stop=count)
    begin = max(start - 1, 0)
    return pc.utf8_slice_codeunits(text, start=begin, stop=None if count is None else min(begin + count, _FARTHEST))


def _parts(texts: Texts, start: Value, count: Value) -> Texts:
    begins, counts = _integers(start), _integers(count)
    begin = np.where(begins > 0, begins - 1, np.where(begins < 0, texts.length + begins, 0))
    begin = np.clip(begin, 0, texts.length)
    return Texts(texts.characters, texts.first + begin, np.clip(counts, 0, texts.length - begin))


def _integers(value: Value) -> Integers:
    """Places and counts. Those beyond 64 bits with a sign lie beyond every text, as the last one with a sign does."""
    found: Integers = np.minimum(raw(value), _FARTHEST).astype(np.int64, copy=False)
    return found
