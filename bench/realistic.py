"""Sixty queries as users would write them, over generated events of eight trades: which are slow, and why.

    python -m bench.realistic [--small] [word ...]

Rates are of processor time on one core, with the matches found but not shown. A query that would take longer than a
minute is measured over fewer events.
"""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.report import section
from ensue.data.events import EventStream, read_events
from ensue.engines.whole_tables import evaluate_table
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose

#: Of each trade: the types of its events with how often they come, and its queries.
TRADES: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
#: A query has this many seconds of processor time, about.
_SECONDS = 60.0


def _words(rng: np.random.Generator, words: list[str], events: int) -> pa.Array:
    """Plain strings, as users have them."""
    return pa.array(words).take(pa.array(rng.integers(0, len(words), events)))


def _columns(trade: str, rng: np.random.Generator, n: int) -> dict[str, Any]:
    places = {"lat": rng.random(n) * 180 - 90, "lon": rng.random(n) * 360 - 180}
    countries = [f"{a}{b}" for a in "ABCDE" for b in "NORTH"]
    match trade:
        case "cards":
            own = {"card": rng.integers(0, 50_000, n), "amount": np.round(rng.exponential(120, n), 2)}
            shops = _words(rng, [f"shop {k}" for k in range(2_000)], n)
            return {**own, **places, "merchant": shops, "country": _words(rng, countries, n)}
        case "logins":
            names = [f"admin{k}" if k % 50 == 0 else f"user{k}" for k in range(20_000)]
            users = rng.integers(0, len(names), n)
            return {
                "user": users,
                "name": pa.array(names).take(pa.array(users)),
                "address": _words(rng, [f"10.0.{k // 256}.{k % 256}" for k in range(10_000)], n),
                "country": _words(rng, countries, n),
                "device": _words(rng, [f"device {k}" for k in range(300)], n),
                "bytes": rng.integers(0, 1_000_000, n),
                "at": pa.array(1_700_000_000_000 + np.cumsum(rng.integers(0, 200, n)), pa.timestamp("ms")),
            }
        case "sensors":
            own = {"sensor": rng.integers(0, 1_000, n), "room": _words(rng, [f"room {k}" for k in range(100)], n)}
            return {**own, "temp": rng.random(n) * 60, "hum": rng.random(n) * 100}
        case "trades":
            own = {"name": _words(rng, [f"STOCK{k}" for k in range(500)], n), "account": rng.integers(0, 5_000, n)}
            return {**own, "price": rng.random(n) * 100, "volume": rng.integers(1, 1_000, n)}
        case "parcels":
            depots = _words(rng, [f"depot {k}" for k in range(80)], n)
            return {"parcel": rng.integers(0, max(n // 6, 1), n), "depot": depots, "weight": rng.random(n) * 20}
        case "clicks":
            pages = [f"/{a}/{k}" if k else f"/{a}" for a in ("shoes", "hats", "coats", "bags") for k in range(100)]
            return {"visitor": rng.integers(0, 40_000, n), "page": _words(rng, pages, n)}
        case "quakes":
            return {**places, "mag": rng.random(n) * 9, "depth": rng.random(n) * 700}
    own = {"machine": rng.integers(0, 2_000, n), "code": _words(rng, [f"E{k}" for k in range(12)], n)}
    return {**own, "value": rng.random(n) * 100}


def stream_of(trade: str, events: int, seed: int = 11) -> pa.Table:
    """Events of a trade, ten a second on average."""
    rng = np.random.default_rng(seed)
    often = TRADES[trade]["often"]
    chances = np.array(list(often.values())) / sum(often.values())
    types = pa.array(list(often)).take(pa.array(rng.choice(len(often), events, p=chances)))
    return pa.table({"time": np.cumsum(rng.integers(0, 200, events)), "type": types, **_columns(trade, rng, events)})


def _measured(choice: Choice, stream: EventStream) -> dict[str, Any]:
    """The rate over as much of the stream as takes some seconds, more of it each time."""
    evaluate_table(choice, stream.slice(0, 1_000), threads=1)  # loads the kernels
    size = min(len(stream), 5_000)
    while True:
        begun = time.process_time()
        found = evaluate_table(choice, stream.slice(0, size), threads=1)
        seconds = max(time.process_time() - begun, 1e-6)
        growing = min(len(stream), 20 * size)
        if size == len(stream) or seconds * growing / size > _SECONDS:
            break
        size = growing
    rate = round(size / seconds / 1e6, 2)
    return {"million_events_a_second": rate, "events": size, "matches": len(found)}


def realistic(events: int, words: list[str]) -> Iterator[dict[str, Any]]:
    """The rate of each query whose name, or trade, has one of the words; of all without words."""
    for trade, about in TRADES.items():
        asked = {n: q for n, q in about["queries"].items() if not words or any(w in f"{trade}: {n}" for w in words)}
        table = stream_of(trade, events) if asked else pa.table({})
        for name, pattern in asked.items():
            text = f"SELECT * FROM {trade} WHERE {pattern}"
            query = parse_query(text)
            stream = read_events(table, query.streams, unit="ms")
            choice = choose(check(query, text, stream.schema))
            row: dict[str, Any] = {"name": f"{trade}: {name}"}
            if choice.engine == "reference":
                yield {**row, "reference": choice.because}
                continue
            late = bool(choice.plan and choice.plan.related)
            how = "in layers" if choice.layers is not None else "judged late" if late else None
            yield {**row, **_measured(choice, stream), "how": how}


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    rows = realistic(200_000 if "--small" in sys.argv else 1_000_000, words)
    for row in rows:
        section("", [row])
