-- Keys of a transcript.

local M = {}

---@class claude-ide.transcript.Key
---@field name string option name, and with dashes of the <Plug> map
---@field modes? string[] default: normal mode
---@field desc string
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

---@param name string
---@param desc string
---@param module string one of MODULES
---@param call fun(of: table, view: claude-ide.transcript.View, count: integer)
---@param modes? string[]
---@return claude-ide.transcript.Key
local function key(name, desc, module, call, modes)
  return {
    name = name,
    desc = desc,
    modes = modes,
    run = function(view, count)
      call(MODULES[module](), view, count)
    end,
  }
end

---@param name string
---@param desc string
---@param stop claude-ide.transcript.Stop
---@param step 1|-1
---@return claude-ide.transcript.Key
local function jump(name, desc, stop, step)
  return key(name, desc, "motions", function(motions, view, count)
    motions.jump(view, stop, step, count)
  end, { "n", "x", "o" })
end

---@param name string
---@param desc string
---@param how "edit"|"split"|"tabedit"
---@return claude-ide.transcript.Key
local function go_to_file(name, desc, how)
  return key(name, desc, "targets", function(targets, view)
    targets.go(view, how)
  end)
end

---@param name string
---@param desc string
---@param action claude-ide.sessions.ActionName
---@return claude-ide.transcript.Key
local function act(name, desc, action)
  return key(name, desc, "sessions", function(actions, view)
    actions.run_by_id(action, view.session)
  end)
end

---@param name string
---@param desc string
---@param step 1|-1
---@return claude-ide.transcript.Key
local function step_branch(name, desc, step)
  return key(name, desc, "branch", function(branch, view)
    branch.step(view, step)
  end)
end

---@param name string
---@param desc string
---@param again "n"|"N"
---@return claude-ide.transcript.Key
local function search(name, desc, again)
  return key(name, desc, "search", function(searches, view)
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

---@type claude-ide.transcript.Key[]
M.KEYS = {
  jump("next_prompt", "next prompt", "prompt", 1),
  jump("previous_prompt", "previous prompt", "prompt", -1),
  jump("next_tool", "next tool call", "tool", 1),
  jump("previous_tool", "previous tool call", "tool", -1),
  jump("next_edit", "next edit", "edit", 1),
  jump("previous_edit", "previous edit", "edit", -1),
  key(
    "open",
    "an edit: show before and after; a subagent: what it did; a cut text: all of it; else open or close the fold",
    "targets",
    function(targets, view)
      targets.enter(view)
    end
  ),
  go_to_file("file", "go to the file of the call, or under the cursor", "edit"),
  go_to_file("file_split", "the same in a split", "split"),
  go_to_file("file_tab", "the same in a tab page", "tabedit"),
  key("branches", "choose a branch of the conversation", "branch", function(branch, view)
    branch.choose(view)
  end),
  step_branch("next_branch", "next branch", 1),
  step_branch("previous_branch", "previous branch", -1),
  key("yank_code", "yank the code under the cursor", "code", function(code, view)
    code.yank(view)
  end),
  act("resume", "resume the session in the terminal", "resume"),
  act("fork", "go on in a copy of the session", "fork"),
  act("export", "write the session down as Markdown", "export"),
  search("search_next", "search on, through all messages", "n"),
  search("search_previous", "the same in the other direction", "N"),
  {
    name = "close",
    desc = "close",
    run = function(view)
      leave(view)
    end,
  },
  {
    name = "help",
    desc = "this help",
    run = function()
      M.help()
    end,
  },
}

---The configured keys of an action.
---@param name string
---@return string[]
function M.of(name)
  return require("claude-ide.ui.key_list").keys(require("claude-ide.config").get().transcript.keymaps[name])
end

---Built-in keys worth listing.
local BUILT_IN = {
  { "za zR zM", "open or close folds" },
  { "G", "go to the end and follow what is said" },
  { "/ ?", "search this transcript; :Claude grep searches all" },
}

---@param view claude-ide.transcript.View
function M.map(view)
  for _, one in ipairs(M.KEYS) do
    local run = require("claude-ide.safely").wrap(one.desc, one.run)
    local names = { ("<Plug>(claude-transcript-%s)"):format((one.name:gsub("_", "-"))) }
    for _, lhs in ipairs(vim.list_extend(names, M.of(one.name))) do
      vim.keymap.set(one.modes or "n", lhs, function()
        run(view, vim.v.count1)
      end, { buffer = view.buf, nowait = true, silent = true, desc = "Claude Code: " .. one.desc })
    end
  end
end

function M.help()
  local key_list, entries = require("claude-ide.ui.key_list"), {}
  for _, one in ipairs(M.KEYS) do
    entries[#entries + 1] = key_list.entry(M.of(one.name), one.desc)
  end
  vim.list_extend(entries, BUILT_IN)
  key_list.open(entries, { of = "a transcript", group = "ClaudeTranscriptKey", help = M.of("help") })
end

return M
