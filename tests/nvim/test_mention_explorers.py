"""Mentions from explorers and the quickfix window.

netrw and quickfix are real. The others are stood in for by the functions of theirs that are used, with the names and
results they were read to have (lua/claude-ide/mention/explorers.lua says at which commit); all of
them were also tried by hand against the real plugins at those commits.
"""

import pytest

from harness.fake_server import FakeServer

pytestmark = pytest.mark.one_nvim

FILES = {
    "alpha.txt": "a\nb\nc\n",
    "beta.lua": "b\n",
    "run.sh": "#!/bin/sh\n",
    "star*": "s\n",
    "with  two blanks.txt": "w\n",
    f"{'l' * 40}.txt": "l\n",
    "sub/gamma.md": "g\n",
    "sub/deep/delta.c": "d\n",
}


@pytest.fixture
def editor(start_nvim):
    def start(args=(), init_lua="", **kwargs):
        init_lua += "\nvim.notify = function() end"
        nvim = start_nvim(list(args), files=FILES, init_lua=init_lua, **kwargs)
        (nvim.project / "run.sh").chmod(0o755)
        nvim.server = FakeServer(nvim, "mention")
        nvim.server.connect(roots=[nvim.project])
        nvim.wait('require("claude-ide.listening").is_listening({ id = 1 })')
        return nvim

    return start


def mentioned(nvim):
    found = []
    for message in nvim.server.messages("at_mentioned"):
        params = message["params"]
        path = params["filePath"].removeprefix(f"{nvim.project}/")
        found.append((path, params["lineStart"] + 1, params["lineEnd"] + 1) if "lineStart" in params else path)
    return found


def type_and_wait(nvim, keys, expected):
    nvim.keys(keys)
    nvim.wait(lambda: mentioned(nvim) == expected, what=f"the mentions {expected}, not {mentioned(nvim)}")


# --- quickfix


def fill(nvim, list_function="setqflist"):
    nvim.lua(
        f"""
        local set = function(items) {"vim.fn.setqflist(items)" if list_function == "setqflist" else "vim.fn.setloclist(0, items)"} end
        set({{
          {{ filename = "alpha.txt", lnum = 2, text = "one line" }},
          {{ text = "no file here" }},
          {{ filename = "beta.lua", lnum = 1, end_lnum = 1, text = "x" }},
          {{ filename = "alpha.txt", lnum = 1, end_lnum = 3, text = "three lines" }},
          {{ filename = "run.sh", text = "no line", valid = 1 }},
        }})
        """
    )


def test_the_quickfix_entry_under_the_cursor(editor):
    nvim = editor()
    fill(nvim)
    nvim.cmd("copen")
    type_and_wait(nvim, "4G:ClaudeSend<CR>", [("alpha.txt", 1, 3)])


def test_the_quickfix_entries_of_a_range(editor):
    nvim = editor()
    fill(nvim)
    nvim.cmd("copen")
    expected = [("alpha.txt", 2, 2), ("beta.lua", 1, 1), ("alpha.txt", 1, 3), "run.sh"]
    type_and_wait(nvim, "VG:ClaudeSend<CR>", expected)


def test_a_quickfix_line_without_a_file_says_so(editor):
    nvim = editor()
    fill(nvim)
    nvim.cmd("copen | 2")
    assert "no file" in nvim.lua('return select(2, require("claude-ide.mention").from_here())')


def test_a_location_list_is_its_windows_own(editor):
    nvim = editor()
    fill(nvim, "setloclist")
    nvim.cmd("lopen")
    type_and_wait(nvim, "3G:ClaudeSend<CR>", [("beta.lua", 1, 1)])


# --- netrw


def open_netrw(editor, style):
    nvim = editor(init_lua=f"vim.g.netrw_liststyle = {style} vim.g.netrw_sort_sequence = '[/]$,*'")
    nvim.cmd("Explore")
    nvim.wait("vim.bo.filetype == 'netrw'")
    return nvim


