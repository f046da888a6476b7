-- Records typing: when a key was last pressed, and whether the running code was triggered by one. Starts with the first client,
-- chat or proposal.
local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.ui.guard.typing")

local is_listening = false
local last_at ---@type number? `vim.uv.now()` of the last key that was pressed
local pressed = 0 ---@type integer number of keys
local last_key = "" ---@type string
local key_before = "" ---@type string the one before it
local last_typed = "" ---@type string typed keys that led to it
local last_win ---@type integer? the window it was pressed in
local in_key = false
local clearing = false

---Callbacks before the next key.
---@type claude-ide.ui.guard.BeforeKey[]
local before_next = {}
local chosen = false

---Neovim's internal keys for a mapping to a function, and for a `<Cmd>` mapping.
local CALLS_LUA, COMMAND = "\128\253g", "\128\253h"

---Keys that run Lua: a mapping to a function, a `<Cmd>` mapping, the end of a command line.
local RUNS_LUA = { [CALLS_LUA] = true, [COMMAND] = true, ["\r"] = true, ["\n"] = true }
---Whether the last key that the user typed runs Lua.
local runs_lua = false

---@alias claude-ide.ui.guard.BeforeKey fun(typed?: string): boolean? true: call again at the next key

---Terminals with typed text that was not sent, by buffer. "left": the user may have abandoned it.
---@type table<integer, "typing"|"left">
local drafts = {}

local SENDS = { ["\r"] = true, ["\3"] = true }
local LEAVES = { ["\21"] = true, ["\27"] = true }

---Keys that recall history.
local RECALLS =
  { ["\128ku"] = true, ["\128kd"] = true, ["\16"] = true, ["\14"] = true, ["\18"] = true, ["\25"] = true }

local function note_draft(key)
  local buf = vim.api.nvim_get_current_buf()
  if SENDS[key] then
    drafts[buf] = nil
  elseif LEAVES[key] then
    drafts[buf] = drafts[buf] and "left"
  elseif RECALLS[key] then
    drafts[buf] = drafts[buf] or "left"
  elseif key:find("^%d$") and drafts[buf] ~= "typing" then
    drafts[buf] = "left" -- answers a question of the CLI, or begins a line that further keys will mark
  elseif key:byte() ~= 0x80 and key:byte() >= 0x20 then
    drafts[buf] = "typing"
  end
end

-- A key's code has ended when the event loop calls this. Inside a `vim.wait()` it has not: then a Lua function is below this one on
-- the stack.
local function clear()
  if debug.getinfo(2, "S") then
    -- Not vim.defer_fn(): its own function would be below this one.
    local timer = assert(vim.uv.new_timer())
    timer:start(1, 0, function()
      timer:close()
      vim.schedule(clear)
    end)
    return
  end
  clearing, in_key = false, false
end

