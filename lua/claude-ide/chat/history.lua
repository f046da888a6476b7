-- Prompt history and unsent drafts, by project, on disk.
local M = {}

---Limit per project.
local MOST = 200
---Modes: 0700, 0600.
local OWN_FOLDER = 448
---Longer prompts are not kept.
local MAX_BYTES = 64 * 1024
---Separates the drafts of two prompts.
local GAP = "\n\n"

---@class claude-ide.chat.history.File
---@field prompts string[] latest last
---@field draft? string

local function path_of(cwd)
  return ("%s/claude-ide/chat/%s.json"):format(vim.fn.stdpath("state"), vim.fn.sha256(cwd):sub(1, 16))
end

---@param cwd string
---@return claude-ide.chat.history.File
local function read(cwd)
  local file = io.open(path_of(cwd), "rb")
  local ok, found = pcall(vim.json.decode, file and file:read("*a") or "")
  if file then
    file:close()
  end
  found = ok and type(found) == "table" and found or {}
  return {
    prompts = type(found.prompts) == "table" and found.prompts or {},
    draft = type(found.draft) == "string" and found.draft or nil,
  }
end

---@param cwd string
---@param kept claude-ide.chat.history.File
local function write(cwd, kept)
  local path = path_of(cwd)
  vim.fn.mkdir(vim.fs.dirname(path), "p", OWN_FOLDER --[[@as any]])
  local ok, text = pcall(vim.json.encode, kept)
  if not ok or not require("claude-ide.file").replace(path, text) then
    require("claude-ide.log").warn("prompts cannot be kept in %s", path)
  end
end

---@param cwd string
---@return string[] latest last
function M.list(cwd)
  return read(cwd).prompts
end

---@param cwd string
---@param text string
function M.add(cwd, text)
  if #text > MAX_BYTES then
    return
  end
  local kept = read(cwd)
  kept.prompts = vim.tbl_filter(function(before)
    return before ~= text
  end, kept.prompts)
  table.insert(kept.prompts, text)
  while #kept.prompts > MOST do
    table.remove(kept.prompts, 1)
  end
  write(cwd, kept)
end

---A project's drafts are one text.
---@param draft? string
---@param text string one prompt's
---@return string? draft without it
local function without(draft, text)
  if not draft or draft == text then
    return nil
  end
  local all = GAP .. draft .. GAP
  local first, last = all:find(GAP .. text .. GAP, 1, true)
  if not first or not last then
    return draft
  end
  return (all:sub(1, first - 1) .. all:sub(last - #GAP + 1)):sub(#GAP + 1, -#GAP - 1)
end

---@param cwd string
---@param text string
---@param before? string its previous draft, which this replaces
function M.keep_draft(cwd, text, before)
  local kept = read(cwd)
  for _, old in ipairs({ text, before }) do
    kept.draft = without(kept.draft, old)
  end
  kept.draft = kept.draft and kept.draft .. GAP .. text or text
  write(cwd, kept)
end

---Removes the draft of a prompt that was sent.
---@param cwd string
---@param text string
function M.forget_draft(cwd, text)
  local kept = read(cwd)
  local rest = without(kept.draft, text)
  if kept.draft ~= rest then
    kept.draft = rest
    write(cwd, kept)
  end
end

---The kept draft.
---@param cwd string
---@param there string[] texts in open prompts, which are no part of it
---@return string?
function M.draft(cwd, there)
  local draft = read(cwd).draft
  for _, text in ipairs(there) do
    draft = without(draft, text)
  end
  return draft
end

---Takes the kept draft, which the user then has again.
---@param cwd string
---@param there string[] texts in open prompts: they stay kept
---@return string?
function M.take_draft(cwd, there)
  local draft = M.draft(cwd, there)
  if draft then
    M.forget_draft(cwd, draft)
  end
  return draft
end

return M
