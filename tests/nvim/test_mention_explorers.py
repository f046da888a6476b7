"""Mentions from explorers and the quickfix window.

netrw and quickfix are real. For the others, stand-ins have the functions that we use, with the names and results of the
commits that lua/claude-ide/context/mention/explorers.lua names; all were also tried by hand against the real plugins at those
commits.
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
        nvim.wait("Ide.server_listening.is_listening({ id = 1 })")
        return nvim

    return start


def mentioned(nvim):
    found = []
    for message in nvim.server.messages("at_mentioned"):
        params = message["params"]
        path = params["filePath"].removeprefix(f"{nvim.project}/")
        found.append((path, params["lineStart"] + 1, params["lineEnd"] + 1) if "lineStart" in params else path)
    return found


def steps(nvim, moves):
    """Types keys (or runs Lua in braces) and waits for the expected mention, step by step."""
    before = mentioned(nvim)
    for keys, expected in moves:
        if keys.startswith("{"):
            code, _, keys = keys[1:].rpartition("}")
            nvim.lua(code)
            keys = keys or "gg"
        nvim.keys(f"{keys}:ClaudeSend<CR>")
        before += expected
        nvim.wait(
            lambda all=tuple(before): mentioned(nvim) == list(all), what=f"the mentions {before}, not {mentioned(nvim)}"
        )


def why_not(nvim):
    return nvim.lua("return select(2, Ide.mention.from_here())")


# --- quickfix


ITEMS = """
local items = {
  { filename = "alpha.txt", lnum = 2, text = "one line" },
  { text = "no file here" },
  { filename = "beta.lua", lnum = 1, end_lnum = 1, text = "x" },
  { filename = "alpha.txt", lnum = 1, end_lnum = 3, text = "three lines" },
  { filename = "run.sh", text = "no line", valid = 1 },
}
"""


@pytest.mark.parametrize(
    "fill", ["vim.fn.setqflist(items) vim.cmd.copen()", "vim.fn.setloclist(0, items) vim.cmd.lopen()"]
)
def test_the_entries_of_a_quickfix_or_location_list(editor, fill):
    nvim = editor()
    nvim.lua(ITEMS + fill)
    steps(
        nvim,
        [
            ("4G", [("alpha.txt", 1, 3)]),
            ("ggVG", [("alpha.txt", 2, 2), ("beta.lua", 1, 1), ("alpha.txt", 1, 3), "run.sh"]),
        ],
    )
    nvim.cmd("2")
    assert "no file" in why_not(nvim)


def test_entries_whose_files_are_gone_are_named_and_the_others_mentioned(editor):
    nvim = editor()
    nvim.keep_notices()
    gone = "".join(f"{{ filename = 'gone{n}.txt', lnum = 1 }}, " for n in range(5))
    nvim.lua(f"vim.fn.setqflist({{ {gone} {{ filename = 'beta.lua', lnum = 1 }} }}) vim.cmd.copen()")
    steps(nvim, [("ggVG", [("beta.lua", 1, 1)])])
    nvim.wait_notice("Not on disk, so not mentioned: gone0.txt, gone1.txt, gone2.txt and 2 more.")
    nvim.cmd("1")
    assert why_not(nvim) == "gone0.txt is not on disk, so Claude cannot read it. Write it first."


# --- netrw


def open_netrw(editor, style):
    nvim = editor(init_lua=f"vim.g.netrw_liststyle = {style} vim.g.netrw_sort_sequence = '[/]$,*'")
    nvim.cmd("Explore")
    nvim.wait("vim.bo.filetype == 'netrw'")
    return nvim


def cursor_on(nvim, name):
    nvim.lua("vim.fn.search('\\\\V' .. vim.fn.escape(..., '\\\\'), 'w')", name)


@pytest.mark.parametrize("style", [0, 1, 2, 3])
def test_files_in_netrw(editor, style):
    nvim = open_netrw(editor, style)
    long = f"{'l' * 40}.txt"
    shown = {"beta.lua": "beta.lua", "run.sh": "run.sh", "star*": "star*", "sub/": "sub", "l" * 40: long}
    for name, path in {**shown, "with  two": "with  two blanks.txt"}.items():
        cursor_on(nvim, name)
        steps(nvim, [("", [path])])
    before = len(mentioned(nvim))
    nvim.keys("ggVG:ClaudeSend<CR>")
    expected = sorted(["alpha.txt", "beta.lua", "run.sh", "star*", "with  two blanks.txt", long, "sub"])
    nvim.wait(lambda: sorted(mentioned(nvim)[before:]) == expected, what=f"{expected}, not {mentioned(nvim)}")
    if style == 0:  # the banner is not a file
        nvim.cmd("1")
        assert "no file" in why_not(nvim)
        assert nvim.cursor() == (1, 0)


def test_a_file_deep_in_the_netrw_tree(editor):
    nvim = open_netrw(editor, 3)
    cursor_on(nvim, "sub/")
    nvim.keys("<CR>")
    nvim.wait("vim.fn.search('deep/', 'nw') > 0")
    cursor_on(nvim, "deep/")
    nvim.keys("<CR>")
    nvim.wait("vim.fn.search('delta.c', 'nw') > 0")
    cursor_on(nvim, "delta.c")
    steps(nvim, [("", ["sub/deep/delta.c"])])


def test_the_marked_netrw_files_go_before_the_one_under_the_cursor(editor):
    nvim = open_netrw(editor, 0)
    for name in ("beta.lua", "run.sh"):
        cursor_on(nvim, name)
        nvim.keys("mf")
        nvim.wait(lambda name=name: name in str(nvim.lua("return vim.fn['netrw#Expose']('netrwmarkfilelist')")))
    cursor_on(nvim, "alpha.txt")
    nvim.keys(":ClaudeSend<CR>")
    nvim.wait(lambda: sorted(mentioned(nvim)) == ["beta.lua", "run.sh"])


# --- explorers of plugins


def explorer(editor, filetype, lines, fake):
    """A window of a plugin: its filetype, its lines, and the plugin's functions that we use."""
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

