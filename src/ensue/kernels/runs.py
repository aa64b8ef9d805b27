"""Steps over the runs of an automaton with a register: at each step, every run takes every arc that it can.

The runs of a partition are a list in the order of their starts, which each step makes anew; their rows are reused. So
an event costs the arcs of the open runs. Runs that agree in start, state, marks and register are one run: only those of
one start are compared, by a hash, and only where there are several.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensue.kernels.formulas import Formulas, compute
from ensue.kernels.jit import evaluator, inlined, inner, kernel
from ensue.kernels.value_trees import NULL, UNSET

#: The columns of a run.
NEXT, START, RANK, TIME, STATE, NODE, HASH, RUN_COLUMNS = range(8)
#: The columns of a match.
MATCH_START, MATCH_END, MATCH_NODE, MATCH_HASH, MATCH_COLUMNS = range(5)
#: The columns of a node: a marked event, and the node with the one before it.
BEFORE, POSITION, MARK, LENGTH, NODE_COLUMNS = range(5)
#: What is kept between calls: the next step, how many rows are free, how many nodes and matches there are, the stamp of
#: the last step, how much room is asked for; where a Python function is called; whether a whole number was too small.
STEP, FREE, NODES, FOUND, STAMP, WANTED, AT_STEP, AT_ARC, BEYOND = range(9)
#: And within a step: the last run of the new list, the first run with its start and whether runs with that start are in
#: the table; the same of matches, and how many there were before the step.
LAST, GROUP, HASHED, MATCH_GROUP, MATCH_HASHED, FOUND_BEFORE, PROGRESS = range(9, 16)
DONE, NEEDS_ROOM = range(2)
NOTHING = -1
#: The row with the register that runs begin with.
INITIAL = 0
#: What `part` holds of each arc: where these begin.
CHECKS, FORMULAS, CALLS, SINCE, WRITES, RESETS, PARTS = range(7)
#: Of a check: the place, the operator, the row of terms or none, else the constant, and whether floats are compared.
OF, OPERATOR, TERM, CONSTANT, OF_FLOATS, CHECK_COLUMNS = range(6)
EQUAL, UNEQUAL, LESS, AT_MOST, MORE, AT_LEAST = range(6)
#: Of a write: the place, what is done, its number or the place that it reads, the constant, and whether it is a float.
TO, HOW, BY, ADDED, A_FLOAT, WRITE_COLUMNS = range(6)
BY_FORMULA, BY_CALL, OF_CONSTANT, OF_TERM, BY_ADDING = range(5)
_GREATEST = np.iinfo(np.int64).max


class Arcs(NamedTuple):
    """The arcs from state `q` are those from `first[q]` to `first[q + 1]`; those of `part` are like that, too."""

    first: Any  # int32[states + 1]
    asked: Any  # uint64[arcs]: the conditions on the event, as bits
    target: Any  # int32[arcs]
    mark: Any  # int32[arcs]
    accepts: Any  # bool[arcs]: whether the target is an accepting state
    part: Any  # int32[arcs + 1, PARTS]
    check: Any  # int64[., CHECK_COLUMNS]
    formula: Any  # int32
    call: Any  # int32
    since: Any  # int64[., 3]: a clock, and the least and the most time since its reset
    write: Any  # int64[., WRITE_COLUMNS]
    reset: Any  # int32
    starts: Any  # int32: the states in which runs start


class RunRules(NamedTuple):
    """What bounds runs and matches; `shown` are the fields that tell matches apart."""

    timed: bool
    ticks: int
    counted: bool
    events: int
    limit: int
    consumes: bool
    repeats: bool
    most_arcs: int
    shown: Any  # int32


class Machine(NamedTuple):
    """What does not change while events come."""

    arcs: Arcs
    rules: RunRules
    formulas: Formulas


class Steps(NamedTuple):
    """The steps of a batch: one event each, or the events from `begin[k]` to `begin[k + 1]` of `positions`."""

    partition: Any  # int64[steps]; empty where there is one partition
    times: Any  # int64[steps]
    words: Any  # uint64[steps]: which conditions on the event hold
    terms: Any  # int64[terms, steps]
    begin: Any  # int64[steps + 1]; empty where a step is an event
    positions: Any  # int64[events]
    base: int  # the position of the first event, where a step is an event


class Memory(NamedTuple):
    """Runs, marks and matches. Row `INITIAL` of the runs is none."""

    run: Any  # int64[rows, RUN_COLUMNS]
    register: Any  # int64[rows, places]
    free: Any  # int64[rows]: the rows that are not in use
    head: Any  # int64[partitions]: the first run of each
    size: Any  # int64[partitions]: how many runs it has
    count: Any  # int64[partitions]: how many events it has had
    node: Any  # int64[nodes, NODE_COLUMNS]
    match: Any  # int64[matches, MATCH_COLUMNS]
    held: Any  # int64[matches, places]: the register of each match
    seen: Any  # int64[slots, 2]: runs by their hashes, each with the step
    told: Any  # int64[slots, 2]: matches by their hashes, each with the step


def step_over(machine: Any, steps: Any, memory: Any, progress: Any, call: Any, columns: Any) -> int:
    """Goes on until all steps are done, or more room is needed. `call` is what Numba has made of Python functions."""
    arcs, rules = machine.arcs, machine.rules
    while progress[STEP] < len(steps.times):
        k = progress[STEP]
        p = steps.partition[k] if len(steps.partition) else 0
        length = steps.begin[k + 1] - steps.begin[k] if len(steps.begin) else 1
        wanted = (memory.size[p] + len(arcs.starts)) * rules.most_arcs
        short = progress[FREE] < wanted or len(memory.match) - progress[FOUND] < wanted
        if short or len(memory.node) - progress[NODES] < wanted * length or len(memory.seen) < 4 * wanted:
            progress[WANTED] = wanted * length
            return NEEDS_ROOM
        progress[STAMP] += 1
        progress[FOUND_BEFORE] = progress[FOUND]
        progress[LAST] = progress[GROUP] = progress[MATCH_GROUP] = NOTHING
        memory.count[p] += length
        row = memory.head[p]
        memory.head[p], memory.size[p] = NOTHING, 0
        while row != NOTHING:
            after = memory.run[row, NEXT]
            _take_arcs(machine, steps, memory, progress, row, (p, k), call, columns)
            memory.free[progress[FREE]] = row
            progress[FREE] += 1
            row = after
        begun = memory.run[INITIAL]
        begun[START] = steps.positions[steps.begin[k]] if len(steps.begin) else steps.base + k
        begun[RANK], begun[TIME] = memory.count[p] - length, steps.times[k]
        for state in arcs.starts:
            begun[STATE] = state
            _take_arcs(machine, steps, memory, progress, INITIAL, (p, k), call, columns)
        if rules.consumes and progress[FOUND] > progress[FOUND_BEFORE]:
            _drop_runs(memory, progress, p)
        progress[STEP] = k + 1
    return DONE


@inlined
def _take_arcs(
    machine: Any, steps: Any, memory: Any, progress: Any, row: int, at: Any, call: Any, columns: Any
) -> None:
    """What becomes of a run at a step; `at` are its partition and the step."""
    arcs, rules, run = machine.arcs, machine.rules, memory.run
    p, k = at
    if rules.timed and steps.times[k] - run[row, TIME] > rules.ticks:
        return
    if rules.counted and memory.count[p] - run[row, RANK] > rules.events:
        return
    state, word = run[row, STATE], steps.words[k]
    for a in range(arcs.first[state], arcs.first[state + 1]):
        if word & arcs.asked[a] == arcs.asked[a] and _fires(
            machine, steps, memory, progress, (row, k, a), call, columns
        ):
            _follow(machine, steps, memory, progress, (row, p, k, a), call, columns)


@inlined
def _fires(machine: Any, steps: Any, memory: Any, progress: Any, at: Any, call: Any, columns: Any) -> bool:
    """Whether what an arc asks of the register holds."""
    arcs = machine.arcs
    row, k, a = at
    part, after = arcs.part[a], arcs.part[a + 1]
    for i in range(part[SINCE], after[SINCE]):
        reset = memory.register[row, arcs.since[i, 0]]
        passed = steps.times[k] - reset
        if reset == NULL or passed < arcs.since[i, 1] or passed > arcs.since[i, 2]:
            return False
    for i in range(part[CHECKS], after[CHECKS]):
        if not _passes(arcs.check[i], memory.register[row, arcs.check[i, OF]], steps.terms, k):
            return False
    for i in range(part[FORMULAS], after[FORMULAS]):
        f, formulas = arcs.formula[i], machine.formulas
        _compute(formulas, f, memory.register, row, steps.terms, k)
        last = formulas.first[f + 1] - formulas.first[f] - 1
        if formulas.is_null[last] or formulas.place[last] == 0:
            return False
    if call is not None:
        for i in range(part[CALLS], after[CALLS]):
            progress[AT_STEP], progress[AT_ARC] = k, a
            if call(arcs.call[i], columns, _events_of(steps, k), k, memory.register, row) != 1:
                return False
    return True


@inner
def _compute(formulas: Any, f: int, values: Any, row: int, terms: Any, k: int) -> None:
    """Few arcs need a formula: what is handed over for one costs less than loops that have no registers left."""
    compute(formulas, f, values, row, terms, k)


@inlined
def _passes(check: Any, held: int, terms: Any, k: int) -> bool:
    """Whether a comparison of a field holds; no comparison with NULL does."""
    other = check[CONSTANT] if check[TERM] < 0 else terms[check[TERM], k]
    if held == NULL or other == NULL:
        return False
    if check[OF_FLOATS]:
        return bool(_compared(check[OPERATOR], _float_of(held), _float_of(other)))
    return bool(_compared(check[OPERATOR], held, other))


@inlined
def _float_of(number: int) -> float:
    return float(np.int64(number if number >= 0 else number ^ _GREATEST).view(np.float64))


@inlined
def _compared(operator: int, x: Any, y: Any) -> bool:
    if operator == EQUAL:
        return bool(x == y)
    if operator == UNEQUAL:
        return bool(x != y)
    if operator == LESS:
        return bool(x < y)
    if operator == AT_MOST:
        return bool(x <= y)
    return bool(x > y) if operator == MORE else bool(x >= y)


@inlined
def _events_of(steps: Any, k: int) -> Any:
    """Where the events of a step are among the columns."""
    if len(steps.begin):
        return steps.begin[k], steps.begin[k + 1]
    return np.int64(k), np.int64(k + 1)


@inlined
def _follow(machine: Any, steps: Any, memory: Any, progress: Any, at: Any, call: Any, columns: Any) -> None:
    """The run after an arc, if no other has become the same; and its match, if it has one."""
    arcs, rules, run = machine.arcs, machine.rules, memory.run
    row, p, k, a = at
    progress[FREE] -= 1
    new = memory.free[progress[FREE]]
    for column in range(START, RUN_COLUMNS):
        run[new, column] = run[row, column]
    run[new, STATE] = arcs.target[a]
    for place in range(memory.register.shape[1]):
        memory.register[new, place] = memory.register[row, place]
    _write(machine, steps, memory, progress, (row, new, k, a), call, columns)
    if arcs.mark[a]:
        _mark(steps, memory, progress, k, arcs.mark[a], new)
    if not _is_new(memory, progress, new):
        progress[FREE] += 1
        return
    run[new, NEXT] = NOTHING
    if progress[LAST] == NOTHING:
        memory.head[p] = new
    else:
        run[progress[LAST], NEXT] = new
    progress[LAST] = new
    memory.size[p] += 1
    if arcs.accepts[a] and (not rules.limit or progress[FOUND] - progress[FOUND_BEFORE] < rules.limit):
        end = steps.positions[steps.begin[k + 1] - 1] if len(steps.begin) else steps.base + k
        _report(rules, memory, progress, new, end)


@inlined
def _write(machine: Any, steps: Any, memory: Any, progress: Any, at: Any, call: Any, columns: Any) -> None:
    """The transfer of an arc: every value is of the register before it."""
    arcs, formulas = machine.arcs, machine.formulas
    row, new, k, a = at
    part, after = arcs.part[a], arcs.part[a + 1]
    for i in range(part[WRITES], after[WRITES]):
        write, found = arcs.write[i], np.int64(NULL)
        how = write[HOW]
        if how == OF_CONSTANT:
            found = write[ADDED]
        elif how == OF_TERM:
            found = steps.terms[write[BY], k]
        elif how == BY_ADDING:
            held, added = memory.register[row, write[BY]], write[ADDED]
            beyond = held > _GREATEST - added if added > 0 else held < NULL - added
            if held != NULL and not beyond:
                found = held + added
                progress[BEYOND] |= found <= UNSET
        elif how == BY_FORMULA:
            f = write[BY]
            _compute(formulas, f, memory.register, row, steps.terms, k)
            last = formulas.first[f + 1] - formulas.first[f] - 1
            if not formulas.is_null[last] and write[A_FLOAT]:
                found = number_of(formulas.place_float[last])
            elif not formulas.is_null[last]:
                found = formulas.place[last]
                progress[BEYOND] |= found <= UNSET
        elif call is not None:
            progress[AT_STEP], progress[AT_ARC] = k, a
            found = call(write[BY], columns, _events_of(steps, k), k, memory.register, row)
        memory.register[new, write[TO]] = found
    for i in range(part[RESETS], after[RESETS]):
        memory.register[new, arcs.reset[i]] = steps.times[k]


@inner
def number_of(value: float) -> Any:
    """The whole number that stands for a float: in the same order, NaN above all others."""
    if value != value:
        return np.int64(np.float64(np.nan).view(np.int64))
    bits = np.int64(np.float64(value + 0.0).view(np.int64))
    return bits if bits >= 0 else bits ^ _GREATEST


@inlined
def _mixed(hashed: int, word: int) -> int:
    hashed = (hashed ^ word) * -7046029254386353131
    return hashed ^ (hashed >> 32)


@inner
def _mark(steps: Any, memory: Any, progress: Any, k: int, mark: int, new: int) -> None:
    """Marks the events of a step."""
    run, node = memory.run, memory.node
    first, last = _events_of(steps, k)
    for e in range(first, last):
        position = steps.positions[e] if len(steps.begin) else steps.base + k
        made, before = progress[NODES], run[new, NODE]
        progress[NODES] += 1
        node[made, BEFORE], node[made, POSITION], node[made, MARK] = before, position, mark
        node[made, LENGTH] = 1 + (node[before, LENGTH] if before != NOTHING else 0)
        run[new, NODE] = made
        run[new, HASH] = _mixed(_mixed(run[new, HASH], position), mark)


@inlined
def _is_new(memory: Any, progress: Any, new: int) -> bool:
    """Whether no run of the new list is the same; if so, later ones are compared with it."""
    run, group = memory.run, progress[GROUP]
    if group == NOTHING or run[group, START] != run[new, START]:
        progress[GROUP], progress[HASHED] = new, 0
        return True
    if not progress[HASHED]:
        _look_up(memory, progress[STAMP], group)
        progress[HASHED] = 1
    return bool(_look_up(memory, progress[STAMP], new))


@inner
def _look_up(memory: Any, stamp: int, row: int) -> bool:
    """Puts a run into the table; False if the same is there."""
    run, register, seen = memory.run, memory.register, memory.seen
    hashed = _mixed(_mixed(run[row, HASH], run[row, STATE]), run[row, START])
    for place in range(register.shape[1]):
        hashed = _mixed(hashed, register[row, place])
    mask = len(seen) - 1
    slot = hashed & mask
    while seen[slot, 0] == stamp:
        other = seen[slot, 1]
        same = run[other, STATE] == run[row, STATE] and run[other, START] == run[row, START]
        for place in range(register.shape[1]):
            same = same and register[other, place] == register[row, place]
        if same and _same_marks(memory.node, run[other, NODE], run[row, NODE]):
            return False
        slot = (slot + 1) & mask
    seen[slot, 0], seen[slot, 1] = stamp, row
    return True


@inner
def _same_marks(node: Any, a: int, b: int) -> bool:
    while a != b:
        if a == NOTHING or b == NOTHING or node[a, POSITION] != node[b, POSITION] or node[a, MARK] != node[b, MARK]:
            return False
        a, b = node[a, BEFORE], node[b, BEFORE]
    return True


@inlined
def _report(rules: Any, memory: Any, progress: Any, row: int, end: int) -> None:
    """Notes the match of a run, unless another run has the same."""
    match, run, found = memory.match, memory.run, progress[FOUND]
    match[found, MATCH_START], match[found, MATCH_END] = run[row, START], end
    match[found, MATCH_NODE], match[found, MATCH_HASH] = run[row, NODE], run[row, HASH]
    for place in range(memory.register.shape[1]):
        memory.held[found, place] = memory.register[row, place]
    if rules.repeats:
        group = progress[MATCH_GROUP]
        if group == NOTHING or match[group, MATCH_START] != run[row, START]:
            progress[MATCH_GROUP], progress[MATCH_HASHED] = found, 0
        else:
            if not progress[MATCH_HASHED]:
                _look_up_match(rules, memory, progress[STAMP], group)
                progress[MATCH_HASHED] = 1
            if not _look_up_match(rules, memory, progress[STAMP], found):
                return
    progress[FOUND] = found + 1


@inner
def _look_up_match(rules: Any, memory: Any, stamp: int, row: int) -> bool:
    """Puts a match into the table; False if the same is there."""
    match, held, told = memory.match, memory.held, memory.told
    hashed = _mixed(match[row, MATCH_HASH], match[row, MATCH_START])
    for place in rules.shown:
        hashed = _mixed(hashed, held[row, place])
    mask = len(told) - 1
    slot = hashed & mask
    while told[slot, 0] == stamp:
        other = told[slot, 1]
        same = match[other, MATCH_START] == match[row, MATCH_START]
        for place in rules.shown:
            same = same and held[other, place] == held[row, place]
        if same and _same_marks(memory.node, match[other, MATCH_NODE], match[row, MATCH_NODE]):
            return False
        slot = (slot + 1) & mask
    told[slot, 0], told[slot, 1] = stamp, row
    return True


@inner
def _drop_runs(memory: Any, progress: Any, p: int) -> None:
    """After a match that consumes: what has begun by now begins no other."""
    row = memory.head[p]
    while row != NOTHING:
        memory.free[progress[FREE]] = row
        progress[FREE] += 1
        row = memory.run[row, NEXT]
    memory.head[p], memory.size[p] = NOTHING, 0


#: For an automaton without Python functions; with them, Numba makes one of its own for each.
advance_runs = evaluator(step_over)


# ---------------------------------------------------------------- between batches


@kernel
def open_rows(head: Any, run: Any, rows: Any, partitions: Any) -> int:
    """The rows of all runs, partition by partition; gives how many there are."""
    count = 0
    for p in range(len(head)):
        row = head[p]
        while row != NOTHING:
            rows[count], partitions[count] = row, p
            count += 1
            row = run[row, NEXT]
    return count


@kernel
def drop_expired(memory: Any, progress: Any, before: int) -> None:
    """Drops the runs that began before this time; a list is in the order of its starts."""
    for p in range(len(memory.head)):
        row = memory.head[p]
        while row != NOTHING and memory.run[row, TIME] < before:
            memory.free[progress[FREE]] = row
            progress[FREE] += 1
            memory.size[p] -= 1
            row = memory.run[row, NEXT]
        memory.head[p] = row


@kernel
def unroll(nodes: Any, node: Any, offset: Any, position: Any, mark: Any) -> None:
    """The marked events of each of these chains, in their order: those of chain `m` from `offset[m]` on."""
    for m in range(len(nodes)):
        at, n = offset[m + 1], nodes[m]
        while n != NOTHING:
            at -= 1
            position[at], mark[at] = node[n, POSITION], node[n, MARK]
            n = node[n, BEFORE]


@kernel
def keep_nodes(used: Any, node: Any, count: int, number: Any) -> int:
    """Moves the nodes of these chains together; `number` becomes the new number of each. Gives how many stay."""
    for m in range(len(used)):
        n = used[m]
        while n != NOTHING and number[n] == NOTHING:
            number[n] = 0
            n = node[n, BEFORE]
    kept = 0
    for n in range(count):
        if number[n] != NOTHING:
            before = node[n, BEFORE]
            for column in range(NODE_COLUMNS):
                node[kept, column] = node[n, column]
            node[kept, BEFORE] = number[before] if before != NOTHING else NOTHING
            number[n] = kept
            kept += 1
    return kept
