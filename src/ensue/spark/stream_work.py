"""What the buckets of a stream need of the work that they do: a query of the language, or a clause MATCH_RECOGNIZE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa

from ensue.data.budget import Budget
from ensue.data.envelope import Parts


class RunningWork(Protocol):
    """The work over the rows that came so far; its state can be taken and put back."""

    @property
    def open(self) -> int:
        """How much is kept of the rows."""

    @property
    def open_windows(self) -> int:
        """How many windows are open."""

    def unexpected(self) -> int:
        """How many events since the last call were not as the query expects them."""

    def beyond(self) -> int:
        """How many numbers in the rows since the last call were NULL, as they have no 64 bits."""

    @property
    def next_due(self) -> int | None:
        """The time from which on `pass_time` may give rows without new ones; None if it gives none."""

    def push(self, rows: Any) -> pa.Table:
        """Takes rows behind the earlier ones, in the form that `StreamWork.stream` gives."""

    def pass_time(self, time: int) -> pa.Table | None:
        """Promises that no later row has a time up to this one."""

    def parts(self) -> Parts: ...

    def restore(self, parts: Parts) -> None: ...


class StreamWork(Protocol):
    """What a worker needs to do the work; it can be pickled."""

    @property
    def result(self) -> pa.Schema:
        """The columns of its rows."""

    @property
    def made_by(self) -> Mapping[str, str]:
        """What a saved state depends on, each with a fingerprint."""

    @property
    def expires_after(self) -> int | None:
        """After how many microseconds what is kept matters no more; None if `next_due` says it, or never."""

    def budget(self) -> Budget: ...

    def running(self, budget: Budget) -> RunningWork: ...

    def stream(self, table: pa.Table) -> Any:
        """The travelling columns, in order, as `RunningWork.push` takes them."""

    def rows(self, table: pa.Table) -> pa.Table:
        """The rows with exactly the types that Spark was promised."""
