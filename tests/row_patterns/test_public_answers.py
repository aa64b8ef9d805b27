"""Facts that the public tests and documents of DuckDB, Trino and Oracle hold, with tables and words of our own.

They are about what is easy to get wrong: conditions over the rows so far, rows that are given back, exclusions in
groups, unions of variables, empty rounds, and where a name could mean two things.
"""

from __future__ import annotations

import pytest
from ticker import ENGINES, rows

LABELS = "MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH"
SIX = "(VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60)) t(id, v)"


def labels(engine: str, pattern: str, *, table: str = SIX, skip: str = "") -> str:
    """The variable of each row that is shown, with the row: `1A 2B`."""
    query = f"SELECT id, c FROM {table} MATCH_RECOGNIZE (ORDER BY id {LABELS} {skip} {pattern})"
    return " ".join(f"{i}{c}" for i, c in rows(query, engine))


def values(*numbers: int) -> str:
    return f"(VALUES {', '.join(f'({i}, {v})' for i, v in enumerate(numbers, start=1))}) t(id, v)"


@pytest.mark.parametrize("engine", ENGINES)
class TestConditionsOverTheMatchSoFar:
    def test_two_sums_that_balance(self, engine):
        query = f"""
            SELECT c, a, b FROM {values(3, 5, 9, 2, 2)} MATCH_RECOGNIZE (
              ORDER BY id MEASURES CLASSIFIER() AS c, sum(A.v) AS a, sum(B.v) AS b
              ALL ROWS PER MATCH PATTERN ((A | B)*) DEFINE A AS sum(A.v) - A.v <= sum(B.v))"""
        assert rows(query, engine) == [
            ("B", None, 3),
            ("A", 5, 3),
            ("B", 5, 12),
            ("A", 7, 12),
            ("A", 9, 12),
        ]

    def test_two_parts_of_equal_sum(self, engine):
        pattern = """PATTERN (^ (A | B)* (LAST_A | LAST_B) $)
            DEFINE LAST_A AS sum(A.v) + v = sum(B.v), LAST_B AS sum(B.v) + v = sum(A.v)"""
        assert labels(engine, pattern, table=values(1, 2, 3, 4)) == "1A 2B 3B 4LAST_A"

    def test_rows_that_do_not_fit_are_left_out(self, engine):
        pattern = "PATTERN ((X | {- REST -})+) DEFINE X AS sum(X.v) <= 10"
        assert labels(engine, pattern, table=values(7, 5, 2, 4, 1)) == "1X 3X 5X"

    def test_a_running_average_counts_the_candidate(self, engine):
        query = """
            SELECT n, a FROM (VALUES (1, 10), (2, 16), (3, 13), (4, 9)) t(id, v) MATCH_RECOGNIZE (
              ORDER BY id MEASURES MATCH_NUMBER() AS n, avg(A.v) AS a
              ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS A.v >= avg(A.v))"""
        assert rows(query, engine) == [(1, 10.0), (1, 13.0), (1, 13.0), (2, 9.0)]

    def test_rows_given_back_are_taken_out_of_sums(self, engine):
        assert labels(engine, "PATTERN (A{1,2} B+) DEFINE B AS min(B.v) > 0", table=values(8, 11, -2)) == "1A 2B"
        assert labels(engine, "PATTERN (A{1,3} B{2}) DEFINE B AS min(B.v) > 0", table=values(5, 5, 5, -1)) == "1A 2B 3B"
        assert labels(engine, "PATTERN ((A B){1,2} C) DEFINE A AS count(A.v) <= 2, C AS v = 30") == "1A 2B 3C"

    def test_legs_are_measured_against_earlier_legs(self, engine):
        pattern = """PATTERN (S UP+ DOWN+ UP2+ DOWN+ UP+ DOWN2+)
            DEFINE UP AS v > PREV(v), DOWN AS v < PREV(v), UP2 AS v > max(UP.v), DOWN2 AS v < min(DOWN.v)"""
        table = values(10, 12, 11, 14, 13, 15, 9)
        assert labels(engine, pattern, table=table) == "1S 2UP 3DOWN 4UP2 5DOWN 6UP 7DOWN2"

    def test_a_union_in_a_condition(self, engine):
        pattern = """PATTERN (A B+ C+ D) SUBSET BC = (B, C)
            DEFINE A AS v > 5, B AS B.v > A.v, C AS C.v < avg(B.v) + 100, D AS D.v > max(BC.v) AND count(*) > 0"""
        assert labels(engine, pattern, skip="AFTER MATCH SKIP TO LAST BC") == "1A 2B 3B 4B 5C 6D"

    def test_exclusions_in_repeated_groups_and_a_skip_to_a_union(self, engine):
        pattern = """PATTERN (S ((DN+ {- FLAT -}*)+ (UP+ {- FLAT -}*)+)+ BRK) SUBSET PAT = (DN, UP, BRK)
            DEFINE UP AS v > PREV(v) AND v <= S.v, DN AS v < PREV(v), BRK AS v > S.v, FLAT AS v = PREV(v)"""
        table = values(10, 9, 9, 8, 9, 9, 11, 7)
        assert labels(engine, pattern, table=table, skip="AFTER MATCH SKIP TO LAST PAT") == "1S 2DN 4DN 5UP 7BRK"

    def test_the_number_of_the_match_in_an_aggregate(self, engine):
        query = f"""
            SELECT n, c FROM {values(1, 2, 3, 4, 5, 6, 7, 8)} MATCH_RECOGNIZE (
              ORDER BY id MEASURES MATCH_NUMBER() AS n, string_agg(CLASSIFIER(), '') AS c PATTERN ((A | B){{4}})
              DEFINE A AS max(v - 2 * MATCH_NUMBER()) > 1 AND max(CLASSIFIER()) = 'B',
                     B AS min(lower(CLASSIFIER())) = 'b' OR min(MATCH_NUMBER() + 100) < 0)"""
        assert rows(query, engine) == [(1, "BBBA"), (2, "BAAA")]

    def test_what_a_row_was_called_tells_ways_apart(self, engine):
        assert labels(engine, "PATTERN ((A | B) C) DEFINE C AS PREV(CLASSIFIER()) = 'B'", table=values(1, 2)) == "1B 2C"

    def test_a_step_from_a_row_of_a_union(self, engine):
        query = f"""
            SELECT c FROM {SIX} MATCH_RECOGNIZE (
              ORDER BY id MEASURES NEXT(RUNNING LAST(CLASSIFIER(U), 2), 3) AS c ALL ROWS PER MATCH
              PATTERN (A B C D E F) SUBSET U = (A, B, C))"""
        assert [c for (c,) in rows(query, engine)] == [None, None, "D", "D", "D", "D"]


