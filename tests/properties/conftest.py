"""Settings of Hypothesis for these tests: no deadline, and in CI the same examples every time."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ensue",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    max_examples=100,
    # The fixture `engine` is a name: it may well stay the same from example to example.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("ensue")
