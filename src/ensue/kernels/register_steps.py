"""What an event does to runs with registers: which of them pass its checks, what they store, where they go.

The moves of a program are those of `evaluate.advance`; each slot holds an ordered tree of partial matches
(`ordered.py`) instead of a list. Nothing that exists is changed before all moves are made, so that an event for which
there is not enough room is simply begun again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit

from ensue.automata.register_moves import MoveKind
from ensue.kernels.arena import CHILD, MARK_BITS, NOTHING, REST, USED, added_to, alive, new_cell, new_start, own_list
from ensue.kernels.formulas import Formulas, holds
from ensue.kernels.jit import kernel
from ensue.kernels.value_trees import LEAST, NODES_A_CALL, UNSET, between, compare, fork, new_tree, put, weight

# How a move takes the runs of its source, as plain integers.
PASS, UNION, SIFT, EACH, MERGE = map(int, MoveKind)
# Which value stays where one is stored already.
KEEP_NEW, KEEP_LEAST, KEEP_GREATEST, KEEP_NONE = 0, 1, 2, 3
#: Where no runs were selected yet.
UNKNOWN = -2


class Steps(NamedTuple):
    """How each move, or each report, takes its runs: beside the arrays of `evaluate.Tables`."""

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


class Columns(NamedTuple):
    """At each event of a batch: the least and the greatest value that passes each check, and what is stored."""

    least: Any  # int64[checks, n]
    greatest: Any
    stored: Any  # int64[stores, n]
    terms: Any  # int64[terms, n]: what formulas take of the event


class Spine(NamedTuple):
    """The right side of a tree that is made from its least key on: nodes that may still get a right subtree."""

    key: Any  # int64[DEEPEST, registers + 1], with the weight
    own: Any  # int64[DEEPEST]
    left: Any


class Memory(NamedTuple):
    """All that runs with registers need beside the rest."""

    moves: Steps
    reports: Steps
    report_place: Any  # int32[reports]: where in `selected` its runs are, or -1 for those that start here
    actions: Actions
    formulas: Formulas
    columns: Columns
    selected: Any  # int64[1, reports of one program]: the runs of each report
    key: Any  # int64[registers]
    first: Any
    last: Any
    way: Any  # int64[DEEPEST]
    walk: Any
    spine: Spine


@njit(cache=True, nogil=True, inline="always")
def _room(nodes: Any, used: Any) -> bool:
    return bool(used[USED] + NODES_A_CALL <= len(nodes))


@njit(cache=True, nogil=True, inline="always")
def prepare(
    nodes: Any,
    seconds: Any,
    used: Any,
    groups: Any,
    values: Any,
    slots: Any,
    k: int,
    scratch: Any,
    memory: Memory,
    move_slot: Any,
    move_source: Any,
    move_mark: Any,
    first_move: int,
    last_move: int,
    report_source: Any,
    first_report: int,
    last_report: int,
    i: int,
    position: int,
    stamp: int,
    second: int,
    low: int,
    low_second: int,
) -> bool:
    """Makes the trees of the slots that the program changes, in `scratch`, and the sets of what it reports.

    Gives False where there is not enough room: then nothing has happened.
    """
    began = used[USED]
    moves, reports = memory.moves, memory.reports
    for m in range(first_report, last_report):
        if report_source[m] < 0:
            continue
        root = slots[k, report_source[m]]
        if _room(nodes, used):
            memory.selected[0, m - first_report] = _taken(
                nodes, seconds, used, values, root, memory, reports, m, i, low, low_second
            )
    previous = NOTHING
    for m in range(first_move, last_move):
        slot, source, mark = move_slot[m], move_source[m], move_mark[m]
        if slot != previous:
            scratch[slot] = NOTHING
            previous = slot
        if not _room(nodes, used):
            break
        event = (position << MARK_BITS) | mark
        root = slots[k, source] if source >= 0 else NOTHING
        if source < 0:
            added = new_start(nodes, seconds, used, event, stamp, second)
        elif moves.kind[m] == PASS and scratch[slot] == NOTHING:
            scratch[slot] = root if root != NOTHING and alive(nodes, seconds, root, low, low_second) else NOTHING
            continue
        elif moves.kind[m] == MERGE:
            scratch[slot] = _merged(
                nodes, seconds, used, groups, values, root, scratch[slot], memory, m, i, event, mark, low, low_second
            )
            continue
        elif moves.kind[m] == PASS or moves.kind[m] == EACH:
            _each(nodes, seconds, used, groups, values, root, scratch, slot, memory, m, i, event, mark, low, low_second)
            continue
        else:
            added = UNKNOWN
            for r in range(first_report, last_report):  # what ends with the event may also go on with it
                if report_source[r] == source and reports.action[r] == moves.action[m]:
                    added = memory.selected[0, r - first_report]
            if added == UNKNOWN:
                added = _taken(nodes, seconds, used, values, root, memory, moves, m, i, low, low_second)
            if added == NOTHING:
                continue
            if mark != 0:
                added = new_cell(nodes, seconds, used, added, event)
        _stored(memory, m, i, values, NOTHING)
        scratch[slot] = _not_lost(nodes, values, scratch[slot], memory, m, i)
        scratch[slot] = put(
            nodes,
            seconds,
            values,
            used,
            groups,
            scratch[slot],
            memory.key,
            added,
            mark != 0,
            low,
            low_second,
            memory.way,
        )
    if _room(nodes, used):
        return True
    used[USED] = began
    return False


@njit(cache=True, nogil=True, inline="always")
def _not_lost(nodes: Any, values: Any, root: int, memory: Memory, m: int, i: int) -> int:
    """The tree without most of the runs that have waited too long: its root is any of them, and those before it go too.

    So no more than about as many stay as are not lost, and nothing need be copied.
    """
    clock = memory.moves.clock[m]
    if clock >= 0:
        least = memory.columns.least[memory.moves.lost[m], i]
        while root != NOTHING and values[root, clock] < least:
            root = nodes[root, REST]
    return root


@njit(cache=True, nogil=True, inline="always")
def _bounds(memory: Memory, action: int, count: int, i: int) -> None:
    """The keys between which the runs lie that pass the action's checks of the first `count` registers."""
    actions, columns = memory.actions, memory.columns
    for r in range(count):
        memory.first[r] = memory.last[r] = UNSET  # what is not live has never been stored
    for c in range(actions.first_check[action], actions.first_check[action + 1]):
        r, column = actions.check_register[c], actions.check_column[c]
        if r < count:
            least, greatest = columns.least[column, i], columns.greatest[column, i]
            if memory.first[r] != UNSET:
                least, greatest = max(least, memory.first[r]), min(greatest, memory.last[r])
            memory.first[r], memory.last[r] = least, greatest