@pytest.mark.parametrize("engine", ENGINES)
class TestPatterns:
    @pytest.mark.parametrize(
        ("pattern", "shown"),
        [
            ("PATTERN (PERMUTE(A, B C??, B)) DEFINE A AS v > 0, B AS v < 2", "1B 2C 3A 4B"),
            ("PATTERN (PERMUTE(A, B C?, B)) DEFINE A AS v > 0, B AS v < 2", "1B 2C 3A 4B"),
            ("PATTERN (PERMUTE(A B, C)) DEFINE A AS v = 1, B AS v = 2, C AS v = 0", "1C 2A 3B"),
        ],
    )
    def test_permutations_are_alternations_of_orders(self, engine, pattern, shown):
        assert labels(engine, pattern, table=values(0, 1, 2, 1)) == shown

    @pytest.mark.parametrize(
        ("pattern", "found"),
        [
            ("^* | B", [(1, None), (2, None), (3, None)]),
            ("^+ | B", [(1, None), (2, "B")]),
            ("$+ | B", [(2, "B")]),
            ("() | B", [(1, None), (2, None), (3, None)]),
            ("B | ()*", [(1, None), (2, "B"), (3, None)]),
            ("B{,}", [(1, None), (2, "B"), (3, None)]),
            ("B{,}?", [(1, None), (2, None), (3, None)]),
            ("(B ()*)*", [(1, None), (2, "B"), (3, None)]),
        ],
    )
    def test_empty_rounds_and_anchors_in_them(self, engine, pattern, found):
        query = f"""
            SELECT id, c FROM {values(2, 1, 5)} MATCH_RECOGNIZE (
              ORDER BY id {LABELS} PATTERN ({pattern}) DEFINE B AS v < PREV(v))"""
        assert rows(query, engine) == found

    @pytest.mark.parametrize(
        ("pattern", "shown"),
        [("A$", "6A"), ("^A+$", "1A 2A 3A 4A 5A 6A"), ("$A$", ""), ("^A^", ""), ("A (B$|C$)", "5A 6B")],
    )
    def test_anchors_right_behind_variables(self, engine, pattern, shown):
        assert labels(engine, f"PATTERN ({pattern})") == shown

    def test_everything_at_once(self, engine):
        pattern = "PATTERN (^ A{1,2}? (B | C)* {- D -}? $) DEFINE B AS v > 10, C AS v < 0, D AS false"
        assert labels(engine, pattern) == "1A 2B 3B 4B 5B 6B"

    def test_rows_of_overlapping_matches_are_not_unmatched(self, engine):
        query = f"""
            SELECT id, n FROM {values(100, 100, 90, 80, 70, 100)} MATCH_RECOGNIZE (
              ORDER BY id MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS
              AFTER MATCH SKIP TO NEXT ROW PATTERN (A B{{2}}) DEFINE B AS v < PREV(v))"""
        assert rows(query, engine) == [(1, None), (2, 1), (3, 1), (4, 1), (3, 2), (4, 2), (5, 2), (6, None)]


