-- Startup: commands, <Plug> maps, autostart. No module is required until one of them is used.

if vim.g.loaded_claude_ide then
  return
end
vim.g.loaded_claude_ide = true

vim.api.nvim_create_user_command("Claude", function(args)
  require("claude-ide.command").run(args)
end, {
  nargs = "*",
  range = true,
  complete = function(...)
    return require("claude-ide.command").complete(...)
  end,
  desc = "Claude Code: toggle its terminal, or run a subcommand",
})

vim.api.nvim_create_user_command("ClaudeConnect", function()
  require("claude-ide.command").connect()
end, { bar = true, desc = "Claude Code: start the server and list connected CLIs" })

vim.api.nvim_create_user_command("ClaudeSend", function(args)
  require("claude-ide.command").send(args)
end, { bar = true, range = true, desc = "Claude Code: mention the range, or the whole file" })

---@param mode string
---@param name string
---@param rhs string
---@param desc string
local function plug(mode, name, rhs, desc)
  -- Not vim.keymap: loading that module would slow every start.
  vim.api.nvim_set_keymap(mode, name, rhs, {
    noremap = true,
    silent = true,
    desc = "Claude Code: " .. desc,
  })
end

plug("n", "<Plug>(claude-toggle)", "<Cmd>Claude<CR>", "toggle the terminal")
plug("n", "<Plug>(claude-focus)", "<Cmd>Claude focus<CR>", "go to the terminal, or back")
plug("n", "<Plug>(claude-connect)", "<Cmd>ClaudeConnect<CR>", "start the server")
plug("n", "<Plug>(claude-send)", "<Cmd>ClaudeSend<CR>", "mention this file")
plug("x", "<Plug>(claude-send)", ":ClaudeSend<CR>", "mention the selected lines")
plug("n", "<Plug>(claude-diff-accept)", "<Cmd>Claude accept<CR>", "accept the proposal")
plug("n", "<Plug>(claude-diff-reject)", "<Cmd>Claude reject<CR>", "reject the proposal")
plug("n", "<Plug>(claude-decide)", "<Cmd>Claude decide<CR>", "go to an open request")
plug("n", "<Plug>(claude-diffs)", "<Cmd>Claude diffs<CR>", "list the proposals")
plug("n", "<Plug>(claude-board)", "<Cmd>Claude board<CR>", "show all sessions of this project")
plug("n", "<Plug>(claude-sessions)", "<Cmd>Claude sessions<CR>", "list the sessions of this project")
plug("n", "<Plug>(claude-transcript)", "<Cmd>Claude transcript<CR>", "show the transcript of the session")
plug("n", "<Plug>(claude-follow)", "<Cmd>Claude follow<CR>", "follow Claude, pause or go on")
plug("n", "<Plug>(claude-follow-next)", "<Cmd>Claude follow next<CR>", "go to the next place of the turn")
plug("n", "<Plug>(claude-follow-prev)", "<Cmd>Claude follow previous<CR>", "go to the place before")
plug("n", "<Plug>(claude-review)", "<Cmd>Claude review<CR>", "review what Claude changed")
plug(
  "n",
  "<Plug>(claude-comment-line)",
  '<Cmd>lua require("claude-ide.command.operators").comment_lines()<CR>',
  "comment on this line, or on [count] lines"
)
plug(
  "n",
  "<Plug>(claude-comment-next)",
  '<Cmd>lua require("claude-ide.comments").run("next")<CR>',
  "go to the next comment"
)
plug(
  "n",
  "<Plug>(claude-comment-prev)",
  '<Cmd>lua require("claude-ide.comments").run("previous")<CR>',
  "go to the previous comment"
)
plug(
  "n",
  "<Plug>(claude-comment-toggle)",
  '<Cmd>lua require("claude-ide.comments").run("unfold")<CR>',
  "show all of a comment, or one line"
)
plug(
  "n",
  "<Plug>(claude-comments-since)",
  "<Cmd>Claude comments since<CR>",
  "show what changed since a comment"
)
plug("n", "<Plug>(claude-comments)", "<Cmd>Claude comments<CR>", "list the comments")
plug("n", "<Plug>(claude-comments-send)", "<Cmd>Claude comments send<CR>", "send the comments")
plug(
  "n",
  "<Plug>(claude-change-next)",
  '<Cmd>lua require("claude-ide.edits.review").jump(1)<CR>',
  "go to Claude's next change"
)
plug(
  "n",
  "<Plug>(claude-change-prev)",
  '<Cmd>lua require("claude-ide.edits.review").jump(-1)<CR>',
  "go to Claude's previous change"
)
plug(
  "n",
  "<Plug>(claude-selection-toggle)",
  "<Cmd>Claude selection toggle<CR>",
  "send the selection, or stop"
)

