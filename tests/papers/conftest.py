"""The tests of the papers' examples look at positions in the stream, counted from 0."""

import pytest

import ensue


@pytest.fixture
def run(engine):
    """Runs a query over rows in their own order. If a unit is given, the column `time` orders them."""

    def run(query, events, unit=None):
        return ensue.query(query).run(events, time="time" if unit else None, unit=unit, engine=engine)

    return run


@pytest.fixture
def complex_events(run):
    """The result as `(start, end, marks)`. The marks are pairs of a variable and its positions."""

    def complex_events(query, events, unit=None):
        matches = run(query, events, unit)
        found = []
        for m, (start, end) in enumerate(zip(matches.start.tolist(), matches.end.tolist(), strict=True)):
            marks = {x: tuple(marked.of(m).tolist()) for x, marked in matches.marks.items()}
            found.append((start, end, frozenset((x, positions) for x, positions in marks.items() if positions)))
        assert len(found) == len(set(found)), "no complex event is reported twice"
        return set(found)

    return complex_events


@pytest.fixture
def supports(complex_events):
    """The result as CEPL prints it: the positions of the events of each match, in the order of the stream."""

    def supports(query, events, unit=None):
        found = set()
        for start, end, marks in complex_events(query, events, unit):
            support = sorted({k for _, positions in marks for k in positions})
            assert (start, end) == (support[0], support[-1])
            found.add(tuple(support))
        return found

    return supports


@pytest.fixture
def intervals(complex_events):
    """The result as windows: pairs of the first and the last position."""

    def intervals(query, events, unit=None):
        return {(start, end) for start, end, _ in complex_events(query, events, unit)}

    return intervals
