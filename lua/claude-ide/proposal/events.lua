-- Autocommands and keys of a diff, and what they mean.
local M = {}

---Handlers of closed windows and buffers of a diff. It continues as long as a window shows the proposal, alone if the current text was
---closed.
---@param entry claude-ide.proposal.Entry on the screen
---@param mend fun(entry: claude-ide.proposal.Entry) rearranges the remaining windows
---@return fun(win: integer) window_lost
---@return fun(side: claude-ide.diffview.Side) buffer_lost
local function losses(entry, mend)
  local windows, view = require("claude-ide.diffview.windows"), entry.view --[[@as claude-ide.diffview.View]]
  local function waits()
    return entry.diff.state == "pending" and entry.view == view
  end
  local function gone()
    if waits() then
      require("claude-ide.proposal.state").presenter.gone(entry.diff)
    end
  end
  local function mend_soon()
    -- After all effects of a command: `:tabclose` closes one side after the other.
    vim.schedule(function()
      require("claude-ide.ui.guard.waits").when_windows_may_change(function()
        if waits() and windows.window_of_proposal(view) then
          mend(entry)
        else
          gone()
        end
      end)
    end)
  end
  return function(win)
    if vim.tbl_contains(vim.tbl_values(view.wins), win) then
      windows.note_loss(view)
      require("claude-ide.ui.quietly").pass_through(win)
      if win ~= view.wins.list and windows.window_of_proposal(view, win) then
        mend_soon()
      else
        gone()
      end
    end
  end, function(side)
    if side == "now" then
      mend_soon()
    else
      gone()
    end
  end
end

---@param entry claude-ide.proposal.Entry on the screen
---@param file claude-ide.proposal.File prepared
---@param mend fun(entry: claude-ide.proposal.Entry) rearranges the remaining windows
function M.attach(entry, file, mend)
  local diff, bufs = entry.diff, file.text.bufs
  local window_lost, buffer_lost = losses(entry, mend)

  ---@param events vim.api.keyset.events
  ---@param opts table
  local function on(events, opts)
    opts.group = entry.group
    opts.desc = "Claude Code: a proposed edit"
    vim.api.nvim_create_autocmd(events, opts)
  end

  -- 'modified' stays on, so that `:wq` does not close the window: the diff closes as a whole.
  require("claude-ide.proposal.writes").attach(entry, file)
  on("BufReadCmd", {
    buffer = bufs.proposal,
    callback = function()
      vim.api.nvim_buf_set_lines(bufs.proposal, 0, -1, false, file.text.lines) -- `:edit!`
      vim.bo[bufs.proposal].modified = true
    end,
  })
  -- Undoing the last edit resets 'modified', and then `:x` and `:update` would do nothing.
  on("BufModifiedSet", {
    buffer = bufs.proposal,
    callback = function()
      if diff.state == "pending" then
        vim.bo[bufs.proposal].modified = true
      end
    end,
  })
  on("WinClosed", {
    callback = function(event)
      window_lost(tonumber(event.match) --[[@as integer]])
    end,
  })
  for side, buf in pairs(bufs) do
    local function lost()
      buffer_lost(side)
    end
    on("BufWipeout", { buffer = buf, callback = lost })
    on("BufUnload", {
      buffer = buf,
      callback = function()
        -- `:edit!` unloads and reloads at once.
        vim.schedule(function()
          if not vim.api.nvim_buf_is_loaded(buf) then
            lost()
          end
        end)
      end,
    })
  end
  on("LspAttach", {
    callback = function(event)
      if vim.tbl_contains(vim.tbl_values(bufs), event.buf) then
        vim.schedule(function()
          pcall(vim.lsp.buf_detach_client, event.buf, event.data.client_id)
        end)
      end
    end,
  })
end

local DECIDES = { "accept", "reject", "reject_with_reason" }

---@alias claude-ide.proposal.Verb "accept"|"reject"|"reject_with_reason"|"hunk"|"undo_file"|"next_file"|"previous_file"|"layout"|"help"

