"""What `explain` says of a query on Spark, from explain.txt: a name, the query, and the part that is about Spark.

`UPDATE_GOLDEN=1 pytest tests/spark/test_explain.py` rewrites the texts: read the difference before you keep it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import ensue

UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
FILE = Path(__file__).parent / "explain.txt"
BLOCKS = re.split(r"^=== ", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
CASES = {name: body.partition("\n--- explain\n") for name, _, body in (b.partition("\n") for b in BLOCKS)}
SCHEMA = "time timestamp, type string, k int, v double, w decimal(9,2)"


@pytest.fixture
def whole_plans(spark):
    """Plans are cut short in the other tests of this folder."""
    short = spark.conf.get("spark.sql.maxPlanStringLength")
    spark.conf.set("spark.sql.maxPlanStringLength", "100000")
    yield
    spark.conf.set("spark.sql.maxPlanStringLength", short)


def said(spark, name, query, folder):
    """The part about Spark, with Spark's numbers of columns and plans left out."""
    if name.startswith("stream"):
        events = spark.readStream.schema(SCHEMA).parquet(str(folder)).withWatermark("time", "1 minute")
    else:
        events = spark.createDataFrame([], SCHEMA)
    text = ensue.query(query).explain(events)
    part = text[text.index("\nspark\n") + 1 :]
    part = re.sub(r"#\d+L?", "", part)
    part = re.sub(r"_common_expr_\d+", "_common_expr", part)
    part = part.replace(str(folder), "FOLDER")
    part = re.sub(
        r"\bid = \d+|plan_id=\d+|\[file:[^]]*\]|@[0-9a-f]{6,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "...", part
    )
    return "\n".join(line.rstrip() for line in part.splitlines())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("whole_plans")
def test_explain(spark, name, tmp_path):
    query, _, expected = CASES[name]
    if not UPDATE:
        assert said(spark, name, query, tmp_path) == expected.removesuffix("\n")


@pytest.mark.skipif(not UPDATE, reason="only with UPDATE_GOLDEN=1")
@pytest.mark.usefixtures("whole_plans")
def test_update(spark, tmp_path):
    made = {name: query.strip("\n") for name, (query, _, _) in CASES.items()}
    texts = [f"=== {n}\n{q}\n--- explain\n{said(spark, n, q, tmp_path)}\n" for n, q in made.items()]
    FILE.write_text("".join(texts), encoding="utf-8")
    assert FILE.stat().st_size > 0
