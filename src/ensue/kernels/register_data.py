"""What runs with registers need beside the rest: what programs do with registers, and room to work in."""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.automata.register_moves import Kind
from ensue.kernels.formulas import Formulas
from ensue.kernels.stepping import Columns

# How a move takes the runs of its source, as plain integers.
PASS, UNION, SIFT, EACH, MERGE = map(int, Kind)
# Which value stays where one is stored already.
KEEP_NEW, KEEP_LEAST, KEEP_GREATEST, KEEP_NONE = 0, 1, 2, 3


class Steps(NamedTuple):
    """How each move, or each report, takes its runs: beside the arrays of `stepping.Tables`."""

    action: Any  # int32[moves]
    kind: Any  # int32[moves]: see `automata/register_moves.py`
    bound: Any  # int32[moves]: by how many of the first registers the checks bound them
    live: Any  # int32[moves]: a bit for each register that counts after it
    clock: Any  # int32[moves]: the first register in the order of the target's keys, where its runs get lost by it ...
    lost: Any  # int32[moves]: ... those with less in it than the least that passes this check; -1 where none do


class Actions(NamedTuple):
    """What is checked and stored: the checks of action `a` are those from `first_check[a]` to `first_check[a + 1]`."""

    first_check: Any
    check_register: Any
    check_column: Any
    first_store: Any
    store_register: Any
    store_keep: Any
    store_column: Any
    first_formula: Any
    formula: Any
    absent: Any  # bool: whether it must not be TRUE


class Spine(NamedTuple):
    """The right side of a tree that is made from its least key on: nodes that may still get a right subtree."""

    key: Any  # int64[DEEPEST, registers + 1], with the weight
    own: Any  # int64[DEEPEST]
    left: Any


class RegisterData(NamedTuple):
    """All that runs with registers need beside the rest."""

    moves: Steps
    reports: Steps
    report_place: Any  # int32[reports]: where in `selected` its runs are, or -1 for those that start here
    actions: Actions
    formulas: Formulas
    columns: Columns
    selected: Any  # int64[1, reports of one program]: the runs of each report
    key: Any  # int64[registers]: what a run has stored after a move
    first: Any  # int64[registers]: the keys between which the runs lie that pass
    last: Any
    way: Any  # int64[DEEPEST]: the nodes from a root to a place in its tree
    walk: Any  # int64[DEEPEST]: the nodes of a tree that are still to visit
    spine: Spine


class Move(NamedTuple):
    """A move of a program at an event."""

    number: int
    row: int  # of the event in the batch
    event: int  # with its mark, as a node has it
    marks: bool  # whether the event is marked, so that runs are extended with it
