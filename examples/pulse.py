"""Heartbeats in a pulse wave: where are the beats, how fast are they, and does one come too late?

python examples/pulse.py
"""

from itertools import pairwise
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.csv

import ensue

WAVE = Path(__file__).parent / "data" / "pulse.csv"

#: A beat: at least three samples in a row above a level, as many as there are.
BEATS = """
    SELECT MAX first(up.timer) AS time, max(up.hr) AS height
    FROM sample
    WHERE (sample AS up FILTER up.hr > $level):{3,} : (sample AS down FILTER down.hr <= $level)
"""
#: Two neighbouring beats with more than so much time between them.
PAUSES = """
    SELECT a.time AS after, b.time - a.time AS pause
    FROM beat WHERE beat AS a : beat AS b FILTER b.time - a.time > $most
"""


def main() -> None:
    """Prints how many beats there are, how fast, and the pauses."""
    wave = pyarrow.csv.read_csv(WAVE)
    beats = ensue.query(BEATS, params={"level": 535}).run(wave, time="timer", unit="ms").to_arrow()
    times = beats["time"].to_pylist()
    usual = median(later - earlier for earlier, later in pairwise(times))
    print(f"{len(times)} beats in {times[-1] / 1000:.0f} s, {60_000 / usual:.0f} a minute")
    alone = pa.table({"time": beats["time"]})
    pauses = ensue.query(PAUSES, params={"most": 1.5 * usual}).run(alone, unit="ms")
    for row in pauses:
        print(
            f"  no beat for {row['pause']:.0f} ms from {row['after'] / 1000:.1f} s on, where {usual:.0f} ms are usual"
        )


if __name__ == "__main__":
    main()
