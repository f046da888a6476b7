-- `:Claude worktree done`: the end of a worktree.
-- Invariant: nothing is lost. It stops at an unsaved buffer, what git has not finished, an edit that waits, a change that is not
-- reviewed, and a CLI of another terminal; it asks about files that are not committed, and names what else a removal takes: ignored
-- files, text that was typed and not sent, the folder of other terminals. Git removes and deletes without force, and all is checked
-- again before that.
local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local chat_prompt = lazy("claude-ide.chat.prompt")
local editor = lazy("claude-ide.terminal.editor")
local git = lazy("claude-ide.server.git")
local guard = lazy("claude-ide.ui.guard")
local ide_chat = lazy("claude-ide.chat")
local ide_proposal = lazy("claude-ide.edits.proposal")
local journal = lazy("claude-ide.edits.journal")
local lsp = lazy("claude-ide.base.lsp")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")
local phrases = lazy("claude-ide.sessions.phrases")
local process = lazy("claude-ide.base.process")
local retry = lazy("claude-ide.base.retry")
local review = lazy("claude-ide.edits.review")
local sessions = lazy("claude-ide.sessions")
local terminal_prompt = lazy("claude-ide.terminal.prompt")
local terminals = lazy("claude-ide.terminal")
local ui_choose = lazy("claude-ide.ui.choose")
local width = lazy("claude-ide.base.width")
local working_directory = lazy("claude-ide.base.working_directory")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Width of a text that was not sent, in a sentence.
local MAX_TEXT = 30
---How long a CLI may take to end.
local PATIENCE_MS = 10000

local counted = require("claude-ide.base.counted")
local listed = require("claude-ide.base.listed")

---@param path string
---@param folder string resolved
---@return boolean
local function is_in(path, folder)
  return paths.is_plain(path) and paths.within(paths.real(path), folder)
end

---Buffers of files in a folder.
---@param folder string
---@return integer[]
local function buffers_in(folder)
  return vim.tbl_filter(function(buf)
    local is_file = vim.bo[buf].buftype == "" or vim.bo[buf].buftype == "acwrite"
    local is_ours = buffer_marks.kind(buf) ~= nil -- a side of a diff bears the file's name
    return is_file and not is_ours and is_in(vim.api.nvim_buf_get_name(buf), folder)
  end, vim.api.nvim_list_bufs())
end

