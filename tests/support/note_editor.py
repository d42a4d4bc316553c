"""An editor of notes at the real server process: it keeps what it is sent, answers for a user."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

SERVER = [sys.executable, "-m", "clover_write", "lsp", "--stdio", "--engine", "fake"]
URI = "untitled:Untitled-1"
# nothing here waits that long unless something is broken
PATIENCE_S = 20


class NoteEditor:
    """One editor and one note, which it changes as it is told."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.edits: list[types.WorkspaceEdit] = []
        self.asked: list[list[str]] = []
        self.choice = ""
        self.text = ""
        self.version = 7
        client.feature("clover/status")(lambda _: None)
        # lsprotocol takes an action that has a command for a command
        structure = client.protocol._converter.structure
        client.protocol._converter.register_structure_hook(
            types.Command | types.CodeAction, lambda value, _: structure(value, types.CodeAction)
        )

        @client.feature(types.WORKSPACE_APPLY_EDIT)  # type: ignore[untyped-decorator]
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.edits.append(params.edit)
            return types.ApplyWorkspaceEditResult(True)

        @client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)  # type: ignore[untyped-decorator]
        def choose(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            titles = [action.title for action in params.actions or ()]
            self.asked.append(titles)
            return types.MessageActionItem(self.choice) if self.choice in titles else None

    @classmethod
    async def at(cls) -> NoteEditor:
        client = await ClientServerConfig(server_command=SERVER).start()
        assert isinstance(client, LanguageClient)
        return cls(client)

    async def start(
        self,
        *,
        folder: Path | None = None,
        annotations: bool = False,
        versions: bool = True,
        pulls: bool = False,
        registers: bool = False,
        **settings: object,
    ) -> types.InitializeResult:
        edit = types.WorkspaceEditClientCapabilities(document_changes=versions)
        if annotations:
            edit.change_annotation_support = types.ChangeAnnotationsSupportOptions()
        capabilities = types.ClientCapabilities(
            workspace=types.WorkspaceClientCapabilities(workspace_edit=edit),
            window=types.WindowClientCapabilities(work_done_progress=True),
            text_document=types.TextDocumentClientCapabilities(
                diagnostic=types.DiagnosticClientCapabilities() if pulls else None,
                publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
                    related_information=True
                ),
                hover=types.HoverClientCapabilities(dynamic_registration=registers),
                completion=types.CompletionClientCapabilities(dynamic_registration=registers),
                inline_completion=(
                    types.InlineCompletionClientCapabilities() if registers else None
                ),
            ),
        )
        folders = [types.WorkspaceFolder(folder.as_uri(), folder.name)] if folder else None
        params = types.InitializeParams(
            capabilities, workspace_folders=folders, initialization_options=settings or None
        )
        return await self.client.initialize_session(params)

    def open(self, text: str, uri: str = URI, language: str = "markdown") -> None:
        self.text = text
        item = types.TextDocumentItem(uri, language, self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, text: str, uri: str = URI) -> None:
        """Have `text` stand in the note."""
        self.text, self.version = text, self.version + 1
        whole = types.TextDocumentContentChangeWholeDocument(text)
        named = types.VersionedTextDocumentIdentifier(version=self.version, uri=uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(named, [whole]))

    async def actions(
        self,
        where: int | types.Range,
        *only: str,
        uri: str = URI,
        diagnostics: Sequence[types.Diagnostic] = (),
    ) -> list[types.CodeAction]:
        """The actions of a selection, or of a line at whose start the cursor stands."""
        if isinstance(where, int):
            where = types.Range(types.Position(where, 0), types.Position(where, 0))
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(uri),
            where,
            types.CodeActionContext(list(diagnostics), only=list(only) or None),
        )
        found = await self.client.text_document_code_action_async(params)
        return [each for each in found or () if isinstance(each, types.CodeAction)]

    async def run(self, command: str, *arguments: object) -> Any:
        params = types.ExecuteCommandParams(command, list(arguments))
        return await self.client.workspace_execute_command_async(params)

    def edited(self) -> str:
        """The note as the only edit makes it, after its version was looked at."""
        [edit] = self.edits
        if edit.changes:
            [changes] = edit.changes.values()
            return applied(self.text, changes)
        [change] = list(edit.document_changes or ())
        assert isinstance(change, types.TextDocumentEdit)
        assert change.text_document.version == self.version
        return applied(self.text, change.edits)

    def told(self) -> list[str]:
        return [each.message.removeprefix("Clover Write: ") for each in self.client.messages]

    async def until(self, holds: Callable[[], bool], method: str) -> None:
        """Wait for messages of `method` until something holds."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await self.client.wait_for_notification(method)

    @property
    def progress(self) -> list[list[Any]]:
        """What was said of each piece of work that takes time."""
        return list(self.client.progress_reports.values())

    async def leave(self) -> None:
        await self.client.shutdown_session()
        await self.client.stop()  # type: ignore[no-untyped-call]


def applied(
    text: str,
    edits: Sequence[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit],
) -> str:
    """`text` (of the first plane) with edits of it, those at one place in their order."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character)):
        assert isinstance(edit, types.TextEdit | types.AnnotatedTextEdit)
        start, end = (
            starts[place.line] + place.character for place in (edit.range.start, edit.range.end)
        )
        assert start >= at
        parts += [text[at:start], edit.new_text]
        at = end
    return "".join([*parts, text[at:]])