def cursor_on(nvim, name):
    nvim.lua("vim.fn.search('\\\\V' .. vim.fn.escape(..., '\\\\'), 'w')", name)


@pytest.mark.parametrize("style", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("shown", "path"),
    [
        ("beta.lua", "beta.lua"),
        ("run.sh", "run.sh"),
        ("star*", "star*"),
        ("sub/", "sub"),
        ("with  two", "with  two blanks.txt"),
    ],
)
def test_the_netrw_file_under_the_cursor(editor, style, shown, path):
    nvim = open_netrw(editor, style)
    cursor_on(nvim, shown)
    type_and_wait(nvim, ":ClaudeSend<CR>", [path])


@pytest.mark.parametrize("style", [0, 1, 2, 3])
def test_a_long_name_in_netrw(editor, style):
    nvim = open_netrw(editor, style)
    cursor_on(nvim, "l" * 40)
    type_and_wait(nvim, ":ClaudeSend<CR>", [f"{'l' * 40}.txt"])


@pytest.mark.parametrize("style", [0, 1, 2, 3])
def test_a_range_in_netrw_is_the_files_on_its_lines(editor, style):
    nvim = open_netrw(editor, style)
    nvim.keys("ggVG:ClaudeSend<CR>")
    expected = sorted(["alpha.txt", "beta.lua", "run.sh", "star*", "with  two blanks.txt", f"{'l' * 40}.txt", "sub"])
    nvim.wait(lambda: sorted(mentioned(nvim)) == expected, what=f"{expected}, not {sorted(mentioned(nvim))}")


def test_a_file_deep_in_the_netrw_tree(editor):
    nvim = open_netrw(editor, 3)
    cursor_on(nvim, "sub/")
    nvim.keys("<CR>")
    nvim.wait("vim.fn.search('deep/', 'nw') > 0")
    cursor_on(nvim, "deep/")
    nvim.keys("<CR>")
    nvim.wait("vim.fn.search('delta.c', 'nw') > 0")
    cursor_on(nvim, "delta.c")
    type_and_wait(nvim, ":ClaudeSend<CR>", ["sub/deep/delta.c"])


def test_the_marked_netrw_files_go_before_the_one_under_the_cursor(editor):
    nvim = open_netrw(editor, 0)
    for name in ("beta.lua", "run.sh"):
        cursor_on(nvim, name)
        nvim.keys("mf")
        nvim.wait(lambda name=name: name in str(nvim.lua("return vim.fn['netrw#Expose']('netrwmarkfilelist')")))
    cursor_on(nvim, "alpha.txt")
    nvim.keys(":ClaudeSend<CR>")
    nvim.wait(lambda: sorted(mentioned(nvim)) == ["beta.lua", "run.sh"])


def test_the_banner_of_netrw_is_no_file(editor):
    nvim = open_netrw(editor, 0)
    nvim.cmd("1")
    assert "no file" in nvim.lua('return select(2, require("claude-ide.mention").from_here())')
    assert nvim.cursor() == (1, 0)


# --- explorers of plugins


def explorer(editor, filetype, lines, fake):
    """A window of a plugin: its filetype, its lines, and the functions of the plugin that are used."""
    nvim = editor()
    nvim.lua(
        """
        local filetype, lines, fake = ...
        vim.cmd("vnew")
        vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
        vim.bo.buftype, vim.bo.filetype = "nofile", filetype
        Project = vim.uv.cwd()
        assert(load(fake))()
        """,
        filetype,
        lines,
        fake,
    )
    return nvim