---@param task claude-ide.language.Task
---@param folder string
local function check_buffers(task, folder)
  local names = {}
  for _, buf in ipairs(buffers_in(folder)) do
    names[#names + 1] = vim.bo[buf].modified and vim.fs.basename(vim.api.nvim_buf_get_name(buf)) or nil
  end
  if names[1] then
    local name = vim.fs.basename(folder)
    task:fail(("Not saved in %s: %s. Write or discard it first."):format(name, listed(names)))
  end
end

---@param task claude-ide.language.Task
---@param folder string
local function check_git(task, folder)
  local command, conflicts = git.unfinished(task, folder)
  local name, files = vim.fs.basename(folder), listed(conflicts)
  if command then
    local where = ("`git %s` in %s is not finished"):format(command, name)
    local with = conflicts[1] and (": conflicts in %s"):format(files) or ""
    task:fail(("%s%s. Finish or abort it first."):format(where, with))
  elseif conflicts[1] then
    task:fail(("%s has conflicts in %s. Resolve them, then `git add`."):format(name, files))
  end
end

---The sessions that run in a folder.
---@param folder string
---@return claude-ide.sessions.Live[]
local function sessions_in(folder)
  return vim.tbl_filter(function(session)
    return is_in(session.cwd, folder) and process.runs(session.pid) == true
  end, sessions.live())
end

---@param folder string
---@return claude-ide.terminal.Session[]
local function terminals_in(folder)
  return vim.tbl_filter(function(terminal)
    return is_in(terminal.spec.cwd, folder)
  end, terminals.list())
end

---@param folder string
---@return claude-ide.chat.Chat[]
local function chats_in(folder)
  local chats = package.loaded["claude-ide.chat"]
  return vim.tbl_filter(function(chat)
    return is_in(chat.cwd, folder)
  end, type(chats) == "table" and chats.list() or {})
end

---@param folder string
---@return integer
local function clis_in(folder)
  return #terminals_in(folder) + #chats_in(folder)
end

---What was typed for Claude and not sent: at the prompts of chats, as drafts of closed ones, in terminals, and in the files that are open
---for those.
---@param folder string
---@return string[]
local function unsent_in(folder)
  local names = {} ---@type string[]
  local texts = chat_prompt.unsent(chats_in(folder), folder)
  local lines = {} ---@type string[]
  for _, terminal in ipairs(terminals_in(folder)) do
    local buf = terminal:bufnr()
    if buf and terminal_prompt.has_draft(buf) then
      lines[#lines + 1] = ("a line in the terminal %s"):format(terminal:name())
    end
    for _, open in ipairs(editor.buffers_of(terminal)) do
      local text = table.concat(vim.api.nvim_buf_get_lines(open, 0, -1, false), "\n")
      texts[#texts + 1] = vim.trim(text) ~= "" and text or nil
    end
  end
  for _, text in ipairs(texts) do
    names[#names + 1] = ('"%s"'):format(phrases.fit(phrases.one_line(text), MAX_TEXT))
  end
  return vim.list_extend(names, lines)
end

---Jobs in other terminals.
---@param folder string
---@return string[] commands
local function jobs_in(folder)
  local names = {} ---@type string[]
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local ok, pid = pcall(vim.fn.jobpid, vim.bo[buf].buftype == "terminal" and vim.bo[buf].channel or 0)
    if ok and not terminals.of_buffer(buf) then
      local begun_in, command = vim.api.nvim_buf_get_name(buf):match("^term://(.-)//%d+:(.*)$")
      local now_in = vim.uv.fs_readlink(("/proc/%d/cwd"):format(pid))
      if is_in(now_in or vim.fs.normalize(begun_in or "", { expand_env = false }), folder) then
        names[#names + 1] = command or tostring(pid)
      end
    end
  end
  return names
end

---What must be decided elsewhere first.
---@param task claude-ide.language.Task
---@param folder string resolved
local function check(task, folder)
  for _, other in ipairs((workspace.repository(folder) or { worktrees = {} }).worktrees) do
    if other.path ~= folder and is_in(other.path, folder) then
      task:fail(("The worktree %s is in this one: end it first."):format(vim.fs.basename(other.path)))
    end
  end
  check_buffers(task, folder)
  check_git(task, folder)
  for _, proposal in ipairs(ide_proposal.list()) do
    if is_in(proposal.path, folder) then
      task:fail(
        ("A proposal for %s waits: accept or reject it first."):format(vim.fs.basename(proposal.path))
      )
    end
  end
  local own = vim.tbl_map(function(chat)
    return chat.pid
  end, chats_in(folder))
  for _, session in ipairs(sessions_in(folder)) do
    local is_own = vim.list_contains(own, session.pid)
    local is_shown = terminals.of_process(session.pid) ~= nil
    if session.job and not is_own then
      task:fail("A session of Claude is in the background there: `:Claude list` has it. End it first.")
    elseif not is_own and not is_shown then
      task:fail(("Claude runs there outside of `:Claude` (pid %d): end it first."):format(session.pid))
    end
  end
  task:await(function(resume)
    journal.when_known(resume)
  end)
  local changed = 0
  for _, change in ipairs(journal.changes()) do
    changed = changed + (is_in(change.path, folder) and 1 or 0)
  end
  if changed > 0 then
    review.open()
    task:fail(("%s to review there. Then `:Claude worktree done` again."):format(counted(changed, "file")))
  end
end

---@param task claude-ide.language.Task
---@param asked claude-ide.ui.guard.Request
---@param choices string[]
---@param prompt string
---@return string? choice
local function choose(task, asked, choices, prompt)
  local choice = task:await(function(resume)
    guard.when_requested("worktree " .. task.call.id, "A question about the worktree", function()
      local printable = width.printable
      local options = { prompt = printable(prompt), format_item = printable }
      ui_choose.select(choices, options, resume)
    end, asked)
  end)
  return choice
end

---The task that changes a worktree, by its folder.
---@type table<string, claude-ide.language.Task>
local at_work = {}

---Keeps other tasks from a worktree until this one has ended.
---@param task claude-ide.language.Task
---@param own claude-ide.workspace.Worktree
local function claim(task, own)
  local other = at_work[own.path]
  if other and other ~= task and not other.ended then
    task:fail(("Another `:Claude worktree done` is at work in %s."):format(vim.fs.basename(own.path)))
  end
  at_work[own.path] = task
end

---Keeps what is staged in a worktree, in case that a commit fails.
---@param task claude-ide.language.Task
---@param folder string
---@return fun(has_failed: boolean) restore
local function keep_index(task, folder)
  local index = git.must(task, folder, { "rev-parse", "--git-path", "index" })
  index = vim.startswith(index, "/") and index or folder .. "/" .. index
  local kept = ("%s.%d.claude"):format(index, vim.uv.os_getpid())
  local has_index, is_kept = vim.uv.fs_stat(index) ~= nil, vim.uv.fs_copyfile(index, kept)
  return function(has_failed)
    if has_failed and is_kept then
      vim.uv.fs_rename(kept, index)
    elseif has_failed and not has_index then
      vim.uv.fs_unlink(index)
    end
    vim.uv.fs_unlink(kept)
  end
end

---Offers to commit what is not committed.
---@param task claude-ide.language.Task
---@param own claude-ide.workspace.Worktree
---@param asked claude-ide.ui.guard.Request
---@param names string[]
---@return boolean go_on
local function commit(task, own, asked, names)
  local all = "Commit all of it…"
  local prompt = ("Not committed in %s: %s"):format(vim.fs.basename(own.path), listed(names))
  if choose(task, asked, { "Leave it as it is", all }, prompt) ~= all then
    return false
  end
  local message = task:await(function(resume)
    vim.ui.input({ prompt = "Commit message: " }, resume)
  end)
  if not message or vim.trim(message) == "" then
    task:fail("Nothing was committed: the message is empty. The worktree stays.")
  end
  claim(task, own)
  check_git(task, own.path)
  local restore = keep_index(task, own.path)
  local _, err = git.run(task, own.path, { "add", "--all" })
  if not err then
    _, err = git.run(task, own.path, { "commit", "--quiet", "--message", message })
  end
  restore(err ~= nil)
  return not err or task:fail(("Nothing was committed: %s"):format(err))
end

---@class claude-ide.worktree.State
---@field into? claude-ide.workspace.Worktree where its base is checked out
---@field ahead integer commits that `into` does not have
---@field ignored string[]
---@field unsent string[] texts for Claude
---@field jobs string[] commands in terminals
---@field stays? string why it cannot be removed

---The worktree that has the branch which this one began at, else the repository's default branch.
---@param task claude-ide.language.Task
---@param repository claude-ide.workspace.Repository
---@param own claude-ide.workspace.Worktree
---@return claude-ide.workspace.Worktree?
local function destination(task, repository, own)
  local log = git.run(task, own.path, { "reflog", "show", "--format=%gs", "refs/heads/" .. own.branch, "--" })
  local base = log and log:match("branch: Created from ([^\n]+)$")
  local function with(branch)
    return vim.iter(repository.worktrees):find(function(worktree)
      return branch ~= nil and worktree.branch == branch and worktree.path ~= own.path
    end)
  end
  return with(base and base:gsub("^refs/heads/", ""))
    or with(git.run(task, repository.common, { "symbolic-ref", "--short", "HEAD" }))
end

---@param task claude-ide.language.Task
---@param own claude-ide.workspace.Worktree
---@param status claude-ide.git.Status
---@return string? why it cannot be removed
local function why_it_stays(task, own, status)
  local private = git.must(task, own.path, { "rev-parse", "--absolute-git-dir" })
  local is_known = status.has_submodules or vim.uv.fs_stat(own.path .. "/.gitmodules")
  if is_known or vim.uv.fs_stat(private .. "/modules") then
    return "it has submodules, with which git removes no worktree"
  elseif vim.uv.fs_stat(private .. "/locked") then
    return "it is locked (`git worktree unlock`)"
  end
  local holders = { "for-each-ref", "--count=1", "--contains", "HEAD", "--format=%(refname)" }
  return git.must(task, own.path, holders) == "" and "no branch has its commits" or nil
end

---@param task claude-ide.language.Task
---@param repository claude-ide.workspace.Repository
---@param own claude-ide.workspace.Worktree
---@param status claude-ide.git.Status
---@return claude-ide.worktree.State
local function state_of(task, repository, own, status)
  ---@type claude-ide.worktree.State
  local state = {
    ahead = 0,
    ignored = status.ignored,
    unsent = unsent_in(own.path),
    jobs = jobs_in(own.path),
    stays = why_it_stays(task, own, status),
  }
  if own.branch then
    state.into = destination(task, repository, own)
  end
  if state.into then
    local range = ("refs/heads/%s..refs/heads/%s"):format(state.into.branch, own.branch)
    state.ahead = tonumber(git.must(task, own.path, { "rev-list", "--count", range })) --[[@as integer]]
  end
  return state
end

---@param task claude-ide.language.Task
---@param into claude-ide.workspace.Worktree
---@param branch string
local function merge(task, into, branch)
  local name = vim.fs.basename(into.path)
  check_buffers(task, into.path)
  check_git(task, into.path) -- `--abort` below would end another merge
  local now = git.run(task, into.path, { "symbolic-ref", "--short", "HEAD" }) or "no branch"
  if now ~= into.branch then
    task:fail(("%s is on %s now, not on %s: nothing was merged."):format(name, now, into.branch))
  end
  for _, session in ipairs(sessions_in(into.path)) do
    if session.state.activity == "working" then
      task:fail(("Claude works in %s: merge when it is done."):format(name))
    end
  end
  local changed = git.must(task, into.path, { "status", "--porcelain=v1", "--untracked-files=no" })
  if changed ~= "" then
    task:fail(("%s has changes that are not committed: nothing was merged."):format(name))
  end
  -- Git's message names what it is given: the branch, unless a tag has its name.
  local full, short = "refs/heads/" .. branch, branch
  local meant = git.run(task, into.path, { "rev-parse", "--symbolic-full-name", short, "--" })
  short = meant and vim.split(meant, "\n")[1] == full and short or full
  local _, err = git.run(task, into.path, { "merge", "--no-edit", "--quiet", short })
  if err then
    local _, conflicts = git.unfinished(task, into.path)
    git.run(task, into.path, { "merge", "--abort" })
    task:fail(
      conflicts[1]
          and ("Conflicts in %s: nothing was merged. Merge %s into %s there first."):format(
            listed(conflicts),
            into.branch,
            branch
          )
        or ("Nothing was merged: %s"):format(err)
    )
  end
  vim.cmd.checktime()
end

---Ends the CLIs that `:Claude` started there, and chats.
---@param task claude-ide.language.Task
---@param folder string
local function end_clis(task, folder)
  local pids = vim.tbl_map(function(session)
    return session.pid
  end, sessions_in(folder))
  for _, terminal in ipairs(terminals_in(folder)) do
    terminal:close()
  end
  for _, chat in ipairs(chats_in(folder)) do
    pids[#pids + 1] = chat.pid
    ide_chat.close(chat)
  end
  local over = task:await(function(resume)
    return retry.until_ended(pids, PATIENCE_MS, resume)
  end)
  if not over then
    task:fail("Claude does not end there.")
  end
end

---Takes Neovim out of a folder: its tab pages, buffers and language servers.
---@param folder string
---@param to string
local function leave(folder, to)
  for number = vim.fn.tabpagenr("$"), 1, -1 do
    if is_in(vim.fn.getcwd(-1, number), folder) and vim.fn.tabpagenr("$") > 1 then
      vim.cmd(("hide tabclose %d"):format(number)) -- with 'nohidden', too
    end
  end
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    vim.api.nvim_win_call(win, function()
      if is_in(vim.fn.getcwd(), folder) then
        local scope = vim.fn.haslocaldir() == 1 and "lcd" or vim.fn.haslocaldir(-1) == 1 and "tcd" or "cd"
        working_directory.set(scope, to)
      end
    end)
  end
  for _, client in ipairs(lsp.all()) do
    if client.root_dir and is_in(client.root_dir, folder) then
      client:stop()
    end
  end
  for _, buf in ipairs(buffers_in(folder)) do
    pcall(vim.api.nvim_buf_delete, buf, {})
  end
end

---@param task claude-ide.language.Task
---@param kind string
---@param told string[]
---@param now string[]
local function stop_at_new(task, kind, told, now)
  local new = vim.tbl_filter(function(name)
    return not vim.list_contains(told, name)
  end, now)
  if new[1] then
    task:fail(("%s since the question: %s."):format(kind, listed(new)))
  end
end

---Removes a worktree, and a branch whose commits are in another.
---@param task claude-ide.language.Task
---@param repository claude-ide.workspace.Repository
---@param own claude-ide.workspace.Worktree
---@param told claude-ide.worktree.State what the user knows
---@param into? claude-ide.workspace.Worktree whose branch has the commits; nil: the branch stays
---@return string? err why the branch stays
local function remove(task, repository, own, told, into)
  stop_at_new(task, "text that is not sent", told.unsent, unsent_in(own.path))
  stop_at_new(task, "terminals", told.jobs, jobs_in(own.path))
  check(task, own.path) -- before a CLI ends in vain
  end_clis(task, own.path)
  check(task, own.path)
  local status = git.status(task, own.path)
  if status.uncommitted[1] then
    task:fail(("not committed in the meantime: %s."):format(listed(status.uncommitted)))
  end
  stop_at_new(task, "ignored files", told.ignored, status.ignored)
  local stays = why_it_stays(task, own, status)
  if stays then
    task:fail(stays .. ".")
  end
  local other = into or repository.worktrees[1].path ~= own.path and repository.worktrees[1]
  leave(own.path, other and other.path or vim.fs.dirname(own.path))
  return git.in_turn(task, repository, function()
    git.must(task, repository.common, { "worktree", "remove", own.path })
    if into then
      local branch = own.branch --[[@as string]]
      local _, err = git.run(task, into.path, { "branch", "--quiet", "--delete", branch })
      return err
    end
  end)
end

---@param own claude-ide.workspace.Worktree
---@param state claude-ide.worktree.State
---@return string
local function question(own, state)
  local parts = { own.branch or "no branch" }
  if state.into and state.ahead > 0 then
    parts[#parts + 1] = ("%s not in %s"):format(counted(state.ahead, "commit"), state.into.branch)
  elseif state.into then
    parts[#parts + 1] = ("all in %s"):format(state.into.branch)
  end
  local taken = {
    { "ignored files go with it: %s", state.ignored },
    { "not sent: %s", state.unsent },
    { "terminals lose their folder: %s", state.jobs },
  }
  for _, one in ipairs(not state.stays and taken or {}) do
    parts[#parts + 1] = one[2][1] and one[1]:format(listed(one[2]))
  end
  for _, session in ipairs(sessions_in(own.path)) do
    if session.state.activity ~= "idle" then
      parts[#parts + 1] = ("Claude is %s"):format(phrases.activity(session.state))
    end
  end
  parts[#parts + 1] = state.stays
  return table.concat(parts, " · ")
end

---@class claude-ide.worktree.Choice
---@field text string
---@field merges? boolean
---@field removes? boolean
---@field deletes? boolean the branch

---@param own claude-ide.workspace.Worktree
---@param state claude-ide.worktree.State
---@return claude-ide.worktree.Choice[]
local function choices_of(own, state)
  local into, branch, list = state.into and state.into.branch, own.branch, {} ---@type string?, string?, claude-ide.worktree.Choice[]
  if into and state.ahead > 0 then
    if not state.stays then
      list[1] = {
        text = ("Merge it into %s, remove the worktree and the branch"):format(into),
        merges = true,
        removes = true,
        deletes = true,
      }
    end
    list[#list + 1] = { text = ("Merge it into %s, keep the worktree"):format(into), merges = true }
  elseif into and not state.stays then
    list[1] = { text = "Remove the worktree and the branch", removes = true, deletes = true }
  end
  if not state.stays then
    local keeps = branch and (", keep the branch %s"):format(branch) or ""
    list[#list + 1] = { text = "Remove the worktree" .. keeps, removes = true }
  end
  list[#list + 1] = { text = "Keep it" }
  return list
end

---@param task claude-ide.language.Task
---@param repository claude-ide.workspace.Repository
---@param own claude-ide.workspace.Worktree linked
---@param asked claude-ide.ui.guard.Request
function M.run(task, repository, own, asked)
  check(task, own.path)
  local status = git.status(task, own.path)
  if status.uncommitted[1] then
    if not commit(task, own, asked, status.uncommitted) then
      return
    end
    asked, status = guard.request(), git.status(task, own.path)
  end
  local state = state_of(task, repository, own, status)
  local list = choices_of(own, state)
  local texts = vim.tbl_map(function(choice)
    return choice.text
  end, list)
  local text = choose(task, asked, texts, question(own, state))
  local chosen = vim.iter(list):find(function(choice)
    return choice.text == text
  end)
  if not chosen or not (chosen.merges or chosen.removes) then
    return
  end
  claim(task, own)
  if chosen.merges then
    merge(task, state.into --[[@as claude-ide.workspace.Worktree]], own.branch --[[@as string]])
  end
  local name, into = own.branch or vim.fs.basename(own.path), state.into and state.into.branch
  local words = (chosen.merges and "%s is in %s now." or "The worktree of %s is removed."):format(name, into)
  local clis = clis_in(own.path)
  local ok, kept = pcall(function()
    return chosen.removes and remove(task, repository, own, state, chosen.deletes and state.into or nil)
  end)
  if not ok then
    if type(kept) == "table" then
      local merged = chosen.merges and words .. " " or ""
      local ended = clis_in(own.path) < clis and "Claude has ended there. " or ""
      kept.message = ("%s%sThe worktree stays: %s"):format(merged, ended, kept.message)
    end
    error(kept, 0)
  end
  -- Git asks more of a branch with an upstream: that this has its commits, too.
  notice.info(kept and ("%s Its branch stays: %s"):format(words, kept) or words)
end

return M
