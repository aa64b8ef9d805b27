"""A limit on the memory of a query. Each part of the query notes what it holds, and one error says when it is too much.

A part notes its arrays and tables when they grow, never single events. All threads of a query share one budget. The
given events are not counted: they are already in memory, or come from a file.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import cached_property

import pyarrow as pa

from ensue.data.machine_memory import budget_now, physical_memory
from ensue.errors import EngineError

#: The environment variable that sets the budget of every query that has no `memory=...` of its own.
VARIABLE = "ENSUE_MEMORY"
#: The first arrays of a query need about this much, so no budget may be smaller.
LEAST = 16 << 20
#: A query really takes this many times what it notes: allocators keep spare room, and some arrays live only briefly.
_SPARE = 1.125
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SHOWN = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")
#: A number with more digits is shown as a power of ten.
_DIGITS = 15


class Large(Enum):
    """What can take much memory. The texts are for error messages, with the count in the braces."""

    ENDING = "{} matches end at one event"
    JUDGED = "at least {} matches end at one event, and the query must choose among them"
    CHOICES = "a condition must be checked for {} choices of events in one match"
    MATCHES = "{} matches"
    TOOK_PART = "{} events took part in matches, counted once for each end of a match"
    OPEN = "{} nodes hold the open partial matches"
    KEYS = "{} keys of PARTITION BY are known"
    WAITING = "{} matches wait for their deadline"
    UNCLOSED = "{} windows wait for what closes them"
    EVENTS = "{} events are kept because later matches may show them"
    TASK = "{} events came to one task"
    PARTS = "the reference holds {} complex events of the pattern and its parts"
    TABLE = "a table of {} matches with their events"
    ANSWER = "{} matches are kept for answer()"
    UNSETTLED = "{} events came after the watermark and may still change"
    TOLD = "{} matches were told that may still be taken back"
    PROGRAMS = "at least {} states of the automaton are active at once"


Advice = Callable[[Large], list[str]]


def no_advice(_: Large) -> list[str]:
    return []


class Budget:
    """The bytes that one query may hold, and those that it holds now. `advice` says what to write instead."""

    def __init__(self, limit: int | None = None, advice: Advice = no_advice, *, whose: str = "the query") -> None:
        self._given = limit
        self._advice = advice
        self._whose = whose
        self._held: dict[Large, int] = defaultdict(int)
        self._counts: dict[Large, float] = defaultdict(float)
        self._lock = threading.Lock()

    @classmethod
    def of(cls, memory: str | int | None, advice: Advice = no_advice) -> Budget:
        """The budget that the user gave, or that the environment sets; an amount that cannot be read is refused now."""
        said = memory is not None or os.environ.get(VARIABLE, "").strip()
        return cls(memory_of(memory) if said else None, advice)

    @cached_property
    def limit(self) -> int:
        """The bytes in all. They are computed at the first use, so a small query need not look at the machine."""
        return memory_of(None) if self._given is None else self._given

    @property
    def left(self) -> int:
        return int(self.limit / _SPARE) - sum(self._held.values())

    def holder(self) -> Holder:
        """Counts what one engine, or one thread, holds of this budget."""
        return Holder(self)

    def unspent(self) -> Budget:
        """The same budget with nothing held."""
        return Budget(self._given, self._advice, whose=self._whose)

    def check(self, what: Large, size: float, count: float) -> None:
        """Raises the error if `size` more bytes would not fit."""
        needed = (sum(self._held.values()) + size) * _SPARE
        if needed > LEAST and needed > self.limit:
            raise self._exceeded(what, size, count)

    def _exceeded(self, what: Large, size: float, count: float) -> EngineError:
        """The error once `size` more bytes of `what` are held. It names the largest part of all that is held."""
        sizes: dict[Large, float] = {**self._held}
        counts = {**self._counts}
        sizes[what] = sizes.get(what, 0) + size
        counts[what] = counts.get(what, 0) + count
        largest = max(sizes, key=lambda w: sizes[w])
        needed = sum(sizes.values()) * _SPARE
        said = largest.value.format(shown_count(counts[largest]))
        most = shown_size(self.limit)
        message = f"{self._whose} needs at least {shown_size(needed)} of memory and may take {most}: {said}"
        # Only the size of a table is known in full. Most other parts would grow further.
        more = self._more(needed) if what is Large.TABLE else []
        return EngineError(message + _hint([*self._advice(largest), *more]))

    def refused(self, what: Large, count: float) -> EngineError:
        """The error for what would take too long, whether or not it would fit."""
        said = what.value.format(shown_count(count))
        return EngineError(f"{self._whose} would take too long: {said}{_hint(self._advice(what))}")

    def _more(self, needed: float) -> list[str]:
        """Advises a larger budget if the machine has it."""
        enough = 1.25 * needed
        if not enough < physical_memory() / 2:
            return []
        return [f"memory='{shown_size(_rounded_up(enough))}', if the machine can spare it"]

    @contextmanager
    def explaining_memory_errors(self) -> Iterator[None]:
        """Turns the memory errors of NumPy and Arrow into an EngineError that says what is large."""
        try:
            yield
        except (MemoryError, pa.ArrowCapacityError) as e:
            raise self._ran_out(e) from None

    def _ran_out(self, e: Exception) -> EngineError:
        sizes = {**self._held}
        largest = max(sizes, key=lambda w: sizes[w], default=None)
        said, advice = "", []
        if largest is not None and sizes[largest]:
            said = f"; what takes most of it: {largest.value.format(shown_count(self._counts[largest]))}"
            advice = self._advice(largest)
        if isinstance(e, pa.ArrowCapacityError):
            return EngineError(f"a column of the result is larger than an Arrow array can be: {e}" + _hint(advice))
        message = f"the process got no more memory, though {self._whose} may take {shown_size(self.limit)}"
        return EngineError(f"{message}{said}" + _hint([*advice, "a smaller memory='...', to get this error earlier"]))


class Holder:
    """What one part of a query holds. A new amount of one kind replaces the previous amount of that kind."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._sizes: dict[Large, int] = defaultdict(int)
        self._counts: dict[Large, float] = defaultdict(float)

    def hold(self, what: Large, size: int, count: float) -> None:
        """Notes that this part holds `size` bytes now; raises the error if all parts together hold too much."""
        budget = self.budget
        more, counted = size - self._sizes[what], count - self._counts[what]
        with budget._lock:
            if more > 0:
                budget.check(what, more, counted)
            budget._held[what] += more
            budget._counts[what] += counted
        self._sizes[what], self._counts[what] = size, count

    def room(self, what: Large) -> int:
        """How many bytes of this kind this part may hold at most, as things are."""
        return self.budget.left + self._sizes[what]

    def check(self, what: Large, size: float, count: float) -> None:
        """Raises the error if this part may not hold `size` bytes of this kind."""
        self.budget.check(what, size - self._sizes[what], count - self._counts[what])