NVIM_TREE = """
local nodes = { { name = "..", absolute_path = Project } }
for _, name in ipairs({ "sub", "alpha.txt", "beta.lua" }) do
  table.insert(nodes, { name = name, absolute_path = Project .. "/" .. name, type = "file" })
end
Marked = {}
package.loaded["nvim-tree.api"] = {
  tree = { get_node_under_cursor = function() return nodes[vim.api.nvim_win_get_cursor(0)[1]] end },
  marks = { list = function() return Marked end },
}
function Mark(index) table.insert(Marked, nodes[index]) end
"""

NEO_TREE = """
local nodes, by_id = {}, {}
for index, entry in ipairs({ { "sub", "directory" }, { "alpha.txt", "file" }, { "(3 hidden items)", "message" }, { "beta.lua", "file" } }) do
  local node = { path = Project .. "/" .. entry[1], type = entry[2], id = Project .. "/" .. entry[1] }
  nodes[index], by_id[node.id] = node, node
end
State = {
  selected = {},
  tree = { get_node = function(_, key)
    return type(key) == "string" and by_id[key] or nodes[key or vim.api.nvim_win_get_cursor(0)[1]]
  end },
}
package.loaded["neo-tree.sources.manager"] = { get_state_for_window = function() return State end }
function Mark(index) State.selected[nodes[index].id] = true end
"""

OIL = """
Dir = Project .. "/"
local entries = {
  { id = 1, name = "..", type = "directory" },
  { id = 2, name = "sub", type = "directory" },
  { id = 3, name = "alpha.txt", parsed_name = "renamed.txt", type = "file" },
  { name = "typed.txt", parsed_name = "typed.txt" },
}
package.loaded["oil"] = {
  get_current_dir = function() return Dir end,
  get_entry_on_line = function(_, lnum) return entries[lnum] end,
}
"""

MINI_FILES = """
local entries = { { fs_type = "directory", name = "sub" }, { fs_type = "file", name = "alpha.txt" } }
for _, entry in ipairs(entries) do entry.path = Project .. "/" .. entry.name end
package.loaded["mini.files"] = { get_fs_entry = function(_, lnum) return entries[lnum] end }
"""

SNACKS = """
local items = {
  { file = "sub", cwd = Project, dir = true },
  { file = "alpha.txt", cwd = Project, pos = { 2, 0 } },
  { file = "alpha.txt", cwd = Project, pos = { 3, 1 }, line = "c" },
  { text = "no file" },
}
Selected, Window = {}, "list"
local picker = {
  current_win = function() return Window end,
  selected = function(_, opts)
    local current = items[vim.api.nvim_win_get_cursor(0)[1]]
    return #Selected > 0 and Selected or (opts.fallback and { current } or {})
  end,
  list = { row2idx = function(_, row) return row end, get = function(_, index) return items[index] end },
}
package.loaded["snacks"] = { picker = {
  get = function() return { picker } end,
  util = { path = function(item) return item.file and item.cwd .. "/" .. item.file end },
} }
function Mark(index) table.insert(Selected, items[index]) end
"""


def test_nvim_tree(editor):
    nvim = explorer(editor, "NvimTree", ["..", "sub", "alpha.txt", "beta.lua"], NVIM_TREE)
    type_and_wait(nvim, "3G:ClaudeSend<CR>", ["alpha.txt"])
    type_and_wait(nvim, "ggVjj:ClaudeSend<CR>", ["alpha.txt", "sub", "alpha.txt"])
    assert nvim.cursor()[0] == 1
    nvim.lua("Mark(4)")
    type_and_wait(nvim, "gg:ClaudeSend<CR>", ["alpha.txt", "sub", "alpha.txt", "beta.lua"])


def test_neo_tree(editor):
    nvim = explorer(editor, "neo-tree", ["sub", "alpha.txt", "(3 hidden items)", "beta.lua"], NEO_TREE)
    type_and_wait(nvim, "2G:ClaudeSend<CR>", ["alpha.txt"])
    type_and_wait(nvim, "ggVG:ClaudeSend<CR>", ["alpha.txt", "sub", "alpha.txt", "beta.lua"])
    nvim.lua("Mark(4) Mark(1)")
    type_and_wait(nvim, "2G:ClaudeSend<CR>", ["alpha.txt", "sub", "alpha.txt", "beta.lua", "beta.lua", "sub"])


