"""The commands of the plugin, on real notes: spans, templates, contents, tags."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editors.neovim.conftest import Open
from tests.support.neovim import Neovim

pytestmark = pytest.mark.slow

NOTE = "# Outage 中\n\n## Root cause\n\nIt was full.\n\n## What people saw\n\n- errors\n"
REPORT = """\
# {{title}}

## Impact

## Cause

<!-- clover
title: Report
Impact: {aliases: [What people saw]}
Cause: {aliases: [Root cause]}
-->
"""
RESTRUCTURED = "# Outage 中\n\n## Impact\n\n- errors\n\n## Cause\n\nIt was full.\n"
SCRIPTS = '<!-- clover-fake: {"text": "one"} clover-fake: {"text": "zwei 二"} -->\n'


def put_template(folder: Path) -> None:
    path = folder / ".clover" / "templates" / "report.md"
    path.parent.mkdir(parents=True)
    path.write_text(REPORT, encoding="utf-8")


def saved(editor: Neovim) -> bytes:
    """The bytes of the file, once written."""
    editor.command("silent write")
    return Path(editor.lua("return vim.api.nvim_buf_get_name(0)")).read_bytes()


def test_all_spans_are_filled_and_undone_at_once(edit: Open) -> None:
    text = f"{SCRIPTS}Owner: ____ 和 【待补：人】.\n"
    editor = edit(text, "note.md")
    editor.command("CloverFill")
    filled = text.replace("____", "one").replace("【待补：人】", "zwei 二")
    editor.until(lambda: editor.lines == filled.splitlines(), "not filled")
    editor.type("u")
    editor.until(lambda: editor.lines == text.splitlines(), "not undone")


def test_the_span_at_the_cursor_is_filled(edit: Open) -> None:
    editor = edit('Owner: ____ and ____ <!-- clover-fake: {"text": "one"} -->\n', "note.md")
    editor.type("0fa")
    editor.command("normal! f_")
    editor.command("CloverFill here")
    editor.until(lambda: editor.lines[0].startswith("Owner: ____ and one <"), "not filled")


def test_what_prevents_a_fill_is_told(edit: Open) -> None:
    editor = edit("Nothing to fill.\n", "note.md")
    editor.command("CloverFill")
    editor.until(lambda: "Clover Write:" in editor.messages, "not told")
    assert editor.lines == ["Nothing to fill."]


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_a_restructuring_is_reviewed_applied_and_undone(
    edit: Open, tmp_path: Path, eol: str
) -> None:
    put_template(tmp_path)
    original = NOTE.replace("\n", eol).encode()
    editor = edit(NOTE.replace("\n", eol), "note.md")
    editor.command("CloverRestructure report")
    editor.until(lambda: editor.lua("return vim.fn.tabpagenr('$')") == 2, "no review")
    windows = editor.lua(
        "return vim.tbl_map(function(w) local b = vim.api.nvim_win_get_buf(w) return {"
        " vim.wo[w].diff, table.concat(vim.api.nvim_buf_get_lines(b, 0, -1, false), '\\n') } end,"
        " vim.api.nvim_tabpage_list_wins(0))"
    )
    assert [text for diff, text in windows if diff] == [NOTE[:-1], RESTRUCTURED[:-1]]
    [report] = [text for diff, text in windows if not diff]
    assert "| 5 | It was full. | Cause | heading |" in report
    assert editor.lines == RESTRUCTURED.splitlines()  # the proposal has the cursor
    editor.command("write")
    editor.until(lambda: editor.lua("return vim.fn.tabpagenr('$')") == 1, "review still open")
    assert saved(editor) == RESTRUCTURED.replace("\n", eol).encode()
    editor.type("u")
    editor.until(lambda: editor.lines == NOTE.splitlines(), "not undone")
    assert saved(editor) == original
    assert editor.lua("return vim.wo.diff") is False


def test_a_review_that_is_left_changes_nothing(edit: Open, tmp_path: Path) -> None:
    put_template(tmp_path)
    editor = edit(NOTE, "note.md")
    editor.command("CloverRestructure report")
    editor.until(lambda: editor.lua("return vim.fn.tabpagenr('$')") == 2, "no review")
    editor.command("tabclose")
    assert (editor.lines, editor.lua("return vim.wo.diff")) == (NOTE.splitlines(), False)
    assert editor.lua("return vim.bo.modified") is False


def test_a_proposal_for_an_older_text_is_not_applied(edit: Open, tmp_path: Path) -> None:
    put_template(tmp_path)
    editor = edit(NOTE, "note.md")
    source = editor.lua("return vim.api.nvim_get_current_buf()")
    editor.command("CloverRestructure report")
    editor.until(lambda: editor.lua("return vim.fn.tabpagenr('$')") == 2, "no review")
    editor.call("buf_set_lines", source, 0, 0, True, ["typed meanwhile"])
    assert "has changed meanwhile" in editor.command("write")
    lines = editor.call("buf_get_lines", source, 0, -1, True)
    assert lines == ["typed meanwhile", *NOTE.splitlines()]


def test_templates_are_completed_and_chosen(edit: Open, tmp_path: Path) -> None:
    put_template(tmp_path)
    editor = edit(NOTE, "note.md")
    names = editor.lua("return vim.fn.getcompletion('CloverRestructure ', 'cmdline')")
    assert names[0] == "report"
    assert "adr" in names
    assert editor.lua("return vim.fn.getcompletion('CloverRestructure ad', 'cmdline')") == ["adr"]
    editor.lua("vim.ui.select = function(items, _, on_choice) on_choice(items[1]) end")
    editor.command("CloverRestructure")
    editor.until(lambda: editor.lua("return vim.fn.tabpagenr('$')") == 2, "no review")
    assert editor.lines == RESTRUCTURED.splitlines()


def test_a_template_that_is_not_there(edit: Open) -> None:
    editor = edit(NOTE, "note.md")
    editor.command("CloverRestructure adrr")
    editor.until(lambda: 'did you mean "adr"?' in editor.messages, "not told")


def test_the_table_of_contents(edit: Open) -> None:
    editor = edit(NOTE, "note.md")
    editor.command("CloverToc")
    editor.until(lambda: "- [Root cause](#root-cause)" in editor.lines, "no table")
    editor.type("u")
    editor.until(lambda: editor.lines == NOTE.splitlines(), "not undone")


def test_tags_by_name_and_by_choice(edit: Open, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("---\ntags: [errors, outage]\n---\n")
    (tmp_path / ".obsidian").mkdir()
    editor = edit(NOTE, "note.md")
    editor.command("CloverTags disk")
    editor.until(lambda: "disk" in " ".join(editor.lines[:4]), "no tag")
    editor.lua("vim.ui.select = function(items, _, on_choice) on_choice(items[1]) end")
    editor.lua("vim.fn.inputlist = function() return 1 end")
    editor.command("CloverTags")
    editor.until(lambda: "outage" in " ".join(editor.lines[:5]), "no tag")


def test_an_edit_for_an_older_text_is_refused(edit: Open) -> None:
    editor = edit("Owner: ____.\n", "note.md")
    version = editor.lua("return vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()]")
    editor.call("buf_set_lines", 0, 0, 0, True, ["typed meanwhile"])
    result = editor.lua(APPLY, version)
    assert result["applied"] is False
    assert "changed meanwhile" in result["failureReason"]
    assert editor.lines == ["typed meanwhile", "Owner: ____."]


APPLY = """
local at = { line = 0, character = 0 }
return require("clover_write.edits").apply({ documentChanges = { {
  textDocument = { uri = vim.uri_from_bufnr(0), version = ... },
  edits = { { range = { start = at, ["end"] = at }, newText = "wrong" } },
} } })
"""
