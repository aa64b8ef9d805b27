"""Random expressions over random columns of every type: engine and reference agree on every row."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_values import COLUMNS, by_columns, by_reference, is_accepted, same, shown

from ensue.language import ast
from ensue.language.parser import parse_expression
from ensue.language.printer import print_expression
from ensue.logic.functions import FUNCTIONS, TRUNCATED

BY_KIND = {
    "number": ["i", "byte", "u", "f", "single", "half", "dec", "long_dec", "coded_i", "fitting_u", "nothing"],
    "text": ["s", "large_s", "coded_s"],
    "truth": ["b"],
    "time": ["ts_s", "ts_ms", "ts_us", "ts_ns", "day", "day64"],
    "zoned": ["utc", "berlin", "new_york", "offset"],
    "length": ["dur_s", "dur_ms", "dur_ns"],
}
LITERALS = {
    "number": ["0", "1", "(-3)", "2.5", "9223372036854775807", "1e300", "NULL"],
    "text": ["''", "'a'", "'a%'", "'_b%'", "'日'", "NULL"],
    "truth": ["TRUE", "FALSE", "NULL"],
    "time": ["timestamp('2024-03-31 02:30')", "timestamp('1969-12-31')"],
    "zoned": ["timestamp('2024-03-31 01:00Z')", "timestamp('2024-10-27 00:30Z')"],
    "length": ["1 h 30 min", "1 ns", "2 d"],
}
ARITHMETIC = {
    "number": [("number", op, "number") for op in "+-*/%"] + [("length", "/", "length")],
    "length": [
        *(("length", op, "length") for op in "+-"),
        ("length", "*", "number"),
        ("length", "/", "number"),
        ("time", "-", "time"),
    ],
    "time": [("time", "+", "length"), ("time", "-", "length"), ("length", "+", "time")],
    "zoned": [("zoned", "+", "length"), ("zoned", "-", "length")],
    "text": [("text", "||", "text")],
    "truth": [(kind, op, kind) for kind in BY_KIND for op in ("=", "<>", "<", "<=", ">", ">=")]
    + [("truth", "AND", "truth"), ("truth", "OR", "truth"), ("text", "LIKE", "text"), ("text", "ILIKE", "text")],
}
CALLS = {
    "number": "abs sign floor ceil round sqrt exp ln log10 sin cos tan asin acos atan radians degrees".split(),
    "text": ["lower", "upper", "trim"],
}
PARTS = ["year", "month", "day", "weekday", "hour", "minute", "second", "quarter", "week", "day_of_year", "epoch"]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "+05:30"]


def expression(rng: Random, kind: str, depth: int) -> str:
    """A text of this kind; not all are well typed, since what a number is, an integer or a float, is left to chance."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(BY_KIND[kind] if rng.random() < 0.75 else LITERALS[kind])

    def some(other: str = kind) -> str:
        return expression(rng, other, depth - 1)

    match rng.randrange(6):
        case 0 | 1 if kind in ARITHMETIC:
            left, symbol, right = rng.choice(ARITHMETIC[kind])
            return f"({some(left)} {symbol} {some(right)})"
        case 2:
            choose = rng.choice(["coalesce({}, {})", "nullif({}, {})", "greatest({}, {}, {})", "least({}, {})"])
            return choose.format(*(some() for _ in range(3)))
        case 3:
            own = rng.choice(list(BY_KIND))
            chosen = f"CASE {some(own)} WHEN {some(own)} THEN {some()} WHEN {some(own)} THEN {some()} END"
            first = f"CASE WHEN {some('truth')} THEN {some()} ELSE {some()} END"
            return rng.choice([f"if({some('truth')}, {some()}, {some()})", chosen, first, _cast(rng, kind, some)])
    return _call(rng, kind, some)


