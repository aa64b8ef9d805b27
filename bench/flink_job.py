"""Runs in Flink's environment: MATCH_RECOGNIZE over a stream of CSV files, on two cores. Prints seconds as JSON.

python flink_job.py sequence|pair|shape FOLDER WINDOW_IN_MILLISECONDS
"""

import json
import sys
import time

from pyflink.table import EnvironmentSettings, TableEnvironment

# The nearest query that MATCH_RECOGNIZE has: for each A one match, with the next B and the next C that fit.
QUERIES = {
    "sequence": """
        MEASURES x.id AS a, y.id AS b, z.id AS c
        ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
        PATTERN (x p*? y q*? z) WITHIN INTERVAL '{seconds}' SECOND(6, 3)
        DEFINE x AS x.type = 'A', y AS y.type = 'B', z AS z.type = 'C'
    """,
    # Flink has no PREV, and no greedy quantifier at the end.
    "shape": """
        MEASURES FIRST(x.id) AS a, LAST(y.id) AS b, LAST(z.id) AS c
        ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
        PATTERN (x y+ z+ w)
        DEFINE y AS y.v < COALESCE(LAST(y.v, 1), x.v), z AS z.v > COALESCE(LAST(z.v, 1), LAST(y.v)),
               w AS w.v <= LAST(z.v)
    """,
    "pair": """
        MEASURES x.id AS a, y.id AS b, y.id AS c
        ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
        PATTERN (x p*? y) WITHIN INTERVAL '{seconds}' SECOND(6, 3)
        DEFINE x AS x.type = 'A', y AS y.type = 'B' AND y.v > x.v
    """,
}


def main(query: str, folder: str, window: int) -> None:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", "2")
    tables.execute_sql(f"""
        CREATE TABLE events (id BIGINT, `time` TIMESTAMP(3), type STRING, key INT, v DOUBLE,
                             WATERMARK FOR `time` AS `time` - INTERVAL '10' SECOND)
        WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv')
    """)
    tables.execute_sql("CREATE TABLE all_of_them (id BIGINT, key INT) WITH ('connector' = 'blackhole')")
    tables.execute_sql("CREATE TABLE found (key INT, a BIGINT, b BIGINT, c BIGINT) WITH ('connector' = 'blackhole')")
    reading = "INSERT INTO all_of_them SELECT id, key FROM events"
    matching = f"""
        INSERT INTO found SELECT key, a, b, c
        FROM (SELECT * FROM events WHERE type IN ('A', 'B', 'C')) MATCH_RECOGNIZE (
          PARTITION BY key ORDER BY `time` {QUERIES[query].format(seconds=window / 1000)}
        )
    """
    seconds = {}
    for name, sql in (("reading", reading), ("matching", matching)):
        start = time.perf_counter()
        tables.execute_sql(sql).wait()
        seconds[name] = time.perf_counter() - start
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
