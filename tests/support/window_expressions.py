"""Random window expressions, and what they mean by brute force: every pair of positions is tried with `re`.

An event becomes a letter that says which conditions hold for it; so a pattern of events that follow each other directly
is a regular expression over letters. Aggregates are computed from Python's values, one window at a time.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from random import Random
from typing import Any

import pyarrow as pa

Row = dict[str, Any]
#: The conditions on one event, each with its meaning; `before` is the event before it in its partition.
ATOMS: dict[str, Any] = {
    "A": lambda row, before: row["type"] == "A",
    "B": lambda row, before: row["type"] == "B",
    "ANY": lambda row, before: True,
    "ANY[i > PREV(i)]": lambda row, before: _less(before and before["i"], row["i"]),
    "ANY[i = PREV(i, 2)]": lambda row, before: _equal(before and before["before"] and before["before"]["i"], row["i"]),
    "A[i IS NULL]": lambda row, before: row["type"] == "A" and row["i"] is None,
    "ANY[NOT i <= PREV(i)]": lambda row, before: _less(before and before["i"], row["i"]),
    "C": lambda row, before: row["type"] == "C",
}
ITEMS = (
    "count(w)",
    "count(w.i)",
    "sum(w.i)",
    "avg(w.i)",
    "min(w.i)",
    "max(w.i)",
    "first(w.i)",
    "last(w.i)",
    "sum(w.f)",
    "avg(w.f)",
    "min(w.f)",
    "max(w.f)",
    "first(w.s)",
    "last(w.f)",
    "min(w.t)",
    "max(w.t)",
    "max(w.b)",
    "sum(w.i + 1)",
    "min(w.f * 2)",
    "max(w.s)",
    "count(w.s)",
    "count(w.f)",
    "count(w.t)",
    "sum(w.d)",
    "avg(w.d)",
    "max(w.d)",
)


def _less(a: Any, b: Any) -> bool:
    return a is not None and b is not None and a < b


def _equal(a: Any, b: Any) -> bool:
    return a is not None and b is not None and bool(a == b)


# ---------------------------------------------------------------- patterns


@dataclass(frozen=True)
class Expression:
    """A pattern as text, and as a regular expression in which each atom is a number between angle brackets."""

    text: str
    regex: str


def random_expression(rng: Random, depth: int = 2) -> Expression:
    if depth == 0 or rng.random() < 0.3:
        atom = rng.choices(list(ATOMS), [3, 1, 3, 3, 1, 1, 1, 0])[0]
        return Expression(atom, f"<{list(ATOMS).index(atom)}>")
    p, q = random_expression(rng, depth - 1), random_expression(rng, depth - 1)
    match rng.choice(["then", "then", "or", "more", "some", "count"]):
        case "then":
            return Expression(f"({p.text} : {q.text})", f"(?:{p.regex}{q.regex})")
        case "or":
            return Expression(f"({p.text} OR {q.text})", f"(?:{p.regex}|{q.regex})")
        case "more":
            return Expression(f"({p.text}):+", f"(?:{p.regex})+")
        case "some":
            return Expression(f"({p.text} : ({q.text}):*)", f"(?:{p.regex}(?:{q.regex})*)")
    count = rng.choice([1, 2, 3, 5])
    return Expression(f"({p.text}):{{{count}}}", f"(?:{p.regex}){{{count}}}")


@dataclass(frozen=True)
class Closed:
    """What closes a window: events that start directly behind it, the end of all, either, or nothing."""

    by: Expression | None = None
    or_end: bool = False

    @property
    def text(self) -> str:
        parts = [*([self.by.text] if self.by else []), *(["END"] if self.or_end else [])]
        return f"UNTIL ({' OR '.join(parts)})" if len(parts) > 1 else f"UNTIL {parts[0]}" if parts else ""


NOT_CLOSED = Closed()


def random_closed(rng: Random) -> Closed:
    by = random_expression(rng, 0 if rng.random() < 0.6 else 1)
    if rng.random() < 0.4:  # something that closes many windows
        by = Expression(f"({by.text} OR A OR C)", f"(?:{by.regex}|<0>|<7>)")
    return Closed(by if rng.random() < 0.9 else None, True) if rng.random() < 0.4 else Closed(by)


@dataclass(frozen=True)
class Windows:
    """Pairs of what stands before a window, or None for anything, and what it is."""

    pairs: tuple[tuple[Expression | None, Expression], ...]
    keyed: bool
    within: int | None  # in events of the partition
    items: tuple[str, ...]
    having: str = ""
    until: tuple[Closed, ...] = ()  # of each pair; nothing where no pair has UNTIL
    longest: bool = False  # SELECT LAST, which keeps the longest window of each end
    consumes: bool = False  # CONSUME BY PARTITION

    @property
    def text(self) -> str:
        until = [f" {c.text}" if c.text else "" for c in self.until or [NOT_CLOSED] * len(self.pairs)]
        befores = [f"AFTER ({q.text}):* " if q else "" for q, _ in self.pairs]
        pairs = [f"({q}IS {p.text}{c})" for q, (_, p), c in zip(befores, self.pairs, until, strict=True)]
        items = ", ".join(f"{e} AS r{n}" for n, e in enumerate(self.items))
        return "\n".join(
            [
                f"SELECT {'LAST ' if self.longest else ''}{items}",
                f"FROM S WINDOW w AS {' OR '.join(pairs)}",
                *([f"FILTER {self.having}"] if self.having else []),
                *(["PARTITION BY k"] if self.keyed else []),
                *([f"WITHIN {self.within} EVENTS"] if self.within else []),
                *(["CONSUME BY PARTITION"] if self.consumes else []),
            ]
        )


def random_windows(rng: Random) -> Windows:
    pairs = tuple(
        (random_expression(rng, 1) if rng.random() < 0.4 else None, random_expression(rng))
        for _ in range(rng.choice([1, 1, 2]))
    )
    items = tuple(rng.sample(ITEMS, rng.randrange(1, 6)))
    having = rng.choice(["", "", "", "count(w) > 1", "sum(w.i) >= 0", "max(w.f) < 1e9", "count(w) <> 2"])
    return Windows(pairs, rng.random() < 0.5, rng.choice([None, None, 1, 3]), items, having)


def random_closed_windows(rng: Random) -> Windows:
    """Windows with UNTIL, mostly the same in all pairs; then they may be chosen among, and take others away."""
    windows, closed = random_windows(rng), random_closed(rng)
    if rng.random() < 0.6:  # short ones, of which many are found
        pairs = tuple((q, random_expression(rng, 1)) for q, _ in windows.pairs)
        windows = replace(windows, pairs=pairs, within=rng.choice([None, None, 3]))
    count = len(windows.pairs)
    if rng.random() < 0.2:
        return replace(windows, until=tuple(rng.choice([random_closed(rng), NOT_CLOSED]) for _ in range(count)))
    one_event = closed.by is None or not any(mark in closed.by.text for mark in (" : ", "):"))
    consumes = one_event and not windows.having and rng.random() < 0.4
    return replace(windows, until=(closed,) * count, longest=rng.random() < 0.3, consumes=consumes)


# ---------------------------------------------------------------- events

_BASE = datetime(2024, 5, 1, tzinfo=UTC).replace(tzinfo=None)
_FLOATS = (0.1, -0.1, 1e16, -1e16, 1e300, -1e300, 1.7e308, 5e-324, -0.0, 0.0, 3.5, math.inf, -math.inf, math.nan)


def random_rows(rng: Random, count: int) -> list[Row]:
    """Events with ties in time, NULLs, integers whose sums do not fit 64 bits, and floats of all sizes."""
    hostile = rng.random() < 0.5
    rows = []
    for time in sorted(rng.choices(range(max(count, 1)), k=count)):
        wide = rng.choice([2**63 - 1, -(2**63), 2**62]) if hostile and rng.random() < 0.2 else rng.randrange(-2, 3)
        row = {
            "time": time,
            "type": rng.choice("AABC"),
            "k": rng.choice([0, 1, None]),
            "i": wide,
            "f": rng.choice(_FLOATS) if hostile else rng.random(),
            "s": rng.choice(["a", "b", ""]),
            "t": _BASE + timedelta(seconds=rng.randrange(-(10**6), 10**6)),
            "b": rng.random() < 0.5,
            "d": Decimal(rng.randrange(-(10**8), 10**8)).scaleb(-2),
        }
        for name in "ifstbd":
            if rng.random() < 0.15:
                row[name] = None
        rows.append(row)
    return rows


def table_of(rows: list[Row]) -> pa.Table:
    types = {
        "time": pa.int64(),
        "type": pa.string(),
        "k": pa.int64(),
        "i": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
        "t": pa.timestamp("us"),
        "b": pa.bool_(),
        "d": pa.decimal128(9, 2),
    }
    return pa.table({name: pa.array([row[name] for row in rows], type_) for name, type_ in types.items()})


# ---------------------------------------------------------------- by brute force


def windows_by_brute_force(
    windows: Windows, rows: list[Row], *, ended: bool = False
) -> list[tuple[int, int, list[Row]]]:
    """The first and the last position of each window, and its events, in the order of ends.

    What closes windows may be that the stream has ended.
    """
    parts: dict[Any, list[tuple[int, Row]]] = defaultdict(list)
    for position, row in enumerate(rows):
        parts[row["k"] if windows.keyed else None].append((position, row))
    found = []
    for part in parts.values():
        own = [row for _, row in part]
        for pairs in _letters(windows, own):
            text, compiled = pairs
            for first in range(len(own)):
                for last in range(first, min(len(own), first + (windows.within or len(own)))):
                    inside, before, behind = text[first : last + 1], text[:first], text[last + 1 :]
                    if any(
                        p.fullmatch(inside) and (q is None or q.fullmatch(before)) and closed(behind, ended)
                        for q, p, closed in compiled
                    ):
                        found.append((part[first][0], part[last][0], own[first : last + 1]))
    kept = [w for w in found if not windows.having or _holds(windows.having, w[2])]
    return _reported(windows, sorted(kept, key=lambda w: (w[1], w[0])), rows)


def _reported(
    windows: Windows, found: list[tuple[int, int, list[Row]]], rows: list[Row]
) -> list[tuple[int, int, list[Row]]]:
    """What consumption leaves, and of that what the selector chooses."""
    reported: list[tuple[int, int, list[Row]]] = []
    consumed: dict[Any, int] = {}
    for end, same_end in groupby(found, key=lambda w: w[1]):
        key = rows[end]["k"] if windows.keyed else None
        left = [w for w in same_end if not windows.consumes or w[0] > consumed.get(key, -1)]
        reported += left[:1] if windows.longest else left
        if left:
            consumed[key] = end
    return reported


def _letters(windows: Windows, rows: list[Row]) -> list[tuple[str, list[tuple[Any, Any, Any]]]]:
    """The events as letters, and the pairs as regular expressions over them."""
    holds: list[tuple[bool, ...]] = []
    before = None
    for row in rows:
        holds.append(tuple(bool(test(row, before)) for test in ATOMS.values()))
        before = {**row, "before": before}
    alphabet = {word: chr(0x4E00 + n) for n, word in enumerate(sorted(set(holds)))}

    def compiled(regex: str) -> Any:
        def of(found: re.Match[str]) -> str:
            own = "".join(letter for word, letter in alphabet.items() if word[int(found[1])])
            return f"[{own}]" if own else "(?!)"

        return re.compile(re.sub(r"<(\d+)>", of, regex))

    def closing(c: Closed) -> Any:
        by = c.by and compiled(c.by.regex)
        return lambda behind, ended: not c.text or bool(by and by.match(behind)) or (c.or_end and ended and not behind)

    until = map(closing, windows.until or [NOT_CLOSED] * len(windows.pairs))
    pairs = [
        (q and compiled(f"(?:{q.regex})*"), compiled(p.regex), c)
        for (q, p), c in zip(windows.pairs, until, strict=True)
    ]
    return [("".join(alphabet[word] for word in holds), pairs)]


def aggregate_by_brute_force(item: str, rows: list[Row]) -> Any:
    """What an item comes to over the events of a window."""
    if item == "count(w)":
        return len(rows)
    function, _, inner = item.rstrip(")").partition("(w.")
    values = [_value(inner, row) for row in rows]
    if function in ("first", "last"):
        return values[0 if function == "first" else -1]
    known = [v for v in values if v is not None]
    if function == "count":
        return len(known)
    if not known:
        return None
    if function in ("min", "max"):
        numbers = [v for v in known if v == v] or known[:1]
        no_number = len(numbers) < len(known) or numbers[0] != numbers[0]
        return math.nan if no_number and (function == "max" or numbers[0] != numbers[0]) else _of(function)(numbers)
    if function == "sum" and isinstance(known[0], int):
        total = sum(known)
        return total if -(2**63) <= total < 2**63 else None
    total = _sum_of_floats([float(v) for v in known])
    return total / len(known) if function == "avg" else total


def _of(function: str) -> Any:
    return min if function == "min" else max


def _value(inner: str, row: Row) -> Any:
    name = inner[0]
    value = row[name]
    if value is None or len(inner) == 1:
        return value
    if inner == "i + 1":
        return value + 1 if value + 1 < 2**63 else None
    return value * 2


def _sum_of_floats(values: list[float]) -> float:
    if not all(map(math.isfinite, values)):
        return sum(v for v in values if not math.isfinite(v))
    exact = sum(map(Fraction, values))
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _holds(having: str, rows: list[Row]) -> bool:
    item, sign, number = having.split()
    value: float | None = aggregate_by_brute_force(item, rows)
    if value is None:
        return False
    if value != value:  # NaN is above every number
        value = math.inf
        return sign in (">", ">=", "<>")
    return {
        ">": value > float(number),
        ">=": value >= float(number),
        "<": value < float(number),
        "<>": value != float(number),
    }[sign]
