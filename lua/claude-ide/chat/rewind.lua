-- Restores files to their state before a prompt, which the agent keeps: preview, confirmation, restore.
-- Invariants: nothing is written before the user has seen the list of files and confirmed. Files with changes of the user's are named, and
-- restored only if the user chooses so. One `:Claude undo` brings back what was restored.
local lazy = require("claude-ide.lazy")
local choose = lazy("claude-ide.ui.choose")
local counted = lazy("claude-ide.base.counted")
local guard = lazy("claude-ide.ui.guard")
local ide_path = lazy("claude-ide.base.path")
local journal = lazy("claude-ide.edits.journal")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local phrases = lazy("claude-ide.sessions.phrases")
local review = lazy("claude-ide.edits.review")
local transaction = lazy("claude-ide.edits.journal.transaction")

local M = {}

---@class claude-ide.chat.Rewound
---@field files? string[] nil: not reported
---@field insertions integer
---@field deletions integer
---@field skipped integer links, which are not followed

---@alias claude-ide.chat.rewind.Prompt { uuid: string, text: string }

---The prompts of a chat that the agent can restore, latest first.
---@param chat claude-ide.chat.Chat
---@return claude-ide.chat.rewind.Prompt[]
local function prompts(chat)
  return vim
    .iter(chat.store:prompts())
    :rev()
    :filter(function(prompt)
      return prompt.uuid ~= nil
    end)
    :totable()
end

local function failed(words)
  notice.error("The files were not restored: " .. words)
end

---@param chat claude-ide.chat.Chat
---@param message claude-ide.chat.rewind.Prompt
---@param is_dry boolean
---@param done fun(rewound: claude-ide.chat.Rewound)
---@param on_failure? fun()
local function ask(chat, message, is_dry, done, on_failure)
  chat:ask("rewind", { prompt = message.uuid, is_dry = is_dry }, function(answer, err)
    if answer and answer.rewound then
      return done(answer.rewound)
    elseif on_failure then
      on_failure()
    end
    failed(err or "no answer")
  end)
end

---@param rewound claude-ide.chat.Rewound
---@param chat claude-ide.chat.Chat
---@return string[]? paths absolute; nil: not reported
local function changed(rewound, chat)
  return rewound.files
    and vim.tbl_map(function(path)
      return ide_path.normalize(path, chat.cwd)
    end, rewound.files)
end

---@param paths string[]
---@return string
local function named(paths)
  return table.concat(vim.tbl_map(vim.fs.basename, paths), ", ")
end

---Whether a file has changes that are not Claude's, or that the journal knows nothing about.
---@param path string
---@return boolean
local function has_other_changes(path)
  local change = journal.change(path, "all")
  return change == nil or change.conflicts > 0 or change.without ~= (change.before or "")
end

---@param chat claude-ide.chat.Chat
---@param message claude-ide.chat.rewind.Prompt
---@param paths string[] all that the agent restores
---@param spared string[] that get back what they hold now
local function restore(chat, message, paths, spared)
  local going, is_spared = transaction.begin(nil, true), {}
  for _, path in ipairs(spared) do
    is_spared[path] = true
  end
  transaction.expect(going, vim.tbl_filter(transaction.can_keep, paths))
  ask(chat, message, false, function(rewound)
    local problems = transaction.came(going, is_spared)
    for _, problem in ipairs(problems) do
      log.error("not left as it was: %s", problem)
    end
    local restored = vim.tbl_filter(function(path)
      return not is_spared[path]
    end, changed(rewound, chat) or paths)
    vim.cmd("silent! checktime")
    local skipped = rewound.skipped
    local words = ("Restored %s."):format(
      #restored == 1 and vim.fs.basename(restored[1]) or counted(#restored, "file")
    )
    if skipped > 0 then
      words = ("%s %s left as %s: links are not followed."):format(
        words,
        skipped == 1 and "1 file is" or skipped .. " files are",
        skipped == 1 and "it is" or "they are"
      )
    end
    if #problems > 0 then
      words = ("%s Your own %s could not be restored: `:Claude log`."):format(
        words,
        counted(#problems, "file")
      )
    end
    chat.store:put("notice", words)
    local say = (skipped > 0 or #problems > 0) and notice.warn or notice.info
    say(words)
  end, function()
    transaction.came(going, {})
  end)
end

local LEAVE, REVIEW = "Leave the files as they are", "Review Claude's changes first"

---The choices, the harmless one first.
---@param paths string[]
---@param yours string[] those of them with changes of the user's
---@param unkept string[] those of them that could not be brought back
---@return string[] choices
---@return table<string, string[]> spared by choice: the files that are not restored
local function choices_of(paths, yours, unkept)
  local others = vim.tbl_filter(function(path)
    return not vim.tbl_contains(yours, path)
  end, paths)
  if #yours == 0 then
    local all = ("Restore %s"):format(named(paths))
    return { all, REVIEW, LEAVE }, { [all] = {} }
  end
  local all = ("Restore %s, without your changes in %s"):format(named(paths), named(yours))
  if #others == 0 or #unkept > 0 then
    return { LEAVE, REVIEW, all }, { [all] = {} }
  end
  local some = ("Restore %s only"):format(named(others))
  return { some, REVIEW, all, LEAVE }, { [some] = yours, [all] = {} }
end

---@param chat claude-ide.chat.Chat
---@param message claude-ide.chat.rewind.Prompt
---@param paths string[]
---@param rewound claude-ide.chat.Rewound
local function confirm(chat, message, paths, rewound)
  local can_keep = transaction.can_keep
  local unkept = vim.tbl_filter(function(path)
    return not can_keep(path)
  end, paths)
  local yours = vim.tbl_filter(function(path)
    return not can_keep(path) or has_other_changes(path)
  end, paths)
  local choices, spared = choices_of(paths, yours, unkept)
  local prompt = ("Back to before that prompt: %s, +%d −%d"):format(
    counted(#paths, "file"),
    rewound.insertions,
    rewound.deletions
  )
  if #yours > 0 then
    prompt = ("%s; you changed %s"):format(prompt, named(yours))
  end
  if #unkept > 0 then
    prompt = ("%s; an undo cannot bring back %s"):format(prompt, named(unkept))
  end
  choose.select(choices, { prompt = prompt }, function(choice)
    if choice == REVIEW then
      review.open("session")
    elseif choice and spared[choice] then
      restore(chat, message, paths, spared[choice])
    end
  end)
end

---Previews the restore to a prompt, and asks.
---@param chat claude-ide.chat.Chat
---@param message claude-ide.chat.rewind.Prompt
function M.to(chat, message)
  local request = guard.request()
  ask(chat, message, true, function(rewound)
    local paths = changed(rewound, chat) or {}
    if #paths == 0 then
      return notice.info("No file has changed since that prompt.")
    end
    -- Keys typed while the agent answers are not meant for the question.
    guard.when_requested("rewind", "A question about going back", function()
      confirm(chat, message, paths, rewound)
    end, request)
  end)
end

---Lets the user choose a prompt.
---@param chat claude-ide.chat.Chat
function M.choose(chat)
  local found = prompts(chat)
  if #found == 0 then
    return notice.info("This chat has no messages yet.")
  elseif chat:is_busy() then
    return notice.info("Claude works: interrupt it first.")
  end
  choose.select(found, {
    prompt = "Files as before",
    format_item = function(message)
      return phrases.fit(phrases.one_line(message.text), 60)
    end,
  }, function(message)
    if message then
      M.to(chat, message)
    end
  end)
end

return M
