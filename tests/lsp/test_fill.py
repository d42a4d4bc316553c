"""Filling masked spans through the real server process over stdio, with the fake engine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

from tests.support.wire import PATIENCE_S, URI, Wire

SERVER = [sys.executable, "-m", "clover_write", "lsp", "--stdio", "--engine", "fake"]
SCRIPTS = 'clover-fake: {"text": "Ada"} clover-fake: {"text": "周一\\nno"}\n'
NOTE = SCRIPTS + "😀 {{name}}，____\n`[MASK]`\n\n<fill choices='yes|no'> [MASK]\n"
ENDLESS = 'clover-fake: {"text": "secret plan", "steps": 600, "step_ms": 50}\n'


class Editor:
    """An editor that applies the edits it is sent, if it `takes` them."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.edits: list[types.WorkspaceEdit] = []
        self.takes: types.ApplyWorkspaceEditResult = types.ApplyWorkspaceEditResult(True)
        self.left = False
        client.feature("clover/status")(lambda _: None)
        # lsprotocol takes an action that has a command for a command
        structure = client.protocol._converter.structure
        client.protocol._converter.register_structure_hook(
            types.Command | types.CodeAction, lambda value, _: structure(value, types.CodeAction)
        )

        @client.feature(types.WORKSPACE_APPLY_EDIT)  # type: ignore[untyped-decorator]
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.edits.append(params.edit)
            return self.takes

    async def start(self, *encodings: str, able: bool = True) -> types.InitializeResult:
        capabilities = types.ClientCapabilities(
            general=types.GeneralClientCapabilities(position_encodings=list(encodings) or None)
        )
        if able:
            capabilities.window = types.WindowClientCapabilities(work_done_progress=True)
            edit = types.WorkspaceEditClientCapabilities(document_changes=True)
            capabilities.workspace = types.WorkspaceClientCapabilities(workspace_edit=edit)
        return await self.client.initialize_session(types.InitializeParams(capabilities))

    def open(self, text: str, uri: str = URI, language: str = "markdown") -> None:
        item = types.TextDocumentItem(uri, language, 7, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, text: str) -> None:
        whole = types.TextDocumentContentChangeWholeDocument(text)
        named = types.VersionedTextDocumentIdentifier(version=8, uri=URI)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(named, [whole]))

    async def lenses(self, uri: str = URI) -> list[types.CodeLens]:
        named = types.TextDocumentIdentifier(uri)
        found = await self.client.text_document_code_lens_async(types.CodeLensParams(named))
        return list(found or ())

    async def actions(self, line: int, character: int, *only: str) -> list[types.CodeAction]:
        at = types.Position(line, character)
        context = types.CodeActionContext([], only=list(only) or None)
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(URI), types.Range(at, at), context
        )
        found = await self.client.text_document_code_action_async(params)
        actions = [each for each in found or () if isinstance(each, types.CodeAction)]
        return [each for each in actions if each.command and "fill" in each.command.command]

    async def fill(self, line: int | None = None, character: int = 0, uri: str = URI) -> None:
        where = None if line is None else {"line": line, "character": character}
        await self.run(types.Command("", "clover-write.fill", arguments=[uri, where]))

    async def run(self, command: types.Command | None) -> None:
        assert command
        params = types.ExecuteCommandParams(command.command, command.arguments)
        assert await self.client.workspace_execute_command_async(params) is None

    def edited(self) -> list[tuple[str, str]]:
        """The only edit as (place, new text), after its version was looked at."""
        [edit] = self.edits
        assert edit.document_changes
        [change] = edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        assert (change.text_document.uri, change.text_document.version) == (URI, 7)
        return [
            (str(one.range), one.new_text)
            for one in change.edits
            if isinstance(one, types.TextEdit)
        ]

    def told(self) -> list[str]:
        return [message.message for message in self.client.messages]

    async def filling(self, uri: str = URI) -> asyncio.Task[None]:
        """A fill that has begun to write."""
        task = asyncio.create_task(self.fill(uri=uri))
        async with asyncio.timeout(PATIENCE_S):
            while not any(len(seen) > 1 for seen in self.progress.values()):
                await self.client.wait_for_notification(types.PROGRESS)
        return task

    @property
    def progress(self) -> dict[types.ProgressToken, list[Any]]:
        return dict(self.client.progress_reports)


