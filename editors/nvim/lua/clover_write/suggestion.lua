--- Text offered at a place of a buffer, and what is left of it while one types along.

---@class clover_write.Item As of LSP: `insertText` is plain, `range` is of one line, in bytes.
---@field insertText string
---@field range { start: lsp.Position, ["end"]: lsp.Position }
---@field command? lsp.Command

---@class clover_write.Suggestion
---@field buf integer
---@field items clover_write.Item[] which one can choose from
---@field index integer of the one that shows
---@field row integer from 0
---@field col integer where the text begins, in bytes
---@field before string what stands left of it in its line
---@field after string what stands right of the cursor in its line
---@field taken integer bytes of the text that were accepted, or typed
local Suggestion = {}
Suggestion.__index = Suggestion

---@param buf integer
---@param row integer
---@return string
local function line_of(buf, row)
  return vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
end

---@param buf integer
---@param items clover_write.Item[] at least one
---@return clover_write.Suggestion
function Suggestion.new(buf, items)
  local start = items[1].range.start
  local line = line_of(buf, start.line)
  return setmetatable({
    buf = buf,
    items = items,
    index = 1,
    row = start.line,
    col = start.character,
    before = line:sub(1, start.character),
    after = line:sub(start.character + 1),
    taken = 0,
  }, Suggestion)
end

---@return clover_write.Item
function Suggestion:item()
  return self.items[self.index]
end

--- What is left to accept.
---@return string
function Suggestion:rest()
  return self:item().insertText:sub(self.taken + 1)
end

--- How much right of the cursor gives way to the text, in bytes.
---@return integer
function Suggestion:covers()
  local range = self:item().range
  return range["end"].character - range.start.character
end

--- Moves along with what was typed; false where the text no longer fits at the cursor.
---@param row integer of the cursor, from 0
---@param col integer in bytes
---@return boolean
function Suggestion:follow(row, col)
  local line = line_of(self.buf, row)
  local fits = row == self.row
    and col >= self.col
    and line:sub(1, self.col) == self.before
    and line:sub(col + 1) == self.after
  local typed = line:sub(self.col + 1, col)
  if not fits or not vim.startswith(self:rest(), typed) or self:rest() == typed then
    return false
  end
  self:take(typed)
  return true
end

--- Counts `text`, the beginning of what is left, as being in the buffer.
---@param text string
function Suggestion:take(text)
  self.taken = self.taken + #text
  local lines = vim.split(text, "\n", { plain = true })
  self.before = #lines == 1 and self.before .. text or lines[#lines]
  self.row = self.row + #lines - 1
  self.col = #self.before
end

return Suggestion
