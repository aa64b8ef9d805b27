"""The examples of Praveen and Hitarth, Window Expressions for Stream Data Processing.

The paper describes its windows and prints none: the streams are our own, the answers derived by hand. A window is
a pair of positions, its first and its last. A lookback variable x_-k of a k-SLA is `PREV(x, k)`.
"""

import csv
from itertools import groupby, pairwise
from pathlib import Path
from random import Random

import pytest

import ensue

#: Data that is not part of this project: where it does not lie beside it, its tests are skipped.
DATA = Path(__file__).parents[3] / "shared" / "data"
HEART, MACHINE = DATA / "heart_ppg" / "data2.csv", DATA / "nab" / "machine_temperature_system_failure.csv"

# ---------------------------------------------------------------- section 5, 1: genome sequencing

CODE = {"A": 0, "C": 1, "G": 2, "T": 3}  # the two bits of section 5


def read_of(letters):
    return [{"base": letter, "code": CODE[letter]} for letter in letters]


@pytest.mark.parametrize(
    ("t", "expected"),
    [(1, {(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)}), (3, {(0, 2), (1, 3), (2, 4)}), (5, {(0, 4)}), (6, set())],
)
def test_section_5_t_mers(intervals, t, expected):
    """Section 5, genome sequencing: a t-mer is "a contiguous substring of length t"; the window (True)*, (True)^t."""
    assert intervals(f"SELECT * FROM read WHERE ANY:{{{t}}}", read_of("ATCGA")) == expected


INDEX = "SELECT 4 * a.code + b.code AS x FROM read WHERE ANY AS a : ANY AS b"


def test_section_5_lexicographic_index(run):
    """Section 5, genome sequencing, step 2: windows of length p = 2 with their two-bit compression as a number.

    By hand: TG is 3 * 4 + 2, GA is 2 * 4 + 0, and so on.
    """
    found = run(INDEX, read_of("TGACTTGCA"))
    assert found.start.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert found.to_arrow()["x"].to_pylist() == [14, 8, 1, 7, 15, 14, 9, 4]


def supermers(values):
    """Steps 3 and 4: a first substring, more of the same minimizer, and the one where the minimizer changes.

    A minimizer is the least of the last `values` indices. The paper's windows lie between two changes and are then
    moved by one; these begin with the change and end with the next.
    """

    def minimum(e, back):
        return "least(" + ", ".join(f"PREV({e}.x, {k})" if k else f"{e}.x" for k in range(back, back + values)) + ")"

    def minimum_before_and_now(e, comparison):
        return f"{minimum(e, 1)} {comparison} {minimum(e, 0)}"

    whole, no_whole_before = f"PREV(f.x, {values - 1}) IS NOT NULL", f"PREV(f.x, {values}) IS NULL"
    return f"""
        SELECT * FROM O_MIN
        WHERE (ANY AS f FILTER {whole} AND ({no_whole_before} OR {minimum_before_and_now("f", "<>")}))
            : (ANY AS s FILTER {minimum_before_and_now("s", "=")}):+ ?
            : (ANY AS d FILTER {minimum_before_and_now("d", "<>")})"""


def test_section_5_supermers(run, intervals):
    """Section 5, genome sequencing: "a supermer is the merge of all the consecutive k-mers that have same p-minimizer".

    By hand, for t = 4 and p = 2: the 4-mers TGAC, GACT, ACTT have the 2-minimizer AC, CTTG has CT, TTGC has GC, and
    TGCA has CA; the last is not known to be over.
    The printed expression contradicts the definition: its min(x[-k+p, -1]) spans t - p values where a t-mer has
    t - p + 1 substrings of length p. With those two values, not three, ACTT would not have the minimizer AC.
    """
    letters = "TGACTTGCA"
    indices = run(INDEX, read_of(letters)).to_arrow()
    found = intervals(supermers(3), indices)
    assert found == {(2, 5), (5, 6), (6, 7)}
    assert {letters[start - 2 : end + 1] for start, end in found} == {"TGACTT", "CTTG", "TTGC"}
    as_printed = intervals(supermers(2), indices)
    assert as_printed == {(1, 2), (2, 4), (4, 5), (5, 6), (6, 7)}
    assert found != as_printed


def indices_of(letters, p):
    """The lexicographic index of each substring of length `p`."""
    codes = [CODE[x] for x in letters]
    return [sum(c * 4 ** (p - 1 - k) for k, c in enumerate(codes[i : i + p])) for i in range(len(codes) - p + 1)]


