"""`p AFTER q`: all that stands before `p` is a match of `q`, the prefix of Praveen and Hitarth, definition 3.2.

A deterministic machine beside the query reads the stream from its first event on, as the runs of `q` that began there.
Its state just before an event is a condition on the first event of `p`.
"""

from __future__ import annotations

from collections import defaultdict

from ensue.automata.build.limits import MAX_PREDICATES, Unsupported
from ensue.automata.model import Automaton, Builder
from ensue.automata.predicates import ALWAYS, Guard, Machine, cells, conjunction, implied, predicates_of
from ensue.language import ast

#: The most states of the machine: they multiply the classes of events.
MOST_STATES = 256
#: How the machine's name begins.
BEFORE = "before: "
_Subset = frozenset[int]
#: The state after an event, by state and by cell of events.
_Table = list[list[int]]


def construct(p: Automaton, part: ast.Node, past: Automaton | None, name: str, *, begins: bool) -> Automaton:
    """The runs of `p` that start behind a match of `past`, or, if it `begins`, with the first event."""
    starts = _starts(part, past, name, begins)
    made = Builder(0)
    for t in p.transitions:
        for start in starts if t.source == 0 else [ALWAYS]:
            made.add(t.source, conjunction(t.guard, start), t.label, t.target, final=t.target in p.finals)
    return made.build()


def _starts(part: ast.Node, past: Automaton | None, name: str, begins: bool) -> list[Guard]:
    """The guards of which one holds at an event that `p` may start with."""
    past = past or Automaton(1, frozenset(), ())
    predicates = predicates_of(t.guard for t in past.transitions)
    if len(predicates) > MAX_PREDICATES:
        raise Unsupported(part, f"more than {MAX_PREDICATES} different conditions behind AFTER")
    alphabet = list(cells(predicates))
    table, over = determinised(part, past, alphabet, begins=begins, behind="AFTER")
    table, over = _minimised(table, over)
    if all(over):
        return [ALWAYS]
    names = tuple("is over" if done else "is not over" for done in over)
    steps = tuple(tuple(zip(alphabet, row, strict=True)) for row in table)
    machine = Machine(f"{BEFORE}{name or '()'}", names, steps)
    return [machine.is_in(state) for state, done in enumerate(over) if done]


def determinised(
    part: ast.Node, past: Automaton, alphabet: list[Guard], *, begins: bool, behind: str
) -> tuple[_Table, list[bool]]:
    """The subsets of states that runs from the first event on can be in, and in which of them one has ended."""
    first: _Subset = frozenset({0})
    subsets, number = [first], {first: 0}
    table: _Table = []
    while len(table) < len(subsets):
        row = []
        for cell in alphabet:
            after = frozenset(
                t.target for s in subsets[len(table)] for t in past.outgoing.get(s, ()) if implied(cell, t.guard)
            )
            if after not in number:
                number[after] = len(subsets)
                subsets.append(after)
            row.append(number[after])
        table.append(row)
        if len(subsets) > MOST_STATES:
            raise Unsupported(part, f"a pattern behind {behind} whose automaton has more than {MOST_STATES} states")
    over = [not subset.isdisjoint(past.finals) for subset in subsets]
    return table, [begins, *over[1:]]


def _minimised(table: _Table, over: list[bool]) -> tuple[_Table, list[bool]]:
    """The same with one state for all that cannot be told apart (Moore); state 0 stays the first."""
    block = [int(done) for done in over]
    while True:
        refined: dict[tuple[int, ...], int] = {}
        seen = ((b, *(block[t] for t in row)) for b, row in zip(block, table, strict=True))
        after = [refined.setdefault(blocks, len(refined)) for blocks in seen]
        if len(refined) == len(set(block)):
            break
        block = after
    members: dict[int, list[int]] = defaultdict(list)
    for state, b in enumerate(after):
        members[b].append(state)
    return [[after[t] for t in table[of[0]]] for of in members.values()], [over[of[0]] for of in members.values()]
