"""The output of every engine: the complex events of a query as positions in its stream, in flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.events import integers

Positions = npt.NDArray[np.int64]
MarkNumbers = npt.NDArray[np.uint16]
Variables = frozenset[str]
#: From this many matches on, results are built on several cores.
MANY = 1 << 16


@dataclass(frozen=True)
class Marks:
    """The positions that one variable marks: those of match `m` are `positions[offsets[m]:offsets[m + 1]]`."""

    offsets: Positions
    positions: Positions

    def of(self, match: int) -> Positions:
        return self.positions[self.offsets[match] : self.offsets[match + 1]]


@dataclass(frozen=True)
class Piece:
    """Some matches: the marked events of match `m` are those from `offset[m]` to `offset[m + 1]`, in stream order."""

    start: Positions
    end: Positions
    offset: Positions
    position: Positions
    mark: MarkNumbers  # the number of the set of variables that mark the event
    #: What aggregates come to in each match, by their texts, where they were computed while the matches were found.
    computed: Mapping[str, pa.Array] = field(default_factory=dict)

    def copy(self) -> Piece:
        """A copy of the matches in new memory."""
        offset, position = self.offset.copy(), self.position.copy()
        return Piece(self.start.copy(), self.end.copy(), offset, position, self.mark.copy(), self.computed)

    def part(self, first: int, last: int) -> Piece:
        """The matches from `first` up to `last`, on the same memory."""
        begin, end = self.offset[first], self.offset[last]
        offset = self.offset[first : last + 1]
        return Piece(
            self.start[first:last],
            self.end[first:last],
            offset - begin if begin else offset,
            self.position[begin:end],
            self.mark[begin:end],
            {text: values.slice(first, last - first) for text, values in self.computed.items()},
        )

    @property
    def nbytes(self) -> int:
        """What the arrays take."""
        arrays = (self.start, self.end, self.offset, self.position, self.mark, *self.computed.values())
        return sum(array.nbytes for array in arrays)

    def has_each(self, marks: MarkNumbers) -> bool:
        """Whether every match has exactly these marks."""
        width = len(marks)
        return (
            len(self.mark) == width * len(self.start)
            and bool((np.diff(self.offset) == width).all())
            and bool((self.mark.reshape(-1, width) == marks).all())
        )


def _together(parts: Sequence[npt.NDArray[Any]], type_: Any = np.int64) -> npt.NDArray[Any]:
    """The parts joined into one array; a single part is not copied."""
    if len(parts) == 1:
        return np.ascontiguousarray(parts[0])
    return np.concatenate(parts) if parts else np.zeros(0, dtype=type_)


@dataclass(frozen=True)
class ComplexEvents:
    """Matches in pieces, as engines write them; the single arrays over all pieces are built when first needed."""

    pieces: tuple[Piece, ...]
    sets: Sequence[Variables]  # the sets of variables; `mark` holds their numbers
    #: Where matches are windows that were found by their ends: the variable that marks all events from the first of a
    #: window to its last, in its partition. The pieces then mark the first only.
    span: str | None = None

    @classmethod
    def of(cls, complex_events: Iterable[tuple[int, int, Iterable[tuple[str, int]]]]) -> ComplexEvents:
        """Makes them from starts, ends, and marks given as pairs of a variable and a position."""
        starts: list[int] = []
        ends: list[int] = []
        offsets = [0]
        positions: list[int] = []
        marks: list[int] = []
        number: dict[Variables, int] = {}
        for start, end, pairs in complex_events:
            by_position: dict[int, set[str]] = {}
            for variable, position in pairs:
                by_position.setdefault(position, set()).add(variable)
            for position in sorted(by_position):
                positions.append(position)
                marks.append(number.setdefault(frozenset(by_position[position]), len(number)))
            starts.append(start)
            ends.append(end)
            offsets.append(len(positions))
        piece = Piece(
            np.array(starts, dtype=np.int64),
            np.array(ends, dtype=np.int64),
            np.array(offsets, dtype=np.int64),
            np.array(positions, dtype=np.int64),
            np.array(marks, dtype=np.uint16),
        )
        return cls((piece,), list(number))

    def __len__(self) -> int:
        return sum(len(p.start) for p in self.pieces)

    def each(self) -> Iterator[tuple[int, int, frozenset[tuple[str, int]]]]:
        """The matches one by one, as `of` takes them."""
        for m in range(len(self)):
            places = range(self.offset[m], self.offset[m + 1])
            marks = ((x, int(self.position[k])) for k in places for x in self.sets[self.mark[k]])
            yield int(self.start[m]), int(self.end[m]), frozenset(marks)

    @property
    def marked_of(self) -> dict[str, int]:
        """How many events each variable marks in the matches, all together."""
        counts = sum((np.bincount(p.mark, minlength=len(self.sets)) for p in self.pieces), np.zeros(1, np.int64))
        found: dict[str, int] = {}
        for set_, count in zip(self.sets, counts.tolist(), strict=False):
            for x in set_:
                found[x] = found.get(x, 0) + count
        return found

    @property
    def marked(self) -> int:
        """The total number of marks: the sum of the marked events of all matches."""
        return sum(len(p.position) for p in self.pieces)

    @property
    def nbytes(self) -> int:
        """The bytes of all pieces."""
        return sum(p.nbytes for p in self.pieces)

    def first(self, count: int) -> ComplexEvents:
        """The first `count` matches, in the same memory."""
        pieces: list[Piece] = []
        for piece in self.pieces:
            taken = min(count, len(piece.start))
            pieces.append(piece.part(0, taken))
            count -= taken
            if not count:
                break
        return replace(self, pieces=tuple(pieces))

    def in_parts(self, marked: int) -> Iterator[ComplexEvents]:
        """The matches in their order, in parts of at most `marked` events or one match, in the same memory."""
        pieces: list[Piece] = []
        room = marked
        for piece in self._filled:
            first = 0
            while first < len(piece.start):
                last = int(np.searchsorted(piece.offset, piece.offset[first] + room, side="right")) - 1
                last = min(last, len(piece.start))
                if last == first and not pieces:
                    last += 1
                if last > first:
                    pieces.append(piece.part(first, last))
                    room -= int(piece.offset[last] - piece.offset[first])
                    first = last
                if first < len(piece.start):
                    yield replace(self, pieces=tuple(pieces))
                    pieces, room = [], marked
        if pieces:
            yield replace(self, pieces=tuple(pieces))

    @cached_property
    def start(self) -> Positions:
        return _together([p.start for p in self._filled])

    @cached_property
    def end(self) -> Positions:
        return _together([p.end for p in self._filled])

    @cached_property
    def offset(self) -> Positions:
        if len(self._filled) == 1:
            return self._filled[0].offset
        before = np.cumsum([0, *(len(p.position) for p in self._filled)])
        return _together(
            [np.zeros(1, dtype=np.int64), *(p.offset[1:] + b for p, b in zip(self._filled, before, strict=False))]
        )

    @cached_property
    def position(self) -> Positions:
        return _together([p.position for p in self._filled])

    @cached_property
    def mark(self) -> MarkNumbers:
        return _together([p.mark for p in self._filled], np.uint16)

    @cached_property
    def computed(self) -> Mapping[str, pa.Array]:
        """What aggregates come to in each match, by their texts, as far as it is known."""
        if len(self._filled) == 1:
            return self._filled[0].computed
        texts = self._filled[0].computed if self._filled else ()
        return {text: pa.concat_arrays([p.computed[text] for p in self._filled]) for text in texts}

    def with_computed(self, computed: Mapping[str, pa.Array]) -> ComplexEvents:
        """The same with what is known of each match."""
        whole = Piece(self.start, self.end, self.offset, self.position, self.mark, computed)
        return replace(self, pieces=(whole,))

    @cached_property
    def _filled(self) -> list[Piece]:
        return [p for p in self.pieces if len(p.start)]

    def in_order(self, order: Positions) -> ComplexEvents:
        """The matches in another order, or some of them."""
        lengths = np.diff(self.offset)[order]
        offset = np.concatenate([[0], np.cumsum(lengths)])
        # The old index of each marked event: the first index of its match, plus its place in the match.
        source = np.repeat(self.offset[:-1][order] - offset[:-1], lengths) + np.arange(offset[-1])
        piece = Piece(self.start[order], self.end[order], offset, self.position[source], self.mark[source])
        if self.computed:
            places = integers(order)
            piece = replace(piece, computed={text: values.take(places) for text, values in self.computed.items()})
        return replace(self, pieces=(piece,))

    def shifted(self, by: int) -> ComplexEvents:
        """The same matches with `by` added to every position."""
        return self.moved(lambda positions: positions + by)

    def moved(self, place: Callable[[Positions], Positions]) -> ComplexEvents:
        """The same matches with every position replaced by what `place` returns for it."""
        piece = Piece(place(self.start), place(self.end), self.offset, place(self.position), self.mark, self.computed)
        return replace(self, pieces=(piece,))

    def only(self, variables: Variables) -> ComplexEvents:
        """The matches with the marks of these variables only; some complex events may become equal."""
        sets = list(dict.fromkeys(s & variables for s in self.sets))
        if sets == list(self.sets):
            return self
        number = {s: n for n, s in enumerate(sets)}
        mark = np.array([number[s & variables] for s in self.sets], dtype=np.uint16)[self.mark]
        shown = np.array([bool(s) for s in sets], dtype=np.bool_)[mark]
        before = np.concatenate([[0], np.cumsum(shown)])
        piece = Piece(self.start, self.end, before[self.offset], self.position[shown], mark[shown], self.computed)
        return replace(self, pieces=(piece,), sets=sets)

    def first_of_each_end(self, limit: int | None) -> ComplexEvents:
        """The first `limit` matches of each end; the matches must be in the order of their ends."""
        if limit is None or not len(self):
            return self
        first = np.searchsorted(self.end, self.end)
        return self.in_order(np.flatnonzero(np.arange(len(self)) - first < limit))

    def numbered(self, sets: Sequence[Variables]) -> ComplexEvents:
        """The same matches with the sets of variables numbered by their place in `sets`."""
        number = {s: n for n, s in enumerate(sets)}
        places = np.array([number[s] for s in self.sets], dtype=np.uint16)
        mark = places[self.mark] if len(places) else self.mark
        piece = Piece(self.start, self.end, self.offset, self.position, mark, self.computed)
        return replace(self, pieces=(piece,), sets=sets)

    @cached_property
    def _common_marks(self) -> MarkNumbers | None:
        """The marks of each match if all matches have the same, as for sequences without iterations; else None."""
        if not self._filled:
            return None
        marks = self._filled[0].mark[: self._filled[0].offset[1]]
        return marks if len(marks) and all(p.has_each(marks) for p in self._filled) else None

    @cached_property
    def _numbers(self) -> Positions:
        return np.arange(len(self) + 1)

    def variables(self) -> set[str]:
        """The variables that mark at least one event."""
        used = np.zeros(len(self.sets), dtype=np.bool_)
        used[self._common_marks if self._common_marks is not None else self.mark] = True
        return {x for number in np.flatnonzero(used).tolist() for x in self.sets[number]}

    def marks(self, variable: str) -> Marks:
        """The positions that one variable marks."""
        if self._common_marks is not None:
            own = [n for n, number in enumerate(self._common_marks.tolist()) if variable in self.sets[number]]
            if len(own) == 1:
                return Marks(
                    self._numbers, _together([p.position[own[0] :: len(self._common_marks)] for p in self._filled])
                )
            positions = self.position.reshape(len(self), len(self._common_marks))[:, own].reshape(-1)
            return Marks(self._numbers * len(own), positions)
        marked = np.array([variable in s for s in self.sets], dtype=np.bool_)[self.mark]
        places = np.flatnonzero(marked)
        if len(places) == len(self) and ((self.offset[:-1] <= places) & (places < self.offset[1:])).all():
            return Marks(self._numbers, self.position[places])  # one in each match: nothing to count
        before = np.concatenate([[0], np.cumsum(marked)])
        return Marks(before[self.offset], self.position[places])


def concatenated(parts: Iterable[ComplexEvents], sets: Sequence[Variables]) -> ComplexEvents:
    """The matches of all parts, one part after the other; all parts must have these sets of variables."""
    parts = list(parts)
    span = next((part.span for part in parts if part.span is not None), None)
    return ComplexEvents(tuple(piece for part in parts for piece in part.pieces), sets, span)


def merged_by_end(found: ComplexEvents) -> ComplexEvents:
    """Merges the matches of each end into one, with the earliest start and every event that one of them marks, once.

    The matches must be in the order of their ends. The result does not say which variables mark an event.

    >>> found = merged_by_end(ComplexEvents.of([(0, 2, [("x", 0), ("y", 2)]), (1, 2, [("x", 1), ("y", 2)])]))
    >>> found.start.tolist(), found.end.tolist(), found.position.tolist()
    ([0], [2], [0, 1, 2])
    """
    if not len(found):
        return ComplexEvents((), [frozenset()])
    first = np.concatenate([[True], np.diff(found.end) != 0])
    end = found.end[first]
    row = np.repeat(np.cumsum(first) - 1, np.diff(found.offset))
    # No match marks an event after its end, so a row and a position fit into one number.
    size = int(end[-1]) + 1
    each = np.unique(row * size + found.position)
    offset = np.searchsorted(each, np.arange(len(end) + 1) * size)
    start = np.minimum.reduceat(found.start, np.flatnonzero(first))
    piece = Piece(start, end, offset, each % size, np.zeros(len(each), dtype=np.uint16))
    return ComplexEvents((piece,), [frozenset()])
