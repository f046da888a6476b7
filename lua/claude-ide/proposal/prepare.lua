-- Prepares a diff: fills its buffers and compares them. In pieces for large texts, so that Neovim stays responsive.
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

---@param diff claude-ide.Diff
---@param is_wanted fun(): boolean false: it has ended meanwhile
---@param done fun(prepared: claude-ide.proposal.Prepared)
---@param failed fun(trace: string) called once instead of `done`, after the buffers were deleted
function M.run(diff, is_wanted, done, failed)
  local buffers, proposal = require("claude-ide.proposal.buffers"), require("claude-ide.buffer.bytes")
  ---@type claude-ide.proposal.Prepared
  ---@diagnostic disable-next-line: missing-fields -- the steps fill them in
  local prepared = { bufs = {} }
  local large = false

  local function discard()
    for _, buf in pairs(prepared.bufs) do
      require("claude-ide.ui.own_buffer").delete(buf)
    end
  end

  ---Steps in later turns are guarded, since their errors would have no handler.
  ---@param fn function
  ---@return function
  local function guarded(fn)
    return require("claude-ide.safely").catch(fn, function(trace)
      discard()
      failed(trace)
    end)
  end

  ---@param steps fun(next: fun())[]
  local function run(steps)
    local i = 0
    local function next_step()
      i = i + 1
      if not is_wanted() then
        discard()
      elseif not steps[i] then
        done(prepared)
      elseif large then
        vim.schedule(function()
          require("claude-ide.ui.guard.waits").when_buffers_may_change(guarded(function()
            steps[i](next_step)
          end))
        end)
      else
        require("claude-ide.ui.guard.waits").when_buffers_may_change(guarded(function()
          steps[i](next_step)
        end))
      end
    end
    next_step()
  end

  local read = guarded(require("claude-ide.proposal.present_text").read)
  local begin = guarded(function(disk)
    if not diff.base then
      require("claude-ide.watch.awaited").observed(diff.old_path, disk.bytes)
    end
    large = #diff.proposed + #(disk.bytes or "") > LARGE_BYTES
    run({
      function(next_step)
        local texts = require("claude-ide.proposal.present_text")
        prepared.now = diff.base and texts.of_base(diff.base) or texts.present(diff.old_path, disk)
        next_step()
      end,
      function(next_step)
        local now = prepared.now
        prepared.lines, prepared.format = proposal.decode(diff.proposed)
        prepared.lines, prepared.format =
          proposal.level(prepared.lines, prepared.format, now.lines, now.format)
        now.lines, now.format = proposal.level(now.lines, now.format, prepared.lines, prepared.format)
        prepared.lines, prepared.unsaved =
          require("claude-ide.proposal.unsaved").put_in(now, prepared.lines, prepared.format)
        next_step()
      end,
      function(next_step)
        local now = prepared.now
        prepared.bufs.now = buffers.make(diff, "now", now.format, now.buf)
        buffers.fill(prepared.bufs.now, now.lines, next_step, guarded)
      end,
      function(next_step)
        prepared.bufs.proposal = buffers.make(diff, "proposal", prepared.format, prepared.now.buf)
        buffers.fill(prepared.bufs.proposal, prepared.lines, next_step, guarded)
      end,
      function(next_step)
        buffers.finish(diff, prepared.bufs, prepared.now.buf)
        -- The buffer of an empty text has one line.
        local old = prepared.now.format.empty and {} or prepared.now.lines
        local new = prepared.format.empty and {} or prepared.lines
        require("claude-ide.diffview.comparison").run(old, new, function(comparison)
          prepared.comparison = comparison
          next_step()
        end, guarded)
      end,
    })
  end)
  if diff.base then
    begin({})
  else
    read(diff.old_path, begin)
  end
end

---Creates the buffer of the current text again, after the user has deleted it.
---@param diff claude-ide.Diff
---@param prepared claude-ide.proposal.Prepared
---@param done fun()
function M.make_now_again(diff, prepared, done)
  local buffers, now = require("claude-ide.proposal.buffers"), prepared.now
  require("claude-ide.ui.own_buffer").delete(prepared.bufs.now)
  prepared.bufs.now = buffers.make(diff, "now", now.format, now.buf)
  local guarded = require("claude-ide.safely").catch
  buffers.fill(prepared.bufs.now, now.lines, function()
    buffers.finish(diff, prepared.bufs, now.buf)
    require("claude-ide.ui.own_buffer").highlight(prepared.bufs.now, now.buf)
    done()
  end, function(fn)
    return guarded(fn, function(trace)
      require("claude-ide.log").error("the present text of %s cannot be shown again: %s", diff.path, trace)
    end)
  end)
end

return M
