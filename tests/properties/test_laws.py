"""The laws of the algebra, which hold whatever the patterns are; every engine must keep them.

Sets are compared by what they do not share: pytest's own account of two large unequal sets takes minutes.
"""

import dataclasses
from random import Random

import pytest
import strategies
from hypothesis import assume, given
from hypothesis import strategies as st
from membership import skippable
from running import meaning, query_of, results, same_meaning

from ensue.language import ast
from ensue.language.parser import parse_interval
from ensue.logic.classify import deadline_of
from ensue.logic.first import NoFirst, first
from ensue.logic.scope import bindings, is_atom, singles

small = strategies.patterns(2)
tiny = strategies.patterns(1)
atoms = strategies.patterns(1).filter(is_atom)
# A sequence of nothing but optional steps can be skipped by a sequence around it, though not by an iteration or by ALL.
# So where a law writes a pattern into a sequence that was not in one, or regroups, it is for steps that must happen.
steps = tiny.filter(lambda p: not skippable(p))
streams = strategies.streams(5)
short_streams = strategies.streams(4)
gaps = st.none() | st.sampled_from(strategies.INTERVALS)
windows = st.sampled_from(strategies.INTERVALS) | st.builds(ast.EventCount, st.integers(1, 4))
selectors = st.sampled_from(list(ast.Selector)[1:])


links = st.sampled_from(ast.Link)


def assume_first_events(*linked):
    """What stands behind `->` must have events that it can start with."""
    for link, after in linked:
        if link is ast.Link.NEXT:
            try:
                first(after)
            except NoFirst:
                assume(False)


def any_of(first, *others):
    for other in others:
        first = ast.Or(first, other)
    return first


# ---------------------------------------------------------------- sequences


@given(steps, steps, steps, streams, links, links, gaps, gaps)
def test_sequences_are_associative(engine, p, q, r, events, link1, link2, gap1, gap2):
    assume_first_events((link1, q), (link2, r), (link1, ast.Sequence(q, r, link2, gap2)))
    left = ast.Sequence(ast.Sequence(p, q, link1, gap1), r, link2, gap2)
    right = ast.Sequence(p, ast.Sequence(q, r, link2, gap2), link1, gap1)
    assert same_meaning(left, right, events, engine)


@given(small, tiny, streams, gaps)
def test_directly_after_is_after(engine, p, q, events, gap):
    directly, after = ast.Sequence(p, q, ast.Link.DIRECTLY, gap), ast.Sequence(p, q, ast.Link.THEN, gap)
    assert meaning(directly, events, engine) <= meaning(after, events, engine)


@given(small, tiny, streams, links, gaps)
def test_a_gap_only_takes_away(engine, p, q, events, link, gap):
    assume_first_events((link, q))
    timed, plain = ast.Sequence(p, q, link, gap), ast.Sequence(p, q, link)
    assert meaning(timed, events, engine) <= meaning(plain, events, engine)


@given(small, small, streams, links, gaps)
def test_an_optional_step_is_with_or_without(engine, p, q, events, link, gap):
    assume_first_events((link, q))
    both = ast.Sequence(p, q, link, gap)
    first, second = ast.Sequence(ast.Optional(p), q, link, gap), ast.Sequence(p, ast.Optional(q), link, gap)
    assert same_meaning(first, any_of(q, both), events, engine)
    assert same_meaning(second, any_of(p, both), events, engine)


@given(tiny, tiny, tiny, short_streams, links, links, gaps, gaps)
def test_operators_belong_to_the_step_at_their_right(engine, p, q, r, events, link1, link2, gap1, gap2):
    assume_first_events((link1, q), (link2, r))

    def sequence(first, second, third):
        return ast.Sequence(ast.Sequence(first, second, link1, gap1), third, link2, gap2)

    without_q = ast.Sequence(p, r, link2, gap2)
    after_q = ast.Sequence(q, r, link2, gap2)
    middle = sequence(p, ast.Optional(q), r)
    assert same_meaning(middle, any_of(without_q, sequence(p, q, r)), events, engine)
    both = sequence(ast.Optional(p), ast.Optional(q), r)
    spelled_out = any_of(r, without_q, after_q, sequence(p, q, r))
    assert same_meaning(both, spelled_out, events, engine)


@given(tiny, tiny, tiny, streams)
def test_not_between_is_a_sequence_without_some(engine, p, q, r, events):
    between = meaning(ast.NotBetween(p, q, r), events, engine)
    assert between <= meaning(ast.Sequence(p, r), events, engine)
    assert between >= meaning(ast.Sequence(p, r, ast.Link.DIRECTLY), events, engine)


