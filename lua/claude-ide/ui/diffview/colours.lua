-- Highlight groups of added and removed lines, for all layouts and other views: `ClaudeDiffAddedLine` and `ClaudeDiffRemovedLine`, with a
-- `…Word` each. Derived from the colour scheme's backgrounds, so that syntax highlighting stays visible. Groups defined by the user or
-- the scheme are kept.
local lazy = require("claude-ide.lazy")
local highlights = lazy("claude-ide.ui.highlights")

local M = {}

---Strength of a changed word's colour over its line's.
local WORD_STRENGTH = 0.35

---Minimum contrast of text.
local READABLE = 4.5

---@type table<string, vim.api.keyset.get_hl_info> groups defined by this module
local made = {}

---Longest chain of links.
local MAX_LINKS = 20

---A group of the colour scheme. Links are followed here: Neovim follows them by the 'winhighlight' of the current window, which may be
---a diff's.
---@param name string
---@return vim.api.keyset.get_hl_info
local function get(name)
  local found = vim.api.nvim_get_hl(0, { name = name })
  for _ = 1, MAX_LINKS do
    if not found.link then
      return found
    end
    found = vim.api.nvim_get_hl(0, { name = found.link })
  end
  return {}
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

---Default background of a line.
---@param name "Green"|"Red"
---@return integer
local function background(name)
  return vim.api.nvim_get_color_by_name(
    ("Nvim%s%s"):format(vim.o.background == "dark" and "Dark" or "Light", name)
  )
end

---@param colour integer
---@return number luminance by WCAG
local function luminance(colour)
  local sum = 0 ---@type number
  for unit, share in pairs({ [65536] = 0.2126, [256] = 0.7152, [1] = 0.0722 }) do
    local part = math.floor(colour / unit) % 256 / 255 ---@type number
    sum = sum + share * (part <= 0.03928 and part / 12.92 or ((part + 0.055) / 1.055) ^ 2.4)
  end
  return sum
end

---@param a integer
---@param b integer
---@return number 1 to 21
local function contrast(a, b)
  local light, dark = luminance(a), luminance(b)
  if light < dark then
    light, dark = dark, light
  end
  return (light + 0.05) / (dark + 0.05)
end

---Groups of text that may stand on a background.
local SYNTAX = {
  "Comment",
  "Constant",
  "Delimiter",
  "Function",
  "Identifier",
  "Number",
  "Operator",
  "PreProc",
  "Special",
  "Statement",
  "String",
  "Type",
}

---Whether each colour of text has enough contrast, or as much as the scheme gives it.
---@param bg integer
---@param before integer background that the scheme has for the text
---@param texts integer[]
---@return boolean
local function is_readable(bg, before, texts)
  return vim.iter(texts):all(function(text)
    return contrast(bg, text) >= math.min(READABLE, contrast(before, text))
  end)
end