def test_an_older_neo_tree_without_marks(editor):
    nvim = explorer(editor, "neo-tree", ["sub", "alpha.txt"], NEO_TREE + "State.selected = nil")
    type_and_wait(nvim, "2G:ClaudeSend<CR>", ["alpha.txt"])


def test_oil(editor):
    nvim = explorer(editor, "oil", ["..", "sub/", "renamed.txt", "typed.txt", ""], OIL)
    type_and_wait(nvim, "3G:ClaudeSend<CR>", ["alpha.txt"])
    type_and_wait(nvim, "ggVG:ClaudeSend<CR>", ["alpha.txt", "sub", "alpha.txt"])
    nvim.lua("Dir = nil")
    assert "not on this machine" in nvim.lua('return select(2, require("claude-ide.mention").from_here())')


def test_mini_files(editor):
    nvim = explorer(editor, "minifiles", ["sub", "alpha.txt", ""], MINI_FILES)
    type_and_wait(nvim, "2G:ClaudeSend<CR>", ["alpha.txt"])
    type_and_wait(nvim, "ggVG:ClaudeSend<CR>", ["alpha.txt", "sub", "alpha.txt"])


def test_snacks_explorer_and_picker(editor):
    nvim = explorer(editor, "snacks_picker_list", ["sub", "alpha.txt", "alpha.txt:3", "x"], SNACKS)
    type_and_wait(nvim, ":ClaudeSend<CR>", ["sub"])
    type_and_wait(nvim, "ggVG:ClaudeSend<CR>", ["sub", "sub", "alpha.txt", ("alpha.txt", 3, 3)])
    nvim.lua("Mark(3)")
    type_and_wait(nvim, "gg:ClaudeSend<CR>", ["sub", "sub", "alpha.txt", ("alpha.txt", 3, 3), ("alpha.txt", 3, 3)])


TELESCOPE = """
local entries = {
  { value = "alpha.txt", path = Project .. "/alpha.txt" },
  { value = "beta.lua", filename = "beta.lua", cwd = Project, lnum = 1, text = "b" },
  { value = "run.sh", path = Project .. "/run.sh", lnum = 7, bufnr = 3 },
}
Marked = {}
function Mark(...) Marked = vim.tbl_map(function(index) return entries[index] end, { ... }) end
local prompt = vim.api.nvim_get_current_buf()
local picker = { get_multi_selection = function() return Marked end }
package.loaded["telescope.actions.state"] = {
  get_current_picker = function(buf) return buf == prompt and picker or nil end,
  get_selected_entry = function() return entries[1] end,
}
package.loaded["telescope.from_entry"] = {
  path = function(entry, _, escape) assert(escape == false) return entry.path or entry.filename or entry.value end,
}
"""

MINI_PICK = """
Matches = { current = "alpha.txt", marked = {} }
package.loaded["mini.pick"] = {
  get_picker_matches = function() return Matches end,
  get_picker_opts = function() return { source = { cwd = Project } } end,
}
"""

TROUBLE = """
local function item(name, first, last) return { filename = Project .. "/" .. name, pos = { first, 0 }, end_pos = { last, 3 } } end
local group, one, two = item("alpha.txt", 1, 1), item("alpha.txt", 1, 1), item("alpha.txt", 2, 3)
local rows = { { node = { item = group } }, { item = one, node = {} }, { item = two, node = {} }, { item = two, node = {} }, {} }
local buf = vim.api.nvim_get_current_buf()
local function view(of) return { view = { win = { buf = of }, at = function(_, cursor) return rows[cursor[1]] or {} end } } end
package.loaded["trouble.view"] = { get = function(filter) assert(filter.open) return { view(-1), view(buf) } end }
"""

