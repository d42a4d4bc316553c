--- What the user set, checked.

---@class clover_write.Keys Mapped while ghost text shows, but for `complete`; false for none.
---@field accept string|false
---@field accept_word string|false
---@field accept_line string|false
---@field dismiss string|false
---@field next string|false
---@field previous string|false
---@field complete string|false asks, also where nothing comes by itself

---@class clover_write.Config
---@field cmd string[] starts the server, `--stdio` with it
---@field cmd_env? table<string, string> added to the server's environment
---@field ghost "auto"|"native"|"own" who draws: `native` is |vim.lsp.inline_completion|
---@field debounce_ms integer how long typing has to rest before the plugin asks (own ghost text)
---@field filetypes? string[] nil: all, but those whose completions the server refuses
---@field keys clover_write.Keys
---@field settings table the server's own, as under `cloverWrite` elsewhere
local defaults = {
  cmd = { "clover-write", "lsp", "--stdio" },
  ghost = "auto",
  debounce_ms = 50,
  keys = {
    accept = "<Tab>",
    accept_word = "<M-Right>",
    accept_line = "<M-C-Right>",
    dismiss = "<C-]>",
    next = "<M-]>",
    previous = "<M-[>",
    complete = "<M-\\>",
  },
  settings = vim.empty_dict(),
}

local M = {
  ---@type clover_write.Config
  current = defaults,
}

local TYPES = {
  cmd = "table",
  cmd_env = "table",
  ghost = "string",
  debounce_ms = "number",
  filetypes = "table",
  keys = "table",
  settings = "table",
}

---@param given table<string, any>
---@param known table<string, any>
---@param where string
local function refuse_unknown(given, known, where)
  for name in pairs(given) do
    if known[name] == nil then
      local names = vim.tbl_keys(known)
      table.sort(names)
      local all = table.concat(names, ", ")
      error(("clover_write.setup: there is no %s%s; there are %s"):format(where, name, all), 0)
    end
  end
end

--- Takes what was given to `setup`; raises a message that says what is wrong with it.
---@param given? table
function M.set(given)
  given = given or {}
  refuse_unknown(given, TYPES, "")
  refuse_unknown(given.keys or {}, defaults.keys, "keys.")
  for name, value in pairs(given) do
    if type(value) ~= TYPES[name] then
      error(("clover_write.setup: %s is a %s"):format(name, TYPES[name]), 0)
    end
  end
  if not vim.list_contains({ "auto", "native", "own" }, given.ghost or "auto") then
    error('clover_write.setup: ghost is "auto", "native" or "own"', 0)
  end
  if given.ghost == "native" and not vim.lsp.inline_completion then
    error('clover_write.setup: ghost = "native" needs Neovim 0.12; "auto" has what there is', 0)
  end
  M.current = vim.tbl_deep_extend("force", defaults, given)
end

--- Whether Neovim itself asks and draws.
---@return boolean
function M.is_native()
  return M.current.ghost ~= "own" and vim.lsp.inline_completion ~= nil
end

return M
