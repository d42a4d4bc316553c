"""Conformance in the editor, through the real server process: diagnostics and quick fixes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from clover_lsp.conformance_diagnostics import SOURCE
from tests.support.note_editor import URI, NoteEditor, applied

PUBLISH = types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS
REPORT = """\
---
status: {{status}}
---
# {{title}}

## Impact <!-- hint: who was hit -->

## Cause

## Actions
- [ ] {{action}} ({{owner}})

<!-- clover
status: {one of: [open, closed]}
Cause: {aliases: [Root cause]}
-->
"""
NOTE = """\
---
template: report
status: opne
---
# Outage

## Root cause

It was full.

## Impact
TODO(Impact)
"""


@pytest.fixture
async def editor() -> AsyncIterator[NoteEditor]:
    editor = await NoteEditor.at()
    yield editor
    await editor.leave()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    put(tmp_path, REPORT)
    return tmp_path


def put(folder: Path, text: str) -> Path:
    path = folder / ".clover" / "templates" / "report.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


async def shown(editor: NoteEditor, uri: str = URI) -> list[types.Diagnostic]:
    """What the editor is told next."""
    await editor.until(lambda: uri in editor.client.diagnostics, PUBLISH)
    return list(editor.client.diagnostics.pop(uri))


def codes(found: Sequence[types.Diagnostic]) -> list[tuple[int, Any]]:
    return [(each.range.start.line, each.code) for each in found]


async def test_a_document_that_names_its_template_is_held_against_it(
    editor: NoteEditor, workspace: Path
) -> None:
    await editor.start(folder=workspace)
    editor.open(NOTE)
    found = await shown(editor)
    assert codes(found) == [(2, "D03"), (6, "D06"), (10, "D02"), (11, "D07"), (12, "D01")]
    value = found[0]
    assert (str(value.range), value.severity) == ("2:8-2:12", types.DiagnosticSeverity.Error)
    assert "open | closed" in value.message
    [rule] = list(value.related_information or ())
    path = workspace / ".clover" / "templates" / "report.md"
    assert (rule.location.uri, rule.location.range.start.line) == (path.as_uri(), 1)
    assert found[3].severity == types.DiagnosticSeverity.Warning
    editor.type(NOTE.replace("opne", "open"))
    assert codes(await shown(editor))[0] == (6, "D06")
    editor.client.text_document_did_close(
        types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(URI))
    )
    assert await shown(editor) == []


async def test_a_glob_of_the_settings_names_templates_of_files(
    editor: NoteEditor, workspace: Path
) -> None:
    rules = [{"glob": "docs/**/*.md", "template": "report"}]
    await editor.start(folder=workspace, templates=rules)
    inside = (workspace / "docs" / "may.md").as_uri()
    editor.open("# Outage\n\n## Impact\n\nx\n", (workspace / "may.md").as_uri())
    editor.open("# Outage\n\n## Impact\n\nx\n", inside)
    assert codes(await shown(editor, inside)) == [(0, "D01"), (5, "D01"), (5, "D01")]
    assert list(editor.client.diagnostics) == []


async def test_an_editor_that_pulls_is_answered_and_not_told(
    editor: NoteEditor, workspace: Path
) -> None:
    result = await editor.start(folder=workspace, pulls=True)
    assert result.capabilities.diagnostic_provider
    editor.open(NOTE)
    params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(URI))
    report = await editor.client.text_document_diagnostic_async(params)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    assert codes(report.items)[0] == (2, "D03")
    assert editor.client.diagnostics == {}


async def test_saving_a_template_looks_at_its_documents_again(
    editor: NoteEditor, workspace: Path
) -> None:
    await editor.start(folder=workspace)
    editor.open(NOTE.replace("opne", "open"))
    assert (10, "D02") in codes(await shown(editor))
    path = put(workspace, REPORT.replace("[open, closed]", "[new, done]"))
    identifier = types.TextDocumentIdentifier(path.as_uri())
    editor.client.text_document_did_save(types.DidSaveTextDocumentParams(identifier))
    assert codes(await shown(editor))[0] == (2, "D03")


@pytest.mark.parametrize(
    ("name", "told"),
    [("reprot", ['there is no template "reprot"; did you mean "report"?']), ("page.html", [])],
)
async def test_a_template_that_is_not_there(
    editor: NoteEditor, workspace: Path, name: str, told: list[str]
) -> None:
    await editor.start(folder=workspace, pulls=True)
    editor.open(NOTE.replace("report", name))
    params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(URI))
    report = await editor.client.text_document_diagnostic_async(params)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    assert [each.message for each in report.items] == told
    assert all(each.severity == types.DiagnosticSeverity.Information for each in report.items)


async def test_quick_fixes_put_in_what_is_missing(editor: NoteEditor, workspace: Path) -> None:
    await editor.start(folder=workspace)
    editor.open(NOTE)
    [section] = await editor.actions(12, "quickfix")
    assert section.title == 'Insert section "Actions"'
    assert made(editor, section) == f"{NOTE}\n## Actions\n\n- [ ] TODO(action) (TODO(owner))\n"
    [renamed] = await editor.actions(6, "quickfix")
    assert made(editor, renamed) == NOTE.replace("## Root cause", "## Cause")
    [order] = await editor.actions(10, "quickfix")
    assert order.command
    await editor.run(order.command.command, *(order.command.arguments or ()))
    text = editor.edited()
    assert text.index("## Impact") < text.index("## Cause") < text.index("## Actions")
    [hole] = await editor.actions(11, "quickfix")
    assert hole.command
    assert hole.command.command == "clover-write.fill"
    await editor.run(hole.command.command, *(hole.command.arguments or ()))
    assert editor.told() == ["nothing was filled: the model wrote nothing there"]
    assert await editor.actions(8, "quickfix") == []
    # unasked, only where the editor shows a diagnostic of ours
    assert await editor.actions(12) == []
    place = types.Range(types.Position(12, 0), types.Position(12, 0))
    [unasked] = await editor.actions(12, diagnostics=[types.Diagnostic(place, "", source=SOURCE)])
    assert unasked.title == section.title


async def test_quick_fixes_of_front_matter_and_empty_sections(
    editor: NoteEditor, workspace: Path
) -> None:
    await editor.start(folder=workspace)
    text = "---\r\ntemplate: report\r\n---\r\n# Outage\r\n## Impact\r\n## Cause\r\nIt.\r\n"
    editor.open(text)
    [key] = [each for each in await editor.actions(0, "quickfix") if "status" in each.title]
    assert made(editor, key) == text.replace("report\r\n", "report\r\nstatus: TODO(status)\r\n")
    [empty] = await editor.actions(4, "quickfix")
    filled = text.replace("## Impact\r\n", "## Impact\r\n\r\nTODO(Impact)\r\n")
    assert made(editor, empty) == filled
    assert await editor.actions(4, "refactor.extract") == []


def made(editor: NoteEditor, action: types.CodeAction) -> str:
    """The note with the edit of an action."""
    assert action.edit
    assert action.diagnostics
    [change] = list(action.edit.document_changes or ())
    assert isinstance(change, types.TextDocumentEdit)
    return applied(editor.text, change.edits)
