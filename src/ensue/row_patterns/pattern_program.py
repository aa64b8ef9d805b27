"""Compiles a row pattern into points and, for each point, the ordered list of what may come next.

A *point* is a place in the pattern behind a row that was taken, or its beginning. What may come next is a variable that
takes a row, called a *step*, or the end of the match. The lists are in the order of preference, so that the first way
through them that works is the match. A step that stands in a list twice has the same future both times, so the second
is dropped, and so is all that is less preferred than the end of the match.

A quantifier with bounds is written out. So are the orders of PERMUTE: an order is preferred to another whatever its
parts choose. Where no part has a choice, orders with the same parts left to come share what follows, so that there are
2^n of them and not n!. An empty round past the minimum ends its loop, as in Perl: whether a round has taken a row is
known when the lists are made, as they begin anew behind each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, permutations
from math import factorial

import numpy as np
import numpy.typing as npt

from ensue.errors import Problem, ProblemKind, QueryError
from ensue.language import ast
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

#: The most steps that a pattern may have once it is written out, and the most places in all lists.
MOST_STEPS, MOST_PLACES = 50_000, 4_000_000
#: What stands in a list for the end of the match, and in an empty list.
ACCEPT, DEAD = -1, -2
#: The points where a match begins: at the first row of a partition, and elsewhere. Step `s` leads to point `s + 2`.
ELSEWHERE, AT_START, BEHIND_STEP = 0, 1, 2


@dataclass(frozen=True)
class Program:
    """The list of point `p` is `places[first[p]:first[p + 1]]`; no list is empty."""

    first: npt.NDArray[np.int64]
    places: npt.NDArray[np.int32]
    variable: npt.NDArray[np.int32]  # of each step: its number in `variables`
    excluded: npt.NDArray[np.bool_]  # of each step
    ends_at_end: npt.NDArray[np.bool_]  # of each point: whether the match may end there behind the last row
    variables: tuple[str, ...]

    @property
    def points(self) -> int:
        return len(self.first) - 1

    @cached_property
    def may_end(self) -> npt.NDArray[np.bool_]:
        """The points from which a match may end if all kinds of rows may follow."""
        steps = self.places >= 0
        found: npt.NDArray[np.bool_] = np.zeros(self.points, dtype=np.bool_)
        while True:
            ways = self.places == ACCEPT
            ways[steps] = found[self.places[steps] + BEHIND_STEP]
            more = np.logical_or.reduceat(ways, self.first[:-1])
            if (more == found).all():
                return found
            found = more

    def next_of(self, point: int) -> npt.NDArray[np.int32]:
        return self.places[self.first[point] : self.first[point + 1]]


def compile_pattern(pattern: RowPattern, variables: Sequence[str], text: str) -> Program:
    """The program of a pattern; one that is too large once it is written out is refused."""
    writing = _Writing({v: i for i, v in enumerate(variables)}, pattern, text)
    begin = writing.before(pattern, writing.add(_Accept()), excluded=False)
    lists = [writing.list_from(begin, at_start=False), writing.list_from(begin, at_start=True)]
    ends = [False, False]
    for behind in writing.behind_step:
        lists.append(writing.list_from(behind, at_start=False))
        ends.append(ACCEPT in writing.list_from(behind, at_start=False, at_end=True))
    return Program(
        np.cumsum([0, *map(len, lists)], dtype=np.int64),
        np.array([place for one in lists for place in one], dtype=np.int32),
        np.array(writing.variable_of_step, dtype=np.int32),
        np.array(writing.excluded_steps, dtype=np.bool_),
        np.array(ends, dtype=np.bool_),
        tuple(variables),
    )


# ---------------------------------------------------------------- nodes: what comes next, without a row between


@dataclass
class _Accept:
    pass


@dataclass
class _Step:
    number: int


@dataclass
class _Choice:
    """The options in the order of preference."""

    options: list[int] = field(default_factory=list)


@dataclass
class _Anchor:
    at_start: bool
    behind: int


@dataclass
class _RoundBegin:
    loop: int
    body: int


@dataclass
class _RoundEnd:
    """Behind a round: `again` if it has taken a row, `done` if it has not."""

    loop: int
    again: int
    done: int


_Node = _Accept | _Step | _Choice | _Anchor | _RoundBegin | _RoundEnd


def _has_choice(p: RowPattern) -> bool:
    """Whether the pattern can be matched in several ways."""
    return any(isinstance(node, Alternation | Permutation | Quantified) for node in ast.walk(p))


class _Writing:
    def __init__(self, numbers: dict[str, int], pattern: RowPattern, text: str) -> None:
        self._numbers = numbers
        self._pattern, self._text = pattern, text
        self._nodes: list[_Node] = []
        self._loops = count()
        self._placed = 0
        self.variable_of_step: list[int] = []
        self.excluded_steps: list[bool] = []
        self.behind_step: list[int] = []  # the node behind each step

    def add(self, node: _Node) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def before(self, p: RowPattern, behind: int, *, excluded: bool) -> int:
        """The node where the pattern begins, if the node `behind` comes after it."""
        match p:
            case Variable():
                return self._step(p, behind, excluded)
            case Empty():
                return behind
            case PartitionStart() | PartitionEnd():
                return self.add(_Anchor(isinstance(p, PartitionStart), behind))
            case Exclusion():
                return self.before(p.body, behind, excluded=True)
            case Concatenation():
                for part in reversed(p.parts):
                    behind = self.before(part, behind, excluded=excluded)
                return behind
            case Alternation():
                return self.add(_Choice([self.before(o, behind, excluded=excluded) for o in p.options]))
            case Permutation():
                if any(map(_has_choice, p.parts)):
                    orders = tuple(Concatenation(order) for order in self._orders(p))
                    return self.before(Alternation(orders), behind, excluded=excluded)
                every = frozenset(range(len(p.parts)))
                return self._permuted(p, every, behind, excluded, {frozenset(): behind})
            case Quantified():
                return self._rounds(p, behind, excluded)
        raise AssertionError(p)

    def _step(self, p: Variable, behind: int, excluded: bool) -> int:
        self.variable_of_step.append(self._numbers[p.name])
        self.excluded_steps.append(excluded)
        self.behind_step.append(behind)
        if len(self.behind_step) > MOST_STEPS:
            message = f"written out, the pattern has more than {MOST_STEPS:,} variables"
            self._refuse(
                message, "bounded quantifiers and PERMUTE are written out: smaller bounds, or + with a count(*)"
            )
        return self.add(_Step(len(self.behind_step) - 1))

    def _refuse(self, message: str, hint: str) -> None:
        raise QueryError(self._text, [Problem(ProblemKind.UNSUPPORTED, message, self._pattern.span, hint)])

    def _orders(self, p: Permutation) -> Iterator[tuple[RowPattern, ...]]:
        """The orders, those that begin with the earlier parts first; too many are refused before they are made."""
        if factorial(len(p.parts)) > MOST_STEPS:
            message = f"PERMUTE of {len(p.parts)} parts has {factorial(len(p.parts)):,} orders"
            self._refuse(message, "parts without quantifiers and alternations take less: PERMUTE(A, B, C D)")
        return permutations(p.parts)

    def _permuted(
        self, p: Permutation, left: frozenset[int], behind: int, excluded: bool, known: dict[frozenset[int], int]
    ) -> int:
        if left not in known:
            options = [
                self.before(p.parts[i], self._permuted(p, left - {i}, behind, excluded, known), excluded=excluded)
                for i in sorted(left)
            ]
            known[left] = self.add(_Choice(options))
        return known[left]

    def _rounds(self, p: Quantified, behind: int, excluded: bool) -> int:
        begin = behind
        if p.high is None:
            begin = self.add(_Choice())
            self._fill(begin, p, begin, behind, excluded)
        else:
            for _ in range(p.high - p.low):
                again, begin = begin, self.add(_Choice())
                self._fill(begin, p, again, behind, excluded)
        for _ in range(p.low):
            begin = self.before(p.body, begin, excluded=excluded)
        return begin

    def _fill(self, choice: int, p: Quantified, again: int, done: int, excluded: bool) -> None:
        """One more round or none, the greedy choice first."""
        loop = next(self._loops)
        body = self.before(p.body, self.add(_RoundEnd(loop, again, done)), excluded=excluded)
        options = [self.add(_RoundBegin(loop, body)), done]
        node = self._nodes[choice]
        assert isinstance(node, _Choice)
        node.options = options if p.greedy else options[::-1]

    def list_from(self, begin: int, *, at_start: bool, at_end: bool = False) -> list[int]:
        """The steps that may come next, in the order of preference, and at the end ACCEPT if the match may end."""
        found: dict[int, None] = {}
        seen: set[tuple[int, frozenset[int]]] = set()
        # What is open, the most preferred last: a node, and the loops of which a round began behind the last row.
        open_: list[tuple[int, frozenset[int]]] = [(begin, frozenset())]
        while open_:
            at = open_.pop()
            if at in seen:
                continue
            seen.add(at)
            number, begun = at
            match self._nodes[number]:
                case _Accept():
                    found[ACCEPT] = None
                    break
                case _Step(step):
                    found[step] = None
                case _Choice(options):
                    open_.extend((o, begun) for o in reversed(options))
                case _Anchor(start, behind):
                    if at_start if start else at_end:
                        open_.append((behind, begun))
                case _RoundBegin(loop, body):
                    open_.append((body, begun | {loop}))
                case _RoundEnd(loop, again, done):
                    open_.append((done if loop in begun else again, begun - {loop}))
        self._placed += len(found)
        if self._placed > MOST_PLACES or len(seen) > MOST_PLACES:
            hint = "nested quantifiers with bounds are written out: smaller bounds, or + and *"
            self._refuse(f"written out, the pattern has more than {MOST_PLACES:,} ways to go on", hint)
        return list(found) or [DEAD]
