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


def rows_of_changes(changes: MatchChanges, empty: pa.Table) -> pa.Table:
    """First what is taken back, then what is added. `empty` is the table of no matches."""
    gone, gone_ids = _with_ids(changes.gone, empty)
    came, came_ids = _with_ids(changes.came, empty)
    if len(gone) and len(came):
        only_gone, only_came = not_in_both(gone_ids, came_ids)  # a value that nobody shows may have changed
        gone, gone_ids = gone.take(integers(only_gone)), gone_ids[only_gone]
        came, came_ids = came.take(integers(only_came)), came_ids[only_came]
    words = pa.concat_arrays([pa.repeat(DELETE, len(gone)), pa.repeat(INSERT, len(came))])
    rows = pa.concat_tables([gone, came])
    texts = hex_texts(np.concatenate([gone_ids, came_ids]))
    return rows.add_column(0, MATCH, texts).add_column(0, CHANGE, words)


def check_names(names: list[str]) -> None:
    """Refuses a query with a column that is named like one of those that changes have."""
    for name in (CHANGE, MATCH):
        if name in names:
            raise EngineError(
                f"a column of the result is named '{name}', as a column of each change is: name it AS something else"
            )


def _with_ids(matches: list[Matches], empty: pa.Table) -> tuple[pa.Table, Hashes]:
    tables, ids = [empty], [np.zeros((0, 2), dtype=np.uint64)]
    for part in matches:
        table = part.to_arrow()
        tables.append(table)
        ids.append(ids_of(part, table))
    return pa.concat_tables(tables), np.concatenate(ids)
