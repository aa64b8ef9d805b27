"""Changes of matches as rows: each with its id, and a match that only looks changed left out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ensue.corrections.match_ids import ids_of, not_in_both
from ensue.corrections.revision import MatchChanges
from ensue.corrections.row_hashes import hex_texts
from ensue.data.events import integers
from ensue.errors import EngineError
from ensue.kernels.value_hashes import Hashes
from ensue.results.changes import CHANGE, DELETE, INSERT, MATCH
from ensue.results.matches import Matches


def rows_of_changes(changes: MatchChanges) -> pa.Table | None:
    """First what is taken back, then what is added; None if nothing changes."""
    gone, gone_ids = _with_ids(changes.gone)
    came, came_ids = _with_ids(changes.came)
    if gone is not None and came is not None:
        only_gone, only_came = not_in_both(gone_ids, came_ids)  # a value that nobody shows may have changed
        gone, gone_ids = gone.take(integers(only_gone)), gone_ids[only_gone]
        came, came_ids = came.take(integers(only_came)), came_ids[only_came]
    tables = [(word, table) for word, table in ((DELETE, gone), (INSERT, came)) if table is not None]
    if not tables:
        return None
    words = pa.concat_arrays([pa.repeat(word, len(table)) for word, table in tables])
    return _changed(words, hex_texts(np.concatenate([gone_ids, came_ids])), pa.concat_tables(t for _, t in tables))


def no_changes(matches: pa.Table) -> pa.Table:
    """A table of no changes, of matches with these columns."""
    nothing = pa.array([], pa.string())
    return _changed(nothing, nothing, matches.slice(0, 0))


def _changed(words: pa.Array, ids: pa.Array, rows: pa.Table) -> pa.Table:
    return rows.add_column(0, MATCH, ids).add_column(0, CHANGE, words)


def check_names(names: list[str]) -> None:
    """Refuses a query with a column that is named like one of those that changes have."""
    for name in (CHANGE, MATCH):
        if name in names:
            raise EngineError(
                f"a column of the result is named '{name}', as a column of each change is: name it AS something else"
            )


def _with_ids(matches: list[Matches]) -> tuple[pa.Table | None, Hashes]:
    if not matches:
        return None, np.zeros((0, 2), dtype=np.uint64)
    tables = [part.to_arrow() for part in matches]
    ids = [ids_of(part, table) for part, table in zip(matches, tables, strict=True)]
    return pa.concat_tables(tables), np.concatenate(ids)
