"""LIKE with one pattern and with one for each row; texts found in texts; all against what Python says."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from odd_values import TEXTS

from ensue.columns import character_arrays, text_search
from ensue.columns.character_arrays import over_characters
from ensue.columns.evaluation import evaluated
from ensue.columns.like import like
from ensue.engines.reference.expressions import like_regex
from ensue.language.parser import parse_expression

PATTERNS = [
    *(t for t in TEXTS if t is not None),
    "%%",
    "_",
    "__",
    "a%",
    "%a",
    "%a%",
    "a%b",
    "a%b%",
    "%a_",
    "_%_",
    "\\%",
]
PATTERNS += [
    "\\\\",
    "a\\\\b",
    "%\\\\%",
    "%\\%%",
    "a\\",
    "\\a\\b",
    "%\\",
    "%\n%",
    "日%",
    "%本_",
    "(a|b)",
    "a.b",
    "^a$",
    "[ab]",
]
PATTERNS += [
    "%a\\\\b",
    "a\\_%",
    "{2}",
    "a-b",
    "\\_",
    "%\\_%",
    "a%b%a%b",
    "%%a%%",
    "_\\",
    "\t_",
    "é%",
    "\U0001f600_",
    "~",
]
COLUMN = pa.array([*TEXTS, *PATTERNS, "a" * 300])


def wanted(text: str | None, pattern: str | None) -> bool | None:
    return None if text is None or pattern is None else like_regex(pattern).fullmatch(text) is not None


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string()])
def test_one_pattern(type_: pa.DataType) -> None:
    column = COLUMN.cast(type_)
    for pattern in PATTERNS:
        expected = [wanted(t, pattern) for t in COLUMN.to_pylist()]
        assert like(column, pa.scalar(pattern)).to_pylist() == expected, pattern
        assert like(column.slice(3), pa.scalar(pattern)).to_pylist() == expected[3:], pattern


def test_a_pattern_for_each_row() -> None:
    pairs = [(t, p) for t in COLUMN.to_pylist() for p in [*PATTERNS, None]]
    texts, patterns = (pa.array(list(side)) for side in zip(*pairs, strict=True))
    assert like(texts, patterns).to_pylist() == [wanted(t, p) for t, p in pairs]
    assert like(pa.scalar("a%b"), patterns).to_pylist() == [wanted("a%b", p) for _, p in pairs]


def test_a_pattern_that_is_too_large_for_a_regular_expression() -> None:
    texts = pa.array(["a", "ba" * 40, None, ""])
    assert like(texts, pa.scalar("_a" * 80_000)).to_pylist() == [False, False, None, False]
    assert like(texts, pa.scalar("%_" * 80 + "_" * 160_000)).to_pylist() == [False, False, None, False]


def test_patterns_that_make_a_search_go_back_and_forth_end_soon() -> None:
    texts = pa.array(["a" * 2_000, "a" * 1_999 + "b"])
    assert like(texts, pa.array(["%a%a%a%b"] * 2)).to_pylist() == [False, True]
    assert like(texts, pa.scalar("%a%a%a_b")).to_pylist() == [False, True]


# ---------------------------------------------------------------- parts of texts

SEARCH = {
    "contains": lambda t, p: p in t,
    "starts_with": lambda t, p: t.startswith(p),
    "ends_with": lambda t, p: t.endswith(p),
}


def random_text(rng: Random) -> str | None:
    if rng.random() < 0.1:
        return None
    return "".join(rng.choice("aab日\U0001f600") for _ in range(rng.choice((0, 1, 2, 3, 5, 9))))


def random_pairs(seed: int, rows: int = 3_000) -> list[tuple[str | None, str | None]]:
    rng = Random(seed)
    return [(random_text(rng), random_text(rng)) for _ in range(rows)]


@pytest.mark.parametrize("block", [1, 50, 1 << 20])
@pytest.mark.parametrize("name", SEARCH)
def test_a_part_for_each_row(name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(character_arrays, "_BLOCK", block)
    pairs = random_pairs(1, 300 if block < 100 else 3_000)
    columns = {"t": pa.array([t for t, _ in pairs]), "p": pa.array([p for _, p in pairs])}
    found = evaluated(parse_expression(f"{name}(t, p)"), columns, len(pairs))
    assert found.to_pylist() == [None if None in pair else SEARCH[name](*pair) for pair in pairs]


@pytest.mark.parametrize("seed", range(4))
def test_texts_replaced_row_by_row(seed: int) -> None:
    rows = [(*pair, random_text(Random(k))) for k, pair in enumerate(random_pairs(seed))]
    columns = {n: pa.array(list(side)) for n, side in zip("ton", zip(*rows, strict=True), strict=True)}
    found = evaluated(parse_expression("replace(t, o, n)"), columns, len(rows)).to_pylist()
    assert found == [None if None in row else row[0].replace(row[1], row[2]) if row[1] else row[0] for row in rows]


def test_long_texts_of_one_letter_are_searched_in_one_pass() -> None:
    text, old = "a" * 300_000, "a" * 100_001
    texts, parts = pa.array([text, text]), pa.array([old, "ab"])
    assert over_characters(text_search.contains, texts, parts).to_pylist() == [True, False]
    found = over_characters(text_search.replaced, texts, parts, pa.array(["b", "c"])).to_pylist()
    assert found == [text.replace(old, "b"), text]


def test_texts_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the worst of all hashes every place is a candidate, and each is looked at."""
    monkeypatch.setattr(text_search, "_powers", lambda count: np.zeros(count, np.uint64))
    pairs = [p for p in random_pairs(7, 400) if None not in p]
    columns = {"t": pa.array([t for t, _ in pairs]), "p": pa.array([p for _, p in pairs])}
    found = evaluated(parse_expression("contains(t, p)"), columns, len(pairs)).to_pylist()
    assert found == [p in t for t, p in pairs]
    replaced = evaluated(parse_expression("replace(t, p, 'x')"), columns, len(pairs)).to_pylist()
    assert replaced == [t.replace(p, "x") if p else t for t, p in pairs]


@pytest.mark.parametrize("seed", range(3))
def test_parts_cut_out_at_places_of_their_own(seed: int) -> None:
    rng = Random(seed)
    places = [None, 0, 1, -1, 2, -2, 5, 100, -100, 2**63 - 1, -(2**63)]
    rows = [(random_text(rng), rng.choice(places), rng.choice(places)) for _ in range(2_000)]
    columns = {n: pa.array(list(side)) for n, side in zip("tfl", zip(*rows, strict=True), strict=True)}

    def cut(text: str | None, start: int | None, length: int | None) -> str | None:
        if None in (text, start, length):
            return None
        begin = start - 1 if start > 0 else max(len(text) + start, 0) if start else 0
        return text[begin:][: max(length, 0)]

    assert evaluated(parse_expression("substr(t, f, l)"), columns, len(rows)).to_pylist() == [cut(*r) for r in rows]
    whole = evaluated(parse_expression("substr(t, f)"), columns, len(rows)).to_pylist()
    assert whole == [cut(t, f, 100) for t, f, _ in rows]
