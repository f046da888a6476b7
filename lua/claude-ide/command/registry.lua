-- The subcommands of `:Claude`, in the order of the help.

local lazy = require("claude-ide.lazy")
local asks = lazy("claude-ide.requests.asks")
local board = lazy("claude-ide.board")
local conflict = lazy("claude-ide.edits.watch.conflict")
local follow = lazy("claude-ide.follow")
local log = lazy("claude-ide.base.log")
local modifiers = lazy("claude-ide.ui.modifiers")
local notice = lazy("claude-ide.base.notice")
local picker = lazy("claude-ide.board.picker")
local review = lazy("claude-ide.edits.review")
local selection = lazy("claude-ide.context.selection")
local split = lazy("claude-ide.ui.split")
local status = lazy("claude-ide.command.status")
local statusline = lazy("claude-ide.statusline")
local terminal = lazy("claude-ide.terminal")
local worktree = lazy("claude-ide.worktree")

---@class claude-ide.command.Sub
---@field name string
---@field args? string arguments, for the help
---@field doc string for the help
---@field choices? string[] allowed words
---@field shows? true|string[] it opens a window, or does with these words: it runs in Normal mode
---@field windows? true|string[] it opens, enters or closes a window as well, but in the mode that it is run in
---@field run fun(words: string[], at: claude-ide.command.Context): any, string? nil and a sentence on failure
---@field complete? fun(word: string, before: string[]): string[] default: the choices

---A function of a module in this folder, loaded when called.
local function of(module, name)
  return function(...)
    return require("claude-ide.command." .. module)[name](...)
  end
end

---Flags of the CLI that make sense in an editor. Source: `claude --help`, 2.1.329.
local CLI_FLAGS = vim.split(
  "--add-dir --agent --allowed-tools --append-system-prompt --chrome --continue --dangerously-skip-permissions --debug "
    .. "--disallowed-tools --effort --fork-session --from-pr --mcp-config --model --name --permission-mode --plugin-dir "
    .. "--resume --session-id --settings --system-prompt --verbose --worktree",
  " "
)

local function cli_flags()
  return CLI_FLAGS
end

local function complete_all(_, before)
  return #before == 0 and { "all" } or {}
end

