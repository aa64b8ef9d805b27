"""Every rewriting rule keeps the meaning, by itself and after those before it."""

from random import Random

import pytest
from running import query_of
from strategies import events_table, random_pattern, random_stream

from ensue.data.events import read_events
from ensue.data.partitions import substreams_of
from ensue.engines.reference.expressions import Events
from ensue.engines.reference.patterns import Patterns
from ensue.language import ast
from ensue.language.parser import parse_pattern
from ensue.language.printer import print_pattern
from ensue.logic.scope import always_marked, captured, free
from ensue.rewrite import RULES, rewrite
from ensue.rewrite.bottom_up import bottom_up


def meaning(pattern: ast.Pattern, events: list) -> frozenset:
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


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_keeps_the_meaning(rule):
    changed = 0
    for seed in range(1500):
        rng = Random(seed)
        pattern, events = sprinkled(rng, random_pattern(rng)), random_stream(rng, 6)
        after = rule(pattern)
        changed += after != pattern
        told = f"seed {seed}: {print_pattern(pattern)}\nbecame {print_pattern(after)}\nover {events}"
        assert not meaning(pattern, events) ^ meaning(after, events), told
        assert free(after) == free(pattern) == frozenset(), told
    assert changed > 10


def test_all_rules_together_keep_the_meaning():
    for seed in range(5000, 6500):
        rng = Random(seed)
        pattern, events = sprinkled(rng, random_pattern(rng)), random_stream(rng, 6)
        after = rewrite(pattern)[-1][1]
        told = f"seed {seed}: {print_pattern(pattern)}\nbecame {print_pattern(after)}\nover {events}"
        assert not meaning(pattern, events) ^ meaning(after, events), told


def test_what_is_always_marked_is_marked():
    for seed in range(2000):
        rng = Random(seed)
        pattern, events = random_pattern(rng), random_stream(rng, 6)
        for c in meaning(pattern, events):
            assert always_marked(pattern) <= {x for x, _ in c.marks}, f"seed {seed}: {print_pattern(pattern)}"


def test_a_filter_with_an_empty_set_is_split():
    """Section 4: each conjunct is judged by itself, so an empty set makes only those hold that speak of it."""
    pattern = parse_pattern("(A AS x OR B AS y) FILTER x.v > 1 AND y.v > 1")
    assert print_pattern(rewrite(pattern)[-1][1]) == "(A AS x FILTER x.v > 1) OR (B AS y FILTER y.v > 1)"


def test_filters_reach_the_events_they_concern():
    pattern = parse_pattern("(A AS x ; B AS y ; (C AS z)+) FILTER x.v > 1 AND y.v > 2 AND z.v > 3")
    wanted = "(A AS x FILTER x.v > 1) ; (B AS y FILTER y.v > 2) ; (C AS z FILTER z.v > 3)+"
    assert print_pattern(rewrite(pattern)[-1][1]) == wanted
    assert not captured(pattern)
