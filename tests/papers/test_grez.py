"""The examples of Grez, A Framework for Complex Event Processing (thesis, 2017)."""

import pytest

import ensue


def T(id, tmp):
    return {"type": "T", "id": id, "tmp": tmp, "hum": None}


def H(id, hum):
    return {"type": "H", "id": id, "tmp": None, "hum": hum}


#: Figure 2.1: three sensors on a farm measure temperature and humidity.
S = [H(2, 35), T(0, 45), H(0, 20), H(1, 25), T(1, 40), T(0, 42), T(1, 25), H(1, 70), H(0, 18)]

FIRE = "x.tmp > 40 AND y.hum <= 25 AND x.id = 0 AND y.id = 0"
PHI_1 = f"(T AS x ; H AS y) FILTER {FIRE}"
PHI_2 = f"((T AS x ; H AS y) OR (H AS y ; T AS x)) FILTER {FIRE}"
PHI_3 = "(H AS x ; (T AS y FILTER y.id = 1)+ ; H AS z) FILTER x.hum < 30 AND z.hum > 60 AND x.id = 1 AND z.id = 1"
PHI_4 = "(H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) FILTER x.hum < 30 AND z.hum > 60 AND x.id = z.id"
PHI_6 = "T AS x ; ((T AS y FILTER x.tmp >= 40) OR (H AS y FILTER x.tmp < 40))"


# ---------------------------------------------------------------- chapter 2: events in action


def test_chapter_2_phi_1_sequence_and_filter(supports):
    """Chapter 2, phi_1: "the pairs satisfying these conditions are {1, 2}, {1, 8}, and {5, 8}".

    The words before it ask for a humidity "of less than 25%", the formula for at most 25; S cannot tell them apart.
    """
    assert supports(f"SELECT * FROM S WHERE {PHI_1}", S) == {(1, 2), (1, 8), (5, 8)}


def test_chapter_2_phi_2_disjunction(supports):
    """Chapter 2, phi_2: the result of phi_1 "plus the match {2, 5}"."""
    assert supports(f"SELECT * FROM S WHERE {PHI_2}", S) == {(1, 2), (1, 8), (5, 8), (2, 5)}


def test_chapter_2_phi_3_iteration(supports):
    """Chapter 2, phi_3: {3, 4, 6, 7}, and since + skips, {3, 6, 7} and {3, 4, 7} as well."""
    assert supports(f"SELECT * FROM S WHERE {PHI_3}", S) == {(3, 4, 6, 7), (3, 6, 7), (3, 4, 7)}


def test_chapter_2_phi_1_with_its_filters_pushed_down(complex_events):
    """Chapter 2, phi_1': "formula phi_1 can be restated as phi_1'" (also chapter 8, the query rewrite module)."""
    pushed = "(T AS x FILTER x.tmp > 40 AND x.id = 0) ; (H AS y FILTER y.hum <= 25 AND y.id = 0)"
    assert complex_events(f"SELECT * FROM S WHERE {pushed}", S) == {
        (1, 2, frozenset({("T", (1,)), ("x", (1,)), ("H", (2,)), ("y", (2,))})),
        (1, 8, frozenset({("T", (1,)), ("x", (1,)), ("H", (8,)), ("y", (8,))})),
        (5, 8, frozenset({("T", (5,)), ("x", (5,)), ("H", (8,)), ("y", (8,))})),
    }
    assert complex_events(f"SELECT * FROM S WHERE {pushed}", S) == complex_events(f"SELECT * FROM S WHERE {PHI_1}", S)


def test_chapter_2_phi_4_correlation(supports):
    """Chapter 2, phi_4: a pattern "similar to phi_3 where all the events must be produced by the same sensor".

    No answer is printed. By hand: the humidity above 60 is S[7], of sensor 1; the only one below 30 of that sensor
    before it is S[3]. So the matches are those of phi_3.
    """
    assert supports(f"SELECT * FROM S WHERE {PHI_4}", S) == {(3, 4, 6, 7), (3, 6, 7), (3, 4, 7)}


def test_chapter_2_phi_4_for_two_sensors(supports):
    """Chapter 2, phi_4, over a stream of our own where the sensors 1 and 2 interleave.

    By hand: 0, 4 are sensor 1's humidities with its temperature 2 between; 1, 5 are sensor 2's with 3 between.
    """
    interleaved = [H(1, 20), H(2, 25), T(1, 30), T(2, 31), H(1, 65), H(2, 70)]
    assert supports(f"SELECT * FROM S WHERE {PHI_4}", interleaved) == {(0, 2, 4), (1, 3, 5)}


