-- Renames a session like `/rename` of the CLI (2.1.329, measured): appends a line to its transcript, and writes the title to a small
-- file beside it. CLIs before 2.1 only write the line.
--
-- A CLI that runs the session reads the title at its next prompt: it checks the end of its transcript before it writes (measured,
-- 2.1.329). Invariant: the transcript's existing bytes stay; the title is one whole line, appended at once, as by the CLI.

local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local catalogue = lazy("claude-ide.sessions.catalogue")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local phrases = lazy("claude-ide.sessions.phrases")

local M = {}

---The CLI's limit.
local MAX_CHARACTERS = 200

local function json_string(text)
  return (vim.json.encode(text):gsub("\\/", "/"))
end

---Normalises a title: one line, no invisible characters, within the CLI's limit.
---@param text string
---@return string? title nil: empty
function M.clean(text)
  local title = phrases.one_line(native.typed_text(text) or "")
  title = vim.trim(vim.fn.strcharpart(title, 0, MAX_CHARACTERS))
  return title ~= "" and title or nil
end

---Runs on a thread, since disks can be slow. Must be self-contained.
---@param beside string content of the small file
---@return string? err
local function write(file, line, beside, is_running)
  local uv = vim.uv
  local constants = uv.constants
  ---@return string?
  local function read(path)
    local fd = uv.fs_open(path, "r", 0)
    local text = fd and uv.fs_read(fd, 64 * 1024, 0)
    if fd then
      uv.fs_close(fd)
    end
    return text or nil
  end
  -- Like the CLI: readable for the owner only, and atomic.
  local function replace(path, text)
    local scratch = ("%s.%d.tmp"):format(path, uv.os_getpid())
    local fd, err = uv.fs_open(scratch, "w", 384)
    if not fd then
      return err
    end
    local written, why = uv.fs_write(fd, text, 0)
    uv.fs_close(fd)
    if written ~= #text then
      uv.fs_unlink(scratch)
      return why or "the disk is full"
    end
    local renamed, failed = uv.fs_rename(scratch, path)
    return not renamed and failed or nil
  end

  -- Never creates the file: a deleted transcript stays deleted.
  local fd, err = uv.fs_open(file, constants.O_RDWR + constants.O_APPEND, 0)
  if not fd then
    return err
  end
  ---@return string? err
  local function append()
    local stat, why = uv.fs_fstat(fd)
    if not stat or stat.type ~= "file" then
      return why or "it is not a file"
    end
    local last = stat.size > 0 and uv.fs_read(fd, 1, stat.size - 1) or "\n"
    if last ~= "\n" and is_running then
      return "it is being written to just now, try again"
    elseif last ~= "\n" then
      line = "\n" .. line -- after a partial line of a killed CLI
    end
    local folder = file:gsub("%.jsonl$", "")
    local path = folder .. "/custom-title.json"
    local before = read(path)
    uv.fs_mkdir(folder, 448)
    local failed = replace(path, beside)
    if failed then
      return failed
    end
    local written, problem = uv.fs_write(fd, line, -1)
    if written == #line then
      return nil
    elseif before then
      replace(path, before)
    else
      uv.fs_unlink(path)
    end
    return problem or "the disk is full"
  end
  local failed = append()
  uv.fs_close(fd)
  return failed
end

---@param done fun(err?: string) once, later
local function rename(item, title, done)
  local summary = item.summary
  local line = ('{"type":"custom-title","customTitle":%s,"sessionId":%s}\n'):format(
    json_string(title),
    json_string(summary.id)
  )
  local beside = ('{"customTitle":%s}'):format(json_string(title))
  local is_running = catalogue.running(summary.id) ~= nil
  local work = vim.uv.new_work(write --[[@as fun(...: any): any]], function(err)
    vim.schedule(function()
      done(err --[[@as string?]])
    end)
  end)
  work:queue(summary.file, line, beside, is_running)
end

local function take(item, text)
  local title = M.clean(text)
  if not title then
    return notice.error("A title needs at least one visible character.")
  end
  rename(item, title, function(err)
    if err then
      log.warn("%s cannot be renamed: %s", item.summary.file, err)
      return notice.error("The session cannot be renamed: " .. err)
    end
    bus.emit("session_renamed", item.summary.id)
    notice.info(
      ("Renamed “%s” to “%s”"):format(
        phrases.fit(phrases.title(item.summary), 30),
        phrases.fit(title, 30)
      )
    )
  end)
end

---Renames a session; asks for a title if none is given.
---@param item claude-ide.sessions.Item
---@param title? string
function M.run(item, title)
  if title then
    return take(item, title)
  end
  vim.ui.input({ prompt = "New title: ", default = phrases.title(item.summary) }, function(text)
    if text then
      take(item, text)
    end
  end)
end

return M