---Of several files, the keys that mean something else there, and those of a review.
---@type table<string, string>
local OF_SEVERAL = {
  accept = "accept all that is not dropped, in all files",
  reject = "reject all of it",
  reject_with_reason = "reject all of it and tell Claude why",
  undo_file = "drop this file, or take it after all",
  next_file = "go to the next file",
  previous_file = "go to the previous one",
}

---@param are_several boolean several files
---@return claude-ide.ui.key_list.Option[] options in display order
local function options(are_several)
  local key_list = require("claude-ide.ui.key_list")
  local found = key_list.options("diff")
  for _, option in ipairs(are_several and key_list.options("review") or {}) do
    if OF_SEVERAL[option.name] then
      table.insert(found, #found - 1, option) -- before the layout and the help
    end
  end
  for _, option in ipairs(found) do
    option.desc = are_several and OF_SEVERAL[option.name] or option.desc
  end
  return found
end

---Keys that accept or reject.
---@return string[]
function M.deciding_keys()
  local keymaps, keys =
    require("claude-ide.config").get().diff.keymaps, require("claude-ide.ui.key_list").keys
  return vim
    .iter(DECIDES)
    :map(function(verb)
      return keys(keymaps[verb])
    end)
    :flatten()
    :totable()
end

---Whether keys accept or reject the diff of the current buffer.
---@param typed string
---@return boolean
function M.is_deciding(typed)
  local map = vim.fn.maparg(vim.fn.keytrans(typed), "n", false, true)
  return map.buffer == 1
    and vim.iter(vim.list_extend(options(false), options(true))):any(function(option)
      return vim.tbl_contains(DECIDES, option.name) and map.desc == "Claude Code: " .. option.desc
    end)
end

---Wraps a key's action. The screen may have changed since the key, after a decision.
---@param entry claude-ide.proposal.Entry
---@param verb claude-ide.proposal.Verb
---@param run fun()
---@return fun()
local function pressed(entry, verb, run)
  local decides = vim.tbl_contains(DECIDES, verb)
  return function()
    local entries, diff = require("claude-ide.proposal.state"), entry.diff
    local here = vim.tbl_contains(entries.bufs(entry), vim.api.nvim_get_current_buf())
    if diff.state == "pending" and not diff.applying and here then
      if entry.waits then
        -- Neovim refused to quit and showed its buffer in some window, and the key came before that was corrected.
        require("claude-ide.proposal.waiting_line").gather_strays()
      end
      if not decides or require("claude-ide.ui.guard.window").proposal_accepts_key(entries.sight(entry)) then
        run()
      end
    elseif not here and not decides then
      require("claude-ide.ui.guard.keys").pass_on()
    end
  end
end

---@param entry claude-ide.proposal.Entry
---@param buf integer
---@param verbs table<claude-ide.proposal.Verb, fun()>
function M.map_keys(entry, buf, verbs)
  for _, option in ipairs(options(#entry.diff.files > 1)) do
    local verb = option.name --[[@as claude-ide.proposal.Verb]]
    require("claude-ide.ui.key_list").map(buf, option, pressed(entry, verb, verbs[verb]))
  end
end

---@param are_several boolean several files
function M.help(are_several)
  local key_list, others = require("claude-ide.ui.key_list"), {} ---@type any, claude-ide.ui.key_list.Entry[]
  if require("claude-ide.config").get().diff.accept_on_write then
    others[1] = { ":w", "accept as well" }
  end
  vim.list_extend(others, { { ":q", "reject as well" }, { "]c [c", "next change, previous change" } })
  others[#others + 1] = are_several
      and { "<CR>", "in the list: go to the file; keys for a change act on the whole file there" }
    or { "do dp", "restore the current text of a change: `do` on the proposal's side, `dp` on the other" }
  key_list.open(options(are_several), others, {
    of = are_several and "a changeset" or "a diff",
    group = "ClaudeDiffKey",
    help = key_list.option("diff", "help").keys,
  })
end

return M