# ---------------------------------------------------------------- chapter 3: the language


def test_section_3_2_a_filter_on_a_variable_that_nothing_binds():
    """Section 3.2: phi = (T AS x; (H AS y)+) FILTER z.id = 1 shows var, vdef and vdef_+.

    CEPL gives it a meaning; nothing binds z, so by section 5.1 it is not well-formed, and our language rejects it.
    """
    with pytest.raises(ensue.QueryError, match="'z'"):
        ensue.query("SELECT * FROM S WHERE (T AS x ; (H AS y)+) FILTER z.id = 1")


def test_section_3_2_sequencing_is_associative(complex_events):
    """Section 3.2: "the sequencing operator (;) is associative". No answer is printed; by hand, over Figure 2.1:

    a T, an H and a T: the first T is 1, the H is 2 or 3, and the last T is 4, 5 or 6.
    """
    left = complex_events("SELECT x, y, z FROM S WHERE (T AS x ; H AS y) ; T AS z", S)
    right = complex_events("SELECT x, y, z FROM S WHERE T AS x ; (H AS y ; T AS z)", S)
    by_hand = {
        (1, z, frozenset({("x", (1,)), ("y", (y,)), ("z", (z,))}))
        for y, z in [(2, 4), (2, 5), (2, 6), (3, 4), (3, 5), (3, 6)]
    }
    assert left == by_hand
    assert right == by_hand


def test_section_3_3_phi_2_with_all(complex_events):
    """Section 3.3: phi_2 "could have been written more succinctly as [(T AS x) ALL (H AS y)] FILTER (...)"."""
    succinct = f"(T AS x ALL H AS y) FILTER {FIRE}"
    by_hand = {
        (1, 2, frozenset({("x", (1,)), ("y", (2,))})),
        (1, 8, frozenset({("x", (1,)), ("y", (8,))})),
        (5, 8, frozenset({("x", (5,)), ("y", (8,))})),
        (2, 5, frozenset({("x", (5,)), ("y", (2,))})),
    }
    assert complex_events(f"SELECT x, y FROM S WHERE {succinct}", S) == by_hand
    assert complex_events(f"SELECT x, y FROM S WHERE {PHI_2}", S) == by_hand


LOW_THEN_HIGH = "(T AS x FILTER x.tmp < 20) ; (T AS y FILTER y.tmp > 40)"
DRASTIC_INCREASE = f"({LOW_THEN_HIGH}) UNLESS (T AS z FILTER z.tmp >= 20 AND z.tmp <= 40)"


def test_section_3_3_unless(supports):
    """Section 3.3: the UNLESS pattern for a drastic increase of temperature. Stream and answer are our own.

    The words ask that "no other temperatures occur in between", the formula only that none from 20 to 40 does.
    By hand: low are 0, 3, 4 and high are 2, 6. The 30 at position 1 rules out {0, 2} and {0, 6}. The formula keeps
    {3, 6}, though the temperature 4 is in between; the words keep {4, 6} alone. We follow the formula.
    """
    stream = [T(0, 10), T(0, 30), T(0, 45), T(0, 15), T(0, 12), H(0, 30), T(0, 50)]
    assert supports(f"SELECT * FROM S WHERE {LOW_THEN_HIGH}", stream) == {(0, 2), (0, 6), (3, 6), (4, 6)}
    assert supports(f"SELECT * FROM S WHERE {DRASTIC_INCREASE}", stream) == {(3, 6), (4, 6)}
    words = "(T AS x FILTER x.tmp < 20) ; NOT T ; (T AS y FILTER y.tmp > 40)"
    assert supports(f"SELECT * FROM S WHERE {words}", stream) == {(4, 6)}


def test_section_3_3_unless_at_its_bounds(supports):
    """Section 3.3: the negated part includes 20 and 40. By hand: each low-high pair has one of them in between."""
    stream = [T(0, 10), T(0, 20), T(0, 41), T(0, 19), T(0, 40), T(0, 41)]
    assert supports(f"SELECT * FROM S WHERE {LOW_THEN_HIGH}", stream) == {(0, 2), (0, 5), (3, 5)}
    assert supports(f"SELECT * FROM S WHERE {DRASTIC_INCREASE}", stream) == set()


