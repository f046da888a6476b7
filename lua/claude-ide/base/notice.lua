-- Notices: the only module that calls vim.notify.
-- Invariants: a notice fits one line, since a longer one makes Neovim wait for a key. One that Neovim would draw the mode or the
-- command line over is shown later, when that ends.
local lazy = require("claude-ide.lazy")
local one_line = lazy("claude-ide.base.one_line")

local M = {}

---@alias claude-ide.Notice string|string[] one text, or alternatives, the longest first

---Makes a notice when it can be shown, since what it says may change until then; nil: none any more.
---@alias claude-ide.LateNotice fun(): claude-ide.Notice?

local TITLE = "Claude"

---Notices to show later.
---@type { text: string|claude-ide.LateNotice, name: "info"|"warn"|"error" }[]
local hidden = {}

---Whether a mode is about to begin: `:startinsert` only takes effect when Neovim waits for a key.
local is_mode_coming = false

---Whether `vim.notify` is Neovim's own.
local function is_stock()
  local source = assert(debug.getinfo(vim.notify, "S")).source
  return source:find("^@vim/") ~= nil or source:find("^=?%?$") ~= nil -- Neovim 0.12 omits the source
end

---Whether Neovim would draw the mode or the command line over a message.
local function is_drawn_over()
  if is_mode_coming then
    return is_stock()
  end
  local mode = vim.api.nvim_get_mode().mode
  if mode:find("^c") then
    return is_stock()
  end
  local is_shown = mode:find("^[iRt]") ~= nil or mode:find("^ni") ~= nil -- before Neovim 0.12, a terminal's next key does it
  return is_shown and vim.o.showmode and vim.o.cmdheight == 1 and is_stock()
end

---Draws what is to be drawn: with 'cmdheight' 0 Neovim would draw the status line over a message.
local function finish_drawing()
  if vim.o.cmdheight == 0 and is_stock() and not vim.api.nvim_get_mode().mode:find("^r") then
    vim.cmd.redraw()
  end
end

---@param notice claude-ide.Notice
---@param name "info"|"warn"|"error"
---@return string
local function text_of(notice, name)
  return type(notice) == "table" and one_line.fitting(notice) or one_line.brief(notice --[[@as string]], name)
end

---@param text string|claude-ide.LateNotice
---@param name "info"|"warn"|"error"
local function say(text, name)
  local level = vim.log.levels[name:upper()]
  if type(text) == "function" then
    local made = text()
    if not made then
      return
    end
    text = text_of(made, name)
  end
  finish_drawing()
  if level == vim.log.levels.ERROR and is_stock() then
    -- Neovim's own vim.notify raises an error here: it blocks for a second where the mode is shown, and a second one asks for a
    -- key.
    vim.api.nvim_echo({ { text, "ErrorMsg" } }, true, {})
  else
    vim.notify(text, level, { title = TITLE })
  end
end

local function say_hidden()
  if is_drawn_over() then
    return
  end
  local waiting = hidden
  hidden = {}
  vim.api.nvim_create_augroup("claude-ide.ui.notice", { clear = true })
  for _, notice in ipairs(waiting) do
    say(notice.text, notice.name)
  end
end

---@param text string|claude-ide.LateNotice
---@param name "info"|"warn"|"error"
local function say_later(text, name)
  hidden[#hidden + 1] = { text = text, name = name }
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = vim.api.nvim_create_augroup("claude-ide.ui.notice", { clear = true }),
    callback = vim.schedule_wrap(say_hidden),
    desc = "Claude Code: show notices that were delayed by a mode",
  })
end

---Call before entering a mode, which would be drawn over notices: they are delayed until it ends.
function M.mode_comes()
  is_mode_coming = true
  local function has_begun()
    return vim.api.nvim_get_mode().mode:find("^[iRt]") ~= nil
  end
  vim.api.nvim_create_autocmd({ "ModeChanged", "SafeState" }, {
    callback = function(event)
      if event.event == "ModeChanged" and not has_begun() then
        return false
      end
      vim.defer_fn(function()
        is_mode_coming = false
        if not has_begun() then
          say_hidden()
        end
      end, 0)
      return true
    end,
    desc = "Claude Code: note that a mode has begun",
  })
end

---@param notice claude-ide.Notice|claude-ide.LateNotice
---@param name "info"|"warn"|"error"
local function notify(notice, name)
  if vim.in_fast_event() then
    vim.schedule(function()
      notify(notice, name)
    end)
    return
  end
  local text = type(notice) == "function" and notice or text_of(notice --[[@as claude-ide.Notice]], name)
  if is_drawn_over() then
    say_later(text, name)
  else
    say(text, name)
  end
end

---How the user gets to a subcommand of `:Claude`: by a key of theirs, else by its name.
---@param name string
---@return string
function M.way_to(name)
  local targets = { "<plug>(claude-%s)", "<cmd>claude %s<cr>", ":claude %s<cr>" }
  for _, map in ipairs(vim.api.nvim_get_keymap("n")) do
    local is_its = vim.iter(targets):any(function(target)
      return (map.rhs or ""):lower() == target:format(name)
    end)
    local key = vim.fn.keytrans(map.lhsraw --[[@as string]])
    if is_its and not key:find("^<Plug>") then
      return ("`%s`"):format(key)
    end
  end
  return ("`:Claude %s`"):format(name)
end

---@param notice claude-ide.Notice|claude-ide.LateNotice
function M.info(notice)
  notify(notice, "info")
end

---Says why something was not done.
---@param ok any falsy: it was not
---@param err? claude-ide.Notice
function M.unless_done(ok, err)
  if not ok and err then
    M.info(err)
  end
end

---@param notice claude-ide.Notice
function M.warn(notice)
  notify(notice, "warn")
end

---@param notice claude-ide.Notice
function M.error(notice)
  notify(notice, "error")
end

---Shows progress: each text replaces the one before, if the user's notifier can. Neovim's own keeps no history of them.
---@param id string
---@return fun(text: string)
function M.progress(id)
  local shown ---@type any
  return function(text)
    text = one_line.fitting({ text })
    if not is_stock() then
      shown = vim.notify(text, vim.log.levels.INFO, { title = TITLE, id = id, replace = shown })
    elseif not is_drawn_over() then
      finish_drawing()
      vim.api.nvim_echo({ { text } }, false, {})
    end
  end
end

---Echoes the result of a user's command as Neovim would. Not a notice: notifiers show nothing.
---@param message string
---@param group? string highlight group
function M.as_neovim(message, group)
  vim.api.nvim_echo({ { one_line.fitting({ message }), group } }, true, {})
end

---Clears the message area.
function M.clear()
  vim.api.nvim_echo({}, false, {})
end

return M
