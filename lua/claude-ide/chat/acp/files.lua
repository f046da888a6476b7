-- An agent's file access: it reads the user's buffers, and its writes are proposals.
-- Invariants: withheld files are not read. Nothing is written without approval, either of the write or of an earlier permission request
-- with the same contents.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local buffer_disk = lazy("claude-ide.editor.buffer.disk")
local changed = lazy("claude-ide.chat.acp.changed")
local current_text = lazy("claude-ide.edits.proposal.current_text")
local edit = lazy("claude-ide.chat.edit")
local file = lazy("claude-ide.base.file")
local format = lazy("claude-ide.editor.buffer.format")
local log = lazy("claude-ide.base.log")
local paths = lazy("claude-ide.base.path")
local position = lazy("claude-ide.base.position")
local privacy = lazy("claude-ide.server.privacy")
local safely = lazy("claude-ide.base.safely")
local transaction = lazy("claude-ide.edits.journal.transaction")
local unapproved = lazy("claude-ide.edits.unapproved")
local write = lazy("claude-ide.edits.journal.write")

local M = {}

local MOST_BYTES = 16 * 1024 * 1024

---@alias claude-ide.chat.acp.FilePart { path: string, line?: integer, limit?: integer, most_bytes: integer, missing_is_empty?: boolean }

---@param reply claude-ide.chat.Reply
---@param doing string for the log
---@return fun(trace: string) failed
local function answer_failure(reply, doing)
  return function(trace)
    log.error("%s failed: %s", doing, trace)
    reply(nil, "failed", "the editor could not do it")
  end
end

---Makes a function that answers instead of raising an error: otherwise the agent would wait forever.
---@param reply claude-ide.chat.Reply
---@param doing string for the log
---@param fn function
---@return function
function M.anyway(reply, doing, fn)
  return safely.catch(fn, answer_failure(reply, doing))
end

---Accepted contents before they are written: an agent requests permission first, and then has the editor write. Written once, in the turn
---of the acceptance, if the file is still as the user saw it.
---@class claude-ide.chat.acp.Accepted
---@field bytes string new contents
---@field text string as the agent knows them
---@field stamp? string of the file; nil: no such file

---@param chat claude-ide.chat.Chat
---@param path string
---@param bytes string
---@param text? string if the bytes have another encoding
function M.accept(chat, path, bytes, text)
  local stamp = file.key_now(path)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  acp.accepted[paths.normalize(path)] = { bytes = bytes, text = text or bytes, stamp = stamp }
end

---The bytes of accepted contents: with the file's line endings and byte order mark.
---@param chat claude-ide.chat.Chat
---@param path string
---@param contents string
---@return string? bytes
local function take_accepted(chat, path, contents)
  local key, acp = paths.normalize(path), chat.acp --[[@as claude-ide.chat.acp.State]]
  local accepted = acp.accepted[key]
  local is_it = accepted
    and buffer_bytes.same_text(accepted.text, contents)
    and accepted.stamp == file.key_now(path)
  if is_it then
    acp.accepted[key] = nil
    return accepted.bytes
  end
end

---@param path string
---@param answer claude-ide.chat.Reply
---@return boolean ok
local function is_usable(path, answer)
  if path:sub(1, 1) ~= "/" then
    answer(nil, "invalid", "the path is not absolute")
    return false
  elseif path:find("\0", 1, true) then
    answer(nil, "invalid", "the path has a NUL in it")
    return false
  end
  local glob = privacy.denied_by(path)
  if glob then
    answer(nil, "failed", ("%s is private"):format(path))
  end
  return not glob
end

---@param text string
---@param line? integer 1-based
---@param limit? integer
---@return string
local function part_of(text, line, limit)
  if not line and not limit then
    return text
  end
  local from = 1
  for _ = 2, math.max(line or 1, 1) do
    local stop = text:find("\n", from, true)
    if not stop then
      return ""
    end
    from = stop + 1
  end
  local last = limit and from - 1 or #text
  for _ = 1, limit or 0 do
    local stop = text:find("\n", last + 1, true)
    last = stop or #text
    if not stop then
      break
    end
  end
  return text:sub(from, last)
end

