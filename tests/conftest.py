"""What all tests share."""

import pytest


@pytest.fixture(params=["reference", "auto"])
def engine(request: pytest.FixtureRequest) -> str:
    """The meaning itself, and what a user gets: the fastest engine that evaluates the query."""
    return str(request.param)
