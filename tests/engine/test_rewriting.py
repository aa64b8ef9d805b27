"""Every rewriting rule keeps the meaning, by itself and together with the others."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from amounts import most, shares
from engines import found_events
from running import query_of
from strategies import Event, events_table, random_pattern, random_query, random_selecting_query, random_stream

from ensue.data.events import read_events
from ensue.data.partitions import substreams_of
from ensue.engines import reference
from ensue.engines.reference.expressions import Events
from ensue.engines.reference.patterns import Patterns
from ensue.language import ast
from ensue.language.parser import parse_pattern, parse_query
from ensue.language.printer import print_pattern, print_query
from ensue.logic.check import Checked, check
from ensue.logic.scope import always_marked, bindings, captured, free
from ensue.rewrite import PATTERN_RULES, RULES, QueryParts, Rule, rewrite, rewrite_pattern
from ensue.rewrite.bottom_up import bottom_up


def meaning(pattern: ast.Pattern, events: list[Event]) -> frozenset[Any]:
    stream = read_events(events_table(events), query_of(pattern).streams, unit="s")
    substreams = substreams_of(stream, [])
    return Patterns(Events(stream, substreams), substreams[0]).of(pattern) if substreams else frozenset()


def sprinkled(rng: Random, pattern: ast.Pattern) -> ast.Pattern:
    """The pattern with a constant condition on some of its parts, which chance alone does not write."""

    def sprinkle(p: ast.Pattern) -> ast.Pattern:
        if isinstance(p, ast.Optional) or rng.random() > 0.05:
            return p
        return ast.Filter(p, ast.Literal(rng.choice([True, True, False]), ast.LiteralType.BOOLEAN))

    return bottom_up(pattern, sprinkle)


def compare(seed: int) -> str:
    """What a random pattern means before and after all rules, over a random stream."""
    rng = Random(seed)
    pattern, events = sprinkled(rng, random_pattern(rng)), random_stream(rng, 6)
    after = rewrite_pattern(pattern)
    told = f"seed {seed}: {print_pattern(pattern)}\nbecame {print_pattern(after)}\nover {events}"
    assert not meaning(pattern, events) ^ meaning(after, events), told
    return "unchanged" if after == pattern else "compared"


@pytest.mark.parametrize("seeds", shares(1_500, each=1_500))
@pytest.mark.parametrize("rule", PATTERN_RULES, ids=lambda rule: rule.__name__)
def test_a_rule_of_patterns_keeps_the_meaning(rule, seeds):
    changed = 0
    for seed in seeds:
        rng = Random(seed)
        pattern, events = sprinkled(rng, random_pattern(rng)), random_stream(rng, 6)
        after = rule(pattern)
        changed += after != pattern
        told = f"seed {seed}: {print_pattern(pattern)}\nbecame {print_pattern(after)}\nover {events}"
        assert not meaning(pattern, events) ^ meaning(after, events), told
        assert free(after) == free(pattern) == frozenset(), told
    assert changed > (10 if len(seeds) >= 1_000 else -1)


@pytest.mark.parametrize("seeds", shares(1_500, each=1_500, first=5_000))
def test_all_rules_of_patterns_together_keep_the_meaning(seeds):
    assert [compare(seed) for seed in seeds].count("compared") > most(seeds, 0.1)


@pytest.mark.parametrize("seeds", shares(2_000, each=2_000))
def test_what_is_always_marked_is_marked(seeds):
    for seed in seeds:
        rng = Random(seed)
        pattern, events = random_pattern(rng), random_stream(rng, 6)
        for c in meaning(pattern, events):
            assert always_marked(pattern) <= {x for x, _ in c.marks}, f"seed {seed}: {print_pattern(pattern)}"


def test_a_filter_with_an_empty_set_is_split():
    """Section 4: each conjunct is judged by itself, so an empty set makes only those hold that speak of it."""
    pattern = parse_pattern("(A AS x OR B AS y) FILTER x.v > 1 AND y.v > 1")
    assert print_pattern(rewrite_pattern(pattern)) == "(A AS x FILTER x.v > 1) OR (B AS y FILTER y.v > 1)"


def test_filters_reach_the_events_they_concern():
    pattern = parse_pattern("(A AS x ; B AS y ; (C AS z)+) FILTER x.v > 1 AND y.v > 2 AND z.v > 3")
    wanted = "(A AS x FILTER x.v > 1) ; (B AS y FILTER y.v > 2) ; (C AS z FILTER z.v > 3)+"
    assert print_pattern(rewrite_pattern(pattern)) == wanted
    assert not captured(pattern)


# ---------------------------------------------------------------- rules that take parts out of a query


def put_together(parts: QueryParts) -> Checked:
    """The query that the parts mean."""
    if parts.selector is not None and not parts.related:  # it chooses as the query's own does
        query = replace(parts.query, selector=parts.selector)
        parts = replace(parts, checked=replace(parts.checked, query=query), selector=None)
    pattern = parts.formula
    if parts.before is not None:
        pattern = replace(parts.before, body=pattern)
    if parts.absence is not None:
        pattern = replace(parts.absence, body=pattern)
    for condition in parts.related:
        pattern = ast.Filter(pattern, condition)
    if parts.marked:
        pattern = ast.Project(tuple(x for x in bindings(pattern) if x not in parts.marked), pattern)
    return parts.with_pattern(pattern).checked


def lifelike_query(rng: Random) -> str:
    """Any query, and often one that a rule for whole queries has something to do with."""
    clauses = rng.choice(["", " PARTITION BY k", " WITHIN 4 s", " WITHIN 5 s WITHIN 4 EVENTS", " WITHIN 3 EVENTS"])
    shapes = [
        "NEXT(A AS x ; B AS y FILTER x.v < 2 WITHIN 5 s)",
        "MAX(A AS x ; B AS y) FILTER x.v <> y.v",
        "A AS x ; (B AS y)+ FILTER x.v = y.v AND y.k > 0",
        "A AS x ; B AS y ; NOT (C AS z FILTER z.v = x.v) WITHIN 2 s FILTER x.v = y.v",
        "A AS x ; NOT B WITHIN 2 s FILTER x.v > 1",
        "A AS x ; (B AS y FILTER y.k > x.k OR y.v = x.v)+ ; C AS z FILTER z.v = x.v",
    ]
    selector = rng.choice(["", "", "NEXT ", "LAST ", "MAX ", "STRICT "])
    fitting = f"SELECT {selector}* FROM S WHERE {rng.choice(shapes)}{clauses}"
    kinds = [print_query(random_query(rng)), print_query(random_selecting_query(rng)), fitting, fitting]
    return rng.choice(kinds)


#: What closes windows is no part of the query that is left: `test_until.py` compares whole queries.
COMPARED = [r for r in RULES if (r.needed or r.name == "tie by equality") and r.name != "take out the closing"]


@pytest.mark.parametrize("seeds", shares(600, each=600))
@pytest.mark.parametrize("rule", COMPARED, ids=lambda rule: rule.name)
def test_a_rule_of_queries_keeps_the_meaning(rule: Rule, seeds: range) -> None:
    assert changed_by((rule,), seeds) > most(seeds, 0.016)


@pytest.mark.parametrize("seeds", shares(600, each=600, first=600))
def test_all_rules_together_keep_the_meaning(seeds: range) -> None:
    assert changed_by(RULES, seeds) > most(seeds, 0.33)


def changed_by(rules: tuple[Rule, ...], seeds: range) -> int:
    """Compares queries with what the rules make of them, by the reference; says how many were changed."""
    changed = 0
    for seed in seeds:
        rng = Random(seed)
        text, events = lifelike_query(rng), random_stream(rng, 7)
        query = replace(parse_query(text), limit=None)  # with LIMIT it is not laid down which matches are taken
        stream = read_events(events_table(events), query.streams, unit="s")
        checked = check(query, text, stream.schema)
        steps = rewrite(checked, rules)
        after = steps[-1].parts
        if len(steps) == 1 or (after.counts_all and after.window.events is not None):
            continue  # no query says that a window counts the events of all keys
        changed += 1
        wanted, found = (found_events(reference.evaluate(c, stream)) for c in (checked, put_together(after)))
        told = f"seed {seed}: {text}\nbecame {print_query(put_together(after).query)}\nover {events}"
        assert not set(wanted) ^ set(found), told
    return changed