@njit(cache=True, nogil=True, inline="always")
def _passes(memory: Memory, action: int, i: int, values: Any, node: int) -> bool:
    actions, columns = memory.actions, memory.columns
    for c in range(actions.first_check[action], actions.first_check[action + 1]):
        value, column = values[node, actions.check_register[c]], actions.check_column[c]
        if value != UNSET and not columns.least[column, i] <= value <= columns.greatest[column, i]:
            return False
    for c in range(actions.first_formula[action], actions.first_formula[action + 1]):
        if not holds(memory.formulas, actions.formula[c], values, node, columns.terms, i, actions.absent[c]):
            return False
    return True


@njit(cache=True, nogil=True, inline="always")
def _stored(memory: Memory, m: int, i: int, values: Any, node: int) -> None:
    """Writes into `key` what a run has stored after the move; before it, it had what is stored at the node."""
    actions, key = memory.actions, memory.key
    live = memory.moves.live[m]
    for r in range(len(key)):
        key[r] = values[node, r] if node != NOTHING and live >> r & 1 else UNSET
    action = memory.moves.action[m]
    for s in range(actions.first_store[action], actions.first_store[action + 1]):
        r, keep = actions.store_register[s], actions.store_keep[s]
        if keep == KEEP_NONE:
            key[r] = UNSET
            continue
        value = memory.columns.stored[actions.store_column[s], i]
        old = key[r]
        if old == UNSET or keep == KEEP_NEW:
            key[r] = value
        elif old >= LEAST:  # a NULL among values that must all pass keeps them from it
            keeps_old = value >= LEAST and (old <= value) == (keep == KEEP_LEAST)
            key[r] = old if keeps_old else value


