-- An accepted diff stays on the screen for a moment, for the next one of the same turn to take its place: a turn of several
-- edits changes one screen instead of building five. One stays at a time.
local M = {}

---How long it stays. Any key ends it, and so does the client's word that the turn is over, which comes 60 to 100 ms after the
---last answer.
---Measured with the CLI 2.1.329: from an answer to the next openDiff 100 to 270 ms, on a busy machine up to 900.
local LINGER_MS = 600

---The same while the next one is on its way, however slow the disk is.
local LINGER_FOR_NEXT_MS = 3000

---@type { entry: claude-ide.diff.Entry, timer: uv.uv_timer_t, clear: fun(entry: claude-ide.diff.Entry) }?
local lingering

---The one that stays.
---@return claude-ide.diff.Entry?
function M.entry()
  return lingering and lingering.entry
end

---Its time is over.
function M.finish()
  local ended = lingering
  if ended then
    lingering = nil
    ended.timer:stop()
    ended.timer:close()
    ended.clear(ended.entry)
  end
end

---Another one is being made.
function M.await_next()
  if lingering then
    lingering.timer:start(LINGER_FOR_NEXT_MS, 0, vim.schedule_wrap(M.finish))
  end
end

---Leaves the names of its buffers to the next one, which may be of the same file.
---@param entry claude-ide.diff.Entry
local function give_up_names(entry)
  -- Not in the middle of the write that has accepted it.
  vim.schedule(function()
    local quietly, bufs = require("claude-ide.ui.quietly"), entry.text.bufs
    if M.entry() == entry and not quietly.windows_are_locked() then
      quietly.run(function()
        for side, words in pairs({ proposal = "accepted", now = "before" }) do
          if vim.api.nvim_buf_is_valid(bufs[side]) then
            require("claude-ide.ui.ours").rename(bufs[side], words)
          end
        end
        return true
      end)
    end
  end)
end

---@param entry claude-ide.diff.Entry on the screen
---@param clear fun(entry: claude-ide.diff.Entry) takes it off
function M.start(entry, clear)
  M.finish()
  local winbar = require("claude-ide.diff.winbar").of_decided(entry.diff)
  require("claude-ide.diff.view").set_winbar(entry.view --[[@as claude-ide.diff.View]], winbar)
  vim.bo[entry.text.bufs.proposal].modifiable = false
  lingering = { entry = entry, timer = assert(vim.uv.new_timer()), clear = clear }
  lingering.timer:start(LINGER_MS, 0, vim.schedule_wrap(M.finish))
  give_up_names(entry)
  -- The next key is for the screen that comes after this one, but for one that decides: that is one too many.
  require("claude-ide.ui.typing").before_next(function(typed)
    if M.entry() ~= entry then
      return false
    elseif typed and require("claude-ide.diff.events").is_deciding(typed) then
      return true
    end
    M.finish()
    return false
  end)
end

return M
