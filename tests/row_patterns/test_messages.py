"""The exact text of every error of a query with MATCH_RECOGNIZE; each comes before any data is read.

`UPDATE_GOLDEN=1 pytest tests/row_patterns/test_messages.py` rewrites `messages.txt`: read the difference.
"""

from __future__ import annotations

import os
import pickle
import re
from pathlib import Path

import pyarrow as pa
import pytest

import ensue

FILE = Path(__file__).parent / "messages.txt"
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
TABLE = pa.schema([("k", pa.string()), ("t", pa.timestamp("us")), ("v", pa.int64()), ("tags", pa.list_(pa.string()))])
QUERIES = {
    "empty": "",
    "not SQL": "DROP TABLE t",
    "no clause": "SELECT * FROM t",
    "the form in OVER": "SELECT sum(v) OVER w FROM t MATCH_RECOGNIZE (PATTERN (A))",
    "an outer join": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) m LEFT JOIN u ON m.v = u.v",
    "a join without ON": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) m JOIN t AS u",
    "a column of two tables": """SELECT v FROM t MATCH_RECOGNIZE (MEASURES A.v AS v PATTERN (A)) m, t AS u""",
    "a column beside groups": "SELECT k, count(*) AS n FROM t MATCH_RECOGNIZE (PARTITION BY k PATTERN (A))",
    "an aggregate in WHERE": "SELECT k FROM t MATCH_RECOGNIZE (PARTITION BY k PATTERN (A)) WHERE count(*) > 1",
    "a sum of texts": "SELECT sum(k) AS s FROM t MATCH_RECOGNIZE (PARTITION BY k PATTERN (A))",
    "a query as a value": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS v > (SELECT max(v) FROM t))",
    "FILTER of array_agg": """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES array_agg(v) FILTER (WHERE v > 1) AS a PATTERN (A))""",
    "ORDER BY in DEFINE": """SELECT * FROM t MATCH_RECOGNIZE (
        PATTERN (A) DEFINE A AS string_agg(k, ',' ORDER BY v) = 'a')""",
    "a measure before it is there": """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES n + 1 AS m, count(*) AS n PATTERN (A))""",
    "a table that was not given": "SELECT * FROM ts MATCH_RECOGNIZE (PATTERN (A))",
    "no PATTERN": "SELECT * FROM t MATCH_RECOGNIZE (MEASURES A.v AS a DEFINE A AS v > 1)",
    "a part twice": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) MEASURES A.v AS a MEASURES A.t AS b)",
    "what is no part": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) QUALIFY v > 1)",
    "no name of a measure": "SELECT * FROM t MATCH_RECOGNIZE (MEASURES A.v PATTERN (A))",
    "no columns at all": "SELECT x FROM t MATCH_RECOGNIZE (PATTERN (A))",
    "a window around": """SELECT sum(v) OVER (ROWS 1 PRECEDING) AS s
        FROM t MATCH_RECOGNIZE (MEASURES A.v AS v PATTERN (A))""",
    "a frame that is none": """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES sum(v) OVER (ROWS 1 FOLLOWING) AS s PATTERN (A))""",
    "a frame of a variable": """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES sum(A.v) OVER (ROWS 1 PRECEDING) AS s PATTERN (A))""",
    "a frame of values": """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES array_agg(v) OVER (ROWS 1 PRECEDING) AS s PATTERN (A))""",
    "a window with an order": "SELECT * FROM t MATCH_RECOGNIZE (MEASURES sum(v) OVER (ORDER BY t) AS s PATTERN (A))",
    "rows too far back": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS LAST(v, 1001) IS NULL)",
    "a time without an order": "SELECT * FROM t MATCH_RECOGNIZE (MEASURES MATCH_ROWTIME() AS m PATTERN (A))",
    "two quantifiers": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A+*))",
    "an empty option": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A |))",
    "no repetition": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A{0}))",
    "impossible bounds": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A{3,2}))",
    "SEEK": "SELECT * FROM t MATCH_RECOGNIZE (SEEK PATTERN (A))",
    "too many steps": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN ((A{300}){300}))",
    "too many orders": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (PERMUTE(A+,B,C,D,E,F,G,H,I)))",
    "unknown variables": """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES X.v AS x, CLASSIFIER(Y) AS y, count(Z.*) AS z
        AFTER MATCH SKIP TO LAST W PATTERN (A B) SUBSET U = (A, Q) DEFINE C AS TRUE)""",
    "unknown columns": """SELECT * FROM t MATCH_RECOGNIZE (
        PARTITION BY kk ORDER BY tt MEASURES A.vv AS x PATTERN (A) DEFINE A AS w > 1)""",
    "an unknown column around": "SELECT vv FROM t MATCH_RECOGNIZE (MEASURES A.v AS value PATTERN (A))",
    "an unknown table around": "SELECT m.v FROM t MATCH_RECOGNIZE (MEASURES A.v AS v PATTERN (A)) AS n",
    "FINAL in DEFINE": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS FINAL LAST(v) > 1)",
    "FINAL before a column": "SELECT * FROM t MATCH_RECOGNIZE (MEASURES FINAL A.v AS v PATTERN (A))",
    "navigation in navigation": """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES FIRST(PREV(v)) AS a, PREV(PREV(v)) AS b, PREV(LAST(v) + 1) AS c, LAST(sum(v)) AS d, sum(LAST(v)) AS e
        PATTERN (A))""",
    "several variables in one call": """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES LAST(A.v + B.v) AS a, sum(A.v + v) AS b PATTERN (A B))""",
    "no column in a call": "SELECT * FROM t MATCH_RECOGNIZE (MEASURES LAST(1) AS a PATTERN (A))",
    "an offset that is no number": """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES LAST(v, v) AS a, PREV(v, -1) AS b PATTERN (A))""",
    "exclusion with unmatched rows": """SELECT * FROM t MATCH_RECOGNIZE (
        ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {- B -}))""",
    "names twice": """SELECT * FROM t MATCH_RECOGNIZE (
        PARTITION BY k MEASURES A.v AS a, B.v AS A, A.v AS k PATTERN (A B) SUBSET A = (B), U = (A), U = (B)
        DEFINE B AS v > 1, B AS v > 2)""",
    "a measure like a column": "SELECT * FROM t MATCH_RECOGNIZE (MEASURES A.v AS v ALL ROWS PER MATCH PATTERN (A))",
    "types": """SELECT * FROM t MATCH_RECOGNIZE (
        PARTITION BY tags ORDER BY t + INTERVAL '1' DAY MEASURES sum(k) AS s, max(tags) AS m, A.v || 'x' AS c
        PATTERN (A B) DEFINE A AS v, B AS B.k > A.v)""",
    "WITHIN without a time": "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY v PATTERN (A) WITHIN INTERVAL '1' HOUR)",
    "WITHIN of months": "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY t PATTERN (A) WITHIN INTERVAL '1' MONTH)",
    "an unknown function": "SELECT * FROM t MATCH_RECOGNIZE (MEASURES uper(A.k) AS u PATTERN (A))",
    "arguments of an aggregate": """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES sum() AS a, count(DISTINCT *) AS b PATTERN (A))""",
    "classifier around": "SELECT CLASSIFIER() FROM t MATCH_RECOGNIZE (PATTERN (A))",
    "an open string": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS k = 'x)",
    "the end too early": "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A",
    "two columns of one name": "SELECT v, v FROM (SELECT * FROM t MATCH_RECOGNIZE (MEASURES A.v AS v PATTERN (A)))",
    "rows of different length": "SELECT * FROM (VALUES (1, 2), (3)) t(a, b) MATCH_RECOGNIZE (PATTERN (A))",
    "names for columns": "SELECT * FROM (VALUES (1, 2)) t(a) MATCH_RECOGNIZE (PATTERN (A))",
}


