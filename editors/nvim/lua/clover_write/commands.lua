--- The commands one types.
local inline = require("clover_write.inline")
local pauses = require("clover_write.pauses")
local restructure = require("clover_write.restructure")
local server = require("clover_write.server")

local M = {}

-- completing a name waits so long for the server
local PATIENCE_MS = 2000

local function current()
  return vim.api.nvim_get_current_buf()
end

---@param arguments vim.api.keyset.create_user_command.command_args
local function fill(arguments)
  local place = vim.NIL
  if arguments.args == "here" then
    local row, col = unpack(vim.api.nvim_win_get_cursor(0))
    place = { line = row - 1, character = col }
  end
  server.execute("fill", current(), { place })
end

---@param arguments vim.api.keyset.create_user_command.command_args
local function restructure_to(arguments)
  if arguments.args == "" then
    restructure.choose(current())
  else
    restructure.propose(current(), arguments.args)
  end
end

---@param typed string
---@return string[]
local function template_names(typed)
  local names
  restructure.templates(current(), function(templates)
    names = vim.tbl_map(function(template)
      return template.name
    end, templates)
  end)
  vim.wait(PATIENCE_MS, function()
    return names ~= nil
  end, 10)
  return vim.tbl_filter(function(name)
    return vim.startswith(name, typed)
  end, names or {})
end

---@param arguments vim.api.keyset.create_user_command.command_args
local function pause(arguments)
  if arguments.args == "here" then
    pauses.pause_filetype(vim.bo.filetype)
  else
    pauses.pause(tonumber(arguments.args) or 10)
  end
  inline.clear()
  vim.notify("Clover Write: " .. (pauses.reason(current()) or "not paused"))
end

local function one_of(...)
  local words = { ... }
  return function(typed)
    return vim.tbl_filter(function(word)
      return vim.startswith(word, typed)
    end, words)
  end
end

--- Makes the commands.
function M.create()
  local function command(name, act, options)
    vim.api.nvim_create_user_command("Clover" .. name, act, options)
  end
  command("Fill", fill, {
    nargs = "?",
    complete = one_of("here"),
    desc = "Fill all masked spans, or the one at the cursor (here)",
  })
  command("Restructure", restructure_to, {
    nargs = "?",
    complete = template_names,
    desc = "Review the document in a template's shape",
  })
  command("Toc", function()
    server.execute("toc", current(), {})
  end, { desc = "Insert or update the table of contents" })
  command("Tags", function(arguments)
    local names = #arguments.fargs > 0 and arguments.fargs or vim.NIL
    server.execute("tags", current(), { names })
  end, { nargs = "*", desc = "Add tags to the note, or choose from those that fit" })
  command("Pause", pause, {
    nargs = "?",
    complete = one_of("here"),
    desc = "Offer nothing unasked for some minutes (10), or in files of this type (here)",
  })
  command("Resume", pauses.resume, { desc = "Offer completions again" })
  command("Restart", server.restart, { desc = "Start the server anew" })
  command("Log", function()
    vim.cmd.tabedit(vim.fn.fnameescape(vim.lsp.get_log_path()))
  end, { desc = "Show what the server and Neovim logged" })
end

return M
