"""Real taxi trips, with the matches that another engine published for five queries.

The data has no licence of its own, so it is not part of this project: where it does not lie beside it, this is skipped.
"""

import gzip
from pathlib import Path

import pyarrow.csv
import pytest

import ensue

TAXIS = Path(__file__).parents[3] / "shared" / "data" / "taxis"
ZONES = [
    "East Harlem North",
    "Midwood",
    "Gravesend",
    "West Brighton",
    "Lincoln Square West",
    "Sutton Place/Turtle Bay North",
    "East Concourse/Concourse Village",
    "East Harlem North",
    "East Harlem North",
    "Gravesend",
    "Midwood",
    "Midwood",
    "Gravesend",
]
pytestmark = pytest.mark.skipif(not TAXIS.exists(), reason="the taxi data is not beside the project")


def query(steps: int, limit: str = "") -> str:
    trips = [(f"t{i}", ZONES[i % 12], ZONES[i % 12 + 1]) for i in range(steps)]
    pattern = " ; ".join(f"TRIP AS {x}" for x, _, _ in trips)
    condition = " AND ".join(f"{x}.pickup_zone = '{a}' AND {x}.dropoff_zone = '{b}'" for x, a, b in trips)
    return f"SELECT * FROM TRIP WHERE {pattern} FILTER {condition} WITHIN [< 1000 s] {limit}"


def run(text: str) -> ensue.Matches:
    trips = pyarrow.csv.read_csv(TAXIS / "trips.csv")
    return ensue.match(trips, text, time="dropoff_datetime", unit="s", engine="automaton")


def published(name: str) -> set[tuple[int, ...]]:
    with gzip.open(TAXIS / f"{name}.matches.txt.gz", "rt") as lines:
        return {tuple(map(int, line.split())) for line in lines}


def test_q1_is_reproduced_exactly():
    found = run(query(3))
    positions = found._found.position.reshape(-1, 3)
    assert len(found) == 26_663
    assert {tuple(row) for row in positions.tolist()} == published("q1")


@pytest.mark.parametrize(
    ("name", "steps", "count"), [("q2", 6, 64_311), ("q3", 9, 173_638), ("q4", 12, 136_151), ("q5", 24, 7_000)]
)
def test_with_at_most_1000_matches_an_end_the_counts_are_the_published_ones(name, steps, count):
    found = run(query(steps, "LIMIT 1000 PER END"))
    assert len(found) == len(published(name)) == count
