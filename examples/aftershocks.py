"""Which strong earthquakes of a week had at least three later ones within a day and 100 km?

python examples/aftershocks.py
"""

from pathlib import Path

import polars as pl
import pyarrow.csv

import ensue

QUAKES = Path(__file__).parent / "data" / "earthquakes.csv"

AFTERSHOCKS = """
    SELECT main.place, main.mag, after.mag, distance(main.lat, main.lon, after.lat, after.lon) / 1000 AS km
    FROM quake
    WHERE quake AS main ; quake AS after
    FILTER main.mag >= 5 AND distance(main.lat, main.lon, after.lat, after.lon) <= 100000
    WITHIN 24 h
"""


def main() -> None:
    """Prints the strong quakes with the most aftershocks, and one of them on a time line of words."""
    quakes = pyarrow.csv.read_csv(QUAKES)
    pairs = pl.DataFrame(ensue.query(AFTERSHOCKS).run(quakes, unit="ms"))
    by_quake = pairs.group_by("start_time", "main_place", "main_mag").agg(
        pl.len().alias("aftershocks"), pl.col("after_mag").max().alias("strongest"), pl.col("km").max().round(1)
    )
    found = by_quake.filter(pl.col("aftershocks") >= 3).sort("aftershocks", "start_time", descending=[True, False])
    print(
        f"{quakes.num_rows:,} quakes, {pairs.height} pairs, {found.height} strong quakes with three or more aftershocks"
    )
    for row in found.iter_rows(named=True):
        when = f"{row['aftershocks']:3} aftershocks, the strongest {row['strongest']}, the farthest {row['km']} km away"
        print(f"  {row['main_mag']}  {row['main_place']}: {when}")


if __name__ == "__main__":
    main()
