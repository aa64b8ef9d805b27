"""A page that shows a streaming query as it runs: written again and again, beside the query, from its progress."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from ensue.report.html_page import Page
from ensue.report.of_stream import OF_SPARK, StepLog


def progress_page(stream: StreamingQuery, *, name: str = "ensue", query: object = "", every: int = 2) -> Page:
    """The page of a streaming query as it is now; `name` is that of its metrics, as given to `run`."""
    return _page(StepLog(OF_SPARK), stream, name, query, every)


def _page(log: StepLog, stream: StreamingQuery, name: str, query: object, every: int) -> Page:
    """The page with the micro-batches that are in the log and those that have ended since."""
    failed = stream.exception() if not stream.isActive else None
    state = "running" if stream.isActive else "failed" if failed is not None else "stopped"
    for progress in map(_as_json, stream.recentProgress):
        if "addBatch" in progress.get("durationMs", {}):  # an idle trigger is no batch
            log.add(_batch(progress, name))
    return log.page(name=stream.name or name, query=str(query), state=state, every=every)


def keep_progress_page(
    stream: StreamingQuery, path: str | Path, *, name: str = "ensue", query: object = "", every: int = 2
) -> threading.Thread:
    """Writes that page to a file every so many seconds, until the query stops; returns the thread that does it.

    A browser that shows the file loads it anew by itself. The thread ends with the query, or with the program. Its sums
    are over all micro-batches from the first one that it has seen; Spark itself only knows the last hundred.
    """
    log = StepLog(OF_SPARK)

    def work() -> None:
        while True:
            active = stream.isActive
            _page(log, stream, name, query, every).save(path)
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