def error_of(text: str) -> ensue.QueryError:
    with pytest.raises(ensue.QueryError) as error:
        ensue.sql(text, t=TABLE.empty_table())
    return error.value


def stored() -> dict[str, str]:
    parts = re.split(r"^=== (.*)\n", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], (p.removesuffix("\n") for p in parts[2::2]), strict=True))


@pytest.mark.parametrize("name", QUERIES)
def test_message(name):
    if not UPDATE:
        assert str(error_of(QUERIES[name])) == stored()[name]


@pytest.mark.skipif(not UPDATE, reason="only with UPDATE_GOLDEN=1")
def test_update():
    text = "".join(f"=== {name}\n{error_of(query)}\n" for name, query in QUERIES.items())
    FILE.write_text(text, encoding="utf-8")
    assert stored().keys() == QUERIES.keys()


def test_nothing_else_is_stored():
    assert UPDATE or stored().keys() == QUERIES.keys()


def test_errors_can_be_sent_between_processes():
    error = error_of(QUERIES["unknown variables"])
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_an_error_comes_before_data_is_read(tmp_path):
    """The file's rows cannot be read, but its columns can."""
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"v": pa.array(range(1000))}), path, compression="none")
    data = bytearray(path.read_bytes())
    data[8:200] = bytes(192)
    path.write_bytes(bytes(data))
    with pytest.raises(ensue.QueryError, match="unknown column 'w'"):
        ensue.sql("SELECT * FROM t MATCH_RECOGNIZE (MEASURES A.w AS w PATTERN (A))", t=path)
    with pytest.raises(ensue.DataError):
        ensue.sql("SELECT * FROM t MATCH_RECOGNIZE (MEASURES A.v AS w PATTERN (A))", t=path)
