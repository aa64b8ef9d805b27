"""The search for a match: every choice in the order of preference, and back to the last one if it leads nowhere.

What is still to be matched is a chain of parts. An alternation prefers its earlier options, a greedy quantifier one
more round, a reluctant one none, and a permutation the orders that begin with its earlier parts. The first way that
works is the match. An empty round past the minimum ends its loop, as in Perl.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

from ensue.row_patterns.clause_ast import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Quantified,
    RowPattern,
    Variable,
)

#: The rows of a match so far: the variable of each, and whether it stands in an exclusion.
Mapped = tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class _Rounds:
    """The rounds of a quantifier, of which some are done."""

    of: Quantified
    done: int


@dataclass(frozen=True)
class _RoundEnd:
    """The end of a round that began at a row."""

    of: Quantified
    done: int
    began: int


@dataclass(frozen=True)
class _ExclusionEnd:
    pass


_Part = RowPattern | _Rounds | _RoundEnd | _ExclusionEnd


@dataclass(frozen=True)
class _ToDo:
    """A part that is to be matched, and what comes behind it."""

    part: _Part
    rest: _ToDo | None


def find_match(pattern: RowPattern, start: int, size: int, holds: Callable[[Sequence[str]], bool]) -> Mapped | None:
    """The preferred match that begins at row `start` of a partition of `size` rows; None if there is none.

    `holds` is asked with the variables of all rows so far: whether the last of them may have its variable.
    """
    # What is open, the most preferred at the end: what to match, from which row, how deep in exclusions, after what.
    choices: list[tuple[_ToDo | None, int, int, Mapped]] = [(_ToDo(pattern, None), start, 0, ())]
    while choices:
        to_do, row, excluded, mapped = choices.pop()
        if to_do is None:
            return mapped
        part, rest = to_do.part, to_do.rest
        if isinstance(part, Variable):
            longer = (*mapped, (part.name, excluded > 0))
            if row < size and holds([name for name, _ in longer]):
                choices.append((rest, row + 1, excluded, longer))
        elif isinstance(part, Exclusion):
            choices.append((_ToDo(part.body, _ToDo(_ExclusionEnd(), rest)), row, excluded + 1, mapped))
        elif isinstance(part, _ExclusionEnd):
            choices.append((rest, row, excluded - 1, mapped))
        else:
            options = _options(part, rest, row, size)
            choices.extend((option, row, excluded, mapped) for option in reversed(options))
    return None


def _options(part: _Part, rest: _ToDo | None, row: int, size: int) -> list[_ToDo | None]:
    """What may be matched for this part, the most preferred first, before any row is taken."""
    match part:
        case Empty():
            return [rest]
        case PartitionStart():
            return [rest] if row == 0 else []
        case PartitionEnd():
            return [rest] if row == size else []
        case Concatenation():
            return [_in_order(part.parts, rest)]
        case Alternation():
            return [_ToDo(option, rest) for option in part.options]
        case Permutation():
            return [_in_order(order, rest) for order in permutations(part.parts)]
        case Quantified():
            return [_ToDo(_Rounds(part, 0), rest)]
        case _Rounds():
            return _rounds(part, rest, row)
        case _RoundEnd():
            if row == part.began and part.done > part.of.low:
                return [rest]
            return [_ToDo(_Rounds(part.of, part.done), rest)]
    raise AssertionError(part)


def _in_order(parts: Sequence[RowPattern], rest: _ToDo | None) -> _ToDo | None:
    for part in reversed(parts):
        rest = _ToDo(part, rest)
    return rest


def _rounds(rounds: _Rounds, rest: _ToDo | None, row: int) -> list[_ToDo | None]:
    of, done = rounds.of, rounds.done
    one_more = _ToDo(of.body, _ToDo(_RoundEnd(of, done + 1, row), rest))
    if done < of.low:
        return [one_more]
    if done == of.high:
        return [rest]
    return [one_more, rest] if of.greedy else [rest, one_more]
