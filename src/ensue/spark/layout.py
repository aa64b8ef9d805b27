"""Decides how the events of a batch are distributed over tasks, and why.

With a window in time, a complex event lies within a short stretch of the stream. So the stream is cut into slices: each
reads from one window before its beginning on, and reports the matches that end in it. This distributes a query without
keys, and keeps one huge key from becoming one huge task. A query that depends on all earlier events cannot be cut.
"""

from __future__ import annotations

from dataclasses import dataclass

from ensue.language import ast
from ensue.logic.classify import deadline_of
from ensue.logic.partition_keys import column_shown
from ensue.plan.choice import Choice
from ensue.plan.reach import reach_in_time

#: The length of a slice in windows; one window of it is read twice. Without keys only slices distribute the work.
_WINDOWS_A_SLICE = 16
_WINDOWS_A_SLICE_WITH_KEYS = 64
#: The least length of a slice, however small the window.
_SHORTEST = 10**9  # nanoseconds


@dataclass(frozen=True)
class Slices:
    """Slice `k` reports matches that end from `k * length` on, before slice `k + 1`; it reads from `window` earlier."""

    length: int
    window: int
    #: Whether it must be known beforehand what the events before each slice have come to.
    past: bool = False


@dataclass(frozen=True)
class Layout:
    """Which events go to one task: those with equal `keys`, or in one of the `slices`, or both; with neither, all."""

    keys: tuple[str, ...]
    slices: Slices | None
    because: str  # why the stream is not cut into slices; empty if it is

    @property
    def one_task(self) -> bool:
        return not self.keys and self.slices is None

    def __str__(self) -> str:
        by = f"by {', '.join(map(column_shown, self.keys))}" if self.keys else ""
        if self.slices is not None:
            both = "by time slices" if not by else f"{by}, and by time slices"
            first = ", once a first pass has told what stands before each" if self.slices.past else ""
            return f"{both} of {_WINDOWS_A_SLICE_WITH_KEYS if by else _WINDOWS_A_SLICE} windows{first}"
        return f"{by or 'one task for all'}: {self.because}"


def batch_layout(choice: Choice, tick: int | None) -> Layout:
    """The layout of a query over a finite DataFrame."""
    query = choice.evaluated.query
    if deadline_of(query.pattern) is not None:
        return Layout((), None, "time passes a deadline for all partitions at once")
    keys = () if query.consume is ast.Consume.ANY else choice.keys
    if query.limit is not None and query.per is ast.Per.PARTITION:
        return Layout(keys, None, "LIMIT counts the rows of a partition from its first event on")
    reach = reach_in_time(choice, tick)
    if reach.ticks is None or tick is None:
        return Layout(keys, None, reach.because)
    windows = _WINDOWS_A_SLICE_WITH_KEYS if keys else _WINDOWS_A_SLICE
    ticks = reach.ticks + reach.ticks_before
    return Layout(keys, Slices(max(windows * ticks, _SHORTEST // tick, 1), ticks, bool(reach.past)), "")
