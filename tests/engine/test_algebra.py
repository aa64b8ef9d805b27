"""The algebra of automata: what it makes accepts what the theorems say, over every short stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from ensue.algebra import Recogniser
from ensue.automata.ambiguity import exclude
from ensue.automata.predicates import conjunction
from ensue.errors import EngineError

Stream = list[dict[str, object]]
UNARY = [
    "A",
    "A ; B",
    "A+",
    "(A AS x FILTER x.v > 0) : B",
    "(A OR B){2}",
    "A ; (ANY AS x FILTER x.v = 0)",
    "A UNLESS B",
]
WITH_MEMORY = [
    "A AS x ; ANY AS y FILTER x.v = y.v",
    "(A AS x)+ ; B AS y FILTER y.v >= x.v",
    "(ANY AS y FILTER y.v > LASTOF(y).v)+",
    "A ;[<= 1 s] B",
]


#: Clocks that are reset and checked so that runs with the same events agree on them.
SYNCHRONOUS = [
    "A ;[<= 1 s] B",
    "A ;[<= 1 s] A",
    "A ;[> 1 s] ANY",
    "(A ;[< 2 s] B) OR (A ;[> 1 s] A)",
    "A : A :[<= 1 s] B",
    "A ; B WITHIN 1 s",
]


def streams(longest: int) -> Iterator[Stream]:
    """Every stream of up to so many events of two types with two values."""
    letters = list(itertools.product("AB", (0, 1)))
    for n in range(1, longest + 1):
        for word in itertools.product(letters, repeat=n):
            yield [{"time": k, "type": t, "v": v} for k, (t, v) in enumerate(word)]


SHORT = list(streams(3))
accepted: dict[tuple[str, str], bool] = {}


def accepts(pattern: str, events: Stream) -> bool:
    """Remembered: every pattern is asked about every stream many times."""
    key = (pattern, repr([(e["type"], e["v"], e["time"]) for e in events]))
    if key not in accepted:
        accepted[key] = bool(events) and Recogniser.of(pattern).accepts(events, unit="s")
    return accepted[key]


@pytest.mark.parametrize("p", UNARY + WITH_MEMORY)
@pytest.mark.parametrize("q", ["A ; B", "A AS x ; ANY AS y FILTER x.v = y.v"])
def test_union_intersection_and_concatenation(p: str, q: str) -> None:
    left, right = Recogniser.of(p), Recogniser.of(q)
    union, both, chain = left | right, left & right, left.then(right)
    for events in SHORT:
        in_p, in_q = accepts(p, events), accepts(q, events)
        assert union.accepts(events, unit="s") == (in_p or in_q), events
        assert both.accepts(events, unit="s") == (in_p and in_q), events
        parts = any(accepts(p, events[:k]) and accepts(q, events[k:]) for k in range(1, len(events)))
        assert chain.accepts(events, unit="s") == parts, events


@pytest.mark.parametrize("p", UNARY + WITH_MEMORY)
def test_iteration(p: str) -> None:
    repeated = Recogniser.of(p).repeated()

    def splits(events: Stream) -> bool:
        if accepts(p, events):
            return True
        return any(accepts(p, events[:k]) and splits(events[k:]) for k in range(1, len(events)))

    for events in SHORT:
        assert repeated.accepts(events, unit="s") == splits(events), events


@pytest.mark.parametrize("p", UNARY + SYNCHRONOUS)
def test_there_is_a_complement(p: str) -> None:
    complement, same = ~Recogniser.of(p), Recogniser.of(p).determinised()
    for events in SHORT:
        assert complement.accepts(events, unit="s") != accepts(p, events), events
        assert same.accepts(events, unit="s") == accepts(p, events), events


@pytest.mark.parametrize("p", UNARY + SYNCHRONOUS)
def test_determinised_has_one_run(p: str) -> None:
    automaton = Recogniser.of(p).determinised().automaton
    assert bool(automaton.registers) == (p in SYNCHRONOUS)
    for transitions in automaton.outgoing.values():
        for t, u in itertools.combinations(transitions, 2):
            assert conjunction(t.guard, u.guard) is None or exclude(t, u, automaton.registers), (t, u)


@pytest.mark.parametrize("p", ["A ; B ;[<= 1 s] A", "(A ;[<= 1 s] B)+"])
def test_resets_that_are_not_synchronous_are_refused(p: str) -> None:
    with pytest.raises(EngineError, match="the resets are not synchronous"):
        Recogniser.of(p).determinised()


@pytest.mark.parametrize("p", WITH_MEMORY[:-1])
def test_with_registers_there_is_none(p: str) -> None:
    """Theorem 12 of Alevizos et al."""
    for refused in (Recogniser.of(p).determinised, Recogniser.of(p).__invert__):
        with pytest.raises(EngineError, match="not closed under complement"):
            refused()


@pytest.mark.parametrize("m", [1, 3, 8])
def test_why_there_is_none(m: int) -> None:
    """The proof's stream: m events of T, then an H with the value of one of them, or of none.

    Whichever it is, one run has it stored; an automaton with one run would need a register for each.
    """
    some = Recogniser.of("T AS x ; H AS y FILTER x.v = y.v") | Recogniser.of("T+ : T AS x : H AS y FILTER x.v = y.v")
    some |= Recogniser.of("T+ : T AS x ; H AS y FILTER x.v = y.v")
    assert len(some.automaton.registers) == 1
    ts: Stream = [{"time": k, "type": "T", "v": k} for k in range(m)]
    for wanted in [*range(m), m]:
        events = [*ts, {"time": m, "type": "H", "v": wanted}]
        assert some.accepts(events) == (wanted < m)


def test_a_selector_inside_has_none() -> None:
    with pytest.raises(EngineError, match="depends on earlier events"):
        Recogniser.of("NEXT(A ; B ; A) : A")