# ---------------------------------------------------------------- chapter 4: selection strategies


@pytest.fixture(params=["SELECT * FROM S WHERE {selector}({pattern})", "SELECT {selector} * FROM S WHERE {pattern}"])
def selected(request, supports):
    """The matches over Figure 2.1 that a selector keeps: as an operator of the pattern, and as one of the query."""
    return lambda selector, pattern: supports(request.param.format(selector=selector, pattern=pattern), S)


def test_chapter_4_strict_phi_1(selected):
    """Chapter 4: "STRICT(phi_1) would only produce the match {1, 2}".

    The words speak of "a temperature right after a humidity measure"; phi_1 has them the other way round.
    """
    assert selected("STRICT", PHI_1) == {(1, 2)}


def test_chapter_4_strict_phi_3(selected):
    """Chapter 4, STRICT on phi_3. No answer is printed; by hand: every match of phi_3 leaves out position 5."""
    assert selected("STRICT", PHI_3) == set()


def test_chapter_4_next_phi_1(selected):
    """Chapter 4: "{1, 8} satisfies NXT(phi_1)"; {1, 2}, the only match that ends at 2, does so too.

    The definition there compares matches under one fixed valuation. With x fixed, {5, 8} would have no rival and be
    kept: the printed example would not come out. Section 5 of the language page compares all that end together.
    """
    assert selected("NEXT", PHI_1) == {(1, 2), (1, 8)}


def test_chapter_4_next_phi_3(selected):
    """Chapter 4: "if we evaluate NXT(phi_3) over the stream we will also get {3, 4, 6, 7} as the only output"."""
    assert selected("NEXT", PHI_3) == {(3, 4, 6, 7)}


def test_chapter_4_max_phi_1(selected):
    """Chapter 4: "the MAX selector will output both matches {1, 8} and {5, 8} for phi_1"; and {1, 2}, ending at 2."""
    assert selected("MAX", PHI_1) == {(1, 2), (1, 8), (5, 8)}


def test_chapter_4_max_phi_3(selected):
    """Chapter 4: "if we evaluate MAX(phi_3) over the same stream, we will obtain only {3, 4, 6, 7} as output"."""
    assert selected("MAX", PHI_3) == {(3, 4, 6, 7)}


def test_chapter_4_the_order_of_next(selected):
    """Chapter 4: "{5, 8} <=next {1, 8} since the minimum element in {5, 8} symmetric-difference {1, 8} is 1".

    Asked as phi_1 with the humidity at position 8, whose matches are these two; LAST has the opposite order here.
    """
    at_8 = f"{PHI_1} AND y.hum = 18"
    assert selected("MAX", at_8) == {(1, 8), (5, 8)}
    assert selected("NEXT", at_8) == {(1, 8)}
    assert selected("LAST", at_8) == {(5, 8)}


def test_chapter_4_next_refines_inclusion(selected):
    """Chapter 4: "if M_1 is a subset of M_2 then M_1 <=next M_2".

    By hand: of the sets of temperatures that end together, the one of all temperatures so far is the greatest.
    """
    assert selected("NEXT", "T+") == {(1,), (1, 4), (1, 4, 5), (1, 4, 5, 6)}


# ---------------------------------------------------------------- chapter 5: syntactic analysis


def test_section_5_1_phi_5_is_not_well_formed():
    """Section 5.1: phi_5 = (H AS x) FILTER (y.tmp <= 30) is not well-formed.

    CEPL has {2} in its result, but could tell only at position 6. Our language takes well-formed patterns only.
    """
    with pytest.raises(ensue.QueryError, match="'y'"):
        ensue.query("SELECT * FROM S WHERE (H AS x) FILTER y.tmp <= 30")


def test_section_5_1_a_variable_from_a_wider_scope():
    """Section 5.1: "formula phi_4 in Section 2 is well-formed although variable x is ... defined outside"."""
    assert ensue.query(f"SELECT * FROM S WHERE {PHI_4}")


def test_section_5_1_a_variable_of_one_disjunct_only():
    """Section 5.1: "for the OR operator a variable must be defined in both formulas in order to be bounded".

    A filter in one disjunct cannot use a variable that only the other one binds.
    """
    with pytest.raises(ensue.QueryError, match="'x'"):
        ensue.query("SELECT * FROM S WHERE T AS x OR (H AS y FILTER x.tmp > 40)")


