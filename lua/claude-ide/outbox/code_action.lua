-- "Fix with Claude", "Explain with Claude" and "Resolve with Claude" among `vim.lsp.buf.code_action()`: an in-process language server.
-- While a CLI is connected it serves the buffer that the user is in, if a language server does: elsewhere a configuration may take any
-- client for one. It has one client per position encoding, because Neovim warns of buffers whose clients differ.
-- Invariants: it gets no text and no changes. No `LspAttach` is emitted for it, so users' configurations do not apply to it; a `LspDetach`
-- only by Neovim, for a buffer that is closed. It offers nothing of withheld files and nothing without the user (light bulbs, actions on
-- save), and sends nothing before an action is chosen.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local diagnostics = lazy("claude-ide.language.diagnostics")
local environment = lazy("claude-ide.terminal.environment")
local kept_words = lazy("claude-ide.ui.kept_words")
local lsp = lazy("claude-ide.base.lsp")
local notice = lazy("claude-ide.base.notice")
local option = lazy("claude-ide.base.option")
local outbox = lazy("claude-ide.outbox")
local paths = lazy("claude-ide.base.path")
local position = lazy("claude-ide.base.position")
local privacy = lazy("claude-ide.server.privacy")
local route_to = lazy("claude-ide.outbox.route")
local safely = lazy("claude-ide.base.safely")
local server = lazy("claude-ide.server")
local sessions = lazy("claude-ide.sessions")
local terminals = lazy("claude-ide.terminal")

local M = {}

local api = vim.api

---@alias claude-ide.code_action.Encoding "utf-8"|"utf-16"|"utf-32" of positions

local COMMAND = "claude-ide.prompt"
---`CodeActionTriggerKind.Invoked` of LSP 3.17.
local INVOKED = 1
---@type table<integer, string>
local SEVERITIES = { "error", "warning", "info", "hint" }
local MOST_DIAGNOSTICS, MOST_MESSAGE_BYTES, TITLE_WIDTH = 20, 1000, 60
local RESOLVE = "Resolve this merge conflict: keep what both sides intend, and remove the markers."
---Limits for unsaved text.
local MOST_LINES, MOST_TEXT_BYTES = 200, 8000
---Limit for each part of a conflict, before and after the cursor.
local MOST_CONFLICT_LINES = 2000

---Why no terminal of this Neovim can get a prompt.
---@param terminal? claude-ide.terminal.Session
---@return string
local function problem_of(terminal)
  if terminal and terminal:bufnr() then
    return sessions.problem() and "What Claude is doing cannot be seen"
      or "Claude has not begun a session yet"
  elseif terminal or #server.clients() > 0 then
    return "Claude runs in another terminal"
  end
  return "Claude is not running (`:Claude` starts it)"
end

