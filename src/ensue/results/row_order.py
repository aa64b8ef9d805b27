"""ORDER BY over a table, and the LIMIT that stands behind it."""

from __future__ import annotations

import numpy as np

from ensue.columns.ranks import ranks
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream
from ensue.engines.item_lookback import ItemLookBack
from ensue.logic.check import Checked
from ensue.results.matches import Matches


def in_order(checked: Checked, stream: EventStream, found: ComplexEvents) -> ComplexEvents:
    """The complex events as ORDER BY sorts their rows, as many as LIMIT lets through; equal ones stay as they are."""
    if not checked.order or not len(found):
        return found
    look_back = ItemLookBack(checked)
    matches = Matches(look_back.checked, look_back.extended(stream), found)
    keys = []
    for by in checked.order:
        keys.append(ranks(matches.values_of(by.name), descending=by.descending, nulls_first=by.nulls_first))
    order = np.lexsort(keys[::-1])  # the last key is the first for NumPy
    return found.in_order(order[: checked.query.limit])
