"""How the events of a batch are shared out over tasks, and why.

With a window in time, a complex event lies inside a stretch of the stream: so the stream is cut into slices, each
beginning early by the window, and a slice reports what ends in it. That shares out a query without keys, and keeps
one huge key from being one huge task. What depends on all that came before cannot be cut so.
"""

from __future__ import annotations

from dataclasses import dataclass

from ensue.language import ast
from ensue.logic.classify import deadline_of
from ensue.plan.choice import Choice
from ensue.plan.reach import reach_in_time

#: A slice is so many windows long: so much of it is read twice. Without keys, slices are all there is to share out.
_WINDOWS_A_SLICE = 16
_WINDOWS_A_SLICE_WITH_KEYS = 64
#: However small the window, slices are not shorter.
_SHORTEST = 10**9  # nanoseconds


@dataclass(frozen=True)
class Slices:
    """Slice `k` reports what ends from time `k * length` on, before the next; it reads from `window` earlier on."""

    length: int
    window: int


@dataclass(frozen=True)
class Layout:
    """`keys`: events of equal keys go to one task. `slices`: and of one slice. Neither: one task, `because`."""

    keys: tuple[str, ...]
    slices: Slices | None
    because: str  # why it is not cut into slices; empty where it is

    @property
    def one_task(self) -> bool:
        return not self.keys and self.slices is None

    def __str__(self) -> str:
        by = f"by {', '.join(self.keys)}" if self.keys else ""
        if self.slices is not None:
            both = "by time slices" if not by else f"{by}, and by time slices"
            return f"{both} of {_WINDOWS_A_SLICE_WITH_KEYS if by else _WINDOWS_A_SLICE} windows"
        return f"{by or 'one task for all'}: {self.because}"


def batch_layout(choice: Choice, tick: int | None) -> Layout:
    """The layout of a query over a finite DataFrame."""
    query = choice.evaluated.query
    if deadline_of(query.pattern) is not None:
        return Layout((), None, "time passes a deadline for all partitions at once")
    keys = () if query.consume is ast.Consume.ANY else choice.keys
    reach = reach_in_time(choice, tick)
    if reach.ticks is None or tick is None:
        return Layout(keys, None, reach.because)
    windows = _WINDOWS_A_SLICE_WITH_KEYS if keys else _WINDOWS_A_SLICE
    return Layout(keys, Slices(max(windows * reach.ticks, _SHORTEST // tick, 1), reach.ticks), "")