---@param text string
local function say(text)
  local terminal = terminals.current()
  local live = terminal and terminal:live()
  if not terminal or not live then
    return kept_words.give_back(text, problem_of(terminal))
  end
  local route, why = route_to.of(live.id, terminal)
  if not route then
    why = why or "it cannot be delivered"
    return kept_words.give_back(text, why:sub(1, 1):upper() .. why:sub(2))
  end
  local is_over = false
  outbox.send({
    kind = "action",
    session = live.id,
    terminal = terminal,
    text = text,
    ran = true,
    done = function(err)
      is_over = true
      if not err and not terminal:is_visible() then
        notice.info("Sent to Claude.")
      end
    end,
  })
  local waiting = outbox.list(live.id)
  local entry = not is_over and waiting[#waiting]
  if entry and not entry.behind then -- the outbox itself says that text stands at the prompt
    notice.info(("Not sent yet: %s."):format(entry.waits_for))
  end
end

---@param range lsp.Range
---@return integer first from 0
---@return integer last inclusive
---@return boolean is_selection
local function lines_of(range)
  local first = range.start.line --[[@as integer]]
  local last = range["end"].line --[[@as integer]]
  local is_selection = first ~= last or range.start.character ~= range["end"].character
  if last > first and range["end"].character == 0 then
    last = last - 1
  end
  return first, last, is_selection
end

---@param buf integer
---@param first integer from 0
---@param last integer
---@return string `@lua/a.lua#L3-9`
local function mention_of(buf, first, last)
  local live = terminals.session()
  local path = paths.relative(api.nvim_buf_get_name(buf), live and live.cwd or environment.folder())
  local lines = first == last and first + 1 or ("%d-%d"):format(first + 1, last + 1)
  local shown = ("%s#L%s"):format(path, lines)
  return shown:find("%s") and ('@"%s"'):format(shown) or "@" .. shown
end

---The lines as they are in the editor, if the file may differ.
---@param buf integer
---@param first integer from 0
---@param last integer
---@return string
local function unsaved_text(buf, first, last)
  if not vim.bo[buf].modified then
    return ""
  end
  local lines = api.nvim_buf_get_lines(buf, first, math.min(last + 1, first + MOST_LINES), false)
  local text = position.valid(position.truncate(table.concat(lines, "\n"), MOST_TEXT_BYTES))
  local fence = "```"
  while text:find(fence, 1, true) do
    fence = fence .. "`"
  end
  return ("\n\nThe file has unsaved changes in the editor. Its text from line %d on is there:\n%s\n%s\n%s"):format(
    first + 1,
    fence,
    text,
    fence
  )
end

---@param buf integer
---@param first integer from 0
---@param last integer
---@return vim.Diagnostic[] worst first
local function diagnostics_on(buf, first, last)
  local found = vim.tbl_filter(function(each)
    return each.lnum <= last and (each.end_lnum or each.lnum) >= first
  end, vim.diagnostic.get(buf))
  table.sort(found, diagnostics.is_worse)
  return found
end

---The merge conflict around a line, with its markers.
---@param buf integer
---@param row integer from 0
---@return integer? first from 0
---@return integer? last inclusive
local function conflict_at(buf, row)
  local from = math.max(row - MOST_CONFLICT_LINES, 0)
  local lines = api.nvim_buf_get_lines(buf, from, row + MOST_CONFLICT_LINES, false)
  local here = row - from + 1
  local first, is_divided ---@type integer?, boolean
  for at, line in ipairs(lines) do
    local marks = line:match("^[<=>]+")
    local marker = marks and #marks == 7 and marks:sub(1, 1) or nil
    if marker == "<" and at <= here then
      first, is_divided = at, false
    elseif marker == "<" and not first then
      return nil
    elseif marker == "=" then
      is_divided = true
    elseif marker == ">" then
      if first and is_divided and at >= here then
        return from + first - 1, from + at - 1
      end
      first = nil
    end
  end
end

---@param diagnostic vim.Diagnostic
---@return string on one line
local function message_of(diagnostic)
  local message = vim.trim((diagnostics.message(diagnostic):gsub("[%s%c]+", " ")))
  return position.valid(position.truncate(message, MOST_MESSAGE_BYTES))
end

---@param found vim.Diagnostic[] not empty
---@return string title
---@return string request
local function fix(found)
  local lines = { "Fix this:" }
  for index = 1, math.min(#found, MOST_DIAGNOSTICS) do
    local each = found[index]
    local source = each.source and (" (%s)"):format(each.source) or ""
    local severity = SEVERITIES[each.severity or 1]
    lines[#lines + 1] = ("- line %d, %s: %s%s"):format(each.lnum + 1, severity, message_of(each), source)
  end
  local which = message_of(found[1])
  if vim.fn.strchars(which) > TITLE_WIDTH then
    which = vim.fn.strcharpart(which, 0, TITLE_WIDTH - 1) .. "…"
  end
  local more = #found > 1 and (" (and %d more)"):format(#found - 1) or ""
  return ("Fix with Claude: %s%s"):format(which, more), table.concat(lines, "\n")
end

---@param params lsp.CodeActionParams
---@return lsp.CodeAction[]
local function offered(params)
  local context = params.context or {}
  local is_asked = context.triggerKind == INVOKED and not (context.only and context.only[1])
  if not is_asked or not config.get().code_actions then
    return {}
  end
  local buf = vim.uri_to_bufnr(params.textDocument.uri)
  if privacy.verdict(buf) ~= "tell" then
    return {}
  end
  sessions.attach() -- what is chosen is for one
  local first, last, is_selection = lines_of(params.range)
  local actions, found = {}, diagnostics_on(buf, first, last)
  ---@param title string
  ---@param request string
  ---@param from integer from 0
  ---@param to integer inclusive
  local function offer(title, request, from, to)
    local text = ("%s %s%s"):format(mention_of(buf, from, to), request, unsaved_text(buf, from, to))
    local command = { title = title, command = COMMAND, arguments = { { buf = buf, text = text } } }
    actions[#actions + 1] = { title = title, command = command }
  end
  if found[1] then
    local title, request = fix(found)
    offer(title, request, first, last)
  end
  if is_selection then
    offer("Explain with Claude", "Explain this.", first, last)
  end
  local begins, ends = conflict_at(buf, first)
  if begins and ends then
    offer("Resolve with Claude", RESOLVE, begins, ends)
  end
  return actions
end

---@param params { command: string, arguments: { buf: integer, text: string }[] } as `offered` made them
local function execute(params)
  local chosen = params.arguments[1]
  if privacy.verdict(chosen.buf) ~= "tell" then
    return notice.warn("Not sent: the buffer is gone, or private.")
  end
  say(chosen.text)
end

---Leaves a buffer, unless by the client of an encoding.
---@param buf integer
---@param encoding? claude-ide.code_action.Encoding
---@return boolean left false: that client serves it
local function leave(buf, encoding)
  local is_left = true
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buf, name = lsp.OWN })) do
    if client.offset_encoding == encoding then
      is_left = false
    else
      option.without_events("LspDetach", function()
        vim.lsp.buf_detach_client(buf, client.id)
      end)
    end
  end
  return is_left
end

---@param encoding? claude-ide.code_action.Encoding of the clients, default: all
local function leave_all(encoding)
  for _, client in ipairs(vim.lsp.get_clients({ name = lsp.OWN })) do
    for buf in pairs(vim.deepcopy(client.attached_buffers)) do
      if not encoding or client.offset_encoding == encoding then
        leave(buf)
      end
    end
  end
end

---The server, for `vim.lsp.start`.
---@param encoding claude-ide.code_action.Encoding
local function server_of(encoding)
  local answers = {
    initialize = function()
      local capabilities = {
        codeActionProvider = true,
        executeCommandProvider = { commands = { COMMAND } },
        positionEncoding = encoding,
        textDocumentSync = { openClose = false, change = 0 },
      }
      return { capabilities = capabilities, serverInfo = { name = lsp.OWN } }
    end,
    ["textDocument/codeAction"] = safely.wrap("offer code actions", offered),
    ["workspace/executeCommand"] = safely.wrap("run a code action", execute),
  }
  ---@param dispatchers vim.lsp.rpc.Dispatchers
  return function(dispatchers)
    local is_closing, last_id = false, 0
    local function close()
      if not is_closing then
        is_closing = true
        leave_all(encoding) -- Neovim would attach a client that it restarts to these buffers
        vim.schedule(function()
          dispatchers.on_exit(0, 0)
        end)
      end
    end
    return {
      request = function(method, params, callback, on_reply)
        last_id = last_id + 1
        local id, answer = last_id, answers[method]
        local result = answer and answer(params)
        local function reply()
          callback(nil, result)
          if on_reply then
            on_reply(id)
          end
        end
        if method == "initialize" then
          reply() -- at once: the client attaches where `serve` hides it
        else
          vim.schedule(reply)
        end
        return true, id
      end,
      notify = function(method)
        if method == "exit" then
          close()
        end
        return true
      end,
      is_closing = function()
        return is_closing
      end,
      terminate = close,
    }
  end
end

---@param buf integer
---@param encoding claude-ide.code_action.Encoding
local function serve(buf, encoding)
  option.without_events("LspAttach", function()
    vim.lsp.start({ name = lsp.OWN, cmd = server_of(encoding), offset_encoding = encoding }, {
      bufnr = buf,
      reuse_client = function(client)
        local is_alive = not client.rpc.is_closing()
        return client.name == lsp.OWN and client.offset_encoding == encoding and is_alive
      end,
    })
  end)
end

---Serves the current buffer, or no longer.
local function refresh()
  if not package.loaded["vim.lsp"] then
    return
  end
  local buf = api.nvim_get_current_buf()
  local beside = config.get().code_actions and #server.clients() > 0 and lsp.clients(buf)[1]
  local is_served = beside and privacy.verdict(buf) == "tell"
  local encoding = is_served and beside.offset_encoding --[[@as claude-ide.code_action.Encoding?]] or nil
  if leave(buf, encoding) and encoding then
    serve(buf, encoding)
  end
end

---The clients stay without a CLI: an open list of actions may name them.
local function leave_without_cli()
  if package.loaded["vim.lsp"] and #server.clients() == 0 then
    leave_all()
  end
end

---Follows the CLIs, the language servers and the user. Idempotent.
M.attach = require("claude-ide.base.once")(function()
  local group = api.nvim_create_augroup("claude-ide.code_action", { clear = true })
  api.nvim_create_autocmd({ "LspAttach", "LspDetach" }, {
    group = group,
    desc = "Claude Code: code actions beside a language server",
    callback = vim.schedule_wrap(refresh),
  })
  api.nvim_create_autocmd("BufEnter", {
    group = group,
    desc = "Claude Code: code actions in the current buffer",
    callback = refresh,
  })
  bus.on("client_connected", refresh)
  bus.on("client_disconnected", leave_without_cli)
  bus.on("server_stopped", leave_without_cli)
  bus.on("privacy_changed", vim.schedule_wrap(refresh)) -- a variable is deleted after its watchers were called
  refresh()
end)

return M
