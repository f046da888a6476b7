-- Autocommands of a transcript's buffer and windows.

local M = {}

---@param view claude-ide.transcript.View
local function group_of(view)
  return "claude-ide.transcript." .. view.buf
end

---@param view claude-ide.transcript.View
function M.stop(view)
  pcall(vim.api.nvim_del_augroup_by_name, group_of(view))
end

---@param view claude-ide.transcript.View
---@param lay_out fun(view: claude-ide.transcript.View) called after `:edit`
---@param forget fun(view: claude-ide.transcript.View) called when the buffer is wiped out
function M.create(view, lay_out, forget)
  local group = vim.api.nvim_create_augroup(group_of(view), { clear = true })
  local function on(events, desc, callback)
    vim.api.nvim_create_autocmd(events, {
      group = group,
      buffer = view.buf,
      desc = "Claude Code: " .. desc,
      callback = require("claude-ide.safely").wrap(desc, callback),
    })
  end
  on("BufWinEnter", "dress the window of a transcript", function()
    local win = vim.api.nvim_get_current_win()
    require("claude-ide.transcript.buffer").dress(win)
    require("claude-ide.transcript.fold").create_all(view.canvas, win)
    if view.left_at_end then
      require("claude-ide.transcript.viewport").go_to_end(win)
    end
    require("claude-ide.transcript.loader").update(view)
    require("claude-ide.transcript.winbar").refresh(view)
  end)
  on("BufLeave", "remember whether a transcript was left at its end", function()
    view.left_at_end = require("claude-ide.transcript.viewport").is_at_end(vim.api.nvim_get_current_win())
  end)
  on("BufReadCmd", "read a transcript again", function()
    require("claude-ide.ui.own_buffer").renew(view.buf, require("claude-ide.transcript.buffer").OPTS)
    require("claude-ide.transcript.keys").map(view) -- `:bdelete` removed them
    lay_out(view)
  end)
  on("BufWipeout", "close a transcript", function()
    forget(view)
    vim.schedule(function()
      M.stop(view)
    end)
  end)
  on("CursorMoved", "show where in a transcript the cursor is", function()
    require("claude-ide.transcript.match").moved(view)
    require("claude-ide.transcript.search").moved(view)
    require("claude-ide.transcript.loader").update(view)
  end)
  on("TextYankPost", "yank what is no text in a transcript", function()
    require("claude-ide.transcript.offscreen").yanked(view, vim.deepcopy(vim.v.event) --[[@as any]])
  end)
  on({ "BufWriteCmd", "FileWriteCmd", "FileAppendCmd" }, "write a transcript to a file", function(event)
    require("claude-ide.transcript.offscreen").write(view, event.match, event.event == "FileAppendCmd")
  end)
  require("claude-ide.transcript.search").listen(view, group)
  vim.api.nvim_create_autocmd({ "WinScrolled", "WinResized" }, {
    group = group,
    desc = "Claude Code: render rows near the window",
    callback = require("claude-ide.safely").wrap("render what comes near", function()
      if #vim.fn.win_findbuf(view.buf) > 0 then
        require("claude-ide.transcript.loader").update(view)
      end
    end),
  })
  vim.api.nvim_create_autocmd("WinResized", {
    group = group,
    desc = "Claude Code: a window at the end of a transcript stays there",
    callback = function()
      local windows = vim.v.event.windows or {}
      if #vim.fn.win_findbuf(view.buf) > 0 then
        require("claude-ide.transcript.painter").resized(view)
        require("claude-ide.transcript.loader").colour(view)
      end
      local function stay()
        for _, win in ipairs(windows) do
          local is_here = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == view.buf
          if is_here and require("claude-ide.transcript.viewport").is_at_end(win) then
            require("claude-ide.transcript.viewport").go_to_end(win)
          end
        end
      end
      stay()
      -- Again after other handlers of the resize.
      vim.schedule(require("claude-ide.safely").wrap("stay at the end of a transcript", stay))
    end,
  })
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = group,
    desc = "Claude Code: the colours of a transcript",
    callback = function()
      require("claude-ide.transcript.colour").define()
    end,
  })
end

return M
