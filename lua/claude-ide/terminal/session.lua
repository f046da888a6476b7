-- One run of the CLI: its provider's handle, and the window to return to.
-- Invariant: after the CLI ended the session is dead for good; a new run is a new session.

---@class claude-ide.terminal.Session
---@field id integer
---@field spec claude-ide.terminal.Spec
---@field private provider claude-ide.terminal.Provider
---@field private handle any the provider's; nil once its window was given back
---@field private alive boolean the CLI runs
---@field private origin? integer the window the user came from
local Session = {}
Session.__index = Session

---Those whose CLI runs, also after their terminal is gone.
---@type table<claude-ide.terminal.Session, true?>
local running = {}

---Whether a CLI runs that was started in a certain way.
---@param is_so fun(spec: claude-ide.terminal.Spec): boolean
---@return boolean
function Session.any(is_so)
  for session in pairs(running) do
    if is_so(session.spec) then
      return true
    end
  end
  return false
end

---Starts the CLI and shows it.
---@param id integer
---@param provider claude-ide.terminal.Provider
---@param spec claude-ide.terminal.Spec
---@return claude-ide.terminal.Session? session
---@return string? err
function Session.start(id, provider, spec)
  local self = setmetatable({ id = id, spec = spec, provider = provider, alive = true }, Session)
  self.origin = vim.api.nvim_get_current_win()
  running[self] = true
  local handle, err = provider.open(spec, function(code, closing)
    self:finish(code, closing)
  end)
  if handle == nil then
    running[self] = nil
    return nil, err or "the provider gave no reason"
  end
  self.handle = handle
  self:follow_the_user()
  return self
end

---The user also walks into the terminal by their own keys; what counts then is where they walked in from.
---@private
function Session:follow_the_user()
  local buf = self:bufnr()
  if not buf then
    return
  end
  vim.api.nvim_create_autocmd("WinEnter", {
    group = vim.api.nvim_create_augroup(("claude-ide.terminal.session.%d"):format(self.id), { clear = true }),
    buffer = buf,
    callback = function()
      local before = vim.fn.win_getid(vim.fn.winnr("#"))
      if before ~= 0 and vim.api.nvim_win_get_buf(before) ~= buf then
        self.origin = before
      end
    end,
    desc = "Claude Code: remember where the terminal was entered from",
  })
end

---@private
---@param code integer
---@param closing boolean its window goes away now
function Session:finish(code, closing)
  require("claude-ide.log").info("the CLI of terminal %d ended with code %d", self.id, code)
  if closing and self:is_focused() then
    self:back()
  elseif not closing and code ~= 0 and not self:is_visible() then
    require("claude-ide.ui.notice").warn(
      ("Claude ended (%d). `:Claude --continue` goes on where it was."):format(code)
    )
  end
  self.alive = false
  if closing then
    self.handle = nil
  end
  running[self] = nil
  require("claude-ide.bus").emit("terminal_ended")
end

---@return boolean
function Session:is_alive()
  -- A user may wipe the buffer out; the end of the process is reported a moment later.
  return self.alive and self.handle ~= nil and (self.provider.bufnr == nil or self:bufnr() ~= nil)
end

---@return integer?
function Session:bufnr()
  return self.handle and self.provider.bufnr and self.provider.bufnr(self.handle)
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

---Goes to the CLI, and remembers from where.
function Session:focus()
  local origin = not self:is_focused() and vim.api.nvim_get_current_win() or self.origin
  if not self:is_visible() then
    self.provider.show(self.handle)
  end
  self.provider.focus(self.handle)
  self.origin = origin
end

---Goes back to the window the user came from, wherever it is; else to the one before.
function Session:back()
  if self.origin and vim.api.nvim_win_is_valid(self.origin) then
    vim.api.nvim_set_current_win(self.origin)
  else
    vim.cmd.wincmd("p")
  end
end

function Session:hide()
  if not self:is_visible() then
    return
  end
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

function Session:toggle()
  if self:is_visible() then
    self:hide()
  else
    self:focus()
  end
end

---Ends the CLI, if it still runs, and takes its window away.
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
