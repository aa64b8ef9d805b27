"""Conditions over several registers, as a machine of a few instructions (`logic/formula.py`) evaluates them.

Whole numbers and floats have their own places. What has no result is NULL: a division by zero, a whole number beyond 64
bits, whatever is computed from NULL. The meaning is that of the reference (decision 0004).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ensue.columns.number_functions import DEGREE, EARTH_RADIUS
from ensue.kernels.jit import inlined, inner
from ensue.kernels.running_totals import Totals, add_to_total, begin_total, float_total, whole_total
from ensue.kernels.value_trees import NULL, UNSET
from ensue.language import ast
from ensue.logic.formula import NO_TERM, Formula, Op
from ensue.logic.stored_values import Register

_GREATEST = np.iinfo(np.int64).max
_SMALLEST = np.iinfo(np.int64).min

# The instructions as plain integers.
STORED, STORED_FLOAT, TERM, TERM_FLOAT, WHOLE, FLOAT = map(
    int, (Op.STORED, Op.STORED_FLOAT, Op.TERM, Op.TERM_FLOAT, Op.WHOLE, Op.FLOAT)
)
ADD, SUBTRACT, MULTIPLY, REMAINDER = map(int, (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.REMAINDER))
NEGATE, ABSOLUTE, EQUAL, UNEQUAL, LESS, AT_MOST = map(
    int, (Op.NEGATE, Op.ABSOLUTE, Op.EQUAL, Op.UNEQUAL, Op.LESS, Op.AT_MOST)
)
AND, OR, NOT, IS_NULL = map(int, (Op.AND, Op.OR, Op.NOT, Op.IS_NULL))
TO_FLOAT, DIVIDE, FLOOR, CEILING, ROOT = map(int, (Op.TO_FLOAT, Op.DIVIDE, Op.FLOOR, Op.CEILING, Op.ROOT))
NO_VALUE = int(Op.NULL)
SIGN, GREATER, LESSER, COALESCE, CHOOSE, UNLESS = map(
    int, (Op.SIGN, Op.GREATER, Op.LESSER, Op.COALESCE, Op.CHOOSE, Op.UNLESS)
)
PAIR, EXP, LN, LOG10, SIN, COS, TAN = map(int, (Op.PAIR, Op.EXP, Op.LN, Op.LOG10, Op.SIN, Op.COS, Op.TAN))
ASIN, ACOS, ATAN, POWER, ATAN2 = map(int, (Op.ASIN, Op.ACOS, Op.ATAN, Op.POWER, Op.ATAN2))
DISTANCE, FITS = int(Op.DISTANCE), int(Op.FITS)
HELD, LEAST, GREATEST, TOTAL, COUNT = map(int, (Op.HELD, Op.LEAST, Op.GREATEST, Op.TOTAL, Op.COUNT))


class Formulas(NamedTuple):
    """The instructions of formula `f` are those from `first[f]` to `first[f + 1]`."""

    first: Any  # int32[formulas + 1]
    op: Any  # int32[instructions]
    left: Any  # int32: a place, a register, a row of the terms, or a constant
    right: Any
    whole: Any  # int64: constants
    floats: Any
    place: Any  # int64[longest formula]: where whole numbers are computed; 1 and 0 are TRUE and FALSE
    place_float: Any
    is_null: Any  # bool[longest formula]
    totals: Any  # Totals, where registers add up


def table(
    formulas: Sequence[Formula],
    terms: Sequence[ast.Expression],
    number: Mapping[Register, int],
    totals: Totals | None = None,
) -> Formulas:
    """The formulas in flat arrays; each of the terms is a row of a batch's columns.

    `number` says where in its key a run has stored what is in each register.
    """
    first = [0]
    rows: list[tuple[int, int, int]] = []
    whole = list(dict.fromkeys(c for f in formulas for c in f.whole))
    floats = list(dict.fromkeys(c for f in formulas for c in f.floats))
    for f in formulas:
        loaded: dict[int, Sequence[int]] = {
            STORED: [number[r] for r in f.registers],
            TERM: [terms.index(t) for t in f.terms],
            WHOLE: [whole.index(c) for c in f.whole],
        }
        loaded |= {STORED_FLOAT: loaded[STORED], TERM_FLOAT: loaded[TERM], FLOAT: [floats.index(c) for c in f.floats]}
        for i in f.code:
            if i.op >= Op.HELD:
                term = NO_TERM if i.right == NO_TERM else loaded[TERM][i.right]
                rows.append((int(i.op), loaded[STORED][i.left], term))
                continue
            second = whole.index(f.whole[i.right]) if i.op == FITS else i.right
            rows.append((int(i.op), loaded[i.op][i.left] if i.op in loaded else i.left, second))
        first.append(len(rows))
    op, left, right = np.array(rows, dtype=np.int32).reshape(-1, 3).T.copy()
    longest = max((len(f.code) for f in formulas), default=0)
    return Formulas(
        np.array(first, dtype=np.int32),
        op,
        left,
        right,
        np.array(whole, dtype=np.int64),
        np.array(floats, dtype=np.float64),
        np.zeros(longest, dtype=np.int64),
        np.zeros(longest, dtype=np.float64),
        np.zeros(longest, dtype=np.bool_),
        totals,
    )


@inlined
def holds(formulas: Any, f: int, values: Any, node: int, terms: Any, i: int, absent: bool) -> bool:
    """Whether the formula is TRUE of what a run has stored and of the event; or, `absent`, is not.

    Where nothing is stored in one of its registers, it says nothing. Where a query has no formulas, they are None.
    The caller takes it in: to hand over all the arrays costs more than the formula (measured: three times the event).
    """
    if formulas is None:
        return True
    if not compute(formulas, f, values, node, terms, i):
        return True
    last = formulas.first[f + 1] - formulas.first[f] - 1
    return bool(not formulas.is_null[last] and formulas.place[last] != 0) != absent


@inlined
def compute(formulas: Any, f: int, values: Any, node: int, terms: Any, i: int) -> bool:
    """Computes the formula into the place of its last instruction; False where a register has nothing stored."""
    begin, end = formulas.first[f], formulas.first[f + 1]
    whole, real, null = formulas.place, formulas.place_float, formulas.is_null
    for k in range(begin, end):
        op, a, b, to = formulas.op[k], formulas.left[k], formulas.right[k], k - begin
        null[to] = False
        if op <= TERM_FLOAT:
            found = values[node, a] if op <= STORED_FLOAT else terms[a, i]
            if found == UNSET and op <= STORED_FLOAT:
                return False
            null[to] = found == NULL
            if op in (STORED_FLOAT, TERM_FLOAT):
                real[to] = float_of(found)
            else:
                whole[to] = found
        elif op >= HELD:
            here = NULL if b == NO_TERM else terms[b, i]
            null[to], found = _of_rounds(formulas.totals, op, values, node, a, b != NO_TERM, here)
            if op % 2 == 1:
                real[to] = float_of(found)
            else:
                whole[to] = found
        elif op == NO_VALUE:
            null[to] = True
        elif op == WHOLE:
            whole[to] = formulas.whole[a]
        elif op == FLOAT:
            real[to] = formulas.floats[a]
        elif op in (AND, OR):
            _connect(whole, null, to, a, b, op == OR)
        elif op == IS_NULL:
            whole[to] = null[a]
        elif op == NOT:
            whole[to], null[to] = 1 - whole[a], null[a]
        elif op < TO_FLOAT:
            _compute_pair(op, whole, real, null, to, a, b)
        elif op <= ROOT:
            _compute_float(op, whole, real, null, to, a, b)
        else:
            _compute_function(formulas, begin, whole, real, null, to, k)
    return True


@inner
def _of_rounds(
    totals: Any, op: int, values: Any, node: int, place: int, with_event: bool, here: int
) -> tuple[bool, int]:
    """Whether a register that adds up is NULL with the value of the event, and what it is; floats in their order."""
    if totals is None:
        return True, NULL
    held = values[node, place]
    if op == COUNT:
        return False, (0 if held == UNSET else held) + (1 if with_event and here == 1 else 0)
    if op >= TOTAL:
        begin_total(totals, values, node, place)
        if here != NULL:
            add_to_total(totals, totals.room, 0, place, here, op % 2 == 1)
        if op % 2 == 1:
            found = float_total(totals, place)
            return found == NULL, found
        beyond, total = whole_total(totals, place)
        return beyond, total
    if op < LEAST:  # the first
        found = held if held != UNSET else here
    elif held <= UNSET:  # or NULL
        found = here
    elif here == NULL:
        found = held
    else:
        found = min(held, here) if op < GREATEST else max(held, here)
    return found == NULL, found


@inner
def float_of(number: int) -> float:
    """The float whose bits were so turned that their order is that of whole numbers."""
    return float(np.int64(number if number >= 0 else number ^ _GREATEST).view(np.float64))


@inner
def _connect(whole: Any, null: Any, to: int, a: int, b: int, either: bool) -> None:
    """AND and OR: the side that decides alone does so whatever the other is; then NULL."""
    decides = 1 if either else 0
    if (not null[a] and whole[a] == decides) or (not null[b] and whole[b] == decides):
        whole[to] = decides
    else:
        null[to] = null[a] or null[b]
        whole[to] = 1 - decides


@inner
def _compute_pair(op: int, whole: Any, real: Any, null: Any, to: int, a: int, b: int) -> None:
    """What there is for whole numbers and, with the next number, for floats."""
    binary = op < NEGATE or op >= EQUAL
    null[to] = null[a] or (binary and null[b])
    if null[to]:
        return
    of_floats = op % 2 == 1
    kind = op - 1 if of_floats else op
    if kind >= EQUAL:
        if of_floats:
            whole[to] = _compared(kind, real[a], real[b])
        else:
            whole[to] = _compared(kind, whole[a], whole[b])
    elif of_floats:
        x, y = real[a], real[b]
        if kind == ADD:
            real[to] = x + y
        elif kind == SUBTRACT:
            real[to] = x - y
        elif kind == MULTIPLY:
            real[to] = x * y
        elif kind == NEGATE:
            real[to] = -x
        elif kind == ABSOLUTE:
            real[to] = abs(x)
        elif y == 0.0:
            null[to] = True
        else:
            real[to] = np.fmod(x, y) if math.isfinite(x) else np.nan
    else:
        null[to], whole[to] = _whole(kind, whole[a], whole[b])


@inner
def _compared(kind: int, x: Any, y: Any) -> int:
    if kind == EQUAL:
        return int(x == y)
    if kind == UNEQUAL:
        return int(x != y)
    return int(x < y) if kind == LESS else int(x <= y)


@inner
def _whole(kind: int, x: int, y: int) -> tuple[bool, int]:
    """Whether there is no result, and the result: what goes beyond 64 bits has none."""
    if kind == ADD:
        beyond = x > _GREATEST - y if y > 0 else x < _SMALLEST - y
        return (True, 0) if beyond else (False, x + y)
    if kind == SUBTRACT:
        beyond = x < _SMALLEST + y if y > 0 else x > _GREATEST + y
        return (True, 0) if beyond else (False, x - y)
    if kind == MULTIPLY:
        return (True, 0) if _too_large(x, y) else (False, x * y)
    if kind in (NEGATE, ABSOLUTE):
        if x == _SMALLEST:
            return True, 0
        return False, -x if kind == NEGATE or x < 0 else x
    if y == 0:
        return True, 0
    if y == -1:
        return False, 0  # the machine's own division has no result for the smallest number
    found = x % y  # with the sign of the divisor
    return False, found if found == 0 or (found < 0) == (x < 0) else found - y


@inner
def _too_large(x: int, y: int) -> bool:
    """Whether the product is beyond 64 bits."""
    if x == 0 or y == 0:
        return False
    if x == _SMALLEST or y == _SMALLEST:
        return not (x == 1 or y == 1)
    size = abs(y)
    if size == 1:
        return False
    most = _GREATEST // size
    if (x < 0) != (y < 0) and _GREATEST % size == size - 1:
        most += 1  # there is one negative number more
    return bool(abs(x) > most)


@inner
def _compute_float(op: int, whole: Any, real: Any, null: Any, to: int, a: int, b: int) -> None:
    null[to] = null[a] or (op == DIVIDE and null[b])
    if null[to]:
        return
    if op == TO_FLOAT:
        real[to] = float(whole[a])
    elif op == DIVIDE:
        if real[b] == 0.0:
            null[to] = True
        else:
            real[to] = real[a] / real[b]
    elif op == FLOOR:
        real[to] = np.floor(real[a])
    elif op == CEILING:
        real[to] = np.ceil(real[a])
    elif real[a] < 0.0:
        null[to] = True
    else:
        real[to] = math.sqrt(real[a])


@inner
def _compute_function(formulas: Any, begin: int, whole: Any, real: Any, null: Any, to: int, k: int) -> None:
    """The functions of floats, those that choose among their operands, and what takes more than two of them."""
    op, a, b = formulas.op[k], formulas.left[k], formulas.right[k]
    if op < PAIR:
        pair = begin + b if op in (CHOOSE, CHOOSE + 1) else begin  # other operands are no place of a PAIR
        _choose(op, whole, real, null, to, a, b, (formulas.left[pair], formulas.right[pair]))
    elif op == DISTANCE:
        first, second = begin + a, begin + b
        lat, lon = formulas.left[first], formulas.right[first]
        other_lat, other_lon = formulas.left[second], formulas.right[second]
        null[to] = null[lat] or null[lon] or null[other_lat] or null[other_lon]
        if not null[to]:
            null[to], real[to] = _distance(real[lat], real[lon], real[other_lat], real[other_lon])
    elif op == FITS:
        null[to] = null[a] or abs(whole[a]) > formulas.whole[b]
        whole[to] = whole[a]
    elif op != PAIR:
        null[to] = null[a] or (op >= POWER and null[b])
        if not null[to]:
            null[to], real[to] = _function(op, real[a], real[b])


@inner
def _choose(op: int, whole: Any, real: Any, null: Any, to: int, a: int, b: int, pairs: Any) -> None:
    """What chooses among its operands, and signs; `pairs` has those of a PAIR."""
    floats, kind = op % 2 == 1, op - op % 2
    taken = a
    if kind == SIGN:
        if floats:
            real[to] = real[a] if math.isnan(real[a]) else (1.0 if real[a] > 0 else (-1.0 if real[a] < 0 else 0.0))
        else:
            whole[to] = 1 if whole[a] > 0 else (-1 if whole[a] < 0 else 0)
        null[to] = null[a]
        return
    if kind == CHOOSE:
        taken = pairs[0] if not null[a] and whole[a] != 0 else pairs[1]
    elif kind == COALESCE:
        taken = b if null[a] else a
    elif kind != UNLESS and not null[b]:
        if null[a]:
            taken = b
        elif floats:
            one, other = (real[b], real[a]) if kind == GREATER else (real[a], real[b])
            taken = b if one > other or (math.isnan(one) and not math.isnan(other)) else a
        else:
            taken = b if (whole[b] > whole[a] if kind == GREATER else whole[b] < whole[a]) else a
    whole[to], real[to], null[to] = whole[taken], real[taken], null[taken]
    if kind == UNLESS and not null[b] and whole[b] != 0:
        null[to] = True


@inner
def _function(op: int, x: float, y: float) -> tuple[bool, float]:
    """Whether there is no result, and the result: none is NaN made of numbers, or infinity made of finite ones."""
    if op == EXP:
        found = np.exp(x)
    elif op == LN:
        found = np.log(x)
    elif op == LOG10:
        found = np.log10(x)
    elif op == SIN:
        found = np.sin(x)
    elif op == COS:
        found = np.cos(x)
    elif op == TAN:
        found = np.tan(x)
    elif op == ASIN:
        found = np.arcsin(x)
    elif op == ACOS:
        found = np.arccos(x)
    elif op == ATAN:
        found = np.arctan(x)
    elif op == POWER:
        found = np.power(x, y)
    else:
        found = np.arctan2(x, y)
    of_one = op < POWER
    if math.isnan(found):
        return not (math.isnan(x) or (not of_one and math.isnan(y))), found
    return math.isinf(found) and math.isfinite(x) and (of_one or math.isfinite(y)), found


@inner
def _distance(lat: float, lon: float, other_lat: float, other_lon: float) -> tuple[bool, float]:
    """Whether these are no places on the globe, and the metres between them (haversine)."""
    if abs(lat) > 90.0 or abs(other_lat) > 90.0 or math.isinf(lon) or math.isinf(other_lon):
        return True, 0.0
    lat, lon, other_lat, other_lon = lat * DEGREE, lon * DEGREE, other_lat * DEGREE, other_lon * DEGREE
    across, along = np.sin((other_lat - lat) / 2.0), np.sin((other_lon - lon) / 2.0)
    part = across * across + np.cos(lat) * np.cos(other_lat) * (along * along)
    if math.isnan(part):
        return False, part
    return False, 2.0 * EARTH_RADIUS * np.arcsin(min(np.sqrt(part), 1.0))
