-- Completion in a chat's prompt: commands after `/`, files after `@`, editor context after `#`. In a comment: the last two.
local lazy = require("claude-ide.lazy")
local context = lazy("claude-ide.context")
local links = lazy("claude-ide.chat.acp.links")
local log = lazy("claude-ide.base.log")
local open_prompts = lazy("claude-ide.chat.open_prompts")
local reference = lazy("claude-ide.context.reference")
local retry = lazy("claude-ide.base.retry")
local safely = lazy("claude-ide.base.safely")
local width = lazy("claude-ide.base.width")

local M = {}

---@param line string up to the cursor
---@return string? mark "/" or "@"
---@return integer? from 1-based byte of the word after it
local function context_of(line)
  local before, command = line:match("^(%s*/)([%w_:-]*)$")
  if before and command then
    return "/", #before + 1
  end
  local last = line:match("%S*$") or ""
  local start = #line - #last
  local file = last:match("@()[^@]*$") --[[@as integer?]]
  if file and not last:sub(1, file - 2):find("[%w]$") then
    return "@", start + file
  end
end

---@param chat claude-ide.chat.Chat
---@param word string
---@return table[] items
local function commands(chat, word)
  local items = {}
  for _, command in ipairs(chat.commands) do
    local name = command.name:lower()
    -- Names like `__this` are internal to the CLI (2.1.329); its terminal omits them, too.
    local is_inner = vim.startswith(name, "__") and not vim.startswith(word, "__")
    if vim.startswith(name, word:lower()) and not is_inner then
      local about = command.description
      items[#items + 1] = {
        word = command.name,
        menu = width.in_a_line(about, 50),
        info = about,
      }
    end
  end
  table.sort(items, function(left, right)
    return left.word < right.word
  end)
  return items
end

---@param buf integer
---@param from integer
---@param items table[]
local function show(buf, from, items)
  local is_here = vim.api.nvim_get_current_buf() == buf and vim.api.nvim_get_mode().mode:find("^i")
  if not is_here or #items == 0 then
    return
  end
  -- The word just chosen is not offered again.
  local word = vim.api.nvim_get_current_line():sub(from, vim.fn.col(".") - 1)
  if #items > 1 or items[1].word ~= word then
    -- The local value exists since Neovim 0.11; before, it is the global one.
    local of = { scope = "local" }
    local before = vim.api.nvim_get_option_value("completeopt", of)
    vim.api.nvim_set_option_value("completeopt", "menuone,noinsert,noselect", of)
    local ok, err = pcall(vim.fn.complete, from, items)
    vim.api.nvim_set_option_value("completeopt", before, of)
    if not ok then
      log.debug("nothing can be completed now: %s", err)
    end
  end
end

---The CLI lists no files until it has scanned the project.
local PATIENCE_MS = 2000

---@param path string
---@return string
local function as_it_is(path)
  return path
end

---@param cwd string
---@param word string
---@param written fun(path: string): string formats a path
---@return table[] items
local function files_of(cwd, word, written)
  return vim.tbl_map(function(path)
    return { word = written(path) }
  end, links.complete(cwd, word))
end

---Completes files: the agent lists them as for its own prompt.
---@param chat claude-ide.chat.Chat
---@param buf integer
---@param from integer
---@param word string
---@param written? fun(path: string): string formats a path
local function files(chat, buf, from, word, written)
  written = written or as_it_is
  if not chat.can.find_files then
    return show(buf, from, files_of(chat.cwd, word, written))
  end
  local function look(answer)
    chat:ask("find_files", { query = word }, function(found)
      local items = {}
      for _, path in ipairs(found and found.files or {}) do
        items[#items + 1] = { word = written(path) }
      end
      local line = vim.api.nvim_get_current_buf() == buf
        and vim.api.nvim_get_current_line():sub(1, vim.fn.col(".") - 1)
      if line and line:sub(from) == word and (#items > 0 or not chat.knows_files) then
        answer(#items > 0 and items or nil)
      end
    end)
  end
  retry.until_found(look, PATIENCE_MS, function(items)
    if items then
      chat.knows_files = true
      show(buf, from, items)
    end
  end)
end

---@param name string of a kind of context with a file
---@return fun(path: string): string
local function written_for(name)
  return function(path)
    return reference.argument_of(path) .. (name == "lines" and ":" or "")
  end
end

---Completes the word before the cursor.
---@param buf integer
function M.now(buf)
  local prompt = open_prompts.of(buf)
  local line = vim.api.nvim_get_current_line():sub(1, vim.fn.col(".") - 1)
  local name, path, at = context.file_of(line)
  if prompt and name and path and at then
    return files(prompt.chat, buf, at, path, written_for(name))
  end
  local items, start = context.complete(line, prompt and prompt.chat.cwd or "")
  if prompt and items and start then
    return show(buf, start, items)
  end
  local mark, from = context_of(line)
  if not prompt or not mark or not from then
    return
  end
  local word = line:sub(from)
  if mark == "/" and vim.fn.line(".") == 1 then
    show(buf, from, commands(prompt.chat, word))
  elseif mark == "@" then
    files(prompt.chat, buf, from, word)
  end
end

---For 'completefunc' and 'omnifunc'.
---@param find_start integer
---@param base string
function M.func(find_start, base)
  local buf = vim.api.nvim_get_current_buf()
  local prompt = open_prompts.of(buf)
  local line = vim.api.nvim_get_current_line():sub(1, vim.fn.col(".") - 1)
  local mark, from = context_of(line)
  local items, start = context.complete(line, prompt and prompt.chat.cwd or "")
  if find_start == 1 then
    return start and start - 1 or mark == "/" and from and from - 1 or -3
  elseif mark == "/" then
    return prompt and commands(prompt.chat, base) or {}
  end
  -- Neovim has removed the word from the line.
  return context.complete(line .. base, prompt and prompt.chat.cwd or "") or items or {}
end

---Kinds of context that a text which goes to any agent cannot have.
---@param item { word: string }
---@return boolean
local function is_text(item)
  return item.word ~= "image" and not vim.startswith(item.word, "prompt:")
end

---Completes files and context in a text without a chat.
---@param buf integer
---@param cwd string
local function in_text(buf, cwd)
  local line = vim.api.nvim_get_current_line():sub(1, vim.fn.col(".") - 1)
  local name, path, at = context.file_of(line)
  if name and path and at then
    return show(buf, at, files_of(cwd, path, written_for(name)))
  end
  local items, start = context.complete(line, cwd)
  if items and start then
    return show(buf, start, vim.tbl_filter(is_text, items))
  end
  local mark, from = context_of(line)
  if mark == "@" and from then
    show(buf, from, files_of(cwd, line:sub(from), as_it_is))
  end
end

---@param buf integer perhaps attached before: `:edit` keeps its autocommands
---@param cwd? string of a text without a chat, in which files and context are completed
function M.attach(buf, cwd)
  local group = vim.api.nvim_create_augroup("claude-ide.chat.complete", { clear = false })
  vim.api.nvim_clear_autocmds({ group = group, buffer = buf })
  vim.api.nvim_create_autocmd("TextChangedI", {
    group = group,
    buffer = buf,
    desc = "Claude Code: complete commands, files and editor context",
    callback = safely.wrap("complete a prompt", function()
      if cwd then
        in_text(buf, cwd)
      else
        M.now(buf)
      end
    end),
  })
end

return M
