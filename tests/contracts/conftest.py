"""The toy format, registered for one test and no longer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from r2d2.formats import registry
from tests.contracts.lines_format import NAME


@pytest.fixture
def lines() -> Iterator[str]:
    """The name of the toy format, while it is registered."""
    registry.register(NAME)
    yield NAME
    registry.unregister(NAME)
