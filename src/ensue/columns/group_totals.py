"""Parts of an aggregation that are added up over groups, and what measures come to in the end.

A table of parts has a row for each group so far, with the columns that name the group. Tables of several batches, or of
several tasks, are put together and folded again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from ensue.columns.aggregates import aggregate
from ensue.columns.match_totals import COLUMNS, column, type_of_column
from ensue.columns.raw_arrays import Floats, Integers, Mask, array_of, missing, raw
from ensue.columns.residues import Remainders, primes
from ensue.data.events import integers, one_chunk
from ensue.data.partitions import key_codes
from ensue.logic.aggregation import Fold, Part

#: From here on, a sum of absolute values leaves it open which of the numbers with one residue a sum is.
EXACT = 2.0**90
_WORD = 2.0**63


def folded_by_group(table: pa.Table, by: Sequence[str], parts: Sequence[Part]) -> pa.Table:
    """The table with one row for each group, in the order in which they appear; other columns are of its first row."""
    if not len(table):
        return table
    table = pa.table({name: one_chunk(table.column(name)) for name in table.column_names})
    begins, groups, sorted_ = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), table
    if by:
        codes = key_codes([one_chunk(table.column(name)) for name in by])
        order = np.argsort(codes, kind="stable")
        begins = np.flatnonzero(np.diff(codes[order], prepend=-1))
        groups = np.argsort(order[begins], kind="stable")  # by their first rows
        sorted_ = table.take(integers(order))
    offsets = np.append(begins, len(table))
    folded: dict[str, pa.Array] = {}
    for part in parts:
        columns = [one_chunk(sorted_.column(column(part, what))) for what in COLUMNS[part.fold]]
        made = _folded(part, columns, offsets)
        folded |= {column(part, what): array for what, array in zip(COLUMNS[part.fold], made, strict=True)}
    others = [name for name in table.column_names if name not in folded]
    firsts = sorted_.select(others).take(integers(begins))
    whole = {**{name: one_chunk(firsts.column(name)) for name in others}, **folded}
    return pa.table({name: whole[name] for name in table.column_names}).take(integers(groups))


def _folded(part: Part, columns: list[pa.Array], offsets: Integers) -> tuple[pa.Array, ...]:
    if part.fold in (Fold.LEAST, Fold.GREATEST):
        (best,) = columns
        if pa.types.is_null(best.type):
            return (pa.nulls(len(offsets) - 1, best.type),)
        return (aggregate("min" if part.fold is Fold.LEAST else "max", best, offsets),)
    named = dict(zip(COLUMNS[part.fold], columns, strict=True))
    exponents = raw(named["exponent"])
    highest = np.maximum.reduceat(exponents, offsets[:-1])
    shift = np.maximum(exponents - np.repeat(highest, np.diff(offsets)), -4000)
    made: dict[str, pa.Array] = {"exponent": integers(highest)}
    for what in ("size", "magnitude"):
        if what in named:
            with np.errstate(invalid="ignore", over="ignore", under="ignore"):
                sums = np.add.reduceat(np.ldexp(raw(named[what]), shift), offsets[:-1])
            made[what] = array_of(sums, None, pa.float64())
    if "residue" in named:
        made["residue"] = integers(np.add.reduceat(raw(named["residue"]), offsets[:-1]))
    if "known" in named:
        made["known"] = array_of(np.logical_or.reduceat(raw(named["known"]), offsets[:-1]), None, pa.bool_())
    return tuple(made[what] for what in COLUMNS[part.fold])


def of_nothing(part: Part, best: pa.DataType) -> dict[str, pa.Array]:
    """The columns of a part where there is no match: one row."""
    neutral = {
        "residue": integers(np.zeros(1, dtype=np.int64)),
        "exponent": integers(np.zeros(1, dtype=np.int64)),
        "size": array_of(np.zeros(1), None, pa.float64()),
        "magnitude": array_of(np.zeros(1), None, pa.float64()),
        "known": array_of(np.zeros(1, dtype=np.bool_), None, pa.bool_()),
        "best": pa.nulls(1, best),
    }
    return {column(part, what): neutral[what] for what in COLUMNS[part.fold]}


# ---------------------------------------------------------------- what it comes to


class Sums:
    """What the parts of each row of a table come to."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def best(self, part: Part) -> pa.Array:
        """The least or greatest value; what is wide comes as 64 bits, or as NULL."""
        found = one_chunk(self._table.column(column(part, "best")))
        if not part.wide:
            return found
        # A decimal is 16 bytes; it fits if its upper half only repeats the sign of the lower one.
        halves = np.frombuffer(found.buffers()[1], np.int64)[2 * found.offset : 2 * (found.offset + len(found))]
        low, high = (halves[k::2] for k in (0, 1)) if len(found) else (np.zeros(0, np.int64),) * 2
        null = missing(found)
        wrong = high != (low >> 63)
        return array_of(low, wrong if null is None else wrong | null, pa.int64())

    def whole(self, part: Part, number: Part | None = None) -> pa.Array:
        """A number of matches, or a sum of integers; NULL where it does not fit 64 bits, and of nothing.

        Of a sum of counts, `number` says whether there are any.
        """
        null = ~self._fits(part)
        if number is not None:
            null = null | (self._raw(number, "size") == 0)
        if part.fold is Fold.INTEGERS:
            null = null | ~self._raw(part, "known")
        return array_of(self._raw(part, "residue"), null, pa.int64())

    def floats(self, part: Part) -> pa.Array:
        """A sum of floats; NULL of nothing."""
        return array_of(self._near(part), ~self._raw(part, "known"), pa.float64())

    def average(self, total: Part, number: Part) -> pa.Array:
        """The sum by the number of its values, also where neither fits 64 bits."""
        counts = self._raw(number, "size")
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            if total.fold is Fold.FLOATS:
                sums = self._raw(total, "size")
            else:
                exact = self._fits(total)
                shifted = np.ldexp(self._raw(total, "residue").astype(np.float64), -self._raw(total, "exponent"))
                sums = np.where(exact, shifted, self._raw(total, "size"))
            between = self._raw(total, "exponent") - self._raw(number, "exponent")
            found = np.ldexp(sums / counts, np.clip(between, -4000, 4000))
        return array_of(found, counts == 0, pa.float64())

    def logarithm(self, part: Part) -> pa.Array:
        """The binary logarithm of a number of matches, whatever its size; NULL of 0."""
        size = self._raw(part, "size")
        some = size > 0
        found = np.log2(np.where(some, size, 1.0)) + self._raw(part, "exponent")
        return array_of(found, ~some, pa.float64())

    def exact(self, part: Part) -> list[int | None]:
        """The numbers as Python has them, where residue and size tell; None of nothing, and where they do not tell."""
        residue = self._raw(part, "residue").astype(object)
        near, known = self._near(part), self._known(part) & self._tells(part)
        rows = zip(residue, near, known, strict=True)
        return [_with_residue(int(r), float(n)) if k else None for r, n, k in rows]

    def exact_by(self, part: Part, modulo: Callable[[int], pa.Table]) -> list[int | None]:
        """The same, with numbers of any size; `modulo` gives the table with residues modulo a prime."""
        found, known = self.exact(part), self._known(part)
        beyond = known & ~self._tells(part)
        if not beyond.any():
            return found
        sizes = self._raw(part, "size" if part.fold is Fold.COUNT else "magnitude")[beyond]
        # What is rounded on the way makes a small part of them.
        bits = 2 + int((np.frexp(sizes)[1] + self._raw(part, "exponent")[beyond]).max())
        remainders, rest = Remainders(len(known)), primes()
        while not remainders.tell(bits):
            prime = next(rest)
            remainders.add(prime, raw(one_chunk(modulo(prime).column(column(part, "residue")))).tolist())
        return [n if k else None for n, k in zip(remainders.numbers(), known.tolist(), strict=True)]

    def beyond(self, part: Part) -> int:
        """How many numbers do not fit 64 bits."""
        if part.wide:
            wide = one_chunk(self._table.column(column(part, "best")))
            return int(self.best(part).null_count - wide.null_count)
        return int((self._known(part) & ~self._fits(part)).sum())

    def _known(self, part: Part) -> Mask:
        """Whether there is a number at all."""
        known: Mask = self._raw(part, "known") if part.fold is Fold.INTEGERS else np.ones(len(self._table), np.bool_)
        return known

    def at_most(self, part: Part) -> list[int]:
        """Numbers of matches: exact where residue and size tell, else some more, by a part of a million at most."""
        near, exact = self._near(part), self.exact(part)
        larger = np.flatnonzero(~(near < EXACT)).tolist()
        sizes, exponents = self._raw(part, "size"), self._raw(part, "exponent")
        found = [0 if n is None else n for n in exact]
        for row in larger:
            number = (int(np.ldexp(sizes[row], 64)) << int(exponents[row])) >> 64
            found[row] = number + (number >> 20) + 1
        return found

    def _fits(self, part: Part) -> Mask:
        """Whether the residue, as a number with a sign, is the number itself."""
        residue, near = self._raw(part, "residue"), self._near(part)
        if part.fold is Fold.COUNT:
            fits: Mask = (near < 1.5 * _WORD) & (residue >= 0)
            return fits
        with np.errstate(invalid="ignore"):
            same: Mask = self._tells(part) & (np.abs(near - residue.astype(np.float64)) < _WORD)
        return same

    def _tells(self, part: Part) -> Mask:
        """Whether the number is near enough that its residue says which it is."""
        if part.fold is Fold.COUNT:
            tells: Mask = self._near(part) < EXACT
            return tells
        with np.errstate(over="ignore"):
            magnitude = np.ldexp(self._raw(part, "magnitude"), self._raw(part, "exponent"))
        near: Mask = magnitude < EXACT
        return near

    def _near(self, part: Part) -> Floats:
        with np.errstate(over="ignore"):
            found: Floats = np.ldexp(self._raw(part, "size"), self._raw(part, "exponent"))
        return found

    def _raw(self, part: Part, what: str) -> np.ndarray:
        return raw(one_chunk(self._table.column(column(part, what))))


def _with_residue(residue: int, near: float) -> int:
    """The number that is nearest, of those with this residue modulo 2^64."""
    return residue + ((int(near) - residue + 2**63) >> 64 << 64)


def empty_columns(part: Part, best: pa.DataType) -> dict[str, pa.DataType]:
    """The columns of a part with their types."""
    return {column(part, what): type_of_column(what, best) for what in COLUMNS[part.fold]}