---The strongest shade of a word with readable text; if there is none, one that is further away from the text.
---@param bg integer of its line
---@param colour integer
---@param text integer
---@return integer
local function word_shade(bg, colour, text)
  local texts = { text }
  for _, group in ipairs(SYNTAX) do
    texts[#texts + 1] = get(group).fg
  end
  for strength = WORD_STRENGTH, WORD_STRENGTH / 7, -WORD_STRENGTH / 7 do
    local shade = blend(bg, colour, strength)
    if is_readable(shade, bg, texts) then
      return shade
    end
  end
  local away = blend(bg, luminance(text) > luminance(bg) and 0 or 0xffffff, WORD_STRENGTH)
  return is_readable(away, bg, texts) and away or bg
end

---@param line string group of the scheme
---@param accent string group with a foreground of that colour
---@param name "Green"|"Red"
---@return vim.api.keyset.highlight line
---@return vim.api.keyset.highlight word
local function shades(line, accent, name)
  local given, text = get(line), get("DiffText")
  if given.reverse then
    return { link = line }, { link = next(text) and "DiffText" or line }
  end
  local dark = vim.o.background == "dark"
  local fg = get("Normal").fg or (dark and 0xffffff or 0)
  local bg = given.bg or background(name)
  if not given.bg and contrast(bg, fg) < READABLE then
    bg = blend(get("Normal").bg or (dark and 0 or 0xffffff), bg, WORD_STRENGTH)
  end
  local colour = get(accent).fg or given.fg or vim.api.nvim_get_color_by_name(name)
  local own ---@type integer? text colour, if the normal one is unreadable on the background
  if contrast(bg, fg) < READABLE then
    own = given.fg and contrast(bg, given.fg) >= READABLE and given.fg
      or contrast(bg, 0) > contrast(bg, 0xffffff) and 0
      or 0xffffff
  end
  -- Default to basic terminal colours.
  local ctermbg = given.ctermbg or not given.ctermfg and (name == "Green" and 2 or 1) or nil
  return { fg = own, bg = bg, ctermfg = given.ctermfg or ctermbg and 0, ctermbg = ctermbg }, {
    fg = own,
    bg = word_shade(bg, colour, own or fg),
    bold = true,
    ctermfg = text.ctermfg or given.ctermfg or 0,
    ctermbg = text.ctermbg or ctermbg,
    cterm = { bold = true, underline = not text.ctermbg or nil },
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

---Groups whose text is kept readable, with those of the scheme that they link to, by the group that they stand on. Many schemes have
---comments, keys and signs in colours for another background.
---@type table<string, table<string, string>>
local readable = {}

---@param on string
---@param groups table<string, string>
local function define_readable(on, groups)
  local normal, surface = get("Normal"), get(on)
  local bg, text = surface.bg or normal.bg, surface.fg or normal.fg
  if not bg or not text or surface.reverse then
    return
  end
  for group, link in pairs(groups) do
    local present, given = vim.api.nvim_get_hl(0, { name = group }), get(link)
    local is_ours = present.link == link or made[group] and vim.deep_equal(present, made[group])
    if is_ours and given.fg and not given.bg and not given.reverse then
      local fg, least = given.fg, math.min(READABLE, contrast(bg, text)) ---@type integer, number
      for step = 1, 10 do
        if contrast(bg, fg) >= least then
          break
        end
        fg = blend(given.fg, text, step / 10)
      end
      local look = { fg = fg, ctermfg = given.ctermfg, bold = given.bold, italic = given.italic }
      vim.api.nvim_set_hl(0, group, fg == given.fg and { link = link } or look)
      made[group] = vim.api.nvim_get_hl(0, { name = group })
    end
  end
end

---Keeps the text of groups readable, now and after each change of the colour scheme.
---@param on string group of the background
---@param groups table<string, string> links to groups of the scheme
function M.keep_readable(on, groups)
  readable[on] = groups
  define_readable(on, groups)
end

---'winhighlight' for diff mode: on the left a line without counterpart is removed, not added.
---@param side claude-ide.diffview.Side
---@return string[] parts of 'winhighlight'
function M.of_side(side)
  local own = side == "left" and "Removed" or "Added"
  local groups = {
    ("DiffAdd:ClaudeDiff%sLine"):format(own),
    "DiffChange:ClaudeDiffChangedLine",
    "DiffText:ClaudeDiffChangedWord",
    "DiffDelete:ClaudeDiffFiller",
  }
  if vim.fn.hlexists("DiffTextAdd") == 1 then
    groups[#groups + 1] = ("DiffTextAdd:ClaudeDiff%sWord"):format(own)
  end
  return groups
end

local listen = require("claude-ide.base.once")(function()
  local opts = { desc = "Claude Code: define the colors of diffs", callback = M.define }
  opts.group = vim.api.nvim_create_augroup("claude-ide.colours", { clear = true })
  vim.api.nvim_create_autocmd("ColorScheme", opts)
  opts.pattern = "background"
  vim.api.nvim_create_autocmd("OptionSet", opts)
end)

---Defines the groups, now and after each change of the colour scheme.
function M.define()
  local added, added_word = shades("DiffAdd", "Added", "Green")
  local removed, removed_word = shades("DiffDelete", "Removed", "Red")
  make("ClaudeDiffAddedLine", added)
  make("ClaudeDiffAddedWord", added_word)
  make("ClaudeDiffRemovedLine", removed)
  make("ClaudeDiffRemovedWord", removed_word)
  make("ClaudeDiffNote", { link = "Comment" })
  make("ClaudeDiffFiller", { link = "NonText" })
  local changed, text = get("DiffChange"), get("DiffText")
  make("ClaudeDiffChangedLine", next(changed) and { link = "DiffChange" } or { link = "CursorLine" })
  make("ClaudeDiffChangedWord", next(text) and { link = "DiffText" } or added_word)
  highlights.define_shared()
  -- Before 0.11 ours have no colour of their own.
  readable[vim.fn.has("nvim-0.11") == 1 and "WinBar" or "Normal"] = highlights.IN_WINBARS
  for on, groups in pairs(readable) do
    define_readable(on, groups)
  end
  listen()
end

return M
