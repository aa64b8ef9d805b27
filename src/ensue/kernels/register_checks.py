"""Which runs with registers pass the checks of a move, and what they have stored after it."""

from __future__ import annotations

from typing import Any

from ensue.kernels.arena import CHILD, NOTHING, REST, USED, Arena, Window, alive, own_list
from ensue.kernels.formulas import holds
from ensue.kernels.jit import at, inlined
from ensue.kernels.register_data import (
    ABSENT,
    ACTION,
    COLUMN,
    FIRST_CHECK,
    FIRST_FORMULA,
    FIRST_STORE,
    FORMULA,
    KEEP,
    KEEP_LEAST,
    KEEP_NEW,
    KEEP_NONE,
    LIVE,
    REGISTER,
    Move,
    RegisterData,
)
from ensue.kernels.running_totals import KEEP_FIRST, accumulated, cleared
from ensue.kernels.value_trees import LEAST, NODES_A_CALL, UNSET, compare


@inlined
def has_room(arena: Arena) -> bool:
    """Whether there is room for the nodes that one call into the trees makes."""
    return bool(arena.used[USED] + NODES_A_CALL <= len(arena.node))


@inlined
def find_bounds(registers: RegisterData, action: int, count: int, row: int) -> None:
    """Finds the keys between which the runs lie that pass the action's checks of the first `count` registers."""
    actions, columns, first, last = registers.actions, registers.columns, registers.first, registers.last
    for r in range(count):
        first[at(r)] = last[at(r)] = UNSET  # what is not live has never been stored
    for c in range(actions.first[at(action), FIRST_CHECK], actions.first[at(action + 1), FIRST_CHECK]):
        r, column = actions.checks[at(c), REGISTER], actions.checks[at(c), COLUMN]
        if r < count:
            least, greatest = columns.least[at(column), at(row)], columns.greatest[at(column), at(row)]
            if first[at(r)] != UNSET:
                least, greatest = max(least, first[at(r)]), min(greatest, last[at(r)])
            first[at(r)], last[at(r)] = least, greatest


@inlined
def passes(arena: Arena, registers: RegisterData, node: int, action: int, row: int) -> bool:
    """Whether the runs of a tree's node pass all checks of the action."""
    actions, columns, values = registers.actions, registers.columns, arena.values
    for c in range(actions.first[at(action), FIRST_CHECK], actions.first[at(action + 1), FIRST_CHECK]):
        value, column = values[at(node), at(actions.checks[at(c), REGISTER])], actions.checks[at(c), COLUMN]
        inside = columns.least[at(column), at(row)] <= value <= columns.greatest[at(column), at(row)]
        if value != UNSET and not inside:
            return False
    for f in range(actions.first[at(action), FIRST_FORMULA], actions.first[at(action + 1), FIRST_FORMULA]):
        formula, absent = actions.formulas[at(f), FORMULA], actions.formulas[at(f), ABSENT] != 0
        if not holds(registers.formulas, formula, values, node, columns.terms, row, absent):
            return False
    return True


@inlined
def store(arena: Arena, registers: RegisterData, node: int, move: Move) -> None:
    """Writes into `key` what a run has stored after the move; before it, it had what is stored at the node."""
    actions, key = registers.actions, registers.key
    live = registers.moves[at(move.number), LIVE]
    for r in range(len(key)):
        kept = node != NOTHING and live >> registers.owner[at(r)] & 1
        key[at(r)] = arena.values[at(node), at(r)] if kept else UNSET
    action = registers.moves[at(move.number), ACTION]
    for s in range(actions.first[at(action), FIRST_STORE], actions.first[at(action + 1), FIRST_STORE]):
        r, keep = actions.stores[at(s), REGISTER], actions.stores[at(s), KEEP]
        if keep == KEEP_NONE:
            cleared(registers.totals, key, r)
            continue
        value = registers.columns.stored[at(actions.stores[at(s), COLUMN]), at(move.row)]
        if keep >= KEEP_FIRST:
            accumulated(registers.totals, r, keep, value)
            continue
        old = key[at(r)]
        if old == UNSET or keep == KEEP_NEW:
            key[at(r)] = value
        elif old >= LEAST:  # a NULL among values that must all pass keeps them from it
            keeps_old = value >= LEAST and (old <= value) == (keep == KEEP_LEAST)
            key[at(r)] = old if keeps_old else value


@inlined
def held_list(arena: Arena, node: int, window: Window) -> int:
    """The node's own list if something of it is inside the window, else NOTHING."""
    own: int = own_list(arena, node)
    return own if own != NOTHING and alive(arena, own, window) else NOTHING


@inlined
def descend(arena: Arena, node: int, first: Any, count: int, walk: Any, depth: int, window: Window) -> tuple[int, int]:
    """The next node in order, from a subtree or else from those still to visit, which `walk` holds; and how many.

    It is not before the first `count` values of the key `first`.
    """
    while node != NOTHING and alive(arena, node, window):
        if compare(arena.values, node, first, count) < 0:
            node = arena.node[at(node), REST]
        else:
            walk[at(depth)] = node
            depth += 1
            node = arena.node[at(node), CHILD]
    if depth == 0:
        return NOTHING, 0
    return walk[at(depth - 1)], depth - 1
