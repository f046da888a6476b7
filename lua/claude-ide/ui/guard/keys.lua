-- What the user types: when a key was last pressed, whether the present code runs because of one. Listens from the first client,
-- chat or proposal on.
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.ui.guard.keys")

local is_listening = false
local last_at ---@type number? `vim.uv.now()` of the last key that was pressed
local pressed = 0 ---@type integer how many keys
local last_key = "" ---@type string
local last_typed = "" ---@type string the keys that were pressed for it
local last_win ---@type integer? the window it was pressed in
local in_key = false
local clearing = false

---What is to happen before Neovim acts on the next key.
---@type claude-ide.ui.guard.BeforeKey[]
local before_next = {}
local chosen = false

---What Neovim makes of a key that is mapped to a function.
local CALLS_LUA = "\128\253g"

---@alias claude-ide.ui.guard.BeforeKey fun(typed?: string): boolean? true: not this key, the one after it

---Terminals with text that was typed and not yet sent off, by buffer. "left": the user may have turned away from it.
---@type table<integer, "typing"|"left">
local drafts = {}

local SENDS = { ["\r"] = true, ["\3"] = true }
local LEAVES = { ["\21"] = true, ["\27"] = true }

---Keys that fetch what was typed before.
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
    drafts[buf] = "left" -- answers a question of the CLI, or begins a line, which goes on then
  elseif key:byte() ~= 0x80 and key:byte() >= 0x20 then
    drafts[buf] = "typing"
  end
end

-- What a key set off is over when the event loop comes round to this. Inside a `vim.wait()` it is not over: then there is
-- Lua below this function on the stack.
local function clear()
  if debug.getinfo(2, "S") then
    -- Not by vim.defer_fn(), which would itself be below this function.
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
      require("claude-ide.log").error("before a key: %s", again)
    elseif again then
      before_next[#before_next + 1] = callback
    end
  end
  chosen = false
end

---@param key string what mappings made of it
---@param typed? string the keys as they were pressed
local function note(key, typed)
  last_key, last_win = key, vim.api.nvim_get_current_win()
  if typed ~= "" then -- else of `:normal`, ours among them
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
  -- In the middle of a command the windows cannot change; what waits has a timer or the event loop as well.
  if before_next[1] and vim.api.nvim_get_mode().mode == "n" and vim.fn.getcmdwintype() == "" then
    act_before(key, typed)
  end
end

---Notes keys from now on.
function M.listen()
  if not is_listening then
    is_listening = true
    vim.on_key(note, namespace)
  end
end

---Keys that run Lua: a mapping to a function, a `<Cmd>` mapping, the end of a command line.
local RUNS_LUA = { ["\128\253g"] = true, ["\128\253h"] = true, ["\r"] = true, ["\n"] = true }

---Whether the outermost Lua function that runs now is somebody else's: a mapping, a timer, a scheduled function.
---@param own string what the source of the outermost function ends in where nobody else's runs
---@return boolean
local function is_within_other_lua(own)
  local outermost, level = "", 2
  local info = debug.getinfo(level, "S")
  while info do
    if info.what ~= "C" then
      outermost = info.source
    end
    level = level + 1
    info = debug.getinfo(level, "S")
  end
  return outermost:sub(-#own) ~= own
end

---Whether a key of the user set off the code that runs now, with no return to the event loop between.
---@param own string what the source of the calling file's name ends in
---@return boolean
function M.caused_this(own)
  -- A function of a timer may be in the queue before the key came; the key then did not call it unless it calls Lua.
  return in_key and (RUNS_LUA[last_key] or not is_within_other_lua(own))
end

---Whether what the last key set off still runs.
---@return boolean
function M.is_within_key()
  return in_key
end

---The window that the last key was pressed in.
---@return integer?
function M.window()
  return last_win
end

---How many keys were pressed.
---@return integer
function M.count()
  return pressed
end

---Milliseconds since the last key; a large number where none was seen.
---@return number
function M.quiet_for()
  return last_at and vim.uv.now() - last_at or math.huge
end

---Whether the user is in the middle of a line in a terminal.
---@param buf integer
---@return boolean
function M.has_draft(buf)
  return drafts[buf] == "typing"
end

---Whether a terminal may hold text that the user has not sent, as far as their keys tell.
---@param buf integer
---@return boolean
function M.has_unsent(buf)
  return drafts[buf] ~= nil
end

---Text got into a terminal that was not typed: a paste.
---@param buf integer
function M.note_paste(buf)
  if is_listening then
    drafts[buf] = "typing"
  end
end

---Whether Neovim has chosen the function that a key is mapped to, and has not called it: no such mapping may go now, nor the
---buffer that it belongs to.
---@return boolean
function M.is_function_chosen()
  return chosen
end

---Presses the last keys once more: they were meant for the screen as it is now.
function M.pass_on()
  local count = vim.v.count > 0 and tostring(vim.v.count) or ""
  vim.api.nvim_feedkeys(count .. last_typed, "mit", false)
end

---Calls `callback` at the next key in normal mode, before Neovim acts on it: the key is for the screen as it is then.
---@param callback claude-ide.ui.guard.BeforeKey
function M.before_next(callback)
  before_next[#before_next + 1] = callback
end

---Calls `callback` once, when the code that runs now is done: in the next turn of the event loop, or before the next key
---if that is already there.
---@param callback fun()
---@param only_pressed? boolean keys of `:normal` may be part of that code: only one that was pressed comes after it
function M.soon(callback, only_pressed)
  local done = false
  ---@param typed? string
  ---@return boolean? again
  local function once(typed)
    if only_pressed and typed == "" then
      return true
    elseif not done then
      done = true
      callback()
    end
  end
  M.before_next(once)
  vim.schedule(once)
end

return M
