-- Writing a proposal, or a part of it, under another name: `:w copy`, `:saveas copy`, `:file copy | w`, `:1w >> copy`. It is
-- written as anything else would be, decides nothing, which is said, and the proposal's buffer is the proposal's again afterwards.
local M = {}

---@param buf integer of the proposal
---@param event { match: string, file: string } what is to be written, in full and as it was given
---@return boolean
function M.is_copy(buf, event)
  local is_own_name = require("claude-ide.ui.ours").is_own_name
  return not (is_own_name(buf, vim.api.nvim_buf_get_name(buf)) and is_own_name(buf, event.match, event.file))
end

---Gives the proposal its name back. `:saveas` has left that with a buffer that it made for the purpose.
local function take_name_back(buf)
  local ours = require("claude-ide.ui.ours")
  if ours.is_own_name(buf, vim.api.nvim_buf_get_name(buf)) then
    return
  end
  require("claude-ide.ui.quietly").run(function()
    for _, other in ipairs(vim.api.nvim_list_bufs()) do
      if other ~= buf and ours.is_own_name(buf, vim.api.nvim_buf_get_name(other)) then
        require("claude-ide.window").delete_buffer(other)
      end
    end
    ours.name_again(buf)
    return true
  end)
end

---Lets the command that is being carried out fail without an error of its own: `:wq copy` is not to quit then.
local function fail_command()
  local flags = vim.o.cpoptions
  if not flags:find("+", 1, true) then
    -- With this flag a buffer that is still modified says that writing a copy has not worked.
    vim.o.cpoptions = flags .. "+"
    vim.schedule(function()
      vim.o.cpoptions = flags
    end)
  end
end

---Writes the text that a BufWriteCmd, FileWriteCmd or FileAppendCmd is about, and says what came of it as Neovim itself would.
---@param buf integer of the proposal, the current one
---@param name string
---@param appends boolean
function M.write(buf, name, appends)
  local first, last = vim.fn.line("'["), vim.fn.line("']")
  local bang = vim.v.cmdbang == 1 and "!" or ""
  take_name_back(buf)
  local file = vim.fn.fnamemodify(name, ":.") -- only now: with 'autochdir' a name brings its folder along
  local command = ("noautocmd %d,%dwrite%s %s %s%s"):format(
    first,
    last,
    bang,
    vim.v.cmdarg,
    appends and ">> " or "",
    vim.fn.fnameescape(file)
  )
  local ok, result = pcall(vim.api.nvim_exec2, command, { output = true })
  if ok then
    local written = result.output:match("[^\n]*$")
    require("claude-ide.ui.notice").as_neovim(
      require("claude-ide.ui.one_line").fitting({ written .. " · the proposal still waits", written })
    )
  else
    fail_command()
    require("claude-ide.ui.notice").as_neovim(
      ('"%s" %s'):format(file, (tostring(result):gsub("^.*Vim%(write%):", ""))),
      "ErrorMsg"
    )
  end
end

return M