def _hint(advice: list[str]) -> str:
    return "\n  hint: " + "\n    or: ".join(advice) if advice else ""


# ---------------------------------------------------------------- amounts of memory


def memory_of(asked: str | int | None, environment: Mapping[str, str] = os.environ) -> int:
    """The budget in bytes: what the user asked for; else what the environment sets; else a part of the whole memory.

    >>> memory_of("512 MB"), memory_of("1.5g"), memory_of(1 << 30)
    (536870912, 1610612736, 1073741824)
    """
    if asked is not None:
        return _bytes_of(asked, f"memory={asked!r}")
    said = environment.get(VARIABLE, "").strip()
    return _bytes_of(said, f"{VARIABLE}={said!r}") if said else budget_now()


def _bytes_of(asked: str | int, named: str) -> int:
    size = bytes_of_setting(asked) if isinstance(asked, str) else asked
    if not isinstance(size, int) or isinstance(size, bool):
        raise EngineError(f"{named} is not an amount of memory: write memory='512 MB', or a number of bytes")
    if size < LEAST:
        raise EngineError(f"{named} is too little for any query: give at least {shown_size(LEAST)}")
    return size


def bytes_of_setting(text: str) -> int | None:
    """The bytes that a text means; None if it is not an amount of memory.

    >>> bytes_of_setting("2g"), bytes_of_setting("1.5 GiB"), bytes_of_setting("much")
    (2147483648, 1610612736, None)
    """
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    return None if parts is None else int(float(parts[1]) * 1024 ** _UNITS[parts[2].upper()])


def shown_size(size: float) -> str:
    """A size for people, in the largest unit that fits.

    >>> shown_size(512 << 20), shown_size(1.5 * 2**30), shown_size(2.0**100)
    ('512 MB', '1.5 GB', '10^21 GB')
    """
    power = 0
    while power < len(_SHOWN) - 1 and size >= 1000:
        size /= 1024
        power += 1
    if size >= 1000:
        return f"10^{round(math.log10(size)) + 9} GB" if size < math.inf else "10^300 GB"
    text = f"{size:.0f}" if size >= 100 or power == 0 else f"{size:.1f}".removesuffix(".0")
    return f"{text} {_SHOWN[power]}"


def shown_count(count: float) -> str:
    """A count for people; a large one as a power of ten.

    >>> shown_count(1_234_567), shown_count(2.0**59), shown_count(float("inf"))
    ('1,234,567', 'about 5.8 * 10^17', 'more than 10^300')
    """
    if count < 10**_DIGITS:
        return f"{int(count):,}"
    if count > 1e300:
        return "more than 10^300"
    power = math.floor(math.log10(count))
    return f"about {count / 10**power:.1f} * 10^{power}"


def _rounded_up(size: float) -> float:
    """The size rounded up to a whole number of the unit in which `shown_size` shows it."""
    unit = 1024 ** int(math.log(size, 1024)) if size >= 1 else 1
    return math.ceil(size / unit) * unit
