"""Numbers of matches, and sums of integers, of any size, as Python integers."""

from __future__ import annotations

import logging
from itertools import islice
from math import prod
from random import Random
from typing import Any

import pytest

import ensue
from ensue.columns.residues import Remainders, primes
from ensue.results.totals import Totals


def totals(text: str, events: list[dict[str, Any]]) -> Totals:
    found = ensue.query(text).run(events, unit="s")
    assert isinstance(found, Totals)
    return found


def test_primes_are_primes() -> None:
    some = list(islice(primes(), 40))
    assert some == sorted(set(some), reverse=True)
    for n in some[:4]:
        assert all(n % k for k in range(3, 46_341, 2))
    between = set(range(some[-1], some[0], 2)) - set(some)
    assert all(any(n % k == 0 for k in range(3, 46_341, 2)) for n in sorted(between)[:20])


def test_numbers_come_back_from_their_residues() -> None:
    rng = Random("residues")
    some = list(islice(primes(), 9))
    numbers = [0, 1, -1, *(rng.randrange(-(2**270), 2**270) for _ in range(50))]
    known = Remainders(len(numbers))
    for prime in some:
        assert not known.tell(271)
        known.add(prime, [n % prime for n in numbers])
    assert known.tell(270)
    assert prod(some) > 2**272
    assert known.numbers() == numbers


def subsets(values: list[int | None]) -> list[tuple[int, int, int]]:
    """Of all subsets that end at each event: their number, the sum of all values, and of all distances."""
    found, count, total, starts = [], 0, 0, 0
    for k, value in enumerate(values):
        here, here_total = count + 1, total + (count + 1) * (value or 0)
        here_starts = starts + k
        found.append((here, here_total, here * k - here_starts))
        count, total, starts = count + here, total + here_total, starts + here_starts
    return found


def test_sums_of_any_size() -> None:
    rng = Random("exact")
    values = [rng.choice((None, 2**63 - 1, -(2**62), rng.randrange(-9, 9))) for _ in range(260)]
    events = [{"time": k, "type": "A", "v": v} for k, v in enumerate(values)]
    items = "count(*) AS n, sum(x.v) AS s, sum(end_time - start_time) AS took"
    expected = subsets(values)
    found = totals(f"AGGREGATE {items} FROM S WHERE A+ AS x GROUP BY END", events)
    assert found.exact("n") == [n for n, _, _ in expected]
    assert found.exact("s")[5:] == [s for _, s, _ in expected][5:]
    assert found.exact("took") == [took for _, _, took in expected]
    whole = totals(f"AGGREGATE {items} FROM S WHERE A+ AS x", events)
    assert [whole.exact(i) for i in ("n", "s", "took")] == [[sum(column)] for column in zip(*expected, strict=True)]
    assert whole.to_arrow().column("n").to_pylist() == [None]


def test_sums_over_nodes() -> None:
    """Runs with registers: the same numbers, modulo primes."""
    events = [{"time": 0, "type": "B", "v": -1}, *({"time": k, "type": "A", "v": k} for k in range(1, 200))]
    text = "AGGREGATE count(*) AS n, sum(x.v) AS s FROM S WHERE B AS y ; (A AS x)+ FILTER x.v > y.v"
    found = totals(text, events)
    assert found.exact("n") == [2**199 - 1]
    assert found.exact("s") == [sum(range(1, 200)) * 2**198]


def test_numbers_in_groups_and_windows() -> None:
    events = [{"time": k, "type": "A", "k": k % 3} for k in range(600)]
    text = "AGGREGATE count(*) AS n FROM S WHERE A+ WITHIN 150 EVENTS PARTITION BY k GROUP BY k, EVERY 300 s"
    # An end has all subsets of the events before it in the window, which counts those of its key.
    expected = [sum(2 ** min(m, 149) for m in part) for part in (range(100), range(100, 200)) for _ in range(3)]
    assert totals(text, events).exact("n") == expected


def test_the_log_tells_once_what_has_no_64_bits(caplog: pytest.LogCaptureFixture) -> None:
    events = [{"time": k, "type": "A"} for k in range(70)]
    with caplog.at_level(logging.WARNING):
        totals("AGGREGATE count(*) AS n, log2(count(*)) AS bits FROM S WHERE A+ GROUP BY END", events)
    (told,) = caplog.messages
    assert told == "n is NULL in 7 groups: it has more than 64 bits, and Totals.exact gives it"
