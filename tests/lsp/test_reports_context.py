"""Public reports of text that reached a model though its owner did not want that (47, 48)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

from clover_engine.api import CanvasRequest, Draft, EngineInfo, Fill, Filled, Finish, Stats
from clover_lsp.documents import Documents
from clover_lsp.infill import Trigger
from clover_lsp.informed_client import InformedClient
from clover_lsp.inline_completion import InlineCompletion
from clover_lsp.lazy_client import LazyClient
from clover_lsp.neighbours import Neighbours
from clover_lsp.settings import Settings
from clover_lsp.status import Status
from tests.support.capturing_server import captured

SECRET = "hunter2"
# rare names that stand in two notes: one is quoted for the other
SHARED = "harbour_plan pilot_station tide_table mooring_fee"


class Engine:
    """Keeps what it is told and answers with a word."""

    def __init__(self) -> None:
        self.requests: list[CanvasRequest] = []

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        self.requests.append(request)
        return Filled((Fill("word", 1.0, Finish.STOP),), Stats())

    async def info(self) -> EngineInfo:
        return EngineInfo("test")

    async def close(self) -> None:
        self.requests.clear()

    @property
    def seen(self) -> str:
        return "\n".join(map(str, self.requests))


class Editor:
    """Opens documents, rests and asks in them as editors do."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.settings = Settings()
        self.documents = Documents()
        self.neighbours = Neighbours(lambda _: self.settings)
        client = LazyClient(lambda: InformedClient(self.engine, self.neighbours))
        status = Status(lambda *_: None, lambda *_: None)
        self.feature = InlineCompletion(
            self.documents, client, status, settings_of=lambda _: self.settings
        )

    async def open(self, uri: str, text: str, language: str = "markdown") -> str:
        document = self.documents.open(uri, language, 1, text)
        self.neighbours.changed(document)
        self.feature.changed(document)
        self.feature.warm(document, types.Position(0, 0))
        await self.quiet()
        return uri

    async def complete(self, uri: str, trigger: Trigger = Trigger.INVOKED) -> bool:
        """Whether an item comes at the end of the first line."""
        document = self.documents.get(uri)
        assert document is not None
        end = types.Position(0, len(document.content.line_content(0)))
        answer = await self.feature.answer(document, end, trigger)
        await self.quiet()
        return bool(answer.items)

    async def quiet(self) -> None:
        """Until nothing goes on any more: no warming, no prefetch."""
        mine = asyncio.current_task()
        while others := [task for task in asyncio.all_tasks() if task is not mine]:
            await asyncio.wait(others)

    def close(self, uri: str) -> None:
        self.documents.close(uri)
        self.neighbours.closed(uri)
        self.feature.closed(uri)


