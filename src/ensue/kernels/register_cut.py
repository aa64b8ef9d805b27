"""Takes the runs out of a tree for which something absent has come; the others stay where they are."""

from __future__ import annotations

from ensue.kernels.arena import NOTHING, REST, Arena, Window
from ensue.kernels.formulas import holds
from ensue.kernels.jit import at, inner
from ensue.kernels.register_checks import descend, has_room, held_list
from ensue.kernels.register_data import (
    ACTION,
    BOUND,
    ENDED,
    ENDED_COLUMN,
    FIRST_FORMULA,
    FORMULA,
    Move,
    RegisterData,
)
from ensue.kernels.value_trees import UNSET, compare, without


@inner
def without_ended(arena: Arena, registers: RegisterData, root: int, move: Move, window: Window) -> int:
    """The tree without the runs for which one of the move's conditions is TRUE. It stops where the room ends.

    A run is taken out once; those that are looked at and stay lie where the condition may be TRUE.
    """
    actions, columns, key = registers.actions, registers.columns, registers.key
    action, count = registers.moves[at(move.number), ACTION], registers.moves[at(move.number), BOUND]
    first, last, walk = registers.first, registers.last, registers.walk
    for f in range(actions.first[at(action), FIRST_FORMULA], actions.first[at(action + 1), FIRST_FORMULA]):
        bound = count if actions.formulas[at(f), ENDED] == count - 1 else 0
        for r in range(bound):
            first[at(r)] = last[at(r)] = UNSET
        if bound > 0:
            column = actions.formulas[at(f), ENDED_COLUMN]
            first[at(bound - 1)] = columns.least[at(column), at(move.row)]
            last[at(bound - 1)] = columns.greatest[at(column), at(move.row)]
        formula = actions.formulas[at(f), FORMULA]
        node, depth = descend(arena, root, first, bound, walk, 0, window)
        while node != NOTHING and compare(arena.values, node, last, bound) <= 0:
            stays = holds(registers.formulas, formula, arena.values, node, columns.terms, move.row, True)
            if held_list(arena, node, window) != NOTHING and not stays:
                if not has_room(arena):
                    return root
                for r in range(len(key)):
                    key[at(r)] = arena.values[at(node), at(r)]
                root = without(arena, root, key, window, registers.way)
            node, depth = descend(arena, arena.node[at(node), REST], first, bound, walk, depth, window)
    return root
