"""The time zone of a Spark session, by the name that Arrow gives it."""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession

from ensue.errors import DataError

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?")


def session_zone(session: SparkSession) -> str:
    """The zone in which Spark SQL shows times."""
    name = str(session.conf.get("spark.sql.session.timeZone"))
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        sign, hours, minutes = offset.groups()
        return f"{sign}{hours:0>2}:{minutes or '00'}"
    if name in ("Z", "UTC", "GMT", "UT"):
        return "UTC"
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError):
        raise DataError(
            f"the session's time zone '{name}' is not known: set spark.sql.session.timeZone to a name such as "
            "'Europe/Berlin', or to an offset such as '+02:00'"
        ) from None
