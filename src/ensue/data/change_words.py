"""The column that says of each row whether it inserts or deletes an event, as change feeds of tables have it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.events import one_chunk
from ensue.data.reading import check_column
from ensue.errors import DataError, did_you_mean, listed

#: What the change feeds of Delta and Spark say. An update is a deletion of what was and an insertion of what is.
SIGNS = {"insert": 1, "delete": -1, "update_preimage": -1, "update_postimage": 1}


def signs_of(table: pa.Table, column: str) -> npt.NDArray[np.int64]:
    """1 for each row that inserts an event, and -1 for each that deletes one.

    >>> signs_of(pa.table({"change": ["insert", "update_preimage", "update_postimage"]}), "change").tolist()
    [1, -1, 1]
    """
    check_column(table.column_names, column, "change")
    try:
        encoded = one_chunk(table.column(column).cast(pa.string())).dictionary_encode()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        type_ = table.column(column).type
        raise DataError(
            f"the column '{column}' says what a row changes, and is of type {type_}, not of strings"
        ) from None
    words = encoded.dictionary.to_pylist()
    known = np.array([SIGNS.get(word, 0) for word in words] + [0], dtype=np.int64)
    signs: npt.NDArray[np.int64] = known[encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)]
    unknown = np.flatnonzero(signs == 0)
    if len(unknown):
        raise _unknown(encoded[int(unknown[0])].as_py(), column, int(unknown[0]) + 1)
    return signs


def _unknown(word: str | None, column: str, row: int) -> DataError:
    said = "NULL" if word is None else f"'{word[:40]}'"
    hint = (None if word is None else did_you_mean(word, SIGNS)) or f"it must be one of {listed(SIGNS)}"
    return DataError(f"the column '{column}' has {said} in row {row}, which is no change of an event: {hint}")
