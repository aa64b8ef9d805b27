"""The pairs of expressions that a formula stands for: what is before a window, and what the window is (lemma 3.3).

The printed proof takes a pair for each two transitions, reads the first event twice and loses windows of one event.
Here a pair is for all states that the same windows may start in: it is read off `splitting_at_begin.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ensue.automata.mso.splitting_at_begin import Move, Split
from ensue.automata.predicates import ALWAYS, Guard, Test, TypeIs, conjunction, predicates_of
from ensue.language.printer import print_name

#: Longer expressions are no help to a reader.
MOST_LETTERS = 40


@dataclass(frozen=True)
class Letter:
    """One event that satisfies one of the guards."""

    guards: frozenset[Guard]


@dataclass(frozen=True)
class Joined:
    """One after the other; none at all is the empty word."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True)
class Either:
    """One of the options; none at all is nothing."""

    options: frozenset[Regex]


@dataclass(frozen=True)
class Star:
    """None or more, one after the other."""

    body: Regex


Regex = Letter | Joined | Either | Star
EMPTY = Joined(())
NOTHING = Either(frozenset())


class Pair(NamedTuple):
    """The expression of what stands before a window, and of the window."""

    before: Regex
    window: Regex


def pairs_of(parts: Split) -> list[Pair] | None:
    """The pairs of a formula; None if an expression of them is too long to be read."""
    same: dict[tuple[Move, ...], list[int]] = defaultdict(list)
    for state, moves in parts.starts.items():
        if moves:
            same[moves].append(state)
    before: dict[tuple[Hashable, Hashable], Regex] = {}
    for state, moves in parts.before.items():
        _add(before, state, moves)
    inside: dict[tuple[Hashable, Hashable], Regex] = {}
    for state, moves in parts.inside.items():
        _add(inside, state, moves)
    found = []
    for moves, states in same.items():
        edges = dict(inside)
        _add(edges, "first", moves)
        pair = Pair(_expression(before, 0, states), _expression(edges, "first", [None]))
        if max(_letters(pair.before), _letters(pair.window)) > MOST_LETTERS:
            return None
        found.append(pair)
    return found


def _add(
    edges: dict[tuple[Hashable, Hashable], Regex], source: Hashable, moves: Iterable[tuple[Guard, Hashable]]
) -> None:
    for guard, target in moves:
        edges[source, target] = either(edges.get((source, target), NOTHING), Letter(frozenset({guard})))


def _expression(edges: Mapping[tuple[Hashable, Hashable], Regex], first: Hashable, finals: Iterable[Hashable]) -> Regex:
    """All words that lead from a state to one of others: states are taken out one by one."""
    left = {("start", first): EMPTY, **edges}
    for final in finals:
        left[final, "done"] = EMPTY
    states = {state for edge in left for state in edge} - {"start", "done"}
    while states:
        into, out = defaultdict(list), defaultdict(list)
        for (a, b), way in left.items():
            if a != b:
                into[b].append((a, way))
                out[a].append((b, way))
        # The state with the fewest ways through it first: that keeps expressions short.
        state = min(states, key=lambda s: (len(into[s]) * len(out[s]), str(s)))
        loop = star(left.get((state, state), NOTHING))
        for a, before in into[state]:
            for b, after in out[state]:
                left[a, b] = either(left.get((a, b), NOTHING), joined(before, loop, after))
        left = {edge: way for edge, way in left.items() if state not in edge}
        states.remove(state)
        if sum(map(_letters, left.values())) > 100 * MOST_LETTERS:
            return Joined((Letter(frozenset()),) * (MOST_LETTERS + 1))  # it is far too long already
    return left.get(("start", "done"), NOTHING)


def joined(*parts: Regex) -> Regex:
    if NOTHING in parts:
        return NOTHING
    flat: list[Regex] = []
    for part in parts:
        flat += part.parts if isinstance(part, Joined) else [part]
    for k in range(len(flat) - 1, 0, -1):  # x:* : x is x : x:*
        before = flat[k - 1]
        if isinstance(before, Star) and before.body == flat[k]:
            flat[k - 1], flat[k] = flat[k], before
    return flat[0] if len(flat) == 1 else Joined(tuple(flat))


def either(*options: Regex) -> Regex:
    flat: set[Regex] = set()
    for option in options:
        flat |= option.options if isinstance(option, Either) else {option}
    letters = [option for option in flat if isinstance(option, Letter)]
    if len(letters) > 1:
        flat = flat.difference(letters) | {Letter(frozenset().union(*(letter.guards for letter in letters)))}
    if EMPTY in flat and any(isinstance(option, Star) for option in flat):
        flat.remove(EMPTY)
    for option in sorted((o for o in flat if isinstance(o, Joined)), key=_letters):
        for less, shorter in _unrolled(option):
            if less in flat:
                return either(shorter, *(flat - {option, less}))
    return next(iter(flat)) if len(flat) == 1 else Either(frozenset(flat))