-- Operators. Lua returns the keys each time, so that a repeat with `.` is recognized.
for _, mode in ipairs({ "n", "x" }) do
  for name, verb in pairs({
    ["<Plug>(claude-edit-operator)"] = "edit",
    ["<Plug>(claude-send-operator)"] = "send",
    ["<Plug>(claude-comment)"] = "comment",
  }) do
    vim.api.nvim_set_keymap(
      mode,
      name,
      ("v:lua.require'claude-ide.command.operators'.keys('%s')"):format(verb),
      {
        noremap = true,
        silent = true,
        expr = true,
        desc = ("Claude Code: %s the lines of a motion"):format(verb),
      }
    )
  end
end

-- A transcript opened by name: with `:edit`, or by a restored session, which creates an empty buffer of that name.
local reading = vim.api.nvim_create_augroup("claude-ide.transcript.read", { clear = true })
for event, names in pairs({
  BufReadCmd = { "claude://transcript/*" },
  SessionLoadPost = { "claude://transcript/*", "*/Claude ????????/*" },
}) do
  vim.api.nvim_create_autocmd(event, {
    group = reading,
    pattern = names,
    callback = function(about)
      local name = vim.api.nvim_buf_get_name(about.buf)
      if event == "BufReadCmd" or require("claude-ide.ui.buffer_marks").conversation(name) then
        require("claude-ide.app")
        require("claude-ide.transcript").read_into(about.buf, name)
      end
    end,
    desc = "Claude Code: read a transcript by its name",
  })
end

-- A conversation with another agent has its text at the agent.
vim.api.nvim_create_autocmd("SessionLoadPost", {
  group = reading,
  pattern = "*/* */*",
  callback = function(about)
    local name = vim.api.nvim_buf_get_name(about.buf)
    if not vim.uv.fs_stat(name) and not require("claude-ide.ui.buffer_marks").conversation(name) then
      require("claude-ide.chat.acp.restored").read_into(about.buf, name)
    end
  end,
  desc = "Claude Code: say how to continue a session of another agent",
})

-- Neovim is certain to exit: see leave/init.lua for the choice of this event.
local leaving, has_left = vim.api.nvim_create_augroup("claude-ide.leave", { clear = true }), false
vim.api.nvim_create_autocmd("BufWinLeave", {
  group = leaving,
  callback = function()
    if vim.v.exiting ~= vim.NIL and not has_left then
      has_left = true
      if package.loaded["claude-ide.server"] or package.loaded["claude-ide.requests"] then
        require("claude-ide.leave").now()
      end
    end
  end,
  desc = "Claude Code: nothing of ours in a saved session",
})
vim.api.nvim_create_autocmd("CmdlineLeave", {
  group = leaving,
  pattern = ":",
  callback = function()
    if package.loaded["claude-ide.sessions"] then
      require("claude-ide.leave.ask_before_quit").note_command()
    end
  end,
  desc = "Claude Code: know a command that quits",
})
vim.api.nvim_create_autocmd("ExitPre", {
  group = leaving,
  callback = function()
    if package.loaded["claude-ide.sessions"] then
      require("claude-ide.leave.ask_before_quit").before_exit()
    end
  end,
  desc = "Claude Code: sessions that work may continue without Neovim",
})
vim.api.nvim_create_autocmd("SessionWritePost", {
  group = leaving,
  callback = function()
    if package.loaded["claude-ide.ui.buffer_marks"] then
      require("claude-ide.leave.written_session").make_loadable()
    end
  end,
  desc = "Claude Code: a session with windows of ours can be loaded without an error",
})
vim.api.nvim_create_autocmd("SessionLoadPost", {
  group = leaving,
  callback = function()
    require("claude-ide.leave").session_loaded()
  end,
  desc = "Claude Code: no dead windows of a saved session",
})

-- Piped input is read before the UI attaches, and cannot be detected later.
vim.api.nvim_create_autocmd("StdinReadPost", {
  group = vim.api.nvim_create_augroup("claude-ide.stdin", { clear = true }),
  once = true,
  callback = function()
    vim.g.claude_ide_read_stdin = true
  end,
  desc = "Claude Code: a pager does not start the server",
})

-- Not in a Neovim without a UI (a script, a test, a commit hook): it waits for UIEnter.
local function autostart()
  vim.schedule(function()
    require("claude-ide.autostart").run()
  end)
end

if vim.v.vim_did_enter == 1 and #vim.api.nvim_list_uis() > 0 then
  autostart()
else
  vim.api.nvim_create_autocmd("UIEnter", {
    group = vim.api.nvim_create_augroup("claude-ide.autostart", { clear = true }),
    once = true,
    callback = autostart,
    desc = "Claude Code: start the server",
  })
end
