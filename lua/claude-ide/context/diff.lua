-- `#diff`: changes since the last commit, without withheld files. git takes no locks in the user's repository, and runs no commands
-- of its configuration.
local M = {}

local OPTIONS = { "-c", "core.quotePath=false" }
---Maximum number of files.
local MOST_FILES = 400

---@param names string NUL-terminated, of git
---@return string[] told
---@return integer withheld
local function may_be_told(names, cwd)
  local privacy, told, withheld = require("claude-ide.privacy"), {}, 0
  for name in names:gmatch("[^%z]+") do
    local path = cwd .. "/" .. name
    local buf = require("claude-ide.buffer").find(path)
    if privacy.denied_by(path) or buf and require("claude-ide.buffer").is_private(buf) then
      withheld = withheld + 1
    elseif #told < MOST_FILES then
      told[#told + 1] = name
    end
  end
  return told, withheld
end

local function unsaved_and_withheld(withheld)
  local notes = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buf].modified and require("claude-ide.privacy").verdict(buf) == "tell" then
      notes[#notes + 1] = ("(%s has unsaved changes that are not in it)"):format(
        vim.api.nvim_buf_get_name(buf)
      )
    end
  end
  if withheld > 0 then
    notes[#notes + 1] = ("(%d files are withheld)"):format(withheld)
  end
  return #notes > 0 and table.concat(notes, "\n") .. "\n" or ""
end

---@param at claude-ide.context.At
---@param _ string?
---@param done claude-ide.context.Done
function M.read(at, _, done)
  local git = require("claude-ide.journal.git")
  local commands = '"$@" diff --no-ext-diff --no-textconv --ignore-submodules --relative'
  local where = { cwd = at.cwd, options = OPTIONS, env = { GIT_LITERAL_PATHSPECS = "1" } }
  git.run(commands .. " --name-only -z HEAD --", where, function(names)
    if not names then
      return done(nil, "git finds no commit here to compare with")
    end
    local told, withheld = may_be_told(names, at.cwd)
    if #told == 0 then
      local why = withheld > 0 and "all that differs is withheld" or "nothing differs from the last commit"
      return done(nil, why)
    end
    local paths = table.concat(
      vim.tbl_map(function(name)
        return vim.fn.shellescape(name)
      end, told),
      " "
    )
    local script = commands .. " --no-color HEAD -- " .. paths .. " | head -c 131072"
    git.run(script, where, function(out)
      if not out or out == "" then
        return done(nil, "git could not compare")
      end
      done({ text = unsaved_and_withheld(withheld) .. out })
    end)
  end)
end

return M
