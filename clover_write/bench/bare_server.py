"""The peer of `bench lsp`: a pygls server that does nothing but keep its documents."""

from __future__ import annotations

import logging

from lsprotocol import types
from pygls.lsp.server import LanguageServer


def main() -> None:
    """Serve on standard input and output."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = LanguageServer("bare", "0")

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(_: types.DidChangeTextDocumentParams) -> None:
        """Nothing is left to do: pygls has changed its text."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def code_lens(_: types.CodeLensParams) -> list[types.CodeLens]:
        return []

    server.start_io()


if __name__ == "__main__":
    main()
