"""What tests of several parts share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clover_write.config import load_config
from clover_write.store import ModelMissing, Store


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--documents",
        action="append",
        metavar="DIR",
        help="folders of Markdown and text files to read, instead of those of installed packages",
    )
    parser.addoption(
        "--soak-seconds",
        type=float,
        default=15.0,
        metavar="S",
        help="how long editors type in the soak test (15; 600 tells more)",
    )


@pytest.fixture(scope="session")
def real_model() -> Iterator[Path]:
    """The folder of the real coder-0.5b, from the store the environment names; programs that the
    tests start find it there too, whatever home they are given."""
    cache = load_config().cache_dir
    try:
        folder = Store(cache).require("coder-0.5b")
    except ModelMissing as missing:
        pytest.skip(str(missing))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLOVER_WRITE_CACHE_DIR", str(cache))
        yield folder
