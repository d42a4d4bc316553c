--- `:checkhealth clover_write`
local config = require("clover_write.config")
local server = require("clover_write.server")
local status = require("clover_write.status")

local M = {}

local function check_neovim()
  if vim.fn.has("nvim-0.10") == 0 then
    vim.health.error("Neovim is older than 0.10")
    return
  end
  local by = config.is_native() and "Neovim (vim.lsp.inline_completion)" or "the plugin"
  vim.health.ok(("Neovim %s; ghost text is drawn by %s"):format(tostring(vim.version()), by))
end

---@return boolean whether there is a program
local function check_program()
  local program = config.current.cmd[1]
  if vim.fn.executable(program) == 0 then
    vim.health.error(("there is no %s"):format(program), {
      "install Clover Write so that clover-write is on your PATH",
      'or name it: setup({ cmd = { "/path/to/clover-write", "lsp", "--stdio" } })',
    })
    return false
  end
  vim.health.ok(("%s is %s"):format(program, vim.fn.exepath(program)))
  return true
end

local function check_server()
  local client = server.client()
  if not client then
    vim.health.warn("the server does not run: " .. status.current.message, {
      "it starts with the first file that is opened; setup() has to have been called",
    })
    return
  end
  local version = client.server_info and client.server_info.version
  local buffers = vim.tbl_count(client.attached_buffers)
  local facts = ("the server runs (version %s), with %d buffers"):format(version or "?", buffers)
  vim.health.ok(facts)
  local say = status.current.kind == "Error" and vim.health.error or vim.health.info
  say(("%s: %s"):format(status.current.kind, status.current.message))
  if client.offset_encoding ~= "utf-8" then
    vim.health.error("the server counts columns in " .. client.offset_encoding)
  end
end

function M.check()
  vim.health.start("clover_write")
  check_neovim()
  if check_program() then
    check_server()
    vim.health.info("`clover-write doctor` in a shell checks the model and the engine")
  end
end

return M
