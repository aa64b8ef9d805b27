"""Conditions hold over columns where the reference says so, on every row."""

import numpy as np
import pyarrow as pa
import pytest

from ensue.columns.evaluation import holds
from ensue.data.events import EventStream
from ensue.engines.reference.expressions import Events, Expressions, Scope
from ensue.language.parser import parse_expression

COLUMNS = {
    "i": pa.array([0, 1, -3, None, 2**62, -(2**63), 7, 100]),
    "j": pa.array([2, 0, 5, 1, 2**30, 3, None, -1], pa.int32()),
    "u": pa.array([0, 1, 2**64 - 1, 3, None, 5, 6, 7], pa.uint64()),
    "f": pa.array([0.5, -1.5, float("nan"), float("inf"), None, 1e308, 0.0, -0.0]),
    "s": pa.array(["a", "ab", "", None, "B%", "a_b", "\n", "é"]),
    "d": pa.array(["x", None, "y", "x", "y", "z", "x", "x"]).dictionary_encode(),
    "b": pa.array([True, False, None, True, False, True, None, True]),
    "t": pa.array([0, 1, 2, None, 10**9, 5, 6, 7], pa.timestamp("ms")),
    "n": pa.nulls(8),
}
TESTS = """
i > 0 ; i = j ; i + j > 3 ; i - 1 < j ; i * j > 0 ; i / j > 0.5 ; i % j = 1 ; -i > 0 ; u > 2 ; u = i ; f > 0
f = 0 ; f < i ; f * 10 > 1 ; f % 2 > 0 ; i / 0 IS NULL ; f / 0 IS NULL ; i % 0 IS NULL ; i IN (1, 7, NULL)
i NOT IN (1, 7, NULL) ; i NOT IN (1, 7) ; i BETWEEN 0 AND j ; i NOT BETWEEN 0 AND 5 ; i IS NULL ; i IS NOT NULL
s = 'a' ; s < 'b' ; s LIKE 'a%' ; s LIKE 'a\\_b' ; s NOT LIKE '%b' ; s || 'x' = 'ax' ; d = 'x' ; d <> 'x'
d LIKE '_' ; d IS NULL ; d = s ; b ; NOT b ; b = FALSE ; b AND i > 0 ; b OR i > 0 ; NOT (b AND i > 0) ; n = 1
n IS NULL ; n ; upper(s) = 'A' ; lower(s) = 'b%' ; length(s) > 1 ; starts_with(s, 'a') ; ends_with(s, 'b')
contains(s, '%') ; contains(s, s) ; abs(i) > 2 ; abs(f) > 1 ; floor(f) = -2 ; ceil(f) = 1 ; round(f) = 1
round(f) = -2 ; sqrt(f) > 0.5 ; sqrt(i) >= 1 ; ln(f) < 0 ; ln(i) >= 0 ; log10(i) > 1 ; exp(f) > 1
power(i, 2) > 4 ; coalesce(i, j) > 0 ; coalesce(i, f) > 0 ; nullif(i, 1) IS NULL ; greatest(i, j) > 2
least(i, f) < 0 ; if(b, i, j) > 0 ; substr(s, 1, 1) = 'a' ; trim(s) = 'a' ; replace(s, 'a', 'b') = 'b'
concat(s, s) = 'aa' ; t > timestamp('1970-01-01 00:00:00.003') ; year(t) = 1970 ; hour(t) = 0
t - timestamp('1970-01-01') > 3 ms ; TRUE ; FALSE ; NULL ; 1 = 1 ; i > 1 AND (f < 2 OR s = 'a') AND NOT d = 'y'
(i > 0) = b ; sign(f) = -1 ; i + 9223372036854775807 > 0 ; i - 9223372036854775807 < 0
"""


@pytest.mark.parametrize("text", [t.strip() for t in TESTS.strip().replace("\n", ";").split(";")])
def test_a_test_over_columns_is_the_reference_row_by_row(text):
    expression = parse_expression(text)
    table = pa.table(COLUMNS)
    types = pa.chunked_array([pa.nulls(8, pa.string())])
    reference = Expressions(Events(EventStream(table, types, np.zeros(8, dtype=np.int64), None, types), [range(8)]))
    wanted = [reference.value(expression, Scope(here=k)) is True for k in range(8)]
    assert holds(expression, COLUMNS, 8).tolist() == wanted
