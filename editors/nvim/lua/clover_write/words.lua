--- The beginning of a text that one accepts at once: a word, or a line.
local M = {}

local BLANK, IDEOGRAPH = 0, 0x4e00 -- classes of |charclass()|
local JOINER = "\u{200d}"
-- Chinese and Japanese have no blanks between words, and most words are of two ideographs
local MOST_IDEOGRAPHS = 2

-- a line end is a sign to Vim
---@param char string
---@return integer
local function class_of(char)
  return char:match("^%s") and BLANK or vim.fn.charclass(char)
end

--- Whether readers see `char` as a part of what stands before it.
---@param char string
---@param before string
---@return boolean
local function is_joined(char, before)
  return vim.startswith(char, JOINER) or vim.endswith(before, JOINER)
end

--- A word as |w| has it, with the blanks and line ends before it; of ideographs two.
---@param text string
---@return string
function M.word(text)
  local blanks = text:match("^%s*")
  local word, class, length = "", nil, 0
  for _, char in ipairs(vim.fn.split(text:sub(#blanks + 1), [[\zs]])) do
    local joined = class ~= nil and is_joined(char, word)
    local its = joined and class or class_of(char)
    length = joined and length or length + 1
    if its ~= (class or its) or (its == IDEOGRAPH and length > MOST_IDEOGRAPHS) then
      break
    end
    word, class = word .. char, its
    if its == BLANK then
      break
    end
  end
  return blanks .. word
end

--- Up to the end of the first line that is not blank.
---@param text string
---@return string
function M.line(text)
  return text:match("^%s*[^\n]*")
end

return M
