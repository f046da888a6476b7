-- Formats sessions as lines in columns: age, state, folder, branch, title, last prompt. The longest come last, so that a narrow
-- picker cuts only those.

local M = {}

local GAP = "  "
local MAX_STATE, MAX_FOLDER, MAX_BRANCH = 19, 28, 20
---Minimum width of a title: below it the wide columns are dropped.
local LEAST_TITLE = 20
---Minimum width of a last prompt, and maximum width of titles beside it.
local LEAST_PROMPT, MAX_TITLE = 24, 50

---@class claude-ide.sessions.Item a session and its running process
---@field summary claude-ide.sessions.Summary
---@field live? claude-ide.sessions.Live

---@class claude-ide.sessions.RowOptions
---@field now integer Unix milliseconds
---@field width integer cells of a line
---@field folders boolean show folders

---@class claude-ide.sessions.Column
---@field texts string[] one per item
---@field width integer
---@field right? boolean right-aligned

---@param right? boolean
---@return claude-ide.sessions.Column
local function column(texts, right)
  local width = 0
  for _, text in ipairs(texts) do
    width = math.max(width, vim.fn.strdisplaywidth(text))
  end
  return { texts = texts, width = width, right = right }
end

---@param col claude-ide.sessions.Column
---@param at integer
local function cell(col, at)
  local text = col.texts[at]
  local blanks = (" "):rep(col.width - vim.fn.strdisplaywidth(text))
  return col.right and blanks .. text or text .. blanks
end

---@param columns claude-ide.sessions.Column[]
---@return integer cells including gaps
local function width_of(columns)
  local width = 0
  for _, col in ipairs(columns) do
    width = width + col.width + #GAP
  end
  return width
end

local function folder_name(path)
  return path and vim.fn.fnamemodify(path, ":~") or ""
end

---@param summary claude-ide.sessions.Summary
local function title_of(summary)
  local title = require("claude-ide.sessions.phrases").title(summary)
  return summary.forked_from and "fork: " .. title or title
end

---The last prompt, unless the title says the same.
---@param summary claude-ide.sessions.Summary
local function prompt_of(summary)
  local words = require("claude-ide.sessions.phrases")
  local prompt = words.one_line(summary.last_prompt or "")
  local is_said = prompt == "" or vim.startswith(prompt, words.title(summary))
  return is_said and "" or prompt
end

---Titles, and last prompts if there is space.
---@param items claude-ide.sessions.Item[]
---@param space integer cells
local function endings(items, space)
  local words = require("claude-ide.sessions.phrases")
  local titles, prompts, any = {}, {}, false
  for at, item in ipairs(items) do
    titles[at], prompts[at] = title_of(item.summary), prompt_of(item.summary)
    any = any or prompts[at] ~= ""
  end
  local width = math.min(column(titles).width, MAX_TITLE)
  if not any or space - width - #GAP < LEAST_PROMPT then
    return vim.tbl_map(function(title)
      return words.fit(title, space)
    end, titles)
  end
  local col = column(vim.tbl_map(function(title)
    return words.fit(title, width)
  end, titles))
  local lines = {}
  for at in ipairs(items) do
    local prompt = words.fit(prompts[at], space - col.width - #GAP)
    -- A title without a prompt gets the whole space.
    lines[at] = prompt ~= "" and cell(col, at) .. GAP .. prompt or words.fit(titles[at], space)
  end
  return lines
end

---One line per item, in order.
---@param items claude-ide.sessions.Item[]
---@param options claude-ide.sessions.RowOptions
---@return string[]
function M.format(items, options)
  local words = require("claude-ide.sessions.phrases")
  local ages, states, folders, branches = {}, {}, {}, {}
  for at, item in ipairs(items) do
    local summary, live = item.summary, item.live
    ages[at] = words.age(options.now - summary.updated)
    states[at] = live and words.fit(words.activity(live.state), MAX_STATE) or ""
    folders[at] = options.folders and words.fit_end(folder_name(summary.cwd), MAX_FOLDER) or ""
    branches[at] = words.fit(words.one_line(summary.branch or ""), MAX_BRANCH)
  end
  local columns = { column(ages, true), column(states), column(folders), column(branches) }
  columns = vim.tbl_filter(function(col)
    return col.width > 0
  end, columns)
  while #columns > 1 and options.width - width_of(columns) < LEAST_TITLE do
    columns[#columns] = nil
  end
  local space = math.max(options.width - width_of(columns), 1)
  local lines, ends = {}, endings(items, space)
  for at in ipairs(items) do
    local cells = {}
    for _, col in ipairs(columns) do
      cells[#cells + 1] = cell(col, at)
    end
    cells[#cells + 1] = ends[at]
    lines[at] = table.concat(cells, GAP)
  end
  return lines
end

return M
