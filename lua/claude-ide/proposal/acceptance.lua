-- Rules for accepting a proposal: what is written, and whether it is still a change.
local M = {}

---Whether nothing of the change is left: the text equals the base or the file. The CLI takes that for a rejection, so it must not be
---shown as accepted.
---@param entry claude-ide.proposal.Entry
---@param bytes? string text as edited by the user
---@return boolean
function M.is_nothing_left(entry, bytes)
  local now, proposal = entry.text.now, require("claude-ide.buffer.bytes")
  local on_disk = now.disk.bytes
  if not bytes then
    return on_disk == entry.diff.proposed
  end
  -- With mixed line ends these are text, and the user drops them like any other change.
  local same_to_the_cli = now.format.eol == "\r\n" and on_disk and proposal.same_text(on_disk, bytes)
  return same_to_the_cli
    or bytes == on_disk
    or now.against ~= "nothing" and bytes == proposal.encode(now.lines, now.format, now.format.empty)
end

---Whether the CLI would misread an acceptance: it takes an empty new file for "unchanged".
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

---Whether the file that the proposal creates exists by now. The CLI would overwrite it silently (2.1.329), unlike a file that it has
---read.
---@param entry? claude-ide.proposal.Entry
---@param contents string accepted
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

---Whether the file differs from the diff's base, and its writer would not notice.
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

---Applies an edit to the file's current content: concurrent changes stay, except in lines that the edit changes too.
---@param disk claude-ide.proposal.Disk base of the edit
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

---The text for the CLI to write, and for the file's buffer if that differs.
---@param entry claude-ide.proposal.Entry?
---@param bytes string accepted
---@param is_edited boolean changed by the user
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
