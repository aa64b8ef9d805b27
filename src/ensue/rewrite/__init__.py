"""Formula to formula: rules that keep the meaning, composed in one tuple."""

from __future__ import annotations

from collections.abc import Callable

from ensue.language import ast
from ensue.rewrite.drop_dead import drop_dead
from ensue.rewrite.lift_windows import lift_windows
from ensue.rewrite.merge_prefixes import merge_prefixes
from ensue.rewrite.push_filters import push_filters
from ensue.rewrite.split_filters import split_filters

Rule = Callable[[ast.Pattern], ast.Pattern]

#: In this order, each once.
RULES: tuple[Rule, ...] = (split_filters, drop_dead, push_filters, lift_windows, merge_prefixes)


def rewrite(p: ast.Pattern, rules: tuple[Rule, ...] = RULES) -> list[tuple[str, ast.Pattern]]:
    """The pattern after each rule that changed it, with the rule's name; the last one is the result."""
    steps = [("as written", p)]
    for rule in rules:
        after = rule(steps[-1][1])
        if after != steps[-1][1]:
            steps.append((rule.__name__.replace("_", " "), after))
    return steps
