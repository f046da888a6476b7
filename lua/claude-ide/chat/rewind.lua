-- Restores files to their state before a prompt, which the agent keeps: preview, confirmation, restore.
-- Invariant: nothing is written before the user has seen the list of files and confirmed.
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
  require("claude-ide.ui.notice").error("The files were not restored: " .. words)
end

---@param chat claude-ide.chat.Chat
---@param message claude-ide.chat.rewind.Prompt
---@param is_dry boolean
---@param done fun(rewound: claude-ide.chat.Rewound)
local function ask(chat, message, is_dry, done)
  chat:ask("rewind", { prompt = message.uuid, is_dry = is_dry }, function(answer, err)
    if not answer or not answer.rewound then
      return failed(err or "no answer")
    end
    done(answer.rewound)
  end)
end

local function absolute(path, cwd)
  return require("claude-ide.path").normalize(path:sub(1, 1) == "/" and path or cwd .. "/" .. path)
end

---@param rewound claude-ide.chat.Rewound
---@param chat claude-ide.chat.Chat
---@return string[]? paths absolute; nil: not reported
local function changed(rewound, chat)
  return rewound.files
    and vim.tbl_map(function(path)
      return absolute(path, chat.cwd)
    end, rewound.files)
end

---@param chat claude-ide.chat.Chat
---@param message claude-ide.chat.rewind.Prompt
---@param paths string[]
local function restore(chat, message, paths)
  ask(chat, message, false, function(rewound)
    paths = changed(rewound, chat) or paths
    for _, path in ipairs(paths) do
      require("claude-ide.journal").landed(path)
    end
    vim.cmd("silent! checktime")
    local skipped = rewound.skipped
    local words = ("Restored %s."):format(
      #paths == 1 and vim.fs.basename(paths[1]) or require("claude-ide.counted")(#paths, "file")
    )
    if skipped > 0 then
      words = ("%s %s left as %s: links are not followed."):format(
        words,
        skipped == 1 and "1 file is" or skipped .. " files are",
        skipped == 1 and "it is" or "they are"
      )
    end
    chat.store:put("notice", words)
    local notice = require("claude-ide.ui.notice")
    local say = skipped > 0 and notice.warn or notice.info
    say(words)
  end)
end

---@param chat claude-ide.chat.Chat
---@param message claude-ide.chat.rewind.Prompt
---@param paths string[]
---@param rewound claude-ide.chat.Rewound
local function confirm(chat, message, paths, rewound)
  local names = table.concat(vim.tbl_map(vim.fs.basename, paths), ", ")
  local yes, no = ("Restore %s"):format(names), "Leave the files as they are"
  require("claude-ide.ui.choose").select({ yes, no }, {
    prompt = ("Back to before that prompt: %s, +%d −%d"):format(
      require("claude-ide.counted")(#paths, "file"),
      rewound.insertions,
      rewound.deletions
    ),
  }, function(choice)
    if choice == yes then
      restore(chat, message, paths)
    end
  end)
end

---Previews the restore to a prompt, and asks.
---@param chat claude-ide.chat.Chat
---@param message claude-ide.chat.rewind.Prompt
function M.to(chat, message)
  local guard = require("claude-ide.ui.guard")
  local request = guard.ask()
  ask(chat, message, true, function(rewound)
    local paths = changed(rewound, chat) or {}
    if #paths == 0 then
      return require("claude-ide.ui.notice").info("No file has changed since that prompt.")
    end
    -- Keys typed while the agent answers are not meant for the question.
    guard.when_asked("rewind", "A question about going back", function()
      confirm(chat, message, paths, rewound)
    end, request)
  end)
end

---Lets the user choose a prompt.
---@param chat claude-ide.chat.Chat
function M.choose(chat)
  local found = prompts(chat)
  if #found == 0 then
    return require("claude-ide.ui.notice").info("Nothing was said in this chat yet.")
  elseif chat:is_busy() then
    return require("claude-ide.ui.notice").info("Claude works: interrupt it first.")
  end
  local words = require("claude-ide.sessions.phrases")
  require("claude-ide.ui.choose").select(found, {
    prompt = "Files as before",
    format_item = function(message)
      return words.fit(words.one_line(message.text), 60)
    end,
  }, function(message)
    if message then
      M.to(chat, message)
    end
  end)
end

return M
