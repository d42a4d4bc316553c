--- Keys that have their meaning while ghost text shows, and are otherwise what they were.
---
--- They are mapped in the buffer when text shows and unmapped when it goes: without ghost text
--- whatever mapping was there works, however and whenever it was made.
local M = {}

---@class clover_write.Bound
---@field buf integer
---@field lhs string
---@field before table what |maparg()| says of the key's earlier mapping in the buffer
---@type clover_write.Bound[]
local bound = {}

--- The mapping of the buffer itself, {} for none.
---@param lhs string
---@return table
local function own_mapping(lhs)
  local found = vim.fn.maparg(lhs, "i", false, true)
  return found.buffer == 1 and found or {}
end

---@param lhs string
---@param act fun(): boolean false where there is nothing to act on any more
local function bind(buf, lhs, act)
  table.insert(bound, { buf = buf, lhs = lhs, before = own_mapping(lhs) })
  local function press()
    if not act() then
      M.unbind()
      vim.api.nvim_feedkeys(vim.keycode(lhs), "mi", false)
    end
  end
  vim.keymap.set("i", lhs, press, { buffer = buf, desc = "Clover Write, while ghost text shows" })
end

--- Gives the keys of the current buffer their meaning, if they do not have it.
---@param buf integer
---@param actions table<string|false, fun(): boolean>
function M.bind(buf, actions)
  if bound[1] and bound[1].buf == buf then
    return
  end
  M.unbind()
  for lhs, act in pairs(actions) do
    if lhs then
      bind(buf, lhs, act)
    end
  end
end

--- Gives the keys back.
function M.unbind()
  for _, key in ipairs(bound) do
    if vim.api.nvim_buf_is_valid(key.buf) then
      vim.api.nvim_buf_call(key.buf, function()
        vim.keymap.del("i", key.lhs, { buffer = key.buf })
        if not vim.tbl_isempty(key.before) then
          vim.fn.mapset("i", false, key.before)
        end
      end)
    end
  end
  bound = {}
end

return M
