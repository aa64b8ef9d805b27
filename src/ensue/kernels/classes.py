"""Events to classes: the truth of all predicates at an event, folded to one small number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.automata.predicates import (
    Before,
    CameBefore,
    Guard,
    Machine,
    Past,
    Predicate,
    Test,
    TypeIs,
    machines_of,
    types_asked,
)
from ensue.columns.evaluation import holds
from ensue.columns.lookback import LookBack, spell_out
from ensue.columns.raw_arrays import Mask
from ensue.data.events import numbers, one_chunk
from ensue.errors import EngineError
from ensue.kernels.jit import kernel
from ensue.kernels.latest_starts import RunningLatestStart
from ensue.kernels.machines import RunningMachine
from ensue.kernels.wide_words import Pairs, placed
from ensue.language import ast
from ensue.plan.capacity import WORD_BITS

#: What a machine tells of each event.
Told = npt.NDArray[Any]
Words = npt.NDArray[Any]  # of unsigned integers, as large as the predicates need
Classes = npt.NDArray[np.uint16]
Codes = npt.NDArray[np.int32]
Positions = npt.NDArray[np.int64]

#: Up to so many predicates, classes are looked up in a table of all words.
_TABLE_BITS = 16
#: Above this share of the rows, taking the others out costs more than it saves.
_NEARLY_ALL = 0.8
_NO_CLASS = np.uint16(2**16 - 1)
_MOST_CLASSES = 2**16 - 1


class Classifier:
    """Evaluates the predicates of a query over batches, each once, and folds them to the class of each event.

    Predicates whose bit is in `given` come evaluated with the events; not so in a query with machines, which ask too.
    `guards` are all that the predicates stand in. They show of which types of events a test is asked.
    """

    def __init__(
        self,
        predicates: Sequence[Predicate],
        given: int = 0,
        tick: int | None = None,
        guards: Iterable[Guard] | None = None,
    ) -> None:
        machines = machines_of(predicates)
        assert not (machines and given)
        wanted = [p for k, p in enumerate(predicates) if not given >> k & 1]
        asked = dict.fromkeys(p for part in [*(m.predicates for m in machines), wanted] for p in part)
        shifted: dict[str, tuple[str, int]] = {}
        self._tests = {p: spell_out(p.expression, shifted) for p in asked if isinstance(p, Test)}
        self.look_back = LookBack(shifted.values())
        self._shifted = frozenset(shifted)
        asked_of = {} if guards is None else types_asked([*guards, *(g for m in machines for g in m.guards)])
        self._types_of = {p: types for p, types in asked_of.items() if _takes_long(p.expression)}
        # Of events whose types were asked before they came, only the answers are here.
        self._given_types = {p.name: k for k, p in enumerate(predicates) if isinstance(p, TypeIs) and given >> k & 1}
        self._folded = _folded(predicates, given)
        self._machines = [(_folded(m.predicates), _running(m, tick)) for m in machines]
        folded = (self._folded, *(f for f, _ in self._machines))
        self._asks_types = bool(self._types_of) or any(f.asks_types for f in folded)

    @property
    def words(self) -> list[int]:
        """The word of each class."""
        return self._folded.words

    @property
    def machines(self) -> list[RunningMachine | RunningLatestStart]:
        """The machines that run beside the query; a state between two batches has theirs."""
        return [machine for _, machine in self._machines]

    @property
    def needs_keys(self) -> bool:
        """Whether events are told apart by earlier ones, which in a query with partitions are those of their key."""
        return bool(self.look_back.wanted or self._machines)

    @property
    def needs_times(self) -> bool:
        """Whether events are told apart by how long ago something was."""
        return any(isinstance(machine, RunningLatestStart) for machine in self.machines)

    @property
    def needs_all_keys(self) -> bool:
        """Whether a key may never be forgotten: what came before in it has no time after which it does not matter."""
        return bool(self.look_back.wanted) or any(isinstance(m, RunningMachine) for m in self.machines)

    def recent_keys(self, now: int) -> Positions:
        """The keys with something that can still matter to an event of this time or later."""
        none = np.zeros(0, dtype=np.int64)
        return np.concatenate([none, *(m.recent(now) for m in self.machines if isinstance(m, RunningLatestStart))])

    def keep_keys(self, kept: Positions) -> None:
        """Keeps only these keys, numbered anew in this order."""
        for machine in self.machines:
            machine.keep(kept)

    def classify(
        self,
        table: pa.Table,
        types: pa.Array,
        keys: Positions | None,
        given: Words | None = None,
        times: Positions | None = None,
    ) -> tuple[Codes, Classes]:
        """A code for each event of a batch, and the class of each code."""
        encoded: tuple[Codes, list[str | None]] = (np.zeros(len(types), dtype=np.int32), [None])
        if self._asks_types:
            encoded = _type_codes(types)
        columns = self.look_back.columns(table, keys)
        rows = {types: self._rows_of(types, *encoded, given) for types in set(self._types_of.values())}
        asked = {p: rows[types] for p, types in self._types_of.items()}
        truth = {p: self._mask(e, table, columns, asked.get(p)) for p, e in self._tests.items()}
        told: dict[Past, Told] = {}
        seen = _Seen(*encoded, truth, told)
        for folded, machine in self._machines:
            codes, class_of = folded.classes(seen)
            classes = class_of[codes]
            if isinstance(machine, RunningMachine):
                told[machine.machine] = machine.run(classes, folded.words, keys, _begins(table, machine.machine))
            else:
                assert times is not None
                told[machine.machine] = machine.run(classes, folded.words, keys, times)
        return self._folded.classes(seen, given)

    def _rows_of(
        self, types: frozenset[str], codes: Codes, names: Sequence[str | None], given: Words | None
    ) -> Positions | None:
        """The rows of these types; None where they are nearly all."""
        asked = np.array([n in types for n in names])[codes]
        bits = sum(1 << k for name, k in self._given_types.items() if name in types)
        if given is not None and bits:
            asked |= given & given.dtype.type(bits) != 0
        found = np.flatnonzero(asked)
        return found if len(found) < _NEARLY_ALL * len(codes) else None

    def _mask(
        self, expression: ast.Expression, table: pa.Table, shifted: Mapping[str, pa.Array], rows: Positions | None
    ) -> Mask:
        """Where the expression is TRUE, of these rows or else of all."""
        names = {n.name for n in ast.find(expression, ast.Name)}
        columns = {n: shifted[n] if n in self._shifted else one_chunk(table.column(n)) for n in names}
        if rows is None:
            return holds(expression, columns, table.num_rows)
        mask = np.zeros(table.num_rows, dtype=np.bool_)
        mask[rows] = holds(expression, {n: column.take(pa.array(rows)) for n, column in columns.items()}, len(rows))
        return mask


def moves_of(machine: Machine, table: pa.Table, types: pa.Array, groups: Positions, count: int) -> Positions:
    """Where a machine is after the events of each group, by the state in which it was before: [group, state]."""
    classifier = Classifier(machine.predicates)
    codes, class_of = classifier.classify(table, types, None)
    return RunningMachine(machine).run_from_each(class_of[codes], classifier.words, groups, count)


def begins_in(machine: Machine) -> str:
    """The column that says where a machine is before the first event of a partition, after those it has read."""
    return f"\0begins: {machine.name}"


def _begins(table: pa.Table, machine: Machine) -> Positions | None:
    name = begins_in(machine)
    return table.column(name).to_numpy() if name in table.column_names else None


def _running(machine: Past, tick: int | None) -> RunningMachine | RunningLatestStart:
    return RunningMachine(machine) if isinstance(machine, Machine) else RunningLatestStart(machine, tick)


def _takes_long(e: ast.Expression) -> bool:
    """Whether evaluating it for a row takes longer than looking at the row's type first."""
    return any(isinstance(n, ast.Call | ast.Cast | ast.Like | ast.AtTimeZone) for n in ast.walk(e))


