-- The highlight groups of the unified layout, made from the colour scheme's own: its backgrounds, so that the colours of
-- the syntax stay. Groups that the person or the scheme has defined are left alone.
local M = {}

---How strong the colour of a changed word is over that of its line.
local WORD_STRENGTH = 0.35

---@type table<string, vim.api.keyset.get_hl_info> what was made here last
local made = {}
local listening = false

---@param name string
---@return vim.api.keyset.get_hl_info
local function get(name)
  return vim.api.nvim_get_hl(0, { name = name, link = false })
end

---@param under integer
---@param over integer
---@param strength number 0 to 1
---@return integer
local function blend(under, over, strength)
  local colour = 0
  for _, unit in ipairs({ 65536, 256, 1 }) do
    local a, b = math.floor(under / unit) % 256, math.floor(over / unit) % 256
    colour = colour + math.floor(a + (b - a) * strength + 0.5) * unit
  end
  return colour
end

---The background of a line where the scheme gives such lines a foreground only.
---@param name "Green"|"Red"
---@return integer
local function background(name)
  return vim.api.nvim_get_color_by_name(
    ("Nvim%s%s"):format(vim.o.background == "dark" and "Dark" or "Light", name)
  )
end

---@param line string the scheme's group for such lines
---@param accent string one whose foreground is of that colour
---@param name "Green"|"Red"
---@return vim.api.keyset.highlight line
---@return vim.api.keyset.highlight word
local function shades(line, accent, name)
  local given, text = get(line), get("DiffText")
  if given.reverse then
    return { link = line }, { link = "DiffText" }
  end
  local colour = get(accent).fg or given.fg or given.bg
  if not colour then
    return { link = line }, { link = "DiffText" }
  end
  local bg = given.bg or background(name)
  local strong = blend(bg, colour, WORD_STRENGTH)
  return { bg = bg, ctermfg = given.ctermfg, ctermbg = given.ctermbg }, {
    bg = strong,
    ctermfg = text.ctermfg,
    ctermbg = text.ctermbg,
    cterm = { bold = true },
  }
end

---@param group string
---@param definition vim.api.keyset.highlight
local function make(group, definition)
  local present = vim.api.nvim_get_hl(0, { name = group })
  if next(present) and not vim.deep_equal(present, made[group]) then
    return
  end
  vim.api.nvim_set_hl(0, group, definition)
  made[group] = vim.api.nvim_get_hl(0, { name = group })
end

function M.define()
  local added, added_word = shades("DiffAdd", "Added", "Green")
  local removed, removed_word = shades("DiffDelete", "Removed", "Red")
  make("ClaudeDiffAddedLine", added)
  make("ClaudeDiffAddedWord", added_word)
  make("ClaudeDiffRemovedLine", removed)
  make("ClaudeDiffRemovedWord", removed_word)
  make("ClaudeDiffNote", { link = "Comment" })
  if listening then
    return
  end
  listening = true
  local group = vim.api.nvim_create_augroup("claude-ide.colours", { clear = true })
  vim.api.nvim_create_autocmd(
    "ColorScheme",
    { group = group, desc = "Claude Code: colours of diffs", callback = M.define }
  )
  vim.api.nvim_create_autocmd("OptionSet", {
    group = group,
    pattern = "background",
    desc = "Claude Code: colours of diffs",
    callback = M.define,
  })
end

return M
