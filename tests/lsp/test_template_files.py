"""Template files in the editor: findings, hover and completion, through the real server process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lsprotocol import types

from tests.support.note_editor import NoteEditor

PATIENCE_S = 30.0
PUBLISH = types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS
TEXT = """\
# {{title}}

## 影响 <!-- optional -->
{{impact}}

{{
<!-- clover
impact: {max: 9 words}
-->
"""


@pytest.fixture
async def editor() -> AsyncIterator[NoteEditor]:
    editor = await NoteEditor.at()
    yield editor
    await editor.leave()


@pytest.fixture
def uri(tmp_path: Path) -> str:
    path = tmp_path / ".clover" / "templates" / "report.md"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT, encoding="utf-8")
    return path.as_uri()


async def test_what_is_wrong_with_a_template_is_shown(
    editor: NoteEditor, tmp_path: Path, uri: str
) -> None:
    await editor.start(folder=tmp_path)
    editor.open(TEXT, uri)
    editor.open(TEXT, (tmp_path / "report.md").as_uri())
    await editor.until(lambda: uri in editor.client.diagnostics, PUBLISH)
    assert list(editor.client.diagnostics) == [uri]
    [found] = editor.client.diagnostics[uri]
    assert (str(found.range), found.code) == ("5:0-5:2", "T04")
    assert found.severity == types.DiagnosticSeverity.Error


async def test_hover_tells_what_a_slot_and_a_flag_mean(
    editor: NoteEditor, tmp_path: Path, uri: str
) -> None:
    result = await editor.start(folder=tmp_path)
    assert result.capabilities.hover_provider
    editor.open(TEXT, uri)
    for line, character, word, place in [
        (3, 4, "at most 9 words", "3:0-3:10"),
        (2, 12, "optional", "2:5-2:23"),
    ]:
        params = types.HoverParams(
            types.TextDocumentIdentifier(uri), types.Position(line, character)
        )
        hover = await editor.client.text_document_hover_async(params)
        assert hover
        assert isinstance(hover.contents, types.MarkupContent)
        assert word in hover.contents.value
        assert str(hover.range) == place
    other = (tmp_path / "report.md").as_uri()
    editor.open(TEXT, other)
    params = types.HoverParams(types.TextDocumentIdentifier(other), types.Position(3, 4))
    assert await editor.client.text_document_hover_async(params) is None


async def test_slots_are_completed_where_one_begins(
    editor: NoteEditor, tmp_path: Path, uri: str
) -> None:
    await editor.start(folder=tmp_path)
    editor.open(TEXT, uri)
    params = types.CompletionParams(types.TextDocumentIdentifier(uri), types.Position(5, 2))
    found = await editor.client.text_document_completion_async(params)
    assert isinstance(found, types.CompletionList)
    items = {item.label: item for item in found.items}
    assert {"impact", "title", "date"} <= set(items)
    edit = items["impact"].text_edit
    assert isinstance(edit, types.TextEdit)
    assert (str(edit.range), edit.new_text) == ("5:2-5:2", "impact}}")


async def test_an_editor_that_registers_is_asked_for_templates_alone(
    editor: NoteEditor, tmp_path: Path, uri: str
) -> None:
    registered: list[types.Registration] = []
    asked = asyncio.Event()

    @editor.client.feature(types.CLIENT_REGISTER_CAPABILITY)  # type: ignore[untyped-decorator]
    def register(params: types.RegistrationParams) -> None:
        registered.extend(params.registrations)
        asked.set()

    result = await editor.start(folder=tmp_path, registers=True)
    assert result.capabilities.hover_provider is None
    assert result.capabilities.completion_provider is None
    editor.open(TEXT, uri)
    await asyncio.wait_for(asked.wait(), PATIENCE_S)
    params = types.CompletionParams(types.TextDocumentIdentifier(uri), types.Position(5, 2))
    assert await editor.client.text_document_completion_async(params)
    assert [each.method for each in registered] == [
        types.TEXT_DOCUMENT_HOVER,
        types.TEXT_DOCUMENT_COMPLETION,
    ]
