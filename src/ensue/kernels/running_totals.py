"""Registers that add up: what an event makes of their content, and sums without an error.

A sum takes several places of a run's key. The first says whether there is anything in it, and which of its numbers are
infinite or NaN; behind it are the limbs of `fixed_point.py`, the lowest first: two for whole numbers, and for floats as
many as the least and the greatest float so far ask for. Limbs stand for fixed powers of two. So where more are needed,
zeros are put before them and the sign behind them, and the keys stay in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ensue.kernels.fixed_point import ORIGIN, add_float, add_integer, rounded_row
from ensue.kernels.jit import at, inlined, inner
from ensue.kernels.value_trees import NULL, UNSET
from ensue.logic.stored_values import Register

Integers = npt.NDArray[np.int64]

# What a store of a register that adds up does; those before are in `register_data.py`.
KEEP_FIRST, KEEP_LEAST_KNOWN, KEEP_GREATEST_KNOWN, KEEP_COUNT, KEEP_TOTAL, KEEP_TOTAL_OF_FLOATS = range(4, 10)

# The first place of a sum, if there is something in it: a bit for what floats it has that are no numbers.
_NUMBERS, _NAN, _POSITIVE, _NEGATIVE = 0, 1, 2, 4
_GREATEST = np.iinfo(np.int64).max
_ENDLESS, _FRACTION, _INFINITY = 0x7FF, (1 << 52) - 1, 0x7FF0000000000000
_NOT_A_NUMBER = 0x7FF8000000000000
_BIAS = 1075
#: A sum of floats has so many bits more than the greatest of them: for 2^44 of them.
_SPARE_BITS = 53 + 44 + 1
#: The least and the greatest place of the last bit of a float: here, where there was none but 0.
NO_FLOATS = (1 << 30, -1)
WHOLE_LIMBS = 2


class Totals(NamedTuple):
    """Where the limbs of sums are; `first` is the power of two of the lowest, in limbs."""

    width: Any  # int64[places of a key]: of a sum, how many limbs are behind this place
    first: Any  # int64[places of a key]
    key: Any  # int64[1, places of a key]: what a run has stored after a move, on the memory of `RegisterData.key`
    room: Any  # int64[1, places of a key]: a sum with the value of an event


@inner
def accumulated(totals: Any, place: int, keep: int, value: int) -> None:
    """Adds a value to what the key has in a register that adds up; without such registers, `totals` is None."""
    if totals is None:
        return
    old = totals.key[0, at(place)]
    if keep == KEEP_COUNT:
        totals.key[0, at(place)] = (0 if old == UNSET else old) + (1 if value == 1 else 0)
    elif keep == KEEP_FIRST:
        if old == UNSET:
            totals.key[0, at(place)] = value
    elif keep >= KEEP_TOTAL:
        if value != NULL:
            add_to_total(totals, totals.key, 0, place, value, keep == KEEP_TOTAL_OF_FLOATS)
    elif old <= UNSET:  # or NULL
        totals.key[0, at(place)] = value
    elif value != NULL:
        totals.key[0, at(place)] = min(old, value) if keep == KEEP_LEAST_KNOWN else max(old, value)


@inlined
def cleared(totals: Any, key: Any, place: int) -> None:
    """Empties a register of the key."""
    key[at(place)] = UNSET
    if totals is not None:
        for k in range(place + 1, place + 1 + totals.width[at(place)]):
            key[at(k)] = UNSET


@inlined
def begin_total(totals: Any, values: Any, node: int, place: int) -> None:
    """Puts the sum that a tree's node has stored into `room`."""
    for k in range(place, place + totals.width[at(place)] + 1):
        totals.room[0, at(k)] = values[at(node), at(k)]


@inner
def add_to_total(totals: Any, rows: Any, row: int, place: int, value: int, of_floats: bool) -> None:
    """Adds a number, a float by its number in their order, to the sum in a row."""
    width = totals.width[at(place)]
    if rows[at(row), at(place)] == UNSET:
        rows[at(row), at(place)] = _NUMBERS
        for k in range(place + 1, place + 1 + width):
            rows[at(row), at(k)] = 0
    if not of_floats:
        add_integer(rows, row, place + 1, value)
        return
    bits = value if value >= 0 else value ^ _GREATEST
    if (bits >> 52) & _ENDLESS == _ENDLESS:
        kind = _NAN if bits & _FRACTION != 0 else (_NEGATIVE if bits < 0 else _POSITIVE)
        rows[at(row), at(place)] |= kind
    else:
        add_float(rows, row, place + 1, width, totals.first[at(place)], bits)