def windows_of_minimizers(t, p):
    """Steps 2 to 4 of section 5 as windows: the least index of each t-mer, and the stretches where that stays."""
    changes, stays = "ANY[PREV(least) IS NULL OR least <> PREV(least)]", "ANY[least = PREV(least)]"
    return (
        f"SELECT min(w.x) AS least FROM O_P WINDOW w AS (IS ANY:{{{t - p + 1}}})",
        f"""SELECT first(w.least) AS least, count(w) AS mers FROM O_MIN
            WINDOW w AS (IS {changes} : {stays}:* UNTIL (ANY[least <> PREV(least)] OR END))""",
    )


@pytest.mark.parametrize(("t", "p"), [(4, 2), (7, 3), (5, 5)])
def test_section_5_supermers_as_windows_of_windows(run, t, p):
    """Section 5, genome sequencing, steps 1 to 4 over a random read: each query reads the matches of the one before.

    The paper moves the windows between two changes by one; UNTIL ends them before the second. Nothing follows the
    supermer at the end of a read: it is told where that is known.
    """
    rng = Random(f"read {t} {p}")
    letters = "".join(rng.choice("ACGT") for _ in range(60))
    items = " + ".join(f"{4 ** (p - 1 - k)} * e{k}.code" for k in range(p))
    indexed = f"SELECT {items} AS x FROM read WHERE {' : '.join(f'ANY AS e{k}' for k in range(p))}"
    minimizers, stretches = windows_of_minimizers(t, p)
    indices = run(indexed, read_of(letters)).to_arrow()
    assert indices["x"].to_pylist() == indices_of(letters, p)
    least = run(minimizers, indices).to_arrow()
    found = run(stretches, least).to_arrow().to_pylist()
    by_hand = [min(indices_of(letters[i : i + t], p)) for i in range(len(letters) - t + 1)]
    supermers = [(x, len(list(same))) for x, same in groupby(by_hand)]
    assert [(m["least"], m["mers"]) for m in found] == supermers[:-1]
    whole = ensue.query(stretches).run(least, time=None, closed=True).to_arrow().to_pylist()
    assert [(m["least"], m["mers"]) for m in whole] == supermers


# ---------------------------------------------------------------- section 5, 2: arrhythmia detection

#: Time and value of a spectrogram: a peak, a plateau, two peaks, a peak below the threshold of 3.
SPECTROGRAM = [{"t": 10 * k, "r": r} for k, r in enumerate([1, 5, 2, 3, 3, 1, 4, 9, 0, 8, 1, 2, 0])]

O_PEAK = """SELECT a.t AS t FROM spectrogram
            WHERE ANY AS a : ANY AS x FILTER PREV(x.r) > PREV(x.r, 2) AND PREV(x.r) > x.r AND PREV(x.r) > 3"""


def test_section_5_peaks(intervals):
    """Section 5, arrhythmia detection, step 1: WA = True . (R(x_-1) > R(x_-2) and R(x_-1) > R(x_0) and R(x_-1) > p).

    By hand: the windows of a peak, at 1, 7 and 9, and the event after it. By Definition 3.2 a window of a 2-SLA starts
    at position 2 or later, which leaves out the peak at 1; our look-back needs only the events that it speaks of.
    """
    assert intervals(O_PEAK, SPECTROGRAM) == {(1, 2), (7, 8), (9, 10)}


def test_section_5_peaks_by_their_definition(intervals):
    """Section 5, arrhythmia detection: in words, r_i peaks if r_i >= max(r_i-1, r_i+1) and r_i >= p.

    The printed expression contradicts it with > throughout: the plateau at 3 and 4, of the value p = 3, peaks in
    words and does not in the expression.
    """
    words = """SELECT a FROM spectrogram
               WHERE ANY AS a : ANY AS x FILTER PREV(x.r) >= greatest(PREV(x.r, 2), x.r) AND PREV(x.r) >= 3"""
    found = intervals(words, SPECTROGRAM)
    assert found == {(1, 2), (3, 4), (4, 5), (7, 8), (9, 10)}
    assert found != intervals(O_PEAK, SPECTROGRAM)


def test_section_5_time_between_consecutive_peaks(run):
    """Section 5, arrhythmia detection, step 2: (True)*, (True)^2 over the stream of peaks, and the difference in time.

    By hand: the peaks are at the times 10, 70 and 90.
    """
    peaks = run(O_PEAK, SPECTROGRAM).to_arrow()
    found = run("SELECT b.t - a.t AS apart FROM O_PEAK WHERE ANY AS a : ANY AS b", peaks)
    assert found.to_arrow()["apart"].to_pylist() == [60, 20]


