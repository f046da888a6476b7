-- Cleans up when Neovim exits, so that no saved session contains the plugin's windows and buffers.
-- Session plugins save at VimLeavePre. The first BufWinLeave of an exiting Neovim is earlier, whatever the order of plugins, and only
-- occurs once the exit cannot be refused (at ExitPre it still can).
local lazy = require("claude-ide.lazy")
local agents = lazy("claude-ide.chat.acp.agents")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local log = lazy("claude-ide.base.log")
local open_views = lazy("claude-ide.transcript.open_views")
local remembered = lazy("claude-ide.terminal.remembered")
local split = lazy("claude-ide.ui.split")
local window = lazy("claude-ide.base.window")

local M = {}

---A step that calls a method of a module, if it is loaded.
---@param method string of the module
local function let(name, method)
  return function()
    local module = package.loaded[name] --[[@as table<string, function>?]]
    local fn = type(module) == "table" and module[method]
    if fn then
      fn()
    end
  end
end

local close_key_list = let("claude-ide.ui.key_list", "close")
local stop_server = let("claude-ide.server", "stop")
local leave_clients = let("claude-ide.tools.claude_client", "leave")
local close_requests = let("claude-ide.requests", "close_those")
local take_diffs_down = let("claude-ide.edits.proposal.on_screen", "clear_all")
local take_review_down = let("claude-ide.edits.review", "close")

---Whether a restored session can reload the buffer: a transcript whose session the CLI has stored. A chat without messages is not
---stored, nor one with another agent.
local function can_be_read_again(buf)
  local view = open_views.of_buffer(buf)
  return view ~= nil
    and (view.name ~= nil or not view.source.is_chat)
    and buffer_marks.conversation(vim.api.nvim_buf_get_name(buf)) ~= nil
end

local function is_ours(buf)
  local kind = buffer_marks.kind(buf)
  local terminal = package.loaded["claude-ide.terminal"]
  return kind ~= nil and not (kind == "transcript" and can_be_read_again(buf))
    or type(terminal) == "table" and terminal.of_buffer(buf) ~= nil
end

---Remaining windows in all tab pages: of terminals, of comparisons.
local function close_windows()
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_is_valid(win) and is_ours(vim.api.nvim_win_get_buf(win)) then
      split.close({ win })
    end
  end
end

---Deletes kept buffers: they are listed, and would be saved as edited files.
local function forget_kept()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if buffer_marks.kind(buf) == "kept" and #vim.fn.win_findbuf(buf) == 0 then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
end

---Runs all steps, even if one fails.
---@param steps fun()[]
local function run(steps)
  for _, step in ipairs(steps) do
    local ok, err = pcall(step)
    if not ok then
      log.warn("not everything of ours went off the screen: %s", tostring(err))
    end
  end
end

---Neovim is exiting, irrevocably.
function M.now()
  if not vim.api.nvim_buf_is_loaded(0) then
    -- Neovim was told to end, as by a terminal that has died, and all texts are freed. A window that got another buffer would read its
    -- file again. If that is unsaved, Neovim would ask about its swap file, without a terminal to answer in.
    return
  end
  run({
    close_key_list,
    leave_clients,
    close_requests,
    take_diffs_down,
    take_review_down,
    close_windows,
    forget_kept,
  })
end

---Another instance of the plugin takes over: closes whatever depends on this one, or would block the exit. The CLI's terminal stays.
function M.for_another()
  run({ close_key_list, stop_server, close_requests, take_diffs_down, take_review_down })
end

---Deletes empty remains of plugin buffers after a session was restored. Transcripts can be reloaded.
function M.session_loaded()
  -- Scheduled: the autocommand cannot close the last window of a tab page.
  vim.schedule(function()
    local requesters = agents.spoken_names()
    vim.list_extend(requesters, { "Claude", "Qwen Code" })
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if vim.api.nvim_buf_is_valid(buf) and buffer_marks.is_dead(buf, requesters) then
        pcall(window.delete_buffer, buf)
      end
    end
    if package.loaded["claude-ide.terminal.remembered"] then
      remembered.offer() -- of the session's folder
    end
  end)
end

return M
