"""Decision diagrams: functions of yes-or-no questions to whole numbers, shared wherever they are equal.

A transition function of an automaton over formulas asks of a letter which conditions its event satisfies and which
tracks mark it. As a diagram it needs no line for each of the 2^n letters (Klarlund and Møller's MONA does the same).
Equal diagrams have equal numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

#: A diagram: a number of a node if it is 0 or more; else a leaf, whose value is -1 minus it.
Diagram = int
#: About a second of work.
MOST_WORK = 600_000


class TooMuchWork(Exception):
    """Raised if diagrams become so large that an automaton would take too long to make."""


def leaf(value: int) -> Diagram:
    return -1 - value


def value_of(d: Diagram) -> int:
    return -1 - d


class Diagrams:
    """The diagrams of one formula: each question has a level, and is asked before those of higher levels.

    >>> made = Diagrams()
    >>> both = made.node(0, leaf(0), made.node(1, leaf(0), leaf(1)))
    >>> [(path, value) for path, value in made.paths(both) if value]
    [({0: True, 1: True}, 1)]
    """

    def __init__(self) -> None:
        self._nodes: list[tuple[int, Diagram, Diagram]] = []
        self._numbers: dict[tuple[int, Diagram, Diagram], int] = {}
        self.work = 0

    def node(self, level: int, no: Diagram, yes: Diagram) -> Diagram:
        """The diagram that asks the question of this level, and goes on so."""
        if no == yes:
            return no
        key = (level, no, yes)
        if key not in self._numbers:
            self._numbers[key] = len(self._nodes)
            self._nodes.append(key)
        return self._numbers[key]

    def _split(self, d: Diagram, level: int) -> tuple[Diagram, Diagram]:
        """What the diagram comes to where the question of this level, the first it can ask, is answered no or yes."""
        if d >= 0 and self._nodes[d][0] == level:
            return self._nodes[d][1:]
        return d, d

    def mapped(self, d: Diagram, change: Callable[[int], int], kept: dict[Diagram, Diagram]) -> Diagram:
        """The diagram with other values; `kept` holds what the same change has made before."""
        if d < 0:
            return leaf(change(value_of(d)))
        if d not in kept:
            self._worked()
            level, no, yes = self._nodes[d]
            kept[d] = self.node(level, self.mapped(no, change, kept), self.mapped(yes, change, kept))
        return kept[d]

    def combined(
        self, d: Diagram, e: Diagram, join: Callable[[int, int], int], kept: dict[tuple[Diagram, Diagram], Diagram]
    ) -> Diagram:
        """The diagram of the joined values of two; `kept` holds what the same join has made before."""
        if d < 0 and e < 0:
            return leaf(join(value_of(d), value_of(e)))
        if (d, e) not in kept:
            self._worked()
            level = min(self._nodes[x][0] for x in (d, e) if x >= 0)
            (no, yes), (other_no, other_yes) = self._split(d, level), self._split(e, level)
            kept[d, e] = self.node(
                level, self.combined(no, other_no, join, kept), self.combined(yes, other_yes, join, kept)
            )
        return kept[d, e]

    def answered(self, d: Diagram, answers: Mapping[int, bool], kept: dict[Diagram, Diagram]) -> Diagram:
        """The diagram where some questions have these answers, so that it does not ask them."""
        if d < 0:
            return d
        if d not in kept:
            self._worked()
            level, no, yes = self._nodes[d]
            if level in answers:
                kept[d] = self.answered(yes if answers[level] else no, answers, kept)
            else:
                kept[d] = self.node(level, self.answered(no, answers, kept), self.answered(yes, answers, kept))
        return kept[d]

    def values(self, d: Diagram) -> set[int]:
        """All values that the diagram can come to."""
        seen, waiting, found = {d}, [d], set()
        while waiting:
            top = waiting.pop()
            if top < 0:
                found.add(value_of(top))
                continue
            for below in self._nodes[top][1:]:
                if below not in seen:
                    seen.add(below)
                    waiting.append(below)
        return found

    def paths(self, d: Diagram) -> Iterator[tuple[dict[int, bool], int]]:
        """The answers that are asked for on each way through the diagram, and the value at its end."""
        if d < 0:
            yield {}, value_of(d)
            return
        level, no, yes = self._nodes[d]
        for answer, below in ((True, yes), (False, no)):
            for path, value in self.paths(below):
                yield {level: answer, **path}, value

    def _worked(self) -> None:
        self.work += 1
        if self.work > MOST_WORK:
            raise TooMuchWork
