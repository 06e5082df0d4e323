"""What the tests share: one Spark session for all that need one, and how hard hypothesis tries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.safety.tally import FUZZED

settings.register_profile(
    "default",
    deadline=None,
    derandomize="RANDOM_EXAMPLES" not in os.environ,  # `make test` fails for a change, never for bad luck
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
settings.load_profile("default")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The embedded session, as a laptop user gets it, with two cores."""
    from r2d2.engine.session import open_session
    from r2d2.settings import load_settings

    with open_session(
        load_settings({"master": "local[2]", "driver_memory": "1g", "class_archive": False}, environment={})
    ) as session:
        yield session


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests reaches them."""
    for name in list(os.environ):
        if name.startswith("R2D2_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("R2D2_CLASS_ARCHIVE", "no")  # a Java that writes one lives on for a while


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses the session is marked as starting a JVM, and runs after all that does not."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
    items.sort(key=lambda item: item.get_closest_marker("spark") is not None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many damaged files were scanned."""
    if FUZZED:
        terminalreporter.write_line("fuzz: " + ", ".join(f"{number:,} {what}" for what, number in FUZZED.items()))
