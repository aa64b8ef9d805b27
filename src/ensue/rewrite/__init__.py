"""Checked query to checked query: rules that keep the meaning, one file each, composed in one tuple."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ensue.language import ast
from ensue.logic.check import Checked
from ensue.rewrite.drop_dead import drop_dead
from ensue.rewrite.lift_windows import lift_windows
from ensue.rewrite.mark_absent import mark_absent
from ensue.rewrite.merge_prefixes import merge_prefixes
from ensue.rewrite.move_relations import (
    move_all_but_comparisons,
    move_all_rounds,
    move_relations,
    move_rounds_without_instructions,
)
from ensue.rewrite.push_filters import push_filters
from ensue.rewrite.query_parts import QueryParts
from ensue.rewrite.spell_out_next import spell_out_next
from ensue.rewrite.split_cases import split_cases
from ensue.rewrite.split_choices import split_choices
from ensue.rewrite.split_filters import split_filters
from ensue.rewrite.take_out_absence import take_out_absence
from ensue.rewrite.take_out_closing import take_out_closing
from ensue.rewrite.take_out_selector import take_out_selector
from ensue.rewrite.take_out_windows import take_out_windows
from ensue.rewrite.tie_equalities import tie_equalities

__all__ = [
    "NEEDED",
    "PATTERN_RULES",
    "RULES",
    "UNTIED",
    "QueryParts",
    "RewriteStep",
    "Rule",
    "rewrite",
    "rewrite_pattern",
]

PatternRule = Callable[[ast.Pattern], ast.Pattern]


class Rule(NamedTuple):
    """A rule with the name that `explain` prints."""

    name: str
    apply: Callable[[QueryParts], QueryParts]
    needed: bool = False  # it takes out what is decided outside of the automaton; the others shape the pattern


class RewriteStep(NamedTuple):
    """The query after a rule that changed it."""

    rule: str
    parts: QueryParts


def _shaping(*rules: PatternRule) -> tuple[Rule, ...]:
    """Rules that look at nothing but the pattern."""
    return tuple(Rule(rule.__name__.replace("_", " "), _on_query(rule)) for rule in rules)


def _on_query(rule: PatternRule) -> Callable[[QueryParts], QueryParts]:
    return lambda parts: parts.with_pattern(rule(parts.pattern))


#: The rules for a pattern, whether it is that of a query or stands inside one.
PATTERN_RULES: tuple[PatternRule, ...] = (split_filters, drop_dead, push_filters, merge_prefixes, lift_windows)

#: In this order, each once.
RULES: tuple[Rule, ...] = (
    Rule("spell out next", _on_query(spell_out_next), needed=True),
    Rule("tie by equality", tie_equalities),
    Rule("take out the closing", take_out_closing, needed=True),
    Rule("take out the absence", take_out_absence, needed=True),
    *_shaping(split_cases),
    Rule("mark what is absent", mark_absent),
    Rule("move relations", move_relations, needed=True),
    Rule("split choices", split_choices),
    *_shaping(split_filters, drop_dead, push_filters, merge_prefixes),
    Rule("take out the selector", take_out_selector, needed=True),
    *_shaping(lift_windows),
    Rule("take out the windows", take_out_windows, needed=True),
)
#: What takes the place of `move_relations` where the kernels cannot hold, or compute, what it leaves to them.
_INSTEAD = (move_all_but_comparisons, move_rounds_without_instructions, move_all_rounds)
#: Without the one that makes a partition of equalities between events: registers check these then.
UNTIED = tuple(rule for rule in RULES if rule.apply is not tie_equalities)
#: Without what only makes evaluation faster.
NEEDED = tuple(rule for rule in RULES if rule.needed)


def with_less_to_remember(rules: tuple[Rule, ...]) -> Iterator[tuple[Rule, ...]]:
    """The rules that leave less to registers, and judge more on whole matches; those that leave most come first."""
    for other in _INSTEAD:
        yield tuple(rule._replace(apply=other) if rule.apply is move_relations else rule for rule in rules)


def rewrite(checked: Checked, rules: tuple[Rule, ...] = RULES) -> tuple[RewriteStep, ...]:
    """The query as it is written, then after each rule that changed it; the last one is the result."""
    steps = [RewriteStep("as written", QueryParts(checked))]
    for rule in rules:
        after = rule.apply(steps[-1].parts)
        if after != steps[-1].parts:
            steps.append(RewriteStep(rule.name, after))
    return tuple(steps)


def rewrite_pattern(p: ast.Pattern) -> ast.Pattern:
    """The pattern after all rules that look at nothing else."""
    for rule in PATTERN_RULES:
        p = rule(p)
    return p
