"""Every function and operator, on every type that it takes, is worth over columns what the reference says."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from amounts import amount
from odd_values import COLUMNS, by_columns, by_reference, differing, is_accepted, same

from ensue.columns.function_table import COLUMN_FUNCTIONS
from ensue.engines.reference.scalar_functions import MEANINGS
from ensue.language import ast
from ensue.language.parser import parse_expression
from ensue.language.printer import print_expression
from ensue.logic.functions import FUNCTIONS

#: Of two types that are computed with alike, one stands for both where three arguments meet.
FEW = ("i", "u", "f", "dec", "b", "s", "ts_s", "ts_ns", "day", "dur_s", "dur_ns", "nothing")

#: So many types at least are tried for each expression.
FEWEST = 40


def names_of(count: int) -> list[tuple[str, ...]]:
    return list(itertools.product(COLUMNS if count < 3 else FEW, repeat=count))


def over(written: ast.Expression, names: tuple[str, ...]) -> ast.Expression:
    """The expression with these columns as its arguments: parsing it for each of them would take longer."""
    columns = {f"argument_{k}": ast.Name(name) for k, name in enumerate(names)}
    return ast.replaced(written, lambda e: columns.get(e.name) if isinstance(e, ast.Name) else None)


def disagreements(text: str, count: int) -> tuple[int, list[str]]:
    """For how many types the expression is tried, and where engine and reference differ.

    A full run tries all for which it is defined, and a quick one some of them.
    """
    wrong = []
    written = parse_expression(text.format(*(f"argument_{k}" for k in range(count))))
    accepted = [e for names in names_of(count) if is_accepted(e := over(written, names))]
    tried = accepted[:: max(1, len(accepted) // max(FEWEST, amount(len(accepted))))]
    for e in tried:
        own = tuple(dict.fromkeys(n.name for n in ast.find(e, ast.Name)))
        try:
            found = differing(e, *own)
        except Exception as error:
            found = [error]
        if found:
            wrong.append(f"{print_expression(e)}: {len(found)} rows, as {found[:2]}")
    return len(tried), wrong


def test_the_two_sides_and_the_signatures_have_the_same_functions() -> None:
    assert COLUMN_FUNCTIONS.keys() == MEANINGS.keys() == FUNCTIONS.keys()


#: Functions whose first argument is one of a few words, with each of them.
CHOOSING = [(name, word) for name, f in FUNCTIONS.items() for word in f.chosen]


@pytest.mark.parametrize(("name", "word"), CHOOSING)
def test_functions_that_take_a_word(name: str, word: str) -> None:
    asked, wrong = disagreements(f"{name}('{word}', {{}})", 1)
    assert asked
    assert wrong == []


#: Functions whose second argument is a literal string, with some for each.
WITH_LITERALS = [
    *(("regexp_matches", p) for p in ("", "a", "^a", "b$", "[a-z]\\.\\*", "a|ß", "^.$", "(?i)B", "(?s)a.b", "\\d")),
    *(("split", s) for s in ("a", " ", "ab", "%", "aa", "\\", "日", "\n")),
]


def test_functions_with_literals_have_some() -> None:
    assert {name for name, _ in WITH_LITERALS} == {name for name, f in FUNCTIONS.items() if f.literal}


@pytest.mark.parametrize(("name", "literal"), WITH_LITERALS)
def test_functions_that_take_a_literal(name: str, literal: str) -> None:
    asked, wrong = disagreements(f"{name}({{}}, '{literal}')", 1)
    assert asked
    assert wrong == []


@pytest.mark.parametrize(
    "columns", [("f", "{}", "1", "i"), ("{}", "f", "-3.5", "180"), ("40.4", "single", "half", "{}")]
)
def test_distances(columns: tuple[str, ...]) -> None:
    """Four columns have too many rows together: two of them vary here."""
    asked, wrong = disagreements(f"distance({', '.join(columns)})", 1)
    assert asked
    assert wrong == []


def test_distances_of_places() -> None:
    rng = np.random.default_rng(3)
    columns = {name: pa.array(rng.uniform(-90, 90, 2_000) * (1 + k % 2)) for k, name in enumerate("abcd")}
    for text in ("distance(a, b, c, d)", "distance(a, b, a, b)", "distance(a, b, -a, b + 180)"):
        e = parse_expression(text)
        assert all(map(same, by_columns(e, columns, 2_000), by_reference(e, columns, 2_000)))


PLAIN = [name for name, f in FUNCTIONS.items() if not f.chosen and not f.literal and name != "distance"]


@pytest.mark.parametrize("name", PLAIN)
def test_functions(name: str) -> None:
    function = FUNCTIONS[name]
    fewest = len(function.parameters) - function.optional
    for count in range(fewest, (3 if function.variadic else len(function.parameters)) + 1):
        asked, wrong = disagreements(f"{name}({', '.join(['{}'] * count)})", count)
        assert asked
        assert wrong == []


OPERATORS = ["{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} || {}", "{} LIKE {}", "{} NOT LIKE {}"]
OPERATORS += ["{} = {}", "{} <> {}", "{} < {}", "{} <= {}", "{} > {}", "{} >= {}", "{} AND {}", "{} OR {}"]
OPERATORS += ["{} ILIKE {}", "{} NOT ILIKE '%ß_'", "{} RLIKE '^a'", "{} NOT RLIKE 'b$'", "split({}, 'a')[{}]"]
OPERATORS += [f"round({{}}, {places})" for places in (-400, -20, -19, -18, -2, 0, 1, 2, 15, 16, 308, 309)]
OPERATORS += ["-{}", "NOT {}", "{} IS NULL", "{} IS NOT NULL", "{} NOT IN ({}, NULL)", "{} NOT BETWEEN {} AND 7"]
OPERATORS += [
    "{} IN ({}, {})",
    "{} BETWEEN {} AND {}",
    "CASE WHEN {} THEN {} ELSE {} END",
    "CASE {} WHEN {} THEN 1 END",
]
OPERATORS += ["CASE WHEN b THEN {} WHEN NOT b THEN {} END", "CASE {} WHEN {} THEN {} ELSE NULL END"]
OPERATORS += [f"CAST({{}} AS {name})" for name in sorted(set(ast.CAST_TYPES.values()))]
OPERATORS += [f"{{}} AT TIME ZONE '{zone}'" for zone in ("UTC", "Europe/Madrid", "Australia/Lord_Howe", "+05:30")]


@pytest.mark.parametrize("text", OPERATORS)
def test_operators(text: str) -> None:
    asked, wrong = disagreements(text, text.count("{}"))
    assert asked
    assert wrong == []


#: What CAST reads and what it does not, and the same between other characters.
NUMBERS = [
    "0",
    "-0",
    "+7",
    "007",
    "1.",
    ".5",
    "-.5e1",
    "1e5",
    "1E-400",
    "1e400",
    "inf",
    "-Infinity",
    "NaN",
    "nan(1)",
    "-",
]
NUMBERS += [
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "0" * 30 + "5",
    "9" * 30,
    "0x1A",
    "1_0",
]
NUMBERS += ["1 0", "true", "T", "f", "yes", "\u0661", "2.5", "\u0130", "", ".", "e1", "+", "1e", "--1"]
TIMES = ["2024-02-29", "2023-02-29", "2024-02-29 12:00", "2024-02-29T12:00:01", "2024-02-29 12:00:01.5", "0000-01-01"]
TIMES += ["2024-02-29 12:00:01.123456789", "2024-02-29 12:00:01.", "2024-02-29 24:00", "2024-02-29 23:60", "2024-13-01"]
TIMES += ["9999-12-31 23:59:59.999999", "0001-01-01", "2024-2-9", "2024-02-29 12", "2024-02-29  12:00", "2024/02/29"]
TIMES += ["1969-12-31 23:59:59.999999", "2024-02-00", "2024-02-30", "\u0662024-02-29", "2024-02-29 12:00:01.1234567890"]
ZONES = ["Z", "+01", "-0130", "+01:30", "+24", "+1", "+01:60", "z", "+01:3", "-23:59", "Z+01", "+0130Z"]


@pytest.mark.parametrize("wanted", sorted(set(ast.CAST_TYPES.values())))
def test_casts_of_texts(wanted: str) -> None:
    """All texts in one column, and each alone: what one text is worth does not depend on those around it."""
    texts: list[str | None] = [*NUMBERS, *TIMES, *(t + z for t in TIMES for z in ZONES), None]
    texts += [f" \t{t}\n" for t in ("1", "true", "2024-02-29", "2024-02-29 12:00Z")] + ["1\u00a0", "Größe"]
    e = parse_expression(f"CAST(t AS {wanted})")
    columns = {"t": pa.array(texts)}
    whole = by_columns(e, columns, len(texts))
    theirs = by_reference(e, columns, len(texts))
    assert [(t, a, b) for t, a, b in zip(texts, whole, theirs, strict=True) if not same(a, b)] == []
    for k, text in enumerate(texts):
        assert same(by_columns(e, {"t": pa.array([text], pa.large_string())}, 1)[0], theirs[k]), text


def test_a_float_written_as_a_text_is_read_as_the_same_float() -> None:
    rng = np.random.default_rng(7)
    floats = np.concatenate(
        [rng.integers(0, 2**63, 3_000).view(np.float64), 10.0 ** np.arange(-12, 13), [0.1, 123456.7]]
    )
    columns = {"f": pa.array(np.concatenate([floats, -floats]))}
    rows = 2 * len(floats)
    written = parse_expression("CAST(f AS string)")
    assert by_columns(written, columns, rows) == by_reference(written, columns, rows)
    back = by_columns(parse_expression("f::string::float"), columns, rows)
    assert all(map(same, back, columns["f"].to_pylist()))


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
