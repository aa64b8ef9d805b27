"""Some of the matches of a query, drawn so that every set of so many is equally likely.

Where the matches of each end can be counted, these numbers are all that is known of the matches: numbers are drawn, and
the matches that have them are found in a second pass. Other queries write their matches out, and some of them stay.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.columns.group_totals import EXACT, Sums
from ensue.data.budget import Large
from ensue.data.complex_events import ComplexEvents, Positions
from ensue.engines.whole_tables import Work, evaluate_table
from ensue.logic.aggregation import COUNT
from ensue.plan.choice import Choice
from ensue.plan.lanes import NotFolded, folded_plan
from ensue.plan.mode import Mode

#: What is kept of a match that was drawn, until it is found: its number, in two tables of Python.
_BYTES_A_DRAW = 400


def sampled(work: Work, wanted: int, chance: Random, listed: Callable[[], ComplexEvents]) -> ComplexEvents:
    """As many different matches as are wanted, or all; in the order in which `listed` gives all of them."""
    counting = _counting(work.choice)
    if wanted and counting is not None:
        how: Any = {"progress": work.progress, "budget": work.budget, "closed": work.closed}
        ends = _Ends(evaluate_table(counting, work.stream, mode=Mode.TOTALS, **how))
        if ends.total > wanted:
            work.budget.check(Large.MATCHES, _BYTES_A_DRAW * wanted, wanted)
            return _found_by_number(work, ends, wanted, chance)
    found = listed()
    if len(found) <= wanted:
        return found
    return found.in_order(np.array(sorted(itertools.islice(draws(chance, len(found)), wanted)), dtype=np.int64))


def draws(chance: Random, total: int) -> Iterator[int]:
    """All numbers from 0 up to the total in a random order, of which only those are kept that were drawn.

    >>> sorted(draws(Random(7), 5)), len(set(itertools.islice(draws(Random(7), 10**40), 100)))
    ([0, 1, 2, 3, 4], 100)
    """
    moved: dict[int, int] = {}
    drawn = 0
    while drawn < total:
        place = chance.randrange(drawn, total)
        yield moved.get(place, place)
        moved[place] = moved.pop(drawn, drawn)
        drawn += 1


def _counting(choice: Choice) -> Choice | None:
    """The query with the numbers of matches at each end as its only result; None where they are not counted."""
    if choice.plan is None or choice.checked.query.limit is not None:
        return None
    try:
        return replace(choice, plan=folded_plan(choice.plan, (COUNT,)))
    except NotFolded:
        return None


class _Ends:
    """Where matches end, and how many at most; the matches of all ends have numbers, those of the first end first."""

    def __init__(self, counted: ComplexEvents) -> None:
        self._end: Positions = counted.end
        numbers = Sums(pa.table(dict(counted.computed))).at_most(COUNT) if len(counted) else []
        self._behind = list(itertools.accumulate(numbers))

    @property
    def total(self) -> int:
        return self._behind[-1] if self._behind else 0

    def ranks(self, numbers: list[int]) -> dict[int, list[int]]:
        """For each end the ranks that its matches of these numbers have among them."""
        found: dict[int, list[int]] = {}
        for number in sorted(numbers):
            place = bisect_right(self._behind, number)
            before = self._behind[place - 1] if place else 0
            found.setdefault(int(self._end[place]), []).append(number - before)
        return found


def _found_by_number(work: Work, ends: _Ends, wanted: int, chance: Random) -> ComplexEvents:
    """Draws numbers until enough of them are those of matches: all are, but where a count is larger than exact."""
    from ensue.kernels.ranked_matches import ranked_matches  # numba is loaded where it is used

    assert work.choice.plan is not None
    plan = replace(work.choice.plan, lanes=None)
    parts = work.collected()
    numbers = draws(chance, ends.total)
    missing = wanted
    while missing and (drawn := list(itertools.islice(numbers, missing))):
        part = ranked_matches(plan, work.stream, ends.ranks(drawn), work.step, work.budget)
        parts.add(part)
        assert len(part) == len(drawn) or ends.total >= EXACT, "a number is that of a match"
        missing -= len(part)
    found = parts.concatenated(plan.final_marks)
    return found.in_order(np.argsort(found.end, kind="stable"))
