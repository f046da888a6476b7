-- Keys of a transcript.

local M = {}

---@class claude-ide.transcript.Key
---@field modes? string[] default: normal mode
---@field run fun(view: claude-ide.transcript.View, count: integer)

---Modules with the actions, loaded by the first key that needs them.
---@type table<string, fun(): table>
local MODULES = {
  branch = function()
    return require("claude-ide.transcript.branch")
  end,
  code = function()
    return require("claude-ide.transcript.code")
  end,
  motions = function()
    return require("claude-ide.transcript.motions")
  end,
  search = function()
    return require("claude-ide.transcript.search")
  end,
  sessions = function()
    return require("claude-ide.sessions.actions")
  end,
  targets = function()
    return require("claude-ide.transcript.targets")
  end,
}

---@param module string one of MODULES
---@param call fun(of: table, view: claude-ide.transcript.View, count: integer)
---@param modes? string[]
---@return claude-ide.transcript.Key
local function key(module, call, modes)
  return {
    modes = modes,
    run = function(view, count)
      call(MODULES[module](), view, count)
    end,
  }
end

---@param stop claude-ide.transcript.Stop
---@param step 1|-1
---@return claude-ide.transcript.Key
local function jump(stop, step)
  return key("motions", function(motions, view, count)
    motions.jump(view, stop, step, count)
  end, { "n", "x", "o" })
end

---@param how "edit"|"split"|"tabedit"
---@return claude-ide.transcript.Key
local function go_to_file(how)
  return key("targets", function(targets, view)
    targets.go(view, how)
  end)
end

---@param action claude-ide.sessions.ActionName
---@return claude-ide.transcript.Key
local function act(action)
  return key("sessions", function(actions, view)
    actions.run_by_id(action, view.session)
  end)
end

---@param step 1|-1
---@return claude-ide.transcript.Key
local function step_branch(step)
  return key("branch", function(branch, view)
    branch.step(view, step)
  end)
end

---@param again "n"|"N"
---@return claude-ide.transcript.Key
local function search(again)
  return key("search", function(searches, view)
    searches.again(view, again)
  end)
end

---Leaves a transcript: restores the window's previous buffer, or closes the window.
---@param view claude-ide.transcript.View
local function leave(view)
  local win = vim.api.nvim_get_current_win()
  local before = view.came_from[win]
  view.came_from[win] = nil
  if before and vim.api.nvim_buf_is_valid(before) then
    vim.api.nvim_win_set_buf(win, before)
  elseif view.source.hide and #vim.fn.win_findbuf(view.buf) == 1 then
    view.source.hide()
  elseif not pcall(require("claude-ide.window").close, win, false) then
    vim.cmd("enew")
  end
end

---By option.
---@type table<string, claude-ide.transcript.Key>
local KEYS = {
  next_prompt = jump("prompt", 1),
  previous_prompt = jump("prompt", -1),
  next_tool = jump("tool", 1),
  previous_tool = jump("tool", -1),
  next_edit = jump("edit", 1),
  previous_edit = jump("edit", -1),
  open = key("targets", function(targets, view)
    targets.enter(view)
  end),
  file = go_to_file("edit"),
  file_split = go_to_file("split"),
  file_tab = go_to_file("tabedit"),
  branches = key("branch", function(branch, view)
    branch.choose(view)
  end),
  next_branch = step_branch(1),
  previous_branch = step_branch(-1),
  yank_code = key("code", function(code, view)
    code.yank(view)
  end),
  resume = act("resume"),
  fork = act("fork"),
  export = act("export"),
  search_next = search("n"),
  search_previous = search("N"),
  close = { run = leave },
  help = {
    run = function()
      M.help()
    end,
  },
}

---Built-in keys worth listing.
local BUILT_IN = {
  { "za zR zM", "open or close folds" },
  { "G", "go to the end and follow what is said" },
  { "/ ?", "search this transcript; :Claude grep searches all" },
}

---@param view claude-ide.transcript.View
function M.map(view)
  local key_list = require("claude-ide.ui.key_list")
  for _, option in ipairs(key_list.options("transcript")) do
    local key_of = KEYS[option.name]
    local run = require("claude-ide.safely").wrap(option.desc, key_of.run)
    table.insert(option.keys, ("<Plug>(claude-transcript-%s)"):format((option.name:gsub("_", "-"))))
    key_list.map(view.buf, option, function()
      run(view, vim.v.count1)
    end, key_of.modes)
  end
end

function M.help()
  local key_list = require("claude-ide.ui.key_list")
  local help = key_list.option("transcript", "help").keys
  local opts = { of = "a transcript", group = "ClaudeTranscriptKey", help = help }
  key_list.open(key_list.options("transcript"), BUILT_IN, opts)
end

return M
