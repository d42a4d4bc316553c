--- Where and for how long nothing is offered by itself.
local M = {}

local until_ms = 0
---@type table<string, true>
local filetypes = {}

---@param minutes number
function M.pause(minutes)
  until_ms = vim.uv.now() + minutes * 60000
end

---@param filetype string
function M.pause_filetype(filetype)
  filetypes[filetype] = true
end

function M.resume()
  until_ms, filetypes = 0, {}
end

--- Why nothing is offered in a buffer by itself; nil where it is.
---@param buf integer
---@return string?
function M.reason(buf)
  if filetypes[vim.bo[buf].filetype] then
    return ("paused in %s documents"):format(vim.bo[buf].filetype)
  end
  local left = until_ms - vim.uv.now()
  return left > 0 and ("paused for %d minutes more"):format(math.ceil(left / 60000)) or nil
end

return M
