"""Look-back as shifted columns that carry over the borders of batches, and over other partitions' events."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.events import one_chunk
from ensue.language import ast
from ensue.logic.paths import root_of
from ensue.logic.window import steps_back

Codes = npt.NDArray[np.int64]


def shifted_name(attribute: str, k: int) -> str:
    """The name of the column that holds `PREV(attribute, k)`; no user's column has it."""
    return f"\0{k} before {attribute}"


def spell_out(e: ast.Expression, found: dict[str, tuple[str, int]]) -> ast.Expression:
    """The expression with each `PREV(a, k)` as a name of its own; `found` collects what the names stand for."""

    def by_name(part: ast.Expression) -> ast.Expression | None:
        if not (isinstance(part, ast.Call) and part.function == "prev"):
            return None
        term, k = part.arguments[0], steps_back(part)
        root = root_of(term)
        assert isinstance(root, ast.Name | ast.Attribute)
        name = shifted_name(root.name, k)
        found[name] = (root.name, k)
        earlier = ast.Name(name) if isinstance(root, ast.Name) else ast.Attribute(root.variable, name)
        return ast.replaced(term, lambda e: earlier if e == root else None)

    return ast.replaced(e, by_name)


class LookBack:
    """The last events of each partition that a later batch may look back to, with the attributes in `also`."""

    def __init__(self, wanted: Iterable[tuple[str, int]], also: Iterable[str] = ()) -> None:
        self.wanted = sorted(set(wanted))
        self.most = max((k for _, k in self.wanted), default=0)
        self.attributes = sorted({a for a, _ in self.wanted}.union(also))
        self.tail: pa.Table | None = None  # the columns of `attributes`, of the events in `tail_keys`
        self.tail_keys: Codes = np.zeros(0, dtype=np.int64)

    def columns(self, table: pa.Table, keys: Codes | None) -> dict[str, pa.Array]:
        """`PREV(a, k)` at each event of the batch, for every wanted pair; keeps the tail for the next batch."""
        if not self.wanted:
            return {}
        rows = table.select(self.attributes)
        keys = np.zeros(len(rows), dtype=np.int64) if keys is None else keys
        before = 0
        if self.tail is not None:
            before = len(self.tail)
            rows = pa.concat_tables([self.tail, rows])
            keys = np.concatenate([self.tail_keys, keys])
        order = np.argsort(keys, kind="stable")
        sorted_keys = keys[order]
        found = {}
        for attribute, k in self.wanted:
            # The event k places earlier in the order by key is the one to look at, if it has the same key.
            earlier = np.full(len(order), -1, dtype=np.int64)
            same = sorted_keys[k:] == sorted_keys[:-k] if k < len(order) else np.zeros(0, dtype=np.bool_)
            earlier[order[k:][same]] = order[: len(order) - k][same] if k < len(order) else 0
            indices = pa.array(earlier[before:], mask=earlier[before:] < 0)
            found[shifted_name(attribute, k)] = one_chunk(rows.column(attribute).take(indices))
        self._keep_tail(rows, keys, order, sorted_keys)
        return found

    def _keep_tail(self, rows: pa.Table, keys: Codes, order: Codes, sorted_keys: Codes) -> None:
        if self.most < len(order):
            last = np.ones(len(order), dtype=np.bool_)
            last[: -self.most] = sorted_keys[self.most :] != sorted_keys[: -self.most]
            order = order[last]
        kept = np.sort(order)
        self.tail = rows.take(pa.array(kept)).combine_chunks()
        self.tail_keys = keys[kept]
