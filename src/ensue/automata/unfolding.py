"""The deterministic automaton of a windowed pattern, as far as streams lead into it.

The whole automaton can double with each event of the window. A stream meets only some of its states: a state is made
when a run first comes to it, and a step when it is first taken (Alevizos et al., section 6, determinise on the fly).
What the stream does not ask is never decided, so no min-terms are needed: a step is found by the answers that the
event gives to what its state asks.
"""

from __future__ import annotations

from collections.abc import Collection

from ensue.automata.model import TooLarge
from ensue.automata.predicates import Predicate
from ensue.automata.registers import Condition
from ensue.automata.windowed_determinisation import Construction, Move, State
from ensue.language import ast

#: More steps than this take more memory and time than a run is worth.
MOST_STEPS = 200_000
#: What a state asks of an event: a condition on it alone, or a check of what was stored.
Question = Predicate | Condition


class Unfolding:
    """States by their numbers, with what they ask; and what comes after each, once it was asked for."""

    def __init__(self, construction: Construction) -> None:
        self._construction = construction
        self._states: list[State] = []
        self._numbers: dict[State, int] = {}
        self._moves: list[list[Move]] = []
        self.questions: dict[Question, int] = {}
        self.ends: dict[int, tuple[int, ...]] = {}
        self.steps = 0
        self._number(State(frozenset(), None))

    @property
    def size(self) -> int:
        """How many states there are so far."""
        return len(self._states)

    @property
    def values(self) -> list[ast.Expression | None]:
        """What registers hold of an event; None is its time."""
        return self._construction.values

    def asked(self, state: int) -> frozenset[int]:
        """The numbers of what the state asks."""
        needs = [move.needed for move in self._moves[state]]
        asked = [q for n in needs for q in (*(p for p, _ in n.guard), *n.conditions)]
        return frozenset(self.questions.setdefault(q, len(self.questions)) for q in sorted(set(asked), key=str))

    def after(self, state: int, true: Collection[int]) -> int:
        """The state after an event of which, of all that its state asks, exactly this is true; raises TooLarge."""
        if self.steps == MOST_STEPS:
            raise TooLarge(MOST_STEPS)
        self.steps += 1
        taken = (
            move
            for move in self._moves[state]
            if all((self.questions[p] in true) == positive for p, positive in move.needed.guard)
            and all(self.questions[c] in true for c in move.needed.conditions)
        )
        return self._number(self._construction.after(taken)[0])

    def _number(self, state: State) -> int:
        if state not in self._numbers:
            self._numbers[state] = len(self._states)
            self._states.append(state)
            self._moves.append(self._construction.moves(state))
            if state.ended is not None:
                self.ends[self._numbers[state]] = tuple(sorted(k - 1 for k in state.ended))
        return self._numbers[state]
