-- The keys of a transcript, and the help that lists them.

local M = {}

---@class claude-ide.transcript.Key
---@field lhs string
---@field modes? string[] default: normal mode
---@field desc string
---@field run fun(view: claude-ide.transcript.View, count: integer)

---@param stop claude-ide.transcript.Stop
---@param step 1|-1
---@return fun(view: claude-ide.transcript.View, count: integer)
local function jump(stop, step)
  return function(view, count)
    require("claude-ide.transcript.motions").jump(view, stop, step, count)
  end
end

---@param how "edit"|"split"|"tabedit"
---@return fun(view: claude-ide.transcript.View)
local function go_to_file(how)
  return function(view)
    require("claude-ide.transcript.files").go(view, how)
  end
end

local MOTION = { "n", "x", "o" }

---@type claude-ide.transcript.Key[]
M.KEYS = {
  { lhs = "]]", modes = MOTION, desc = "next prompt", run = jump("prompt", 1) },
  { lhs = "[[", modes = MOTION, desc = "prompt before", run = jump("prompt", -1) },
  { lhs = "]m", modes = MOTION, desc = "next tool call", run = jump("tool", 1) },
  { lhs = "[m", modes = MOTION, desc = "tool call before", run = jump("tool", -1) },
  { lhs = "]c", modes = MOTION, desc = "next edit", run = jump("edit", 1) },
  { lhs = "[c", modes = MOTION, desc = "edit before", run = jump("edit", -1) },
  {
    lhs = "<CR>",
    desc = "an edit: show before and after; a subagent: what it did; a cut text: all of it; else open or close the fold",
    run = function(view)
      require("claude-ide.transcript.enter").press(view)
    end,
  },
  { lhs = "gf", desc = "go to the file of the call, or under the cursor", run = go_to_file("edit") },
  { lhs = "<C-w>f", desc = "the same in a split", run = go_to_file("split") },
  { lhs = "<C-w>gf", desc = "the same in a tab page", run = go_to_file("tabedit") },
  {
    lhs = "gb",
    desc = "choose a branch of the conversation",
    run = function(view)
      require("claude-ide.transcript.branch").choose(view)
    end,
  },
  {
    lhs = "]v",
    desc = "next branch",
    run = function(view)
      require("claude-ide.transcript.branch").step(view, 1)
    end,
  },
  {
    lhs = "[v",
    desc = "branch before",
    run = function(view)
      require("claude-ide.transcript.branch").step(view, -1)
    end,
  },
  {
    lhs = "q",
    desc = "close",
    run = function(view)
      require("claude-ide.transcript").leave(view)
    end,
  },
  {
    lhs = "g?",
    desc = "this help",
    run = function()
      M.help()
    end,
  },
}

---What Vim does here anyway, and is good to know.
local BUILT_IN = {
  { "za zR zM", "open or close folds" },
  { "G", "go to the end and follow what is said" },
  { "/", "search what is near; :Claude grep searches all" },
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

---@param width integer
---@return string[] lines
---@return integer column of the words
local function help_lines(width)
  local entries = vim.tbl_map(function(key)
    return { key.lhs, key.desc }
  end, M.KEYS)
  vim.list_extend(entries, BUILT_IN)
  local widest = 0
  for _, entry in ipairs(entries) do
    widest = math.max(widest, #entry[1])
  end
  local lines = {}
  for _, entry in ipairs(entries) do
    local lead, rest = (" %-" .. widest .. "s  "):format(entry[1]), entry[2]
    while #rest > 0 do
      local room = width - widest - 4
      local line = #rest <= room and rest or rest:sub(1, room):match("^(.*)%s%S*$") or rest:sub(1, room)
      lines[#lines + 1] = lead .. line
      rest = vim.trim(rest:sub(#line + 1))
      lead = (" "):rep(widest + 3)
    end
  end
  return lines, widest + 1
end

---Lists the keys in a window that the next key closes.
function M.help()
  local width = math.min(64, vim.o.columns - 4)
  local lines, column = help_lines(width)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  local height = math.min(#lines, vim.o.lines - 4)
  local win = vim.api.nvim_open_win(buf, true, {
    relative = "editor",
    width = width,
    height = height,
    row = math.max(math.floor((vim.o.lines - height) / 2) - 1, 0),
    col = math.max(math.floor((vim.o.columns - width) / 2), 0),
    style = "minimal",
    border = "rounded",
    title = " Keys of a transcript ",
    title_pos = "center",
  })
  vim.wo[win][0].wrap = false
  for row, line in ipairs(lines) do
    if line:sub(2, 2) ~= " " then
      vim.api.nvim_buf_set_extmark(buf, require("claude-ide.transcript.canvas").namespace, row - 1, 0, {
        end_col = math.min(column, #line),
        hl_group = "ClaudeTranscriptKey",
      })
    end
  end
  for _, lhs in ipairs({ "q", "<Esc>", "g?", "<CR>" }) do
    vim.keymap.set("n", lhs, function()
      if vim.api.nvim_win_is_valid(win) then
        vim.api.nvim_win_close(win, true)
      end
    end, { buffer = buf, nowait = true, desc = "Claude Code: close the help" })
  end
  vim.api.nvim_create_autocmd("WinLeave", {
    buffer = buf,
    once = true,
    desc = "Claude Code: the help goes with the focus",
    callback = function()
      vim.schedule(function()
        if vim.api.nvim_win_is_valid(win) then
          vim.api.nvim_win_close(win, true)
        end
      end)
    end,
  })
end

return M
