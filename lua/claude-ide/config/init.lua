-- The user's options merged over the defaults, validated once and cached.
-- Sources, later ones win: the defaults, `vim.g.claude_ide` (a table, or a function that returns one), `setup(opts)`.
-- An invalid value is reported once and replaced by its default: a typo in an init.lua must never stop Neovim.

local lazy = require("claude-ide.lazy")
local distance = lazy("claude-ide.config.distance")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")

local M = {}

---@type claude-ide.Config?
local resolved
---@class claude-ide.config.Problem
---@field option string path, "server.port"
---@field text string problem
---@field used? string value that is used instead

---@type claude-ide.config.Problem[]
local problems = {}
---@type claude-ide.Opts
local setup_opts = {}

local function name_of(entry)
  return entry[1]
end

local function describe(value)
  local text = vim.inspect(value, { newline = " ", indent = "" })
  return #text > 60 and text:sub(1, 57) .. "..." or text
end

---@param entries claude-ide.config.Entry[]
---@param path string "" or "server."
---@param config table the section, modified
---@param report fun(option: string, text: string, used?: string)
local function merge(entries, path, opts, config, report)
  local known = {}
  for _, entry in ipairs(entries) do
    local name, value, kind = entry[1], opts[entry[1]], entry.kind --[[@as claude-ide.config.Kind]]
    known[name] = true
    if value ~= nil and value ~= vim.NIL then
      if entry.fields and type(value) == "table" then
        merge(entry.fields, path .. name .. ".", value, config[name], report)
      elseif entry.fields then
        report(path .. name, "expected a table of options, got " .. describe(value))
      elseif kind.accepts(value) then
        config[name] = vim.deepcopy(value)
      else
        local used = entry.default == nil and "ignored" or "using " .. describe(entry.default)
        report(path .. name, ("expected %s, got %s"):format(kind.expects, describe(value)), used)
      end
    end
  end
  local unknown = {}
  for name in pairs(opts) do
    if not known[name] then
      unknown[#unknown + 1] = tostring(name)
    end
  end
  table.sort(unknown)
  for _, name in ipairs(unknown) do
    local nearest = distance.nearest(name, vim.tbl_map(name_of, entries))
    local hint = nearest and (", did you mean %s%s?"):format(path, nearest) or ""
    report(path .. name, "no such option" .. hint)
  end
end

---@param entries claude-ide.config.Entry[]
local function defaults_of(entries)
  local section = {}
  for _, entry in ipairs(entries) do
    if entry.fields then
      section[entry[1]] = defaults_of(entry.fields)
    else
      section[entry[1]] = vim.deepcopy(entry.default)
    end
  end
  return section
end

---A fresh copy of the defaults.
---@return claude-ide.Config
function M.defaults()
  return defaults_of(require("claude-ide.config.schema")) --[[@as claude-ide.Config]]
end

---@param report fun(option: string, text: string)
local function global_opts(report)
  local opts = vim.g.claude_ide
  if type(opts) == "function" then
    local ok, result = pcall(opts)
    if not ok then
      report("vim.g.claude_ide", "the function failed: " .. tostring(result))
      return {}
    end
    opts = result
  end
  if opts == nil then
    return {}
  elseif type(opts) ~= "table" then
    report("vim.g.claude_ide", "expected a table or a function that returns one, got " .. describe(opts))
    return {}
  end
  return opts
end

---Merges all sources. Never raises.
---@return claude-ide.Config config
---@return claude-ide.config.Problem[] found
local function resolve()
  local schema, found = require("claude-ide.config.schema"), {}
  local function report(option, text, used)
    found[#found + 1] = { option = option, text = text, used = used }
  end
  local config = M.defaults()
  merge(schema, "", global_opts(report), config, report)
  merge(schema, "", setup_opts, config, report)
  return config, found
end

local function sentence(problem)
  local used = problem.used and "; " .. problem.used or ""
  return ("%s: %s%s"):format(problem.option, problem.text, used)
end

---As much as fits on one line; the health check has the rest.
---@param found claude-ide.config.Problem[] at least one
local function line_of(found)
  local names = vim.tbl_map(function(problem)
    return problem.option
  end, found)
  local texts = {
    ("Invalid options: %s (see `:checkhealth claude-ide`)"):format(table.concat(names, ", ")),
    ("%d options are invalid: `:checkhealth claude-ide`"):format(#found),
  }
  if #found == 1 then
    local problem = found[1]
    texts = {
      ("Option %s"):format(sentence(problem)),
      ("Option %s: %s"):format(problem.option, problem.text),
      ("Option %s is invalid: `:checkhealth claude-ide`"):format(problem.option),
      ("%s is invalid: `:checkhealth claude-ide`"):format(problem.option),
      "Invalid option: `:checkhealth claude-ide`",
    }
  end
  return one_line.fitting(texts)
end

---Reports new problems in one line, since Neovim would wait for a key after a second one at startup.
---@param found claude-ide.config.Problem[]
local function tell(found)
  local known = vim.tbl_map(function(problem)
    return problem.option .. problem.text
  end, problems)
  local news = vim.tbl_filter(function(problem)
    return not vim.tbl_contains(known, problem.option .. problem.text)
  end, found)
  problems = found
  if #news > 0 then
    notice.warn(line_of(news))
  end
end

---All options. Cached until `setup()`. Read-only.
---@return claude-ide.Config
function M.get()
  if not resolved then
    local found
    resolved, found = resolve()
    tell(found)
  end
  return resolved
end

---Sets the user's options, replacing those of an earlier call. They are read when first needed, or when Neovim is idle, so that an
---init.lua does not wait for it.
---@param opts? claude-ide.Opts
function M.setup(opts)
  if opts ~= nil and type(opts) ~= "table" then
    notice.warn("setup() expects a table of options, got " .. describe(opts))
    opts = nil
  end
  setup_opts = opts or {}
  resolved = nil
  vim.schedule(M.get)
end

---Problems of the options, one sentence each, for the health check.
---@return string[]
function M.problems()
  M.get()
  return vim.tbl_map(sentence, problems)
end

return M
