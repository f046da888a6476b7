-- `:Claude sessions`: lets the user choose a session, then an action; `:Claude list`: a terminal. Uses vim.ui.select, so pickers can recognise the kinds
-- "claude_sessions" and "claude_session_action" and request a preview. The library draws the lines (`crates/session/src/board`).

local lazy = require("claude-ide.lazy")
local actions = lazy("claude-ide.terminal.session_actions")
local catalogue = lazy("claude-ide.sessions.catalogue")
local choose = lazy("claude-ide.ui.choose")
local clock = lazy("claude-ide.base.clock")
local guard = lazy("claude-ide.ui.guard")
local journal = lazy("claude-ide.edits.journal")
local keep = lazy("claude-ide.sessions.keep")
local modifiers = lazy("claude-ide.ui.modifiers")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local phrases = lazy("claude-ide.sessions.phrases")
local safely = lazy("claude-ide.base.safely")
local retention = lazy("claude-ide.sessions.retention")
local server = lazy("claude-ide.server")
local sessions_background = lazy("claude-ide.terminal.background")
local terminal_remembered = lazy("claude-ide.terminal.remembered")
local terminals = lazy("claude-ide.terminal")
local transport = lazy("claude-ide.sessions.transport")

local M = {}

---@class claude-ide.sessions.Item a session and its running process
---@field summary claude-ide.sessions.Summary
---@field live? claude-ide.sessions.Live
---@field worktree? string name of its linked worktree
---@field title? string as the picker shows it
---@field days_left? integer until the CLI deletes it, if that is within a week
---@field terminal? claude-ide.terminal.Session that runs it
---@field review? integer changed files to review
---@field is_shown? boolean its terminal is visible in this tab page
---@field remembered? claude-ide.terminal.Remembered its terminal ended with Neovim