@pytest.mark.parametrize("engine", ENGINES)
class TestNames:
    def test_a_column_and_a_variable_of_one_name(self, engine):
        query = """
            SELECT x, y, z FROM (VALUES (1, 'p'), (2, 'q'), (3, NULL), (4, 's')) t(id, A) MATCH_RECOGNIZE (
              ORDER BY id MEASURES count(A.A) AS x, count(A) AS y, count(A.*) AS z PATTERN (A B A A))"""
        assert rows(query, engine) == [(2, 3, 3)]

    def test_the_name_of_the_table(self, engine):
        query = f"""
            SELECT * FROM {SIX} MATCH_RECOGNIZE (
              ORDER BY t.id MEASURES max(t.v) AS m, t.v AS l PATTERN (A+) DEFINE A AS t.v < 40)"""
        assert rows(query, engine) == [(30, 30)]

    def test_a_variable_hides_the_table(self, engine):
        query = f"SELECT * FROM {SIX} MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(t.v) AS l PATTERN (t B*))"
        assert rows(query, engine) == [(10,)]

    def test_measures_by_their_names(self, engine):
        query = f"""
            SELECT * FROM {SIX} MATCH_RECOGNIZE (
              ORDER BY id MEASURES count(*) AS n, n + 1 AS m, m * 2 AS k, count(v) + FIRST(v) AS v PATTERN (A+))"""
        assert rows(query, engine) == [(6, 7, 14, 16)]

    def test_the_parts_come_in_any_order(self, engine):
        query = f"""
            FROM {SIX} MATCH_RECOGNIZE (
              DEFINE A AS v < 30 PATTERN (A+) ONE ROW PER MATCH MEASURES count(*) AS n ORDER BY id)"""
        assert rows(query, engine) == [(2,)]

    def test_keys_that_are_computed(self, engine):
        query = f"""
            SELECT * FROM {SIX} MATCH_RECOGNIZE (
              PARTITION BY id % 2 ORDER BY -v MEASURES FIRST(v) AS f, count(*) AS n PATTERN (A+))"""
        assert sorted(rows(query, engine)) == [(0, 60, 3), (1, 50, 3)]
        query = "SELECT * FROM (VALUES 1, 2) t(id) MATCH_RECOGNIZE (ORDER BY -id ALL ROWS PER MATCH PATTERN (A+))"
        assert rows(query, engine) == [(2,), (1,)]


