"""Marked documents: what counts as a mark, and that their text is called private."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

from clover_engine.api import (
    CanvasRequest,
    Draft,
    EngineInfo,
    Fill,
    Filled,
    Finish,
    infill_request,
)
from clover_lsp.confidentiality import DiscreetClient, is_marked
from clover_lsp.documents import Document, Documents
from clover_lsp.exclusions import stays_out_of_prompts
from clover_lsp.settings import Settings
from tests.support.capturing_server import captured

MARKED = (
    "机密",
    "机密★1年",
    "绝 密★",
    "秘密★长期",
    "机密级",
    "　　机密　",
    "**机密**",
    "> 机密",
    "| 机密 |",
    "# 绝密",
    "密级：机密",
    "密级: 秘密",
    "保密等级：绝密★10年",
    "---\n密级: 机密\n---",
    "classification: 机密",
    "一\n\n二\n机密\n三",
)
PLAIN = (
    "",
    "机密文件的管理办法",
    "这是一个秘密。",
    "密级：公开",
    "关于机密等级的说明",
    "他说:机密",
    "confidential",
    "机密性",
)


@pytest.mark.parametrize("text", MARKED)
def test_marks_are_found(text: str) -> None:
    assert is_marked(text)
    assert is_marked(f"题目\n\n{text}\r\n\n正文。")


@pytest.mark.parametrize("text", PLAIN)
def test_words_are_no_marks(text: str) -> None:
    assert not is_marked(text)


@pytest.mark.parametrize(
    "sign", ["\n", " ", "*", "|", "#", "\u3000", "密", "机 ", "密级:", "机密★\n级"]
)
def test_no_text_takes_longer_than_it_is_long(sign: str) -> None:
    # a search that went back for every sign would not end within this test
    text = sign * 200_000 + "密x"
    assert is_marked(text) == ("★" in sign)
    assert is_marked(f"{text}\n机密")


class Noting:
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[CanvasRequest] = []

    async def fill(
        self, request: CanvasRequest, on_draft: Callable[[Draft], None] | None = None
    ) -> Filled:
        self.asked.append(request)
        return Filled((Fill("", 1.0, Finish.STOP),))

    async def info(self) -> EngineInfo:
        return EngineInfo("noting")

    async def close(self) -> None:
        self.asked.clear()


async def test_a_mark_far_from_the_cursor_makes_the_request_private() -> None:
    documents, engine = Documents(), Noting()
    client = DiscreetClient(engine, documents.text_of)
    documents.open("file:///a.md", "markdown", 1, "机密★1年\n" + "正文。\n" * 50_000)
    documents.open("file:///b.md", "markdown", 1, "正文。\n")
    for uri in ("file:///a.md", "file:///b.md", "file:///unknown.md"):
        await client.fill(infill_request("正文", "", document=uri))
    await client.fill(CanvasRequest(infill_request("", "").segments, origin="file:///a.md"))
    assert [request.private for request in engine.asked] == [True, False, False, True]


def test_marked_documents_are_read_for_no_other() -> None:
    documents = Documents()
    marked = documents.open("file:///somewhere/a.md", "markdown", 1, "机密\n")
    assert isinstance(marked, Document)
    assert stays_out_of_prompts(marked, Settings())
    plain = documents.open("file:///somewhere/b.md", "markdown", 1, "正文\n")
    assert not stays_out_of_prompts(plain, Settings())


async def test_a_real_server_calls_them_private(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = ClientServerConfig(
        server_command=[sys.executable, "-m", "tests.support.capturing_server", str(log)],
        server_env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    client = await config.start()
    assert isinstance(client, LanguageClient)
    client.feature("clover/status")(lambda _: None)
    await client.initialize_session(types.InitializeParams(types.ClientCapabilities()))
    texts = {"marked": "机密★1年\n" + "正文。\n" * 30_000, "plain": "正文。\n" * 30_000}
    for name, text in texts.items():
        uri = (tmp_path / f"{name}.md").as_uri()
        item = types.TextDocumentItem(uri, "markdown", 1, text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        at = types.TextDocumentIdentifier(uri), types.Position(29_000, 2)
        invoked = types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked)
        await client.text_document_inline_completion_async(
            types.InlineCompletionParams(invoked, *at)
        )
    await client.shutdown_session()
    await client.stop()  # type: ignore[no-untyped-call]
    told = {request.document.rpartition("/")[2]: request.private for request in captured(log)}
    assert told == {"marked.md": True, "plain.md": False}