FYLER = """
local entries = { { path = Project .. "/sub" }, { path = "/elsewhere/x", link = Project .. "/alpha.txt" } }
package.loaded["fyler.views.finder.helper"] = { parse_ref_id = function(line) return tonumber(line:match("/(%d+)")) end }
package.loaded["fyler.views.finder.files.manager"] = { get = function(number) return assert(entries[number]) end }
"""

FUGITIVE = """
local folder = vim.fn.tempname()
vim.fn.mkdir(folder .. "/autoload", "p")
vim.fn.writefile(vim.split([[
function! FugitiveWorkTree() abort
  return getcwd()
endfunction
function! fugitive#GX() abort
  let name = matchstr(getline('.'), '^[MD?] \\zs.*')
  return getline('.') =~# '^1234567 ' ? getcwd() . '/' : len(name) ? getcwd() . '/' . name : expand('<cfile>')
endfunction]], "\\n"), folder .. "/autoload/fugitive.vim")
vim.cmd("source " .. folder .. "/autoload/fugitive.vim")
"""


def test_telescope(editor):
    nvim = explorer(editor, "TelescopePrompt", ["> "], TELESCOPE)
    type_and_wait(nvim, ":ClaudeSend<CR>", ["alpha.txt"])
    nvim.lua("Mark(2, 3)")
    type_and_wait(nvim, ":ClaudeSend<CR>", ["alpha.txt", ("beta.lua", 1, 1), "run.sh"])


def test_mini_pick(editor):
    nvim = explorer(editor, "minipick", ["alpha.txt"], MINI_PICK)
    type_and_wait(nvim, ":ClaudeSend<CR>", ["alpha.txt"])
    nvim.lua(
        'Matches.marked = { "alpha.txt\\0002\\0001\\0b", { path = Project .. "/beta.lua", lnum = 1 }, { text = "no file" } }'
    )
    type_and_wait(nvim, ":ClaudeSend<CR>", ["alpha.txt", ("alpha.txt", 2, 2), ("beta.lua", 1, 1)])


def test_trouble(editor):
    nvim = explorer(editor, "trouble", ["alpha.txt 2", "one", "two", "its second row", ""], TROUBLE)
    type_and_wait(nvim, "gg:ClaudeSend<CR>", ["alpha.txt"])
    type_and_wait(nvim, "2G:2,$ClaudeSend<CR>", ["alpha.txt", ("alpha.txt", 1, 1), ("alpha.txt", 2, 3)])
    type_and_wait(nvim, "gg:ClaudeSend<CR>", ["alpha.txt", ("alpha.txt", 1, 1), ("alpha.txt", 2, 3), "alpha.txt"])


def test_fyler(editor):
    nvim = explorer(editor, "fyler", ["  /00001 sub", "  /00002 alpha.txt", "typed.txt"], FYLER)
    type_and_wait(nvim, "ggVG:ClaudeSend<CR>", ["sub", "alpha.txt"])


def test_fugitive(editor):
    lines = [
        "Head: main",
        "",
        "Unstaged (2)",
        "M alpha.txt",
        "@@ -1 +1 @@",
        "D gone.txt",
        "",
        "1234567 a commit",
        "? sub",
    ]
    nvim = explorer(editor, "fugitive", lines, FUGITIVE)
    type_and_wait(nvim, "4G:ClaudeSend<CR>", ["alpha.txt"])
    type_and_wait(nvim, "ggVG:ClaudeSend<CR>", ["alpha.txt", "alpha.txt", "sub"])


def test_a_plugin_whose_functions_changed_is_reported_in_one_line(editor):
    nvim = explorer(editor, "oil", ["x"], 'package.loaded["oil"] = {}')
    nvim.lua("vim.notify = function(message) Notice = message end")
    nvim.keys(":ClaudeSend<CR>")
    assert "\n" not in nvim.wait("Notice")
