"""The engine of automata of the user's own with a register: time an event grows with the open runs, and their arcs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.budget import Budget
from ensue.data.complex_events import ComplexEvents, Piece
from ensue.data.envelope import Parts, prefixed, unprefixed
from ensue.data.events import EventStream, integers, one_chunk
from ensue.engines.protocol import Positions
from ensue.errors import EngineError, EnsueError
from ensue.kernels.keys import KeyNumbers
from ensue.kernels.run_calls import compiled
from ensue.kernels.run_columns import RunColumns
from ensue.kernels.run_memory import Chains, RunMemory
from ensue.kernels.run_tables import first_register, machine_of
from ensue.kernels.runs import AT_ARC, AT_STEP, BEYOND, DONE, NODE, START, Steps, advance_runs
from ensue.kernels.value_trees import NULL
from ensue.language import ast
from ensue.plan.runs_plan import RunsPlan

#: Below so many keys, those without an open run may stay.
_FEW_KEYS = 1 << 12
_GREATEST = np.iinfo(np.int64).max


class RunsEngine:
    """Each push has all events of each of its times, if all events of one time are a step."""

    def __init__(self, plan: RunsPlan, tick: int | None, budget: Budget) -> None:
        self._plan = plan
        self._machine = machine_of(plan, tick)
        self._columns = RunColumns(plan)
        self._keys = KeyNumbers(plan.keys)
        self._memory = RunMemory(first_register(plan), budget.holder())
        self._ticks = plan.window.ticks(tick) if plan.window.time is not None else None
        self._position, self._kept_keys = 0, 0
        self._call, self._advance = None, advance_runs
        if plan.calls:
            self._call, self._advance = compiled(plan.own, plan.calls, self._columns.kinds())

    @property
    def open(self) -> int:
        return self._memory.open

    @property
    def begun(self) -> int:
        rows, _ = self._memory.rows()
        return len(np.unique(self._memory.arrays.run[rows, START]))

    @property
    def next_due(self) -> None:
        """Every match is known at its end: none waits for a time."""

    def push(self, events: EventStream) -> ComplexEvents:
        if not len(events):
            return ComplexEvents((), self._plan.marks)
        memory = self._memory
        keys = None
        if self._keys.attributes:
            keys = self._keys.encode([one_chunk(events.table.column(a)) for a in self._keys.attributes])
        steps, columns = self._columns.steps(events, keys, self._position)
        memory.begin(max(1, len(self._keys)))
        try:
            while self._advance(self._machine, steps, memory.arrays, memory.progress, self._call, columns) != DONE:
                memory.make_room()
        except EnsueError:
            raise
        except Exception as e:
            if self._call is None:
                raise
            raise self._raised(e, steps, events) from e
        if memory.progress[BEYOND]:
            raise EngineError(
                f"the register of the automaton '{self._plan.own.name}' came to a whole number of -2^63 or one more, "
                "which this engine cannot hold: engine='reference' can"
            )
        self._position += len(events)
        found = self._found()
        memory.tidy()
        self._forget_keys()
        return found

    def _raised(self, error: Exception, steps: Steps, events: EventStream) -> EngineError:
        """What a user is told whose fence or transfer has raised an error."""
        progress, own = self._memory.progress, self._plan.own
        arc, k = self._plan.arcs[progress[AT_ARC]], progress[AT_STEP]
        first = steps.positions[steps.begin[k]] if len(steps.begin) else steps.base + k
        time = events.time_column[int(first) - self._position]
        where = f"{own.states[arc.source]} -> {own.states[arc.target]}"
        called = [*arc.calls, *(w.call for w in arc.writes if w.call is not None)]
        names = " or ".join(dict.fromkeys(str(self._plan.calls[c][0]) for c in called))
        message = f"in the automaton '{own.name}', {where}: {names} raised {type(error).__name__}: {error}"
        return EngineError(f"{message}, at the time {time}")

    def _found(self) -> ComplexEvents:
        start, end, chains, held = self._memory.taken()
        if not len(start):
            return ComplexEvents((), self._plan.marks)
        places = {name: place for place, name in enumerate(self._plan.own.fields)}
        fields = self._plan.own.fields
        computed = {name: _values(held[:, places[name]], fields[name].type) for name in self._plan.shown}
        piece = Piece(start, end, chains.offset, chains.position, chains.mark.astype(np.uint16), computed)
        return ComplexEvents((piece,), self._plan.marks)

    def _forget_keys(self, *, all_idle: bool = False) -> None:
        """Forgets keys without an open run, unless `PREV` may look back to their events."""
        few = max(2 * self._kept_keys, _FEW_KEYS)
        if self._columns.look_back.wanted or not self._keys.attributes or not (all_idle or len(self._keys) > few):
            return
        busy = np.flatnonzero(self._memory.arrays.size[: len(self._keys)])
        if len(busy) < len(self._keys):
            self._keys.keep(busy)
            self._memory.keep(busy)
        self._kept_keys = len(busy)

    def parts(self, events: EventStream) -> Iterator[ComplexEvents]:
        yield self.push(events)

    def pass_time(self, time: int) -> ComplexEvents:
        if self._ticks is not None and time > np.iinfo(np.int64).min + self._ticks:
            self._memory.pass_time(time - self._ticks)
        return ComplexEvents((), self._plan.marks)

    def finish(self) -> ComplexEvents:
        return ComplexEvents((), self._plan.marks)

    def referenced(self) -> Positions:
        rows, _ = self._memory.rows()
        run = self._memory.arrays.run
        marked = Chains(run[rows, NODE], self._memory.arrays.node).position
        return np.unique(np.concatenate([run[rows, START], marked]))

    def save(self) -> Parts:
        self._forget_keys(all_idle=True)
        look_back = self._columns.look_back
        parts: Parts = {
            "position": self._position,
            "keys": self._keys.rows.copy(),
            "tail_keys": look_back.tail_keys.copy(),
            **prefixed("runs", self._memory.save()),
        }
        for i, texts in enumerate(self._keys.texts):
            parts |= {f"text_{i}": texts.data.copy(), f"text_end_{i}": texts.end.copy()}
        return parts if look_back.tail is None else {**parts, "tail": look_back.tail}

    def load(self, parts: Parts) -> None:
        self._position = parts["position"]
        for i, texts in enumerate(self._keys.texts):
            texts.use(parts[f"text_{i}"], parts[f"text_end_{i}"])
        self._keys.use(parts["keys"])
        self._kept_keys = len(self._keys)
        look_back = self._columns.look_back
        look_back.tail_keys, look_back.tail = parts["tail_keys"], parts.get("tail")
        self._memory.load(unprefixed("runs", parts))


def _values(numbers: npt.NDArray[np.int64], type_: ast.LiteralType) -> pa.Array:
    """What a field holds, of the whole numbers that stand for it."""
    null = numbers == NULL
    if type_ is ast.LiteralType.INTEGER:
        return pa.array(numbers, mask=null) if null.any() else integers(numbers)
    if type_ is ast.LiteralType.BOOLEAN:
        return pa.array(numbers != 0, mask=null)
    floats = np.where(numbers >= 0, numbers, numbers ^ _GREATEST).view(np.float64)
    return pa.array(floats, mask=null, from_pandas=False)
