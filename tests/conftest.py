"""What all tests share: the engines, the settings of Hypothesis, and how many random cases are tried."""

import os

import amounts
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ensue",
    # On a busy machine a single example may take long.
    deadline=None,
    # CI tries the same examples every time, unless a seed is given.
    derandomize=bool(os.environ.get("CI")) and not amounts.SEED,
    max_examples=amounts.amount(60),
    # The fixture `engine` is only a name, so all examples may share it.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("ensue")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis gets the same seed as the other random cases."""
    if amounts.SEED and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(amounts.SEED)


def pytest_report_header() -> str:
    return amounts.told()


@pytest.fixture(params=["reference", "auto"])
def engine(request: pytest.FixtureRequest) -> str:
    """The reference, which is the meaning; and the engine that a user gets, the fastest one for the query."""
    return str(request.param)
