-- Keys of a transcript.

local lazy = require("claude-ide.lazy")
local actions = lazy("claude-ide.terminal.session_actions")
local branch = lazy("claude-ide.transcript.branch")
local code = lazy("claude-ide.transcript.code")
local key_list = lazy("claude-ide.ui.key_list")
local motions = lazy("claude-ide.transcript.motions")
local safely = lazy("claude-ide.base.safely")
local targets = lazy("claude-ide.transcript.targets")
local window = lazy("claude-ide.base.window")

local M = {}

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
  elseif not pcall(window.close, win, false) then
    vim.cmd("enew")
  end
end

---What the keys of motions stop at, by option.
---@type table<string, { [1]: claude-ide.transcript.Stop, [2]: 1|-1 }>
local JUMPS = {
  next_prompt = { "prompt", 1 },
  previous_prompt = { "prompt", -1 },
  next_tool = { "tool", 1 },
  previous_tool = { "tool", -1 },
  next_edit = { "edit", 1 },
  previous_edit = { "edit", -1 },
}

---Other keys, by option. Modules are loaded by the first key that needs them.
---@type table<string, fun(view: claude-ide.transcript.View)>
local KEYS = {
  open = function(view)
    targets.enter(view)
  end,
  file = function(view)
    targets.go(view, "edit")
  end,
  file_split = function(view)
    targets.go(view, "split")
  end,
  file_tab = function(view)
    targets.go(view, "tabedit")
  end,
  branches = function(view)
    branch.choose(view)
  end,
  next_branch = function(view)
    branch.step(view, 1)
  end,
  previous_branch = function(view)
    branch.step(view, -1)
  end,
  yank_code = function(view)
    code.yank(view)
  end,
  resume = function(view)
    actions.run_by_id("resume", view.session)
  end,
  fork = function(view)
    actions.run_by_id("fork", view.session)
  end,
  export = function(view)
    actions.run_by_id("export", view.session)
  end,
  close = leave,
  help = function()
    M.help()
  end,
}

---Built-in keys worth listing.
local BUILT_IN = {
  { "za zR zM", "open or close folds" },
  { "G", "go to the end and follow new messages" },
  { "/ ? n N", "search this transcript; :Claude grep searches all" },
}

---@param view claude-ide.transcript.View
function M.map(view)
  for _, option in ipairs(key_list.options("transcript")) do
    local jump = JUMPS[option.name]
    local run = safely.wrap(option.desc, KEYS[option.name] or function()
      motions.jump(view, jump[1], jump[2], vim.v.count1)
    end)
    table.insert(option.keys, ("<Plug>(claude-transcript-%s)"):format((option.name:gsub("_", "-"))))
    key_list.map(view.buf, option, function()
      run(view)
    end, jump and { "n", "x", "o" })
  end
end

function M.help()
  local help = key_list.option("transcript", "help").keys
  local opts = { of = "a transcript", group = "ClaudeTranscriptKey", help = help }
  key_list.open(key_list.options("transcript"), BUILT_IN, opts)
end

return M
