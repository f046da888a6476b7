-- Leaving Neovim: what is ours goes off the screen before others look at it, so that no saved session has it.
-- Session plugins save at VimLeavePre. The first BufWinLeave of a Neovim that exits comes before all of those, whoever was
-- loaded first, and only once nothing can keep it from leaving any more. (At ExitPre it may still be refused.)
local M = {}

---A step: what a module does about it, if it is in use.
---@param method string of the module
local function let(name, method)
  return function()
    local module = package.loaded[name]
    if type(module) == "table" then
      module[method]()
    end
  end
end

local close_key_list = let("claude-ide.ui.key_list", "close")
local stop_server = let("claude-ide.server", "stop")
local close_decisions = let("claude-ide.decisions", "close_those")
local take_diffs_down = let("claude-ide.proposal.on_screen", "clear_all")
local take_review_down = let("claude-ide.review", "close")

---Whether a saved session can bring it back: a transcript of a session that the CLI keeps. Of a chat it keeps none before
---something was said, nor of another agent's.
local function can_be_read_again(buf)
  local view = require("claude-ide.transcript.open_views").of_buffer(buf)
  return view ~= nil
    and (view.name ~= nil or not view.source.is_chat)
    and require("claude-ide.ui.ours").conversation(vim.api.nvim_buf_get_name(buf)) ~= nil
end

local function is_ours(buf)
  local kind = require("claude-ide.ui.ours").kind(buf)
  local terminal = package.loaded["claude-ide.terminal"]
  return kind ~= nil and not (kind == "transcript" and can_be_read_again(buf))
    or type(terminal) == "table" and terminal.bufnr() == buf
end

---Windows that are left in any tab page: of terminals, of comparisons.
local function close_windows()
  local window = require("claude-ide.window")
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_is_valid(win) and is_ours(vim.api.nvim_win_get_buf(win)) then
      if window.is_last(win) then
        vim.wo[win][0].winfixbuf = false
        window.vacate(win)
      else
        window.close(win)
      end
    end
  end
end

---What was kept goes with Neovim. It is listed, and would be remembered as a file that was edited.
local function forget_kept()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if require("claude-ide.ui.ours").kind(buf) == "kept" and #vim.fn.win_findbuf(buf) == 0 then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
end

---One thing that fails must not keep the others on the screen.
---@param steps fun()[]
local function run(steps)
  for _, step in ipairs(steps) do
    local ok, err = pcall(step)
    if not ok then
      require("claude-ide.log").warn("not everything of ours went off the screen: %s", tostring(err))
    end
  end
end

---Neovim leaves: nothing can stop it.
function M.now()
  run({ close_key_list, close_decisions, take_diffs_down, take_review_down, close_windows, forget_kept })
end

---Another copy of the plugin takes over: what would go to this one, or hold Neovim back from leaving, goes. The CLI's terminal
---stays.
function M.for_another()
  run({ close_key_list, stop_server, close_decisions, take_diffs_down, take_review_down })
end

---Buffers of ours that a session saved by others brings are dead: they go. Transcripts can be read again.
function M.session_loaded()
  -- Not within the autocommand: there the last window of a tab page cannot be closed.
  vim.schedule(function()
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if vim.api.nvim_buf_is_valid(buf) and require("claude-ide.ui.ours").is_dead(buf) then
        pcall(require("claude-ide.window").delete_buffer, buf)
      end
    end
  end)
end

return M
