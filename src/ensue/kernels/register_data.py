"""What runs with registers need beside the rest: what programs do with registers, and room to work in."""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.automata.register_moves import MoveKind
from ensue.kernels.stepping import Columns

# How a move takes the runs of its source, as plain integers.
PASS, UNION, SIFT, EACH, MERGE, CUT = map(int, MoveKind)
# Which value stays where one is stored already; more are in `running_totals.py`.
KEEP_NEW, KEEP_LEAST, KEEP_GREATEST, KEEP_NONE = 0, 1, 2, 3


# The columns of a table of moves, or of reports, beside those of `stepping.Tables`: which action they make, how they
# take runs, by how many of the first registers the checks bound these, a bit for each register that counts afterwards,
# and, where runs of the target get lost by a clock, its place in the target's keys and the check that says so, else -1.
ACTION, KIND, BOUND, LIVE, CLOCK, LOST = range(6)


class Actions(NamedTuple):
    """What is checked and stored; the names of the columns are below."""

    first: Any  # int32[actions + 1, 3]: the checks, stores and formulas of an action go up to those of the next
    checks: Any  # int32[checks, 2]
    stores: Any  # int32[stores, 3]
    formulas: Any  # int32[formulas, 4]


FIRST_CHECK, FIRST_STORE, FIRST_FORMULA = range(3)
# Of checks and stores: which register, which column of the batch, and which value a store keeps.
REGISTER, COLUMN, KEEP = range(3)
# Of formulas: which one, and whether it must not be TRUE; by which register the runs are looked up for which it may be
# TRUE, and the column that says where, both below 0 for none.
FORMULA, ABSENT, ENDED, ENDED_COLUMN = range(4)


class Spine(NamedTuple):
    """The right side of a tree that is made from its least key on: nodes that may still get a right subtree."""

    key: Any  # int64[DEEPEST, places of a key + 1], with the weight
    own: Any  # int64[DEEPEST]
    left: Any


class RegisterData(NamedTuple):
    """All that runs with registers need beside the rest."""

    moves: Any  # int32[moves, 6]
    reports: Any  # int32[reports, 6]
    ends: Any  # int32[reports, 2]: the SOURCE of a report, which is where in `selected` its runs are, and its MARK
    actions: Actions
    formulas: Any  # Formulas, where the query has some
    columns: Columns
    selected: Any  # int64[1, reports of one program]: the runs of each report
    key: Any  # int64[places of a key]: what a run has stored after a move
    first: Any  # int64[places of a key]: the keys between which the runs lie that pass
    last: Any
    way: Any  # int64[DEEPEST]: the nodes from a root to a place in its tree
    walk: Any  # int64[DEEPEST]: the nodes of a tree that are still to visit
    spine: Any  # Spine, where runs of one tree move into another at once
    owner: Any  # int64[places of a key]: the number of the register that each place is of
    totals: Any  # Totals, where registers add up


class Move(NamedTuple):
    """A move of a program at an event."""

    number: int
    row: int  # of the event in the batch
    event: int  # with its mark, as a node has it
    marks: bool  # whether the event is marked, so that runs are extended with it
