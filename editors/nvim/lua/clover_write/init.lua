--- Clover Write in Neovim: ghost text, masked spans, templates. See |clover_write|.
local config = require("clover_write.config")

local M = {}

--- Starts with what the user wants; raises a message that says what cannot be.
---@param options? table a part of |clover_write.Config|
function M.setup(options)
  if vim.fn.has("nvim-0.10") == 0 then
    error("Clover Write needs Neovim 0.10 or newer", 0)
  end
  config.set(options)
  local inline = require("clover_write.inline")
  local server = require("clover_write.server")
  local status = require("clover_write.status")
  local group = vim.api.nvim_create_augroup("clover_write", {})
  local function on(events, act)
    vim.api.nvim_create_autocmd(events, { group = group, callback = act })
  end

  require("clover_write.commands").create()
  local ghost = require("clover_write.ghost")
  ghost.set_highlights()
  on("ColorScheme", ghost.set_highlights)
  on({ "BufEnter", "BufFilePost", "BufWritePost" }, function(event)
    server.attach(event.buf)
  end)
  on("FileType", function(event)
    server.attach_again(event.buf)
  end)
  on("LspProgress", function(event)
    local client = server.client()
    if client and event.data.client_id == client.id then
      status.set_progress(event.data.params.value)
    end
  end)
  inline.watch(group)
  local complete = config.current.keys.complete
  if complete then
    vim.keymap.set("i", complete, inline.complete, { desc = "Clover Write: complete here" })
  end
  server.attach_all()
end

--- For a status line: `Clover`, at work `Clover …` or with percent, else what is wrong.
---@return string
function M.status()
  return require("clover_write.status").line()
end

-- what keys are mapped to, for mappings of one's own
for _, name in ipairs({
  "accept",
  "accept_word",
  "accept_line",
  "dismiss",
  "next",
  "previous",
  "complete",
}) do
  M[name] = function()
    return require("clover_write.inline")[name]()
  end
end

return M
