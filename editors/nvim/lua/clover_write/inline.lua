--- Ghost text at the cursor: what shows, how it follows typing, and what one does with it.
local asking = require("clover_write.asking")
local config = require("clover_write.config")
local edits = require("clover_write.edits")
local ghost = require("clover_write.ghost")
local keys = require("clover_write.keys")
local native = require("clover_write.native")
local pauses = require("clover_write.pauses")
local server = require("clover_write.server")
local status = require("clover_write.status")
local Suggestion = require("clover_write.suggestion")
local words = require("clover_write.words")

local M = {}

-- an engine that is loading is asked again so much later, for someone who waits for it
local AGAIN_MS = 1000

---@type clover_write.Suggestion?
local current
---@type string? text that the user looks for something else than
local unlike

---@return { show: fun(suggestion: clover_write.Suggestion), hide: fun(buf: integer) }
local function painter()
  return config.is_native() and native or ghost
end

--- Nothing shows any more.
function M.clear()
  asking.cancel()
  keys.unbind()
  if current then
    painter().hide(current.buf)
    current = nil
  end
end

local function show()
  local suggestion = assert(current)
  painter().show(suggestion)
  local own = config.current.keys
  keys.bind(suggestion.buf, {
    [own.accept] = M.accept,
    [own.accept_word] = M.accept_word,
    [own.accept_line] = M.accept_line,
    [own.dismiss] = M.dismiss,
    [own.next] = M.next,
    [own.previous] = M.previous,
  })
end

--- What the server's command for accepted items, and its messages on them, know an item by.
---@param item clover_write.Item
---@return integer?
local function id_of(item)
  return item.command and item.command.arguments[1]
end

local function tell_shown()
  local id = id_of(assert(current):item())
  if id then
    server.notify("clover/didShow", { id = id })
  end
end

--- Whether a suggestion shows and still fits at the cursor; it has followed what was typed.
---@return boolean
local function is_showing()
  return current ~= nil
    and current.buf == vim.api.nvim_get_current_buf()
    and vim.fn.pumvisible() == 0
    and current:follow(asking.cursor())
end

---@param buf integer
---@return boolean whether one may ask while the user types
local function may_ask(buf)
  return not (is_showing() or asking.is_under_way() or pauses.reason(buf))
    and vim.fn.reg_executing() == ""
end

---@type fun(buf: integer, items: clover_write.Item[])
local offer

---@param buf integer
---@param kind integer
local function ask(buf, kind)
  if config.is_native() then
    native.ask(buf, kind)
  else
    asking.ask(buf, kind, offer)
  end
end

--- Asks again in a while, if the user still waits at the same place.
---@param buf integer
local function ask_again(buf)
  local is_current = asking.moment(buf)
  vim.defer_fn(function()
    if is_current() and may_ask(buf) then
      ask(buf, asking.AUTOMATIC)
    end
  end, AGAIN_MS)
end

--- Takes an answer that fits the buffer and the cursor as they are.
function offer(buf, items)
  local other = unlike
  unlike = nil
  if #items == 0 or vim.fn.pumvisible() == 1 then
    M.clear()
    if status.current.kind == "Warning" then
      ask_again(buf)
    end
    return
  end
  current = Suggestion.new(buf, items)
  if #items > 1 and current:rest() == other then
    current.index = 2
  end
  show()
  tell_shown()
end

--- Follows the cursor and what was typed, and asks where nothing shows.
---@param buf integer
function M.follow(buf)
  if is_showing() then
    show()
    return
  elseif asking.is_under_way() then
    return
  end
  M.clear()
  if not config.is_native() and may_ask(buf) then
    asking.ask(buf, asking.AUTOMATIC, offer)
  end
end

--- Asks at once, for several items of more than a line.
function M.complete()
  local buf = vim.api.nvim_get_current_buf()
  if not server.serves(buf) then
    vim.notify("Clover Write: no server for this buffer; see :checkhealth clover_write", 3)
  else
    ask(buf, asking.INVOKED)
  end
end

