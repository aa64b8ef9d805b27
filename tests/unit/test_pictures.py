"""Pictures and pages: well-formed, with what they are to show, and the same in a real browser."""

import os
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest
from browser import seen
from command_line import run_here
from pattern_pictures import picture_of

import ensue
from ensue.demo import DEPARTURES, SNOWBALL
from ensue.report.of_stream import page_of_stream

DOCS = Path(__file__).parents[2] / "docs" / "pictures"
SVG = "{http://www.w3.org/2000/svg}"
ROWS = [
    {"time": 0, "type": "smoke", "room": "<kitchen> & co", "level": 20},
    {"time": 4, "type": "heat", "room": "<kitchen> & co", "level": 35},
    {"time": 12, "type": "heat", "room": "<kitchen> & co", "level": 70},
    {"time": 14, "type": "heat", "room": "attic", "level": 80},
]
FIRE = "SELECT s, h.level FROM S WHERE smoke AS s ; heat AS h PARTITION BY room WITHIN 15 s"


def parsed(picture):
    return ElementTree.fromstring(str(picture))


def of_class(root, name):
    return [e for e in root.iter() if e.get("class") == name]


def texts(root):
    return ["".join(e.itertext()) for e in root.iter(f"{SVG}text")]


def many(count=3000):
    chosen = random.Random(1)
    return [{"time": k, "type": chosen.choice("ABC"), "k": chosen.randrange(30)} for k in range(count)]


# ---------------------------------------------------------------- automata


@pytest.mark.parametrize(
    ("pattern", "states", "said"),
    [
        ("A AS x ; B", 3, "A / A, x"),
        ("A AS x ; B AS y FILTER y.v > x.v", 3, "/ B, y"),
        ("A ;[<= 2 s] B WITHIN 5 s", 3, "time since $1 in [<= 2 s]"),
        ("A ; (B : C)+ ; D OR E", None, "any event"),
        ("A FILTER A.name = '<&>'", 2, "name = '<&>'"),
    ],
)
def test_an_automaton(pattern, states, said):
    root = parsed(ensue.query(f"SELECT * FROM S WHERE {pattern}").plot())
    drawn = of_class(root, "state")
    assert states is None or len(drawn) == states
    assert any(said in "".join(e.itertext()) for e in of_class(root, "transition"))
    assert sum("final" in (e.find(f"{SVG}title").text or "") for e in drawn) >= 1
    labels = [(e.get("x"), e.get("y")) for e in root.iter(f"{SVG}tspan")]
    assert len(set(labels)) == len(labels), "no label lies on another"


def test_no_automaton():
    with pytest.raises(ensue.EngineError, match="there is no automaton to draw: "):
        ensue.query("SELECT * FROM S WHERE ((A AS x)+ ; B FILTER median(x.v) < 9)+").plot()
    assert "no run ends" in texts(parsed(ensue.query("SELECT * FROM S WHERE A AND B").plot()))
    large = ensue.query("SELECT * FROM S WHERE A{100}").plot()
    assert texts(parsed(large)) == ["101 states are too many for a picture"]


# ---------------------------------------------------------------- time lines


def test_a_time_line():
    root = parsed(ensue.match(ROWS, FIRE, unit="s").plot())
    assert len(of_class(root, "lane")) == 1
    assert len(of_class(root, "match")) == 2
    assert {"2 matches in 4 events", "<kitchen> & co", "smoke", "heat", "0", "14"} <= set(texts(root))
    told = of_class(root, "match")[0].find(f"{SVG}title").text
    assert "h_level: 35" in told.splitlines()


def test_many_matches_are_a_density_with_examples():
    found = ensue.match(many(), "SELECT * FROM S WHERE A ; B ; C PARTITION BY k WITHIN 6 EVENTS", unit="s")
    root = parsed(found.plot())
    bars = of_class(root, "bar")
    counts = [int(b.find(f"{SVG}title").text.split()[0]) for b in bars]
    assert sum(counts) == len(found)
    assert len(of_class(root, "lane")) == 12
    assert len(str(root)) < 1_000_000


@pytest.mark.parametrize("rows", [[], ROWS])
def test_nothing_matched(rows):
    import pyarrow as pa

    events = pa.Table.from_pylist(rows, schema=pa.Table.from_pylist(ROWS).schema)
    root = parsed(ensue.match(events, "SELECT * FROM S WHERE fire", unit="s").plot())
    assert "no match" in texts(root) if rows else texts(root) == ["no events"]


@pytest.mark.parametrize(
    "text", ["SELECT * FROM S WHERE ANY", "SELECT w FROM S WHERE SPAN(A ; B) AS w", "SELECT * FROM S WHERE A"]
)
def test_of_all_kinds_of_marks(text):
    assert of_class(parsed(ensue.match(many(60), text, unit="s").plot()), "match")


def test_pictures_are_shown_and_saved(tmp_path):
    picture = ensue.match(ROWS, FIRE, unit="s").plot()
    assert picture._repr_svg_() == str(picture)
    picture.save(tmp_path / "fire.svg")
    assert (tmp_path / "fire.svg").read_text() == f"{picture}\n"
    assert repr(picture).startswith("<Picture: 2 matches in 4 events, 960 x ")
    with pytest.raises(ensue.DataError, match="cannot write"):
        picture.save(tmp_path / "none" / "fire.svg")


