--- How the server fares, for a status line: what `clover/status` said last, and pauses.
local pauses = require("clover_write.pauses")

---@class clover_write.Status
---@field busy boolean
---@field kind "Normal"|"Inactive"|"Warning"|"Error"|"Stopped"
---@field message string
local M = {
  ---@type clover_write.Status
  current = { busy = false, kind = "Stopped", message = "the server is not running" },
  ---@type string? what takes seconds, and how far it is
  progress = nil,
}

---@param status clover_write.Status
function M.set(status)
  M.current = status
  vim.api.nvim_exec_autocmds("User", { pattern = "CloverStatus", modeline = false })
  vim.cmd.redrawstatus({ bang = true })
end

--- One short text: `Clover`, `Clover …` at work, `Clover !` where something is wrong.
---@return string
function M.line()
  if pauses.reason(vim.api.nvim_get_current_buf()) then
    return "Clover paused"
  elseif M.progress then
    return "Clover " .. M.progress
  elseif M.current.busy then
    return "Clover …"
  end
  local signs = { Normal = "", Inactive = " off", Warning = " slow", Error = " !", Stopped = " -" }
  return "Clover" .. signs[M.current.kind]
end

--- Keeps the progress of fills and restructurings.
---@param value { kind: string, title?: string, message?: string, percentage?: integer }
function M.set_progress(value)
  local share = value.percentage and ("%d%%"):format(value.percentage) or "…"
  M.progress = value.kind ~= "end" and share or nil
  vim.cmd.redrawstatus({ bang = true })
end

return M