@given(atoms, atoms, streams, gaps)
def test_the_next_one_is_a_sequence_without_one_between(engine, p, q, events, gap):
    """`p -> q` for one event `q` is `p ; NOT q ; q`, in its timed form too."""
    assume_first_events((ast.Link.NEXT, q))
    following = ast.Sequence(p, q, ast.Link.NEXT, gap)
    assert same_meaning(following, ast.NotBetween(p, first(q), q, gap), events, engine)


@given(small, tiny, streams, gaps)
def test_the_next_one_comes_after(engine, p, q, events, gap):
    assume_first_events((ast.Link.NEXT, q))
    after = meaning(ast.Sequence(p, q, ast.Link.THEN, gap), events, engine)
    assert meaning(ast.Sequence(p, q, ast.Link.NEXT, gap), events, engine) <= after


@given(small, streams, gaps)
def test_an_iteration_of_next_ones_is_an_iteration(engine, p, events, gap):
    assume_first_events((ast.Link.NEXT, p))
    every = meaning(ast.Iteration(p, link=ast.Link.THEN, gap=gap), events, engine)
    assert meaning(ast.Iteration(p, link=ast.Link.NEXT, gap=gap), events, engine) <= every


@given(small, st.data(), streams)
def test_conjuncts_are_filters_of_their_own(engine, p, data, events):
    """`FILTER f AND g` is `FILTER f FILTER g`, whatever marks nothing."""
    names = sorted(bindings(p))
    assume(names)
    seed = data.draw(st.integers(0, 10**6))
    f, g = (strategies.random_condition(Random(seed + n), names) for n in (0, 1))
    together = ast.Filter(p, ast.Binary("AND", f, g))
    assert same_meaning(together, ast.Filter(ast.Filter(p, f), g), events, engine)


# ---------------------------------------------------------------- iterations


@given(small, streams, links, gaps)
def test_an_iteration_is_one_round_or_one_and_an_iteration(engine, p, events, link, gap):
    assume_first_events((link, p))
    iteration = ast.Iteration(p, link=link, gap=gap)
    assume_first_events((link, iteration))
    unfolded = any_of(p, ast.Sequence(p, iteration, link, gap))
    assert same_meaning(iteration, unfolded, events, engine)


@given(steps, streams, links, gaps, st.integers(1, 3), st.integers(0, 2))
def test_a_counted_iteration_is_so_many_copies(engine, p, events, link, gap, low, more):
    assume_first_events((link, p))

    def copies(n):
        return p if n == 1 else ast.Sequence(copies(n - 1), p, link, gap)

    counted = ast.Iteration(p, low, low + more, link, gap)
    written_out = any_of(*map(copies, range(low, low + more + 1)))
    assert same_meaning(counted, written_out, events, engine)


@given(tiny, streams, links, gaps, st.integers(2, 3))
def test_at_least_is_exactly_so_many_and_more(engine, p, events, link, gap, low):
    assume_first_events((link, p))
    at_least = ast.Iteration(p, low, None, link, gap)
    exactly = ast.Iteration(p, low, low, link, gap)
    rest = ast.Iteration(p, 1, None, link, gap)
    assume_first_events((link, rest))
    more = ast.Sequence(exactly, rest, link, gap)
    assert same_meaning(at_least, any_of(exactly, more), events, engine)


# ---------------------------------------------------------------- OR, AND, ALL, UNLESS


@given(small, small, small, streams)
def test_or_is_union(engine, p, q, r, events):
    union = meaning(p, events, engine) | meaning(q, events, engine)
    assert not meaning(ast.Or(p, q), events, engine) ^ union
    assert not meaning(ast.Or(q, p), events, engine) ^ union
    assert same_meaning(ast.Or(p, p), p, events, engine)
    left, right = ast.Or(ast.Or(p, q), r), ast.Or(p, ast.Or(q, r))
    assert same_meaning(left, right, events, engine)


@given(small, tiny, streams)
def test_and_is_intersection(engine, p, q, events):
    either = ast.Or(p, q)
    common = meaning(p, events, engine) & meaning(q, events, engine)
    assert same_meaning(ast.And(p, q), ast.And(q, p), events, engine)
    assert not meaning(ast.And(p, q), events, engine) ^ common
    assert same_meaning(ast.And(p, either), p, events, engine)


@given(tiny, tiny, streams)
def test_all_is_commutative(engine, p, q, events):
    assert same_meaning(ast.All(p, q), ast.All(q, p), events, engine)


