-- What the person's hands are doing: when a key was last pressed, whether the present code runs because of one.
-- Only listens while somebody needs it.
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.diff.keys")

---@type table<string, true> who needs the keys
local users = {}
local last_at ---@type number? `vim.uv.now()` of the last key
local in_key = false
local clearing = false
local on_next ---@type fun()?

---Terminals with text that was typed and not yet sent off, by buffer.
---@type table<integer, true>
local drafts = {}

local ENDS_DRAFT = { ["\r"] = true, ["\3"] = true, ["\21"] = true, ["\27"] = true }

---@param key string
local function note_draft(key)
  local buf = vim.api.nvim_get_current_buf()
  if ENDS_DRAFT[key] then
    drafts[buf] = nil
  elseif key:byte() ~= 0x80 and key:byte() >= 0x20 then
    drafts[buf] = true
  end
end

-- What a key set off is over when the event loop comes round to this. Inside a `vim.wait()` it is not over: then there is
-- Lua below this function on the stack.
local function clear()
  if debug.getinfo(2, "S") then
    vim.defer_fn(clear, 1)
    return
  end
  clearing, in_key = false, false
end

---@param key string
local function note(key)
  last_at = vim.uv.now()
  if key ~= "" and vim.api.nvim_get_mode().mode == "t" then
    note_draft(key)
  end
  in_key = true
  if not clearing then
    clearing = true
    vim.schedule(clear)
  end
  if on_next then
    local callback = on_next
    on_next = nil
    callback()
  end
end

---@param user string
function M.attach(user)
  if not next(users) then
    vim.on_key(note, namespace)
  end
  users[user] = true
end

---@param user string
function M.detach(user)
  users[user] = nil
  if not next(users) then
    vim.on_key(nil, namespace)
    last_at, on_next, drafts = nil, nil, {}
  end
end

---Whether a key of the person set off the code that runs now, with no return to the event loop between.
---@return boolean
function M.caused_this()
  return in_key
end

---Milliseconds since the last key; a large number where none was seen.
---@return number
function M.quiet_for()
  return last_at and vim.uv.now() - last_at or math.huge
end

---Whether a terminal holds text that the person has typed and not sent.
---@param buf integer
---@return boolean
function M.has_draft(buf)
  return drafts[buf] == true
end

---Calls `callback` at the next key, before Neovim acts on it. One callback at a time.
---@param callback? fun() nil: none any more
function M.on_next(callback)
  on_next = callback
end

return M