@inner
def whole_total(totals: Any, place: int) -> tuple[bool, int]:
    """The sum of whole numbers in `room`, and whether it is NULL: there are none, or it does not fit 64 bits."""
    low, high = totals.room[0, at(place + 1)], totals.room[0, at(place + 2)]
    return totals.room[0, at(place)] == UNSET or high != low >> 63, low


@inner
def float_total(totals: Any, place: int) -> int:
    """The sum of floats in `room`, rounded once, as its number in their order; NULL where there are none."""
    state = totals.room[0, at(place)]
    if state == UNSET:
        return NULL
    if state & _NAN or (state & _POSITIVE and state & _NEGATIVE):
        return _NOT_A_NUMBER
    if state != _NUMBERS:
        return _INFINITY if state & _POSITIVE else (_INFINITY | NULL) ^ _GREATEST
    bits: int = rounded_row(totals.room, 0, place + 1, totals.width[at(place)], totals.first[at(place)])
    return bits if bits >= 0 else bits ^ _GREATEST


# ---------------------------------------------------------------- the places of registers


class Places:
    """Where in its key a run has stored what is in each register."""

    def __init__(self, registers: Sequence[Register], sums: Mapping[Register, bool]) -> None:
        """`sums`: the registers with a sum, and whether it is one of floats."""
        self._registers, self._sums = registers, sums
        #: Of each register with a sum, by name, the least and the greatest place of the last bit of a float in it.
        self.reach = no_reach(len(sums))
        self._lay_out()

    def _lay_out(self) -> None:
        limbs = [self._limbs(r) for r in self._registers]
        widths = [1 + width for _, width in limbs]
        begins = [sum(widths[:n]) for n in range(len(widths))]
        #: The first place of each register.
        self.of = dict(zip(self._registers, begins, strict=True))
        self.count = sum(widths)
        #: The number of the register that each place is of.
        self.owner = np.repeat(np.arange(len(widths)), widths)
        self.first, self.width = np.zeros(self.count, dtype=np.int64), np.zeros(self.count, dtype=np.int64)
        for place, (first, width) in zip(begins, limbs, strict=True):
            self.first[place], self.width[place] = first, width

    def _limbs(self, register: Register) -> tuple[int, int]:
        """The first limb of a sum, and how many it has; of others 0."""
        if register not in self._sums:
            return 0, 0
        if not self._sums[register]:
            return 0, WHOLE_LIMBS
        least, greatest = self.reach[sorted(self._sums).index(register)].tolist()
        if greatest < 0:
            return 0, 1  # it is 0
        first = least >> 6
        return first, ((greatest + _SPARE_BITS) >> 6) - first + 1

    def moved(self, reach: Integers, rows: Integers) -> Integers:
        """Makes places for such floats; gives rows of keys, each with one number behind it, in the new places."""
        of, first, width = self.of, self.first, self.width
        self.reach = reach
        self._lay_out()
        found = np.zeros((len(rows), self.count + 1), dtype=np.int64)
        found[:, -1] = rows[:, -1]
        for register, new in self.of.items():
            old = of[register]
            found[:, new] = rows[:, old]
            if not self.width[new]:
                continue
            taken = rows[:, old + 1 : old + 1 + width[old]]
            # A sum of no floats but 0 has any place.
            lowest = new + 1 + (first[old] - self.first[new] if first[old] else 0)
            highest, end = lowest + width[old], new + 1 + self.width[new]
            found[:, lowest:highest] = taken
            found[:, highest:end] = np.where(taken[:, -1:] < 0, -1, 0)
            found[rows[:, old] == UNSET, new + 1 : end] = UNSET  # in all places of an empty register
        return found


def no_reach(count: int) -> Integers:
    """Of so many sums, before there are floats."""
    return np.array([NO_FLOATS] * count, dtype=np.int64).reshape(-1, 2)


def reach_of(numbers: Integers) -> tuple[int, int]:
    """The least and the greatest place of a last bit, of floats that are given by their numbers in their order."""
    numbers = numbers[numbers != NULL]
    bits = np.where(numbers < 0, numbers ^ _GREATEST, numbers)
    exponents = (bits >> 52) & _ENDLESS
    exponents = exponents[(exponents != _ENDLESS) & (bits & _GREATEST != 0)]
    if not len(exponents):
        return NO_FLOATS
    places = np.maximum(exponents, 1) - _BIAS + ORIGIN
    return int(places.min()), int(places.max())


def joined(a: Integers, b: Integers) -> Integers:
    """What reaches as far as both."""
    found: Integers = np.stack([np.minimum(a[:, 0], b[:, 0]), np.maximum(a[:, 1], b[:, 1])], axis=1)
    return found
