"""Aggregates of one's own: monoids of three functions, by both engines, in segments, batches and saved states."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from amounts import shares
from window_expressions import random_rows, random_windows, table_of
from window_rows import choice_of, in_batches, rows_with_marks, shown

import ensue
from ensue.own import registry

KMER = pa.struct([("n", pa.int64()), ("code", pa.int64())])


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


def own(**parts: Any) -> Any:
    given: dict[str, Any] = {"lift": str, "combine": lambda a, b: a + b, "takes": "string", "state": "string"}
    return ensue.aggregate("own", registered=False, **{**given, **parts})


def kmer() -> Any:
    """The code of a word over four letters (Praveen and Hitarth, section 5): not commutative."""
    return own(
        lift=lambda letter: {"n": 1, "code": letter % 4},
        combine=lambda a, b: {"n": a["n"] + b["n"], "code": (a["code"] * 4 ** b["n"] + b["code"]) % 2**61},
        lower=lambda s: s["code"],
        takes="integer",
        state=KMER,
        returns="integer",
    )


TEXTS = own(lift=lambda s: f"<{s}>")
LONGEST = own(lift=lambda s: s, combine=lambda a, b: a if len(a) >= len(b) else b)
EVENTS = pa.table({"time": [0, 1, 2, 3], "type": list("AABA"), "s": ["x", None, "yy", "z"], "v": [1, 2, 3, 0]})


def rows(text: str, **things: Any) -> list[dict[str, Any]]:
    """The rows, which both engines give."""
    query = ensue.query(text, **things)
    found, expected = (
        sorted(query.run(EVENTS, unit="s", engine=engine).to_arrow().to_pylist(), key=repr)
        for engine in ("automaton", "reference")
    )
    assert found == expected
    return found


def test_over_windows_and_over_sets() -> None:
    found = rows("SELECT own(w.s) AS o FROM S WINDOW w AS (IS A:+ : B)", own=TEXTS)
    assert [row["o"] for row in found] == ["<x><yy>", "<yy>"]
    found = rows("SELECT own(a.s) AS o FROM S WHERE (A AS a):+ : B", own=TEXTS)
    assert [row["o"] for row in found] == ["<x>", None]


def test_in_filters_and_in_expressions() -> None:
    text = "SELECT length(own(w.s)) + 1 AS n FROM S WINDOW w AS (IS A:+ : B) FILTER own(w.s) LIKE '<x>%'"
    assert [row["n"] for row in rows(text, own=TEXTS)] == [8]


def test_for_the_whole_program_and_in_any_case() -> None:
    ensue.aggregate("Glued", lift=str, combine=lambda a, b: a + b, takes="integer", state="string")
    found = rows("SELECT GLUED(w.v) AS o FROM S WINDOW w AS (IS A : ANY)")
    assert [row["o"] for row in found] == ["12", "23"]


def test_order_matters() -> None:
    found = rows("SELECT own(w.v) AS o FROM S WINDOW w AS (IS ANY:{3})", own=kmer())
    assert sorted(row["o"] for row in found) == [1 * 16 + 2 * 4 + 3, 2 * 16 + 3 * 4]


# ---------------------------------------------------------------- random windows


def compare(seed: int) -> str:
    """Random windows: over segments, in batches with saved states, and over the events of each window."""
    rng = Random(f"own {seed}")
    windows, table = random_windows(rng), table_of(random_rows(rng, rng.choice([5, 12, 25])))
    text = windows.text.replace("SELECT ", "SELECT texts(w.s) AS o, count(w) AS n, code(w.i) AS c, ")
    query = ensue.query(text, texts=TEXTS, code=kmer())
    choice, stream = choice_of(query, table)
    expected = shown(rows_with_marks(choice, stream))
    assert shown(query.run(table, unit="s").to_arrow()) == expected, (seed, text)
    assert in_batches(query, table, rng) == expected, (seed, text)
    if seed % 4 == 0:
        reference = query.run(table, unit="s", engine="reference")
        assert shown(reference.to_arrow()) == expected, (seed, text)
    return "compared" if expected else "without a match"


@pytest.mark.parametrize("seeds", shares(120, each=60))
def test_random_windows(seeds: range) -> None:
    assert [compare(seed) for seed in seeds].count("compared") > len(seeds) // 4


# ---------------------------------------------------------------- the laws


def test_a_monoid_passes() -> None:
    kmer().check(range(4))
    TEXTS.check(["", "a", "bc"])
    LONGEST.check(["", "a", "bc", "de"])


@pytest.mark.parametrize(
    ("parts", "samples", "message"),
    [
        (
            {"lift": float, "combine": lambda a, b: a - b, "takes": "float", "state": "float"},
            [1, 2],
            "combine of 'own' is not associative: for 1, 1, 1 it gives -1.0 from the left, 1.0 from the right",
        ),
        (
            {"lift": lambda s: [s], "combine": lambda a, b: a.extend(b) or a, "state": pa.list_(pa.string())},
            ["a"],
            "combine of 'own' changes its arguments: the state of 'a' was ['a'], and is ",
        ),
        (
            {"lift": lambda s: (s, 1), "combine": lambda a, b: a, "state": pa.list_(pa.string())},
            ["a"],
            "the aggregate 'own': state: a saved state cannot hold ('a', 1), which is no list<item: string>",
        ),
        (
            {"lift": lambda s: (s, s), "combine": lambda a, b: a, "state": pa.list_(pa.string())},
            ["a"],
            "a saved state does not keep the state of a in 'own': as list<item: string> it is ['a', 'a']",
        ),
        ({"lift": lambda s: None}, ["a"], "the state of a in 'own' is None, which stands for no values"),
        ({"lower": len, "returns": "string"}, ["a"], "the aggregate 'own': lower gave 1, which is no string"),
        (
            {"combine": lambda a, b: a / b},
            ["a"],
            "combine of the aggregate 'own' raised TypeError: unsupported operand",
        ),
    ],
)
def test_what_is_no_monoid(parts: dict[str, Any], samples: list[Any], message: str) -> None:
    with pytest.raises((ValueError, ensue.EngineError)) as told:
        own(**parts).check(samples)
    assert str(told.value).startswith(message)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({"lift": 3}, TypeError, "lift: an aggregate 'own' needs something to call, not int"),
        ({"lower": "x"}, TypeError, "lower: an aggregate 'own' needs something to call, not str"),
        ({"returns": "string"}, TypeError, "returns: without lower, 'own' shows its state, whose type is state="),
        ({"state": "flot"}, TypeError, "state: unknown type 'flot'; did you mean 'float'?"),
    ],
)
def test_bad_parts(parts: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as told:
        own(**parts)
    assert str(told.value) == message


def test_bad_names() -> None:
    with pytest.raises(ValueError, match="the language has a function 'sum': give your aggregate another name"):
        ensue.aggregate("sum", lift=str, combine=max, takes="float", state="string")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT own(w.s, w.s) AS o FROM S WINDOW w AS (IS A)", "own takes 1 argument, not 2"),
        (
            "SELECT own(w.v) AS o FROM S WINDOW w AS (IS A)",
            "own takes a value of type string, but w.v is of type integer",
        ),
        ("SELECT own(w) AS o FROM S WINDOW w AS (IS A)", "own takes an attribute, not the whole variable 'w'"),
        ("SELECT own(a.s) AS o FROM S WHERE A AS a", "'a' stands for one event, so there is nothing to aggregate"),
        ("SELECT sum(own(w.s)) AS o FROM S WINDOW w AS (IS A)", "an aggregate cannot be inside another aggregate"),
        ("SELECT a FROM S WHERE A[own(s) = 'x'] AS a", "the aggregate own cannot be"),
    ],
)
def test_bad_queries(text: str, message: str) -> None:
    with pytest.raises(ensue.QueryError) as told:
        ensue.query(text, own=TEXTS).run(EVENTS, unit="s")
    assert message in str(told.value)


def test_an_error_in_a_part_stops_the_query() -> None:
    broken = own(combine=lambda a, b: a / b)
    with pytest.raises(ensue.EngineError, match="combine of the aggregate 'own' raised TypeError"):
        ensue.query("SELECT own(w.s) AS o FROM S WINDOW w AS (IS ANY:{4})", own=broken).run(EVENTS, unit="s")


def test_another_aggregate_is_another_state() -> None:
    query = "SELECT own(w.s) AS o FROM S WINDOW w AS (IS A:+ : B)"
    one, other = (choice_of(ensue.query(query, own=a), EVENTS)[0].for_rows.made_by(1) for a in (TEXTS, LONGEST))
    assert one != other
