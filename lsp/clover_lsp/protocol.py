"""pygls' protocol, made forgiving: every request gets exactly one answer, whatever it holds."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import traceback
from collections.abc import Callable, Generator
from concurrent.futures import Future
from functools import partial
from typing import Any, BinaryIO, TypeAlias

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
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
    that cannot be read or comes out of order is still answered, a member named "jsonrpc" inside a
    message is data, documents are left to the server's own store, and the transport decides what
    ends with the connection.
    """

    def __init__(self, server: CloverServer, converter: Any) -> None:
        super().__init__(server, converter)
        self._clover = server
        for method in (
            types.TEXT_DOCUMENT_DID_OPEN,
            types.TEXT_DOCUMENT_DID_CHANGE,
            types.TEXT_DOCUMENT_DID_CLOSE,
            types.NOTEBOOK_DOCUMENT_DID_OPEN,
            types.NOTEBOOK_DOCUMENT_DID_CHANGE,
            types.NOTEBOOK_DOCUMENT_DID_CLOSE,
        ):
            del self.fm.builtin_features[method]

    def receive(self, body: bytes | str) -> bool:
        """Take one message from the transport, in the order they come; False if it is no JSON."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return False
        # a callback of its own: an error in it is the loop's to report, the next message runs
        asyncio.get_running_loop().call_soon(self.handle_message, message)
        return True

    def refuse_unread(self) -> None:
        """Answer what was no JSON, as JSON-RPC wants it."""
        log.warning("a message was no JSON")
        self._answer_nobody(JsonRpcParseError())

    def handle_message(self, message: Any) -> None:
        """Read one decoded message and hand it to its handler."""
        if not isinstance(message, dict):
            log.warning("a message that is no object was dropped")
            self._answer_nobody(JsonRpcInvalidRequest())
            return
        message["jsonrpc"] = self.VERSION
        if error := self._out_of_order(message):
            self._refuse(message, error)
            return
        method = message.get("method")
        if method is not None and self.get_message_type(method) is None:
            message.setdefault("params", None)
        if repair := REPAIRS.get(str(method)):
            repair(message)
        try:
            structured: Any = self.structure_message(message)
        except JsonRpcException as error:
            log.warning("a message %r could not be read: %s", method, type(error).__name__)
            self._refuse(message, type(error)())
        else:
            super().handle_message(structured)

    def _execute_handler(
        self,
        msg_id: int | str,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """As the parent, which keeps the futures of notifications and commands for ever, and lets
        a command go on whose request was cancelled."""

        def ended(future: Future[Any]) -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, ended, args, kwargs)
        # what a handler waits for, as executeCommand does for its command, ends with it
        step = self._request_futures.get(msg_id)
        if step and isinstance(callback, partial) and "result_future" in callback.keywords:
            callback.keywords["result_future"].add_done_callback(lambda _: step.cancel())

    def _out_of_order(self, message: Json) -> JsonRpcException | None:
        """Why a request or notification cannot be handled now, whatever it holds."""
        method = message.get("method", "")
        if not isinstance(method, str):
            return JsonRpcInvalidRequest("a method is a string")
        if "id" in message and not isinstance(message["id"], (int, str)):
            return JsonRpcInvalidRequest("an id is a number or a string")
        if self._shutdown and "id" in message and method:
            return JsonRpcInvalidRequest("the server is shutting down")
        initialized = self._workspace is not None
        if initialized and method == types.INITIALIZE:
            return JsonRpcInvalidRequest("the server is initialized already")
        if not initialized and method not in ("", types.INITIALIZE, types.EXIT):
            return JsonRpcServerNotInitialized("initialize comes first")
        return None

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        """The server's handler ends what is open, so that requests are answered, not cancelled."""
        yield self.fm.features[types.SHUTDOWN], args, None
        self._shutdown = True

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> Any:
        """What ends now is the transport's to say: others may be served by this process."""
        self._clover.on_exit(0 if self._shutdown else 1)

    def _refuse(self, message: Json, error: JsonRpcException) -> None:
        """Answer a request that no handler will see; nothing else has an answer."""
        if "id" not in message or "method" not in message:
            return
        msg_id = message["id"]
        if not isinstance(msg_id, (int, str)):
            self._answer_nobody(error)
        elif message.get("method") == types.TEXT_DOCUMENT_INLINE_COMPLETION:
            # an error on a keystroke would pop up in the editor
            self._send_response(msg_id, types.InlineCompletionList([]))
        elif message.get("method") == types.TEXT_DOCUMENT_COMPLETION:
            self._send_response(msg_id, types.CompletionList(False, []))
        else:
            self._send_response(msg_id, error=error.to_response_error())

    def _answer_nobody(self, error: JsonRpcException) -> None:
        """Answer what has no id that could be read: JSON-RPC wants null in its place."""
        reason = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": None, "error": reason})


def report_loop_error(_: asyncio.AbstractEventLoop, context: Json) -> None:
    """Log where a callback failed, not its message: that may quote the document."""
    error = context.get("exception")
    frames = "".join(traceback.format_tb(error.__traceback__)) if error else ""
    log.error("%s in a callback\n%s", type(error).__name__, frames)


class CloverServer(LanguageServer):
    """A language server that logs its own errors and never shows them on a keystroke."""

    protocol: ForgivingProtocol  # pyright: ignore[reportIncompatibleVariableOverride]

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
        # set by the transport: the editor's process id has come; the editor said exit
        self.on_editor: Callable[[int | None], None] = lambda _: None
        self.on_exit: Callable[[int], None] = lambda _: None

    def start_io(self, stdin: BinaryIO | None = None, stdout: BinaryIO | None = None) -> None:
        """Serve one editor by a loop of our own: no header or body ends it, as it does pygls'.

        Raises SystemExit with the status of the process.
        """
        from clover_lsp.stdio import serve_stdio

        sys.exit(serve_stdio(self, stdin or sys.stdin.buffer, stdout or sys.stdout.buffer))

    async def close(self) -> None:
        """End what is open, as shutdown does; for a connection that was lost."""
        await self.protocol.fm.features[types.SHUTDOWN]()

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
