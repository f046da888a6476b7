-- Formats a buffer with the user's formatter: conform.nvim, else a language server, else 'formatexpr' or 'formatprg'.
local lazy = require("claude-ide.lazy")
local lsp = lazy("claude-ide.base.lsp")
local patch = lazy("claude-ide.editor.buffer.patch")
local timers = lazy("claude-ide.base.timer")

local M = {}

---Timeout of a formatter.
local DEADLINE_MS = 5000

---Timeout of a starting language server.
local ATTACH_MS = 2000

local METHOD = "textDocument/formatting"

---@alias claude-ide.format.Done fun(formatted: boolean, err?: string) false without err: no formatter

---@param done claude-ide.format.Done
---@return boolean taken
local function with_conform(buf, done)
  local ok, conform = pcall(require, "conform")
  if not ok or type(conform.format) ~= "function" then
    return false
  end
  local listed, formatters, uses_lsp = pcall(conform.list_formatters_to_run, buf)
  if listed and #formatters == 0 and not uses_lsp then
    return false
  end
  local _ = conform.format(
    { bufnr = buf, async = true, timeout_ms = DEADLINE_MS, quiet = true, lsp_format = "fallback" },
    function(err)
      done(not err, err and tostring(err) or nil)
    end
  )
  return true
end

---@param done claude-ide.format.Done
---@return boolean taken
local function with_lsp(buf, done)
  local client = lsp.clients(buf, METHOD)[1]
  if not client then
    return false
  end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local params = vim.api.nvim_buf_call(buf, function()
    return vim.lsp.util.make_formatting_params()
  end)
  local sent = lsp.request(client, METHOD, params, function(err, edits)
    if err then
      done(false, client.name .. ": " .. tostring(err.message or err))
    elseif not vim.api.nvim_buf_is_loaded(buf) or vim.api.nvim_buf_get_changedtick(buf) ~= tick then
      done(false, "the text changed while it was being formatted")
    else
      if type(edits) == "table" and #edits > 0 then
        local listed = vim.bo[buf].buflisted
        vim.lsp.util.apply_text_edits(edits, buf, client.offset_encoding)
        vim.bo[buf].buflisted = listed -- 0.10 and 0.11 list buffers that they edit
      end
      done(true)
    end
  end, buf)
  return sent ~= nil
end

---Whether `gq` uses a program or an expression of the user's.
---@param buf integer
local function has_gq(buf)
  local bo = vim.bo[buf]
  if bo.formatexpr:find("vim.lsp.formatexpr", 1, true) then
    -- Neovim sets it for every language server. Unless one formats, `gq` would join lines like prose.
    return #lsp.clients(buf, "textDocument/rangeFormatting") > 0
  end
  return bo.formatexpr ~= "" or bo.formatprg ~= "" or vim.go.formatprg ~= ""
end

---@param done claude-ide.format.Done
---@return boolean taken
local function with_gq(buf, done)
  if not has_gq(buf) then
    return false
  end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    local view = vim.fn.winsaveview()
    vim.cmd("silent keepjumps keepmarks lockmarks normal! gggqG")
    vim.fn.winrestview(view)
    if vim.bo[buf].formatexpr == "" and vim.v.shell_error ~= 0 then
      -- The program's error message has replaced the text.
      if vim.api.nvim_buf_get_changedtick(buf) ~= tick then
        vim.cmd("silent undo")
        vim.fn.winrestview(view)
      end
      error("'formatprg' failed with exit code " .. vim.v.shell_error, 0)
    end
  end)
  done(ok, not ok and tostring(err) or nil)
  return true
end

---Calls back when a starting language server has attached, or at the timeout.
local function when_attached(buf, callback)
  if not lsp.is_starting(buf) then
    return callback()
  end
  local timer = timers.new("format without a language server")
  local autocmd ---@type integer
  local function go_on()
    timer:stop()
    pcall(vim.api.nvim_del_autocmd, autocmd)
    callback()
  end
  autocmd = vim.api.nvim_create_autocmd("LspAttach", {
    buffer = buf,
    desc = "Claude: format once the language server is there",
    callback = vim.schedule_wrap(function()
      if timer:is_active() then
        go_on()
      end
    end),
  })
  timer:start(ATTACH_MS, go_on)
end

---Formats a loaded buffer in one undo step, without writing it.
---@param buf integer
---@param done claude-ide.format.Done on the main loop, once
function M.run(buf, done)
  local timer = timers.new("end the formatting")
  local function once(formatted, err)
    if timer:is_active() then
      timer:stop()
      done(formatted, err)
    end
  end
  timer:start(DEADLINE_MS + ATTACH_MS, function()
    done(false, "the formatter took too long")
  end)
  when_attached(buf, function()
    if not vim.api.nvim_buf_is_loaded(buf) then
      return once(false, "the buffer was closed")
    end
    patch.break_undo(buf)
    if not (with_conform(buf, once) or with_lsp(buf, once) or with_gq(buf, once)) then
      once(false)
    end
  end)
end

return M
