-- What it means to accept a proposal as it stands: what is to be written, and whether that is still a change.
local M = {}

---Whether the user has left nothing of the change: the text is the one that it was proposed for, or that of the file,
---which the CLI takes for a no; so it must not look like a yes.
---@param entry claude-ide.proposal.Entry
---@param bytes? string what they edited it to
---@return boolean
function M.is_nothing_left(entry, bytes)
  local now, proposal = entry.text.now, require("claude-ide.buffer.bytes")
  local on_disk = now.disk.bytes
  if not bytes then
    return on_disk == entry.diff.proposed
  end
  -- Where line ends are mixed they are text: the user sees and drops them like any other change.
  local same_to_the_cli = now.format.eol == "\r\n" and on_disk and proposal.same_text(on_disk, bytes)
  return same_to_the_cli
    or bytes == on_disk
    or now.against ~= "nothing" and bytes == proposal.encode(now.lines, now.format, now.format.empty)
end

---Whether the CLI would take a yes for a no: a new file without a byte in it is to the CLI what is there already.
---@param diff claude-ide.Diff
---@param entry? claude-ide.proposal.Entry
---@param contents string
---@return boolean
function M.only_the_prompt_can(diff, entry, contents)
  return contents == ""
    and diff.source.writes == "agent"
    and not diff.source.takes_empty
    and entry ~= nil
    and entry.text ~= nil
    and entry.text.now.disk.bytes == nil
end

---Whether somebody else has made the file that the proposal makes. The CLI would overwrite it without a word (2.1.329), as it
---does not with one that it has read.
---@param entry? claude-ide.proposal.Entry
---@param contents string that are accepted
---@return boolean
function M.is_made_by_others(entry, contents)
  if
    not entry
    or not entry.text
    or not require("claude-ide.proposal.present_text").is_new(entry.text.now)
  then
    return false
  end
  local stat = vim.uv.fs_stat(entry.diff.path)
  return stat ~= nil
    and stat.size > 0
    and require("claude-ide.file").read_now(entry.diff.path, #contents) ~= contents
end

---@param path string
---@return string? bytes
local function held_by(path)
  return (require("claude-ide.file").read_now(path, require("claude-ide.proposal.present_text").MAX_BYTES))
end

---Whether the file is another one than the diff is against, and whoever writes it would not notice.
---@param entry? claude-ide.proposal.Entry
---@return boolean
function M.is_outdated(entry)
  local disk = entry and entry.text and not entry.diff.base and not entry.diff.files and entry.text.now.disk
  if not disk or not entry.diff.source.overwrites then
    return false
  end
  local key, path = require("claude-ide.file").key, entry.diff.old_path
  local stat = vim.uv.fs_stat(path)
  if stat and disk.stat and key(stat) == key(disk.stat) then
    return false
  end
  return held_by(path) ~= disk.bytes
end

---An edit of a file as one of what the file holds now: what others changed meanwhile stays, but where the edit is one of the same
---lines.
---@param disk claude-ide.proposal.Disk what it was an edit of
---@param contents string
---@param path string
---@return string contents
function M.on_top(disk, contents, path)
  local bytes = require("claude-ide.buffer.bytes")
  local held = held_by(path)
  if not held or not disk.bytes then
    return contents
  end
  local base, base_format = bytes.decode(disk.bytes)
  local mine, my_format = bytes.decode(held)
  local theirs, their_format = bytes.decode(contents)
  local are_alike = base_format.eol == my_format.eol and my_format.eol == their_format.eol
  if not are_alike or base_format.empty or my_format.empty or their_format.empty then
    return contents
  end
  local merged = require("claude-ide.merge").three_way(base, mine, theirs)
  local final = their_format.final
  if their_format.final == base_format.final then
    final = my_format.final
  end
  return bytes.encode(
    merged,
    { bom = their_format.bom, eol = their_format.eol, final = final, empty = false }
  )
end

---What the CLI is told to write, and what the file's buffer is to hold then, where the two are not the same.
---@param entry claude-ide.proposal.Entry?
---@param bytes string what is accepted
---@param is_edited boolean the user has changed it
---@return string contents
---@return claude-ide.proposal.Afterwards?
function M.to_write(entry, bytes, is_edited)
  local text = entry and entry.text
  local unsaved = text and text.unsaved
  if not text or not unsaved then
    return bytes, nil
  end
  local accepted, written = unsaved.shown, unsaved.proposed
  if is_edited then
    local proposal = require("claude-ide.buffer.bytes")
    accepted = vim.api.nvim_buf_get_lines(text.bufs.proposal, 0, -1, false)
    written = require("claude-ide.proposal.unsaved").take_out(unsaved, accepted)
    bytes = proposal.encode(written, text.format)
  end
  return bytes, { before = text.now.lines, accepted = accepted, written = written }
end

return M
