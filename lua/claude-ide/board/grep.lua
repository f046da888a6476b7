-- `:Claude grep`: searches the project's sessions and fills a quickfix list meanwhile.
-- An entry refers to a buffer `claude://grep/…`, which opens the transcript at the hit when entered, so that every quickfix key and
-- command works. At most one search runs.

local lazy = require("claude-ide.lazy")
local catalogue = lazy("claude-ide.sessions.catalogue")
local clock = lazy("claude-ide.base.clock")
local file_window = lazy("claude-ide.ui.file_window")
local grep_text = lazy("claude-ide.sessions.grep_text")
local hit_buffer = lazy("claude-ide.board.hit_buffer")
local interrupt_key = lazy("claude-ide.ui.interrupt_key")
local modifiers = lazy("claude-ide.ui.modifiers")
local notice = lazy("claude-ide.base.notice")
local phrases = lazy("claude-ide.sessions.phrases")
local sessions = lazy("claude-ide.sessions")
local slice = lazy("claude-ide.base.slice")
local window = lazy("claude-ide.base.window")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Maximum hits of a search.
local MAX_HITS = 1000
---Batches later hits: the cost of extending a list grows with its length.
local GATHER_MS = 100

---Width of a session's title: with its age it fits a narrow screen.
local MAX_TITLE = 60

---@class claude-ide.sessions.GrepOptions
---@field all? boolean search the sessions of all projects
---@field literal? boolean the pattern is plain text
---@field case_sensitive? boolean nil: only if the pattern has an upper-case letter

---@class claude-ide.sessions.Search
---@field open_list fun()
---@field pattern string
---@field list integer id of the quickfix list
---@field cancel fun()[]
---@field left integer running searches
---@field hits integer listed
---@field gathered claude-ide.sessions.Hit[] not listed yet
---@field gathering boolean
---@field summaries table<string, claude-ide.sessions.Summary> by session
---@field last_session? string of the last entry
---@field alike table<string, integer> number of identical hits by place
---@field incomplete boolean
---@field failed? string

---@type claude-ide.sessions.Search?
local running

---@type table<claude-ide.sessions.Hit["role"], string>
local ROLES = {
  prompt = "you",
  reply = "Claude",
  thinking = "thinking",
  tool_input = "call",
  tool_result = "result",
  system = "Claude Code",
}

local function set_title(search, state)
  grep_text.change(search.list, {
    title = ("Claude grep %s%s"):format(search.pattern, state),
  })
end

local function has_list(search)
  return vim.fn.getqflist({ id = search.list }).id == search.list
end

local cancelling ---@type integer? buffer in which `<C-c>` cancels the search

---@param on boolean
local function map_cancel(on)
  if cancelling then
    interrupt_key.off(cancelling)
    pcall(vim.keymap.del, "n", "<C-c>", { buffer = cancelling })
    cancelling = nil
  end
  local buf = vim.fn.getqflist({ qfbufnr = 0 }).qfbufnr
  if on and buf and buf > 0 and vim.api.nvim_buf_is_valid(buf) then
    cancelling = buf
    vim.keymap.set("n", "<C-c>", M.cancel, { buffer = buf, desc = "Claude Code: stop the search" })
    interrupt_key.on(buf, function()
      return M.cancel
    end)
  end
end

