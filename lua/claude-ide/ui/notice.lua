-- What is said to the user: through vim.notify, so that it looks as they configured it. The one door for messages.
-- Invariants: whatever it is, it fits one line, since after more Neovim waits for a key and takes the next one that is
-- typed. And it can be read: what Neovim would draw the mode or a command over is said when that ends.
local M = {}

---@alias claude-ide.Notice string|string[] one text, or several that say the same, the fullest first

local TITLE = "Claude"

---What waits until nothing is drawn over it.
---@type { text: string, level: integer }[]
local hidden = {}

---Whether Neovim will enter a mode as soon as it waits for a key: `:startinsert` does nothing sooner.
local is_mode_coming = false

---Whether nobody has put another vim.notify in the place of Neovim's.
local function is_stock()
  local source = debug.getinfo(vim.notify, "S").source
  return source:find("^@vim/") ~= nil or source:find("^=?%?$") ~= nil -- 0.12 does not say where it is from
end

---Whether Neovim would draw the mode, or the command that is typed, over a message at once.
local function is_drawn_over()
  if is_mode_coming then
    return is_stock()
  end
  local mode = vim.api.nvim_get_mode().mode
  if mode:find("^c") then
    return is_stock()
  end
  local is_shown = mode:find("^[iR]") ~= nil
    or mode:find("^ni") ~= nil
    or (mode == "t" and vim.fn.has("nvim-0.12") == 1)
  return is_shown and vim.o.showmode and vim.o.cmdheight == 1 and is_stock()
end

local function say(text, level)
  if level == vim.log.levels.ERROR and is_stock() then
    -- Neovim's own would be an error of the code that runs: it stands still for a second where the mode is shown, and a
    -- second one asks for a key.
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
    say(notice.text, notice.level)
  end
end

local function say_later(text, level)
  hidden[#hidden + 1] = { text = text, level = level }
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = vim.api.nvim_create_augroup("claude-ide.ui.notice", { clear = true }),
    callback = vim.schedule_wrap(say_hidden),
    desc = "Claude: say what would have been drawn over",
  })
end

---To be called where a mode is begun: it will be drawn over what is said until then, so that is said when it ends.
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
    desc = "Claude Code: a mode has begun",
  })
end

---@param notice claude-ide.Notice
---@param level integer vim.log.levels
local function notify(notice, level)
  if vim.in_fast_event() then
    vim.schedule(function()
      notify(notice, level)
    end)
    return
  end
  local one_line = require("claude-ide.ui.one_line")
  local text = type(notice) == "table" and one_line.fitting(notice) or one_line.brief(notice --[[@as string]])
  if is_drawn_over() then
    say_later(text, level)
  else
    say(text, level)
  end
end

---@param notice claude-ide.Notice
function M.info(notice)
  notify(notice, vim.log.levels.INFO)
end

---@param notice claude-ide.Notice
function M.warn(notice)
  notify(notice, vim.log.levels.WARN)
end

---@param notice claude-ide.Notice
function M.error(notice)
  notify(notice, vim.log.levels.ERROR)
end

---Says, where Neovim itself would, what came of a command of the user's. No notice: notifiers have nothing to show.
---@param message string
---@param group? string highlight group
function M.as_neovim(message, group)
  vim.api.nvim_echo({ { require("claude-ide.ui.one_line").fitting({ message }), group } }, true, {})
end

---Takes away what stands where messages do.
function M.clear()
  vim.api.nvim_echo({}, false, {})
end

return M
