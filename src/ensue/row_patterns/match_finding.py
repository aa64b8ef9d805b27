"""Finds the matches of a clause: the rows as classes, the sets of points from behind, and one of two searches.

Where conditions speak of single rows alone, the walk of `kernels/row_walk.py` finds every match without turning back.
Where they speak of the match, `ordered_search.py` tries the choices in order, without those that the sets rule out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ensue.errors import DataError, EngineError
from ensue.kernels import row_search, row_walk
from ensue.kernels.row_walk import Walked, WalkProgram, WalkRows
from ensue.row_patterns.clause_ast import SkipTo
from ensue.row_patterns.compiled_search import CompiledSearch, compiled
from ensue.row_patterns.match_terms import CheckedClause
from ensue.row_patterns.open_end import OpenEnd
from ensue.row_patterns.ordered_rows import Integers, OrderedRows
from ensue.row_patterns.ordered_search import OrderedSearch, Reach, Undecided, too_many_steps
from ensue.row_patterns.pattern_program import ACCEPT, BEHIND_STEP, Program, compile_pattern
from ensue.row_patterns.row_conditions import DividedConditions, divide, truth_of_rows
from ensue.row_patterns.search_program import Interpreted, SearchProgram

_SKIPS = {
    SkipTo.PAST_LAST: row_walk.PAST_LAST,
    SkipTo.NEXT: row_walk.TO_NEXT,
    SkipTo.FIRST: row_walk.TO_FIRST,
    SkipTo.LAST: row_walk.TO_LAST,
}
#: The most sets that are kept, and the most rows that all matches may have: overlapping ones have more than the table.
MOST_SETS, MOST_MATCHED = 1 << 16, 1 << 31


@dataclass(frozen=True)
class FoundMatches:
    """The matches in the order of their first rows; match `m` has the steps from `offset[m]` to `offset[m + 1]`."""

    start: Integers
    offset: Integers
    steps: npt.NDArray[np.int32]
    number: Integers  # in its partition, from 1
    program: Program

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def lengths(self) -> Integers:
        return np.diff(self.offset)

    @cached_property
    def variables(self) -> npt.NDArray[np.int32]:
        """The number of the variable of each row of each match."""
        return self.program.variable[self.steps]


@dataclass(frozen=True)
class Plan:
    """How a clause is evaluated over any table."""

    clause: CheckedClause
    program: Program
    conditions: DividedConditions

    @classmethod
    def of(cls, clause: CheckedClause) -> Plan:
        return cls(clause, compile_pattern(clause.pattern, clause.variables, clause.text), divide(clause))

    @property
    def walks(self) -> bool:
        """Whether the walk finds the matches: no condition speaks of other rows of the match."""
        return not self.conditions.of_match and self.clause.within is None

    @cached_property
    def search(self) -> SearchProgram:
        """The conditions for the compiled search; raises Interpreted where one has no place in it."""
        return SearchProgram(self.program, self.conditions.of_match, within=self.clause.within is not None)


def find_matches(plan: Plan, rows: OrderedRows, budget: int, open_end: OpenEnd | None = None) -> FoundMatches:
    """All matches of the clause in the rows. `budget` is the most steps that the search takes from one row.

    If more rows will come, they are those that no later row can change; `open_end` says which rows wait.
    """
    classified = _Classified(plan, rows, open_end)
    found = _walked(plan, classified) if plan.walks else _searched(plan, rows, classified, budget)
    partition = rows.partition_of(found.start)
    first = np.searchsorted(partition, partition)
    number = np.arange(len(partition)) - first + 1
    if open_end is not None:
        number += open_end.numbers[partition]
    return FoundMatches(found.start, found.offset, found.steps, number, plan.program)


class _Classified:
    """The class of each row, which says what conditions hold for it, and its set of points."""

    def __init__(self, plan: Plan, rows: OrderedRows, open_end: OpenEnd | None) -> None:
        self.rows, self.open_end = rows, open_end
        self._program = plan.program
        truths = {v: truth_of_rows(p, v, rows) for v, p in plan.conditions.of_rows.items()}
        self.classes, self.holds = _classes(plan.clause.variables, truths, len(rows))
        self.is_first, self.is_last = rows.is_first, rows.is_last
        if open_end is not None:
            self.is_first, self.is_last = open_end.is_first, open_end.is_last
        self.live, self.in_set = self._live_sets()

    def _live_sets(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
        """The set of each row, and which points each set has. Set 0 is that behind the last row of a partition."""
        program = self._program
        sets = [program.ends_at_end if self.open_end is None else program.may_end]
        known = {sets[0].tobytes(): 0}
        next_set = np.full((16, len(self.holds)), -1, dtype=np.int32)
        live = np.zeros(len(self.rows), dtype=np.int32)
        row = len(self.rows) - 1
        while (row := int(row_walk.live_sets(next_set, self.classes, self.is_last, live, row))) >= 0:
            after = 0 if self.is_last[row] else int(live[row + 1])
            points = self._before(sets[after], int(self.classes[row]))
            number = known.setdefault(points.tobytes(), len(sets))
            if number == len(sets):
                sets.append(points)
                if len(sets) > MOST_SETS:
                    raise EngineError(f"the pattern needs more than {MOST_SETS:,} sets of states over these rows")
                if number >= len(next_set):
                    next_set = np.concatenate([next_set, np.full_like(next_set, -1)])
            next_set[after, self.classes[row]] = number
        return live, np.array(sets)

    def _before(self, after: npt.NDArray[np.bool_], kind: int) -> npt.NDArray[np.bool_]:
        """The points from which a match can end, if a row of this class comes first and then the set `after`."""
        places = self._program.places
        ways = places == ACCEPT
        steps = places[places >= 0]
        ways[places >= 0] = self.holds[kind][self._program.variable[steps]] & after[steps + BEHIND_STEP]
        found: npt.NDArray[np.bool_] = np.logical_or.reduceat(ways, self._program.first[:-1])
        return found


def _classes(
    variables: tuple[str, ...], truths: Mapping[str, npt.NDArray[np.bool_] | None], length: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """A number for each row, the same for rows of which the same is true; and what is true of each class."""
    classes = np.zeros(length, dtype=np.int32)
    holds = np.ones((1, len(variables)), dtype=np.bool_)
    for v, name in enumerate(variables):
        truth = truths.get(name)
        if truth is None:
            continue
        classes = 2 * classes + truth
        holds = np.repeat(holds, 2, axis=0)
        holds[::2, v] = False
        if len(holds) > 64:  # keep those that occur
            occurs = np.bincount(classes, minlength=len(holds)) > 0
            classes = (np.cumsum(occurs) - 1).astype(np.int32)[classes]
            holds = holds[occurs]
    return classes.astype(np.int32, copy=False), holds


def _to_variable(plan: Plan) -> npt.NDArray[np.bool_]:
    """For each step, whether its variable is the one that AFTER MATCH SKIP names."""
    program, skip = plan.program, plan.clause.skip
    wanted = plan.clause.unions.get(skip.variable, frozenset()) if skip.variable else frozenset()
    return np.array([program.variables[v] in wanted for v in program.variable], dtype=np.bool_)


def _kernel_inputs(plan: Plan, given: _Classified) -> tuple[WalkProgram, WalkRows]:
    program = plan.program
    none = np.zeros(0, dtype=np.bool_)
    starts, waits = (none, none) if given.open_end is None else (given.open_end.starts, given.open_end.waits)
    ends = (given.is_first, given.is_last, given.open_end is not None, starts, waits)
    return (
        WalkProgram(program.first, program.places, program.variable, _to_variable(plan), given.holds),
        WalkRows(given.classes, given.live, given.in_set, *ends),
    )


def _walked(plan: Plan, given: _Classified) -> Walked:
    program, rows = _kernel_inputs(plan, given)
    state = np.zeros(3, dtype=np.int64)
    skip = _SKIPS[plan.clause.skip.to]
    return _all_found(plan, len(rows.classes), state, lambda found: row_walk.walk(program, rows, skip, state, found))


def _all_found(plan: Plan, rows: int, state: Integers, find: Callable[[Walked], int]) -> Walked:
    """What a kernel finds that goes on where it stopped, with more room for matches whenever it says so."""
    # Matches that do not overlap have no more rows than there are; memory that is not written to costs nothing.
    found = _room(rows + 1, rows + 1)
    while (status := find(found)) != row_walk.DONE:
        if status != row_walk.FULL:
            raise _cannot_skip(plan, int(state[row_walk.MATCHES]), first=status == row_walk.FIRST_ROW)
        found = _larger(found, int(state[row_walk.MATCHES]))
    matches, matched = int(state[row_walk.MATCHES]), int(state[row_walk.MATCHED])
    return Walked(found.start[:matches], found.offset[: matches + 1], found.steps[:matched])


def _room(matches: int, matched: int) -> Walked:
    offset = np.zeros(matches + 1, dtype=np.int64)
    return Walked(np.zeros(matches, dtype=np.int64), offset, np.zeros(matched, dtype=np.int32))


def _larger(found: Walked, matches: int) -> Walked:
    """The same matches with room for more: for more of them, or for more rows of theirs."""
    if len(found.steps) > MOST_MATCHED:
        hint = "AFTER MATCH SKIP PAST LAST ROW finds matches that do not overlap"
        raise EngineError(f"the matches have more than {MOST_MATCHED:,} rows in all\n  hint: {hint}")
    more = _room(
        2 * len(found.start) if matches == len(found.start) else len(found.start),
        2 * len(found.steps) if matches < len(found.start) else len(found.steps),
    )
    for new, old in zip(more, found, strict=True):
        new[: len(old)] = old
    return more


def _cannot_skip(plan: Plan, match: int, *, first: bool) -> DataError:
    skip = plan.clause.skip
    where = f"AFTER MATCH SKIP {skip.to} {skip.variable}"
    if first:
        return DataError(
            f"{where} goes to the first row of match {match} of all, which would be found again for ever\n"
            "  hint: skip to a variable that no match begins with, or SKIP TO NEXT ROW"
        )
    hint = "skip to a variable, or a SUBSET, of which every match has a row"
    return DataError(f"{where}: match {match} of all has no row of {skip.variable}\n  hint: {hint}")


def _searched(plan: Plan, rows: OrderedRows, given: _Classified, budget: int) -> Walked:
    """The matches by the compiled search, or, where a condition or a value has no place in it, by the one in Python."""
    try:
        made = _compiled_search(plan, rows, given, budget)
    except Interpreted:
        return _searched_in_python(plan, rows, given, budget)
    program, known = _kernel_inputs(plan, given)
    open_end = given.open_end
    edge = rows.begins[1:] if open_end is None else open_end.edge
    numbers = np.zeros(len(edge), dtype=np.int64) if open_end is None else open_end.numbers
    partitions = row_search.Partitions(rows.begins, edge, numbers)
    state = np.zeros(row_search.STATE, dtype=np.int64)
    state[row_walk.ROW] = -1

    def find(found: Walked) -> int:
        while True:
            status: int = row_search.search(program, known, partitions, made.asked, made.rules, made.room, state, found)
            if status == row_search.OVER_BUDGET:
                conditions = [plan.conditions.of_match.get(v, ()) for v in plan.program.variables]
                variable, start = int(state[row_search.VARIABLE]), int(state[row_walk.ROW])
                raise too_many_steps(plan.program.variables, conditions, variable, start, budget)
            if status != row_search.NEEDS_STACK:
                return status
            made.deepen()

    return _all_found(plan, len(rows), state, find)


def _compiled_search(plan: Plan, rows: OrderedRows, given: _Classified, budget: int) -> CompiledSearch:
    passed = None if given.open_end is None else given.open_end.passed
    return compiled(plan.search, plan.clause, rows, skip=_SKIPS[plan.clause.skip.to], budget=budget, passed=passed)


def _searched_in_python(plan: Plan, rows: OrderedRows, given: _Classified, budget: int) -> Walked:
    known = (given.classes, given.holds, given.live, given.in_set)
    search = OrderedSearch(plan.clause, plan.program, plan.conditions.of_match, rows, known, budget)
    to_variable, skip = _to_variable(plan), plan.clause.skip.to
    start: list[int] = []
    offset, steps = [0], []
    open_end = given.open_end
    for p, (begin, end) in enumerate(zip(rows.begins[:-1].tolist(), rows.begins[1:].tolist(), strict=True)):
        partition, row, number = Reach(end, end, given.is_first), begin, 1
        if open_end is not None:
            partition = Reach(int(open_end.edge[p]), end, given.is_first, True, open_end.passed)
            number += int(open_end.numbers[p])
        while row < partition.edge:
            match = None
            if open_end is None or open_end.starts[row]:
                match = search.match_at(row, partition, number)
            if isinstance(match, Undecided):
                assert open_end is not None
                open_end.waits[row] = True
                break
            if match is None:
                row += 1
                continue
            start.append(row)
            steps.extend(match)
            offset.append(len(steps))
            number += 1
            if len(steps) > MOST_MATCHED:
                raise EngineError(f"the matches have more than {MOST_MATCHED:,} rows in all")
            if not match or skip is SkipTo.NEXT:
                row += 1
            elif skip is SkipTo.PAST_LAST:
                row += len(match)
            else:
                places = [i for i, step in enumerate(match) if to_variable[step]]
                place = -1 if not places else places[0 if skip is SkipTo.FIRST else -1]
                if place <= 0:
                    raise _cannot_skip(plan, len(start), first=place == 0)
                row += place
    return Walked(np.array(start, np.int64), np.array(offset, np.int64), np.array(steps, np.int32))
