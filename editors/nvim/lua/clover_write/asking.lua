--- Requests of our own: typing has to rest, the latest counts, and a late answer is none.
local config = require("clover_write.config")
local server = require("clover_write.server")

local M = {}

local METHOD = "textDocument/inlineCompletion"
M.INVOKED, M.AUTOMATIC = 1, 2

local timer = vim.uv.new_timer()
---@type fun()?
local cancel
---@type (fun(): boolean)? whether the place that was asked for last is where the cursor is
local under_way

--- Where the cursor is: row and column from 0, the column in bytes.
---@return integer row
---@return integer col
function M.cursor()
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  return row - 1, col
end

--- Whether a buffer and its cursor are as they were now, and text is being typed.
---@param buf integer
---@return fun(): boolean
function M.moment(buf)
  local function now()
    return { vim.api.nvim_buf_get_changedtick(buf), M.cursor() }
  end
  local then_ = now()
  return function()
    return vim.api.nvim_get_current_buf() == buf
      and vim.api.nvim_get_mode().mode == "i"
      and vim.deep_equal(now(), then_)
  end
end

---@param buf integer
---@param kind integer
---@return table params
function M.params(buf, kind)
  local row, col = M.cursor()
  return {
    textDocument = { uri = vim.uri_from_bufnr(buf) },
    position = { line = row, character = col },
    context = { triggerKind = kind },
  }
end

--- Takes the answer to a request that is made now, if buffer and cursor are then what they are.
---@param buf integer
---@param on_items fun(buf: integer, items: clover_write.Item[])
---@return lsp.Handler
function M.taking(buf, on_items)
  local is_current = M.moment(buf)
  under_way = is_current
  return function(err, result)
    if under_way == is_current then
      under_way = nil
    end
    if is_current() then
      local is_list = not err and result and result ~= vim.NIL
      on_items(buf, is_list and result.items or {})
    end
  end
end

--- Whether an answer for the cursor's place is waited for.
---@return boolean
function M.is_under_way()
  return under_way ~= nil and under_way()
end

---@param buf integer
---@param kind integer
---@param on_items fun(buf: integer, items: clover_write.Item[])
local function send(buf, kind, on_items)
  if server.serves(buf) then
    cancel = server.request(METHOD, M.params(buf, kind), M.taking(buf, on_items), buf)
  end
end

--- Ends what was asked.
function M.cancel()
  timer:stop()
  under_way = nil
  if cancel then
    cancel()
    cancel = nil
  end
end

--- Asks for items at the cursor of the current buffer; typing (`AUTOMATIC`) rests first.
---@param buf integer
---@param kind integer
---@param on_items fun(buf: integer, items: clover_write.Item[])
function M.ask(buf, kind, on_items)
  M.cancel()
  if kind == M.INVOKED then
    send(buf, kind, on_items)
    return
  end
  local is_current = M.moment(buf)
  local later = vim.schedule_wrap(function()
    if is_current() then
      send(buf, kind, on_items)
    end
  end)
  timer:start(config.current.debounce_ms, 0, later)
end

return M