@pytest.mark.skipif(not HEART.exists(), reason="the heart data is not beside the project")
def test_section_5_peaks_of_a_heart():
    """Section 5, arrhythmia detection, over 15,000 samples of a heart, and the times between its peaks."""
    with HEART.open() as lines:
        samples = [{"t": float(row["timer"]), "r": int(row["hr"])} for row in csv.DictReader(lines)]
    peaks = """SELECT first(w.t) AS t FROM heart
               WINDOW w AS (IS ANY : ANY[PREV(r) > PREV(r, 2) AND PREV(r) > r AND PREV(r) > 600])"""
    found = ensue.query(peaks).run(samples, time=None).to_arrow()
    r = [s["r"] for s in samples]
    expected = [samples[k]["t"] for k in range(1, len(r) - 1) if r[k] > max(r[k - 1], r[k + 1], 600)]
    assert found["t"].to_pylist() == expected
    assert len(expected) > 10
    pairs = "SELECT last(w.t) - first(w.t) AS apart FROM O_PEAK WINDOW w AS (IS ANY:{2})"
    apart = ensue.query(pairs).run(found, time=None).to_arrow()["apart"].to_pylist()
    assert apart == [b - a for a, b in pairwise(expected)]


# ---------------------------------------------------------------- section 5, 3: trends in stock markets

PRICES = [{"price": p} for p in (3, 5, 6, 6, 7, 8, 9, 2)]


def test_section_5_price_has_gone_up(intervals):
    """Section 5, stock markets: the windows of WA = (x_0 > x_-1), by hand all but 0, 3 (equal) and 7."""
    found = intervals("SELECT x FROM trades WHERE ANY AS x FILTER x.price > PREV(x.price)", PRICES)
    assert found == {(1, 1), (2, 2), (4, 4), (5, 5), (6, 6)}


@pytest.mark.parametrize(("k", "ends"), [(1, {1, 2, 4, 5, 6}), (2, {2, 5, 6}), (3, {6}), (4, set())])
def test_section_5_price_has_gone_up_k_times(intervals, k, ends):
    """Section 5, stock markets: to check that the price has "gone up consecutively k times, k lookback variables can be
    used with a similar expression". By hand; and the same without more look-back, as k contiguous rises.
    """
    rises = " AND ".join(f"PREV(x.price, {b}) > PREV(x.price, {b + 1})" for b in range(1, k))
    looking_back = "x.price > PREV(x.price)" + (f" AND {rises}" if rises else "")
    found = intervals(f"SELECT x FROM trades WHERE ANY AS x FILTER {looking_back}", PRICES)
    assert found == {(end, end) for end in ends}
    contiguous = f"(ANY AS x FILTER x.price > PREV(x.price)):{{{k}}}"
    assert intervals(f"SELECT x FROM trades WHERE {contiguous}", PRICES) == {(end - k + 1, end) for end in ends}


@pytest.mark.skipif(not MACHINE.exists(), reason="the machine data is not beside the project")
@pytest.mark.parametrize("k", [1, 3, 6])
def test_section_5_what_has_gone_up_k_times_in_a_machine(k):
    """Section 5, stock markets, over 22,695 temperatures of a machine: k rises, one directly after the other."""
    with MACHINE.open() as lines:
        values = [float(row["value"]) for row in csv.DictReader(lines)]
    rises = f"SELECT count(w) AS n FROM machine WINDOW w AS (IS ANY[value > PREV(value)]:{{{k}}})"
    found = ensue.query(rises).run([{"value": v} for v in values], time=None)
    ends = [j for j in range(k, len(values)) if all(values[i] > values[i - 1] for i in range(j - k + 1, j + 1))]
    assert found.end.tolist() == ends
    assert found.start.tolist() == [j - k + 1 for j in ends]
    assert ends


# ---------------------------------------------------------------- section 6: memory requirement


@pytest.mark.parametrize(
    ("letters", "expected"),
    [("aaaaa", set()), ("aabab", {(0, 2), (1, 2), (2, 2), (3, 4), (4, 4)}), ("bb", {(0, 0), (1, 1)})],
)
def test_section_6_windows_that_end_at_b(intervals, letters, expected):
    """Section 6: for (a + b)*, a*b, "a window can start at any position and ends at the letter b"; over a^omega
    no window ever ends.
    """
    assert intervals("SELECT * FROM S WHERE (a:+)? : b", [{"type": letter} for letter in letters]) == expected


A_THEN_B = "SELECT count(w) AS n FROM S WINDOW w AS (IS a:* : b)"


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("", "no bound: from the start, each further a leaves one more open (run: 10 times, 10 open)"),
        (
            "EXPECT ((a OR b):*)",
            "no bound: after a, each further a leaves one more open (run: 10 times, 10 open)",
        ),
        ("EXPECT (((a:{1,3} : b) OR b):*)", "at most 3"),
    ],
)
def test_section_6_memory_depends_on_the_input_specifier(expected, said):
    """Section 6: the windows of (a + b)*, a*b need unbounded memory, unless the specifier bounds the runs of `a`."""
    lines = ensue.query(f"{A_THEN_B} {expected}").explain().splitlines()
    line = next(x for x in lines if x.startswith("  with EXPECT" if expected else "  open at once"))
    assert line.endswith(f"  {said}")
