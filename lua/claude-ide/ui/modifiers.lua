-- The modifiers of the command that runs, such as `:tab` and `:vertical`: where the window that it opens goes, this one time. As for
-- `:help`, the first window has them, and one that is open already stays where it is.
local lazy = require("claude-ide.lazy")
local option = lazy("claude-ide.base.option")
local window = lazy("claude-ide.base.window")

local M = {}

---@alias claude-ide.ui.Modifiers vim.api.keyset.cmd_mods as the command gets them

local given ---@type claude-ide.ui.Modifiers?

---@param mods claude-ide.ui.Modifiers
---@return boolean
local function is_tab(mods)
  return (mods.tab or -1) >= 0
end

---@param mods claude-ide.ui.Modifiers
---@return boolean
local function is_placed(mods)
  return is_tab(mods) or mods.split ~= "" or mods.vertical or mods.horizontal or false
end

---@param mods? claude-ide.ui.Modifiers
---@return claude-ide.ui.Modifiers? before
function M.set(mods)
  local before = given
  given = mods and (mods.keepalt or is_placed(mods)) and mods or nil
  return before
end

---@param mods? claude-ide.ui.Modifiers
---@param fn fun(...): any
---@param ... any for it
---@return any result
function M.with(mods, fn, ...)
  local before = M.set(mods)
  local ok, result = pcall(fn, ...)
  given = before
  if not ok then
    error(result, 0)
  end
  return result
end

---@return claude-ide.ui.Modifiers?
function M.given()
  return given
end

---A function that runs later, for the same command.
---@param fn fun(...): any
---@param mods? claude-ide.ui.Modifiers default: those of the command that runs
---@return fun(...): any
function M.keep(fn, mods)
  mods = mods or given
  if not mods then
    return fn
  end
  return function(...)
    local win, alternate = vim.api.nvim_get_current_win(), vim.fn.bufnr("#")
    local result = M.with(mods, fn, ...)
    if mods.keepalt and vim.fn.bufexists(alternate) == 1 and vim.api.nvim_get_current_win() == win then
      vim.fn.setreg("#", alternate) -- Neovim itself heeds `:keepalt` only as the command runs
    end
    return result
  end
end

---@return boolean
function M.opens_tab()
  return given ~= nil and is_tab(given)
end

---Whether the command says where its window goes.
---@return boolean
function M.is_given()
  return given ~= nil and is_placed(given)
end

---The modifiers, for one window.
---@return claude-ide.ui.Modifiers? nil: they do not say where it goes
function M.take()
  local mods = M.is_given() and given or nil
  if mods then
    given = nil
  end
  return mods
end

---For one of Neovim's commands that opens a window.
---@param default vim.api.keyset.cmd_mods
---@return vim.api.keyset.cmd_mods
function M.of_command(default)
  local mods = M.take() --[[@as vim.api.keyset.cmd_mods?]]
  return mods
      and { tab = mods.tab, split = mods.split, vertical = mods.vertical, horizontal = mods.horizontal }
    or default
end

---@param mods claude-ide.ui.Modifiers
---@return "left"|"right"|"above"|"below"
function M.direction(mods)
  local is_after = mods.split == "botright" or mods.split == "belowright"
  if mods.split == "" then
    is_after = mods.vertical and vim.o.splitright or not mods.vertical and vim.o.splitbelow
  end
  if mods.vertical then
    return is_after and "right" or "left"
  end
  return is_after and "below" or "above"
end

---How two texts stand that have a tab page of their own, as with `:diffsplit`.
---@return "vertical"|"horizontal"|nil
function M.layout()
  local mods = M.take()
  return mods and (mods.vertical and "vertical" or mods.horizontal and "horizontal") or nil
end

---@param buf integer
---@param mods claude-ide.ui.Modifiers
---@return integer win not entered
local function open_tab(buf, mods)
  local current = vim.api.nvim_get_current_win()
  option.during("switchbuf", "", function() -- else it may go to a window that has the buffer
    vim.cmd({ cmd = "sbuffer", args = { tostring(buf) }, mods = { tab = mods.tab } })
  end)
  local win = vim.api.nvim_get_current_win()
  window.enter(current, true)
  return win
end

---Opens the window of the command where its modifiers say.
---@param buf integer
---@return integer? win not entered; nil: they do not say
function M.open(buf)
  local mods = M.take()
  if not mods then
    return nil
  elseif is_tab(mods) then
    return open_tab(buf, mods)
  end
  local beside = vim.api.nvim_get_current_win()
  if mods.split == "topleft" or mods.split == "botright" then
    beside = -1
  elseif vim.api.nvim_win_get_config(beside).relative ~= "" then
    beside = window.splits(0)[1]
  end
  return vim.api.nvim_open_win(buf, false, { split = M.direction(mods), win = beside })
end

return M