--- Puts the beginning of what is left into the buffer, byte by byte as it is: nothing that is
--- mapped, abbreviated or indented by typing has a part in it.
---@param suggestion clover_write.Suggestion
---@param text string
local function put(suggestion, text)
  local is_all = text == suggestion:rest()
  local row, col = suggestion.row, suggestion.col
  local covered = is_all and suggestion:covers() or 0
  edits.begin_undo_step()
  vim.api.nvim_buf_set_text(
    suggestion.buf,
    row,
    col,
    row,
    col + covered,
    vim.split(text, "\n", { plain = true })
  )
  suggestion:take(text)
  vim.api.nvim_win_set_cursor(0, { suggestion.row + 1, suggestion.col })
end

---@param text string
---@return integer
local function utf16_length(text)
  if vim.fn.has("nvim-0.11") == 1 then
    return vim.str_utfindex(text, "utf-16")
  end
  return (select(2, vim.str_utfindex(text)))
end

--- Tells the server what was taken: all, or so many UTF-16 units from the text's beginning.
---@param suggestion clover_write.Suggestion
local function tell_accepted(suggestion)
  local item = suggestion:item()
  local id = id_of(item)
  if not id then
    return
  elseif suggestion:rest() == "" then
    local params = { command = item.command.command, arguments = item.command.arguments }
    server.request("workspace/executeCommand", params, function() end, suggestion.buf)
  else
    local taken = item.insertText:sub(1, suggestion.taken)
    server.notify("clover/didPartiallyAccept", { id = id, acceptedLength = utf16_length(taken) })
  end
end

---@param part fun(text: string): string the beginning that is taken
---@return boolean false where nothing shows
local function accept(part)
  if not is_showing() then
    M.clear()
    return false
  end
  local suggestion = assert(current)
  put(suggestion, part(suggestion:rest()))
  if suggestion:rest() == "" then
    M.clear()
  else
    show()
  end
  tell_accepted(suggestion)
  return true
end

---@return boolean false where nothing shows, as of the others
function M.accept()
  return accept(function(text)
    return text
  end)
end

---@return boolean
function M.accept_word()
  return accept(words.word)
end

---@return boolean
function M.accept_line()
  return accept(words.line)
end

---@return boolean
function M.dismiss()
  local shows = is_showing()
  M.clear()
  return shows
end

--- Shows another item; where there is one alone, others are asked for.
---@param step integer
---@return boolean
local function cycle(step)
  if not is_showing() then
    return false
  end
  local suggestion = assert(current)
  -- those that begin otherwise do not fit what was typed
  if #suggestion.items == 1 or suggestion.taken > 0 then
    unlike = suggestion:rest()
    M.complete()
    return true
  end
  suggestion.index = (suggestion.index - 1 + step) % #suggestion.items + 1
  show()
  tell_shown()
  return true
end

---@return boolean
function M.next()
  return cycle(1)
end

---@return boolean
function M.previous()
  return cycle(-1)
end

--- Begins in a buffer that the server knows from now on; someone may be typing there already.
---@param buf integer
local function begin(buf)
  if config.is_native() then
    native.enable(buf)
  end
  if asking.moment(buf)() and may_ask(buf) then
    ask(buf, asking.AUTOMATIC)
  end
end

--- Has ghost text follow what happens in every buffer that the server knows.
---@param group integer
function M.watch(group)
  local function on(events, act)
    vim.api.nvim_create_autocmd(events, {
      group = group,
      callback = function(event)
        if server.serves(event.buf) then
          act(event.buf)
        end
      end,
    })
  end
  on({ "InsertEnter", "CursorMovedI", "TextChangedI", "TextChangedP", "CompleteDone" }, M.follow)
  on({ "InsertLeave", "BufLeave", "CompleteChanged" }, M.clear)
  on("LspAttach", begin)
  if config.is_native() then
    vim.api.nvim_create_autocmd("LspDetach", {
      group = group,
      callback = function(event)
        native.detach(event.buf)
      end,
    })
    server.on_start = function(client)
      native.attach(client, may_ask, offer)
    end
  end
end

return M
