-- Finds the strings in withheld files, which language servers may quote in messages about other files.
local M = {}

local MAX_BYTES = 256 * 1024
---Shorter strings occur in every file.
local LEAST_BYTES = 4

---@class claude-ide.privacy.Strings of a version of a file
---@field key string
---@field set table<string, true>

---@type table<string, claude-ide.privacy.Strings>
local known = {}

---@return table<string, true>
local function strings_of(text)
  local set = {}
  for _, literal in text:gmatch("([\"'`])([^\n]-)%1") do
    if #literal >= LEAST_BYTES then
      set[literal] = true
    end
  end
  return set
end

---@param name string of a file or a buffer
---@param key string changes with the text
---@param read fun(): string?
---@return table<string, true>
local function cached(name, key, read)
  if not known[name] or known[name].key ~= key then
    known[name] = { key = key, set = strings_of(read() or "") }
  end
  return known[name].set
end

---@type table<string, true>[], integer?
local last_sets, last_at

---@return table<string, true>[]
local function sets()
  if last_at == vim.uv.now() then
    return last_sets -- for many diagnostics at once
  end
  local all = {}
  for _, file in ipairs(require("claude-ide.privacy").files()) do
    local stat = vim.uv.fs_stat(file.path)
    if stat and stat.type == "file" then
      local key = ("%d %d %d"):format(stat.mtime.sec, stat.mtime.nsec, stat.size)
      all[#all + 1] = cached(file.path, key, function()
        return (require("claude-ide.file").read_now(file.path, MAX_BYTES))
      end)
    end
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and require("claude-ide.buffer").is_private(buf) then
      all[#all + 1] = cached("buffer " .. buf, tostring(vim.api.nvim_buf_get_changedtick(buf)), function()
        return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n"):sub(1, MAX_BYTES)
      end)
    end
  end
  last_sets, last_at = all, vim.uv.now()
  return all
end

---@param set table<string, true>
local function holds(set, segment)
  local start = segment:match("^(.*)…$") or segment:match("^(.*)%.%.%.$") -- servers shorten long strings
  if not start or #start < LEAST_BYTES then
    return set[segment] == true
  end
  for literal in pairs(set) do
    if vim.startswith(literal, start) then
      return true
    end
  end
  return false
end

---Redacts strings of withheld files in a text of a language server.
---@param text string
---@return string
function M.redact(text)
  if not text:find("[\"'`]") then
    return text
  end
  local all = sets()
  if #all == 0 then
    return text
  end
  return (
    text:gsub("[^\"'`]+", function(segment)
      for _, set in ipairs(all) do
        if #segment >= LEAST_BYTES and holds(set, segment) then
          return "(withheld)"
        end
      end
    end)
  )
end

function M.reset()
  known, last_at = {}, nil
end

return M
