-- Autocommands of a diff: closed windows and buffers, and a language server that attaches.
local lazy = require("claude-ide.lazy")
local guard_waits = lazy("claude-ide.base.waits")
local quietly = lazy("claude-ide.ui.quietly")
local windows = lazy("claude-ide.ui.diffview.windows")
local writes = lazy("claude-ide.edits.proposal.writes")

local M = {}

---Handlers of closed windows and buffers of a diff. It continues as long as a window shows the proposal, alone if the current text was
---closed.
---@param entry claude-ide.proposal.Entry on the screen
---@param restore fun(entry: claude-ide.proposal.Entry) rearranges the remaining windows
---@return fun(win: integer) window_lost
---@return fun(side: claude-ide.diffview.Side) buffer_lost
local function losses(entry, restore)
  local view = entry.view --[[@as claude-ide.diffview.View]]
  local function waits()
    return entry.diff.state == "pending" and entry.view == view
  end
  local function gone()
    if waits() then
      entry.actions.gone()
    end
  end
  local function mend_soon()
    -- After all effects of a command: `:tabclose` closes one side after the other.
    vim.schedule(function()
      guard_waits.when_windows_may_change(function()
        if waits() and windows.window_of_right(view) then
          restore(entry)
        else
          gone()
        end
      end)
    end)
  end
  return function(win)
    if vim.tbl_contains(vim.tbl_values(view.wins), win) then
      windows.note_loss(view)
      quietly.pass_through(win)
      if win ~= view.wins.list and windows.window_of_right(view, win) then
        mend_soon()
      else
        gone()
      end
    end
  end, function(side)
    if side == "left" then
      mend_soon()
    else
      gone()
    end
  end
end

---@param entry claude-ide.proposal.Entry on the screen
---@param file claude-ide.proposal.PreparedFile
---@param restore fun(entry: claude-ide.proposal.Entry) rearranges the remaining windows
function M.attach(entry, file, restore)
  local diff, bufs = entry.diff, file.text.bufs
  local window_lost, buffer_lost = losses(entry, restore)

  ---@param events vim.api.keyset.events
  ---@param opts table
  local function on(events, opts)
    opts.group = entry.group
    opts.desc = "Claude Code: follow a proposal"
    vim.api.nvim_create_autocmd(events, opts)
  end

  -- 'modified' stays on, so that `:wq` does not close the window: the diff closes as a whole.
  -- Undoing the last edit resets 'modified', and then `:x` and `:update` would do nothing.
  on("BufModifiedSet", {
    buffer = bufs.right,
    callback = function()
      if diff.state == "pending" then
        vim.bo[bufs.right].modified = true
      end
    end,
  })
  on("WinClosed", {
    callback = function(event)
      window_lost(tonumber(event.match) --[[@as integer]])
    end,
  })
  for side, buf in pairs(bufs) do
    writes.attach(entry, file, buf)
    local function lost()
      buffer_lost(side)
    end
    on("BufWipeout", { buffer = buf, callback = lost })
    on("BufUnload", {
      buffer = buf,
      callback = function()
        -- `:edit!` unloads and reloads at once.
        vim.schedule(function()
          if not vim.api.nvim_buf_is_loaded(buf) then
            lost()
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

return M
