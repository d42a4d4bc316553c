"""What the tests of the server share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.wire import Wire


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """The real server with the fake engine; it is ended with the test."""
    wire = await Wire.start()
    yield wire
    await wire.kill()
