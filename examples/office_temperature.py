"""When did the temperature of an office leave its usual course, and does that agree with what people labelled?

python examples/office_temperature.py [PAGE.html]
"""

import sys
from pathlib import Path

import ensue

READINGS = Path(__file__).parent / "data" / "office_temperature.csv"

#: Half a day in a row in which every reading is below the limit, as long as it can be.
COLD = """
    SELECT MAX count(r) AS hours, min(r.value) AS lowest
    FROM reading
    WHERE (reading AS r FILTER r.value < $limit):{12,} : (reading AS after FILTER after.value >= $limit)
"""
#: A fall by four degrees within two hours.
FALLEN = """
    SELECT a.value AS before, b.value AS after
    FROM reading
    WHERE reading AS a ; reading AS b
    FILTER a.value - b.value >= 4
    WITHIN 2 h
    CONSUME BY ANY
"""


def main(page: str | None = None) -> None:
    """Prints the cold stretches and the falls; with a name, writes a page about the cold stretches."""
    cold = ensue.query(COLD, params={"limit": 64})
    for row in cold.run(READINGS, time="timestamp"):
        print(f"cold    {row['start_time']} to {row['end_time']}: {row['hours']} hours, lowest {row['lowest']:.1f}")
    for row in ensue.match(READINGS, FALLEN, time="timestamp"):
        print(f"fallen  {row['start_time']} to {row['end_time']}: {row['before']:.1f} to {row['after']:.1f}")
    if page is not None:
        cold.report(READINGS, time="timestamp").save(page)


if __name__ == "__main__":
    main(*sys.argv[1:2])
