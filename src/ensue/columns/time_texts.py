"""Times written as texts, and texts read as times, over columns.

A text has one of few layouts: where its digits stand follows from its length without the zone. So the rows of one
layout are read together, digit by digit.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.character_arrays import Characters, Texts, texts_of
from ensue.columns.raw_arrays import Integers, Mask, array_of, column_of_texts, missing, raw
from ensue.columns.time_functions import wall_clock
from ensue.language.ast import NANOSECONDS

_MICROSECONDS = 10**6


# ---------------------------------------------------------------- writing


def written_times(times: pa.Array) -> pa.Array:
    """As `2024-01-31 12:00:00.5+01:00`: without the zeros at the end of a fraction; the offset if there is a zone.

    >>> written_times(pa.array([1_500], pa.timestamp("ms", "Europe/Madrid"))).to_pylist()
    ['1970-01-01 01:00:01.5+01:00']
    """
    steps = NANOSECONDS["s"] // NANOSECONDS[times.type.unit]
    ticks = raw(times)
    seconds = ticks // steps
    local, null = wall_clock(times)
    # A time without a clock is NULL, and any other stands in its place.
    texts = array_of(np.where(False if null is None else null, 0, local), null, pa.timestamp("s")).cast(pa.string())
    if steps > 1 and (ticks != seconds * steps).any():
        texts = pc.binary_join_element_wise(texts, _fractions(ticks - seconds * steps, times.type.unit), "")
    if times.type.tz is None:
        return texts
    offsets, numbers = np.unique(np.where(False if null is None else null, 0, local - seconds), return_inverse=True)
    if not len(offsets):
        return texts
    suffixes = column_of_texts([_suffix(int(offset)) for offset in offsets])
    return pc.binary_join_element_wise(texts, suffixes.take(array_of(numbers, None, pa.int64())), "")


def _fractions(ticks: Integers, unit: str) -> pa.Array:
    """The parts of a second as `.25`: what stands behind the first second of 1970."""
    texts = pc.utf8_slice_codeunits(array_of(ticks, None, pa.timestamp(unit)).cast(pa.string()), 19)
    return pc.ascii_rtrim(pc.ascii_rtrim(texts, characters="0"), characters=".")


def _suffix(offset: int) -> str:
    minutes, seconds = divmod(abs(offset), 60)
    text = f"{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{text}:{seconds:02d}" if seconds else text


# ---------------------------------------------------------------- reading


def read_times(texts: pa.Array, *, zoned: bool) -> pa.Array:
    """The times in microseconds, finer digits cut off; NULL for other texts, and where a zone is missing or too much.

    >>> read_times(pa.array(["2024-02-29 12:00:00.25", "2023-02-29"]), zoned=False).to_pylist()
    [datetime.datetime(2024, 2, 29, 12, 0, 0, 250000), None]
    """
    found, known = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.bool_)
    read = texts_of(texts)
    zone_length = _zone_lengths(read)
    lengths = read.length - zone_length
    suitable = (zone_length > 0) == zoned
    for length in np.unique(lengths[suitable]).tolist():
        if length in (10, 16, 19) or 21 <= length <= 29:
            rows = np.flatnonzero(suitable & (lengths == length))
            times, valid = _read_clock(_cut(read, rows, 0, length))
            offsets, valid_zone = _read_zones(read, rows, zone_length[rows])
            found[rows] = times - offsets * _MICROSECONDS
            known[rows] = valid & valid_zone
    null = missing(texts)
    unknown = ~known if null is None else null | ~known
    return array_of(np.where(unknown, 0, found), unknown, pa.timestamp("us", "UTC" if zoned else None))


def _cut(texts: Texts, rows: Integers, first: int | Integers, length: int) -> Characters:
    """So many characters of some texts, one row each."""
    begins = texts.first[rows] + first
    found: Characters = texts.characters[begins[:, None] + np.arange(length)]
    return found


def _zone_lengths(texts: Texts) -> Integers:
    """The characters of the zone at the end of each text: `Z`, `+01`, `+0100` or `+01:00`; 0 where there is none."""
    found = np.zeros(len(texts.length), dtype=np.int64)
    for length, signs in ((1, "Z"), (3, "+-"), (5, "+-"), (6, "+-")):
        rows = np.flatnonzero(texts.length >= 16 + length)
        first = _cut(texts, rows, texts.length[rows] - length, 1)[:, 0]
        found[rows[np.isin(first, [ord(c) for c in signs])]] = length
    return found


def _read_zones(texts: Texts, rows: Integers, lengths: Integers) -> tuple[Integers, Mask]:
    """The offset of each zone in seconds, and where it is one."""
    offsets, valid = np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=np.bool_)
    for length in (3, 5, 6):
        own = np.flatnonzero(lengths == length)
        zone = _cut(texts, rows[own], texts.length[rows[own]] - length, length)
        hours, right = _number(zone[:, 1:3])
        right &= hours <= 23
        minutes = np.zeros(len(own), dtype=np.int64)
        if length > 3:
            minutes, also = _number(zone[:, length - 2 :])
            right &= also & (minutes <= 59)
        if length == 6:
            right &= zone[:, 3] == ord(":")
        size = hours * 3600 + minutes * 60
        offsets[own] = np.where(zone[:, 0] == ord("-"), -size, size)
        valid[own] = right
    return offsets, valid


def _read_clock(clock: Characters) -> tuple[Integers, Mask]:
    """The microseconds since 1970 of texts of one length, `2024-02-29 12:00:00.25`, and where they are times."""
    length = clock.shape[1]
    (year, a), (month, b), (day, c) = _number(clock[:, :4]), _number(clock[:, 5:7]), _number(clock[:, 8:10])
    valid = a & b & c & (clock[:, 4] == ord("-")) & (clock[:, 7] == ord("-"))
    valid &= (year >= 1) & (month >= 1) & (month <= 12)
    months = (np.where(valid, year, 1970) - 1970) * 12 + np.where(valid, month, 1) - 1
    first = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    after = (months + 1).astype("M8[M]").astype("M8[D]").astype(np.int64)
    valid &= (day >= 1) & (day <= after - first)
    found = (first + day - 1) * 86_400
    for begin, most, seconds in ((11, 23, 3600), (14, 59, 60), (17, 59, 1)):
        if length > begin:
            number, right = _number(clock[:, begin : begin + 2])
            separator = np.isin(clock[:, begin - 1], [ord(" "), ord("T")] if begin == 11 else [ord(":")])
            valid &= right & separator & (number <= most)
            found += number * seconds
    found *= _MICROSECONDS
    if length > 19:
        fraction, right = _number(clock[:, 20:])
        valid &= right & (clock[:, 19] == ord("."))
        digits = length - 20
        found += fraction * 10 ** (6 - digits) if digits <= 6 else fraction // 10 ** (digits - 6)
    return found, valid


def _number(digits: Characters) -> tuple[Integers, Mask]:
    """The number of each row of digits, and where all are digits."""
    values = digits.astype(np.int64) - ord("0")
    valid: Mask = np.all((values >= 0) & (values <= 9), axis=1)
    number: Integers = np.where(valid, values @ (10 ** np.arange(digits.shape[1])[::-1]), 0)
    return number, valid
