-- When the text of a buffer may not change, because what the user has begun would then hit other text.
local M = {}

---@class claude-ide.buffer.hands.Waiting
---@field fn fun()
---@field in_the_way fun(): boolean

---@type table<string, claude-ide.buffer.hands.Waiting>
local waiting = {}

local GROUP = "claude-ide.buffer.hands"

---Whether text that changes now would be under the user's hands: they have typed an operator and not yet what it is for,
---what they type next takes the place of a selection, they type what an operator or a selection is to go to (`d/…`), or the
---command-line window is open.
---@return boolean
function M.are_in_the_way()
  local mode = vim.api.nvim_get_mode().mode
  if mode:find("^no") or mode:find("^[sS\19]") or vim.fn.getcmdwintype() ~= "" then
    return true
  end
  -- Whether a search is for a selection cannot be told from the mode since 0.11.
  return vim.fn.getcmdtype():find("^[/?]") ~= nil or mode:find("^c") ~= nil and vim.fn.state("o") ~= ""
end

local function look()
  for key, entry in pairs(vim.tbl_extend("force", {}, waiting)) do
    if not entry.in_the_way() then
      waiting[key] = nil
      require("claude-ide.safely").wrap("change a text that waited", entry.fn)()
    end
  end
  if not next(waiting) then
    vim.api.nvim_create_augroup(GROUP, { clear = true })
  end
end

---Calls a function as soon as nothing is in the way, in a later turn of the event loop.
---@param key string what is called; the same again takes the place of the first
---@param fn fun()
---@param in_the_way? fun(): boolean default: `are_in_the_way`
function M.when_free(key, fn, in_the_way)
  waiting[key] = { fn = fn, in_the_way = in_the_way or M.are_in_the_way }
  vim.api.nvim_create_autocmd({ "ModeChanged", "CmdwinLeave" }, {
    group = vim.api.nvim_create_augroup(GROUP, { clear = true }),
    desc = "Claude: change texts when nothing is begun",
    callback = function()
      vim.schedule(look)
    end,
  })
  vim.schedule(look)
end

---Whether something waits.
---@return boolean
function M.is_waited_for()
  return next(waiting) ~= nil
end

return M
