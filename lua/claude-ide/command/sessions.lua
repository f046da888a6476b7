-- `:Claude sessions` and `:Claude grep`: parses their arguments.

local lazy = require("claude-ide.lazy")
local actions = lazy("claude-ide.terminal.session_actions")
local board = lazy("claude-ide.board")
local catalogue = lazy("claude-ide.sessions.catalogue")
local grep = lazy("claude-ide.board.grep")
local open_prompts = lazy("claude-ide.chat.open_prompts")
local open_views = lazy("claude-ide.transcript.open_views")
local phrases = lazy("claude-ide.sessions.phrases")
local picker = lazy("claude-ide.board.picker")
local transcript = lazy("claude-ide.transcript")
local window = lazy("claude-ide.base.window")

local M = {}

---Timeout of completion while the list of sessions loads.
local COMPLETION_MS = 300

---The transcript in the current buffer.
---@return claude-ide.transcript.View?
local function current_view()
  return vim.bo.filetype == "claude-transcript" and open_views.of_buffer(vim.api.nvim_get_current_buf())
    or nil
end

---Renames the session of the current transcript, or a chosen one.
---@param title? string
local function rename(title)
  local view = current_view()
  local here = view and view.session or board.session_here()
  if here then
    actions.run_by_id("rename", here, title)
  else
    picker.open({ action = "rename", text = title })
  end
end

---Runs an action on a session: the current transcript's, that under the cursor on the board, the one named, or a chosen one.
---@param action claude-ide.sessions.ActionName
local function act(action, words)
  local view = current_view()
  local here = view and view.source.id or board.session_here()
  if #words == 0 and here then
    actions.run_by_id(action, here)
  elseif #words == 0 then
    picker.open({ action = action })
  else
    picker.run_by_name(action, words)
  end
end

---@param words string[]
---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.run(words, at)
  local rest = vim.list_slice(words, 2)
  if words[1] == "rename" then
    -- As typed: a title keeps its blanks and quotes.
    local title = vim.trim(at.rest:gsub("^%s*rename%s*", "", 1))
    rename(title ~= "" and title or nil)
  elseif vim.tbl_contains(actions.NAMES, words[1]) then
    act(words[1] --[[@as claude-ide.sessions.ActionName]], rest)
  elseif words[1] == "all" then
    picker.open({ all = true, words = rest })
  else
    picker.open({ words = words })
  end
  return true
end

---Titles or ids of sessions, for completion.
---@param options claude-ide.sessions.CatalogueOptions
---@param field "id"|"title"
local function known(options, field)
  local names ---@type string[]?
  local cancel = catalogue.load(options, function(items)
    names = vim.tbl_map(function(item)
      return field == "id" and item.summary.id or phrases.title(item.summary)
    end, items or {})
  end)
  vim.wait(COMPLETION_MS, function()
    return names ~= nil
  end, 5)
  if not names then
    cancel()
  end
  return names or {}
end

---@param word string typed part
---@param before string[]
---@return string[]
function M.complete(word, before)
  local names = actions.NAMES
  if #before == 0 then
    return vim.list_extend(vim.list_extend({ "all" }, names), word ~= "" and known({}, "title") or {})
  elseif #before > 1 or before[1] == "rename" or not vim.tbl_contains(names, before[1]) then
    return {}
  end
  -- Ids are completed only if the user types one.
  return word:match("^%x+[%x-]*$") and vim.list_extend(known({}, "id"), known({}, "title"))
    or known({}, "title")
end

---Completes ids of this project's sessions.
---@param _ string
---@param before string[]
---@return string[]
function M.complete_id(_, before)
  return #before == 0 and known({}, "id") or {}
end

---The conversation of the chat that the current window belongs to.
---@return integer? win
local function conversation_here()
  local prompt = open_prompts.of(vim.api.nvim_get_current_buf())
  local view = prompt and open_views.of_source(prompt.chat.source)
  return view and window.here(view.buf)[1]
end

---@param words string[]
---@return boolean? ok
---@return string? err
function M.transcript(words)
  local view, win = current_view(), conversation_here()
  if words[2] then
    return nil, "`:Claude transcript` takes the id of one session, or nothing."
  end
  if words[1] or not win and not (view and view.source.is_chat) then
    transcript.open(words[1] and { id = words[1] } or nil)
  elseif win then
    window.enter(win)
  end
  return true
end

---Flags of `:Claude grep`, as other greps spell them.
---@type table<string, fun(options: claude-ide.sessions.GrepOptions)>
local FLAGS = {
  ["-a"] = function(options)
    options.all = true
  end,
  ["-F"] = function(options)
    options.literal = true
  end,
  ["-i"] = function(options)
    options.case_sensitive = false
  end,
  ["-s"] = function(options)
    options.case_sensitive = true
  end,
}

---@param _ string[]
---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.grep(_, at)
  local options = {} ---@type claude-ide.sessions.GrepOptions
  local rest = vim.trim(at.rest) -- as typed: every character of a pattern counts
  local word, after = rest:match("^(%-%S*)%s*(.*)$")
  while word and after and FLAGS[word] do
    FLAGS[word](options)
    rest = after
    word, after = rest:match("^(%-%S*)%s*(.*)$")
  end
  if word == "--" and after then
    rest = after
  end
  if rest == "" then
    return nil, "`:Claude grep` needs a pattern."
  end
  grep.start(rest, options)
  return true
end

---@param word string
---@return string[]
function M.complete_grep(word)
  local flags = vim.tbl_keys(FLAGS)
  table.sort(flags)
  return vim.startswith(word, "-") and flags or {}
end

return M
