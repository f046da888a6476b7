-- Asks the user before code runs in a kernel, if `notebook.confirm` is set or the client may be of another machine: presenter and requester of this kind of request. The code is
-- shown in a float with keys to run or reject it; closing the float rejects.
-- Invariants: it opens only while the user is idle, and typing that continues decides nothing (ui/guard). Nothing hides in the code
-- (base/invisible_text.lua), and it runs only after all of it was visible (ui/read_through.lua).
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local document = lazy("claude-ide.notebook.document")
local guard = lazy("claude-ide.ui.guard")
local guard_window = lazy("claude-ide.ui.guard.window")
local ide_width = lazy("claude-ide.base.width")
local ide_window = lazy("claude-ide.base.window")
local invisible_text = lazy("claude-ide.base.invisible_text")
local key_list = lazy("claude-ide.ui.key_list")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local read_through = lazy("claude-ide.ui.read_through")
local requests = lazy("claude-ide.requests")
local terminals = lazy("claude-ide.terminal")
local text_float = lazy("claude-ide.ui.text_float")

local M = {}

local KIND = "run_code"
local ZINDEX = 60
local MAX_HEIGHT = 20

---@class claude-ide.notebook.Question: claude-ide.Request
---@field code string
---@field name string of the kernel
---@field who string for the user
---@field notebook? string
---@field language? string of the kernel, if it is running
---@field win? integer
---@field buf? integer

local function attention_id(question)
  return "run_code " .. question.id
end

local function take_away(question)
  guard.forget(attention_id(question))
  local win = question.win
  question.win = nil
  if question.buf then
    guard_window.forget(question.buf)
  end
  ide_window.close(win)
end

---@param outcome "accepted"|"rejected"
local function settle(question, outcome)
  requests.settle(question, { outcome = outcome })
  take_away(question)
end

---Languages whose name differs from their filetype.
local FILETYPES = { ["c++"] = "cpp", ["c++17"] = "cpp", ["c#"] = "cs", ["f#"] = "fsharp", ipython = "python" }

---Highlights code, if Neovim knows the language.
local function colour(buf, language)
  language = language:lower()
  local filetype = FILETYPES[language] or language
  local parser = vim.treesitter.language.get_lang(filetype) or filetype
  if not pcall(vim.treesitter.start, buf, parser) then
    vim.bo[buf].syntax = filetype:match("^[%w_]+$") or ""
  end
end

local function max_height()
  return math.min(MAX_HEIGHT, math.max(vim.o.lines - 6, 1))
end

local function shown(code, width)
  local lines = {}
  for _, line in ipairs(invisible_text.lines(vim.split(code, "\n", { plain = true }), invisible_text.CODE)) do
    vim.list_extend(lines, ide_width.pieces(invisible_text.characters(line), width, max_height()))
  end
  return lines
end

local function new_buffer(question, width)
  local buf ---@type integer
  local function coloured()
    colour(buf, question.language or "python")
  end
  buf = own_buffer.create({
    kind = "code",
    id = question.id,
    name = { "code", "Claude" },
    lines = shown(question.code, width),
    draw_again = coloured,
    bo = { bufhidden = "wipe", modifiable = false },
  })
  coloured()
  local keymaps = config.get().diff.keymaps
  for outcome, option in pairs({ accepted = keymaps.accept, rejected = keymaps.reject }) do
    guard_window.map(buf, key_list.keys(option), outcome .. " code", function()
      if outcome == "rejected" or read_through.may_allow() then
        settle(question, outcome)
      end
    end)
  end
  return buf
end

local function open(question)
  if question.state ~= "pending" or question.win then
    return
  end
  local width = math.max(math.min(100, vim.o.columns - 4), 1)
  local buf = new_buffer(question, width)
  local keymaps = config.get().diff.keymaps
  local keys = (" run: %s · do not: %s "):format(
    table.concat(key_list.keys(keymaps.accept), " "),
    table.concat(key_list.keys(keymaps.reject), " ")
  )
  local height = math.min(vim.api.nvim_buf_line_count(buf), max_height())
  question.win = text_float.open_centred(buf, width, height, {
    title = ide_width.cut((" %s wants to run this (%s) "):format(question.who, question.name), width),
    footer = ide_width.cut(keys, width),
    zindex = ZINDEX,
    style = "minimal",
  })
  question.buf = buf
  vim.wo[question.win][0].wrap = true
  guard_window.opened(buf)
  read_through.note(question.win, vim.api.nvim_buf_line_count(buf))
  vim.api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(question.win),
    once = true,
    desc = "Claude: do not run closed code",
    callback = function()
      question.win = nil
      settle(question, "rejected")
    end,
  })
end

---Finds out the language of the code.
---@param done fun() possibly before this returns
local function know_language(question, done)
  if question.language then
    return done()
  end
  document.wanted(question.notebook, function(wanted)
    question.language = wanted and wanted.language or "python"
    done()
  end)
end

---@type claude-ide.requests.Remote
local remote = {
  describe = function(question)
    ---@cast question claude-ide.notebook.Question
    return {
      kind = "code",
      title = "Run code in " .. question.name,
      text = question.code,
      choices = { { id = "accept", label = "Run" }, { id = "reject", label = "Do not run" } },
    }
  end,
  answer = function(question, answer)
    ---@cast question claude-ide.notebook.Question
    settle(question, answer.choice == "accept" and "accepted" or "rejected")
  end,
}

---@type claude-ide.requests.Presenter
local presenter = {
  one = "run of code",
  many = "runs of code",
  present = function(question)
    ---@cast question claude-ide.notebook.Question
    know_language(question, function()
      if question.state == "pending" then
        guard.when_idle(attention_id(question), question.name, function()
          open(question)
        end, "Claude wants to run code", question.requester.asks_here)
      end
    end)
  end,
  withdraw = function(question)
    ---@cast question claude-ide.notebook.Question
    take_away(question)
  end,
  focus = function(question)
    ---@cast question claude-ide.notebook.Question
    if question.win then
      ide_window.enter(question.win)
    else
      know_language(question, function()
        open(question)
      end)
    end
    return true
  end,
  remote = function()
    return remote
  end,
}

local register = require("claude-ide.base.once")(function()
  requests.register(KIND, presenter)
end)

---@return claude-ide.requests.Requester
local function requester_of(run)
  register()
  local session = run.session or function() end
  return requests.requester({
    name = "Claude",
    writes = "agent",
    answer = function(done, answer, err)
      local may_run = answer ~= nil and answer.outcome == "accepted"
      done(may_run, err or (not may_run and "The user did not let this run." or nil))
    end,
    tell = function() end,
    cannot_hear = function()
      return nil
    end,
    session = session,
    asks_here = function()
      local id = session()
      local terminal = id and terminals.of_session(id)
      return terminal ~= nil and terminal:is_focused()
    end,
  })
end

---@param kernel claude-ide.notebook.Kernel
---@param run claude-ide.notebook.Run
---@param done fun(may_run: boolean, err?: string) once, unless cancelled
function M.ask(kernel, run, done)
  run.request = requests.ask(KIND, requester_of(run), done, {
    code = run.code,
    who = run.confirm and "A client, perhaps of another machine," or "Claude",
    notebook = kernel.notebook,
    language = kernel.language,
    name = kernel.name,
  })
end

return M