def test_section_5_1_psi_makes_x_a_set(complex_events):
    """Section 5.1: psi = T AS x ; T AS x "is not satisfiable" in CEPL: x cannot be two positions.

    In our language, as in CEL, a second binding in a sequence makes x a set, so psi finds all pairs of temperatures.
    """
    pairs = {(1, 4), (1, 5), (1, 6), (4, 5), (4, 6), (5, 6)}
    found = complex_events("SELECT x FROM S WHERE T AS x ; T AS x", S)
    assert found == {(i, j, frozenset({("x", (i, j))})) for i, j in pairs}
    assert found != set()  # what the thesis says


def test_section_5_1_the_same_variable_on_both_sides_of_all(supports):
    """Section 5.1: the issue of psi "arises when variables are reused on conjunctive operators like ; or ALL".

    With ALL it is satisfiable also in CEPL: both sides are the same event.
    """
    assert supports("SELECT * FROM S WHERE T AS x ALL T AS x", S) == {(1,), (4,), (5,), (6,)}


def test_lemma_5_3_a_filter_over_a_disjunction(complex_events):
    """Section 5.1, Lemma 5.3: (phi_1 OR phi_2) FILTER a is (phi_1 FILTER a) OR (phi_2 FILTER a); here for phi_2."""
    apart = f"((T AS x ; H AS y) FILTER {FIRE}) OR ((H AS y ; T AS x) FILTER {FIRE})"
    found = complex_events(f"SELECT * FROM S WHERE {apart}", S)
    assert {(start, end) for start, end, _ in found} == {(1, 2), (1, 8), (5, 8), (2, 5)}
    assert found == complex_events(f"SELECT * FROM S WHERE {PHI_2}", S)


def test_section_5_2_phi_6_a_filter_as_a_conditional(supports):
    """Section 5.2, phi_6: a later T if x.temp >= 40, else a later H. No answer is printed; by hand over Figure 2.1:

    x = 1 (45): 4, 5, 6. x = 4 (exactly 40): 5, 6. x = 5 (42): 6. x = 6 (25): the humidities 7, 8.
    The words say "greater than 40" where the formula says at least 40; x = 4 tells them apart. We follow the formula.
    """
    by_hand = {(1, 4), (1, 5), (1, 6), (4, 5), (4, 6), (5, 6), (6, 7), (6, 8)}
    words = {(1, 4), (1, 5), (1, 6), (4, 7), (4, 8), (5, 6), (6, 7), (6, 8)}
    found = supports(f"SELECT * FROM S WHERE {PHI_6}", S)
    assert found == by_hand
    assert found != words


def test_theorem_5_3_phi_6_in_lp_normal_form(complex_events):
    """Section 5.2, Theorem 5.3: every formula has an LP-normal form; here that of phi_6, by the proof's rewriting."""
    lp = "((T AS x FILTER x.tmp >= 40) ; T AS y) OR ((T AS x FILTER x.tmp < 40) ; H AS y)"
    by_hand = {
        (x, y, frozenset({("x", (x,)), ("y", (y,))}))
        for x, y in [(1, 4), (1, 5), (1, 6), (4, 5), (4, 6), (5, 6), (6, 7), (6, 8)]
    }
    assert complex_events(f"SELECT x, y FROM S WHERE {lp}", S) == by_hand
    assert complex_events(f"SELECT x, y FROM S WHERE {PHI_6}", S) == by_hand


# ---------------------------------------------------------------- chapter 6: match automata


def test_figure_6_1_matches_that_begin_and_end_with_humidity(supports):
    """Chapter 6, Figure 6.1: "all matches that begin and end with an H-tuple and also contain some of the T-tuples
    with temperature higher than 40". By hand over Figure 2.1: those temperatures are 1 and 5.
    """
    by_hand = {(0, 1, 2), (0, 1, 3), (0, 1, 7), (0, 1, 8), (0, 5, 7), (0, 5, 8), (0, 1, 5, 7), (0, 1, 5, 8)}
    by_hand |= {(2, 5, 7), (2, 5, 8), (3, 5, 7), (3, 5, 8)}
    assert supports("SELECT * FROM S WHERE H ; (T AS t FILTER t.tmp > 40)+ ; H", S) == by_hand
