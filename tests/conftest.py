"""What all tests share: the engines, the settings of Hypothesis, and how many random cases are tried."""

import os

import amounts
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ensue",
    # On a busy machine a single example may take long.
    deadline=None,
    # CI has the same examples every time, unless it is given a seed.
    derandomize=bool(os.environ.get("CI")) and not amounts.SEED,
    max_examples=amounts.amount(100),
    # The fixture `engine` is a name: it may well stay the same from example to example.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("ensue")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """The seed of the other random cases is that of Hypothesis too."""
    if amounts.SEED and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(amounts.SEED)


def pytest_report_header() -> str:
    return amounts.told()


@pytest.fixture(params=["reference", "auto"])
def engine(request: pytest.FixtureRequest) -> str:
    """The meaning itself, and what a user gets: the fastest engine that evaluates the query."""
    return str(request.param)
