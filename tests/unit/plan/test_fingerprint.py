"""The fingerprint of a plan: equal in every process, and another one for all that a saved state depends on."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from fingerprints import fingerprint

import ensue
from ensue.automata.model import Automaton
from ensue.automata.predicates import TypeIs
from ensue.data.schema import Kind, Schema
from ensue.errors import EngineError
from ensue.language import ast
from ensue.language.parser import parse_expression
from ensue.logic.aggregation import Fold, Over, Part
from ensue.logic.check import check
from ensue.logic.window import Window
from ensue.plan import Absence, Plan
from ensue.plan.choice import Choice, choose
from ensue.plan.closing import Closing
from ensue.plan.lanes import FoldedPart, LanePlan
from ensue.plan.spans import Folded, Spans
from ensue.results.running_query import RunningQuery

SCHEMA = Schema.of(pa.schema({"k": pa.int64(), "v": pa.int64(), "s": pa.string()}))
TEXT = "SELECT * FROM S WHERE A AS x ; B AS y FILTER x.v > 1 AND x.v < y.v PARTITION BY k WITHIN 5 s"


@pytest.mark.slow
def test_it_is_equal_in_every_process() -> None:
    support = os.path.dirname(sys.modules[fingerprint.__module__].__file__ or "")
    paths = os.pathsep.join([support, *sys.path])
    printed = []
    for seed in ("1", "2718"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths}
        command = [sys.executable, os.path.join(support, "fingerprints.py")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        printed.append(done.stdout.splitlines())
    assert printed[0] == printed[1]
    assert len(set(printed[0])) > 200


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace(" ", "  ").replace("FILTER", "\n FILTER"),
        TEXT.replace("WHERE A AS x", "where A as x"),
        TEXT.replace("PARTITION BY k WITHIN 5 s", "WITHIN 5 s PARTITION BY k"),
    ],
)
def test_white_space_and_case_make_no_other(text: str) -> None:
    assert text != TEXT
    assert fingerprint(text, SCHEMA) == fingerprint(TEXT, SCHEMA)


DIFFERENT = {
    "the query": TEXT,
    "a constant": TEXT.replace("x.v > 1", "x.v > 2"),
    "a constant's type": TEXT.replace("x.v > 1", "x.v > 1.0"),
    "a comparison": TEXT.replace("x.v > 1", "x.v >= 1"),
    "a comparison of events": TEXT.replace("x.v < y.v", "x.v <= y.v"),
    "what is judged": TEXT.replace("x.v < y.v", "x.v <> y.v"),
    "what is judged, again": TEXT.replace("x.v < y.v", "x.v <> y.k"),
    "an event type": TEXT.replace("; B AS", "; C AS"),
    "an operator": TEXT.replace(" ; ", " : "),
    "a gap": TEXT.replace(" ; ", " ;[<= 2 s] "),
    "the window": TEXT.replace("5 s", "6 s"),
    "a window in events": TEXT.replace("5 s", "5 EVENTS"),
    "no window": TEXT.replace(" WITHIN 5 s", ""),
    "a key": TEXT.replace("BY k", "BY s"),
    "another key": TEXT.replace("BY k", "BY k, s"),
    "no key": TEXT.replace(" PARTITION BY k", ""),
    "NEXT": TEXT.replace("SELECT", "SELECT NEXT"),
    "LAST": TEXT.replace("SELECT", "SELECT LAST"),
    "NEXT of what is judged": TEXT.replace("SELECT", "SELECT NEXT").replace("x.v < y.v", "x.v <> y.v"),
    "LAST of what is judged": TEXT.replace("SELECT", "SELECT LAST").replace("x.v < y.v", "x.v <> y.v"),
    "a limit": TEXT + " LIMIT 2",
    "consumption": TEXT + " CONSUME BY PARTITION",
    "other consumption": TEXT + " CONSUME BY ANY",
    "what is shown": TEXT.replace("*", "x"),
    "a deadline": TEXT.replace("B AS y", "B AS y ; NOT C WITHIN 1 s"),
    "another deadline": TEXT.replace("B AS y", "B AS y ; NOT C WITHIN 2 s"),
    "what must not follow": TEXT.replace("B AS y", "B AS y ; NOT D WITHIN 2 s"),
}


def test_queries_that_differ_have_different_ones() -> None:
    found = {name: fingerprint(text, SCHEMA) for name, text in DIFFERENT.items()}
    assert all(found.values())
    alike = [(a, b) for a in found for b in found if a < b and found[a] == found[b]]
    assert alike == []


def test_queries_of_one_automaton_have_one() -> None:
    strict = TEXT.replace("SELECT", "SELECT STRICT")
    assert fingerprint(strict, SCHEMA) == fingerprint(TEXT.replace(" ; ", " : "), SCHEMA)


def test_the_types_of_what_is_read_belong_to_it() -> None:
    floats = Schema.of(pa.schema({"k": pa.int64(), "v": pa.float64(), "s": pa.string()}))
    unread = Schema.of(pa.schema({"k": pa.int64(), "v": pa.int64(), "s": pa.int8()}))
    assert fingerprint(TEXT, floats) != fingerprint(TEXT, SCHEMA)
    assert fingerprint(TEXT, unread) == fingerprint(TEXT, SCHEMA)


# ---------------------------------------------------------------- what is not in the text of a query


def chosen(text: str, *, tying: bool = True) -> Choice:
    query = ensue.query(text)
    return choose(check(query.ast, text, SCHEMA), "automaton", tying=tying)


def reordered(a: Automaton) -> Automaton:
    return replace(a, transitions=a.transitions[::-1])


def renumbered(a: Automaton) -> Automaton:
    """The same with its last two states exchanged."""
    names = {**{s: s for s in range(a.size)}, a.size - 1: a.size - 2, a.size - 2: a.size - 1}
    steps = tuple(replace(t, source=names[t.source], target=names[t.target]) for t in a.transitions)
    return Automaton(a.size, frozenset(names[s] for s in a.finals), steps)


def test_the_order_and_the_numbers_of_the_automaton_belong_to_it() -> None:
    plan = chosen(TEXT).plan
    assert plan is not None
    (register,) = plan.automaton.registers
    other = [
        reordered(plan.automaton),
        renumbered(plan.automaton),
        replace(plan.automaton, finals=frozenset({1, 2})),
        plan.automaton.renamed({register: "$7"}),
    ]
    found = {replace(plan, automaton=a).fingerprint for a in [plan.automaton, *other]}
    assert len(found) == 1 + len(other)


_HOUR = ast.Interval(None, ast.Bound(ast.Duration(Decimal(1), "h"), inclusive=True))
#: Of each field of a plan, another value.
CHANGES: dict[str, Any] = {
    "automaton": lambda plan: reordered(plan.automaton),
    "schema": Schema.of(pa.schema({"k": pa.int32(), "v": pa.int64(), "s": pa.string()})),
    "window": Window(events=9),
    "keys": ("k", "s"),
    "limit": 7,
    "consume": ast.Consume.ANY,
    "chooses": ast.Selector.MAX,
    "counts_all": True,
    "related": (parse_expression("x.v <> y.v"),),
    "only_judged": frozenset({"x"}),
    "chooses_judged": ast.Selector.MAX,
    "absence": Absence((frozenset({(TypeIs("D"), True)}),), _HOUR),
    "as_built": lambda plan: plan.automaton,
    "compares_all": True,
    "closing": Closing(None, True, True),
    "alternatives": lambda plan: (plan,),
    "lanes": lambda plan: LanePlan((FoldedPart(Part(Fold.COUNT, Over.MATCHES)),)),
    "spans": Spans("x", (Folded("count(x)", "count", None, Kind.INTEGER),)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_field_belongs_to_it(name: str) -> None:
    plan = chosen(TEXT).plan
    assert plan is not None
    change = CHANGES[name]
    other = replace(plan, **{name: change(plan) if callable(change) else change})
    assert other.fingerprint != plan.fingerprint


def test_no_field_is_forgotten() -> None:
    # What is a bound of its own has decided which automaton it is, and decides nothing more; nor does what an automaton
    # was made of.
    assert {f.name for f in fields(Plan)} == {*CHANGES, "own_window", "whole_checks"}


def test_a_state_of_another_automaton_for_the_same_query_is_refused() -> None:
    text = "SELECT * FROM S WHERE A AS x ; B AS y FILTER x.k = y.k WITHIN 5 s"
    state = RunningQuery(chosen(text, tying=False), 10**9).save()
    RunningQuery(chosen(text, tying=False), 10**9).load(state)
    with pytest.raises(EngineError, match=r"what differs: automaton$"):
        RunningQuery(chosen(text), 10**9).load(state)