local function details(item)
  local summary, live = item.summary, item.live
  local lines = { "# " .. (item.title or phrases.title(summary)), "" }
  local function fact(name, value)
    if value then
      lines[#lines + 1] = ("- %s: %s"):format(name, value)
    end
  end
  local function moment(time)
    return time and os.date("%Y-%m-%d %H:%M", math.floor(time / 1000)) --[[@as string?]]
  end
  fact("State", live and ("%s (pid %d)"):format(phrases.activity(live.state), live.pid))
  fact("Last written", moment(summary.updated))
  fact("Begun", moment(summary.started))
  local dir = summary.config_dir
  fact("Configuration", dir ~= transport.config_dir() and dir and vim.fn.fnamemodify(dir, ":~"))
  fact("Folder", summary.cwd and vim.fn.fnamemodify(summary.cwd, ":~"))
  fact("Branch", summary.branch)
  fact("Model", summary.model)
  fact("Context", summary.context_percent and ("%d%% full"):format(summary.context_percent))
  fact("Messages", summary.messages)
  fact("Size", phrases.size(summary.bytes))
  fact("Kept", summary.kept and (summary.kept == "only" and "only the copy is left" or "yes"))
  fact("Expires", item.days_left and retention.when(item.days_left))
  fact("Session", summary.id)
  fact("Forked from", summary.forked_from)
  local function quote(name, text)
    if text then
      vim.list_extend(lines, { "", "## " .. name, "" })
      vim.list_extend(lines, vim.split(text, "\r?\n"))
    end
  end
  quote("First prompt", summary.first_prompt)
  quote("Last prompt", summary.last_prompt ~= summary.first_prompt and summary.last_prompt or nil)
  return lines
end

---Preview for pickers. Neovim 0.12 defines it as a table with a buffer; earlier pickers take a list of lines.
---@return { buf: integer }|string[]
local function preview_item(item)
  local lines = item.summary and details(item --[[@as claude-ide.sessions.Item]]) or {}
  return setmetatable(lines, {
    __index = function(_, key)
      if key ~= "buf" then
        return nil
      end
      return own_buffer.create({
        lines = lines,
        bo = { bufhidden = "wipe", filetype = "markdown" },
      })
    end,
  })
end

---Preview for snacks.nvim, which has its own options.
---@type table
local SNACKS = {
  layout = { hidden = {} },
  preview = function(context)
    local item = context.item.item
    context.preview:reset()
    context.preview:set_lines(item.summary and details(item) or {})
    context.preview:highlight({ ft = "markdown" })
  end,
}

local function choose_action(item)
  choose.select(actions.names(item), {
    prompt = phrases.fit(item.title or phrases.title(item.summary), math.max(vim.o.columns - 10, 20)),
    kind = "claude_session_action",
    format_item = function(name)
      return actions.label(name, item)
    end,
  }, function(name)
    if name then
      vim.schedule(modifiers.keep(function()
        actions.run(name, item)
      end))
    end
  end)
end

---Titles of the list, by action.
---@type table<claude-ide.sessions.ActionName, string>
local VERBS = {
  read = "Read",
  resume = "Resume",
  fork = "Fork",
  rename = "Rename",
  keep = "Keep",
  unkeep = "Remove the copy of",
  copy = "Copy the id of",
  export = "Export",
  stop = "Stop",
}

---@param options claude-ide.sessions.CatalogueOptions
local function prompt_of(options)
  if options.terminals then
    return "Claude's terminals"
  end
  local which = options.all and "of all projects" or "of this project"
  local found = options.words and #options.words > 0 and ": " .. table.concat(options.words, " ") or ""
  if options.action then
    return ("%s a session %s%s"):format(VERBS[options.action], which, found)
  end
  return ("Claude sessions %s%s"):format(which, found)
end

---Shows a terminal, or its session in one.
---@param item claude-ide.sessions.Item
local function go_to(item)
  local remembered = item.remembered
  if not item.terminal and item.summary.id ~= "" then
    item.live = catalogue.running(item.summary.id) -- the list may be old
  end
  if item.terminal and item.terminal:is_alive() then
    terminals.show(item.terminal)
  elseif item.live and item.live.job then
    sessions_background.open(item.live)
  elseif not item.terminal and (item.live or not remembered) then
    actions.run("resume", item)
  elseif remembered then
    keep.put_back_and_show(item.summary, function()
      terminals.new({ "--resume", remembered.session }, {
        cwd = remembered.cwd,
        name = remembered.name,
        config_dir = item.summary.config_dir,
      })
    end)
  end
end

---@param item claude-ide.sessions.Item
---@return string? note what becomes of its transcript
local function note_of(item)
  if item.summary.kept then
    return "kept"
  end
  return item.days_left and "expires " .. retention.when(item.days_left)
end

---A session as the library draws it: see `LineOf` in crates/session/src/service/request.rs.
---@param item claude-ide.sessions.Item
---@param options claude-ide.sessions.CatalogueOptions
local function line_of(item, options)
  local summary = item.summary
  return {
    id = summary.id,
    file = summary.file ~= "" and summary.file or nil,
    pid = item.live and item.live.pid,
    note = not options.terminals and note_of(item) or nil,
    known = options.terminals and {
      title = item.terminal and summary.title,
      cwd = summary.cwd,
      review = item.review,
      shown = item.is_shown,
      remembered = item.remembered ~= nil,
    } or nil,
  }
end

---@param items claude-ide.sessions.Item[]
---@param options claude-ide.sessions.CatalogueOptions
---@param done fun(lines?: string[], err?: string) once: one per item
local function lay_out(items, options, done)
  if not items[1] then
    return done({})
  end
  local number = #tostring(#items) + 6 -- width of the picker's own prefix
  local screen = {
    width = math.max(vim.o.columns - number, 20),
    ambiguous_is_wide = vim.o.ambiwidth == "double",
    projects = options.all == true or options.terminals == true,
    now = clock.now(),
  }
  local sessions, days_left = {}, retention.days_left()
  for at, item in ipairs(items) do
    item.days_left = days_left(item)
    sessions[at] = line_of(item, options)
  end
  transport.request({ lines = { sessions = sessions, screen = screen } }, {
    reply = safely.wrap("lay out the list of sessions", function(listed, err)
      local lines = listed and {}
      for at, one in ipairs(listed or {}) do
        items[at].title, lines[at] = one.title, one.text
      end
      done(lines, err)
    end),
  })
end

---@param options claude-ide.sessions.CatalogueOptions
---@param lines string[] one per item
local function show(items, options, lines)
  ---@type table<claude-ide.sessions.Item, string>
  local text_of = {}
  local first ---@type integer?
  for at, item in ipairs(items) do
    text_of[item] = lines[at]
    first = first or item.is_shown and at or nil
  end
  choose.select(items, {
    prompt = prompt_of(options),
    kind = "claude_sessions",
    at = first,
    format_item = function(item)
      return text_of[item]
    end,
    preview_item = preview_item,
    snacks = SNACKS,
  }, function(item)
    if not item then
      return
    end
    -- Some pickers are still open when they call back.
    vim.schedule(modifiers.keep(function()
      if options.terminals then
        go_to(item)
      elseif options.action then
        actions.run(options.action, item, options.text)
      else
        choose_action(item)
      end
    end))
  end)
end

---@param items? claude-ide.sessions.Item[]
---@param err? string
---@param chosen claude-ide.sessions.CatalogueOptions
---@param lines? string[] one per item
local function show_or_say(items, err, chosen, lines)
  if not items or not lines then
    notice.error(("The sessions cannot be listed: %s"):format(err or "unknown reason"))
  elseif #items == 0 and chosen.words and #chosen.words > 0 then
    local text = table.concat(chosen.words, " ")
    notice.info(
      chosen.all and ("No session matches: %s."):format(text)
        or ("No session of this project matches: %s. `:Claude sessions all %s` looks in all."):format(
          text,
          text
        )
    )
  elseif #items == 0 and chosen.all then
    notice.info("There are no sessions yet.")
  elseif #items == 0 then
    notice.info("This project has no sessions yet. `:Claude sessions all` lists those of all projects.")
  else
    show(items, chosen, lines)
  end
end

---Opens a list of sessions, then of actions.
---@param options? claude-ide.sessions.CatalogueOptions
---@param request? claude-ide.ui.guard.Request default: now
function M.open(options, request)
  local chosen = options or {}
  local asked = request or guard.request()
  catalogue.load(chosen, function(items, err)
    items = items
      and vim.tbl_filter(function(item)
        return chosen.action ~= "unkeep" or item.summary.kept ~= nil
      end, items)
    lay_out(items or {}, chosen, function(lines, why_not)
      -- Keys typed since the request are not meant for the list.
      guard.when_requested("sessions", "The list of sessions", function()
        show_or_say(items, err or why_not, chosen, lines)
      end, asked)
    end)
  end)
end

---@param live? claude-ide.sessions.Live
---@param terminal? claude-ide.terminal.Session
---@param summaries table<string, claude-ide.sessions.Item> by session
---@param reviews table<integer, string[]> files to review, by client
---@return claude-ide.sessions.Item
local function item_of(live, terminal, summaries, reviews)
  local known = live and summaries[live.id]
  ---@type claude-ide.sessions.Summary
  local summary = known and vim.deepcopy(known.summary) -- of which there may be another terminal
    or {
      id = live and live.id or "",
      file = "",
      cwd = terminal and terminal.spec.cwd or live and live.cwd,
      named = false,
      updated = clock.now(),
      bytes = 0,
    }
  local in_background = live and journal.of_session(live.id)
  local review = #(reviews[in_background] or {})
  for _, client in ipairs(server.clients()) do
    review = review + (terminal and terminal:has_process(client.pid) and #(reviews[client.id] or {}) or 0)
  end
  summary.title = terminal and terminal:name() or summary.title or live and live.name
  return {
    summary = summary,
    live = live,
    terminal = terminal,
    is_shown = terminal ~= nil and terminal:is_visible(),
    review = review,
  }
end

---Opens a list of the terminals, of the project's sessions in the background, and of those that ended with its last Neovim.
function M.open_terminals()
  local asked, remembered = guard.request(), terminal_remembered.list()
  local folders = {} ---@type table<string, true>
  for _, terminal in ipairs(terminals.list()) do
    folders[terminal.spec.cwd] = true
  end
  local background = vim.tbl_filter(function(live)
    return terminals.of_session(live.id) == nil
  end, sessions_background.list())
  for _, one in ipairs(vim.list_extend(vim.list_slice(background), remembered)) do
    folders[one.cwd] = true
  end
  if not next(folders) then
    return notice.info("Claude is not running in Neovim's terminal.")
  end
  local options = { terminals = true, folders = vim.tbl_keys(folders) }
  catalogue.load(options, function(found)
    local by_id, items = {}, {}
    for _, item in ipairs(found or {}) do
      by_id[item.summary.id] = item
    end
    local reviews = journal.files_to_review()
    for _, terminal in ipairs(terminals.list()) do
      items[#items + 1] = item_of(terminal:live(), terminal, by_id, reviews)
    end
    for _, live in ipairs(background) do
      items[#items + 1] = item_of(live, nil, by_id, reviews)
    end
    for _, one in ipairs(remembered) do
      local item = by_id[one.session]
      local live = item and item.live
      -- One that runs without a terminal of ours is about to end, or was resumed elsewhere.
      if item and not (live and (live.job or terminals.of_session(live.id))) then
        items[#items + 1] = { summary = item.summary, live = live, remembered = one }
      end
    end
    lay_out(items, options, function(lines, err)
      guard.when_requested("terminals", "The list of terminals", function()
        if not lines or items[1] then
          show_or_say(items, err, options, lines)
        end
      end, asked)
    end)
  end)
end

---Runs an action on a session by name; opens a list if it is ambiguous.
---@param name claude-ide.sessions.ActionName
---@param words string[] an id or prefix, a title, or words of it
function M.run_by_name(name, words)
  local text = table.concat(words, " ")
  local request = guard.request()
  catalogue.find(text, function(item, err)
    if item then
      return actions.run_in_time(request, name, item)
    end
    catalogue.load({ words = words }, function(items)
      local called = vim.tbl_filter(function(one)
        return phrases.title(one.summary) == text or (one.live ~= nil and one.live.name == text)
      end, items or {})
      local meant = #called > 0 and called or items or {} ---@type claude-ide.sessions.Item[]
      if #meant == 1 then
        actions.run_in_time(request, name, meant[1])
      elseif #meant == 0 then
        notice.error(err or ("No session matches %s."):format(text))
      else
        M.open({ action = name, words = words }, request)
      end
    end)
  end)
end

return M