def _type_codes(types: pa.Array) -> tuple[Codes, list[str | None]]:
    """A code for each event's type, and the type of each code; the last one is for events without a type."""
    encoded = types if pa.types.is_dictionary(types.type) else types.dictionary_encode()
    names = [*encoded.dictionary.to_pylist(), None]
    indices = encoded.indices
    if indices.null_count:
        indices = indices.cast(pa.int32()).fill_null(len(names) - 1)
    codes: Codes = numbers(indices).astype(np.int32, copy=False)
    return codes, names


class _Seen(NamedTuple):
    """What is known of the events of a batch, of which their classes are made."""

    codes: Codes  # of each event's type
    names: Sequence[str | None]  # the type of each code
    truth: Mapping[Test, Mask]
    told: Mapping[Past, Told]

    def holding(self, p: Test | Before | CameBefore) -> Told:
        """At which events the predicate holds."""
        match p:
            case Test():
                return self.truth[p]
            case Before():
                holding: Told = self.told[p.machine] >> p.bit & 1
                return holding
        return self.told[p.machine]


def _folded(predicates: Sequence[Predicate], given: int = 0) -> _Folded | _FoldedInParts:
    return _Folded(predicates, given) if len(predicates) <= WORD_BITS else _FoldedInParts(predicates)