# The filetype, the window's lines, the plugin, and the steps.
PLUGINS = {
    "nvim-tree": (
        "NvimTree",
        ["..", "sub", "alpha.txt", "beta.lua"],
        NVIM_TREE,
        [("3G", ["alpha.txt"]), ("ggVjj", ["sub", "alpha.txt"]), ("{Mark(4)}", ["beta.lua"])],
    ),
    "neo-tree": (
        "neo-tree",
        ["sub", "alpha.txt", "(3 hidden items)", "beta.lua"],
        NEO_TREE,
        [
            ("2G", ["alpha.txt"]),
            ("ggVG", ["sub", "alpha.txt", "beta.lua"]),
            ("{Mark(4) Mark(1)}", ["beta.lua", "sub"]),
            ("{State.selected = nil}2G", ["alpha.txt"]),  # an older one without marks
        ],
    ),
    "oil": (
        "oil",
        ["..", "sub/", "renamed.txt", "typed.txt", ""],
        OIL,
        [("3G", ["alpha.txt"]), ("ggVG", ["sub", "alpha.txt"])],
    ),
    "mini.files": (
        "minifiles",
        ["sub", "alpha.txt", ""],
        MINI_FILES,
        [("2G", ["alpha.txt"]), ("ggVG", ["sub", "alpha.txt"])],
    ),
    "snacks": (
        "snacks_picker_list",
        ["sub", "alpha.txt", "alpha.txt:3", "x"],
        SNACKS,
        [("", ["sub"]), ("ggVG", ["sub", "alpha.txt", ("alpha.txt", 3, 3)]), ("{Mark(3)}", [("alpha.txt", 3, 3)])],
    ),
    "telescope": (
        "TelescopePrompt",
        ["> "],
        TELESCOPE,
        [("", ["alpha.txt"]), ("{Mark(2, 3)}", [("beta.lua", 1, 1), "run.sh"])],
    ),
    "mini.pick": (
        "minipick",
        ["alpha.txt"],
        MINI_PICK,
        [
            ("", ["alpha.txt"]),
            (
                '{Matches.marked = { "alpha.txt\\0002\\0001\\0b", { path = Project .. "/beta.lua", lnum = 1 }, { text = "no file" } }}',
                [("alpha.txt", 2, 2), ("beta.lua", 1, 1)],
            ),
        ],
    ),
    "trouble": (
        "trouble",
        ["alpha.txt 2", "one", "two", "its second row", ""],
        TROUBLE,
        [("gg", ["alpha.txt"]), ("2GVG", [("alpha.txt", 1, 1), ("alpha.txt", 2, 3)]), ("gg", ["alpha.txt"])],
    ),
    "fyler": (
        "fyler",
        ["  /00001 sub", "  /00002 alpha.txt", "typed.txt"],
        FYLER,
        [("ggVG", ["sub", "alpha.txt"])],
    ),
    "fugitive": (
        "fugitive",
        ["Head: main", "", "M alpha.txt", "@@ -1 +1 @@", "D gone.txt", "", "1234567 a commit", "? sub"],
        FUGITIVE,
        [("3G", ["alpha.txt"]), ("ggVG", ["alpha.txt", "sub"])],
    ),
}


@pytest.mark.parametrize("name", PLUGINS)
def test_explorers_and_pickers_of_plugins(editor, name):
    filetype, lines, fake, moves = PLUGINS[name]
    nvim = explorer(editor, filetype, lines, fake)
    steps(nvim, moves)


def test_a_folder_of_another_machine_is_refused_and_functions_that_changed_are_reported_in_one_line(editor):
    nvim = explorer(editor, "oil", ["x"], OIL + "Dir = nil")
    assert "not on this machine" in why_not(nvim)
    nvim.lua("package.loaded['oil'] = {} vim.notify = function(message) Notice = message end")
    nvim.keys(":ClaudeSend<CR>")
    assert "\n" not in nvim.wait("Notice")
