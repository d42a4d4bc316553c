"""The plugin's keys mean what they mean while ghost text shows; else they are what they were."""

from __future__ import annotations

import pytest

from tests.editors.neovim.conftest import Open

pytestmark = pytest.mark.slow

CODE = "total = price * count\n\n"
MAPPINGS = {
    "none": "vim.bo.expandtab = false",
    "global": "vim.keymap.set('i', '<Tab>', 'MINE')",
    "expression": "vim.keymap.set('i', '<Tab>', function() return 'MINE' end, { expr = true })",
    "of the buffer": "vim.keymap.set('i', '<Tab>', 'MINE', { buffer = true })",
    "function of the buffer": "vim.keymap.set('i', '<Tab>', function()"
    " vim.api.nvim_put({ 'MINE' }, 'c', false, true) end, { buffer = true })",
    "remapped": "vim.keymap.set('i', '<Plug>(mine)', 'MINE', { buffer = true })"
    " vim.keymap.set('i', '<Tab>', '<Plug>(mine)', { buffer = true })",
}


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_tab_without_ghost_text(edit: Open, mapping: str) -> None:
    editor = edit(CODE)
    editor.lua(MAPPINGS[mapping])
    own = "\t" if mapping == "none" else "MINE"
    editor.type("Goq<Tab>")
    editor.ends(f"q{own}")
    editor.type("<C-u>tot")
    editor.ghost()
    editor.type("<Tab><Tab>")
    done = f"total = price * count{own}"
    editor.ends(done)
    editor.type("<C-u>tot")
    editor.ghost()
    editor.type("<Esc>A<C-u>q<Tab>")
    editor.ends(f"q{own}")
    editor.command("silent! iunmap <Tab>")


def test_keys_of_ones_own(start: Open) -> None:
    own = 'keys = { accept = "<C-y>", accept_word = false, dismiss = "<C-e>" }'
    editor = start(CODE, options=own)
    editor.ready()
    editor.command("setlocal noexpandtab")
    editor.type("Gotot")
    editor.ghost()
    editor.type("<C-e>")
    editor.no_ghost()
    editor.type("a")
    editor.ghost()
    editor.type("<C-y><Tab>")
    editor.ends("total = price * count\t")


def test_functions_for_mappings_of_ones_own(edit: Open) -> None:
    editor = edit(CODE)
    editor.lua(
        "vim.keymap.set('i', '<C-l>', function()"
        " if not require('clover_write').accept_word() then vim.api.nvim_put({ '-' }, 'c', false,"
        " true) end end, { buffer = true })"
    )
    editor.type("Go<C-l>")
    editor.ends("-")
    editor.type("<C-u>tot")
    editor.ghost()
    editor.type("<C-l>")
    editor.ends("total")


def test_keys_of_neovims_own_completion(edit: Open, kind: tuple[str, str]) -> None:
    if kind[1] != "native":
        pytest.skip("vim.lsp.inline_completion draws nothing here")
    editor = edit(CODE)
    editor.lua(
        "vim.keymap.set('i', '<C-l>', function()"
        " if not vim.lsp.inline_completion.get() then return '-' end end,"
        " { expr = true, buffer = true })"
    )
    editor.type("Gotot")
    editor.ghost()
    editor.type("a<C-l>")  # by itself it would write the letter twice
    editor.ends("total = price * count")
    editor.until(lambda: editor.ghosts() == [], "ghost text stays")
    editor.type("<C-u>x<C-l>")
    editor.ends("x-")
