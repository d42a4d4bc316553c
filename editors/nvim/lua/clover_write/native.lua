--- Neovim 0.12's |vim.lsp.inline_completion| asks and draws; here it is kept to what is so.
---
--- By itself it shows text that no longer fits until the next answer comes, takes answers to older
--- texts, repeats what was typed between request and acceptance, and never asks as `Invoked`. What
--- it is told here goes the way of its own answers.
local asking = require("clover_write.asking")
local server = require("clover_write.server")

local M = {}

local METHOD = "textDocument/inlineCompletion"

---@class clover_write.Listener Takes answers for one buffer, as Neovim made it.
---@field handler lsp.Handler
---@field ctx lsp.HandlerContext
---@type table<integer, clover_write.Listener>
local listeners = {}
---@type table<integer, integer> kinds of the next request, where that is not Neovim's to say
local kinds = {}

---@param buf integer
---@param items clover_write.Item[]
local function tell(buf, items)
  local listener = listeners[buf]
  if listener and server.serves(buf) then
    listener.handler(nil, { items = items }, listener.ctx)
  end
end

--- Has Neovim ask for a client's items, as long as `may_ask`; what comes goes to `on_items`.
---@param client vim.lsp.Client
---@param may_ask fun(buf: integer): boolean
---@param on_items fun(buf: integer, items: clover_write.Item[])
function M.attach(client, may_ask, on_items)
  local request = client.request
  client.request = function(self, method, params, handler, buf)
    if method ~= METHOD then
      return request(self, method, params, handler, buf)
    end
    local ctx = { client_id = self.id, method = method, bufnr = buf }
    listeners[buf] = { handler = handler, ctx = ctx }
    local kind = kinds[buf] or asking.AUTOMATIC
    if kind == asking.AUTOMATIC and not may_ask(buf) then
      return true
    end
    kinds[buf] = nil
    params.context.triggerKind = kind
    return request(self, method, params, asking.taking(buf, on_items), buf)
  end
end

--- Switches it on in a buffer of the server's; Neovim knows of no switch for one client there.
---@param buf integer
function M.enable(buf)
  vim.lsp.inline_completion.enable(true, { bufnr = buf })
end

--- Asks at once; where Neovim has not asked yet, it does so as after a move of the cursor.
---@param buf integer
---@param kind integer
function M.ask(buf, kind)
  kinds[buf] = kind
  local listener = listeners[buf]
  if listener then
    local client = assert(server.client())
    client:request(METHOD, asking.params(buf, kind), listener.handler, buf)
  else
    vim.api.nvim_exec_autocmds("CursorMovedI", { buffer = buf, modeline = false })
  end
end

--- Neovim shows what is left of a suggestion, and would accept that.
---@param suggestion clover_write.Suggestion
function M.show(suggestion)
  local row, col = suggestion.row, suggestion.col
  tell(suggestion.buf, {
    {
      insertText = suggestion:rest(),
      range = {
        start = { line = row, character = col },
        ["end"] = { line = row, character = col + suggestion:covers() },
      },
      command = suggestion:item().command,
    },
  })
end

---@param buf integer
function M.hide(buf)
  tell(buf, {})
end

--- Forgets who listened in a buffer: a server has left it.
---@param buf integer
function M.detach(buf)
  listeners[buf], kinds[buf] = nil, nil
end

return M