@given(steps, steps, streams)
def test_all_has_what_the_sequences_have(engine, p, q, events):
    assume(not singles(p) & singles(q))  # those must be one event, which no sequence allows
    both_ways = any_of(ast.Sequence(p, q), ast.Sequence(q, p))
    assert meaning(both_ways, events, engine) <= meaning(ast.All(p, q), events, engine)


@given(small, tiny, tiny, streams)
def test_unless_only_takes_away(engine, p, q, r, events):
    without_q = meaning(ast.Unless(p, q), events, engine)
    assert without_q <= meaning(p, events, engine)
    assert meaning(ast.Unless(p, any_of(q, r)), events, engine) == without_q & meaning(ast.Unless(p, r), events, engine)


# ---------------------------------------------------------------- FILTER, WITHIN, PROJECT


@given(small, streams, st.data())
def test_filtering_by_two_conditions_is_filtering_twice(engine, p, events, data):
    """For single variables, or one set. With two sets, one of them empty, it is not so: an empty set makes the
    whole conjunction hold."""
    names = data.draw(st.sampled_from([sorted(singles(p)), *([x] for x in bindings(p))]))
    assume(names)
    f, g = data.draw(strategies.conditions(names)), data.draw(strategies.conditions(names))
    together = ast.Filter(p, ast.Binary("AND", f, g))
    assert same_meaning(together, ast.Filter(ast.Filter(p, f), g), events, engine)


@given(small, streams, st.data())
def test_filters_only_take_away_and_exclude_their_opposites(engine, p, events, data):
    names = sorted(singles(p))
    assume(names)
    f = data.draw(strategies.conditions(names))
    holds = meaning(ast.Filter(p, f), events, engine)
    fails = meaning(ast.Filter(p, ast.Unary("NOT", f)), events, engine)
    assert holds | fails <= meaning(p, events, engine)
    assert not holds & fails


@given(small, streams, st.integers(1, 5), st.integers(1, 5))
def test_a_wider_window_holds_more(engine, p, events, narrow, wide):
    narrow, wide = sorted((narrow, wide))
    in_narrow = meaning(ast.Within(p, ast.EventCount(narrow)), events, engine)
    assert in_narrow <= meaning(ast.Within(p, ast.EventCount(wide)), events, engine)
    in_narrow = meaning(ast.Within(p, parse_interval(f"[<= {narrow} s]")), events, engine)
    assert in_narrow <= meaning(ast.Within(p, parse_interval(f"[<= {wide} s]")), events, engine)


@given(small, streams, windows, windows)
def test_two_windows_are_their_intersection(engine, p, events, window1, window2):
    inside = [meaning(ast.Within(p, window), events, engine) for window in (window1, window2)]
    assert meaning(ast.Within(ast.Within(p, window1), window2), events, engine) == (inside[0] & inside[1])


@given(small, streams, st.data())
def test_projecting_twice_is_projecting_once(engine, p, events, data):
    names = sorted(bindings(p))
    wide = data.draw(st.sets(st.sampled_from(names))) if names else set()
    narrow = data.draw(st.sets(st.sampled_from(sorted(wide)))) if wide else set()
    once = ast.Project(tuple(sorted(narrow)), p)
    twice = ast.Project(tuple(sorted(narrow)), ast.Project(tuple(sorted(wide)), p))
    assert same_meaning(once, twice, events, engine)
    assert same_meaning(ast.Project(tuple(names), p), p, events, engine)


@given(small, streams)
def test_a_single_variable_stands_for_exactly_one_event(engine, p, events):
    for _, _, mu in meaning(p, events, engine):
        assert all(sum(x == y for y, _ in mu) == 1 for x in singles(p))


@given(small, streams)
def test_marks_lie_between_start_and_end(engine, p, events):
    for start, end, mu in meaning(p, events, engine):
        assert 0 <= start <= end < len(events)
        assert all(start <= k <= end for _, k in mu)


# ---------------------------------------------------------------- selection


@given(small, streams, selectors)
def test_selecting_twice_is_selecting_once(engine, p, events, selector):
    once = ast.Select(selector, p)
    selected = meaning(once, events, engine)
    assert selected <= meaning(p, events, engine)
    assert meaning(ast.Select(selector, once), events, engine) == selected


