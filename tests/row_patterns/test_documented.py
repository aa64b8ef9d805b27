"""What the public documentation of other systems says of MATCH_RECOGNIZE, with the answers that it prints.

The facts are theirs, the words are ours: Flink's page "Pattern Recognition" and Trino's page "MATCH_RECOGNIZE".
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from ticker import ENGINES, rows

import ensue

START = datetime(2011, 4, 1, 10)


def ticker(*prices: int, every: timedelta = timedelta(seconds=1), symbol: str = "ACME") -> pa.Table:
    times = [START + i * every for i in range(len(prices))]
    return pa.table({"symbol": [symbol] * len(prices), "rowtime": times, "price": prices})


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.mark.parametrize("engine", ENGINES)
class TestFlink:
    def test_a_falling_price(self, engine):
        events = ticker(12, 17, 19, 21, 25, 18, 15, 14, 24, 25, 19)
        query = """
            SELECT * FROM Ticker MATCH_RECOGNIZE (
              PARTITION BY symbol
              ORDER BY rowtime
              MEASURES START_ROW.rowtime AS start_tstamp,
                       LAST(PRICE_DOWN.rowtime) AS bottom_tstamp,
                       LAST(PRICE_UP.rowtime) AS end_tstamp
              ONE ROW PER MATCH
              AFTER MATCH SKIP TO LAST PRICE_UP
              PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
              DEFINE PRICE_DOWN AS (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price)
                                   OR PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
                     PRICE_UP AS PRICE_UP.price > LAST(PRICE_DOWN.price, 1)
            ) MR"""
        assert rows(query, engine, Ticker=events) == [("ACME", at(4), at(7), at(8))]

    def test_a_running_average(self, engine):
        events = ticker(12, 17, 13, 16, 25, 2, 4, 10, 15, 25, 25, 30)
        query = """
            SELECT * FROM Ticker MATCH_RECOGNIZE (
              PARTITION BY symbol ORDER BY rowtime
              MEASURES FIRST(A.rowtime) AS start_tstamp, LAST(A.rowtime) AS end_tstamp, AVG(A.price) AS avgPrice
              PATTERN (A+ B)
              DEFINE A AS AVG(A.price) < 15
            )"""
        assert rows(query, engine, Ticker=events) == [("ACME", at(0), at(3), 14.5), ("ACME", at(5), at(10), 13.5)]

    @pytest.mark.parametrize(("quantifier", "last"), [("B*", [16]), ("B*?", [13, 16])])
    def test_greedy_and_reluctant(self, engine, quantifier, last):
        query = f"""
            SELECT lastPrice FROM Ticker MATCH_RECOGNIZE (
              PARTITION BY symbol ORDER BY rowtime MEASURES C.price AS lastPrice
              PATTERN (A {quantifier} C)
              DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12
            )"""
        assert rows(query, engine, Ticker=ticker(10, 11, 12, 13, 14, 16)) == [(price,) for price in last]

    def test_within_takes_in_its_end(self, engine):
        """12:00 to 13:00 is an hour, and the page prints the drop from 15 to 1."""
        events = ticker(20, 17, 18, 11, 14, 9, 15, 14, 24, 1, 19, every=timedelta(minutes=20))
        query = """
            SELECT * FROM Ticker MATCH_RECOGNIZE (
              PARTITION BY symbol ORDER BY rowtime
              MEASURES C.rowtime AS dropTime, A.price - C.price AS dropDiff
              PATTERN (A B* C) WITHIN INTERVAL '1' HOUR
              DEFINE B AS B.price > A.price - 10, C AS C.price < A.price - 10
            )"""
        assert rows(query, engine, Ticker=events) == [("ACME", START + timedelta(hours=3), 14)]

    def test_the_rows_before_in_the_condition_of_the_first_variable(self, engine):
        query = """
            SELECT * FROM Ticker MATCH_RECOGNIZE (
              PARTITION BY symbol ORDER BY rowtime
              MEASURES FIRST(A.price) AS startPrice, LAST(A.price) AS topPrice, B.price AS lastPrice
              PATTERN (A+ B)
              DEFINE A AS LAST(A.price, 1) IS NULL OR A.price > LAST(A.price, 1), B AS B.price < LAST(A.price)
            )"""
        assert rows(query, engine, Ticker=ticker(10, 12, 13, 11)) == [("ACME", 10, 13, 11)]

    @pytest.mark.parametrize(
        ("define", "mapped"),
        [
            ("A AS A.price >= 10, B AS B.price > A.price AND SUM(price) < 100 AND SUM(B.price) < 80", "ABBB"),
            (
                """A AS A.price >= 10, B AS (LAST(B.price, 1) IS NULL OR B.price > LAST(B.price, 1))
                   AND (LAST(B.price, 2) IS NULL OR B.price > 2 * LAST(B.price, 2))""",
                "ABBB",
            ),
        ],
    )
    def test_what_conditions_see(self, engine, define, mapped):
        query = f"""
            SELECT m FROM Ticker MATCH_RECOGNIZE (
              ORDER BY rowtime MEASURES string_agg(CLASSIFIER(), '') AS m PATTERN (A B+) DEFINE {define})"""
        assert rows(query, engine, Ticker=ticker(10, 15, 20, 31, 35)) == [(mapped,)]

    @pytest.mark.parametrize(("prices", "mapped"), [((10, 15, 20), "ABC"), ((10, 20), "AC")])
    def test_the_last_row_but_one_of_all(self, engine, prices, mapped):
        query = """
            SELECT m FROM Ticker MATCH_RECOGNIZE (
              ORDER BY rowtime MEASURES string_agg(CLASSIFIER(), '') AS m PATTERN (A B? C)
              DEFINE B AS B.price < 20, C AS LAST(price, 1) < C.price)"""
        assert rows(query, engine, Ticker=ticker(*prices)) == [(mapped,)]

    @pytest.mark.parametrize(
        ("skip", "found"),
        [
            ("PAST LAST ROW", [(26, 0, 3), (17, 4, 6)]),
            # The page does not print the last one, in which row 6 is A and row 7 is C.
            ("TO NEXT ROW", [(26, 0, 3), (24, 1, 4), (25, 2, 5), (22, 3, 6), (17, 4, 6), (7, 5, 6)]),
            # Nor here, where the search goes on at row 6.
            ("TO LAST A", [(26, 0, 3), (25, 2, 5), (17, 4, 6)]),
        ],
    )
    def test_skipping(self, engine, skip, found):
        query = f"""
            SELECT sumPrice, startTime, endTime FROM Ticker MATCH_RECOGNIZE (
              PARTITION BY symbol ORDER BY rowtime
              MEASURES SUM(A.price) AS sumPrice, FIRST(rowtime) AS startTime, LAST(rowtime) AS endTime
              AFTER MATCH SKIP {skip}
              PATTERN (A+ C)
              DEFINE A AS SUM(A.price) < 30)"""
        events = ticker(7, 9, 10, 5, 10, 7, 14)
        if skip == "TO LAST A":  # the match from row 6 on has its last A first, which would be found again for ever
            with pytest.raises(ensue.DataError, match="first row of"):
                rows(query, engine, Ticker=events)
            query = query.replace("A+ C", "A A+ C")
        expected = [(total, at(first), at(last)) for total, first, last in found]
        assert rows(query, engine, Ticker=events) == expected

    def test_the_time_of_the_match(self, engine):
        query = """
            SELECT * FROM Ticker MATCH_RECOGNIZE (
              PARTITION BY symbol ORDER BY rowtime MEASURES MATCH_ROWTIME() AS matched PATTERN (A B))"""
        assert rows(query, engine, Ticker=ticker(1, 2, 3, 4)) == [("ACME", at(1)), ("ACME", at(3))]

    def test_skipping_to_the_first_row_of_the_match(self, engine):
        query = """
            SELECT * FROM Ticker MATCH_RECOGNIZE (
              ORDER BY rowtime MEASURES SUM(A.price) AS s AFTER MATCH SKIP TO FIRST A PATTERN (A+ C)
              DEFINE A AS SUM(A.price) < 30)"""
        with pytest.raises(ensue.DataError, match="goes to the first row of"):
            rows(query, engine, Ticker=ticker(7, 9, 10, 5))


@pytest.mark.parametrize("engine", ENGINES)
class TestTrino:
    def test_a_v_shape_past_its_beginning(self, engine):
        """`A.totalprice` in the condition of C is the first row, since A stands at the beginning."""
        orders = pa.table({"custkey": [1] * 6, "orderdate": range(6), "totalprice": [200, 100, 150, 190, 210, 150]})
        query = """
            SELECT * FROM orders MATCH_RECOGNIZE (
              PARTITION BY custkey ORDER BY orderdate
              MEASURES A.totalprice AS starting, LAST(B.totalprice) AS bottom, LAST(U.totalprice) AS top
              ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
              PATTERN (A B+ C+ D+) SUBSET U = (C, D)
              DEFINE B AS totalprice < PREV(totalprice),
                     C AS totalprice > PREV(totalprice) AND totalprice <= A.totalprice,
                     D AS totalprice > PREV(totalprice))"""
        assert rows(query, engine, orders=orders) == [(1, 200, 100, 210)]
        hidden = query.replace("ONE ROW PER MATCH", "ALL ROWS PER MATCH").replace("B+ C+ D+", "{- B+ C+ -} D+")
        assert [(row[1], row[2]) for row in rows(hidden, engine, orders=orders)] == [(0, 200), (4, 200)]

    @pytest.mark.parametrize(
        ("measure", "value"),
        [
            ("LAST('pattern_variable_' || CLASSIFIER())", "pattern_variable_B"),
            ("NEXT(U.v + 10)", None),
            ("PREV(U.v + 10)", 30),
            ("LAST(CLASSIFIER() = 'A' OR v > 10)", True),
            ("LAST(CLASSIFIER(U) = 'A' OR U.v > 100)", False),
            ("PREV(FIRST(A.v, 1), 1)", 10),
            ("array_agg(CLASSIFIER())", ["A", "A", "B"]),
            ("count(*)", 3),
            ("count()", 3),
            ("count(v)", 3),
            ("count(A.v)", 2),
            ("count(A.*)", 2),
            ("count(U.*)", 3),
            ("count(1)", 3),
            ("FIRST(A.v, 5)", None),
            ("MATCH_NUMBER()", 1),
            ("CLASSIFIER(A)", "A"),
            ("sum(A.v) + sum(B.v)", 60),
        ],
    )
    def test_expressions(self, engine, measure, value):
        query = f"""
            SELECT m FROM (VALUES (1, 10), (2, 20), (3, 30)) t(id, v) MATCH_RECOGNIZE (
              ORDER BY id MEASURES {measure} AS m PATTERN (A A B) SUBSET U = (A, B))"""
        assert rows(query, engine) == [(value,)]

    def test_an_empty_match_at_every_row(self, engine):
        query = """
            SELECT * FROM (VALUES (1, 10), (2, 20)) t(id, v) MATCH_RECOGNIZE (
              ORDER BY id
              MEASURES v AS a, LAST(v) AS b, CLASSIFIER() AS c, MATCH_NUMBER() AS n, count(*) AS k, sum(v) AS s
              ALL ROWS PER MATCH PATTERN (()))"""
        nothing = (None, None, None)
        assert rows(query, engine) == [(1, *nothing, 1, 0, None, 10), (2, *nothing, 2, 0, None, 20)]

    @pytest.mark.parametrize(
        ("mode", "shown"),
        [
            ("ONE ROW PER MATCH", [(1, 2), (2, None), (3, 1)]),
            ("ALL ROWS PER MATCH", [(1, 1, 1), (2, 1, 2), (3, 2, None), (4, 3, 4)]),
            ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", [(1, 1, 1), (2, 1, 2), (4, 3, 4)]),
            ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", [(1, 1, 1), (2, 1, 2), (3, 2, None), (4, 3, 4)]),
        ],
    )
    def test_rows_per_match(self, engine, mode, shown):
        """Row 3 is no A: an empty match begins there."""
        last = "sum(1)" if mode.startswith("ONE") else "LAST(id)"
        query = f"""
            SELECT * FROM (VALUES (1, 1), (2, 1), (3, 0), (4, 1)) t(id, v) MATCH_RECOGNIZE (
              ORDER BY id MEASURES MATCH_NUMBER() AS n, {last} AS l {mode} PATTERN (A*) DEFINE A AS v = 1)"""
        found = [row[:3] if len(row) > 3 else row for row in rows(query, engine)]
        assert found == shown

    def test_unmatched_rows(self, engine):
        query = """
            SELECT * FROM (VALUES (1, 1), (2, 0), (3, 1)) t(id, v) MATCH_RECOGNIZE (
              ORDER BY id MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c
              ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A+) DEFINE A AS v = 1)"""
        assert rows(query, engine) == [(1, 1, "A", 1), (2, None, None, 0), (3, 2, "A", 1)]

    def test_permute_prefers_the_order_of_its_arguments(self, engine):
        query = """
            SELECT m FROM (VALUES 1, 2, 3) t(id) MATCH_RECOGNIZE (
              ORDER BY id MEASURES string_agg(CLASSIFIER(), '') AS m PATTERN (PERMUTE(A, B, C)){})"""
        assert rows(query.format(""), engine) == [("ABC",)]
        assert rows(query.format(" DEFINE A AS id > 1"), engine) == [("BAC",)]
        assert rows(query.format(" DEFINE A AS id > 2, B AS id > 1"), engine) == [("CBA",)]

    def test_running_and_final(self, engine):
        query = """
            SELECT * FROM (VALUES (1, 5), (2, 7)) t(id, v) MATCH_RECOGNIZE (
              ORDER BY id
              MEASURES LAST(v) AS a, RUNNING LAST(v) AS b, FINAL LAST(v) AS c, sum(v) AS d, FINAL sum(v) AS e
              ALL ROWS PER MATCH PATTERN (A+))"""
        assert [row[1:6] for row in rows(query, engine)] == [(5, 5, 7, 5, 12), (7, 7, 7, 12, 12)]


ACME = (12, 17, 19, 21, 25, 12, 15, 20, 24, 25, 19, 15, 25, 25, 14, 12, 14, 24, 23, 22)
V_SHAPE = "PATTERN (STRT DOWN+ UP+) DEFINE DOWN AS DOWN.price < PREV(DOWN.price), UP AS UP.price > PREV(UP.price)"


@pytest.mark.parametrize("engine", ENGINES)
class TestOracle:
    """The chapter "SQL for Pattern Matching" of the data warehousing guide, and the tutorial of Oracle Base."""

    def days(self, measures: str, rest: str, engine: str, items: str = "*") -> list[tuple[object, ...]]:
        table = pa.table({"symbol": ["ACME"] * 20, "tstamp": range(1, 21), "price": ACME})
        query = f"""SELECT {items} FROM Ticker MATCH_RECOGNIZE (
            PARTITION BY symbol ORDER BY tstamp MEASURES {measures} {rest}) MR"""
        return rows(query, engine, Ticker=table)

    def test_v_shapes(self, engine):
        measures = "STRT.tstamp AS s, LAST(DOWN.tstamp) AS b, LAST(UP.tstamp) AS e"
        found = self.days(measures, f"ONE ROW PER MATCH AFTER MATCH SKIP TO LAST UP {V_SHAPE}", engine, "s, b, e")
        assert found == [(5, 6, 10), (10, 12, 13), (14, 16, 18)]

    def test_all_rows_of_v_shapes(self, engine):
        measures = """MATCH_NUMBER() AS n, CLASSIFIER() AS c,
            FINAL COUNT(UP.tstamp) AS up, FINAL COUNT(tstamp) AS total,
            RUNNING COUNT(tstamp) AS so_far, price - STRT.price AS dif"""
        rest = f"ALL ROWS PER MATCH AFTER MATCH SKIP TO LAST UP {V_SHAPE}"
        found = self.days(measures, rest, engine, "tstamp, n, c, up, total, so_far, dif")
        assert len(found) == 15
        assert found[:6] == [
            (5, 1, "STRT", 4, 6, 1, 0),
            (6, 1, "DOWN", 4, 6, 2, -13),
            (7, 1, "UP", 4, 6, 3, -10),
            (8, 1, "UP", 4, 6, 4, -5),
            (9, 1, "UP", 4, 6, 5, -1),
            (10, 1, "UP", 4, 6, 6, 0),
        ]
        assert found[6] == (10, 2, "STRT", 1, 4, 1, 0)  # the last row of one match is the first of the next
        assert [row[:3] for row in found[10:]] == [
            (14, 3, "STRT"),
            (15, 3, "DOWN"),
            (16, 3, "DOWN"),
            (17, 3, "UP"),
            (18, 3, "UP"),
        ]

    def test_one_w_shape(self, engine):
        rest = f"ALL ROWS PER MATCH AFTER MATCH SKIP TO LAST UP {V_SHAPE}".replace("DOWN+ UP+)", "DOWN+ UP+ DOWN+ UP+)")
        measures = "MATCH_NUMBER() AS n, STRT.tstamp AS s, FINAL LAST(UP.tstamp) AS e, CLASSIFIER() AS c"
        found = self.days(measures, rest, engine, "tstamp, n, s, e, c")
        assert [row[:4] for row in found] == [(day, 1, 5, 13) for day in range(5, 14)]
        assert " ".join(str(row[4]) for row in found) == "STRT DOWN UP UP UP UP DOWN DOWN UP"

    UNITS = (17, 19, 23, 23, 16, 10, 14, 16, 15, 17, 23, 30, 31, 29, 25, 21, 35, 46, 45, 30)

    def units(self, measures: str, pattern: str, engine: str, shown: str = "ONE ROW") -> list[tuple[object, ...]]:
        table = pa.table({"product": ["T"] * 20, "day": range(1, 21), "units": self.UNITS})
        query = f"""SELECT * FROM sales MATCH_RECOGNIZE (
            PARTITION BY product ORDER BY day MEASURES {measures} {shown} PER MATCH AFTER MATCH SKIP TO LAST DOWN
            PATTERN ({pattern}) DEFINE UP AS UP.units > PREV(UP.units), FLAT AS FLAT.units = PREV(FLAT.units),
            DOWN AS DOWN.units < PREV(DOWN.units)) MR"""
        if "FLAT" not in pattern:
            query = query.replace("FLAT AS FLAT.units = PREV(FLAT.units),", "")
        return [row[1:] for row in rows(query, engine, sales=table)]

    def test_peaks(self, engine):
        measures = "STRT.day AS s, LAST(UP.day) AS p, LAST(DOWN.day) AS e, MATCH_NUMBER() AS n"
        found = self.units(measures, "STRT UP+ FLAT* DOWN+", engine)
        assert found == [(1, 3, 6, 1), (6, 8, 9, 2), (9, 13, 16, 3), (16, 18, 20, 4)]

    def test_all_rows_of_peaks(self, engine):
        measures = "FINAL LAST(UP.day) AS p, MATCH_NUMBER() AS n, CLASSIFIER() AS c"
        found = self.units(measures, "STRT UP+ FLAT* DOWN+", engine, "ALL ROWS")
        assert len(found) == 23
        assert [row[:4] for row in found[:6]] == [
            (day, 3, 1, c) for day, c in zip(range(1, 7), ("STRT", "UP", "UP", "FLAT", "DOWN", "DOWN"), strict=True)
        ]

    def test_a_single_dip(self, engine):
        found = self.units("STRT.day AS s, FINAL LAST(UP.day) AS p", "STRT UP+ DOWN{1} UP+", engine, "ALL ROWS")
        assert [row[:3] for row in found] == [(day, 6, 13) for day in range(6, 14)]

    def test_three_of_either(self, engine):
        letters = "TTDHHTTDDHHTTDDHTTTT"
        table = pa.table({"id": range(1, 21), "product": list(letters)})
        query = """SELECT id, n, s, e, c FROM sales MATCH_RECOGNIZE (
            ORDER BY id MEASURES FIRST(T.id) AS s, FINAL LAST(T.id) AS e, MATCH_NUMBER() AS n, CLASSIFIER() AS c
            ALL ROWS PER MATCH AFTER MATCH SKIP TO LAST T PATTERN (T+ (D | H){3} T+)
            DEFINE T AS T.product = 'T', D AS D.product = 'D', H AS H.product = 'H')"""
        found = rows(query, engine, sales=table)
        expected = [(i, 1, 1, 7) for i in range(1, 8)] + [(i, 2, 12, 20) for i in range(12, 21)]
        assert found == [(*row, letters[row[0] - 1]) for row in expected]


@pytest.mark.parametrize("engine", ENGINES)
class TestSnowflake:
    """The pages "MATCH_RECOGNIZE" and "Identifying Sequences of Rows That Match a Pattern"."""

    PRICES = ((50, 36, 39, 42, 30, 47, 71, 80), (89, 24, 37, 63, 65, 56, 50, 54))

    def prices(self, measures: str, rest: str, engine: str, items: str) -> list[tuple[object, ...]]:
        table = pa.table(
            {
                "company": ["ABCD"] * 8 + ["XYZ"] * 8,
                "price_date": [*range(1, 9)] * 2,
                "price": [p for one in self.PRICES for p in one],
            }
        )
        query = f"""SELECT {items} FROM stock_price_history MATCH_RECOGNIZE (
            PARTITION BY company ORDER BY price_date MEASURES {measures} {rest}
            PATTERN (row_before_decrease row_with_price_decrease+ row_with_price_increase+)
            DEFINE row_with_price_decrease AS price < LAG(price), row_with_price_increase AS price > LAG(price))
            ORDER BY company, match_number"""
        return rows(query, engine, stock_price_history=table)

    def test_v_shapes(self, engine):
        measures = """MATCH_NUMBER() AS match_number, FIRST(price_date) AS s, LAST(price_date) AS e,
            COUNT(*) AS n, COUNT(row_with_price_decrease.*) AS down, COUNT(row_with_price_increase.*) AS up"""
        rest = "ONE ROW PER MATCH AFTER MATCH SKIP TO LAST row_with_price_increase"
        assert self.prices(measures, rest, engine, "*") == [
            ("ABCD", 1, 1, 4, 4, 1, 2),
            ("ABCD", 2, 4, 8, 5, 1, 3),
            ("XYZ", 1, 1, 5, 5, 1, 3),
            ("XYZ", 2, 5, 8, 4, 2, 1),
        ]

    def test_all_rows_with_their_number_in_the_match(self, engine):
        measures = "MATCH_NUMBER() AS match_number, MATCH_SEQUENCE_NUMBER() AS msq, CLASSIFIER() AS cl"
        rest = "ALL ROWS PER MATCH AFTER MATCH SKIP TO LAST row_with_price_increase"
        found = self.prices(measures, rest, engine, "company, price_date, match_number, msq, cl")
        labels = ("ROW_BEFORE_DECREASE", "ROW_WITH_PRICE_DECREASE", "ROW_WITH_PRICE_INCREASE")
        assert found[:4] == [("ABCD", i, 1, i, labels[min(i, 3) - 1]) for i in range(1, 5)]
        assert found[4:6] == [("ABCD", 4, 2, 1, labels[0]), ("ABCD", 5, 2, 2, labels[1])]
        assert len(found) == 18