@pytest.fixture
async def editor() -> AsyncIterator[Editor]:
    editor = Editor()
    yield editor
    await editor.feature.close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A project with a secret, a link to it, and ignore files."""
    (tmp_path / ".env").write_text(f"TOKEN={SECRET}\n{SHARED}\n")
    (tmp_path / "linked.md").symlink_to(".env")
    (tmp_path / ".gitignore").write_text("build/\n*.ignored.md\n!kept.ignored.md\n")
    (tmp_path / ".cloverignore").write_text("diary/\n")
    return tmp_path


PRIVATE = {
    "beside notes": ".env",
    "percent-encoded": "%2Eenv",
    "not encoded": "#drafts/.env",
    "a link": "linked.md",
    "in a folder of secrets": ".ssh/config",
    "by the user's pattern": "plan.private",
    "in .cloverignore": "diary/monday.md",
    "in .cloverignore, not encoded": "diary/#1?.md",
    "in .cloverignore, encoded": "d%69ary/monday.md",
}
NO_NEIGHBOURS = {
    "ignored by git": "build/out.md",
    "ignored by a pattern": "a.ignored.md",
    "ignored, not encoded": "build/#1?.md",
    "generated": "site.generated.md",
}
OTHER = {
    "windows": "file:///c%3A/Users/a/.env",
    "windows, backslashes": "C:\\Users\\a\\.env",
    "a share": "file://server/share/.ssh/config",
    "untitled": "untitled:.env",
    "another scheme": "git:/project/.env?%7B%22ref%22%3A%22HEAD%22%7D",
    "a notebook's cell": "vscode-notebook-cell:/project/secrets.yaml#W0",
}
TEXT = f"{SHARED} TOKEN={SECRET}\n"


async def ask_beside(editor: Editor, work: Path, uri: str) -> None:
    """Open a document between two notes, the second of which quotes the first, and ask there."""
    await editor.open(f"{work.as_uri()}/first.md", f"{SHARED} are told of here\n")
    await editor.open(uri, TEXT)
    editor.engine.requests.clear()
    notes = await editor.open(f"{work.as_uri()}/notes.md", f"What is {SHARED}\n")
    assert await editor.complete(notes)
    assert "are told of here" in editor.engine.seen
    assert SECRET not in editor.engine.seen


@pytest.mark.parametrize("kind", [*PRIVATE, *OTHER])
async def test_report_47_no_byte_of_an_open_secret_reaches_the_engine(
    editor: Editor, work: Path, kind: str
) -> None:
    editor.settings = Settings(secret_files=("*.private",))
    uri = OTHER.get(kind) or f"{work.as_uri()}/{PRIVATE[kind]}"
    await ask_beside(editor, work, uri)
    editor.engine.requests.clear()
    for trigger in Trigger:
        assert not await editor.complete(uri, trigger)
    assert not editor.engine.requests


@pytest.mark.parametrize("kind", NO_NEIGHBOURS)
async def test_report_47_ignored_and_generated_files_are_quoted_nowhere(
    editor: Editor, work: Path, kind: str
) -> None:
    uri = f"{work.as_uri()}/{NO_NEIGHBOURS[kind]}"
    await ask_beside(editor, work, uri)
    assert await editor.complete(uri, Trigger.INVOKED)


async def test_report_47_a_file_that_takes_a_secret_s_name(editor: Editor, work: Path) -> None:
    first = await editor.open(f"{work.as_uri()}/first.md", TEXT)
    notes = await editor.open(f"{work.as_uri()}/notes.md", f"What is {SHARED}\n")
    assert SECRET in editor.engine.seen
    editor.close(first)
    await editor.open(f"{work.as_uri()}/.env.local", TEXT)
    editor.engine.requests.clear()
    assert await editor.complete(notes)
    assert SECRET not in editor.engine.seen


@pytest.mark.parametrize("name", [".gitignore", ".cloverignore"])
async def test_report_47_a_file_that_is_ignored_from_now_on(
    editor: Editor, work: Path, name: str
) -> None:
    await editor.open(f"{work.as_uri()}/first.md", TEXT)
    notes = await editor.open(f"{work.as_uri()}/notes.md", f"What is {SHARED}\n")
    assert SECRET in editor.engine.seen
    (work / name).write_text("first.md\n")
    editor.engine.requests.clear()
    assert await editor.complete(notes)
    assert SECRET not in editor.engine.seen


OFF = {
    "off": Settings(enabled=False),
    "off for the language": Settings(excluded_languages=("markdown",)),
}


@pytest.mark.parametrize("kind", OFF)
async def test_report_48_switched_off_means_no_call_at_all(
    editor: Editor, work: Path, kind: str
) -> None:
    editor.settings = OFF[kind]
    notes = await editor.open(f"{work.as_uri()}/notes.md", "words\n")
    for trigger in Trigger:
        assert not await editor.complete(notes, trigger)
    assert not editor.engine.requests


async def test_report_48_a_language_that_is_off_is_quoted_nowhere(
    editor: Editor, work: Path
) -> None:
    editor.settings = Settings(excluded_languages=("mdx",))
    await editor.open(f"{work.as_uri()}/first.mdx", TEXT, "mdx")
    notes = await editor.open(f"{work.as_uri()}/notes.md", f"What is {SHARED}\n")
    assert await editor.complete(notes)
    assert SECRET not in editor.engine.seen


async def test_report_48_open_files_are_read_only_if_wanted(editor: Editor, work: Path) -> None:
    editor.settings = Settings(open_files=False)
    await editor.open(f"{work.as_uri()}/first.md", TEXT)
    editor.engine.requests.clear()
    notes = await editor.open(f"{work.as_uri()}/notes.md", f"What is {SHARED}\n")
    assert await editor.complete(notes)
    assert {request.context for request in editor.engine.requests} == {None}


async def test_report_47_in_a_real_server(tmp_path: Path, work: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-m", "tests.support.capturing_server", str(log)]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    config = ClientServerConfig(server_command=command, server_env=environment)
    client = await config.start()
    assert isinstance(client, LanguageClient)
    client.feature("clover/status")(lambda _: None)
    await client.initialize_session(types.InitializeParams(types.ClientCapabilities()))
    uris = [f"{work.as_uri()}/{name}" for name in (".env", "linked.md", "first.md", "notes.md")]
    texts = [TEXT, TEXT, f"{SHARED} are told of here\n", f"What is {SHARED}\n"]
    for uri, text in zip(uris, texts, strict=True):
        item = types.TextDocumentItem(uri, "markdown", 1, text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    invoked = types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked)
    for uri in uris:
        at = types.TextDocumentIdentifier(uri), types.Position(0, 8)
        await client.text_document_inline_completion_async(
            types.InlineCompletionParams(invoked, *at)
        )
    await client.shutdown_session()
    await client.stop()  # type: ignore[no-untyped-call]
    seen = "\n".join(map(str, captured(log)))
    assert "What is" in seen
    assert "are told of here" in seen
    assert SECRET not in seen
