-- One run of the CLI: its provider's handle, and the window to return to.
-- Invariant: after the CLI has exited the session stays dead; a new run is a new session.

local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local phrases = lazy("claude-ide.sessions.phrases")
local process = lazy("claude-ide.base.process")
local sessions_live = lazy("claude-ide.sessions.live")
local window = lazy("claude-ide.base.window")

---@class claude-ide.terminal.Session
---@field id integer
---@field spec claude-ide.terminal.Spec
---@field private provider claude-ide.terminal.Provider
---@field private handle any of the provider; nil after its window was closed
---@field used integer larger than that of terminals that were used before
---@field tab integer tab page where it was used last
---@field private alive boolean the CLI runs
---@field private origin? integer window to return to
local Session = {}
Session.__index = Session

---Number of uses of all terminals.
local uses = 0

---@param id integer
---@param provider claude-ide.terminal.Provider
---@param spec claude-ide.terminal.Spec
---@return claude-ide.terminal.Session? session
---@return string? err
function Session.start(id, provider, spec)
  local self = setmetatable({ id = id, spec = spec, provider = provider, alive = true }, Session)
  self.origin = vim.api.nvim_get_current_win()
  local handle, err = provider.open(spec, function(code, closing)
    self:finish(code, closing)
  end)
  if handle == nil then
    return nil, err or "the provider gave no reason"
  end
  self.handle = handle
  self:follow_the_user()
  self:note_use()
  return self
end

---The user has entered, shown or hidden it.
---@private
function Session:note_use()
  uses = uses + 1
  self.used, self.tab = uses, vim.api.nvim_get_current_tabpage()
  bus.emit("terminal_used")
end

---Records where the user came from when they enter the terminal by their own keys.
---@private
function Session:follow_the_user()
  local buf = self:bufnr()
  if not buf then
    return
  end
  vim.api.nvim_create_autocmd("WinEnter", {
    group = vim.api.nvim_create_augroup("claude-ide.terminal.session", { clear = false }),
    buffer = buf,
    callback = function()
      -- `:tabnew` shows the terminal for a moment in the new tab page.
      if #vim.fn.win_findbuf(buf) == 1 then
        self:note_use()
      else
        vim.schedule(function()
          if vim.api.nvim_get_current_buf() == buf then
            self:note_use()
          end
        end)
      end
      local before = vim.fn.win_getid(vim.fn.winnr("#"))
      if before ~= 0 and vim.api.nvim_win_get_buf(before) ~= buf then
        self.origin = before
      end
    end,
    desc = "Claude Code: remember when the terminal was entered, and from where",
  })
end

---@private
---@param code integer
---@param closing boolean its window is being closed
function Session:finish(code, closing)
  log.info("the CLI of terminal %d ended with code %d", self.id, code)
  if closing and self:is_focused() then
    self:back()
  elseif not closing and code ~= 0 and not self:is_visible() then
    notice.warn(("Claude exited (code %d). `:Claude --continue` resumes the session."):format(code))
  end
  self.alive = false
  if self.spec.mod then
    vim.uv.fs_unlink(self.spec.mod)
  end
  if closing then
    self.handle = nil
  end
end

---@return boolean
function Session:is_alive()
  if not self.alive or self.handle == nil then
    return false
  elseif self.provider.bufnr then
    return self:bufnr() ~= nil -- a user may wipe it out; the exit of the process is reported later
  end
  local pid = self.provider.pid and self.provider.pid(self.handle)
  if pid and not process.runs(pid) then
    self:finish(0, true) -- no program reports the end of a CLI in its window
  end
  return self.alive
end

---@return integer?
function Session:bufnr()
  return self.handle and self.provider.bufnr and self.provider.bufnr(self.handle)
end

---The session that its CLI runs, if sessions are watched.
---@return claude-ide.sessions.Live?
function Session:live()
  if self.spec.job then
    return sessions_live.of_job(self.spec.job)
  end
  local job = self:job()
  return job and sessions_live.below(job)
end

---The process that it started: the CLI's, or one above it.
---@private
---@return integer? pid
function Session:job()
  local buf = self:bufnr()
  return buf and vim.b[buf].terminal_job_pid
    or self.handle and self.provider.pid and self.provider.pid(self.handle)
end

---Whether a process is its CLI.
---@param pid? integer
---@return boolean
function Session:has_process(pid)
  if not pid or not self:is_alive() then
    return false
  elseif self.spec.job then
    local live = self:live()
    return live ~= nil and live.pid == pid
  end
  local job = self:job()
  return job ~= nil and sessions_live.is_below(pid, job)
end

---What the user calls it: the title of its session, else the terminal's.
---@return string
function Session:name()
  local live = self:live()
  return live and live.name and phrases.title(live) or self.spec.title
end

---@return boolean
function Session:is_visible()
  return self.handle ~= nil and self.provider.is_visible(self.handle)
end

---@return boolean
function Session:is_focused()
  local buf = self:bufnr()
  return buf ~= nil and vim.api.nvim_get_current_buf() == buf
end

---Focuses the CLI, and records the previous window.
function Session:focus()
  local origin = not self:is_focused() and vim.api.nvim_get_current_win() or self.origin
  if not self:is_visible() then
    self.provider.show(self.handle)
  end
  self.provider.focus(self.handle)
  self.origin = origin
  self:note_use()
end

---The window of the tab page whose buffer was used last, files first.
---@private
---@return integer? nil: there are only the terminal's
function Session:used_before()
  local best, best_rank
  for _, win in ipairs(window.splits(0)) do
    local buf = vim.api.nvim_win_get_buf(win)
    local rank = vim.fn.getbufinfo(buf)[1].lastused + (vim.bo[buf].buftype == "" and 1e12 or 0)
    if buf ~= self:bufnr() and (not best or rank > best_rank) then
      best, best_rank = win, rank
    end
  end
  return best
end

---Returns to the recorded window, else to Neovim's previous one. That may be closed, such as a float.
function Session:back()
  if self.origin and vim.api.nvim_win_is_valid(self.origin) then
    return window.enter(self.origin)
  end
  vim.cmd.wincmd("p")
  local win = self:is_focused() and self:used_before()
  if win then
    window.enter(win)
  end
end

function Session:hide()
  if not self:is_visible() then
    return
  end
  self:note_use()
  local focused = self:is_focused()
  local tab = vim.api.nvim_get_current_tabpage()
  local origin_is_here = self.origin
    and vim.api.nvim_win_is_valid(self.origin)
    and vim.api.nvim_win_get_tabpage(self.origin) == tab
  if focused and origin_is_here then
    self:back()
  end
  self.provider.hide(self.handle)
  if focused and not origin_is_here then
    self:back()
  end
end

---Terminates the CLI if it runs, and closes its window.
function Session:close()
  if self.handle == nil then
    return
  end
  if self:is_focused() then
    self:back()
  end
  local handle = self.handle
  self.handle, self.alive = nil, false
  self.provider.close(handle)
end

return Session
