"""A selection worded again through the real server process over stdio, with the fake engine.

The fake engine goes on with a line as the nearest line before it went on that began alike: that is
the answer of the prompt's last example, which is right for that example's own text alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from lsprotocol import types

from clover_lsp.rewording import MAX_CHARS
from tests.support.note_editor import URI, NoteEditor

REWORD = "clover-write.reword"
OLD = "On 4 March the 数据库 of the web shop was down for 12 minutes in the early morning."
NEW = OLD.replace("数据库", "database")
OTHER = "The pump of station 4 was loud."
NOTE = f"# 中\n\n{OLD} {OTHER}\n\n- {OLD}\n\n```\n{OLD}\n```\n"


@pytest.fixture
async def editor() -> AsyncIterator[NoteEditor]:
    editor = await NoteEditor.at()
    yield editor
    await editor.leave()


def selection(first: int, end: tuple[int, int]) -> types.Range:
    return types.Range(types.Position(first, 0), types.Position(*end))


async def test_every_way_to_word_it_is_offered_on_a_selection_of_prose(editor: NoteEditor) -> None:
    await editor.start()
    editor.open(f"# N\n\n{OTHER}\n\n这是一句中文。\n")

    async def titles(line: int, end: int, *only: str) -> list[str]:
        found = await editor.actions(selection(line, (line, end)), *only)
        return sorted(each.title for each in found)

    assert await titles(2, 9) == ["Make formal", "Rephrase", "Tighten", "Translate terms"]
    assert await titles(4, 5) == ["改为公文语体", "改写", "精简", "翻译术语"]
    assert await titles(2, 0) == await titles(1, 0) == await titles(2, 9, "quickfix") == []
    editor.open(OTHER, language="python")
    assert await titles(0, 9) == []


async def test_the_sentences_that_are_selected_are_worded_by_one_edit(editor: NoteEditor) -> None:
    await editor.start()
    editor.open(NOTE)
    await editor.run(REWORD, URI, selection(2, (2, 20)), "terms")
    assert editor.edited() == NOTE.replace(OLD, NEW, 1)
    assert editor.told() == []


async def test_what_breaks_a_lock_stays_and_is_told(editor: NoteEditor) -> None:
    await editor.start()
    editor.open(NOTE)
    await editor.run(REWORD, URI, selection(0, (9, 0)), "terms")
    assert editor.edited() == NOTE.replace(OLD, NEW, 2)
    [told] = editor.told()
    assert told.startswith("1 of 3 sentences stay as they are: ")
    editor.edits.clear()
    await editor.run(REWORD, URI, selection(2, (2, 20)), "formal")
    assert editor.edits == []
    assert editor.told()[-1].startswith("nothing was changed: ")


async def test_what_prevents_it_is_told(editor: NoteEditor) -> None:
    await editor.start()
    await editor.run(REWORD, URI, selection(0, (1, 0)), "terms")
    editor.open(NOTE + "x" * MAX_CHARS)
    await editor.run(REWORD, URI, selection(0, (1, 0)), "sing")
    await editor.run(REWORD, URI, selection(0, (9, 999_999)), "terms")
    await editor.run(REWORD, URI, selection(6, (7, 9)), "terms")
    await editor.run(REWORD, URI, selection(90, (99, 0)), "terms")
    reasons = [told.removeprefix("nothing was changed: ") for told in editor.told()]
    assert reasons == [
        "the document is not open",
        'no way to word a text is called "sing"; there are formal, rewrite, terms, tighten',
        f"over {MAX_CHARS:,} characters are selected: select less",
        "no sentence of prose is selected",
        "no sentence of prose is selected",
    ]
    assert editor.edits == []