@pytest.fixture
async def editor() -> AsyncIterator[Editor]:
    client = await ClientServerConfig(server_command=SERVER).start()
    assert isinstance(client, LanguageClient)
    editor = Editor(client)
    yield editor
    if not editor.left:
        await client.shutdown_session()
    await client.stop()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("encoding", "name", "blank"),
    [
        ("utf-8", "5-1:13", "16-1:20"),
        ("utf-16", "3-1:11", "12-1:16"),
        ("utf-32", "2-1:10", "11-1:15"),
    ],
)
async def test_all_spans_are_one_versioned_edit(
    editor: Editor, encoding: str, name: str, blank: str
) -> None:
    result = await editor.start(encoding, "utf-16")
    assert result.capabilities.code_lens_provider
    assert result.capabilities.execute_command_provider
    assert "clover-write.fill" in result.capabilities.execute_command_provider.commands
    editor.open(NOTE)
    lenses = await editor.lenses()
    titles = [lens.command.title for lens in lenses if lens.command]
    assert titles == ["Fill all spans (4)", "Fill this span", "Fill this span"]
    assert [lens.range.start.line for lens in lenses] == [1, 1, 4]
    await editor.run(lenses[0].command)
    assert editor.edited() == [(f"1:{name}", "Ada"), (f"1:{blank}", "周一"), ("4:0-4:23", "yes")]
    [[begin, *reports, end]] = editor.progress.values()
    assert begin == types.WorkDoneProgressBegin("Filling 4 spans", cancellable=True, percentage=0)
    assert [report.message for report in reports] == [f"{done} of 4" for done in (1, 2, 3, 4)]
    assert end == types.WorkDoneProgressEnd()
    assert editor.told() == []


async def test_one_span_by_its_lens_and_by_its_action(editor: Editor) -> None:
    await editor.start()
    editor.open('clover-fake: {"text": "Ada"}\n{{a}}[MASK]\n{{b}}')
    assert [each.title for each in await editor.actions(1, 5)] == [
        "Fill this span",
        "Fill all spans",
    ]
    assert await editor.actions(0, 3) == []
    assert await editor.actions(1, 5, "quickfix", "refactor.extract") == []
    assert await editor.actions(9, 5) == []
    [this, _] = await editor.actions(1, 5, "refactor")
    assert this.kind == types.CodeActionKind.RefactorRewrite
    await editor.run(this.command)
    assert editor.edited() == [("1:5-1:11", "Ada")]
    editor.edits.clear()
    await editor.run((await editor.lenses())[-1].command)
    assert editor.edited() == [("2:0-2:5", "Ada")]


async def test_lenses_keep_out_of_code(editor: Editor) -> None:
    await editor.start()
    editor.open("{{x}}\n", language="vue")
    assert await editor.lenses() == []
    assert len(await editor.actions(0, 1)) == 2
    editor.open("`{{x}}`\n", "file:///a.txt", "plaintext")
    assert len(await editor.lenses("file:///a.txt")) == 2
    editor.open("{{x}}\n", "file:///.env", "plaintext")
    assert await editor.lenses("file:///.env") == []
    assert await editor.lenses("file:///closed") == []


async def test_a_document_that_changed_meanwhile_is_left_alone(editor: Editor) -> None:
    await editor.start()
    text = 'clover-fake: {"text": "Ada", "steps": 20, "step_ms": 20}\n{{a}}'
    editor.open(text)
    filling = await editor.filling()
    editor.type(text + "!")
    await filling
    assert editor.edits == []
    [told] = editor.told()
    assert "has changed meanwhile" in told