def _cast(rng: Random, kind: str, some: object) -> str:
    """What CAST or AT TIME ZONE makes of another kind, or of this one where there is none."""
    assert callable(some)
    match kind:
        case "number":
            of = rng.choice(["number", "text", "truth"])
            return f"CAST({some(of)} AS {rng.choice(['integer', 'float'])})"
        case "text":
            return f"CAST({some(rng.choice(['number', 'text', 'truth', 'time', 'zoned']))} AS string)"
        case "truth":
            return f"CAST({some(rng.choice(['number', 'text']))} AS boolean)"
        case "time" | "zoned":
            other = f"({some('zoned' if kind == 'time' else 'time')} AT TIME ZONE '{rng.choice(ZONES)}')"
            own = "timestamp" if kind == "time" else "timestamptz"
            cut = f"date_trunc('{rng.choice(TRUNCATED)}', {some()})"
            return rng.choice([other, cut, f"CAST({some(rng.choice(['text', kind]))} AS {own})"])
    return str(some())


def _call(rng: Random, kind: str, some: object) -> str:
    assert callable(some)
    of = rng.choice(list(BY_KIND))
    match kind:
        case "number":
            numbers = [f"{rng.choice(CALLS['number'])}({some()})", f"power({some()}, {some()})", f"(-{some()})"]
            numbers += [f"round({some()}, {some()})", f"distance({some()}, {some()}, {some()}, {some()})"]
            return rng.choice(
                [*numbers, f"length({some('text')})", f"{rng.choice(PARTS)}({some(rng.choice(['time', 'zoned']))})"]
            )
        case "text":
            if rng.random() < 0.2:
                return f"split({some()}, '{rng.choice(['a', ' ', 'b%'])}')[{some('number')}]"
            cut = f"substr({some()}, {some('number')}, {some('number')})"
            return rng.choice([f"{rng.choice(CALLS['text'])}({some()})", cut, f"replace({some()}, {some()}, {some()})"])
        case "truth":
            tests = [f"(NOT {some()})", f"({some(of)} IS NULL)", f"({some(of)} IN ({some(of)}, {some(of)}))"]
            tests.append(f"({some('text')} RLIKE '{rng.choice(['^a', 'b|c', '(?i)ß', '.$'])}')")
            search = rng.choice(["contains", "starts_with", "ends_with"])
            return rng.choice(
                [*tests, f"({some(of)} BETWEEN {some(of)} AND {some(of)})", f"{search}({some('text')}, {some('text')})"]
            )
        case "time" | "zoned":
            return f"date({some()})"
    return f"(-{some()})"


def check(seed: int) -> bool:
    """Whether a random expression was well typed; then engine and reference agree on it."""
    rng = Random(seed)
    text = expression(rng, rng.choice(list(BY_KIND)), rng.choice((1, 2, 3, 3)))
    e = parse_expression(text)
    if not is_accepted(e):
        return False
    rows = rng.choice((0, 1, 2, 50))
    columns = {}
    for name in sorted({n.name for n in ast.find(e, ast.Name)}):
        column = COLUMNS[name]
        places = pa.array(np.array([rng.randrange(len(column)) for _ in range(rows + 3)]))
        columns[name] = column.take(places).slice(rng.randrange(4), rows)
    ours, theirs = by_columns(e, columns, rows), by_reference(e, columns, rows)
    wrong = [k for k, (a, b) in enumerate(zip(ours, theirs, strict=True)) if not same(a, b)]
    assert not wrong, (text, {n: c[wrong[0]] for n, c in columns.items()}, ours[wrong[0]], theirs[wrong[0]])
    shown(e, columns, rows)
    return True


@pytest.mark.parametrize("first", range(0, 4_000, 500))
def test_random_expressions(first: int) -> None:
    assert sum(check(seed) for seed in range(first, first + 500)) > 250


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(min_value=0, max_value=2**40))
def test_more_random_expressions(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_the_random_expressions_use_everything() -> None:
    parsed = [parse_expression(expression(Random(s), k, 2)) for s in range(1_600) for k in BY_KIND]
    used = {call.function for e in parsed if is_accepted(e) for call in ast.find(e, ast.Call)}
    assert FUNCTIONS.keys() - used == {"atan2", "concat"}
    assert all(parse_expression(print_expression(e)) == e for e in parsed)
