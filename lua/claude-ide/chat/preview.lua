-- The context that a prompt's `#…` would send: sizes at the end of the line while typing, and texts on demand.
local lazy = require("claude-ide.lazy")
local context = lazy("claude-ide.context")
local notice = lazy("claude-ide.base.notice")
local place = lazy("claude-ide.context.place")
local safely = lazy("claude-ide.base.safely")
local soon = lazy("claude-ide.base.soon")
local text_float = lazy("claude-ide.ui.text_float")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.chat.preview")
---Delay after the last key, and lifetime of cached sizes.
local PAUSE_MS, FRESH_MS = 250, 5000

---@class claude-ide.chat.preview.Known
---@field at integer
---@field words? string nil: being read

---@type table<integer, table<string, claude-ide.chat.preview.Known>> by buffer
local known = {}

local function key_of(reference)
  return reference.name .. (reference.argument and ":" .. reference.argument or "")
end

---@param buf integer
local function draw(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    local pieces = {}
    for _, reference in ipairs(line:find("#", 1, true) and context.references(line) or {}) do
      local one = known[buf] and known[buf][key_of(reference)]
      pieces[#pieces + 1] = one and one.words and ("#%s %s"):format(reference.name, one.words) or nil
    end
    if #pieces > 0 then
      vim.api.nvim_buf_set_extmark(buf, namespace, row - 1, 0, {
        virt_text = { { "  " .. table.concat(pieces, " · "), "Comment" } },
        virt_text_pos = "eol",
      })
    end
  end
end

---@param buf integer
---@param cwd string
local function look(buf, cwd)
  if not vim.api.nvim_buf_is_loaded(buf) or not known[buf] then
    return
  end
  local at ---@type claude-ide.context.At?
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, 200, false), "\n")
  for _, reference in ipairs(context.references(text)) do
    local key = key_of(reference)
    local one = known[buf][key]
    if not one or vim.uv.now() - one.at > FRESH_MS then
      at = at or place.here(cwd)
      local words = one and one.words
      known[buf][key] = { at = vim.uv.now(), words = words }
      context.read(reference, at, function(part)
        if known[buf] and vim.api.nvim_buf_is_loaded(buf) then
          known[buf][key] = { at = vim.uv.now(), words = context.size(part) }
          draw(buf)
        end
      end)
    end
  end
  draw(buf)
end

---Starts to show sizes.
---@param buf integer a prompt's, perhaps attached before: `:edit` keeps its autocommands
---@param cwd string
function M.attach(buf, cwd)
  local group = vim.api.nvim_create_augroup("claude-ide.chat.preview", { clear = false })
  vim.api.nvim_clear_autocmds({ group = group, buffer = buf })
  known[buf] = {}
  local look_soon = soon(function()
    safely.wrap("preview a prompt", look)(buf, cwd)
  end, PAUSE_MS)
  look_soon() -- it may have text already
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    group = group,
    buffer = buf,
    desc = "Claude Code: show the size of a prompt's contexts",
    callback = look_soon,
  })
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = buf,
    desc = "Claude Code: forget a deleted prompt",
    callback = function()
      M.forget(buf)
    end,
  })
end

---Forgets a prompt that is gone.
---@param buf integer
function M.forget(buf)
  known[buf] = nil
end

---Shows the context of the `#…` at the cursor, or of the next one in the line.
---@param cwd string
function M.show(cwd)
  local col = vim.fn.col(".")
  local found ---@type claude-ide.context.Reference?
  for _, reference in ipairs(context.references(vim.api.nvim_get_current_line())) do
    if not found or found.last < col then
      found = reference
    end
  end
  if not found then
    return notice.info("No `#…` on this line.")
  end
  context.read(found, place.here(cwd), function(part)
    local text = part.text or part.image and context.size(part) or part.problem or ""
    text_float.show(text, ("#%s · %s"):format(key_of(found), context.size(part)))
  end)
end

return M
