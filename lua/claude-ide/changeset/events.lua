-- What the user does to the windows and buffers of a changeset, as autocommands, and what each of it means.
local M = {}

---A window of it was closed: without the present text it goes on, without the proposal or the list it is rejected.
---@param view claude-ide.changeset.View
---@param win integer
---@param verbs claude-ide.changeset.WindowVerbs
local function lost(view, win, verbs)
  local is_ours = vim.tbl_contains(vim.tbl_values(view.wins), win)
  if not is_ours or view.closing then
    return
  end
  require("claude-ide.ui.quietly").pass_through(win)
  local is_now = win == view.wins.now
  vim.schedule(function()
    require("claude-ide.ui.guard.waits").when_windows_may_change(function()
      if view.closing then
        return
      elseif is_now and vim.api.nvim_win_is_valid(view.wins.proposal) then
        verbs.alone()
      else
        view.gone()
      end
    end)
  end)
end

---@class claude-ide.changeset.WindowVerbs
---@field alone fun() the window of the present text is gone
---@field resized fun(screen: boolean)
---@field show fun(index: integer)

---@param view claude-ide.changeset.View
---@param verbs claude-ide.changeset.WindowVerbs
function M.attach(view, verbs)
  view.group = vim.api.nvim_create_augroup("claude-ide.changeset." .. view.changeset.id, { clear = true })

  ---@param events vim.api.keyset.events|vim.api.keyset.events[]
  ---@param callback fun(event: { event: string, match: string })
  ---@param buf? integer
  local function on(events, callback, buf)
    vim.api.nvim_create_autocmd(events, {
      group = view.group,
      buffer = buf,
      desc = "Claude Code: a proposed changeset",
      callback = callback,
    })
  end

  on("WinClosed", function(event)
    lost(view, tonumber(event.match) --[[@as integer]], verbs)
  end)
  on({ "VimResized", "WinResized" }, function(event)
    verbs.resized(event.event == "VimResized")
  end)
  on("CursorMoved", function()
    if vim.api.nvim_get_current_win() == view.wins.list then
      verbs.show(vim.api.nvim_win_get_cursor(0)[1])
    end
  end, view.list)
  vim.keymap.set("n", "<CR>", function()
    if vim.api.nvim_win_is_valid(view.wins.proposal) then
      vim.api.nvim_set_current_win(view.wins.proposal)
    end
  end, { buffer = view.list, nowait = true, desc = "Claude Code: go to the file" })
end

---Looks after the buffer of a proposal: it is not a file, and its end is the end of the changeset.
---@param view claude-ide.changeset.View
---@param buf integer
---@param path string
---@param unloads fun() its text goes
function M.guard(view, buf, path, unloads)
  vim.api.nvim_create_autocmd("BufUnload", {
    group = view.group,
    buffer = buf,
    desc = "Claude Code: the text of a proposal goes",
    callback = unloads,
  })
  require("claude-ide.diff.writes").attach(view.group, buf, {
    id = view.changeset.id,
    path = path,
    seen_by = view.list,
    accept = view.verbs.accept,
  })
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = view.group,
    buffer = buf,
    desc = "Claude Code: the buffer of a proposal is gone, so that is rejected",
    callback = function()
      vim.schedule(function()
        if not view.closing then
          view.gone()
        end
      end)
    end,
  })
end

return M
