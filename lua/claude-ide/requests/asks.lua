-- What waits for the user: requests of the queue, and sessions that ask only in a terminal of this Neovim. A request is answered by its
-- presenter alone; this module names it, and leads there.
local lazy = require("claude-ide.lazy")
local choose = lazy("claude-ide.ui.choose")
local notice = lazy("claude-ide.base.notice")
local own = lazy("claude-ide.terminal.own")
local phrases = lazy("claude-ide.sessions.phrases")
local requests = lazy("claude-ide.requests")
local terminal = lazy("claude-ide.terminal")
local width = lazy("claude-ide.base.width")

local M = {}

---Width of a line in the list.
local WIDTH = 100

---@param request claude-ide.Request
---@return string a line that describes the request
local function label_of(request)
  local remote = requests.remote(request)
  local described = remote and remote.describe(request) or { title = request.kind }
  local words = described.text and ("%s: %s"):format(described.title, described.text) or described.title
  if described.files then
    words = "A change to "
      .. vim
        .iter(described.files)
        :map(function(file)
          return vim.fn.fnamemodify(file.path, ":~:.")
        end)
        :join(", ")
  end
  return width.in_a_line(words, WIDTH)
end

---The sessions that ask only in their terminal, as auto mode's do.
---@param is_ours boolean the terminal is one of this Neovim
---@return claude-ide.sessions.Ours[]
local function in_terminals(is_ours)
  return vim.tbl_filter(function(ours)
    local client = ours.client
    local asked_here = requests.pending(function(request)
      return client ~= nil and request.requester.client == client.id
    end)
    local is_its = (ours.terminal ~= nil) == is_ours and not ours.other
    return ours.session.state.activity == "waiting" and is_its and #asked_here == 0
  end, own.list())
end

---@alias claude-ide.sessions.Waiting claude-ide.Request|claude-ide.sessions.Ours

---Requests, oldest first; then terminals.
---@return claude-ide.sessions.Waiting[]
function M.list()
  return vim.list_extend(requests.pending(), in_terminals(true)) --[[@as claude-ide.sessions.Waiting[] ]]
end

---@param waiting claude-ide.sessions.Waiting
---@return string? id of its session
function M.session_of(waiting)
  if waiting.kind then
    return own.of_request(waiting --[[@as claude-ide.Request]])
  end
  ---@cast waiting claude-ide.sessions.Ours
  return waiting.session.id
end

---Labels of requests: a description may compare whole files.
---@type table<claude-ide.Request, string>
local labels = setmetatable({}, { __mode = "k" })

---@param waiting claude-ide.sessions.Ours
---@return string
local function label_of_terminal(waiting)
  local words = phrases.waits(waiting.session.state.waiting_for)
  return ("Claude %s in its terminal"):format(words)
end

---@param waiting claude-ide.sessions.Waiting
---@return string
function M.label(waiting)
  if waiting.kind then
    local request = waiting --[[@as claude-ide.Request]]
    labels[request] = labels[request] or label_of(request)
    return labels[request]
  end
  return label_of_terminal(waiting --[[@as claude-ide.sessions.Ours]])
end

---@param waiting claude-ide.sessions.Waiting
local function go_to(waiting)
  if waiting.terminal then
    return terminal.show(waiting.terminal)
  end
  local ok, err = requests.focus(waiting --[[@as claude-ide.Request]])
  if not ok then
    notice.warn(err or "This request was answered.")
  end
end

---Goes to the only one, or lets the user choose.
---@param waiting claude-ide.sessions.Waiting[]
---@return boolean? ok
---@return string? err
function M.answer(waiting)
  if #waiting == 0 then
    local elsewhere = in_terminals(false)[1]
    return nil,
      elsewhere and label_of_terminal(elsewhere) .. ", outside of this Neovim."
        or "Claude is not waiting for you."
  elseif #waiting == 1 then
    go_to(waiting[1])
    return true
  end
  local options = { prompt = "Requests", format_item = M.label }
  choose.select(waiting, options, function(chosen)
    if chosen then
      go_to(chosen)
    end
  end)
  return true
end

return M
