"""Restructuring through the real server process over stdio, with the fake engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lsprotocol import types

from clover_lsp.restructuring import MAX_CHARS
from tests.support.note_editor import PATIENCE_S, URI, NoteEditor

RESTRUCTURE = "clover-write.restructure"
PREVIEW = "clover-write.previewRestructure"
TEMPLATES = "clover-write.templates"
WORDS = {"model": False}
NOTE = "# Outage 中\n\n## Root cause\n\nIt was full.\n\n## What people saw\n\n- errors\n"
REPORT = """\
# {{title}}

## Impact

## Cause

<!-- clover
title: TITLE
Impact: {aliases: [What people saw]}
Cause: {aliases: [Root cause]}
-->
"""
RESTRUCTURED = "# Outage 中\n\n## Impact\n\n- errors\n\n## Cause\n\nIt was full.\n"
ENDLESS = 'clover-fake: {"text": "", "steps": 600, "step_ms": 50}'


@pytest.fixture
async def editor() -> AsyncIterator[NoteEditor]:
    editor = await NoteEditor.at()
    yield editor
    await editor.leave()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with a template `report`, and `slow`, which the fake engine is slow about."""
    put(tmp_path, "report", REPORT.replace("TITLE", "Report"))
    put(tmp_path, "slow", REPORT.replace("TITLE", f"'{ENDLESS}'"))
    return tmp_path


def put(folder: Path, name: str, text: str) -> None:
    path = folder / ".clover" / "templates" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("versions", [True, False])
@pytest.mark.parametrize("options", [WORDS, None])
async def test_the_document_gets_its_shape_by_one_edit(
    editor: NoteEditor, workspace: Path, versions: bool, options: object
) -> None:
    await editor.start(folder=workspace, versions=versions)
    editor.open(NOTE)
    assert await editor.run(RESTRUCTURE, URI, "report", options) is None
    assert editor.edited() == RESTRUCTURED
    assert editor.edits[0].change_annotations is None
    assert editor.told() == []
    editor.edits.clear()
    editor.open(RESTRUCTURED)
    await editor.run(RESTRUCTURE, URI, "report", options)
    assert editor.edits == []
    assert editor.told() == ["nothing was changed: it has the shape of Report already"]


async def test_an_editor_with_annotations_asks_about_each_section(
    editor: NoteEditor, workspace: Path
) -> None:
    await editor.start(folder=workspace, annotations=True)
    editor.open(NOTE)
    await editor.run(RESTRUCTURE, URI, "report", WORDS)
    assert editor.edited() == RESTRUCTURED
    annotations = editor.edits[0].change_annotations
    assert annotations == {
        name: types.ChangeAnnotation(name, needs_confirmation=True) for name in ("Cause", "Impact")
    }
    editor.edits.clear()
    await editor.run(RESTRUCTURE, URI, "report", {**WORDS, "preview": False})
    assert editor.edited() == RESTRUCTURED
    assert editor.edits[0].change_annotations is None


async def test_only_chosen_sections_are_changed(editor: NoteEditor, workspace: Path) -> None:
    await editor.start(folder=workspace)
    editor.open(NOTE)
    await editor.run(RESTRUCTURE, URI, "report", {**WORDS, "sections": ["Impact"]})
    moved = "## Impact\n\n- errors\n\n## Root cause\n\nIt was full.\n"
    assert editor.edited() == f"# Outage 中\n\n{moved}"
    editor.edits.clear()
    await editor.run(RESTRUCTURE, URI, "report", {**WORDS, "sections": ["Impakt"]})
    assert editor.edits == []
    assert editor.told() == [
        'nothing was changed: no change is for a section "Impakt"; did you mean "Impact"?'
    ]


async def test_a_preview_shows_everything_and_changes_nothing(
    editor: NoteEditor, workspace: Path
) -> None:
    await editor.start(folder=workspace)
    editor.open(NOTE)
    shown = await editor.run(PREVIEW, URI, "report", WORDS)
    assert (shown["output"], shown["breaches"], shown["version"]) == (RESTRUCTURED, [], 7)
    assert shown["sections"] == ["Impact", "Cause"]
    assert "| 5 | It was full. | Cause | heading |" in shown["report"]
    assert f"--- {URI}\n+++ {URI}\n@@ " in shown["diff"]
    assert (editor.edits, editor.told()) == ([], [])


async def test_templates_for_a_picker_those_that_fit_first(
    editor: NoteEditor, workspace: Path
) -> None:
    put(workspace, "broken", "# {{")
    await editor.start(folder=workspace)
    editor.open(NOTE)
    first, *others = await editor.run(TEMPLATES, URI)
    assert first == {
        "name": "report",
        "title": "Report",
        "description": "",
        "lang": "en",
        "origin": "workspace",
    }
    names = [each["name"] for each in others]
    assert "adr" in names
    assert "broken" not in names
    assert (editor.edits, editor.told()) == ([], [])
    assert await editor.run(TEMPLATES, "untitled:nowhere") == []
    assert editor.told() == ["nothing was changed: the document is not open"]