def _unrolled(r: Joined) -> Iterator[tuple[Regex, Regex]]:
    """What makes a shorter expression together with this one, and that: p and `p r r*` are `p r*`."""
    for k, part in enumerate(r.parts):
        if isinstance(part, Star):
            body = part.body.parts if isinstance(part.body, Joined) else (part.body,)
            before, after = r.parts[:k], r.parts[k + 1 :]
            if before[len(before) - len(body) :] == body and len(before) >= len(body):
                rest = before[: len(before) - len(body)]
                if not rest or not after:
                    yield joined(*rest, *after), joined(*rest, part, *after)


def star(body: Regex) -> Regex:
    if body in (NOTHING, EMPTY):
        return EMPTY
    if isinstance(body, Either) and EMPTY in body.options:
        return star(either(*(body.options - {EMPTY})))
    return body if isinstance(body, Star) else Star(body)


def _letters(r: Regex) -> int:
    match r:
        case Letter():
            return 1
        case Joined():
            return sum(map(_letters, r.parts))
        case Either():
            return sum(map(_letters, r.options))
    return _letters(r.body)


# ---------------------------------------------------------------- as text


def print_pair(pair: Pair, types: frozenset[str]) -> str:
    """The pair as in the clause WINDOW; `types` are all that the formula speaks of.

    >>> from ensue.automata.mso import compiled
    >>> from ensue.automata.mso.splitting_at_begin import split
    >>> from ensue.language.parser import parse_pattern
    >>> p = parse_pattern("(b TO e WHERE e IS B AND EXISTS x (x + 1 = b AND x IS A))")
    >>> [print_pair(pair, frozenset("AB")) for pair in pairs_of(split(compiled(p)))]
    ['(AFTER ANY[not(A)]:* : A : (ANY[not(A)]:* : A):* IS ANY:* : B)']
    """
    printer = _Printer(types)
    before = printer.text(pair.before)
    after = "" if before == "ANY:*" else f"AFTER {before or '()'} "
    return f"({after}IS {printer.text(pair.window)})"


@dataclass(frozen=True)
class _Printer:
    types: frozenset[str]

    def text(self, r: Regex, *, grouped: bool = False) -> str:
        """The expression; `grouped` puts what has several parts in parentheses."""
        match r:
            case Letter():
                shown = sorted(map(self._event, self._merged(r.guards)))
                return shown[0] if len(shown) == 1 else f"({' OR '.join(shown)})"
            case Joined():
                text = " : ".join(self._steps(r.parts))
                return f"({text})" if grouped and len(r.parts) != 1 else text
            case Either() if EMPTY in r.options:
                return f"{self.text(either(*(r.options - {EMPTY})), grouped=True)}?"
            case Either():
                return f"({' OR '.join(sorted(map(self.text, r.options)))})"
        return f"{self.text(r.body, grouped=True)}:*"

    def _steps(self, parts: tuple[Regex, ...]) -> Iterable[str]:
        """The steps of a sequence; `x : x:*` is `x:+`."""
        k = 0
        while k < len(parts):
            if k + 1 < len(parts) and parts[k + 1] == Star(parts[k]):
                yield f"{self.text(parts[k], grouped=True)}:+"
                k += 2
                continue
            yield self.text(parts[k], grouped=isinstance(parts[k], Joined))
            k += 1

    def _merged(self, guards: frozenset[Guard]) -> set[Guard]:
        """The same events with fewer guards: two that differ in one condition are one without it."""
        left = {self._with_all_types(g) for g in guards}
        changed = True
        while changed:
            changed = False
            for guard in sorted(left, key=len):
                for predicate, positive in guard:
                    other = (guard - {(predicate, positive)}) | {(predicate, not positive)}
                    if other in left:
                        left = (left - {guard, other}) | {guard - {(predicate, positive)}}
                        changed = True
                        break
                if changed:
                    break
        return {conjunction(g) or ALWAYS for g in left}

    def _with_all_types(self, guard: Guard) -> Guard:
        is_type = any(positive and isinstance(p, TypeIs) for p, positive in guard)
        known = {p.name for p, _ in guard if isinstance(p, TypeIs)}
        return guard | {(TypeIs(t), False) for t in self.types - known} if is_type else guard

    def _event(self, guard: Guard) -> str:
        name, said = "ANY", []
        for p in predicates_of([guard]):
            positive = (p, True) in guard
            if positive and isinstance(p, TypeIs):
                name = print_name(p.name)
            else:
                said.append(f"{p}" if positive else f"not({p})")
            assert isinstance(p, TypeIs | Test)
        return f"{name}[{' and '.join(said)}]" if said else name
