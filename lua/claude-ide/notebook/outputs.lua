-- What a run of a cell put out, as a change of the notebook's buffer: its outputs and its number, nothing else.
-- Invariants: the file is not written; all bytes around these two values stay; one undo takes both back; where the buffer
-- cannot be read as a notebook nothing is changed.
local M = {}

---JSON with one space a level, as it is written where a line begins with its key; else on one line.
---@param before string the text of the line up to where it goes
local function in_style(json, before)
  local lines = vim.split(json, "\n", { plain = true })
  local lead = before:match('^(%s*)"[%w_]+"%s*:%s*$')
  if not lead then
    for i, line in ipairs(lines) do
      lines[i] = line:gsub("^ +", ""):gsub(",$", ", ")
    end
    return table.concat(lines)
  end
  -- A key of a cell is on the third level.
  local unit = #lead > 0 and #lead % 3 == 0 and lead:sub(1, math.floor(#lead / 3)) or " "
  for i = 2, #lines do
    local spaces = #lines[i]:match("^ *")
    lines[i] = lead .. unit:rep(spaces) .. lines[i]:sub(spaces + 1)
  end
  return table.concat(lines, "\n")
end

---@class claude-ide.notebook.Change
---@field place claude-ide.notebook.Place
---@field text string

---@param values { [1]: string, [2]: string, [3]?: claude-ide.notebook.Place }[] key, JSON, place
---@return claude-ide.notebook.Change[] sorted
local function changes(lines, cell, values)
  local list, missing = {}, {} ---@type claude-ide.notebook.Change[], string[]
  local next_lead = lines[cell.inside[1] + 1]:sub(cell.inside[2] + 1):find("^%s*$")
    and (lines[cell.inside[1] + 2] or ""):match("^%s*")
  for _, value in ipairs(values) do
    local key, json, place = value[1], value[2], value[3]
    if place then
      local before = lines[place[1] + 1]:sub(1, place[2])
      list[#list + 1] = { place = place, text = in_style(json, before) }
    else
      local before = ('"%s": '):format(key)
      local line = (next_lead or "{") .. before
      missing[#missing + 1] = (next_lead and "\n" .. next_lead or "") .. before .. in_style(json, line) .. ","
    end
  end
  if #missing > 0 then
    list[#list + 1] = { place = cell.inside, text = table.concat(missing, next_lead and "" or " ") }
  end
  table.sort(list, function(one, other)
    return one.place[1] < other.place[1] or (one.place[1] == other.place[1] and one.place[2] < other.place[2])
  end)
  return list
end

---@param list claude-ide.notebook.Change[] sorted
local function changed(lines, list)
  local parts, row, column = {}, 0, 0
  local function copy_to(to_row, to_column)
    if to_row > row then
      parts[#parts + 1] = lines[row + 1]:sub(column + 1)
      for i = row + 2, to_row do
        parts[#parts + 1] = "\n" .. lines[i]
      end
      parts[#parts + 1] = "\n"
      column = 0
    end
    parts[#parts + 1] = lines[to_row + 1]:sub(column + 1, to_column)
  end
  for _, change in ipairs(list) do
    copy_to(change.place[1], change.place[2])
    parts[#parts + 1] = change.text
    row, column = change.place[3], change.place[4]
  end
  copy_to(#lines - 1, #lines[#lines])
  return require("claude-ide.buffer.bytes").split(table.concat(parts), "\n")
end

---@param count? integer
---@param outputs string JSON
---@return string? err
local function put_into(buf, cell, count, outputs)
  if not vim.bo[buf].modifiable then
    return "it cannot be changed"
  end
  require("claude-ide.buffer.disk").reload(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local cells = require("claude-ide.notebook.cells")
  local notebook, err = cells.parse(table.concat(lines, "\n"))
  if not notebook then
    return err
  end
  local now = cells.find_again(notebook.cells, cell)
  if not now then
    return "the cell was changed while it ran"
  end
  local number = count and ("%d"):format(count) or "null"
  local list = changes(
    lines,
    now,
    { { "execution_count", number, now.count_at }, { "outputs", outputs, now.outputs_at } }
  )
  local format = require("claude-ide.buffer.format").of(buf)
  require("claude-ide.buffer.patch").set_text(buf, changed(lines, list), format)
  return nil
end

---Puts what a run put out into the notebook's buffer, where it has one.
---@param path string of the notebook
---@param cell claude-ide.notebook.Cell as it was run
---@param answer claude-ide.notebook.Answer
---@return string? remark for whoever wanted the run; nil: no buffer holds the notebook
function M.put(path, cell, answer)
  local buf, is_json = require("claude-ide.notebook.document").buffer(path)
  if not buf or not answer.outputs then
    return nil
  elseif not is_json then
    return "[A plugin shows the notebook as something else than its JSON in the user's editor: the outputs were not put there.]"
  end
  local waits = require("claude-ide.ui.guard.waits")
  local failure ---@type string?
  local function put()
    failure = vim.api.nvim_buf_is_loaded(buf) and put_into(buf, cell, answer.count, answer.outputs) or nil
    if failure then
      require("claude-ide.log").warn("outputs were not put into %s: %s", path, failure)
    end
  end
  if waits.is_command_pending() then
    waits.when_text_may_change(("outputs %d %s"):format(buf, cell.id or cell.index), put)
  else
    put()
  end
  if failure then
    return ("[The outputs were not put into the user's buffer of the notebook: %s.]"):format(failure)
  end
  return "[The outputs are in the user's buffer of the notebook, which is not saved.]"
end

return M
