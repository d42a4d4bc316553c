"""pygls' protocol, made forgiving: every request gets exactly one answer, whatever it holds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from typing import Any, TypeAlias

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

log = logging.getLogger(__name__)

# from a client that tells where the cursor is: the text around it can be read ahead
DID_MOVE_CURSOR = "clover/didMoveCursor"
# from a client that tells what became of an item, by the argument of the item's command
DID_SHOW = "clover/didShow"
DID_PARTIALLY_ACCEPT = "clover/didPartiallyAccept"

Json: TypeAlias = dict[str, Any]
INT_MAX = 2**31 - 1


class ForgivingProtocol(LanguageServerProtocol):
    """Differs from its parent in this: messages are repaired before they are checked, a request
    that cannot be read is still answered, a member named "jsonrpc" inside a message is data, and
    documents are left to the server's own store.
    """

    def __init__(self, server: LanguageServer, converter: Any) -> None:
        super().__init__(server, converter)
        for method in (
            types.TEXT_DOCUMENT_DID_OPEN,
            types.TEXT_DOCUMENT_DID_CHANGE,
            types.TEXT_DOCUMENT_DID_CLOSE,
            types.NOTEBOOK_DOCUMENT_DID_OPEN,
            types.NOTEBOOK_DOCUMENT_DID_CHANGE,
            types.NOTEBOOK_DOCUMENT_DID_CLOSE,
        ):
            del self.fm.builtin_features[method]

    def structure_message(self, data: Json) -> Any:
        """Called for every object inside a message: the whole is read in `handle_message`."""
        return data

    def handle_message(self, message: Any) -> None:
        """Read one decoded message and hand it to its handler."""
        if not isinstance(message, dict):
            log.warning("a message that is no object was dropped")
            return
        message["jsonrpc"] = self.VERSION
        method = message.get("method")
        if self._shutdown and "id" in message and method is not None:
            self._refuse(message, JsonRpcInvalidRequest("the server is shutting down"))
            return
        if repair := REPAIRS.get(str(method)):
            repair(message)
        try:
            structured: Any = super().structure_message(message)
        except JsonRpcException as error:
            log.warning("a message %r could not be read: %s", method, type(error).__name__)
            self._refuse(message, type(error)())
        else:
            super().handle_message(structured)

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """The server's handler ends what is open, so that requests are answered, not cancelled."""
        yield self.fm.features[types.SHUTDOWN], args, None
        self._shutdown = True

    def _refuse(self, message: Json, error: JsonRpcException) -> None:
        """Answer a request that no handler will see."""
        msg_id = message.get("id")
        if not isinstance(msg_id, (int, str)):
            return
        # an error on a keystroke would pop up in the editor
        if message.get("method") == types.TEXT_DOCUMENT_INLINE_COMPLETION:
            self._send_response(msg_id, types.InlineCompletionList([]))
        elif message.get("method") == types.TEXT_DOCUMENT_COMPLETION:
            self._send_response(msg_id, types.CompletionList(False, []))
        else:
            self._send_response(msg_id, error=error.to_response_error())


class CloverServer(LanguageServer):
    """A language server that logs its own errors and never shows them on a keystroke."""

    def __init__(self, name: str, version: str) -> None:
        super().__init__(
            name,
            version,
            notebook_document_sync=types.NotebookDocumentSyncOptions(
                [types.NotebookDocumentFilterWithNotebook("*")]
            ),
            protocol_cls=ForgivingProtocol,
            converter_factory=default_converter,
        )

    def warn(self, text: str) -> None:
        """Put a message before the user."""
        params = types.ShowMessageParams(types.MessageType.Warning, f"Clover Write: {text}")
        self.window_show_message(params)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log where an error came from, not its message: that may quote the document."""
        frames = error.data if isinstance(error, JsonRpcException) else None
        log.error("%s while handling a message %s", type(error).__name__, frames or "")


def _repair_cursor(message: Json) -> None:
    _repair_position(_member(_member(message, "params"), "position"))


def _repair_inline_completion(message: Json) -> None:
    _repair_cursor(message)
    params = _member(message, "params")
    context = params.get("context")
    kind = context.get("triggerKind") if isinstance(context, dict) else None
    params["context"] = {"triggerKind": kind if kind in (1, 2) else 2}
    if isinstance(context, dict) and context.get("selectedCompletionInfo") is not None:
        params["context"]["selectedCompletionInfo"] = context["selectedCompletionInfo"]
    params.pop("workDoneToken", None)


def _repair_did_open(message: Json) -> None:
    document = _member(_member(message, "params"), "textDocument")
    document["version"] = _int(document.get("version"))
    if not isinstance(document.get("languageId"), str):
        document["languageId"] = ""


def _repair_did_change(message: Json) -> None:
    params = _member(message, "params")
    changes = params.get("contentChanges")
    for change in changes if isinstance(changes, list) else ():
        if not isinstance(change, dict):
            continue
        change.pop("rangeLength", None)
        if change.get("range") is None:
            change.pop("range", None)
            continue
        ends = _member(change, "range")
        _repair_position(_member(ends, "start"))
        _repair_position(_member(ends, "end"))


def _repair_completion(message: Json) -> None:
    _repair_cursor(message)
    params = _member(message, "params")
    for name in ("context", "workDoneToken", "partialResultToken"):
        params.pop(name, None)


def _repair_offer(message: Json) -> None:
    params = _member(message, "params")
    params["id"] = _int(params.get("id"))
    params["acceptedLength"] = _uint(params.get("acceptedLength"))


def _repair_position(position: Json) -> None:
    for name in ("line", "character"):
        position[name] = _uint(position.get(name))


# before the message is checked: what a client can get wrong without changing what it means
REPAIRS: dict[str, Callable[[Json], None]] = {
    DID_MOVE_CURSOR: _repair_cursor,
    types.TEXT_DOCUMENT_INLINE_COMPLETION: _repair_inline_completion,
    types.TEXT_DOCUMENT_COMPLETION: _repair_completion,
    DID_SHOW: _repair_offer,
    DID_PARTIALLY_ACCEPT: _repair_offer,
    types.TEXT_DOCUMENT_DID_OPEN: _repair_did_open,
    types.TEXT_DOCUMENT_DID_CHANGE: _repair_did_change,
}


def _member(message: Json, name: str) -> Json:
    """The object under `name`; one of another kind is left for the check to refuse."""
    value = message.get(name)
    return value if isinstance(value, dict) else {}


def _int(value: object) -> int:
    """`value` as a protocol integer: clamped, 0 for what is no number."""
    if not isinstance(value, (int, float)) or value != value:
        return 0
    return int(min(max(value, -INT_MAX), INT_MAX))


def _uint(value: object) -> int:
    return max(_int(value), 0)
