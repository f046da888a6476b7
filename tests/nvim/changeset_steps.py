"""Steps of the changeset tests: propose edits in a language server's form, and look at the disk."""

from harness.files import bytes_of

_PREPARE = """
_G.answers = {}
local requests, changeset = Ide.requests, Ide.changeset
_G.requester = requests.requester({
  name = "Claude", writes = "editor",
  answer = function(handle, answer, err)
    local report = answer and answer.report
    answers[#answers + 1] = {
      handle = handle, outcome = answer and answer.outcome, words = answer and answer.words, err = err,
      text = report and Ide.changeset_report.text(report, 6000),
    }
  end,
  tell = function() end,
  cannot_hear = function() end,
})
function _G.is_seen()
  return vim.iter(Ide.proposal.list()):any(function(one) return one.id == (proposed or {}).id and one.seen end)
end
function _G.uri(name) return vim.uri_from_fname(vim.uv.cwd() .. "/" .. name) end
function _G.edit(first_line, first, last_line, last, text)
  return {
    range = { start = { line = first_line, character = first }, ["end"] = { line = last_line, character = last } },
    newText = text,
  }
end
function _G.propose(workspace_edit, opts)
  opts = opts or {}
  local asked = { edit = workspace_edit, encoding = opts.encoding or "utf-16" }
  asked.old_name, asked.breaks, asked.versions = opts.old_name, opts.breaks, opts.versions
  changeset.plan({ asked }, function(files, err, notes)
    if not files or #files == 0 then
      answers[#answers + 1] = { err = err or "nothing" }
      return
    end
    _G.proposed = Ide.proposal.propose(_G.requester, opts.handle or "r", {
      tab_name = opts.title or "Rename a to b", files = files, plan = { notes = notes, unasked = opts.unasked },
    })
  end)
end
"""

_TRACES = """
local names = {}
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if vim.b[buf].claude_ide then names[#names + 1] = vim.fn.bufname(buf) end
end
local groups = {}
for _, autocmd in ipairs(vim.api.nvim_get_autocmds({})) do
  local group = autocmd.group_name or ""
  if group:find("^claude%-ide%.proposal%.") then groups[group] = true end
end
return {
  buffers = names, groups = vim.tbl_keys(groups), tabs = #vim.api.nvim_list_tabpages(), wins = #vim.api.nvim_list_wins(),
  pending = #Ide.requests.pending(),
}
"""

CLEAN = {"buffers": [], "groups": [], "tabs": 1, "wins": 1, "pending": 0}


class Changesets:
    """Proposes changesets to one Neovim, without a client in between, and reports their outcomes."""

    def __init__(self, nvim):
        self.nvim = nvim
        nvim.keep_notices()
        nvim.lua(_PREPARE)

    def propose(self, edit, **opts):
        """Proposes a WorkspaceEdit, given as Lua."""
        listed = ", ".join(f"{key} = {value}" for key, value in opts.items())
        self.nvim.lua(f"propose({edit}, {{ {listed} }})")

    def show(self, edit, **opts):
        """Proposes it and waits until it is shown."""
        self.propose(edit, **opts)
        seen = "is_seen()"
        self.nvim.wait(seen, what="the changeset to have been seen")

    def answer(self):
        """Waits for the answer to the last proposal, and removes it."""
        self.nvim.wait("#answers > 0", what="an answer")
        return self.nvim.lua("return table.remove(answers, 1)")

    def wait_clean(self):
        self.nvim.wait(lambda: self.nvim.lua(_TRACES) == CLEAN, what="nothing of it to be left")

    def bytes(self, name):
        return bytes_of(self.nvim.project / name)