@njit(cache=True, nogil=True, inline="always")
def _taken(
    nodes: Any,
    seconds: Any,
    used: Any,
    values: Any,
    root: int,
    memory: Memory,
    steps: Steps,
    m: int,
    i: int,
    low: int,
    low_second: int,
) -> int:
    """The union of the runs that a move or a report takes. It stops where the room ends, which shows at the end."""
    action, count = steps.action[m], steps.bound[m]
    _bounds(memory, action, count, i)
    first, last, walk = memory.first, memory.last, memory.walk
    if steps.kind[m] != SIFT:
        found: int = between(nodes, seconds, values, used, root, first, last, count, low, low_second, memory.way)
        return found
    found = NOTHING
    node, depth = _descend(nodes, seconds, values, root, first, count, low, low_second, walk, 0)
    while node != NOTHING and compare(values, node, last, count) <= 0:
        own = own_list(nodes, node)
        held = own != NOTHING and alive(nodes, seconds, own, low, low_second)
        if held and _passes(memory, action, i, values, node):
            found = fork(nodes, seconds, used, own, found, low, low_second)
            if not _room(nodes, used):
                break
        node, depth = _descend(nodes, seconds, values, nodes[node, REST], first, count, low, low_second, walk, depth)
    return found


@kernel
def _each(
    nodes: Any,
    seconds: Any,
    used: Any,
    groups: Any,
    values: Any,
    root: int,
    scratch: Any,
    slot: int,
    memory: Memory,
    m: int,
    i: int,
    event: int,
    mark: int,
    low: int,
    low_second: int,
) -> None:
    """Moves the runs that pass, each with what it has stored. It stops where the room ends, which shows at the end."""
    action, count = memory.moves.action[m], memory.moves.bound[m]
    _bounds(memory, action, count, i)
    first, last, walk = memory.first, memory.last, memory.walk
    node, depth = _descend(nodes, seconds, values, root, first, count, low, low_second, walk, 0)
    while node != NOTHING and compare(values, node, last, count) <= 0:
        own = own_list(nodes, node)
        held = own != NOTHING and alive(nodes, seconds, own, low, low_second)
        if held and _passes(memory, action, i, values, node):
            if not _room(nodes, used):
                break
            added = new_cell(nodes, seconds, used, own, event) if mark != 0 else own
            _stored(memory, m, i, values, node)
            scratch[slot] = put(
                nodes,
                seconds,
                values,
                used,
                groups,
                scratch[slot],
                memory.key,
                added,
                mark != 0,
                low,
                low_second,
                memory.way,
            )
        node, depth = _descend(nodes, seconds, values, nodes[node, REST], first, count, low, low_second, walk, depth)


@njit(cache=True, nogil=True, inline="always")
def _descend(
    nodes: Any,
    seconds: Any,
    values: Any,
    node: int,
    first: Any,
    count: int,
    low: int,
    low_second: int,
    walk: Any,
    depth: int,
) -> tuple[int, int]:
    """The next node in order, from a subtree or else from those still to visit, which `walk` holds; and how many."""
    while node != NOTHING and alive(nodes, seconds, node, low, low_second):
        if compare(values, node, first, count) < 0:
            node = nodes[node, REST]
        else:
            walk[depth] = node
            depth += 1
            node = nodes[node, CHILD]
    if depth == 0:
        return NOTHING, 0
    return walk[depth - 1], depth - 1


