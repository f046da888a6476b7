-- The subcommands of `:Claude`, in the order of the help.

---@class claude-ide.command.Sub
---@field name string
---@field args? string arguments, for the help
---@field doc string for the help
---@field choices? string[] allowed words
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
    args = "[CLI arguments]",
    doc = "Show the terminal and go to it. Starts the server and the CLI if they do not run.",
    run = function(words)
      require("claude-ide.terminal").open(words, require("claude-ide.command.chat").releasing(words))
    end,
    complete = cli_flags,
  },
  {
    name = "toggle",
    args = "[CLI arguments]",
    doc = "As |:Claude| alone: show the terminal, or hide it where it is in sight.",
    run = function(words)
      require("claude-ide.terminal").toggle(words, require("claude-ide.command.chat").releasing(words))
    end,
    complete = cli_flags,
  },
  {
    name = "focus",
    doc = "Go to the terminal; in the terminal: back to the window you came from.",
    run = function()
      require("claude-ide.terminal").focus()
    end,
  },
  {
    name = "hide",
    doc = "Hide the terminal. The CLI goes on.",
    run = function()
      require("claude-ide.terminal").hide()
    end,
  },
  {
    name = "close",
    doc = "End the CLI and close its terminal.",
    run = function()
      if not require("claude-ide.terminal").close() then
        return nil, "No CLI runs that `:Claude` started."
      end
      return true
    end,
  },
  {
    name = "chat",
    args = "[--resume|--fork {id} | --continue] [--agent {name}] [{prompt}]",
    doc = "Talk to Claude in a buffer instead of the terminal: show the chat there is, or begin one. With a prompt: begin "
      .. "one and say that. A range goes along. `--resume`, `--continue`, `--fork` go on with a session, the newest of this project, or a copy; "
      .. "where a chat has the session already, that one is shown. `--agent` talks to another agent, see |claude-ide-agents|. `close` ends the chat, `restart` ends it and begins it "
      .. "again where it was. See |claude-ide-chat|.",
    run = of("chat", "run"),
    complete = of("chat", "complete"),
  },
  {
    name = "edit",
    args = "{what} | cancel",
    doc = "Have Claude propose other text for the lines of the range, or for the whole file: it is shown in place and becomes "
      .. "yours when you accept it. Without words: asks for them. `cancel` takes back the edit that the cursor is in, else "
      .. "those of the file. See |claude-ide-edit|.",
    run = of("prompts", "edit"),
    complete = of("prompts", "complete_edit"),
  },
  {
    name = "ask",
    args = "[{question}]",
    doc = "Ask Claude something, about the range, and read the answer over the screen. It can read files and do nothing else. "
      .. "`q` closes it, `c` goes on as a chat. See |claude-ide-ask|.",
    run = of("prompts", "ask"),
    complete = of("prompts", "complete"),
  },
  {
    name = "prompt",
    args = "[{text}]",
    doc = "Put words, the range and what the words name at the prompt of the CLI in the terminal, for you to send.",
    run = of("prompts", "prompt"),
    complete = of("prompts", "complete"),
  },
  {
    name = "connect",
    doc = "Start the server and say where it listens and who is connected.",
    run = of("server", "connect"),
  },
  {
    name = "disconnect",
    args = "[{name}]",
    doc = "Disconnect Claude and stop the server; or disconnect only the CLI of that name, which is its session's title, else "
      .. "its folder. A CLI does not come back by itself after that: `/ide` in it connects it again. Its question about "
      .. "an edit that waits stays in its terminal.",
    run = of("server", "disconnect"),
    complete = of("server", "complete_disconnect"),
  },
  {
    name = "restart",
    doc = "Stop the server and start it with the options as they now are. Port and token stay the same.",
    run = of("server", "restart"),
  },
  {
    name = "status",
    doc = "Say in one line how things stand. |:checkhealth| claude-ide says more.",
    run = function()
      require("claude-ide.command.status").show()
      return true
    end,
  },
  {
    name = "send",
    doc = "As |:ClaudeSend|.",
    run = of("server", "send"),
  },
  {
    name = "add",
    args = "{file}... | {file} {first} [{last}]",
    doc = "Mention files or folders to Claude, or some lines of one file. `%` is the current file. "
      .. "A blank in a name is written `\\ ` or within quotes.",
    run = of("add", "run"),
    complete = of("add", "complete"),
  },
  {
    name = "accept",
    args = "[all]",
    doc = "Accept a proposed edit: the one in this tab page, else the one that has waited longest; or all that wait. One that "
      .. "you have not seen yet is shown instead. A changeset, of several files, is one edit, see |claude-ide-changeset|.",
    run = of("diffs", "accept"),
    complete = complete_all,
  },
  {
    name = "reject",
    args = "[all | {reason}]",
    doc = "Reject a proposed edit, chosen in the same way, or all that wait. `all` means all only where it stands alone: any "
      .. "other text says why. The reason becomes Claude's next prompt, word for word, as soon as it has broken "
      .. "off, if that CLI runs in the terminal of `:Claude`. Where it runs in another terminal, or you have begun to type at "
      .. "its prompt, your words are put into the clipboard, else the unnamed register.",
    run = of("diffs", "reject"),
    complete = complete_all,
  },
  {
    name = "diffs",
    args = "[next | previous | quickfix]",
    doc = "Choose one of the proposed edits and go to it; or go from one to the next; or list them in the quickfix window, "
      .. "where Enter goes to one.",
    choices = { "next", "previous", "quickfix" },
    run = of("diffs", "run"),
  },
  {
    name = "review",
    args = "[turn | session | all]",
    doc = "Show the files that Claude has changed, each beside what it was: what you have not reviewed yet, or what the last "
      .. "turn, the session, or every session of this Neovim changed. Keep or undo each change, see |claude-ide-review|.",
    choices = { "turn", "session", "all" },
    run = function(words)
      return require("claude-ide.review").open(words[1] --[[@as claude-ide.review.Scope?]])
    end,
  },
  {
    name = "undo",
    doc = "Take back what Claude's last turn changed in files, after showing what that means and asking. What you have "
      .. "changed since stays. Again: the turn before.",
    run = function()
      return require("claude-ide.review").undo_turn()
    end,
  },
  {
    name = "resolve",
    args = "[merge | mine | theirs | compare]",
    doc = "Decide on a file that changed on disk while you had unsaved changes: take both where no line was changed by both, "
      .. "keep yours, take the disk's, or show both (and what was before) side by side, where `do` in yours takes a change "
      .. "of the disk's and `:w` ends it. Without an argument: choose.",
    choices = { "merge", "mine", "theirs", "compare" },
    run = function(words)
      return require("claude-ide.watch.conflict").resolve(words[1] --[[@as claude-ide.watch.Choice?]])
    end,
  },
  {
    name = "sessions",
    args = "[all] [{words}] | {action} [{title} | {id}] | rename [{title}]",
    doc = "Choose one of the sessions of this project, or of all projects, then what to do with it: `read`, `resume` in the "
      .. "terminal, `fork`, `copy` its id, `export` as Markdown. Words leave those in whose title, prompts, branch or id "
      .. "they occur. Or say at once what to do, with the title, words of it, or the id or its beginning; without any: with "
      .. "the session of this transcript, or the one that you choose. `rename` gives that one a title. "
      .. "See |claude-ide-sessions|.",
    run = of("sessions", "run"),
    complete = of("sessions", "complete"),
  },
  {
    name = "grep",
    args = "[-a] [-F] [-i | -s] {pattern}",
    doc = "Search what was said in the sessions of this project, and list what is found in the quickfix window as it is found; "
      .. "an entry opens the transcript there. The pattern is a regular expression and ends with the line. Case counts if it "
      .. "has an upper-case letter. `-a`: all projects, `-F`: plain text, `-i`: ignore case, `-s`: case counts, `--`: the "
      .. "pattern follows. `<C-c>` in the list stops the search.",
    run = of("sessions", "grep"),
    complete = of("sessions", "complete_grep"),
  },
  {
    name = "transcript",
    args = "[id]",
    doc = "Show what was said and done in a session, and follow it while it goes on: the one of the terminal or of a "
      .. "connected CLI, else the newest of this project, or the one with this id (its beginning will do). "
      .. "See |claude-ide-transcript|.",
    run = of("sessions", "transcript"),
    complete = of("sessions", "complete_id"),
  },
  {
    name = "serve",
    args = "[start | stop | url]",
    doc = "Serve sessions to a page in your browser, to read along and on a phone; or end that; or show the page's address, "
      .. "which lets one browser in, once. See |claude-ide-web|.",
    choices = { "start", "stop", "url" },
    run = of("serve", "run"),
  },
  {
    name = "selection",
    args = "[on | off | toggle]",
    doc = "Let Claude see the current file and selection, or not. Without an argument: say which it is.",
    choices = { "on", "off", "toggle" },
    run = function(words)
      local selection = require("claude-ide.selection")
      local actions = { on = selection.enable, off = selection.disable, toggle = selection.toggle }
      if words[1] then
        actions[words[1]]()
        require("claude-ide.statusline").refresh()
      end
      local state = selection.is_enabled() and "Claude sees the current file and selection."
        or "Claude does not see the current file and selection."
      require("claude-ide.ui.notice").info(state)
    end,
  },
  {
    name = "mcp",
    doc = "Show how another agent finds the tools of this Neovim: the line for `claude mcp add`, and the JSON. "
      .. "See |claude-ide-tools|.",
    run = of("mcp", "show"),
  },
  {
    name = "kernel",
    args = "[start | interrupt | restart | stop | log]",
    doc = "The Jupyter kernel that Claude's code runs in: that of the notebook in the window, else the one that ran last, else "
      .. "that of the project. `interrupt` ends what runs and keeps the variables, `restart` and `stop` forget them, `log` "
      .. "shows what ran and what came of it. Without an argument: say how things stand. See |claude-ide-notebooks|.",
    choices = { "start", "interrupt", "restart", "stop", "log" },
    run = of("kernel", "run"),
  },
  {
    name = "log",
    doc = "Open the log file.",
    run = function()
      local path = require("claude-ide.log").path()
      if not vim.uv.fs_stat(path) then
        return nil, "There is no log yet: " .. path
      end
      vim.cmd(("noswapfile botright split %s"):format(vim.fn.fnameescape(path)))
      vim.bo.readonly, vim.bo.autoread = true, true
      vim.cmd("normal! G")
      return true
    end,
  },
  {
    name = "health",
    doc = "Run |:checkhealth| claude-ide.",
    run = function()
      vim.cmd.checkhealth("claude-ide")
      return true
    end,
  },
}
