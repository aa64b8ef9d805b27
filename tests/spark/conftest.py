"""One Spark session for all tests of this folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'ensue[spark]'")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("Spark needs Java, and there is none", allow_module_level=True)


HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make quick` leaves out the tests that need a session, unless they are marked as quick."""
    for item in items:
        needs_it = "spark" in getattr(item, "fixturenames", ())
        if HERE in item.path.parents and needs_it and item.get_closest_marker("quick") is None:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session with two cores."""
    from spark_session import session_of_tests

    session = session_of_tests()
    yield session
    session.stop()