@kernel
def _merged(
    nodes: Any,
    seconds: Any,
    used: Any,
    groups: Any,
    values: Any,
    root: int,
    target: int,
    memory: Memory,
    m: int,
    i: int,
    event: int,
    mark: int,
    low: int,
    low_second: int,
) -> int:
    """The tree of the target with all runs that pass, in time linear in both: each node is made once.

    What the runs have stored after the move must be in the order of what they had before. The nodes come in order; a
    node is made when nothing can come under it any more, so that its children are made before it.
    """
    action, first, spine, key = memory.moves.action[m], memory.first, memory.spine, memory.key
    weighed = len(key)
    height = 0
    there, above = _descend(nodes, seconds, values, target, first, 0, low, low_second, memory.way, 0)
    node, depth = _next_passing(nodes, seconds, values, root, memory, action, i, low, low_second, 0)
    if node != NOTHING:
        _stored(memory, m, i, values, node)
    while there != NOTHING or node != NOTHING:
        if not _room(nodes, used):
            return NOTHING
        order = -1 if node == NOTHING else (1 if there == NOTHING else compare(values, there, key, weighed))
        own = NOTHING
        if order <= 0:
            own = own_list(nodes, there)
            if own != NOTHING and not alive(nodes, seconds, own, low, low_second):
                own = NOTHING
            for r in range(weighed + 1):
                spine.key[height, r] = values[there, r]
            there, above = _descend(
                nodes, seconds, values, nodes[there, REST], first, 0, low, low_second, memory.way, above
            )
        else:
            for r in range(weighed):
                spine.key[height, r] = key[r]
            spine.key[height, weighed] = weight(key, weighed)
        while order >= 0 and node != NOTHING:  # of what they had, several may have become the same
            added = own_list(nodes, node)
            added = new_cell(nodes, seconds, used, added, event) if mark != 0 else added
            own = added if own == NOTHING else added_to(nodes, seconds, used, groups, own, added, mark != 0)
            node, depth = _next_passing(
                nodes, seconds, values, nodes[node, REST], memory, action, i, low, low_second, depth
            )
            if node == NOTHING or not _room(nodes, used):
                break
            _stored(memory, m, i, values, node)
            if compare(spine.key, height, key, weighed) != 0:
                break
        if own != NOTHING:
            height = _push(nodes, seconds, values, used, spine, height, own, weighed)
    made: int = _closed(nodes, seconds, values, used, spine, height, 0, weighed)
    return made


@kernel
def _next_passing(
    nodes: Any,
    seconds: Any,
    values: Any,
    node: int,
    memory: Memory,
    action: int,
    i: int,
    low: int,
    low_second: int,
    depth: int,
) -> tuple[int, int]:
    """The next node whose runs pass the checks, and how many are still to visit."""
    node, depth = _descend(nodes, seconds, values, node, memory.first, 0, low, low_second, memory.walk, depth)
    while node != NOTHING:
        own = own_list(nodes, node)
        held = own != NOTHING and alive(nodes, seconds, own, low, low_second)
        if held and _passes(memory, action, i, values, node):
            break
        node, depth = _descend(
            nodes, seconds, values, nodes[node, REST], memory.first, 0, low, low_second, memory.walk, depth
        )
    return node, depth


@kernel
def _push(nodes: Any, seconds: Any, values: Any, used: Any, spine: Spine, height: int, own: int, weighed: int) -> int:
    """Puts the key in row `height` at the end of the spine, above those that weigh less; gives the spine's height."""
    keep = height
    while keep > 0 and spine.key[keep - 1, weighed] < spine.key[height, weighed]:
        keep -= 1
    left = _closed(nodes, seconds, values, used, spine, height, keep, weighed)
    if keep != height:
        for r in range(weighed + 1):
            spine.key[keep, r] = spine.key[height, r]
    spine.own[keep], spine.left[keep] = own, left
    return keep + 1


@kernel
def _closed(
    nodes: Any, seconds: Any, values: Any, used: Any, spine: Spine, height: int, keep: int, weighed: int
) -> int:
    """Makes the nodes of the spine from row `keep` on; gives the uppermost."""
    made: int = NOTHING
    for d in range(height - 1, keep - 1, -1):
        made = new_tree(nodes, seconds, values, used, NOTHING, spine.left[d], spine.own[d], made)
        for r in range(weighed + 1):
            values[made, r] = spine.key[d, r]
    return made