README = """
    SELECT a.origin, a.dep_delay, b.origin, b.dep_delay
    FROM departure
    WHERE departure AS a : departure AS b
    FILTER a.dep_delay < 0 AND b.dep_delay > 120
    PARTITION BY tailnum WITHIN 6 h
"""
PICTURES = {
    "departures.svg": lambda: ensue.match(str(DEPARTURES), README).plot(),
    "time-line.svg": lambda: ensue.match(str(DEPARTURES), SNOWBALL).plot(),
    "automaton.svg": lambda: ensue.query(
        "SELECT * FROM S WHERE smoke AS s ; (heat AS h FILTER h.level > s.level)+ ; alarm AS a WITHIN 15 s"
    ).plot(),
    "patterns.svg": lambda: picture_of(
        "A C B A A B", "A ; B", "A : B", "A -> B", "A:+", "A:+ : B", "A ; NOT C ; B", "A? ; C", "C ALL B"
    ),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_the_documentation_are_up_to_date(name):
    drawn = f"{PICTURES[name]()}\n"
    if os.environ.get("UPDATE_GOLDEN"):
        (DOCS / name).write_text(drawn, encoding="utf-8")
    assert (DOCS / name).read_text(encoding="utf-8") == drawn


def test_a_picture_of_patterns():
    """A block for each, with all of its matches."""
    root = parsed(picture_of("A B A", "A", "A ; B", "B ; B"))
    blocks = of_class(root, "pattern")
    assert [len(list(block.iter(f"{SVG}rect"))) for block in blocks] == [2, 1, 0]
    assert [len(list(block.iter(f"{SVG}circle"))) for block in blocks] == [2, 2, 0]
    assert texts(blocks[2]) == ["B ; B", "no match", "A", "B", "A"]


# ---------------------------------------------------------------- the commands


def test_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("fire.sql").write_text(FIRE)
    Path("events.csv").write_text("time,type,room,level\n0,smoke,a,1\n3,heat,a,9\n")
    done = run_here("explain", "fire.sql", "--svg")
    assert len(of_class(parsed(done.out.decode()), "state")) == 3
    done = run_here("report", "fire.sql", "-i", "events.csv", "-o", "page.html", "--unit", "s")
    assert (done.code, done.out, done.err) == (0, b"", b"1 match in 2 events: page.html\n")
    assert "<!doctype html>" in Path("page.html").read_text()
    assert run_here("report", "fire.sql", "-i", "none.csv", "-o", "other.html").code == 1
    assert not Path("other.html").exists()


# ---------------------------------------------------------------- in a browser

BATCHES = [
    {
        "batch": k,
        "time": f"2024-01-01T00:00:0{k}.000Z",
        "events": 100 * k,
        "milliseconds": 40,
        "late": k % 2,
        "waiting": 3,
    }
    | {"open": k, "matches": 2, "state_bytes": 1000 * k, "relevant": 50 * k}
    for k in range(5)
]


def page_of_live_queries():
    live = ensue.live({"fires": ensue.query(FIRE), "<b>": ensue.query("SELECT * FROM S WHERE heat")}, unit="s")
    for row in ROWS:
        live.push([row])
    return live.page(name="rooms & halls", state="stopped")


PAGES = {
    "matches": lambda: ensue.query(FIRE).report(ROWS, unit="s"),
    "many": lambda: ensue.query("SELECT * FROM S WHERE A ; B PARTITION BY k WITHIN 6 EVENTS").report(many(), unit="s"),
    "none": lambda: ensue.query("SELECT * FROM S WHERE smoke ; fire").report(ROWS, unit="s"),
    "live": page_of_live_queries,
    "a stream": lambda: page_of_stream(BATCHES, name="fires", query=FIRE, state="stopped"),
    "a stream that begins": lambda: page_of_stream([], name="fires", query=FIRE, state="failed"),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [pytest.param(1000, marks=pytest.mark.slow), 360])
def test_in_a_browser(name, width):
    page = str(PAGES[name]())
    assert "http://www.w3.org/2000/svg" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "src=" not in page, "it needs nothing else"
    found = seen(page, width=width)
    assert found.told == []
    assert found.width <= width, "only what is wide is moved, not the page"
    assert "<h1>" in found.html
    if name == "matches":
        assert found.html.count('class="match"') == 2
        assert found.html.count('class="state"') == 3
        assert "&lt;kitchen&gt; &amp; co" in found.html
    if name == "none":
        assert "no event has the type 'fire'" in found.html
        assert "reached" in found.html
    if name == "live":
        assert found.html.count("<figure>") == 7
        assert "<b>4</b>steps" in found.html
        assert "-- &lt;b&gt;" in found.html
    if name == "a stream":
        assert found.html.count("<figure>") == 8
        assert "<b>1,000</b>events" in found.html


def test_a_stream_s_page_loads_itself_anew():
    assert '<meta http-equiv="refresh" content="5">' in str(page_of_stream(BATCHES, name="fires", every=5))
    assert "refresh" not in str(page_of_stream(BATCHES, name="fires", state="stopped"))
