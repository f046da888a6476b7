-- Prepares a diff: fills its buffers and compares them. In pieces for large texts, so that Neovim stays responsive.
local lazy = require("claude-ide.lazy")
local buffers = lazy("claude-ide.edits.proposal.buffers")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local current_text = lazy("claude-ide.edits.proposal.current_text")
local diffview_comparison = lazy("claude-ide.ui.diffview.comparison")
local expected_write = lazy("claude-ide.edits.watch.expected_write")
local files = lazy("claude-ide.edits.proposal.files")
local hunks = lazy("claude-ide.ui.diffview.hunks")
local log = lazy("claude-ide.base.log")
local merge_unsaved = lazy("claude-ide.edits.proposal.merge_unsaved")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local safely = lazy("claude-ide.base.safely")
local waits = lazy("claude-ide.base.waits")

local M = {}

---Above this size of both sides each step runs in its own turn of the event loop.
local LARGE_BYTES = 1024 * 1024

---@class claude-ide.proposal.Prepared
---@field now claude-ide.proposal.Now
---@field lines string[] of the proposal, with unsaved changes if any
---@field unsaved? claude-ide.proposal.Unsaved
---@field format claude-ide.bytes.Format of the proposal
---@field bufs table<claude-ide.diffview.Side, integer>
---@field comparison claude-ide.diffview.Comparison

local NOTHING = { lines = { "" }, format = { bom = false, eol = "\n", final = false, empty = true } }

---The texts that a plan has.
---@param planned claude-ide.changeset.File
---@param text claude-ide.proposal.Prepared
local function of_plan(planned, text)
  local before, after, source = planned.before or NOTHING, planned.after or NOTHING, planned.source
  local buf = source and source.buf
  text.now = {
    lines = before.lines,
    format = before.format,
    against = not planned.before and "nothing" or source and source.unsaved and "buffer" or "disk",
    disk = {},
    buf = buf and vim.api.nvim_buf_is_valid(buf) and buf or nil,
  }
  text.lines, text.format, text.comparison = after.lines, after.format, planned.comparison
end

---The texts of what the requester proposes. Unsaved changes of the file are merged into it.
---@param file claude-ide.proposal.File
---@param disk claude-ide.proposal.Disk
---@param text claude-ide.proposal.Prepared
local function of_proposed(file, disk, text)
  local now = file.base and current_text.of_base(file.base) or current_text.present(file.old_path, disk)
  text.now = now
  text.lines, text.format = bytes.decode(file.proposed --[[@as string]])
  text.lines, text.format = bytes.level(text.lines, text.format, now.lines, now.format)
  now.lines, now.format = bytes.level(now.lines, now.format, text.lines, text.format)
  text.lines, text.unsaved = merge_unsaved.merge(now, text.lines, text.format)
end

---Prepares the texts of a file.
---@param diff claude-ide.Diff
---@param file claude-ide.proposal.File
---@param changed fun() called after each edit of the proposal
---@param compared fun() the texts of a shown diff were compared only now
---@param done fun() possibly before this returns; not called if the diff has ended meanwhile
---@param failed fun(trace: string) called once instead of `done`, after the buffers were deleted
function M.run(diff, file, changed, compared, done, failed)
  if file.text then
    return done()
  elseif file.is_preparing then
    return -- the first call's `done` follows
  end
  file.is_preparing = true
  local planned = file.planned
  ---@type claude-ide.proposal.Prepared
  ---@diagnostic disable-next-line: missing-fields -- the steps fill them in
  local text = { bufs = {} }
  local large = false

  local function discard()
    file.is_preparing = nil
    for _, buf in pairs(text.bufs) do
      own_buffer.delete(buf)
    end
  end

  ---Steps in later turns are guarded, since their errors would have no handler.
  ---@param fn function
  ---@return function
  local function guarded(fn)
    return safely.catch(fn, function(trace)
      discard()
      failed(trace)
    end)
  end

  local function finish()
    file.text, file.is_preparing = text, nil
    if not planned then
      file.kind = current_text.is_new(text.now) and "created" or "modified"
    end
    vim.bo[text.bufs.right].modifiable = not files.is_deletion(file)
    file.tick = vim.api.nvim_buf_get_changedtick(text.bufs.right)
    file.hunks = hunks.follow(text, changed)
    done()
  end

  ---@param steps fun(next: fun())[]
  local function run(steps)
    local i = 0
    local function next_step()
      i = i + 1
      local function step()
        waits.when_buffers_may_change(guarded(function()
          steps[i](next_step)
        end))
      end
      if diff.state ~= "pending" then
        discard()
      elseif not steps[i] then
        finish()
      elseif large then
        vim.schedule(step)
      else
        step()
      end
    end
    next_step()
  end

  ---@param disk claude-ide.proposal.Disk
  local begin = guarded(function(disk)
    if not file.base and not planned then
      expected_write.observed(file.old_path, disk.bytes)
    end
    large = not planned and #file.proposed + #(disk.bytes or "") > LARGE_BYTES
    run({
      function(next_step)
        if planned then
          of_plan(planned, text)
        else
          of_proposed(file, disk, text)
        end
        next_step()
      end,
      function(next_step)
        text.bufs.left = buffers.make(diff, file, "left", text.now, text.now.buf)
        buffers.fill(text.bufs.left, text.now.lines, next_step, guarded)
      end,
      function(next_step)
        text.bufs.right = buffers.make(diff, file, "right", text, text.now.buf)
        buffers.fill(text.bufs.right, text.lines, next_step, guarded)
      end,
      function(next_step)
        buffers.finish(file.path, text.bufs, text.now.buf)
        if text.comparison then
          next_step()
          return
        end
        local lines_of = bytes.lines_of
        local old, new = lines_of(text.now), lines_of(text)
        diffview_comparison.run(
          old,
          new,
          function(comparison)
            text.comparison = comparison
            next_step()
          end,
          guarded,
          function(comparison)
            local is_shown = file.text == text
            if is_shown and (diff.state ~= "pending" or files.is_touched(file)) then
              return
            end
            text.comparison = comparison
            if is_shown and file.hunks then
              file.hunks.original, file.hunks.list = comparison.hunks, comparison.hunks
              compared()
            end
          end
        )
      end,
    })
  end)
  if file.base or planned then
    begin({})
  else
    guarded(current_text.read)(file.old_path, begin)
  end
end

---Creates the buffer of the current text again, after the user has deleted it.
---@param diff claude-ide.Diff
---@param file claude-ide.proposal.File
---@param done fun()
function M.make_now_again(diff, file, done)
  local text = file.text --[[@as claude-ide.proposal.Prepared]]
  local now = text.now
  own_buffer.delete(text.bufs.left)
  text.bufs.left = buffers.make(diff, file, "left", now, now.buf)
  local guarded = safely.catch
  buffers.fill(text.bufs.left, now.lines, function()
    buffers.finish(file.path, text.bufs, now.buf)
    own_buffer.highlight(text.bufs.left, now.buf)
    done()
  end, function(fn)
    return guarded(fn, function(trace)
      log.error("the present text of %s cannot be shown again: %s", file.path, trace)
    end)
  end)
end

return M