---@param _ claude-ide.chat.Chat
---@param ask claude-ide.chat.Ask
---@param answer claude-ide.chat.Reply
---@param _request claude-ide.chat.Request
---@param give_file fun(part: claude-ide.chat.acp.FilePart) lets the library read the file and answer
function M.read(_, ask, answer, _request, give_file)
  local path = ask.path
  if not is_usable(path, answer) then
    return
  end
  local buf = buffer.loaded_file(path)
  if buf and privacy.verdict(buf) == "tell" then
    buffer_disk.reload(buf)
    local text = part_of(buffer.text(buf), ask.line, ask.limit)
    if #text > MOST_BYTES then
      return answer(nil, "failed", ("%s is too large: ask for a part of it"):format(path))
    end
    return answer({ content = position.valid(text) })
  elseif privacy.withholds(path) then
    return answer(nil, "failed", ("%s is private"):format(path))
  end
  give_file({
    path = path,
    line = ask.line,
    limit = ask.limit,
    most_bytes = MOST_BYTES,
    missing_is_empty = ask.missing_is_empty,
  })
end

---A write would put a file where the link is, or make one where it leads: neither was shown.
---@param path string
---@return string? problem
local function is_dangling(path)
  local stat = vim.uv.fs_lstat(path)
  if stat and stat.type == "link" and not vim.uv.fs_stat(path) then
    return "it is a link to a file that does not exist"
  end
end

---Writes accepted contents.
---@param chat claude-ide.chat.Chat
---@param path string
---@param contents string
---@return boolean? ok
---@return string? err
function M.put(chat, path, contents)
  local problem = is_dangling(path)
  if problem then
    return nil, problem
  end
  local buf = buffer.loaded_file(path)
  local approved = unapproved.approved
  if buf and vim.bo[buf].modified then
    -- The buffer keeps its unsaved changes: the diff has computed its text.
    local ok, err = write.to_disk(path, contents)
    if ok then
      approved(chat, path)
    end
    return ok, err
  end
  local landing = transaction.begin(nil, true)
  local ok, err = transaction.write(landing, path, contents)
  if ok then
    transaction.finish(landing)
    approved(chat, path)
  else
    transaction.take_back(landing)
  end
  return ok, err
end

---Encodes a text in its file's encoding, which the agent does not know.
---@param path string
---@param text string
---@param bytes? string the file's contents
---@return string bytes UTF-8 if the file has no other encoding, or one that cannot represent the text
function M.in_its_encoding(path, text, bytes)
  local buf = buffer.loaded_file(path)
  local encoding = buf and vim.bo[buf].fileencoding or select(2, buffer_bytes.text(bytes or ""))
  return format.encoded(text, encoding) or text
end

---@param chat claude-ide.chat.Chat
---@param path string
---@param contents string
---@param answer claude-ide.chat.Reply
local function write_and_answer(chat, path, contents, answer)
  local ok, err = M.put(chat, path, contents)
  if ok then
    answer({})
  else
    answer(nil, "failed", ("%s could not be written: %s"):format(path, err or "unknown"))
  end
end

---@param chat claude-ide.chat.Chat
---@param ask claude-ide.chat.Ask
---@param answer claude-ide.chat.Reply
---@param request claude-ide.chat.Request
function M.write(chat, ask, answer, request)
  local path, contents =
    ask.path, --[[@as string]]
    ask.content
  if not is_usable(path, answer) then
    return
  end
  local problem = is_dangling(path)
  if problem then
    return answer(nil, "failed", ("%s could not be written: %s"):format(path, problem))
  end
  local accepted = take_accepted(chat, path, contents)
  if accepted then
    return write_and_answer(chat, path, accepted, answer)
  end
  ask.edit = { of = "file", path = path, change = { becomes = "whole", text = contents } } --[[@as claude-ide.chat.AskedEdit]]
  function request.otherwise()
    answer(nil, "failed", ("%s cannot be shown, so it was not written"):format(path))
  end
  local doing = "writing " .. path
  request.reply = M.anyway(answer, doing, function(decided, err)
    local words = chat.requester_words
    chat.requester_words = nil
    if err or not decided or decided.outcome == "closed" then
      return answer(nil, "failed", err or "nobody decided, and nothing was written")
    elseif decided.outcome ~= "accepted" then
      words = decided.words or words
      words = words and (": " .. words) or ""
      return answer(
        nil,
        "failed",
        ("the user rejected this edit of %s, and nothing was written%s"):format(path, words)
      )
    end
    local written = decided.contents or contents
    write_and_answer(chat, path, M.in_its_encoding(path, written, request.on_disk), answer)
    if request.proposed and written ~= request.proposed then
      local became = { path = path, proposed = request.proposed, accepted = written }
      changed.tell(chat, { became }, nil, decided.on_top)
    end
  end)
  edit.read_and_show(request, function(done)
    current_text.read(path, done)
  end, function(disk)
    local bytes, before = disk.bytes, disk.bytes and buffer_bytes.text(disk.bytes)
    if bytes and bytes == M.in_its_encoding(path, edit.as_written(before, contents), bytes) then
      return answer({}) -- it is that already
    end
    edit.ask(request)
  end, answer_failure(answer, doing))
end

return M
