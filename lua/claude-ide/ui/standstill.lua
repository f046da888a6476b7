-- Whether Neovim stood still: what came on the screen just before that was seen by nobody, and keys that were pressed meanwhile
-- come after it, however long ago it came.
local M = {}

---Neovim stands still where its event loop does not turn for so long.
M.STILL_MS = 200
---How often that is looked at, while somebody wants to know.
local LOOK_MS = 50

---@alias claude-ide.ui.OnStill fun(stood_ms: number): boolean whether it wants to know still; called in libuv's callbacks

---@type table<string, claude-ide.ui.OnStill> by user
local watchers = {}
local timer ---@type uv.uv_timer_t?
local turned_at = 0 ---@type number milliseconds

---Looks now: before a key is judged that may have waited.
function M.look()
  local now = vim.uv.hrtime() / 1e6
  local stood_ms = now - turned_at
  turned_at = now
  for user, on_turn in pairs(vim.tbl_extend("force", {}, watchers)) do
    if not on_turn(stood_ms > M.STILL_MS and stood_ms or 0) then
      watchers[user] = nil
    end
  end
  if timer and next(watchers) == nil then
    timer:stop() -- who is idle is not woken for nothing
  end
end

---Calls a function again and again, with how long Neovim stood still since the last time, until it wants to know no more.
---@param user string
---@param on_turn claude-ide.ui.OnStill
function M.watch(user, on_turn)
  timer = timer or assert(vim.uv.new_timer())
  if next(watchers) == nil then
    turned_at = vim.uv.hrtime() / 1e6
    timer:start(LOOK_MS, LOOK_MS, M.look)
  end
  watchers[user] = on_turn
end

return M
