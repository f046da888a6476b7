-- Replies that hold on: the library answers with them, without asking here, for as long as nothing happens.
-- They are read anew when Neovim goes to wait for a key with nothing pending (SafeState), and taken back at the first thing
-- that happens afterwards: at once where an autocommand tells of it, else when Neovim goes to wait again. Nobody's reply is
-- kept before somebody asked for it, so that who types pays for nothing.
local M = {}

local api = vim.api

local GROUP = "claude-ide.tools.lasting_replies"

---What may change a reply, or begins something that may. All that was typed or scheduled ends with another SafeState.
local ENDS = {
  "SafeState",
  "CmdlineEnter",
  "InsertEnter",
  "ModeChanged",
  "TermEnter",
  "BufAdd",
  "BufDelete",
  "BufEnter",
  "BufFilePost",
  "BufModifiedSet",
  "BufNewFile",
  "BufReadPost",
  "BufUnload",
  "BufWipeout",
  "DirChanged",
  "FileType",
  "OptionSet",
  "TabClosed",
  "TabEnter",
  "TextChanged",
  "WinClosed",
  "WinEnter",
  "WinNew",
}

---Reads the reply to a call, by the call's name.
---@type table<string, fun(): table>
local readers = {}
local asked = 0 ---@type integer the number of the call that was answered last

---@param replies table<string, table>
local function tell(replies)
  require("claude-ide.server").notify("kept", { asked = asked, replies = replies })
end

---Something happened: nothing that was kept holds any more.
local function take_back()
  api.nvim_create_augroup(GROUP, { clear = true })
  tell(vim.empty_dict())
end

local function keep_all()
  local replies = {}
  for name, read in pairs(readers) do
    local ok, reply = pcall(read)
    replies[name] = ok and reply or nil
  end
  local group = api.nvim_create_augroup(GROUP, { clear = true })
  api.nvim_create_autocmd(ENDS, { group = group, callback = take_back })
  tell(replies)
end

---Keeps the reply to a call, once Neovim waits for the person.
---@param name string of the call
---@param read fun(): table reads the reply
---@param number integer the call's `asked`
function M.keep(name, read, number)
  readers[name], asked = read, number
  local group = api.nvim_create_augroup(GROUP, { clear = true })
  api.nvim_create_autocmd("SafeState", { group = group, once = true, callback = keep_all })
end

return M
