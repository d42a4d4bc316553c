"""Table of contents and tags through the real server process over stdio."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

SERVER = [sys.executable, "-m", "clover_write", "lsp", "--stdio", "--engine", "fake"]
URI = "untitled:Untitled-1"
STALE = "# T\n\n<!-- toc -->\n\n- [Old](#old)\n\n<!-- tocstop -->\n\n## 😀 A\n## B\n"


class Editor:
    """An editor that keeps the edits it is sent, and answers a question with its `choice`."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.edits: list[types.WorkspaceEdit] = []
        self.asked: list[list[str]] = []
        self.choice = ""
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

    async def start(self, **toc: object) -> types.InitializeResult:
        synchronization = types.TextDocumentSyncClientCapabilities(will_save_wait_until=True)
        edit = types.WorkspaceEditClientCapabilities(document_changes=True)
        capabilities = types.ClientCapabilities(
            text_document=types.TextDocumentClientCapabilities(synchronization=synchronization),
            workspace=types.WorkspaceClientCapabilities(workspace_edit=edit),
        )
        options = {"toc": toc} if toc else None
        params = types.InitializeParams(capabilities, initialization_options=options)
        return await self.client.initialize_session(params)

    def open(self, text: str, uri: str = URI, language: str = "markdown") -> None:
        item = types.TextDocumentItem(uri, language, 7, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    async def actions(self, line: int, *only: str) -> list[types.CodeAction]:
        at = types.Position(line, 0)
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(URI),
            types.Range(at, at),
            types.CodeActionContext([], only=list(only) or None),
        )
        found = await self.client.text_document_code_action_async(params)
        actions = [each for each in found or () if isinstance(each, types.CodeAction)]
        return [each for each in actions if "estructure" not in each.title]

    async def save(
        self, reason: types.TextDocumentSaveReason = types.TextDocumentSaveReason.Manual
    ) -> list[tuple[str, str]]:
        params = types.WillSaveTextDocumentParams(types.TextDocumentIdentifier(URI), reason)
        edits = await self.client.text_document_will_save_wait_until_async(params)
        return [(str(edit.range), edit.new_text) for edit in edits or ()]

    async def run(self, command: str, *arguments: object) -> None:
        params = types.ExecuteCommandParams(command, list(arguments))
        assert await self.client.workspace_execute_command_async(params) is None

    def edited(self) -> list[tuple[str, str]]:
        """The only edit as (place, new text), after its version was looked at."""
        [edit] = self.edits
        assert edit.document_changes
        [change] = edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        assert change.text_document.version == 7
        return [
            (str(one.range), one.new_text)
            for one in change.edits
            if isinstance(one, types.TextEdit)
        ]

    def told(self) -> list[str]:
        return [message.message for message in self.client.messages]


@pytest.fixture
async def editor() -> AsyncIterator[Editor]:
    client = await ClientServerConfig(server_command=SERVER).start()
    assert isinstance(client, LanguageClient)
    client.feature("clover/status")(lambda _: None)
    yield Editor(client)
    await client.shutdown_session()
    await client.stop()  # type: ignore[no-untyped-call]


async def test_the_table_is_one_versioned_edit_of_its_list(editor: Editor) -> None:
    await editor.start()
    editor.open(STALE)
    await editor.run("clover-write.toc", URI)
    assert editor.edited() == [("4:0-4:13", "- [😀 A](#-a)\n- [B](#b)")]
    editor.edits.clear()
    editor.open(STALE.replace("- [Old](#old)", "- [😀 A](#-a)\n- [B](#b)"))
    await editor.run("clover-write.toc", URI)
    assert (editor.edits, editor.told()) == ([], [])


async def test_a_new_table_has_the_line_ends_and_anchors_that_are_set(editor: Editor) -> None:
    await editor.start(style="obsidian")
    editor.open("# T 😀\r\n## A & B\r\n")
    await editor.run("clover-write.toc", URI)
    table = "\r\n<!-- toc -->\r\n\r\n- [[#A & B]]\r\n\r\n<!-- tocstop -->\r\n\r\n"
    assert editor.edited() == [("1:0-1:0", table)]


