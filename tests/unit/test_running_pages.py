"""Pages of what runs: live queries and their steps, and a page that is kept up to date in a file."""

import time

import pytest

import ensue
from ensue.report.html_page import Page
from ensue.report.kept_page import kept_page
from ensue.report.of_stream import OF_LIVE, OF_SPARK, StepLog

PAIRS = ensue.query("SELECT * FROM S WHERE A ; NOT C ; B")


def events(*types, at=0):
    return [{"time": at + k, "type": t} for k, t in enumerate(types)]


def figures(page):
    """The figures of a page by their names."""
    parts = str(page).partition('<ul class="facts">')[2].partition("</ul>")[0].split("<li><b>")[1:]
    return {name: value for value, name in (part.removesuffix("</li>").split("</b>") for part in parts)}


def test_a_live_query_that_is_corrected():
    live = PAIRS.live(unit="s")
    live.push(events("A", "B", "B"))
    live.push([{"time": 0, "type": "C"}])
    live.advance(1)
    live.push([{"time": 0, "type": "B"}])
    page = live.page(name="pairs")
    told = figures(page)
    assert told["state"] == "running"
    assert (told["steps"], told["events"], told["late"]) == ("4", "5", "1")
    assert (told["inserted"], told["deleted"]) == ("2", "2")
    assert told["unsettled"] == str(live.metrics["unsettled"])
    assert str(page).count("<figure>") == 7
    assert PAIRS.text in str(page)
    assert 'http-equiv="refresh" content="2"' in str(page)


def test_several_live_queries_that_go_on():
    live = ensue.live({"pairs": PAIRS, "ones": ensue.query("SELECT * FROM S WHERE A")}, unit="s", delay="1 s")
    live.push([*events("A", "B", at=10), {"time": 10, "type": "A"}])
    again = ensue.live({"pairs": PAIRS, "ones": ensue.query("SELECT * FROM S WHERE A")}, unit="s", delay="1 s")
    again.load(live.save())
    again.push([{"time": 1, "type": "A"}])
    told = figures(again.page(state="stopped"))
    assert (told["steps"], told["events"], told["late"]) == ("1", "1", "1"), "what was before is not counted again"
    assert "-- ones" in str(again.page())


@pytest.mark.parametrize("kind", [OF_LIVE, OF_SPARK])
def test_sums_are_over_all_steps(kind):
    """Of which only the last ones are shown."""
    log = StepLog(kind)
    for number in (*range(5, 205), 7):
        log.add({kind.step: number, "time": "", "events": 3})
    page = log.page(name="x", query="", state="stopped", every=2)
    assert figures(page)["events"] == "600"
    assert figures(page)["the first of them"] == f"{kind.step} 5"
    assert "<td>144</td>" not in str(page)
    assert str(page).count("<tr>") == 61


def page_of(state):
    return Page(state)


def test_a_kept_page(tmp_path):
    path = tmp_path / "page.html"
    with kept_page(path, page_of, every=1):
        assert "<h1>running</h1>" in path.read_text()
    assert "<h1>stopped</h1>" in path.read_text()
    for error, state in ((KeyboardInterrupt, "stopped"), (ValueError, "failed")):
        with pytest.raises(error), kept_page(path, page_of, every=1):
            raise error
        assert f"<h1>{state}</h1>" in path.read_text()


def test_a_page_that_cannot_be_written(tmp_path, caplog):
    with (
        pytest.raises(ensue.DataError, match="cannot write"),
        kept_page(tmp_path / "none" / "p.html", page_of, every=1),
    ):
        pytest.fail("it has begun")
    folder = tmp_path / "gone"
    folder.mkdir()
    with kept_page(folder / "p.html", page_of, every=0):
        (folder / "p.html").unlink()
        while not any(folder.iterdir()):
            time.sleep(0.01)
        for path in folder.iterdir():
            path.unlink(missing_ok=True)
        folder.rename(tmp_path / "elsewhere")
        time.sleep(0.1)
    assert [r.getMessage().partition(":")[0] for r in caplog.records] == ["the page is not up to date"]