---The buffer of a hit; identical hits in one line of a file get different ones.
---@return integer buf
local function place_of(search, hit)
  local alike = table.concat({
    hit.file,
    hit.line,
    hit.role,
    hit.start,
    hit.text,
    hit.before[#hit.before] or "",
    hit.after[1] or "",
  }, "\n")
  search.alike[alike] = (search.alike[alike] or 0) + 1
  return hit_buffer.buffer(hit, alike, search.alike[alike])
end

---The line above a session's hits.
---@param session string
---@return string
local function title_of(search, session)
  local summary = search.summaries[session]
  if not summary then
    return "Session " .. session:sub(1, 8)
  end
  local age = phrases.age(clock.now() - summary.updated)
  return ("%s · %s"):format(phrases.fit(phrases.title(summary), MAX_TITLE), age)
end

---@return table[] items of the quickfix list
local function items_of(search, hit)
  local one_line = phrases.plain_line
  local items = {}
  local function context(text)
    text = one_line(text)
    if text ~= "" then
      items[#items + 1] = { text = "    " .. text, valid = 0, user_data = { claude = "context" } }
    end
  end
  if search.last_session ~= hit.session then
    search.last_session = hit.session
    items[#items + 1] = { text = title_of(search, hit.session), valid = 0, user_data = { claude = "title" } }
  end
  vim.iter(hit.before):each(context)
  local role = ROLES[hit.role] or hit.role
  items[#items + 1] = {
    bufnr = place_of(search, hit),
    lnum = 1,
    text = one_line(hit.text),
    valid = 1,
    user_data = {
      claude = "hit",
      role = hit.agent and "agent, " .. role or role,
      match = one_line(hit.text:sub(hit.start + 1, hit["end"])),
    },
  }
  vim.iter(hit.after):each(context)
  return items
end

---Lists hits, as many as fit into a slice: each has a buffer.
---@param search claude-ide.sessions.Search
---@param all? boolean all of them at once
---@return boolean rest more are gathered
local function list_gathered(search, all)
  local hits = search.gathered
  if #hits == 0 or not has_list(search) then
    return false
  end
  local is_over, items, listed = slice.begin(), {}, 0
  repeat
    listed = listed + 1
    vim.list_extend(items, items_of(search, hits[listed]))
  until listed == #hits or is_over() and not all
  search.gathered = vim.list_slice(hits, listed + 1)
  local first = search.hits == 0
  search.hits = search.hits + listed
  grep_text.change(search.list, { items = items })
  if first then
    local current = vim.api.nvim_get_current_win()
    search.open_list()
    if not file_window.may_focus() then
      window.enter(current, true)
    end
    map_cancel(true)
    for at, item in ipairs(items) do
      if item.valid == 1 then
        grep_text.change(search.list, { idx = at })
        break
      end
    end
  end
  return search.gathered[1] ~= nil
end

---@param search claude-ide.sessions.Search
---@param pause_ms? integer
local function list_later(search, pause_ms)
  if search.gathering then
    return
  end
  search.gathering = true
  slice.later(function()
    search.gathering = false
    if running == search and list_gathered(search) then
      list_later(search)
    end
  end, pause_ms)
end

local function add(search, hits)
  if running ~= search then
    return
  elseif not has_list(search) then
    M.cancel()
    return
  end
  vim.list_extend(search.gathered, hits)
  if search.hits > 0 then
    list_later(search, GATHER_MS)
  elseif list_gathered(search) then
    list_later(search)
  end
end

local function finish(search)
  if running ~= search then
    return
  elseif list_gathered(search) then
    return slice.later(function()
      finish(search)
    end)
  end
  running = nil
  map_cancel(false)
  if has_list(search) then
    set_title(search, search.incomplete and " (not all)" or "")
  end
  if search.failed then
    notice.error(("`%s`: %s"):format(search.pattern, search.failed))
  elseif search.hits == 0 then
    notice.info(("No match for %s."):format(search.pattern))
  elseif search.incomplete then
    notice.info(("Showing the first %d matches."):format(search.hits))
  end
end

---Cancels the running search and keeps its hits.
---@return boolean cancelled false: none was running
function M.cancel()
  local search = running
  if not search then
    return false
  end
  list_gathered(search, true)
  running = nil
  for _, cancel in ipairs(search.cancel) do
    cancel()
  end
  map_cancel(false)
  if has_list(search) then
    set_title(search, " (stopped)")
  end
  return true
end

---@param options claude-ide.sessions.GrepOptions
local function run(search, options)
  local folders = options.all and { false } or workspace.outermost(workspace.folders_and_worktrees())
  search.left = #folders
  for _, folder in ipairs(folders) do
    search.cancel[#search.cancel + 1] = sessions.search({
      pattern = search.pattern,
      literal = options.literal,
      case_sensitive = options.case_sensitive,
      scope = folder and "tree" or "all",
      folder = folder or nil,
      max_hits = MAX_HITS,
      context_lines = 1,
    }, function(hits)
      add(search, hits)
    end, function(report, err)
      search.left = search.left - 1
      search.failed = search.failed or err
      search.incomplete = search.incomplete or (report ~= nil and report.incomplete)
      if search.left == 0 then
        finish(search)
      end
    end)
  end
end

---Starts a search and lists hits as they arrive. Cancels the previous one.
---@param pattern string a regular expression, unless `literal`
---@param options? claude-ide.sessions.GrepOptions
function M.start(pattern, options)
  M.cancel()
  local chosen = options or {}
  vim.fn.setqflist({}, " ", {
    title = ("Claude grep %s …"):format(pattern),
    items = {},
    quickfixtextfunc = "v:lua.require'claude-ide.sessions.grep_text'.lines",
    context = { claude_grep = pattern },
  })
  local search = {
    pattern = pattern,
    list = vim.fn.getqflist({ id = 0 }).id,
    cancel = {},
    left = 0,
    hits = 0,
    gathered = {},
    gathering = false,
    summaries = {},
    alike = {},
    incomplete = false,
    open_list = modifiers.keep(function()
      vim.cmd.copen({ mods = modifiers.of_command({ split = "botright" }) })
    end),
  }
  running = search
  -- Titles first: they arrive at once, and hits are listed below their session.
  local cancel = catalogue.summaries({ all = chosen.all }, function(summaries)
    if running ~= search then
      return
    end
    for _, summary in ipairs(summaries or {}) do
      local known = search.summaries[summary.id]
      search.summaries[summary.id] = known and known.updated > summary.updated and known or summary
    end
    run(search, chosen)
  end)
  search.cancel[1] = cancel
end

return M
