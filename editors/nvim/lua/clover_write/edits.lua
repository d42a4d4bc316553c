--- Edits of buffers: exact, each one undo step, and none of a text that has changed meanwhile.
local M = {}

--- What changes next is undone by itself, also in insert mode (|undo-break|).
function M.begin_undo_step()
  vim.cmd("let &g:undolevels = &g:undolevels")
end

--- Makes the server's edit; refuses one of an older text than the buffer's.
---@param edit lsp.WorkspaceEdit
---@return lsp.ApplyWorkspaceEditResult
function M.apply(edit)
  for _, change in ipairs(edit.documentChanges or {}) do
    local buf = vim.uri_to_bufnr(change.textDocument.uri)
    local version = change.textDocument.version
    if version ~= vim.NIL and version ~= vim.lsp.util.buf_versions[buf] then
      return { applied = false, failureReason = "the document has changed meanwhile, ask again" }
    end
  end
  M.begin_undo_step()
  vim.lsp.util.apply_workspace_edit(edit, "utf-8")
  return { applied = true }
end

--- Has a buffer hold `lines`, touching those alone that differ: marks elsewhere stay.
---@param buf integer
---@param lines string[]
function M.replace(buf, lines)
  local old = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local function joined(list)
    return table.concat(list, "\n") .. "\n"
  end
  local hunks = vim.diff(joined(old), joined(lines), { result_type = "indices" })
  M.begin_undo_step()
  -- from the end: the lines before a hunk keep their numbers
  for at = #hunks, 1, -1 do
    local start, count, new_start, new_count = unpack(hunks[at])
    -- a hunk without old lines stands behind the line that it names
    local first = count == 0 and start or start - 1
    local new = vim.list_slice(lines, new_start, new_start + new_count - 1)
    vim.api.nvim_buf_set_lines(buf, first, first + count, false, new)
  end
end

return M
