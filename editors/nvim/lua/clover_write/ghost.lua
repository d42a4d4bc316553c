--- Ghost text of our own: extmarks, for Neovim before 0.12 and for those who prefer it.
local M = {}

local HIGHLIGHT = "CloverGhost"
local namespace = vim.api.nvim_create_namespace("clover_write")

---@param line string
---@param buf integer
---@return string as wide as it will be, for virtual text shows no tabs
local function without_tabs(line, buf)
  local shown = line:gsub("\t", (" "):rep(vim.bo[buf].tabstop))
  return shown
end

--- Shows what is left of a suggestion, in place of what showed before.
---@param suggestion clover_write.Suggestion
function M.show(suggestion)
  local buf = suggestion.buf
  M.hide(buf)
  local lines = vim.split(suggestion:rest(), "\n", { plain = true })
  local chunks = vim.tbl_map(function(line)
    return { { without_tabs(line, buf), HIGHLIGHT } }
  end, lines)
  if #suggestion.items > 1 then
    local count = (" (%d/%d)"):format(suggestion.index, #suggestion.items)
    table.insert(chunks[#chunks], { count, HIGHLIGHT .. "More" })
  end
  vim.api.nvim_buf_set_extmark(buf, namespace, suggestion.row, suggestion.col, {
    virt_text = table.remove(chunks, 1),
    virt_text_pos = "inline",
    virt_lines = chunks,
    hl_mode = "combine",
  })
end

---@param buf integer
function M.hide(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
end

--- Colours that differ from typed text on every terminal, unless the user has others.
function M.set_highlights()
  local grey = { fg = "#808080", ctermfg = 244, italic = true, default = true }
  vim.api.nvim_set_hl(0, HIGHLIGHT, grey)
  vim.api.nvim_set_hl(0, HIGHLIGHT .. "More", { link = HIGHLIGHT, default = true })
  -- Neovim's own looks like typed text where there are but the terminal's colours
  local native = vim.api.nvim_get_hl(0, { name = "ComplHint", link = false })
  if native.ctermfg == nil then
    vim.api.nvim_set_hl(0, "ComplHint", vim.tbl_extend("force", native, { ctermfg = 244 }))
  end
end

return M
