"""The examples of Alevizos, Artikis and Paliouras, Symbolic Automata with Memory (register match automata)."""

import pytest

from ensue.algebra import Detector
from ensue.automata.automaton_printer import print_deterministic
from ensue.errors import EngineError


def T(id, value):
    return {"type": "T", "id": id, "value": value}


def H(id, value):
    return {"type": "H", "id": id, "value": value}


#: Table 1: the example stream.
S = [T(1, 22), T(1, 24), T(2, 32), H(1, 70), H(1, 68), T(2, 33)]

EXPRESSION_1 = "(T AS x ; H AS y) FILTER x.id = y.id"
EXPRESSION_2 = "((T AS x)+ ; H AS y) FILTER x.id = y.id"
EXPRESSION_3 = "(T AS x FILTER x.id = y.id)+ ; H AS y"
EXPRESSION_5 = """((T AS x FILTER x.value < -40) OR (T AS x FILTER x.value > 50)) ; T AS y
                  FILTER y.id = x.id"""


def test_section_3_1_every_temperature_before_every_humidity(supports):
    """Section 3.1, phi: "{0, 3}, {0, 4}, {1, 3}, {1, 4}, {2, 3}, {2, 4} would all be matches"."""
    found = supports("SELECT * FROM S WHERE T AS x ; H AS y", S)
    assert found == {(0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4)}


def test_expression_1_a_binary_formula(supports):
    """Section 3.1, expression (1): "the matches for this expression would be the same, except for {2, 3}".

    The paper contradicts its definition: {2, 4} drops out as well, since t_2 has id 2 and t_4 has id 1.
    """
    found = supports(f"SELECT * FROM S WHERE {EXPRESSION_1}", S)
    assert found == {(0, 3), (0, 4), (1, 3), (1, 4)}
    assert found != {(0, 3), (0, 4), (1, 3), (1, 4), (2, 4)}  # as printed


#: One or both of the temperatures of sensor 1, then one of its humidities.
OF_ONE_SENSOR = {(0, 3), (0, 4), (1, 3), (1, 4), (0, 1, 3), (0, 1, 4)}


def test_expression_2_a_filter_over_an_iterated_variable(supports):
    """Section 3.2, expression (2): it "checks that all these events are from the same sensor"; {0, 1, 3} is a match.

    In CEPL it is not well-formed, and by Definition 2 would mean something else: the x of the filter is not the x of
    the rounds, so that {0, 2, 3}, of the sensors 1, 2, 1, would be a match. In our language x is a set outside the
    iteration and the filter holds for each of its events: what the paper says in words.
    """
    found = supports(f"SELECT * FROM S WHERE {EXPRESSION_2}", S)
    assert found == OF_ONE_SENSOR
    assert (0, 2, 3) not in found


def test_expression_3_a_filter_on_a_later_event(supports):
    """Section 3.2, expression (3): "essentially the same as Expression (2)", y being an event that comes later."""
    assert supports(f"SELECT * FROM S WHERE {EXPRESSION_3}", S) == OF_ONE_SENSOR


def test_run_4_after_four_events(supports):
    """Section 4, run (4) of Figure 1's automaton, which captures expression (1), over the first four events:
    match = {1, 3}, and another accepting run has {0, 3}. "These are then the matches".
    """
    assert supports(f"SELECT * FROM S WHERE {EXPRESSION_1}", S[:4]) == {(1, 3), (0, 3)}


def test_expression_5_over_table_1(supports):
    """Section 5, expression (5). No answer is printed; no temperature of Table 1 is below -40 or above 50."""
    assert supports(f"SELECT * FROM S WHERE {EXPRESSION_5}", S) == set()


def test_expression_5_a_sensor_that_may_have_failed(supports):
    """Section 5, expression (5), over a stream of our own. By hand: outside the range are 0, 1 and 5; -40 and 50 are
    not. Sensor 1 goes on with 3 and 5 after 0; sensor 2 with 2 and 4 after 1; nothing comes after 5.
    """
    stream = [T(1, -41), T(2, 51), T(2, 50), T(1, -40), T(2, 20), T(1, 60)]
    assert supports(f"SELECT * FROM S WHERE {EXPRESSION_5}", stream) == {(0, 3), (0, 5), (1, 2), (1, 4)}


@pytest.mark.parametrize("m", [1, 2, 3, 7])
def test_theorem_12_as_many_matches_as_temperatures(supports, m):
    """Section 5, Theorem 12: for m T events, "followed by one H event with the same id, this RMA detects m matches"."""
    stream = [T(1, 20 + k) for k in range(m)] + [H(1, 70)]
    assert supports(f"SELECT * FROM S WHERE {EXPRESSION_1}", stream) == {(k, m) for k in range(m)}


@pytest.mark.parametrize(
    ("w", "expected"),
    [
        (1, set()),
        (2, set()),
        (3, {(1, 3)}),
        (4, {(0, 3), (1, 3), (1, 4)}),
        (5, {(0, 3), (0, 4), (1, 3), (1, 4)}),
    ],
)
def test_section_6_window(supports, w, expected):
    """Section 6, Definition 13: phi_1 WINDOW w holds where max(M) - min(M) < w. By hand over Table 1.

    The next sentence says that the difference is "no greater than w": then w = 2 would find {1, 3}. We follow the
    definition, as do the registers counted for w = 3 (at most two temperatures before a humidity).
    """
    assert supports(f"SELECT * FROM S WHERE {EXPRESSION_1} WITHIN {w} EVENTS", S) == expected


