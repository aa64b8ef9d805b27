"""Fuses tests that always occur together into one test: fewer predicates give fewer classes of events."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import reduce

from ensue.automata.model import Automaton
from ensue.automata.predicates import Guard, Predicate, Test, rankings_of
from ensue.language import ast


def fuse_tests(automaton: Automaton) -> Automaton:
    """The automaton with one test in place of all tests that occur in the same guards and are never negated.

    >>> from ensue.automata.build import build
    >>> from ensue.automata.automaton_printer import print_automaton
    >>> from ensue.language.parser import parse_pattern
    >>> print_automaton(fuse_tests(build(parse_pattern("A AS x FILTER x.v > 1 FILTER x.w > 2"))))
    ['0 -> 1* A & v > 1 AND w > 2 / A, x']
    """
    guards = {t.guard for t in automaton.transitions}
    if rankings_of(guards):
        return automaton  # they have guards of their own
    occurs: dict[Predicate, set[Guard]] = defaultdict(set)
    negated = set()
    for guard in guards:
        for predicate, positive in guard:
            occurs[predicate].add(guard)
            if not positive:
                negated.add(predicate)
    together: dict[frozenset[Guard], list[Test]] = defaultdict(list)
    for predicate in sorted(occurs.keys() - negated, key=str):
        if isinstance(predicate, Test):
            together[frozenset(occurs[predicate])].append(predicate)
    fused: dict[Predicate, Test] = {}
    for tests in together.values():
        conjunction = reduce(lambda a, b: ast.Binary("AND", a, b), (t.expression for t in tests))
        fused |= dict.fromkeys(tests, Test(conjunction))
    changed = {g: frozenset((fused.get(p, p), positive) for p, positive in g) for g in guards}
    transitions = tuple(replace(t, guard=changed[t.guard]) for t in automaton.transitions)
    return Automaton(automaton.size, automaton.finals, transitions)
