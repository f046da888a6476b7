-- What the person does to the windows and buffers of a diff, as autocommands and keys, and what each of it means.
local M = {}

---A diff on the screen, and what its events mean.
---@class claude-ide.diff.Listener
---@field diff claude-ide.Diff
---@field bufs table<claude-ide.ui.Side, integer>
---@field lines string[] the proposal as it came
---@field wins table<claude-ide.ui.Side, integer>
---@field write fun() the person writes the proposal
---@field gone fun() a window or a buffer of the diff is gone

local told_of_autosave = false

---`:write name`: just a copy.
---@param name string
local function write_copy(name)
  local first, last = vim.fn.line("'["), vim.fn.line("']")
  local bang = vim.v.cmdbang == 1 and "!" or ""
  vim.cmd(("noautocmd %d,%dwrite%s %s"):format(first, last, bang, vim.fn.fnameescape(name)))
end

---@param listener claude-ide.diff.Listener
---@param name string what is to be written
local function on_write(listener, name)
  local buf = listener.bufs.proposal
  if name ~= vim.api.nvim_buf_get_name(buf) then
    return write_copy(name)
  end
  local asked, reason, automatic = require("claude-ide.diff.write_intent").of_person(buf)
  if not asked then
    require("claude-ide.log").debug("a write of diff %d was ignored: %s", listener.diff.id, reason)
    if automatic and not told_of_autosave then
      told_of_autosave = true
      vim.schedule(function()
        require("claude-ide.ui.notice").info("Something saved the proposal by itself. That does not accept it.")
      end)
    end
    return
  end
  if not require("claude-ide.config").get().diff.accept_on_write then
    require("claude-ide.ui.notice").info("Writing does not accept here. `:Claude accept` does.")
    return
  end
  -- 'modified' stays on, so that `:wq` does not close a window of its own: the diff takes itself down as a whole.
  listener.write()
end

---@param group integer
---@param listener claude-ide.diff.Listener
function M.attach(group, listener)
  local bufs = listener.bufs

  ---@param events vim.api.keyset.events
  ---@param opts table
  local function on(events, opts)
    opts.group = group
    opts.desc = "Claude Code: a proposed edit"
    vim.api.nvim_create_autocmd(events, opts)
  end

  on("BufWriteCmd", {
    buffer = bufs.proposal,
    callback = function(event)
      on_write(listener, event.match)
    end,
  })
  on("BufReadCmd", {
    buffer = bufs.proposal,
    callback = function()
      require("claude-ide.diff.buffers").refill(bufs.proposal, listener.lines)
    end,
  })
  -- Undoing the last edit takes the flag away, and with it `:x` and `:update` would do nothing.
  on("BufModifiedSet", {
    buffer = bufs.proposal,
    callback = function()
      if listener.diff.state == "pending" then
        vim.bo[bufs.proposal].modified = true
      end
    end,
  })
  on("WinClosed", {
    callback = function(event)
      if vim.tbl_contains(vim.tbl_values(listener.wins), tonumber(event.match)) then
        listener.gone()
      end
    end,
  })
  for _, buf in pairs(bufs) do
    on("BufWipeout", { buffer = buf, callback = listener.gone })
    on("BufUnload", {
      buffer = buf,
      callback = function()
        -- `:edit!` unloads too, and loads again at once.
        vim.schedule(function()
          if not vim.api.nvim_buf_is_loaded(buf) then
            listener.gone()
          end
        end)
      end,
    })
  end
  on("LspAttach", {
    callback = function(event)
      if vim.tbl_contains(vim.tbl_values(bufs), event.buf) then
        vim.schedule(function()
          pcall(vim.lsp.buf_detach_client, event.buf, event.data.client_id)
        end)
      end
    end,
  })
end

local DESCRIPTIONS = {
  accept = "accept the proposed edit",
  reject = "reject the proposed edit",
  reject_with_reason = "reject the proposed edit and tell Claude why",
  hunk = "drop this change, or take it after all",
  layout = "show the proposed edit in another layout",
}

---@param bufs table<claude-ide.ui.Side, integer>
---@param verbs table<"accept"|"reject"|"reject_with_reason"|"hunk"|"layout", fun()>
function M.map_keys(bufs, verbs)
  local keymaps = require("claude-ide.config").get().diff.keymaps
  for verb, run in pairs(verbs) do
    local keys = keymaps[verb] or {}
    for _, lhs in ipairs(type(keys) == "table" and keys or { keys }) do
      for _, buf in pairs(bufs) do
        vim.keymap.set("n", lhs, run, {
          buffer = buf,
          nowait = true,
          silent = true,
          desc = "Claude Code: " .. DESCRIPTIONS[verb],
        })
      end
    end
  end
end

return M
