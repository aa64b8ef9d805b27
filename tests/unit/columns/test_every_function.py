"""Every function and operator, on every type that it takes, is worth over columns what the reference says."""

from __future__ import annotations

import itertools

import pytest
from odd_values import COLUMNS, differing, is_accepted

from ensue.columns.function_table import COLUMN_FUNCTIONS
from ensue.engines.reference.scalar_functions import MEANINGS
from ensue.language import ast
from ensue.language.parser import parse_expression
from ensue.logic.functions import FUNCTIONS

#: Of two types that are computed with alike, one stands for both where three arguments meet.
FEW = ("i", "u", "f", "dec", "b", "s", "ts_s", "ts_ns", "day", "dur_s", "dur_ns", "nothing")


def names_of(count: int) -> list[tuple[str, ...]]:
    return list(itertools.product(COLUMNS if count < 3 else FEW, repeat=count))


def disagreements(text: str, count: int) -> tuple[int, list[str]]:
    """For how many types the expression is defined, and where engine and reference differ."""
    asked, wrong = 0, []
    for names in names_of(count):
        e = parse_expression(text.format(*names))
        if is_accepted(e):
            asked += 1
            own = tuple(dict.fromkeys(n.name for n in ast.find(e, ast.Name)))
            try:
                found = differing(e, *own)
            except Exception as error:
                found = [error]
            if found:
                wrong.append(f"{text.format(*names)}: {len(found)} rows, as {found[:2]}")
    return asked, wrong


def test_the_two_sides_and_the_signatures_have_the_same_functions() -> None:
    assert COLUMN_FUNCTIONS.keys() == MEANINGS.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    function = FUNCTIONS[name]
    fewest = len(function.parameters) - function.optional
    for count in range(fewest, (3 if function.variadic else len(function.parameters)) + 1):
        asked, wrong = disagreements(f"{name}({', '.join(['{}'] * count)})", count)
        assert asked
        assert wrong == []


OPERATORS = ["{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} || {}", "{} LIKE {}", "{} NOT LIKE {}"]
OPERATORS += ["{} = {}", "{} <> {}", "{} < {}", "{} <= {}", "{} > {}", "{} >= {}", "{} AND {}", "{} OR {}"]
OPERATORS += ["-{}", "NOT {}", "{} IS NULL", "{} IS NOT NULL", "{} NOT IN ({}, NULL)", "{} NOT BETWEEN {} AND 7"]
OPERATORS += ["{} IN ({}, {})", "{} BETWEEN {} AND {}"]


@pytest.mark.parametrize("text", OPERATORS)
def test_operators(text: str) -> None:
    asked, wrong = disagreements(text, text.count("{}"))
    assert asked
    assert wrong == []


LITERALS = [
    "0",
    "7",
    "9223372036854775807",
    "-1",
    "0.5",
    "-0.0",
    "1e300",
    "TRUE",
    "NULL",
    "''",
    "'a'",
    "'%a\\_'",
    "90 min",
]
LITERALS += ["1 ns", "9223372036854775807 ns", "timestamp('1969-12-31 23:59:59.5')", "timestamp('9999-12-31 23:00Z')"]
LITERALS += ["timestamp('2024-03-31 01:30Z')", "concat('a', 'b')", "if(FALSE, 'a', NULL)", "7 / 0", "1 + 6"]


@pytest.mark.parametrize("literal", LITERALS)
def test_one_value_for_all_rows(literal: str) -> None:
    """A literal, and what is computed from literals, on either side of a column or of another."""
    wrong = []
    templates = ["{} = {}", "{} < {}", "{} <> {}", "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} || {}"]
    templates += ["{} LIKE {}", "{} IN ({}, 7)", "{} BETWEEN {} AND {}", "coalesce({}, {})", "nullif({}, {})"]
    templates += ["greatest({}, {})", "least({}, {})", "if({} = {}, 1, 2)", "if(b, {}, {})", "power({}, {})"]
    templates += ["substr(s, {}, {})", "substr('a日bc', {}, {})", "replace(s, {}, {})", "contains({}, {})", "{} OR {}"]
    templates += ["starts_with({}, {})", "ends_with({}, {})", "replace('abab', {}, {})", "atan2({}, {})", "{} AND {}"]
    for template, other in itertools.product(templates, [*FEW, *LITERALS]):
        for parts in ((literal, other), (other, literal)):
            text = template.format(*parts, parts[0])
            e = parse_expression(text)
            if is_accepted(e):
                own = tuple(dict.fromkeys(n.name for n in ast.find(e, ast.Name)))
                found = differing(e, *own)
                if found:
                    wrong.append(f"{text}: {len(found)} rows, as {found[:2]}")
    assert wrong == []
