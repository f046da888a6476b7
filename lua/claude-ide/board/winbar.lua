-- Winbar of the board: how many sessions wait, work and rest, which are shown, and the keys.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local limits = lazy("claude-ide.sessions.limits")
local highlights = lazy("claude-ide.ui.highlights")
local winbar = lazy("claude-ide.ui.winbar")
local winbar_text = lazy("claude-ide.ui.winbar_text")

local M = {}

---Pieces are dropped in this order.
local RANKS = {
  help = 1,
  prompt = 2,
  answer = 3,
  ended = 4,
  hidden = 5,
  idle = 6,
  limit = 7,
  where = 8,
  working = 9,
  waiting = 10,
}

---@type table<integer, string> last text by window
local held = {}

---@param view claude-ide.board.View
---@param width integer
---@return string
local function text(view, width)
  local pieces, keymaps = {}, config.get().board.keymaps
  local counts = view.counts
  for _, name in ipairs({ "waiting", "working", "idle", "ended", "hidden" }) do
    local count = counts and counts[name] or 0
    local group = "ClaudeBoard" .. (name == "hidden" and "Fact" or name:gsub("^%l", string.upper))
    if count > 0 then
      pieces[#pieces + 1] = { rank = RANKS[name], texts = { { group, (" %d %s "):format(count, name) } } }
    end
  end
  local where = view.worktree and vim.fs.basename(view.worktree)
    or view.all and "all projects"
    or "this project"
  local said = view.problem or not counts and "reading …" or where
  pieces[#pieces + 1] =
    winbar_text.sentence(RANKS.where, view.problem and "ClaudeDiffWarning" or "ClaudeBoardFact", said)
  local limit = limits.near()
  if limit then
    pieces[#pieces + 1] = winbar_text.sentence(RANKS.limit, "ClaudeDiffWarning", limit)
  end
  if counts and counts.waiting > 0 then
    pieces[#pieces + 1] = winbar_text.hint(RANKS.answer, keymaps.answer, "answer")
  end
  pieces[#pieces + 1] = winbar_text.hint(RANKS.prompt, keymaps.prompt, "prompt")
  pieces[#pieces + 1] = winbar_text.hint(RANKS.help, keymaps.help, "keys")
  return winbar_text.winbar(pieces, width)
end

---@param view claude-ide.board.View
---@param windows integer[]
function M.refresh(view, windows)
  highlights.define_shared()
  local now = {} ---@type table<integer, string>
  for _, win in ipairs(windows) do
    now[win] = text(view, vim.api.nvim_win_get_width(win))
    if held[win] ~= now[win] then
      winbar.hold(win, now[win])
    end
  end
  held = now
end

return M