async def test_the_user_can_end_a_fill_and_other_work_goes_on(editor: Editor) -> None:
    await editor.start()
    editor.open(ENDLESS + "{{a}}")
    editor.open("x = 1\nx", "file:///b.py", "python")
    filling = await editor.filling()
    automatic = types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic)
    answer = await editor.client.text_document_inline_completion_async(
        types.InlineCompletionParams(
            automatic, types.TextDocumentIdentifier("file:///b.py"), types.Position(1, 1)
        )
    )
    assert isinstance(answer, types.InlineCompletionList)
    assert [item.insert_text for item in answer.items] == [" = 1"]
    assert not filling.done()
    [token] = editor.progress
    editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    async with asyncio.timeout(PATIENCE_S):
        await filling
    assert (editor.edits, editor.told()) == ([], [])
    assert editor.progress[token][-1] == types.WorkDoneProgressEnd()


async def test_a_cancelled_request_ends_its_fill(wire: Wire) -> None:
    await wire.initialize(capabilities={"window": {"workDoneProgress": True}})
    wire.open(ENDLESS + "{{a}}", language="markdown")
    fill = {"command": "clover-write.fill", "arguments": [URI, None]}
    wire.send("workspace/executeCommand", fill, id="fill")
    wire.reply((await wire.heard("window/workDoneProgress/create"))["id"], result=None)
    begun = await wire.heard("$/progress", 2)
    wire.send("$/cancelRequest", {"id": "fill"})
    assert (await wire.answer("fill"))["error"]["code"] == -32800
    ended = await wire.heard("$/progress", 3)
    assert [each["params"]["value"]["kind"] for each in (begun, ended)] == ["report", "end"]


async def test_what_prevents_a_fill_is_told(editor: Editor) -> None:
    await editor.start()
    reasons = {
        "a\n灯 {{b": "2:3: {{ has no }}",
        "nothing": "no masked span",
        "[MASK]\n" * 201: "span 201 of 201",
        "<fill choices=>": "empty choice",
        "{{a}}": "the model wrote nothing",
        'clover-fake: {"error": "EngineUnavailable"}\n{{a}}': "scripted EngineUnavailable",
    }
    for text in reasons:
        editor.open(text)
        await editor.fill()
    assert editor.edits == []
    for told, reason in zip(editor.told(), reasons.values(), strict=True):
        assert reason in told


async def test_places_and_documents_that_are_gone_are_told(editor: Editor) -> None:
    await editor.start()
    editor.open("{{a}} b")
    editor.open("KEY={{a}}", "file:///.env")
    for line, character, uri in [
        (0, 7, URI),
        (5, 0, URI),
        (0, 0, "file:///c"),
        (0, 5, "file:///.env"),
    ]:
        await editor.fill(line, character, uri)
    assert [told.partition("filled: ")[2] for told in editor.told()] == [
        "no masked span stands there any more",
        "no masked span stands there any more",
        "the document is not open",
        "no completions in a file that may hold secrets",
    ]


async def test_an_edit_the_editor_refuses_is_told(editor: Editor) -> None:
    await editor.start()
    editor.takes = types.ApplyWorkspaceEditResult(False, failure_reason="read-only")
    editor.open(SCRIPTS + "{{a}} {{b}}")
    await editor.fill()
    assert editor.told() == ["Clover Write: nothing was filled: read-only"]


async def test_an_editor_without_progress_and_versions_is_served(editor: Editor) -> None:
    await editor.start(able=False)
    editor.open(SCRIPTS + "{{a}} {{b}}")
    await editor.fill()
    [edit] = editor.edits
    assert edit.changes
    assert [one.new_text for one in edit.changes[URI]] == ["Ada", "周一"]
    assert editor.progress == {}
    assert editor.told() == []


async def test_the_server_leaves_while_it_fills(editor: Editor) -> None:
    await editor.start()
    editor.open(ENDLESS + "{{a}}")
    filling = await editor.filling()
    await editor.client.shutdown_session()
    editor.left = True
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.wait({filling})
    assert editor.edits == []
