"""Steps of the review tests: a turn of a CLI that does not ask, and the screen after it."""

A = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
A_CLAUDE = A.replace("two\n", "TWO\n").replace("eight\n", "eight\nand a half\n")
B = "alpha\nbeta\ngamma\n"

_WINDOWS = """
local wins = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local buf = vim.api.nvim_win_get_buf(win)
  wins[#wins + 1] = {
    name = vim.fs.basename(vim.api.nvim_buf_get_name(buf)),
    ours = vim.b[buf].claude_ide ~= nil,
    lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true),
    diff = vim.wo[win].diff,
    current = win == vim.api.nvim_get_current_win(),
  }
end
return wins
"""

_SIGNS = """
local buf = vim.fn.bufnr(...)
local namespace = vim.api.nvim_get_namespaces()["claude-ide.review.signs"]
return vim.tbl_map(function(mark)
  return { mark[2] + 1, vim.trim(mark[4].sign_text), mark[4].sign_hl_group }
end, vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true }))
"""

_RECORDED = """
local store, contents = Ide.journal_store, ...
return vim.iter(pairs(contents)):all(function(path, text)
  local known = store.find(path)
  return known ~= nil and store.is_last(known.id, text or nil)
end)
"""

LAYOUT = """
local wins = {}
for _, win in ipairs(vim.api.nvim_list_wins()) do
  wins[#wins + 1] = {
    win, vim.api.nvim_win_get_buf(win), vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win),
    vim.wo[win].diff, vim.wo[win].wrap, vim.wo[win].winbar, vim.wo[win].winfixbuf, vim.wo[win].foldmethod,
    vim.wo[win].scrollbind, vim.wo[win].number,
  }
end
local maps = #vim.api.nvim_buf_get_keymap(0, "n")
return { wins, vim.api.nvim_get_current_win(), vim.fn.line("."), #vim.api.nvim_list_tabpages(), maps }
"""


class Turn:
    """One turn of a CLI in a permission mode that does not ask."""

    def __init__(self, nvim, client):
        self.nvim, self.client, self.contents = nvim, client, {}
        client.call("closeAllDiffTabs")

    def edit(self, name, text):
        path = self.nvim.project / name
        self.contents[str(path)] = False if text is None else text
        self.client.call("getDiagnostics", uri=f"file://{path}")
        if text is None:
            path.unlink()
        else:
            path.write_bytes(text.encode())

    def end(self, *names):
        self.client.call("getDiagnostics")
        names = set(names)
        contents = {path: text for path, text in self.contents.items() if path.rpartition("/")[2] in names}
        known = lambda: names <= set(waiting(self.nvim)) and self.nvim.lua(_RECORDED, contents)  # noqa: E731
        self.nvim.wait(known, what=f"the journal to know what {names} hold")


def reviewed(nvim):
    """What was reviewed, by the events that `keep_events("ClaudeReviewed")` has kept."""
    return [f"{data['action']} {data['path'].rpartition('/')[2]}" for _, data in nvim.events()]


def waiting(nvim):
    return nvim.lua("""
      return vim.tbl_map(function(change) return vim.fs.basename(change.path) end,
        Ide.review.changes())
    """)


def windows(nvim):
    return nvim.lua(_WINDOWS)


def signs(nvim, name):
    return nvim.lua(_SIGNS, name)


def turn(nvim, client, **edits):
    """A turn that leaves files as given; `a_txt` names a.txt."""
    names = {name.replace("_", "."): text for name, text in edits.items()}
    going = Turn(nvim, client)
    for name, text in names.items():
        going.edit(name, text)
    going.end(*names)


def review(nvim, args=""):
    nvim.cmd(f"Claude review {args}")
    nvim.wait(lambda: len(windows(nvim)) >= 2, what="the review")
