"""The classes of timed automata of García and Riveros, sections 5 and 6: their examples, and what their proofs say."""

import itertools
import math
from functools import cache

import pytest

from ensue.automata import predicates
from ensue.automata.build import build
from ensue.automata.liveness import pruned, with_shared_registers
from ensue.automata.model import Automaton, Builder, Label
from ensue.automata.predicates import ALWAYS, Guard, TypeIs, conjunction
from ensue.automata.registers import Since, Store
from ensue.automata.timing.clocks import clocks_of, fewest_clocks, with_window
from ensue.automata.timing.monotonic import monotonic
from ensue.automata.timing.synchronous import Answer, synchronous_resets
from ensue.language import ast
from ensue.language.parser import parse_expression, parse_interval, parse_pattern
from ensue.logic.windowed import is_windowed

HOT: Guard = frozenset({(TypeIs("T"), True), (predicates.Test(parse_expression("temp > 40")), True)})
DRY = frozenset({(TypeIs("H"), True), (predicates.Test(parse_expression("hum < 25")), True)})


def at_most(clock: str, seconds: int) -> Since:
    return Since(clock, parse_interval(f"[<= {seconds} s]"))


def automaton(*transitions, final: int) -> Automaton:
    """Each from a state with a guard, marks and actions to another; between, any event may pass."""
    made = Builder(0)
    for source, guard, marks, actions, target in transitions:
        made.add(source, guard, Label(frozenset(marks), frozenset(actions)), target, final=target == final)
    for state in range(1, final):
        made.add(state, ALWAYS, Label(), state)
    return made.build()


#: Example 4.1.
T_1 = automaton(
    (0, HOT, "X", [Store("z")], 1),
    (1, HOT, "", [at_most("z", 1)], 2),
    (2, DRY, "Y", [at_most("z", 5)], 3),
    final=3,
)
#: Example 4.2.
T_2 = automaton(
    (0, HOT, "X", [Store("z1")], 1),
    (1, HOT, "X", [Store("z2")], 2),
    (2, DRY, "Y", [at_most("z1", 5)], 3),
    (3, DRY, "Y", [at_most("z2", 5)], 4),
    final=4,
)


def is_deterministic(a: Automaton) -> bool:
    """Section 5; no two clock conditions here exclude each other, since all are upper bounds."""
    return not any(
        t.marks == u.marks and conjunction(t.guard, u.guard) is not None
        for out in a.outgoing.values()
        for t, u in itertools.combinations(out, 2)
    )


def made(text: str) -> Automaton:
    return pruned(with_shared_registers(build(parse_pattern(text))))


def test_example_5_1_determinism():
    """Example 5.1: T_2 is deterministic, T_1 is not."""
    assert is_deterministic(T_2)
    assert not is_deterministic(T_1)


def test_section_5_phi_non_det_has_no_synchronous_resets():
    """Section 5: no deterministic timed CEA defines phi_non-det, so by theorem 5.3 its resets are not synchronous."""
    phi = made("PROJECT () (A ; A ;[= 1 s] A)")
    assert synchronous_resets(phi).answer is Answer.NO
    assert synchronous_resets(phi, read=True).answer is Answer.NO


def test_example_5_2_synchronous_resets():
    """Example 5.2: T_1 has synchronous resets; and, below it, so has every deterministic timed CEA, as T_2."""
    assert synchronous_resets(T_1).answer is Answer.YES
    assert synchronous_resets(T_2).answer is Answer.YES


def test_theorem_5_4_events_at_the_same_time():
    """The proof of theorem 5.4 takes "t >= 0", though timestamps strictly increase (section 3): two events at one time.

    Our streams have such events, so here it is right: the one reset that differs is at the time of the first event.
    """
    at_once = Since("z", parse_interval("[= 0 s]"))
    differing = automaton(
        (0, HOT, "X", [Store("z")], 1),
        (1, HOT, "Y", [at_once, Store("w")], 2),
        (1, HOT, "Y", [], 2),
        (2, DRY, "", [at_most("w", 1)], 3),
        final=3,
    )
    verdict = synchronous_resets(differing)
    assert verdict.witness is not None
    assert list(verdict.witness.times) == [0, 0]


@cache
def orders(n: int) -> int:
    """In how many ways n things can be ordered, where some may be equal."""
    return sum(math.comb(n, k) * orders(n - k) for k in range(1, n + 1)) if n else 1


