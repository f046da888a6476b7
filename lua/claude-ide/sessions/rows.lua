-- Sessions as the lines of a list, in columns: age, state, folder, branch, title, last prompt. What is longest comes last, so
-- that a picker of any width cuts only that.

local M = {}

local GAP = "  "
local MAX_STATE, MAX_FOLDER, MAX_BRANCH = 19, 28, 20
---Below this a title says nothing: then the wide columns give way.
local LEAST_TITLE = 20
---The last prompt stands beside titles where this much is left for it, and titles take no more than so much.
local LEAST_PROMPT, MAX_TITLE = 24, 50

---@class claude-ide.sessions.Item a session and, while it runs, the process that speaks for it
---@field summary claude-ide.sessions.Summary
---@field live? claude-ide.sessions.Live

---@class claude-ide.sessions.RowOptions
---@field now integer Unix milliseconds
---@field width integer cells a line may take
---@field folders boolean show which folder each is of

---@class claude-ide.sessions.Column
---@field texts string[] one an item
---@field width integer
---@field right? boolean the texts are flush right

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
---@return integer cells with a gap after each
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

---The last prompt, where it says more than the title.
---@param summary claude-ide.sessions.Summary
local function prompt_of(summary)
  local words = require("claude-ide.sessions.phrases")
  local prompt = words.one_line(summary.last_prompt or "")
  local is_said = prompt == "" or vim.startswith(prompt, words.title(summary))
  return is_said and "" or prompt
end

---Titles, and beside them last prompts where both have room.
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
    -- A title alone may take the room of the prompt that is not there.
    lines[at] = prompt ~= "" and cell(col, at) .. GAP .. prompt or words.fit(titles[at], space)
  end
  return lines
end

---The lines, one an item, in the same order.
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
