-- What the user does to the windows and buffers of a diff, as autocommands and keys, and what each of it means.
local M = {}

---A diff on the screen, and what its events mean.
---@class claude-ide.diff.Listener
---@field diff claude-ide.Diff
---@field bufs table<claude-ide.diffview.Side, integer>
---@field lines string[] the proposal as it came
---@field write fun() the user writes the proposal
---@field loss claude-ide.diff.Loss

---@param group integer
---@param listener claude-ide.diff.Listener
function M.attach(group, listener)
  local bufs, loss = listener.bufs, require("claude-ide.diff.loss")

  ---@param events vim.api.keyset.events
  ---@param opts table
  local function on(events, opts)
    opts.group = group
    opts.desc = "Claude Code: a proposed edit"
    vim.api.nvim_create_autocmd(events, opts)
  end

  -- 'modified' stays on, so that `:wq` does not close a window of its own: the diff takes itself down as a whole.
  require("claude-ide.diff.writes").attach(group, bufs.proposal, {
    id = listener.diff.id,
    path = listener.diff.path,
    seen_by = bufs.proposal,
    accept = listener.write,
  })
  on("BufReadCmd", {
    buffer = bufs.proposal,
    callback = function()
      require("claude-ide.diff.buffers").refill(bufs.proposal, listener.lines)
    end,
  })
  -- Undoing the last edit takes the flag away, and with it `:x` and `:update` would do nothing.
  on("BufModifiedSet", {
    buffer = bufs.proposal,
    callback = function()
      if listener.diff.state == "pending" then
        vim.bo[bufs.proposal].modified = true
      end
    end,
  })
  on("WinClosed", {
    callback = function(event)
      loss.of_window(listener.loss, tonumber(event.match) --[[@as integer]])
    end,
  })
  for side, buf in pairs(bufs) do
    local function lost()
      loss.of_buffer(listener.loss, side)
    end
    on("BufWipeout", { buffer = buf, callback = lost })
    on("BufUnload", {
      buffer = buf,
      callback = function()
        -- `:edit!` unloads too, and loads again at once.
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

local DESCRIPTIONS = {
  accept = "accept the proposed edit",
  reject = "reject the proposed edit",
  reject_with_reason = "reject the proposed edit and tell Claude why",
  hunk = "drop this change, or take it after all",
  layout = "show the proposed edit in another layout",
  help = "list these keys",
}

---In the order in which they are listed.
local VERBS = { "accept", "reject", "reject_with_reason", "hunk", "layout", "help" }

---@param verb string
---@return string[]
local function keys_of(verb)
  return require("claude-ide.ui.key_list").keys(require("claude-ide.config").get().diff.keymaps[verb])
end

---@param verb string
---@return string
local function describe(verb)
  return "Claude Code: " .. DESCRIPTIONS[verb]
end

---The keys that decide on a diff.
---@return string[]
function M.deciding_keys()
  return vim.iter(DECIDES):map(keys_of):flatten():totable()
end

---Whether keys that were pressed in the current buffer decide on the diff that it is of.
---@param typed string
---@return boolean
function M.is_deciding(typed)
  local map = vim.fn.maparg(vim.fn.keytrans(typed), "n", false, true)
  return map.buffer == 1 and vim.iter(DECIDES):any(function(verb)
    return map.desc == describe(verb)
  end)
end

---What a key of a diff does. Another screen may have come between the key and this, as the diff was decided before.
---@param diff claude-ide.Diff
---@param bufs table<claude-ide.diffview.Side, integer>
---@param verb string
---@param run fun()
---@return fun()
local function pressed(diff, bufs, verb, run)
  local decides = vim.tbl_contains(DECIDES, verb)
  return function()
    local here = vim.tbl_contains(vim.tbl_values(bufs), vim.api.nvim_get_current_buf())
    if diff.state == "pending" and here then
      local entry = require("claude-ide.diff.entries").get(diff.id)
      if entry and entry.behind then
        -- Neovim, which refused to quit, has put its text into some window, and the key was there before that was put right.
        require("claude-ide.diff.waiting_line").gather_strays()
      end
      if not decides or require("claude-ide.ui.guard.window").proposal_accepts_key(bufs.proposal) then
        run()
      end
    elseif not here and not decides then
      require("claude-ide.ui.guard.keys").pass_on()
    end
  end
end

---@param diff claude-ide.Diff
---@param bufs table<claude-ide.diffview.Side, integer>
---@param verbs table<"accept"|"reject"|"reject_with_reason"|"hunk"|"layout"|"help", fun()>
function M.map_keys(diff, bufs, verbs)
  for verb, run in pairs(verbs) do
    for _, lhs in ipairs(keys_of(verb)) do
      for _, buf in pairs(bufs) do
        vim.keymap.set("n", lhs, pressed(diff, bufs, verb, run), {
          buffer = buf,
          nowait = true,
          silent = true,
          desc = describe(verb),
        })
      end
    end
  end
end

---Lists the keys.
function M.help()
  local key_list, entries = require("claude-ide.ui.key_list"), {}
  for _, verb in ipairs(VERBS) do
    entries[#entries + 1] = key_list.entry(keys_of(verb), DESCRIPTIONS[verb])
  end
  if require("claude-ide.config").get().diff.accept_on_write then
    entries[#entries + 1] = { ":w", "accept as well" }
  end
  vim.list_extend(entries, {
    { ":q", "reject as well" },
    { "]c [c", "next change, change before" },
    { "do dp", "put what is there now in place of a change: on the proposal's side, on the other" },
  })
  key_list.open(entries, { of = "a diff", group = "ClaudeDiffKey", help = keys_of("help") })
end

return M
