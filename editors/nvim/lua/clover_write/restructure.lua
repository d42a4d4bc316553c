--- Restructuring to a template, reviewed in a tab with a diff before anything is changed.
local edits = require("clover_write.edits")
local server = require("clover_write.server")

local M = {}

---@class clover_write.Template
---@field name string
---@field title string
---@field description string
---@field language string
---@field origin string

---@class clover_write.Preview
---@field template string
---@field output string
---@field report string in Markdown
---@field breaches string[]

--- The lines of a buffer that a text is; its last line has an end, or the buffer has no say in it.
---@param text string
---@return string[]
local function lines_of(text)
  local lines = vim.split(text, "\r?\n")
  if lines[#lines] == "" then
    table.remove(lines)
  end
  return lines
end

---@param name string
---@param filetype string
---@param lines string[]
---@return integer buf
local function scratch(name, filetype, lines)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.api.nvim_buf_set_name(buf, ("clover://%d/%s"):format(buf, name))
  vim.bo[buf].filetype = filetype
  vim.bo[buf].bufhidden = "wipe"
  vim.bo[buf].modified = false
  return buf
end

--- Writing the proposal applies what stands in it, as one undo step, and ends the review.
---@param source integer
---@param tick integer of the source, when it was read
---@param proposal integer
---@param tab integer
local function apply_on_write(source, tick, proposal, tab)
  vim.bo[proposal].buftype = "acwrite"
  vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = proposal,
    callback = function()
      if vim.api.nvim_buf_get_changedtick(source) ~= tick then
        vim.notify("Clover Write: the document has changed meanwhile, ask again", 3)
        return
      end
      local lines = vim.api.nvim_buf_get_lines(proposal, 0, -1, false)
      vim.bo[proposal].modified = false
      vim.cmd.tabclose(vim.api.nvim_tabpage_get_number(tab))
      edits.replace(source, lines)
    end,
  })
end

--- A tab with the document, the proposal beside it and the report below.
---@param source integer
---@param tick integer
---@param preview clover_write.Preview
local function review(source, tick, preview)
  local filetype = vim.bo[source].filetype
  local proposal = scratch(preview.template, filetype, lines_of(preview.output))
  local report = scratch("report.md", "markdown", lines_of(preview.report))
  vim.cmd.tabnew()
  local placeholder = vim.api.nvim_get_current_buf()
  local tab = vim.api.nvim_get_current_tabpage()
  vim.api.nvim_win_set_buf(0, source)
  vim.api.nvim_buf_delete(placeholder, {})
  vim.cmd.diffthis()
  local beside = vim.api.nvim_open_win(proposal, true, { split = "right" })
  vim.cmd.diffthis()
  vim.api.nvim_open_win(report, false, { split = "below", win = -1, height = 8 })
  vim.api.nvim_set_current_win(beside)
  vim.wo[beside].winbar = ":w applies this, :tabclose leaves all as it is"
  apply_on_write(source, tick, proposal, tab)
end

--- Proposes the document in a template's shape.
---@param buf integer
---@param template string
function M.propose(buf, template)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  server.execute("previewRestructure", buf, { template }, function(preview)
    if #preview.breaches > 0 then
      local why = table.concat(preview.breaches, "; ")
      vim.notify("Clover Write: nothing was changed: " .. why, vim.log.levels.ERROR)
    elseif vim.api.nvim_buf_get_changedtick(buf) ~= tick then
      vim.notify("Clover Write: the document has changed meanwhile, ask again", 3)
    else
      review(buf, tick, preview)
    end
  end)
end

--- The templates, those that fit the document best first.
---@param buf integer
---@param on_templates fun(templates: clover_write.Template[])
function M.templates(buf, on_templates)
  server.execute("templates", buf, {}, on_templates)
end

--- Has the user choose a template, then proposes.
---@param buf integer
function M.choose(buf)
  M.templates(buf, function(templates)
    vim.ui.select(templates, {
      prompt = "Restructure to",
      format_item = function(template)
        return ("%s: %s"):format(template.name, template.title)
      end,
    }, function(template)
      if template then
        M.propose(buf, template.name)
      end
    end)
  end)
end

return M
