-- Health check of the review: whether buffers follow the disk, where changes by shell commands are detected, and the size of the undo
-- data.
local counted = require("claude-ide.base.counted")
local lazy = require("claude-ide.lazy")
local checkpoints = lazy("claude-ide.edits.journal.checkpoints")
local comments_store = lazy("claude-ide.comments.store")
local config = lazy("claude-ide.config")
local files = lazy("claude-ide.edits.watch.files")
local journal = lazy("claude-ide.edits.journal")
local phrases = lazy("claude-ide.sessions.phrases")
local store = lazy("claude-ide.edits.journal.store")

local M = {}

local function check_watch()
  if not config.get().watch.enabled then
    vim.health.info("Buffers are not reloaded on change: watch.enabled is false")
    return
  end
  local counts = files.counts()
  vim.health.ok(
    ("Buffers are reloaded on change: %s by file events, %s by polling once a second"):format(
      counted(counts.watched, "folder"),
      counted(counts.polled, "file")
    )
  )
end

local function short(path)
  return vim.fn.fnamemodify(path, ":~")
end

local function check_checkpoints()
  if not config.get().review.checkpoints then
    vim.health.info("Changes by shell commands are not reviewed: review.checkpoints is false")
    return
  end
  if vim.fn.executable("git") == 0 then
    vim.health.warn("`git` was not found: what Claude's shell commands change is not reviewed", {
      "Install git. Edits of files are reviewed without it.",
    })
    return
  end
  local states = checkpoints.states()
  for _, state in ipairs(states) do
    if state.is_ignored then
      vim.health.warn(
        ("Shell commands are not reviewed in %s: git took too long, or failed. Neovim tries again in a minute"):format(
          short(state.top)
        ),
        { '`:Claude log` tells more with log.level = "debug".' }
      )
    else
      vim.health.ok("Shell commands are reviewed in " .. short(state.top))
    end
  end
  if #states == 0 then
    vim.health.info("Shell commands are reviewed in git repositories, from a session's first prompt on")
  end
end

local function check_kept()
  local counts, review = store.stored(), journal.counts()
  local spilled = counts.total - counts.memory
  vim.health.info(
    ("Stored for undo: %s, %s in memory, %s in %s"):format(
      counted(counts.count, "text of a file", "texts of files"),
      phrases.size(counts.memory),
      phrases.size(spilled),
      short(vim.fn.stdpath("state") .. "/claude-ide/journal")
    )
  )
  vim.health.info(
    ("Not reviewed: %s in %s"):format(counted(review.hunks, "change"), counted(review.files, "file"))
  )
end

local function check_comments()
  local root = comments_store.root_of()
  local problem = comments_store.problem(root)
  if problem then
    vim.health.error("Comments: " .. problem, {
      "Move that file away to begin anew. It is not changed before: what is in it can be put right, too.",
    })
    return
  end
  vim.health.info(("Comments on %s: %d"):format(short(root), #comments_store.threads(root)))
end

function M.check()
  vim.health.start("Are changes reviewed that were not asked about?")
  check_watch()
  check_checkpoints()
  check_kept()
  check_comments()
end

return M
