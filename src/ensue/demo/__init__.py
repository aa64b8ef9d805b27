"""`python -m ensue.demo`: a pattern over a week of departures from New York, and its matches."""

from pathlib import Path

DEPARTURES = Path(__file__).parent / "departures.parquet"

SNOWBALL = """\
SELECT a.origin, a.dep_delay, b.origin, b.dep_delay, c.origin, c.dep_delay
FROM departure
WHERE departure AS a ; departure AS b ; departure AS c
FILTER a.dep_delay > 15 AND b.dep_delay > 2 * a.dep_delay AND c.dep_delay > b.dep_delay
PARTITION BY tailnum
WITHIN 12 h
"""

RECOVERED = """\
SELECT a.origin, a.dep_delay, b.origin, b.dep_delay
FROM departure
WHERE departure AS a ; departure AS b
FILTER a.dep_delay > 180 AND b.dep_delay < 0
PARTITION BY tailnum
WITHIN 24 h
"""