---@param key string
---@param typed? string
local function act_before(key, typed)
  local callbacks = before_next
  before_next = {}
  chosen = key == CALLS_LUA
  for _, callback in ipairs(callbacks) do
    local ok, again = xpcall(callback, debug.traceback, typed)
    if not ok then
      log.error("before a key: %s", again)
    elseif again then
      before_next[#before_next + 1] = callback
    end
  end
  chosen = false
end

---@param key string after mappings
---@param typed? string before mappings
local function note(key, typed)
  key_before, last_key, last_win = last_key, key, vim.api.nvim_get_current_win()
  -- Lua that a key runs may run others, by `:normal`.
  runs_lua = RUNS_LUA[key] or (typed == "" and in_key and runs_lua) or false
  if typed ~= "" then -- else `:normal`, by this plugin too
    last_at, pressed = vim.uv.now(), pressed + 1
  end
  last_typed = typed or ""
  if key ~= "" and vim.api.nvim_get_mode().mode == "t" then
    note_draft(key)
  end
  in_key = true
  if not clearing then
    clearing = true
    vim.schedule(clear)
  end
  -- During a command the windows cannot change; waiting entries also have a timer or the event loop.
  if before_next[1] and vim.api.nvim_get_mode().mode == "n" and vim.fn.getcmdwintype() == "" then
    act_before(key, typed)
  end
end

---The last move of the focus by a key, and the window that it left.
---@type { at: number, from: integer }?
local entered
local left_win ---@type integer?

local function follow_focus()
  vim.api.nvim_create_autocmd({ "WinLeave", "WinEnter" }, {
    group = vim.api.nvim_create_augroup("claude-ide.ui.guard.typing", { clear = true }),
    desc = "Claude Code: note which window the user has just entered",
    callback = function(event)
      if event.event == "WinLeave" then
        left_win = vim.api.nvim_get_current_win()
      elseif in_key and left_win then
        entered = { at = vim.uv.now(), from = left_win }
      end
    end,
  })
end

---Milliseconds since a key moved the focus to the current window; `math.huge` if none did, or if the window that had the focus is
---closed: then the user may only be back.
---@return number
function M.entered_for()
  local is_move = entered and vim.api.nvim_win_is_valid(entered.from)
  return is_move and entered and vim.uv.now() - entered.at or math.huge
end

---Starts recording.
function M.listen()
  if not is_listening then
    is_listening = true
    vim.on_key(note, namespace)
    follow_focus()
  end
end

---Whether the outermost running Lua function belongs to another file than the caller of `caused_this`: a mapping, a timer, a scheduled
---function.
---@return boolean
local function is_within_other_lua()
  local outermost, level = "", 3
  local info = debug.getinfo(level, "S")
  local own = info and info.source
  while info do
    if info.what ~= "C" then
      outermost = info.source
    end
    level = level + 1
    info = debug.getinfo(level, "S")
  end
  return outermost ~= own
end

---Whether a key triggered the running code, without a return to the event loop.
---@return boolean
function M.caused_this()
  -- A timer's function may have been queued before the key; the key has then triggered it only if the key calls Lua.
  return in_key and (runs_lua or not is_within_other_lua())
end

---The command that the running code carries out, where the user gave it by keys without a command line: `ZZ`, a `<Cmd>` mapping.
---@return string?
function M.command()
  if not in_key then
    return nil
  elseif last_key == "Z" and key_before == "Z" then
    return "xit"
  elseif last_key == COMMAND then
    local rhs = vim.fn.maparg(vim.fn.keytrans(last_typed), vim.api.nvim_get_mode().mode:sub(1, 1))
    return rhs:match("^<[Cc][Mm][Dd]>(.-)<[Cc][Rr]>$")
  end
end

---Whether code triggered by the last key still runs.
---@return boolean
function M.is_within_key()
  return in_key
end

---The window that the last key was pressed in.
---@return integer?
function M.window()
  return last_win
end

---Whether the running code was triggered by a key in this window: the user closes it, for example.
---@param win integer
---@return boolean
function M.is_key_in(win)
  return in_key and last_win == win
end

---@return integer
function M.count()
  return pressed
end

---Milliseconds since the last key; `math.huge` before the first.
---@return number
function M.quiet_for()
  return last_at and vim.uv.now() - last_at or math.huge
end

---Whether a terminal has a half-typed line.
---@param buf integer
---@return boolean
function M.has_draft(buf)
  return drafts[buf] == "typing"
end

---Whether a terminal may hold unsent text, judging by the keys.
---@param buf integer
---@return boolean
function M.has_unsent(buf)
  return drafts[buf] ~= nil
end

---Records a paste into a terminal.
---@param buf integer
function M.note_paste(buf)
  if is_listening then
    drafts[buf] = "typing"
  end
end

---Whether Neovim is about to call a mapped function: no such mapping, nor its buffer, may be deleted now.
---@return boolean
function M.is_function_chosen()
  return chosen
end

---Feeds the last keys again, for the screen as it is now.
function M.pass_on()
  local count = vim.v.count > 0 and tostring(vim.v.count) or ""
  vim.api.nvim_feedkeys(count .. last_typed, "mit", false)
end

---Calls `callback` at the next key in normal mode, before Neovim handles it, so that the key acts on the changed screen.
---@param callback claude-ide.ui.guard.BeforeKey
function M.before_next(callback)
  before_next[#before_next + 1] = callback
end

---Calls `callback` once, after the running code: in the next turn of the event loop, or before a key that is already queued.
---@param callback fun()
---@param only_pressed? boolean ignore keys of `:normal`, which may be part of the running code
function M.soon(callback, only_pressed)
  -- Released once it has run: until the next key the other way would hold what it holds, such as a diff's texts.
  local left ---@type fun()?
  left = callback
  ---@param typed? string
  ---@return boolean? again
  local function once(typed)
    if only_pressed and typed == "" then
      return left ~= nil
    end
    local run = left
    left = nil
    if run then
      run()
    end
  end
  M.before_next(once)
  vim.schedule(once)
end

return M
