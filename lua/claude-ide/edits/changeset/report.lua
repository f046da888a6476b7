-- The report to the requester of a changeset: what was kept and dropped of each file.
local lazy = require("claude-ide.lazy")
local paths = lazy("claude-ide.base.path")
local position = lazy("claude-ide.base.position")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---@class claude-ide.changeset.Outcome one file
---@field path string
---@field from? string
---@field kind "modified"|"created"|"deleted"|"renamed"
---@field kept integer changes
---@field total integer
---@field dropped boolean as a whole
---@field edited boolean by the user, so that the file differs from the proposal
---@field unsaved boolean written only to the buffer, which had unsaved changes
---@field quotes { line: integer, text: string }[] of dropped changes

---@class claude-ide.changeset.Report
---@field title string
---@field files claude-ide.changeset.Outcome[]
---@field asked boolean the user was asked
---@field words? string the user's feedback
---@field notes string[]

---@param path string
---@param folder string of the workspace
---@return string relative to the workspace folder, as the model names files
local function short(path, folder)
  return position.valid(paths.relative(path, folder))
end

local counted = require("claude-ide.base.counted")

---@param outcome claude-ide.changeset.Outcome
---@param folder string
---@return string
local function what(outcome, folder)
  if outcome.kind == "created" then
    return "created"
  elseif outcome.kind == "deleted" then
    return "deleted"
  elseif outcome.kind == "renamed" then
    local moved = "moved from " .. short(outcome.from --[[@as string]], folder)
    return outcome.total > 0 and ("%s, %s"):format(moved, counted(outcome.kept, "change")) or moved
  end
  return counted(outcome.kept, "change")
end

---@param outcome claude-ide.changeset.Outcome
---@param folder string
---@return string
local function line_of_kept(outcome, folder)
  local line = ("  %s (%s)"):format(short(outcome.path, folder), what(outcome, folder))
  if outcome.edited then
    line = line .. ", edited by the user: read it again"
  end
  if outcome.unsaved then
    line = line .. ", in the editor's buffer only: the user has unsaved changes there"
  end
  return line
end

---@param outcome claude-ide.changeset.Outcome
---@param folder string
---@return string?
local function line_of_dropped(outcome, folder)
  if outcome.dropped then
    return ("  %s: all of it"):format(short(outcome.path, folder))
  elseif outcome.kept == outcome.total then
    return nil
  end
  local quoted = {}
  for _, quote in ipairs(outcome.quotes) do
    quoted[#quoted + 1] = ("line %d `%s`"):format(quote.line, quote.text)
  end
  local more = outcome.total - outcome.kept - #quoted
  if more > 0 then
    quoted[#quoted + 1] = ("%d more"):format(more)
  end
  return ("  %s: %s"):format(short(outcome.path, folder), table.concat(quoted, ", "))
end

---Files changed exactly as proposed are named up to this number: the requester knows them.
local MAX_PLAIN = 4

---Lines for the files that were written. If there are many, those that differ from the proposal come first.
---@param outcomes claude-ide.changeset.Outcome[]
---@param folder string
---@return string[]
local function kept_lines(outcomes, folder)
  local all, odd, plain = {}, {}, {}
  for _, outcome in ipairs(outcomes) do
    if not outcome.dropped then
      local is_plain = outcome.kind == "modified"
        and not outcome.edited
        and not outcome.unsaved
        and outcome.kept == outcome.total
      all[#all + 1] = line_of_kept(outcome, folder)
      table.insert(is_plain and plain or odd, all[#all])
    end
  end
  local more = #plain - MAX_PLAIN
  if more <= 1 then
    return all
  end
  vim.list_extend(odd, plain, 1, MAX_PLAIN)
  odd[#odd + 1] = ("  … and %d more files, as proposed"):format(more)
  return odd
end

---Lines that fit, then the number of the rest.
---@param lines string[]
---@param budget integer bytes
---@return string[]
local function fitting(lines, budget)
  local kept, used = {}, 0
  for i, line in ipairs(lines) do
    used = used + #line + 1
    if used > budget then
      kept[#kept + 1] = ("  … and %s"):format(counted(#lines - i + 1, "more file"))
      break
    end
    kept[#kept + 1] = line
  end
  return kept
end

---@param report claude-ide.changeset.Report
---@param budget integer bytes
---@return string
function M.text(report, budget)
  local dropped, changes, files = {}, 0, 0
  local folder = workspace.folders()[1]
  for _, outcome in ipairs(report.files) do
    if not outcome.dropped then
      files = files + 1
      changes = changes + (outcome.kind == "modified" and outcome.kept or 0)
    end
    dropped[#dropped + 1] = line_of_dropped(outcome, folder)
  end
  local who = report.asked and (#dropped == 0 and "Accepted" or "Accepted in part") or "Applied"
  local lines = {
    ("%s: %s, %s in %s."):format(
      report.title,
      who:lower(),
      counted(changes, "change"),
      counted(files, "file")
    ),
  }
  for _, note in ipairs(report.notes) do
    lines[#lines + 1] = "Note: " .. note .. "."
  end
  if #dropped > 0 then
    lines[#lines + 1] = "The user dropped this, and it was not written:"
    vim.list_extend(lines, fitting(dropped, math.floor(budget / 2)))
    lines[#lines + 1] = report.words and ("The user says: " .. report.words)
      or "They did not say why. Do not make these changes in another way without asking."
  end
  lines[#lines + 1] = "Written:"
  local used = #table.concat(lines, "\n")
  vim.list_extend(lines, fitting(kept_lines(report.files, folder), math.max(budget - used, 200)))
  return table.concat(lines, "\n")
end

return M