async def test_saving_updates_a_table_if_that_is_set(editor: Editor) -> None:
    result = await editor.start(updateOnSave=True)
    sync = result.capabilities.text_document_sync
    assert isinstance(sync, types.TextDocumentSyncOptions)
    assert sync.will_save_wait_until
    editor.open(STALE)
    assert await editor.save() == [("4:0-4:13", "- [😀 A](#-a)\n- [B](#b)")]
    # not while the user types, not a document without a table, not what is no table
    assert await editor.save(types.TextDocumentSaveReason.AfterDelay) == []
    editor.open("# T\n## A\n")
    assert await editor.save() == []
    editor.open("<!-- toc -->\n- milk\n<!-- tocstop -->\n# A\n")
    assert await editor.save() == []
    editor.open(STALE, language="python")
    assert await editor.save() == []
    assert editor.told() == []


async def test_saving_changes_nothing_unless_that_is_set(editor: Editor) -> None:
    await editor.start()
    editor.open(STALE)
    assert await editor.save() == []


async def test_tags_are_added_to_the_front_matter(editor: Editor) -> None:
    await editor.start()
    editor.open("---\ntitle: 😀\ntags: [a]\n---\n")
    await editor.run("clover-write.tags", URI, ["#b", "A"])
    assert editor.edited() == [("2:8-2:8", ", b")]


async def test_suggested_tags_are_picked_by_the_user(editor: Editor, tmp_path: Path) -> None:
    await editor.start()
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / "other.md").write_text("#python #写作 #garden", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    uri = (tmp_path / "folder/note.md").as_uri()
    editor.open("# Python\n写作", uri)
    await editor.run("clover-write.tags", uri, None)
    assert editor.asked == [["#python", "#写作", "All of them"]]
    assert editor.edits == []  # nothing was picked
    for choice, added in [("#写作", "  - 写作\n"), ("All of them", "  - python\n  - 写作\n")]:
        editor.choice = choice
        await editor.run("clover-write.tags", uri, None)
        assert editor.edited() == [("0:0-0:0", f"---\ntags:\n{added}---\n\n")]
        editor.edits.clear()
    assert editor.told() == []


async def test_actions_are_offered_where_they_are_about_the_line_or_asked_for(
    editor: Editor,
) -> None:
    result = await editor.start()
    options = result.capabilities.code_action_provider
    assert isinstance(options, types.CodeActionOptions)
    assert list(options.code_action_kinds or ()) == [
        "quickfix",
        "refactor.rewrite",
        "source.toc",
        "source.tags",
        "source.saveCase",
    ]
    editor.open(f"---\ntags: [a]\n---\n{STALE}")
    assert await editor.actions(0) == []
    [tags] = await editor.actions(1)
    assert (tags.title, tags.kind) == ("Suggest tags", "refactor.rewrite")
    [toc] = await editor.actions(5)
    assert (toc.title, toc.kind) == ("Update the table of contents", "refactor.rewrite")
    assert [each.kind for each in await editor.actions(0, "source")] == [
        "source.toc",
        "source.tags",
        "source.saveCase",
    ]
    assert await editor.actions(0, "source.organizeImports", "quickfix") == []
    assert await editor.actions(99) == []
    [toc] = await editor.actions(0, "source.toc")
    assert toc.command
    await editor.run(toc.command.command, *(toc.command.arguments or ()))
    assert editor.edited() == [("7:0-7:13", "- [😀 A](#-a)\n- [B](#b)")]
    editor.open(STALE, language="python")
    assert await editor.actions(2, "source.toc", "refactor") == []


async def test_what_prevents_a_change_is_told(editor: Editor, tmp_path: Path) -> None:
    await editor.start()
    saved = (tmp_path / "note.md").as_uri()
    editor.open("text")
    editor.open("text", saved)
    await editor.run("clover-write.toc", URI)
    await editor.run("clover-write.toc", "file:///closed.md")
    await editor.run("clover-write.tags", URI, ["a b"])
    await editor.run("clover-write.tags", URI, None)
    await editor.run("clover-write.tags", saved, None)
    told = [text.removeprefix("Clover Write: ") for text in editor.told()]
    for text, start in zip(
        told,
        [
            "1:1: no heading to list",
            "nothing was changed: the document is not open",
            "'a b' is no tag",
            "no tags to suggest: save the note",
            "no tags to suggest: of the 0 tags",
        ],
        strict=True,
    ):
        assert text.startswith(start)
    assert editor.edits == []
