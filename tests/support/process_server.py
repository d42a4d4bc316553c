"""The language server on standard input and output, over an engine process without a model."""

from __future__ import annotations

import sys

from clover_engine.address import default_place
from clover_engine.client import RemoteClient
from clover_lsp.server import create_server
from clover_write import __version__

ENGINE = [sys.executable, "-P", "-m", "clover_write", "engine", "--fake"]


def main() -> None:
    """Serve."""
    place = default_place("fake")
    create_server(lambda: RemoteClient(place, __version__, ENGINE), __version__).start_io()


if __name__ == "__main__":
    main()