---@type claude-ide.command.Sub[]
return {
  {
    name = "open",
    windows = true,
    args = "[CLI arguments]",
    doc = "Show and focus the terminal. Starts the server and the CLI if they are not running.",
    run = of("terminal", "open"),
    complete = cli_flags,
  },
  {
    name = "toggle",
    windows = true,
    args = "[CLI arguments]",
    doc = "Same as |:Claude|: show the terminal, or hide it if it is visible.",
    run = of("terminal", "toggle"),
    complete = cli_flags,
  },
  {
    name = "new",
    windows = true,
    args = "[{name}] [CLI arguments]",
    doc = "Start another CLI in its own terminal, in place of a visible one. The name is its session's title; quote one "
      .. "with spaces. See |claude-ide-terminals|.",
    run = of("terminal", "new"),
    complete = cli_flags,
  },
  {
    name = "list",
    shows = true,
    doc = "Switch to another terminal. The list shows each CLI's state, context use, files to review, folder and branch. "
      .. "It also has the project's sessions in the background, and those that ended with its last Neovim. See "
      .. "|claude-ide-background|.",
    run = function()
      picker.open_terminals()
      return true
    end,
  },
  {
    name = "worktree",
    windows = true,
    args = "{branch} [{prompt}] | done [{branch}]",
    doc = "Open a tab page for the git worktree of a branch, and start a CLI there, with the prompt. Creates the worktree "
      .. "and the branch if necessary. `done` finishes the current worktree, or a branch's: it asks whether to merge, then "
      .. "removes it. See |claude-ide-worktrees|.",
    run = function(words, at)
      if not words[1] then
        return nil, "`:Claude worktree` needs a branch."
      elseif words[1] == "done" and words[3] then
        return nil, "`:Claude worktree done` takes one branch."
      elseif words[1] == "done" then
        return worktree.done(words[2])
      end
      -- As typed: a prompt keeps its blanks and quotes.
      return worktree.open(words[1], vim.trim(at.rest:match("^%s*%S+(.*)$") or ""))
    end,
    complete = function(_, before)
      local is_done = before[1] == "done"
      return before[is_done and 2 or 1] and {} or worktree.names(is_done)
    end,
  },
  {
    name = "focus",
    windows = true,
    doc = "Focus the terminal; in the terminal: return to the previous window.",
    run = function()
      terminal.focus()
    end,
  },
  {
    name = "hide",
    windows = true,
    doc = "Hide the terminal. The CLI keeps running.",
    run = function()
      terminal.hide()
    end,
  },
  {
    name = "close",
    windows = true,
    args = "[{name}]",
    doc = "End the CLI and close its terminal, or those with that name.",
    run = of("terminal", "close"),
    complete = of("terminal", "complete"),
  },
  {
    name = "chat",
    shows = true,
    args = "[--resume|--fork {id} | --continue] [--agent {name}] [{prompt}]",
    doc = "Chat with Claude in a buffer instead of the terminal: show the current chat, or start one. With a prompt: "
      .. "start one and send it, with the range. `--resume`, `--continue` and `--fork` continue a session, the newest of "
      .. "this project, or a copy; a session that already has a chat is shown there. `--agent` uses another agent, see "
      .. "|claude-ide-agents|. `close` ends the chat, `restart` ends it and resumes its session. See |claude-ide-chat|.",
    run = of("chat", "run"),
    complete = of("chat", "complete"),
  },
  {
    name = "edit",
    windows = true,
    args = "{what} | cancel",
    doc = "Ask Claude to rewrite the range, or the whole file. The proposal is shown in place and applied when you accept "
      .. "it. Without an instruction: asks for one. `cancel` cancels the edit at the cursor, else those of the file. See "
      .. "|claude-ide-edit|.",
    run = of("prompts", "edit"),
    complete = of("prompts", "complete_edit"),
  },
  {
    name = "ask",
    windows = true,
    args = "[{question}]",
    doc = "Ask Claude a question, about the range; the answer opens in a float. Claude can only read files here. `q` "
      .. "closes it, `c` continues as a chat. See |claude-ide-ask|.",
    run = of("prompts", "ask"),
    complete = of("prompts", "complete"),
  },
  {
    name = "prompt",
    windows = true,
    args = "[{text}]",
    doc = "Insert text, with the range and its contexts, into the prompt of the CLI in the terminal, for you to send.",
    run = of("prompts", "prompt"),
    complete = of("prompts", "complete"),
  },
  {
    name = "connect",
    doc = "Start the server and show its port and the connected CLIs.",
    run = of("server", "connect"),
  },
  {
    name = "disconnect",
    args = "[{name}]",
    doc = "Disconnect Claude and stop the server; or disconnect only the CLI with that name (its session's title or, "
      .. "without one, its folder). A disconnected CLI does not reconnect automatically; use `/ide` in it. If it asks "
      .. "about an edit, it keeps asking in its terminal.",
    run = of("server", "disconnect"),
    complete = of("server", "complete_disconnect"),
  },
  {
    name = "restart",
    doc = "Restart the server with the current options. Port and token stay the same.",
    run = of("server", "restart"),
  },
  {
    name = "status",
    doc = "Show the state in one line. |:checkhealth| claude-ide shows more.",
    run = function()
      status.show()
      return true
    end,
  },
  {
    name = "send",
    doc = "Same as |:ClaudeSend|.",
    run = of("server", "send"),
  },
  {
    name = "add",
    args = "{file}... | {file} {first} [{last}]",
    doc = "Mention files or folders to Claude, or lines of a file. `%` is the current file. A space in a name is written "
      .. "`\\ ` or within quotes.",
    run = of("add", "run"),
    complete = of("add", "complete"),
  },
  {
    name = "accept",
    args = "[all]",
    doc = "Accept the proposal in this tab page, else the oldest, or `all`. A proposal that you have not seen yet is "
      .. "shown instead of accepted. A changeset of several files is one proposal, see |claude-ide-changeset|.",
    run = of("diffs", "accept"),
    complete = complete_all,
  },
  {
    name = "reject",
    args = "[all | {reason}]",
    doc = "Reject the proposal in this tab page, else the oldest, or `all`. Any other text is a reason: after Claude has "
      .. "aborted its turn, it is sent as your next prompt if the CLI runs in Neovim's terminal. If it runs in another "
      .. "terminal, or you have begun to type at its prompt, the reason is copied to the clipboard, else the unnamed "
      .. "register. Your comments on its files go along, see |claude-ide-comments|.",
    run = of("diffs", "reject"),
    complete = complete_all,
  },
  {
    name = "decide",
    windows = true,
    doc = "Go to an open request: a permission, question, plan, form or diff. If there are several, choose one. "
      .. "See |claude-ide-decide|.",
    run = function()
      return asks.answer(asks.list())
    end,
  },
  {
    name = "hooks",
    shows = true,
    args = "[write | remove]",
    doc = "Show the hooks that let you answer a `claude` in another terminal here; add them to the project's "
      .. "`.claude/settings.local.json`; or remove them. See |claude-ide-decide|.",
    choices = { "write", "remove" },
    run = of("hooks", "run"),
  },
  {
    name = "diffs",
    shows = true,
    args = "[next | previous | quickfix]",
    doc = "Choose a proposal and go to it; or go to the next or previous one; or list them in the quickfix window, where "
      .. "`<CR>` opens one.",
    choices = { "next", "previous", "quickfix" },
    run = of("diffs", "run"),
  },
  {
    name = "review",
    shows = true,
    args = "[turn | session | all]",
    doc = "Review the files that Claude has changed, beside their previous text: changes that you have not reviewed, or "
      .. "those of the last turn, the session, or all sessions of this Neovim. Keep or undo each change, see "
      .. "|claude-ide-review|.",
    choices = { "turn", "session", "all" },
    run = function(words)
      return review.open(words[1] --[[@as claude-ide.review.Scope?]])
    end,
  },
  {
    name = "comment",
    windows = true,
    args = "[file | all]",
    doc = "Write a comment for Claude on the range, or on the current line; or continue the one that is there. `file`: on "
      .. "the whole file, `all`: on everything. See |claude-ide-comments|.",
    choices = { "file", "all" },
    run = of("comments", "write"),
  },
  {
    name = "comments",
    shows = true,
    args = "[{state} | {action}]",
    doc = "Choose a comment and go to it. {state} is `draft`, `sent`, `answered`, "
      .. "`done` or `resolved`; by default all but the last. {action} is one of these: `quickfix` lists them in the quickfix "
      .. "window. `since` shows what changed in this file since Claude got your comment. `remarks` lists Claude's own comments "
      .. "in the quickfix window; `tour` goes to the first step of its tour. `send` shows those that are not sent yet as one "
      .. "message, to be sent; `yank` yanks it. `export` opens a buffer with a line for each comment; `import` makes "
      .. "comments of the quickfix list: of such lines (`:cfile`), or of a linter.",
    choices = {
      "draft",
      "sent",
      "answered",
      "done",
      "resolved",
      "since",
      "quickfix",
      "remarks",
      "tour",
      "send",
      "yank",
      "export",
      "import",
    },
    run = of("comments", "run"),
  },
  {
    name = "follow",
    windows = { "next", "previous" },
    args = "[next | previous | stop]",
    doc = "Follow Claude: another window goes where it reads, edits and searches, see |claude-ide-follow|. Entering or "
      .. "scrolling that window pauses it. Again: continue after a pause, or end it. `next` and `previous` go through the "
      .. "places of the turn that was followed last.",
    choices = { "next", "previous", "stop" },
    run = function(words)
      return follow.command(words[1])
    end,
  },
  {
    name = "undo",
    shows = true,
    doc = "Undo the file changes of Claude's last turn, after a preview and a confirmation. Your own changes stay. Repeat "
      .. "it to undo the turn before.",
    run = function(_, at)
      if at.range then
        return nil, "`:Claude undo` takes no range: `:Claude review` undoes single changes."
      end
      return review.undo_turn()
    end,
  },
  {
    name = "resolve",
    shows = true,
    args = "[merge | mine | theirs | compare]",
    doc = "Resolve a file that changed on disk while you had unsaved changes: `merge` both if no line conflicts, keep "
      .. "yours (`mine`), take the version on disk (`theirs`), or `compare` them with their base side by side: `do` takes "
      .. "a change from disk, `:w` finishes. Without an argument: choose.",
    choices = { "merge", "mine", "theirs", "compare" },
    run = function(words)
      return conflict.resolve(words[1] --[[@as claude-ide.watch.Choice?]])
    end,
  },
  {
    name = "sessions",
    shows = true,
    args = "[all] [{words}] | {action} [{session}] | rename [{title}]",
    doc = "Choose a session of this project, or of all projects, then an action: `read`, `resume` in the terminal, "
      .. "`fork`, `copy` its id, `export` as Markdown, `keep` a copy that does not expire or `unkeep` it, `stop` its "
      .. "process. {words} filter by title, prompts, branch or id. With an {action} first, {session} is its title, part "
      .. "of it, its id or a prefix; by default it is the session of this transcript or under the cursor of the board, "
      .. "else you choose. `rename` sets its title. See |claude-ide-sessions|.",
    run = of("sessions", "run"),
    complete = of("sessions", "complete"),
  },
  {
    name = "board",
    shows = true,
    args = "[all]",
    doc = "Show all sessions of this project, or of all projects, in one live buffer: state, request, latest message, "
      .. "tasks, changes, context, tokens and cost. Keys answer, prompt, review or stop a session. See "
      .. "|claude-ide-board|.",
    choices = { "all" },
    run = function(words)
      return board.open(words[1] == "all" or nil)
    end,
  },
  {
    name = "grep",
    windows = true,
    args = "[-a] [-F] [-i | -s] {pattern}",
    doc = "Search the sessions of this project, and list matches in the quickfix window as they are found; an "
      .. "entry opens the transcript there. The pattern is a regular expression up to the end of the line; it "
      .. "is case-sensitive if it has an upper-case letter. `-a`: all projects, `-F`: plain text, `-i`: ignore "
      .. "case, `-s`: match case, `--`: the pattern follows. `<C-c>` in the list stops the search.",
    run = of("sessions", "grep"),
    complete = of("sessions", "complete_grep"),
  },
  {
    name = "transcript",
    shows = true,
    args = "[id]",
    doc = "Show a session's transcript, and follow it: the session of the terminal or of a connected CLI, else "
      .. "the newest of this project, or the one with this id or prefix. See |claude-ide-transcript|.",
    run = of("sessions", "transcript"),
    complete = of("sessions", "complete_id"),
  },
  {
    name = "serve",
    windows = { "url" },
    args = "[start | stop | url]",
    doc = "Start or stop the web page with your sessions; `url` starts it, too, and shows an address that lets one "
      .. "browser in, once. See |claude-ide-web|.",
    choices = { "start", "stop", "url" },
    run = of("serve", "run"),
  },
  {
    name = "selection",
    args = "[on | off | toggle]",
    doc = "Turn sending the current file and selection to Claude on or off. Without an argument: show the setting.",
    choices = { "on", "off", "toggle" },
    run = function(words)
      local actions = { on = selection.enable, off = selection.disable, toggle = selection.toggle }
      local act = actions[words[1]]
      if act then
        act()
        statusline.refresh()
      end
      local state = selection.is_enabled() and "Selection on: Claude sees your file and selection."
        or "Selection off: Claude does not see your file and selection."
      notice.info(state)
    end,
  },
  {
    name = "context",
    shows = true,
    doc = "Show what the hooks tell Claude about unsaved changes and other editor state, see |claude-ide-context|.",
    run = of("context", "run"),
  },
  {
    name = "mcp",
    shows = true,
    doc = "Show how other agents connect to the tools of this Neovim: the command `claude mcp add`, and the "
      .. "JSON. See |claude-ide-tools|.",
    run = of("mcp", "show"),
  },
  {
    name = "kernel",
    shows = { "log" },
    args = "[start | interrupt | restart | stop | log]",
    doc = "Control the Jupyter kernel that runs Claude's code: the current notebook's, else the last used, else the "
      .. "project's. `interrupt` stops the code and keeps the variables, `restart` and `stop` do not, `log` shows code "
      .. "and output. Without an argument: show the state. See |claude-ide-notebooks|.",
    choices = { "start", "interrupt", "restart", "stop", "log" },
    run = of("kernel", "run"),
  },
  {
    name = "install",
    doc = "Install the library, for example after an update without a plugin manager: downloads the one released for "
      .. "these sources, else builds it. See |claude-ide-install|.",
    run = of("install", "run"),
  },
  {
    name = "log",
    shows = true,
    doc = "Open the log file.",
    run = function()
      local path = log.path()
      if not vim.uv.fs_stat(path) then
        return nil, "There is no log yet: " .. path
      end
      local buf = vim.fn.bufadd(path)
      vim.cmd(("noswapfile call bufload(%d)"):format(buf))
      split.enter_below(buf, 0.5)
      vim.bo.buflisted, vim.bo.readonly, vim.bo.autoread = true, true, true
      vim.cmd("normal! G")
      return true
    end,
  },
  {
    name = "health",
    shows = true,
    doc = "Run |:checkhealth| claude-ide.",
    run = function()
      vim.cmd.checkhealth({ args = { "claude-ide" }, mods = modifiers.of_command({}) })
      return true
    end,
  },
}
