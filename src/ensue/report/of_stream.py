"""The page of a query that runs over a stream: what its last micro-batches did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ensue.report.html_page import Page, chart, facts, section, table, text_block

#: What is shown of each micro-batch, and what of all of them together.
_CHARTS = ("events", "relevant", "late", "waiting", "open", "matches", "state_bytes", "milliseconds")
_SUMS = ("events", "late", "without_time", "unexpected", "matches")
_SHOWN = 60


def page_of_stream(
    batches: Sequence[Mapping[str, Any]], *, name: str, query: str = "", state: str = "running", every: int = 2
) -> Page:
    """A page that loads itself anew every so many seconds, as long as the query runs.

    Each micro-batch has `batch`, `time`, `events` (that came), `milliseconds` (that it took) and the metrics of Ensue.
    """
    last = batches[-1] if batches else {}
    sums = {what: sum(int(b.get(what) or 0) for b in batches) for what in _SUMS}
    now = {what: int(last.get(what) or 0) for what in ("waiting", "open", "state_bytes")}
    shown = batches[-_SHOWN:]
    labels = [f"batch {b['batch']}" for b in shown]
    charts = [chart(what, [int(b.get(what) or 0) for b in shown], labels) for what in _CHARTS]
    columns = ["batch", "time", *_CHARTS]
    rows = [[b.get(c) if b.get(c) is not None else 0 for c in columns] for b in reversed(shown)]
    return Page(
        f"{name}: {state}",
        facts({"state": state, "micro-batches": len(batches), **sums, **now}),
        section("The last micro-batches", f'<div class="charts">{"".join(charts)}</div>' if batches else ""),
        section("One by one", table(columns, rows) if batches else "<p>None has ended yet.</p>"),
        section("Query", text_block(query)),
        refresh=every if state == "running" else None,
    )
