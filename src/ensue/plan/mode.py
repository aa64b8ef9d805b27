"""What is asked of the complex events of a query."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """Every engine answers in each of these."""

    ENUMERATE = "enumerate"  # each complex event by itself
    TOTALS = "totals"  # of those of each end what is aggregated over them
    UNION = "union"  # those of one end as one: the earliest start, and every event that took part in one of them
