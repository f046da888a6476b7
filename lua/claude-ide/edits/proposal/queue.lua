-- Where only one diff fits, the others wait and are shown in turn.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local guard = lazy("claude-ide.ui.guard")
local notice = lazy("claude-ide.base.notice")
local quietly = lazy("claude-ide.ui.quietly")
local state = lazy("claude-ide.edits.proposal.state")
local window = lazy("claude-ide.ui.guard.window")

local M = {}

---The next waiting diff.
---@return claude-ide.proposal.Entry?
function M.next()
  return vim.iter(state.pending_entries()):find(function(entry)
    return entry.waits == true
  end)
end

---@param entry claude-ide.proposal.Entry
---@return string name of its file
local function name_of(entry)
  return state.name_of(entry.diff)
end

---Shows a diff once the user is idle.
---@param entry claude-ide.proposal.Entry
---@param show fun()
function M.when_idle(entry, show)
  guard.when_idle(entry.diff.id, name_of(entry), function(typed)
    typed = typed and window.has_typed_since_decision()
    show()
    if typed and entry.diff.state == "pending" then
      window.proposal_opened_while_typing(state.bufs(entry))
    end
  end, nil, entry.diff.requester.asks_here)
end

---Shows the next diff.
---@param entry claude-ide.proposal.Entry
---@param instead_of? claude-ide.diffview.View closed view that the user was in
function M.show_next(entry, instead_of)
  local function show()
    if entry.waits then
      entry.actions.show({ instead_of = instead_of })
    end
  end
  if instead_of then
    return show()
  end
  M.when_idle(entry, show)
end

---The buffer that belongs in a window: the diff's, else the previous one.
---@param win integer
---@return integer? buf
local function rightful_buffer(win)
  for _, entry in ipairs(state.pending_entries()) do
    for side, of_view in pairs(entry.view and entry.view.wins or {}) do
      if of_view == win then
        return entry.file.text.bufs[side]
      end
    end
  end
  local before = vim.api.nvim_win_call(win, function()
    return vim.fn.bufnr("#")
  end)
  return before > 0 and before or nil
end

---Moves a waiting diff from the window in which Neovim has shown its buffer: Neovim does that with the first modified buffer when it
---refuses to quit.
function M.fix_misplaced_buffers()
  for _, entry in ipairs(state.pending_entries()) do
    local stray = entry.waits and vim.fn.win_findbuf(entry.file.text.bufs.right)[1]
    if stray then
      local buf = rightful_buffer(stray) or vim.api.nvim_create_buf(true, false)
      quietly.run(function()
        local fixed = vim.wo[stray][0].winfixbuf
        vim.wo[stray][0].winfixbuf = false
        vim.api.nvim_win_set_buf(stray, buf)
        vim.wo[stray][0].winfixbuf = fixed
      end)
      entry.actions.show({ asked = true })
    end
  end
end

---Whether a diff would cover what the user looks at, unrequested. Notifies once.
---@param entry claude-ide.proposal.Entry
---@param how claude-ide.proposal.ShowOpts
---@return boolean
function M.is_unwanted(entry, how)
  local wanted = how.asked or how.instead_of or config.get().diff.focus
  if not wanted and not entry.waits then
    notice.info(
      ("`:Claude diffs` shows the change that %s proposes to %s."):format(
        entry.diff.requester.name,
        name_of(entry)
      )
    )
  end
  return not wanted
end

return M