async def test_progress_shows_what_is_placed_and_what_share_is_read(
    editor: NoteEditor, workspace: Path
) -> None:
    await editor.start(folder=workspace)
    editor.open("Users saw errors.\n\nThe cause was a disk.\n")
    await editor.run(RESTRUCTURE, URI, "report")
    [[begin, first, *reports, end]] = editor.progress
    assert begin == types.WorkDoneProgressBegin(
        "Restructuring to report", cancellable=True, percentage=0
    )
    assert first.message == "Impact 1, Cause 1"
    assert [each.percentage for each in reports] == [50, 100]
    assert end == types.WorkDoneProgressEnd()


async def test_the_user_picks_among_templates_that_fit(editor: NoteEditor, workspace: Path) -> None:
    await editor.start(folder=workspace)
    editor.open(NOTE)
    await editor.run(RESTRUCTURE, URI)
    [titles] = editor.asked
    assert len(titles) == 8
    assert titles[0] == "Report (report)"
    assert (editor.edits, editor.told()) == ([], [])
    editor.choice = "Report (report)"
    await editor.run(RESTRUCTURE, URI, None, WORDS)
    assert editor.edited() == RESTRUCTURED


async def test_ended_by_the_user_it_changes_nothing(editor: NoteEditor, workspace: Path) -> None:
    await editor.start(folder=workspace)
    editor.open("Users saw errors.\n\nThe cause was a disk.\n")
    task = asyncio.create_task(editor.run(RESTRUCTURE, URI, "slow"))
    await editor.until(lambda: any(len(seen) > 1 for seen in editor.progress), types.PROGRESS)
    [token] = editor.client.progress_reports
    editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    assert await task is None
    assert editor.progress[0][-1] == types.WorkDoneProgressEnd()
    assert (editor.edits, editor.told()) == ([], [])
    # the engine is free again: with its one worker it would be busy for half a minute
    async with asyncio.timeout(PATIENCE_S):
        await editor.run(RESTRUCTURE, URI, "report")
    assert len(editor.edits) == 1


async def test_a_document_that_changed_meanwhile_is_left_alone(
    editor: NoteEditor, workspace: Path
) -> None:
    put(workspace, "slowly", REPORT.replace("TITLE", f"'{ENDLESS.replace('600', '10')}'"))
    await editor.start(folder=workspace)
    editor.open("Users saw errors.\n\nThe cause was a disk.\n")
    task = asyncio.create_task(editor.run(RESTRUCTURE, URI, "slowly"))
    await editor.until(lambda: any(len(seen) > 1 for seen in editor.progress), types.PROGRESS)
    editor.type("Users saw more errors.\n")
    await task
    assert editor.edits == []
    assert editor.told() == ["nothing was changed: the document has changed meanwhile, ask again"]


async def test_what_prevents_it_is_told(editor: NoteEditor, workspace: Path) -> None:
    put(workspace, "broken", "# {{title\n")
    await editor.start(folder=workspace)
    cases: list[tuple[str, list[object], str]] = [
        ("", ["report"], "it has no text yet"),
        ("\n \n", ["report"], "it has no text yet"),
        ("a\0b", ["report", WORDS], "the document holds a NUL at byte 1"),
        ("a\0b", ["report"], "no completions in a binary file"),
        ("x" * (MAX_CHARS + 1), ["report"], "the document is over 1 MB"),
        ("text", ["repotr"], 'there is no template "repotr"; did you mean "Report"?'),
        ("text", [5], "the name of a template is a string, or null"),
        ("text", ["report", {"modle": True}], "the options of a restructuring are"),
        ("text", ["report", {"model": 1}], "the options model and preview are"),
        ("text", ["report", {"sections": "Impact"}], "the option sections is a list"),
        ("text", ["broken"], "broken.md:1:3 [T04]"),
    ]
    for text, arguments, reason in cases:
        editor.open(text)
        await editor.run(RESTRUCTURE, URI, *arguments)
        told = editor.told()[-1]
        assert told.startswith("nothing was changed: ")
        assert reason in told
    assert editor.edits == []
    assert len(editor.told()) == 11


async def test_a_document_that_is_not_open_or_secret(editor: NoteEditor, workspace: Path) -> None:
    await editor.start(folder=workspace)
    await editor.run(RESTRUCTURE, "file:///closed.md", "report")
    editor.open("text", "file:///notes/.env")
    await editor.run(RESTRUCTURE, "file:///notes/.env", "report")
    assert editor.told() == [
        "nothing was changed: the document is not open",
        "nothing was changed: no completions in a file that may hold secrets",
    ]


async def test_actions_do_not_flood(editor: NoteEditor, workspace: Path) -> None:
    await editor.start(folder=workspace)
    editor.open(f"---\na: b\ntemplate: report # ours\n---\n{NOTE}")
    picker, own = "Restructure to template…", 'Restructure to template "report"'
    assert [each.title for each in await editor.actions(0)] == [own, picker]
    assert [each.title for each in await editor.actions(2)] == [own, picker]
    assert await editor.actions(1) == []
    assert await editor.actions(5) == []
    assert await editor.actions(0, "quickfix") == []
    found = await editor.actions(5, "refactor.rewrite.restructure")
    assert [each.title for each in found] == [own, picker]
    assert found[0].command
    await editor.run(found[0].command.command, *(found[0].command.arguments or ()))
    assert len(editor.edits) == 1
    editor.open(NOTE)
    assert [each.title for each in await editor.actions(0)] == [picker]
    editor.open(NOTE, language="python")
    assert await editor.actions(0, "refactor") == []
