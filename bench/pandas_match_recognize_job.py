"""Runs in the environment of pandas-match-recognize: one query over a Parquet file. Prints seconds as JSON.

python pandas_match_recognize_job.py FILE QUERY
"""

import json
import sys
import time
import warnings

import pandas as pd

warnings.filterwarnings("ignore")


def main(path: str, query: str) -> None:
    from pandas_match_recognize import match_recognize

    frame = pd.read_parquet(path)
    best, matches = float("inf"), 0
    for _ in range(3):
        start = time.perf_counter()
        matches = len(match_recognize(query, frame))
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"seconds": best, "matches": matches}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
