"""What Query refuses before anything is evaluated."""

import pytest

import ensue

EVENTS = [{"time": 1, "type": "A"}]
QUERY = ensue.query("SELECT * FROM S WHERE A")


def test_the_engine_spark_takes_a_data_frame():
    with pytest.raises(
        ensue.EngineError, match=r"engine='spark' takes a Spark DataFrame, not list: give it spark\.read"
    ):
        QUERY.run(EVENTS, engine="spark")


@pytest.mark.parametrize("option", [{"unbounded": True}, {"buckets": 4}, {"name": "fires"}])
def test_options_of_spark_are_for_data_frames(option):
    with pytest.raises(TypeError, match=f"{next(iter(option))}: for Spark DataFrames only"):
        QUERY.run(EVENTS, **option)


def test_late_events_are_those_of_a_stream():
    with pytest.raises(ensue.DataError, match="give a streaming DataFrame, not list"):
        QUERY.late(EVENTS)  # type: ignore[arg-type]
