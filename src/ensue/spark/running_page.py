"""A page that shows a streaming query as it runs: written again and again, beside the query, from its progress."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from ensue.report.html_page import Page
from ensue.report.of_stream import page_of_stream


def progress_page(stream: StreamingQuery, *, name: str = "ensue", query: object = "", every: int = 2) -> Page:
    """The page of a streaming query as it is now; `name` is that of its metrics, as given to `run`."""
    known = (_as_json(p) for p in stream.recentProgress)
    batches = [_batch(p, name) for p in known if "addBatch" in p.get("durationMs", {})]  # an idle trigger is no batch
    failed = stream.exception() if not stream.isActive else None
    state = "running" if stream.isActive else "failed" if failed is not None else "stopped"
    return page_of_stream(batches, name=stream.name or name, query=str(query), state=state, every=every)


def keep_progress_page(
    stream: StreamingQuery, path: str | Path, *, name: str = "ensue", query: object = "", every: int = 2
) -> threading.Thread:
    """Writes that page to a file every so many seconds, until the query stops; returns the thread that does it.

    A browser that shows the file loads it anew by itself. The thread ends with the query, or with the program.
    """

    def work() -> None:
        while True:
            active = stream.isActive
            progress_page(stream, name=name, query=query, every=every).save(path)
            if not active:
                return
            stream.awaitTermination(every)

    thread = threading.Thread(target=work, name="ensue progress page", daemon=True)
    thread.start()
    return thread


def _as_json(progress: Any) -> dict[str, Any]:
    """Spark's report of a trigger as a dict."""
    import json

    found: dict[str, Any] = progress if isinstance(progress, dict) else json.loads(progress.json)
    return found


def _batch(progress: dict[str, Any], name: str) -> dict[str, Any]:
    observed = progress.get("observedMetrics", {}).get(name) or {}
    metrics = observed.asDict() if hasattr(observed, "asDict") else dict(observed)
    return {
        **metrics,
        "batch": progress["batchId"],
        "time": progress["timestamp"],
        "events": progress["numInputRows"],
        "milliseconds": progress.get("durationMs", {}).get("triggerExecution", 0),
    }