@given(small, streams, st.sampled_from([ast.Selector.NEXT, ast.Selector.LAST]))
def test_the_best_support_is_in_no_other(engine, p, events, selector):
    """What NEXT and LAST keep, MAX keeps: a support inside another is worse in both orders."""
    selected = meaning(ast.Select(selector, p), events, engine)
    assert selected <= meaning(ast.Select(ast.Selector.MAX, p), events, engine)
    assert {end for _, end, _ in selected} == {end for _, end, _ in meaning(p, events, engine)}


@given(tiny, tiny, streams)
def test_strict_takes_away_gaps(engine, p, q, events):
    sequence = ast.Sequence(p, q)
    kept = meaning(ast.Select(ast.Selector.STRICT, sequence), events, engine)
    whole = {c for c in meaning(sequence, events, engine) if _without_gaps({k for _, k in c[2]})}
    assert not kept ^ whole


def _without_gaps(support):
    return not support or len(support) == max(support) - min(support) + 1


@given(small, streams, selectors)
def test_select_next_is_next_around_the_pattern(engine, p, events, selector):
    query = dataclasses.replace(query_of(p), selector=selector)
    assert not results(query, events, engine) ^ meaning(ast.Select(selector, p), events, engine)


# ---------------------------------------------------------------- queries

consumptions = st.sampled_from(list(ast.Consume))
all_selectors = st.sampled_from(list(ast.Selector))


@given(small, streams, all_selectors, st.sampled_from([ast.Consume.NONE, ast.Consume.PARTITION]), st.booleans())
def test_partitioning_is_running_each_substream_alone(engine, p, events, selector, consume, by_two):
    keys = ("k", "v") if by_two else ("k",)
    query = dataclasses.replace(query_of(p), selector=selector, consume=consume)
    alone = set()
    for values in {tuple(e[a] for a in keys) for e in events}:
        where = [k for k, e in enumerate(events) if tuple(e[a] for a in keys) == values]
        for start, end, mu in results(query, [events[k] for k in where], engine):
            alone.add((where[start], where[end], frozenset((x, where[k]) for x, k in mu)))
    partitioned = dataclasses.replace(query, partition=tuple(map(ast.PartitionKey, keys)))
    assert not results(partitioned, events, engine) ^ alone


@given(strategies.queries(2), streams, st.integers(1, 3))
def test_a_limit_is_so_many_for_each_end(engine, query, events, limit):
    everything = results(dataclasses.replace(query, limit=None), events, engine)
    limited = dataclasses.replace(query, limit=limit, per=ast.Per.END)
    some = results(limited, events, engine)
    assert some <= everything
    for end in range(len(events)):
        there = sum(c[1] == end for c in everything)
        assert sum(c[1] == end for c in some) == min(limit, there)
    assert results(limited, events, engine) == some


@given(strategies.queries(2), streams)
def test_nothing_looks_past_the_end(engine, query, events):
    """Grez, Theorem 5.1: what ends at or before `j` is the same over the stream up to `j`; with a deadline, what had
    its deadline pass by then."""
    query = dataclasses.replace(query, limit=None)
    deadline = deadline_of(query.pattern)

    def due(end, now):
        return deadline is None or not deadline.contains((events[now]["time"] - events[end]["time"]) * 10**9)

    everything = results(query, events, engine)
    for length in range(len(events)):
        known = {c for c in everything if c[1] < length and due(c[1], length - 1)}
        assert not results(query, events[:length], engine) ^ known


@given(small, streams, consumptions)
def test_consumed_events_are_not_matched_again(engine, p, events, consume):
    query = dataclasses.replace(query_of(p), consume=consume)
    found = results(query, events, engine)
    assert found <= meaning(p, events, engine)
    if consume is not ast.Consume.NONE:
        ends = {end for _, end, _ in found}
        assert not any(start <= end < other for start, other, _ in found for end in ends)


@pytest.mark.parametrize("consume", [ast.Consume.NONE, ast.Consume.ANY])
@given(query=strategies.queries(2), events=streams)
def test_items_project_and_nothing_else(engine, consume, query, events):
    query = dataclasses.replace(query, limit=None, consume=consume)
    used = bindings(query.pattern) if query.items is None else _names(query.items)
    whole = results(dataclasses.replace(query, items=None), events, engine)
    projected = {(start, end, frozenset(m for m in mu if m[0] in used)) for start, end, mu in whole}
    assert not results(query, events, engine) ^ projected


def _names(items):
    nodes = [n for item in items for n in ast.walk(item.expression)]
    variables = {n.variable for n in nodes if isinstance(n, ast.Attribute)}
    return variables | {n.name for n in nodes if isinstance(n, ast.Name)}
