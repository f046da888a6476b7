-- Shows two texts of a file side by side in a tab page. Neither can be edited.

local lazy = require("claude-ide.lazy")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local change_keys = lazy("claude-ide.ui.diffview.change_keys")
local diffview_comparison = lazy("claude-ide.ui.diffview.comparison")
local key = lazy("claude-ide.ui.key")
local key_list = lazy("claude-ide.ui.key_list")
local layout = lazy("claude-ide.ui.diffview.layout")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local pair = lazy("claude-ide.ui.diffview.pair")
local quietly = lazy("claude-ide.ui.quietly")
local safely = lazy("claude-ide.base.safely")
local winbar_text = lazy("claude-ide.ui.winbar_text")
local windows = lazy("claude-ide.ui.diffview.windows")

local M = {}

---@class claude-ide.diffview.TwoTexts
---@field path string of the file
---@field before string? nil: there was no file
---@field after string?
---@field map? fun(buf: integer) maps keys of the caller
---@field says { before: string, after: string, back: string } what the texts are, and where `q` leads

local GROUP = "claude-ide.two_texts."

local function lines_of(text)
  if not text or text == "" then
    return {}
  end
  local lines = vim.split(text, "\n", { plain = true })
  if lines[#lines] == "" then
    lines[#lines] = nil
  end
  for at, line in ipairs(lines) do
    lines[at] = line:gsub("\r$", ""):gsub("[%z\n]", " ")
  end
  return lines
end

---@param side "before"|"after"
---@param path string
---@param lines string[]
---@return integer buf
local function make(side, path, lines)
  return own_buffer.create_side({
    kind = "edit",
    name = { path, side },
    lines = lines,
    bo = { modifiable = false, filetype = vim.filetype.match({ filename = path, contents = lines }) or "" },
  }, function()
    return path -- which has other lines by now
  end)
end

---@param path string
---@param what string
---@param keys boolean
---@return string
local function winbar(path, what, keys)
  local part = winbar_text.part
  local text = part("ClaudeDiffFile", " " .. vim.fs.basename(path))
    .. "%<"
    .. part("ClaudeDiffSide", " · " .. what)
  if keys then
    text = text
      .. " %="
      .. part("ClaudeDiffKey", " ]c")
      .. part("ClaudeDiffHint", " next ")
      .. part("ClaudeDiffKey", " q")
      .. part("ClaudeDiffHint", " back ")
  end
  return text
end

---@param view claude-ide.diffview.View
local function close(view)
  pcall(vim.api.nvim_del_augroup_by_name, GROUP .. view.bufs.right)
  windows.close(view, {
    delete = function()
      for _, buf in pairs(view.bufs) do
        own_buffer.delete(buf)
      end
    end,
  })
end

---@param texts claude-ide.diffview.TwoTexts
---@param before string[]
---@param after string[]
---@param comparison claude-ide.diffview.Comparison
---@return claude-ide.diffview.View
local function view_of(texts, before, after, comparison)
  local bufs = { left = make("before", texts.path, before), right = make("after", texts.path, after) }
  local size = bytes.size
  local needs = pair.needs_one_window
  local list, format = comparison.hunks, { empty = #after == 0 }
  local view = {
    bufs = bufs,
    wins = {},
    hunks = { buf = bufs.right, format = format, old = before, list = list, scheduled = false },
    path = texts.path,
    old_path = texts.path,
    layout = layout.preferred(),
    one_window = needs(list, #before, #after, size(before) + size(after)),
    place = "tab",
    winbar = function(side)
      local is_before = side == "left"
      local what = not is_before and texts.says.after or texts.before and texts.says.before or "did not exist"
      return winbar(texts.path, what, not is_before)
    end,
  }
  return view --[[@as claude-ide.diffview.View]]
end

---Shows both texts.
---@param texts claude-ide.diffview.TwoTexts
function M.show(texts)
  local before, after = lines_of(texts.before), lines_of(texts.after)
  local function guarded(fn)
    return safely.wrap("show two texts of a file", fn)
  end
  diffview_comparison.run(before, after, function(comparison)
    local view = quietly.run(function()
      return view_of(texts, before, after, comparison)
    end)
    windows.open(view, true)
    for _, buf in pairs(view.bufs) do
      own_buffer.highlight(buf)
      key.map(buf, "q", "return to " .. texts.says.back, function()
        close(view)
      end)
      key_list.map(buf, key_list.option("diff", "removed"), function()
        change_keys.show_removed(view)
      end)
      if texts.map then
        texts.map(buf)
      end
    end
    -- One side alone is useless.
    vim.api.nvim_create_autocmd("WinClosed", {
      group = vim.api.nvim_create_augroup(GROUP .. view.bufs.right, { clear = true }),
      pattern = vim.tbl_map(tostring, vim.tbl_values(view.wins)),
      once = true,
      desc = "Claude Code: close both sides together",
      callback = function()
        windows.note_loss(view)
        vim.schedule(function()
          close(view)
        end)
      end,
    })
  end, guarded)
end

return M