class _FoldedInParts:
    """The same for more predicates than a word has bits: types by themselves, and others as many at a time as fit."""

    def __init__(self, predicates: Sequence[Predicate]) -> None:
        bits = {p: 1 << k for k, p in enumerate(predicates)}
        self._types = {p.name: bit for p, bit in bits.items() if isinstance(p, TypeIs)}
        others = [p for p in predicates if not isinstance(p, TypeIs)]
        parts = [others[k : k + WORD_BITS] for k in range(0, len(others), WORD_BITS)]
        self._parts = [(_Folded(part), [bits[p] for p in part], Pairs()) for part in parts]
        self._words_of_types: list[int] = []
        self._class: dict[int, int] = {}

    @property
    def words(self) -> list[int]:
        return self._parts[-1][2].words if self._parts else self._words_of_types

    @property
    def asks_types(self) -> bool:
        """Whether events of different types can be of different classes."""
        return bool(self._types)

    def classes(self, seen: _Seen, given: Words | None = None) -> tuple[Codes, Classes]:
        """A code for each event, and the class of each code."""
        assert given is None, "what comes evaluated with the events fits one word"
        of_code = np.array([self._number(self._types.get(n, 0) if n is not None else 0) for n in seen.names])
        if not self._parts:
            return seen.codes, of_code.astype(np.uint16)
        found, words = of_code[seen.codes], self._words_of_types
        without_types = seen._replace(codes=np.zeros(len(found), dtype=np.int32), names=[None])
        for part, bits, pairs in self._parts:
            own, class_of = part.classes(without_types)
            found = pairs.numbered(found, class_of[own], words, [placed(w, bits) for w in part.words])
            words = pairs.words
        _check_number(len(words))
        return found.astype(np.int32), np.arange(len(words), dtype=np.uint16)

    def _number(self, word: int) -> int:
        if word not in self._class:
            self._class[word] = len(self._words_of_types)
            self._words_of_types.append(word)
        return self._class[word]


class _Folded:
    """Numbers the words of some predicates as they occur: bit `k` of a word says whether predicate `k` holds."""

    def __init__(self, predicates: Sequence[Predicate], given: int = 0) -> None:
        self.words: list[int] = []  # of each class
        small = len(predicates) <= _TABLE_BITS
        self._word: Any = np.uint16 if small else np.uint64
        wanted = [(k, p) for k, p in enumerate(predicates) if not given >> k & 1]
        self._types = {p.name: 1 << k for k, p in wanted if isinstance(p, TypeIs)}
        self._others = [(self._word(k), p) for k, p in wanted if isinstance(p, Test | Before | CameBefore)]
        self._table = np.full(1 << len(predicates), _NO_CLASS) if small else None
        self._class: dict[int, int] = {}

    @property
    def asks_types(self) -> bool:
        """Whether events of different types can be of different classes, and it is not known yet which."""
        return bool(self._types)

    def classes(self, seen: _Seen, given: Words | None = None) -> tuple[Codes, Classes]:
        """A code for each event, and the class of each code; `given` are bits that are known already."""
        of_code = np.array([self._types.get(n, 0) if n is not None else 0 for n in seen.names], dtype=self._word)
        if not self._others and given is None:
            return seen.codes, self._fold(of_code)  # a word for each type is all there is to look at
        words = of_code[seen.codes]
        if given is not None:
            words |= given.astype(self._word)
        for bit, p in self._others:
            holding = seen.holding(p)
            words |= holding.astype(self._word) << bit
        return self._fold(words).astype(np.int32), np.arange(len(self.words), dtype=np.uint16)

    def _fold(self, words: Words) -> Classes:
        if self._table is not None:
            classes: Classes = self._table[words]
            if (classes == _NO_CLASS).any():
                for word in np.flatnonzero(np.bincount(words[classes == _NO_CLASS])):
                    self._table[word] = self._number(int(word))
                classes = self._table[words]
            return classes
        known = np.sort(np.array(self.words or [0], dtype=self._word))
        places = np.searchsorted(known[:-1], words)
        if not (known[places] == words).all():
            known, places = np.unique(words, return_inverse=True)
        folded: Classes = np.array([self._number(int(w)) for w in known], dtype=np.uint16)
        return folded[places]

    def _number(self, word: int) -> int:
        if word not in self._class:
            _check_number(len(self.words) + 1)
            self._class[word] = len(self.words)
            self.words.append(word)
        return self._class[word]


def _check_number(classes: int) -> None:
    if classes > _MOST_CLASSES:
        raise EngineError(f"the query's conditions tell more than {_MOST_CLASSES:,} classes of events apart")


@kernel
def take_busy(codes: Any, class_of: Any, idle: Any, times: Any, base: int, found: Any, positions: Any, at: Any) -> int:
    """The class, the position and the time of each event that is not idle; gives how many there are.

    Without times, none are taken. The outputs have room for all events: each is written, and stays where it counts.
    """
    count = 0
    timed = len(times) > 0
    for i in range(len(codes)):
        class_ = class_of[codes[i]]
        found[count] = class_
        positions[count] = base + i
        if timed:
            at[count] = times[i]
        count += not idle[class_]
    return count
