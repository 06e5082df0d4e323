"""Shared by all tests: one Spark session, the quick tier, and how hard hypothesis tries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.safety.tally import FUZZED

ROOT = str(Path(__file__).parent.parent)
QUICK_EXAMPLES = 10  # of hypothesis, where a test would take more
QUICK_COUNTS = {
    "SAFETY_KILLS": "20",
    "SAFETY_FLIPS": "20",
    "SAFETY_DISK_KILLS": "1",
    "SAFETY_STATES": "100",
    "SAFETY_DISK_RACES": "1",
    "SAFETY_STORIES": "3",
    "FUZZ_FILES": "50",
}

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
    from r2d2.engine.spark.session import open_session
    from r2d2.settings import load_settings

    settings = load_settings({"master": "local[2]", "driver_memory": "1g", "class_archive": False}, environment={})
    with ExitStack() as opened:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", ROOT, prepend=os.pathsep)  # workers need the functions of the tests
            session = opened.enter_context(open_session(settings))
        yield session


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the settings of the person who runs the tests."""
    for name in list(os.environ):
        if name.startswith("R2D2_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("R2D2_CLASS_ARCHIVE", "no")  # a Java that writes one lives on for a while


@pytest.fixture(autouse=True)
def no_unmarked_jvm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that starts a JVM without the marker `spark`, also from a process of its own."""
    if not _needs_jvm(request.node):
        monkeypatch.setenv("SPARK_HOME", "/mark-this-test-with-pytest.mark.spark")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of the quick tier."""
    parser.addoption("--quick", action="store_true", help="no JVM, no slow tests, few random examples")


def pytest_configure(config: pytest.Config) -> None:
    """Lower the counts of the tests that loop, before their modules read them."""
    if config.getoption("--quick"):
        for name, number in QUICK_COUNTS.items():
            os.environ.setdefault(name, number)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that use the session, and run them after all others; drop them from the quick tier."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
    items.sort(key=_needs_jvm)
    if config.getoption("--quick"):
        dropped = [item for item in items if _needs_jvm(item) or item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in set(dropped)]
        for item in items:
            _take_few_examples(item)


def _needs_jvm(item: pytest.Item) -> bool:
    return item.get_closest_marker("spark") is not None


def _take_few_examples(item: pytest.Item) -> None:
    test = getattr(item, "obj", None)
    given = getattr(test, "_hypothesis_internal_use_settings", None)  # where @settings puts them
    if given is not None and given.max_examples > QUICK_EXAMPLES:
        test._hypothesis_internal_use_settings = settings(given, max_examples=QUICK_EXAMPLES)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many damaged files were scanned."""
    if FUZZED:
        terminalreporter.write_line("fuzz: " + ", ".join(f"{number:,} {what}" for what, number in FUZZED.items()))