@pytest.mark.parametrize("engine", ENGINES)
class TestAggregates:
    @pytest.mark.parametrize(
        ("measure", "value"),
        [
            ("sum(v) FILTER (WHERE CLASSIFIER() = 'B')", 50),
            ("count(*) FILTER (WHERE B.v > 20)", 1),
            ("array_agg(v ORDER BY v DESC)", [30, 20, 10]),
            ("listagg(CLASSIFIER(), '-') WITHIN GROUP (ORDER BY v DESC)", "B-B-A"),
            ("string_agg(CLASSIFIER(), '' ORDER BY CLASSIFIER() DESC, v)", "BBA"),
            ("max_by(id, v)", 3),
            ("min_by(CLASSIFIER(), v)", "A"),
            ("arbitrary(B.v)", 20),
            ("FIRST_VALUE(B.v) + LAST_VALUE(B.v)", 50),
            ("MATCH_SEQUENCE_NUMBER()", 3),
            ("(SELECT 42)", 42),
            ("1 IN (SELECT 1) AND EXISTS (SELECT 2)", True),
            ("CAST(CLASSIFIER() || '_label' AS varchar(3))", "B_l"),
            ("array_join(array_agg(CLASSIFIER() ORDER BY id DESC), '-')", "B-B-A"),
            ("concat_ws('', RUNNING array_agg(lower(CLASSIFIER())))", "abb"),
            ("FIRST(v, 9223372036854775806)", None),
            ("PREV(LAST(v, 9223372036854775806), 9223372036854775806)", None),
        ],
    )
    def test_measure(self, engine, measure, value):
        query = (
            f"SELECT * FROM {values(10, 20, 30)} MATCH_RECOGNIZE (ORDER BY id MEASURES {measure} AS m PATTERN (A B+))"
        )
        assert rows(query, engine) == [(value,)]

    def test_no_rows_to_take_values_from(self, engine):
        query = """
            SELECT * FROM (VALUES 1) t(v) MATCH_RECOGNIZE (
              MEASURES max_by(v, v) AS a, any_value(v) AS b, array_agg(v ORDER BY v) AS c, count(*) AS d
              PATTERN (A*) DEFINE A AS v > 1)"""
        assert rows(query, engine) == [(None, None, None, 0)]


@pytest.mark.parametrize("engine", ENGINES)
class TestTheSqlAround:
    CLAUSE = """(VALUES (1, 1), (1, 2), (2, 3)) e(g, i) MATCH_RECOGNIZE (
        PARTITION BY g ORDER BY i MEASURES i AS n PATTERN (A))"""

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("SELECT count(*) AS c, sum(n) AS s FROM {} m", [(3, 6)]),
            ("SELECT count(*) AS c, sum(n) AS s FROM {} m WHERE n > 9", [(0, None)]),
            ("SELECT g, max(n) + 1 AS x FROM {} GROUP BY g HAVING count(*) > 1", [(1, 3)]),
            ("SELECT n % 2 AS p, count(*) AS c FROM {} GROUP BY 1 ORDER BY n % 2", [(0, 1), (1, 2)]),
            ("SELECT g FROM {} GROUP BY g ORDER BY sum(n), g DESC", [(2,), (1,)]),
            ("SELECT string_agg(CAST(n AS varchar), '-' ORDER BY n DESC) AS s FROM {}", [("3-2-1",)]),
            ("SELECT count(DISTINCT g) AS c FROM {}", [(2,)]),
            ("SELECT n FROM {} UNION ALL SELECT 7 ORDER BY n DESC LIMIT 2", [(7,), (3,)]),
            ("SELECT g FROM {} UNION SELECT 1", [(1,), (2,)]),
            ("SELECT n FROM {} ORDER BY n DESC FETCH FIRST 2 ROWS ONLY", [(3,), (2,)]),
            ("SELECT n FROM {} ORDER BY n OFFSET 1 ROW FETCH NEXT ROW ONLY", [(2,)]),
            ("SELECT m.n, d.r FROM {} m JOIN (VALUES (2, 'y')) d(g, r) ON m.g = d.g", [(3, "y")]),
            ("SELECT a.n AS x, b.n AS y FROM {0} a, {0} b WHERE a.n < b.n ORDER BY x, y", [(1, 2), (1, 3), (2, 3)]),
            ("SELECT * FROM {} MATCH_RECOGNIZE (ORDER BY n MEASURES count(*) AS c PATTERN (B+))", [(3,)]),
            ("WITH w(x, y) AS (SELECT g, n FROM {}) SELECT sum(y) AS s FROM w WHERE x = 1", [(3,)]),
        ],
    )
    def test_query(self, engine, query, found):
        assert rows(query.format(self.CLAUSE), engine) == found

    def test_rows_without_a_table(self, engine):
        query = """
            WITH t AS (SELECT 1 AS x, 'a' AS y UNION ALL SELECT 2, 'b')
            SELECT y FROM t MATCH_RECOGNIZE (ORDER BY x DESC ALL ROWS PER MATCH PATTERN (A))"""
        assert rows(query, engine) == [("b",), ("a",)]