def test_theorem_5_4_the_number_of_regions():
    """The proof of theorem 5.4: "bounded by |Z| 2^|Z| prod (2 c_z + 2)". Alur and Dill have |Z|! in place of |Z|.

    9 clocks, each below 100 and no whole number, and each order of their fractional parts, are more regions than that.
    """
    clocks, c = 9, 100
    regions = c**clocks * orders(clocks)
    printed = clocks * 2**clocks * (2 * c + 2) ** clocks
    assert regions > printed
    assert regions < math.factorial(clocks) * 2**clocks * (2 * c + 2) ** clocks


@pytest.mark.parametrize("phi_T", ["(T OR H)", "ANY"])
def test_section_5_swg_queries_are_windowed(phi_T):
    """Section 5: "all swg queries are windowed", so by theorem 5.5 they have synchronous resets and two clocks."""
    text = f"""({phi_T} AS X1 FILTER X1[temp > 40]) ;[<= 2.5 s] ({phi_T} AS X2 FILTER X2[hum <= 25]) ;[1 s .. 3 s]
               ({phi_T} AS X3 FILTER X3[temp < 45]) ;[> 1 s] ({phi_T} AS X4 FILTER X4[temp < 45]) WITHIN 4.5 s"""
    assert is_windowed(parse_pattern(text))
    two = fewest_clocks(made(text))
    assert len(clocks_of(two)) == 2
    assert synchronous_resets(two).answer is Answer.YES


def test_section_5_what_is_not_windowed():
    """Section 5: a windowed formula has no projection around time operators: neither phi_non-det nor phi_1'."""
    assert not is_windowed(parse_pattern("PROJECT () (A ; A ;[= 1 s] A)"))
    assert not is_windowed(parse_pattern("PROJECT X, Y (T AS X ;[<= 1 s] T ; H AS Y WITHIN 5 s)"))


def test_example_6_2_the_determinisation_of_t_1_by_the_letter():
    """Example 6.2: "the determinization has one clock and is monotonic". That of theorem 5.3 is not.

    From {1} an unmarked temperature above 40 leads to {1, 2} where z <= 1, and to {1} elsewhere. Both are unmarked, so
    the second transition must say z > 1, as the proof's conditions with their opposites do; all others say <=.
    """
    taken = [t for t in T_1.outgoing[1] if not t.marks and conjunction(t.guard, HOT) is not None]

    def to(seconds: int) -> set[int]:
        asked = {t: [a.interval for a in t.actions if isinstance(a, Since)] for t in taken}
        return {t.target for t in taken if all(i.contains(seconds * 10**9) for i in asked[t])}

    assert to(1) == {1, 2}
    assert to(2) == {1}


def test_example_6_2_a_monotonic_automaton():
    """Example 6.2: nothing comes of {1} where z > 1, so without it the automaton is monotonic, as printed."""
    found = monotonic(T_1)
    assert found is not None
    assert is_deterministic(found)
    asked = [a.interval for t in found.transitions for a in t.actions if isinstance(a, Since)]
    assert asked
    assert all(i.low is None for i in asked)
    assert monotonic(T_2) is None  # two clocks


def test_example_6_2_phi_2():
    """Example 6.2: "similarly for the formula phi_2 of example 3.2"."""
    rising = "H AS X :[<= 1 s] T:+[<= 1 s] :[<= 1 s] H AS Y"
    phi_2 = made(f"PROJECT X, Y, T (({rising}) FILTER X[hum < 30] AND Y[hum > 30])")
    one = fewest_clocks(phi_2)
    assert len(clocks_of(one)) == 1
    assert synchronous_resets(one, read=True).answer is Answer.YES
    assert monotonic(one) is not None


def test_theorem_6_1_windows_around_patterns_without_times():
    """Section 6: a query of CORE, a pattern without times in a window, is a deterministic monotonic timed CEA."""
    window = parse_interval("[<= 5 s]").high
    assert isinstance(window, ast.Bound)
    windowed = with_window(build(parse_pattern("A ; (B OR C)+ ; D")), window)
    assert len(clocks_of(windowed)) == 1
    assert synchronous_resets(windowed).answer is Answer.YES
    assert monotonic(windowed) is not None
