--- The language server: one process for all buffers, started with the first of them.
local config = require("clover_write.config")
local edits = require("clover_write.edits")
local status = require("clover_write.status")

local M = {}

local NAME = "clover-write"
local MOST_STARTS, WITHIN_MS = 5, 180000
local LEVELS = { vim.log.levels.ERROR, vim.log.levels.WARN, vim.log.levels.INFO }

---@type integer?
local id
---@type integer[] when the process was started lately, in milliseconds
local starts = {}
---@type fun(client: vim.lsp.Client)
M.on_start = function() end

-- Neovim 0.11 made methods of a client's functions
local has_methods = vim.fn.has("nvim-0.11") == 1

---@param client vim.lsp.Client
---@param name string
---@return any ...
local function call(client, name, ...)
  if has_methods then
    return client[name](client, ...)
  end
  return client[name](...)
end

---@return vim.lsp.Client?
function M.client()
  return id and vim.lsp.get_client_by_id(id)
end

---@param buf integer
---@return boolean
local function is_attached(buf)
  return id ~= nil and vim.lsp.buf_is_attached(buf, id)
end

--- Whether the server knows of a buffer, and can be asked.
---@param buf integer
---@return boolean
function M.serves(buf)
  local client = M.client()
  return client ~= nil and client.initialized == true and is_attached(buf)
end

local function capabilities()
  local all = vim.lsp.protocol.make_client_capabilities()
  all.textDocument.inlineCompletion = { dynamicRegistration = false }
  -- columns of buffers are bytes
  all.general.positionEncodings = { "utf-8" }
  -- an edit names the version that it was made for
  all.workspace.workspaceEdit.documentChanges = true
  return all
end

local handlers = {
  ["clover/status"] = function(_, params)
    status.set(params)
  end,
  ["workspace/applyEdit"] = function(_, params)
    return edits.apply(params.edit)
  end,
  ["window/showMessage"] = function(_, params)
    vim.notify(params.message, LEVELS[params.type])
    return vim.NIL
  end,
}

--- What has to be said when the process ended; it is started again unless that happens too often.
---@param code integer
---@param ended integer the client
local function on_exit(code, _, ended)
  if ended ~= id then
    return
  end
  local message = ("the server ended (%d); :CloverRestart starts it"):format(code)
  status.set({ busy = false, kind = "Stopped", message = message })
  id = nil
  if vim.v.exiting ~= vim.NIL then
    return
  end
  local now = vim.uv.now()
  starts = vim.tbl_filter(function(start)
    return now - start < WITHIN_MS
  end, starts)
  if #starts < MOST_STARTS then
    M.attach_all()
  else
    vim.notify("Clover Write: " .. message, vim.log.levels.ERROR)
  end
end

---@param root string
---@return vim.lsp.ClientConfig
local function client_config(root)
  return {
    name = NAME,
    cmd = config.current.cmd,
    cmd_env = config.current.cmd_env,
    root_dir = root,
    capabilities = capabilities(),
    handlers = handlers,
    settings = { cloverWrite = config.current.settings },
    on_init = function(client)
      status.set({ busy = false, kind = "Normal", message = "" })
      M.on_start(client)
    end,
    on_exit = vim.schedule_wrap(on_exit),
  }
end

--- The folder whose templates and ignore files count.
---@param buf integer
---@return string
local function root_of(buf)
  return vim.fs.root(buf, { ".clover", ".git" })
    or vim.fs.dirname(vim.fs.normalize(vim.api.nvim_buf_get_name(buf)))
end

---@param root string
local function add_folder(root)
  local client = assert(M.client())
  local folder = { uri = vim.uri_from_fname(root), name = root }
  for _, known in ipairs(client.workspace_folders) do
    if known.uri == folder.uri then
      return
    end
  end
  table.insert(client.workspace_folders, folder)
  M.notify("workspace/didChangeWorkspaceFolders", { event = { added = { folder }, removed = {} } })
end

--- Whether completions make sense there: files alone, for other buffers share one URI.
---@param buf integer
---@return boolean
local function is_wanted(buf)
  local filetypes = config.current.filetypes
  return vim.api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ""
    and vim.api.nvim_buf_get_name(buf) ~= ""
    and (not filetypes or vim.list_contains(filetypes, vim.bo[buf].filetype))
end

--- Has the server know of a buffer; it is started if it does not run.
---@param buf integer
function M.attach(buf)
  if not is_wanted(buf) or is_attached(buf) then
    return
  end
  local root = root_of(buf)
  if M.client() then
    vim.lsp.buf_attach_client(buf, assert(id))
    add_folder(root)
    return
  end
  local program = config.current.cmd[1]
  if vim.fn.executable(program) == 0 then
    local how = "install Clover Write, or name its program in setup({ cmd = … })"
    vim.notify_once(("Clover Write: there is no %s: %s"):format(program, how), vim.log.levels.WARN)
    status.set({ busy = false, kind = "Stopped", message = ("there is no %s"):format(program) })
    return
  end
  table.insert(starts, vim.uv.now())
  id = vim.lsp.start(client_config(root), {
    bufnr = buf,
    reuse_client = function()
      return false
    end,
  })
end

--- Attaches what is open.
function M.attach_all()
  vim.iter(vim.api.nvim_list_bufs()):each(M.attach)
end

--- Has the server know a buffer anew, by the file type it has now.
---@param buf integer
function M.attach_again(buf)
  if is_attached(buf) then
    vim.lsp.buf_detach_client(buf, assert(id))
  end
  M.attach(buf)
end

function M.restart()
  local client = M.client()
  id, starts = nil, {}
  if client then
    call(client, "stop")
  end
  M.attach_all()
end

---@param method string
---@param params table
function M.notify(method, params)
  call(assert(M.client()), "notify", method, params)
end

---@param method string
---@param params table
---@param on_answer fun(err: lsp.ResponseError?, result: any)
---@param buf integer
---@return fun() cancel
function M.request(method, params, on_answer, buf)
  local client = assert(M.client())
  local sent, request = call(client, "request", method, params, on_answer, buf)
  return function()
    if sent and not call(client, "is_stopped") then
      call(client, "cancel_request", request)
    end
  end
end

--- Runs a command of the server's on the buffer; what prevents it is told to the user.
---@param command string without `clover-write.`
---@param buf integer
---@param arguments any[] behind the buffer's URI
---@param on_result? fun(result: any)
function M.execute(command, buf, arguments, on_result)
  if not M.serves(buf) then
    vim.notify("Clover Write: no server for this buffer; see :checkhealth clover_write", 3)
    return
  end
  local params = {
    command = "clover-write." .. command,
    arguments = { vim.uri_from_bufnr(buf), unpack(arguments) },
  }
  M.request("workspace/executeCommand", params, function(err, result)
    if err then
      vim.notify("Clover Write: " .. err.message, vim.log.levels.ERROR)
    elseif on_result and result ~= nil and result ~= vim.NIL then
      on_result(result)
    end
  end, buf)
end

return M