@pytest.mark.parametrize(("w", "expected"), [(2, {(1, 2)}), (3, {(0, 2), (1, 2)})])
def test_figure_3_window_of_two_and_of_three(supports, w, expected):
    """Section 6, Figure 3: for w = 2 one register, the T right before an H; for w = 3 at most two, "if two
    consecutive T events appear before an H event". By hand, over two such events and an H.
    """
    stream = [T(1, 20), T(1, 21), H(1, 70)]
    assert supports(f"SELECT * FROM S WHERE {EXPRESSION_1} WITHIN {w} EVENTS", stream) == expected


def test_figure_3b_the_deterministic_automaton_for_a_window_of_two():
    """Section 6, Figure 3b: the states {q_s}, {q_s, q_f} and {q_s, q_ff'}, which are 0, 1 and 2 here, and one register.

    With f := type = T and f' := type = H and id = r1.id, the min-terms are f, not f from 0 and 2; and f, f', neither of
    them from 1, where f and f' exclude each other. An H of another id and what is neither T nor H are told apart here.
    """
    automaton = Detector.of(f"{EXPRESSION_1} WITHIN 2 EVENTS").automaton
    assert (automaton.size, automaton.registers, automaton.ends) == (3, ["$1.1"], {2: (0, 1)})
    assert print_deterministic(automaton) == [
        "0 -> 1  T / T, x; $1.1 := id",
        "0 -> 0  not(T) /",
        "1 -> 2* H & $1.1 = id / H, y  took part: -1, 0",
        "1 -> 0  H & not($1.1 = id) /",
        "1 -> 1  T / T, x; $1.1 := id",
        "1 -> 0  not(H) & not(T) /",
        "2 -> 1  T / T, x; $1.1 := id",
        "2 -> 0  not(T) /",
    ]


def test_figure_3_a_window_of_three_takes_two_registers():
    """Section 6: for w = 3 there are "at most two registers, if two consecutive T events appear before an H event"."""
    automaton = Detector.of(f"{EXPRESSION_1} WITHIN 3 EVENTS").automaton
    assert automaton.registers == ["$1.1", "$1.2"]
    twice = [s for s in automaton.steps if len(s.writes) == 2]
    assert [(*map(str, s.writes),) for s in twice] == [("$1.1 := id", "$1.2 := $1.1")] * 2


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ([T(1, 20), T(2, 21), H(1, 70)], (0, 2)),
        ([T(1, 20), T(2, 21), H(2, 70)], (1, 2)),
        ([T(1, 20), T(1, 21), H(1, 70)], (0, 1, 2)),
        ([T(1, 20), T(2, 21), H(3, 70)], None),
    ],
)
def test_figure_3_two_runs_at_once(stream, expected):
    """Section 6 and Algorithms 5 to 8, w = 3: the T that has the id of the H took part, and no other event.

    As printed, neither holds. The loop on the start state (Algorithm 5, line 4) lets the second T take q_s -> q_f
    again, which writes r1, while the run in q_ft still has the first T there: the first stream would be missed. And
    Algorithm 8, line 20, outputs a mark for every T, so that the T of the other id would be in the union.
    """
    found = Detector.of(f"{EXPRESSION_1} WITHIN 3 EVENTS").detect(stream, time=None)
    assert found == [None, None, expected]


@pytest.mark.parametrize(
    ("w", "expected"),
    [
        (2, {}),
        (3, {3: (1, 3)}),
        (4, {3: (0, 1, 3), 4: (1, 4)}),
        (5, {3: (0, 1, 3), 4: (0, 1, 4)}),
    ],
)
def test_theorem_14_the_union_of_the_matches(w, expected):
    """Section 6, Theorem 14, with Definition 11: the one match of the deterministic automaton at each position is the
    union of those of `test_section_6_window`, over Table 1.
    """
    found = Detector.of(f"{EXPRESSION_1} WITHIN {w} EVENTS").detect(S, time=None)
    assert {k: union for k, union in enumerate(found) if union is not None} == expected


@pytest.mark.parametrize("expression", [EXPRESSION_2, EXPRESSION_3])
def test_definition_3_what_is_not_bounded_has_none(expression):
    """Section 3.2: an automaton for (2) or (3) "would need to store all the T events"."""
    with pytest.raises(EngineError, match="the pattern is not bounded: the id of any number of events"):
        Detector.of(f"{expression} WITHIN 5 EVENTS")


def test_expression_5_is_bounded():
    """Section 5, expression (5), over a stream of our own, within 3 events. By hand: 0 with 2, and 1 with 3."""
    stream = [T(1, -41), T(2, 51), T(1, 20), T(2, 20), T(1, 20)]
    found = Detector.of(f"{EXPRESSION_5} WITHIN 3 EVENTS").detect(stream, time=None)
    assert found == [None, None, (0, 2), (1, 3), None]
