"""How the tests of the papers' examples look at a result: on positions in the stream, counted from 0."""

import pytest

import ensue


@pytest.fixture
def run(engine):
    """Runs a query over rows in the order they have or, where a unit is given, by their column `time`."""

    def run(query, events, unit=None):
        return ensue.query(query).run(events, time="time" if unit else None, unit=unit, engine=engine)

    return run


@pytest.fixture
def complex_events(run):
    """The result as `(start, end, marks)`, the marks as pairs of a variable and its positions."""

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
    """The result as CEPL prints it: for each match the positions of its events, in stream order."""

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
