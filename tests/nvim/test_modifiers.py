"""Modifiers of `:Claude`: where the window of the command goes, this one time."""

import pytest
from review_steps import A, B, turn
from test_terminal import FAKE_SNACKS

LAYOUT = """
local function names(tree)
  if tree[1] == "leaf" then
    local buf = vim.api.nvim_win_get_buf(tree[2])
    return (vim.b[buf].claude_ide or {}).kind or vim.fn.fnamemodify(vim.fn.bufname(buf), ":t")
  end
  return { tree[1], vim.tbl_map(names, tree[2]) }
end
return vim.tbl_map(function(tab) return names(vim.fn.winlayout(tab)) end, vim.fn.range(1, vim.fn.tabpagenr("$")))
"""


def row(*parts):
    return ["row", list(parts)]


def col(*parts):
    return ["col", list(parts)]


@pytest.fixture
def nvim(start_nvim, sessions, project):
    sessions.write(project, ("one", "two"), title="A title")
    opts = {"terminal": {"command": ["sh", "-c", "cat", "x"]}}
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "b.txt": B}, opts=opts)
    nvim.lua("Ide.log.error('a first line')")
    nvim.cmd("vsplit b.txt | wincmd p")
    assert nvim.lua(LAYOUT) == [row("b.txt", "a.txt")]
    return nvim


def expect(nvim, layout, what=""):
    nvim.wait(lambda: nvim.lua(LAYOUT) == layout, what=f"{layout} after {what}, not {nvim.lua(LAYOUT)}")


CASES = {
    "tab": lambda new: [row("b.txt", "a.txt"), new],
    "0tab": lambda new: [new, row("b.txt", "a.txt")],
    "vertical": lambda new: [row("b.txt", new, "a.txt")],
    "belowright": lambda new: [row("b.txt", col("a.txt", new))],
    "horizontal": lambda new: [row("b.txt", col(new, "a.txt"))],
    "topleft": lambda new: [col(new, row("b.txt", "a.txt"))],
    "vert botright": lambda new: [row("b.txt", "a.txt", new)],
}
KINDS = {
    "board": "board",
    "transcript": "transcript",
    "mcp": "mcp",
    "log": "claude-ide.log",
}


@pytest.mark.parametrize("command", KINDS)
def test_a_window_goes_where_the_modifiers_say_and_closes_as_usual(nvim, command):
    for mods, layout in CASES.items():
        nvim.cmd(f"{mods} Claude {command}")
        expect(nvim, layout(KINDS[command]), mods)
        nvim.keys(":q<CR>" if command == "log" else "q")
        expect(nvim, [row("b.txt", "a.txt")], f"{mods}, closed")
        nvim.cmd("2wincmd w")


SIDES = {
    "tab": lambda new: [row("b.txt", "a.txt"), new],
    "topleft": lambda new: [col(new, row("b.txt", "a.txt"))],
    "vertical": lambda new: [row("b.txt", "a.txt", new)],  # the option's side
    "vert aboveleft": lambda new: [row(new, "b.txt", "a.txt")],
    "hor": lambda new: [col(new, row("b.txt", "a.txt"))],
    "botright": lambda new: [col(row("b.txt", "a.txt"), new)],
}


@pytest.mark.parametrize("what", ["terminal", "chat"])
@pytest.mark.parametrize("mods", SIDES)
def test_a_terminal_or_chat_is_at_the_side_that_the_modifiers_say(nvim, what, mods):
    new = "terminal" if what == "terminal" else col("transcript", "prompt")
    command = "Claude" if what == "terminal" else "Claude chat"
    nvim.cmd(f"{mods} {command}")
    nvim.wait_kind("terminal" if what == "terminal" else "prompt")
    expected = SIDES[mods](new)
    if what == "chat" and expected[0][0] == "col":  # one column holds all
        parts = [part[1] if part == new else [part] for part in expected[0][1]]
        expected = [col(*(one for part in parts for one in part))]
    expect(nvim, expected, mods)
    nvim.cmd("stopinsert")
    nvim.wait("vim.fn.mode() == 'n'")
    nvim.keys(":Claude hide<CR>" if what == "terminal" else "q")
    expect(nvim, [row("b.txt", "a.txt")], f"{mods}, hidden")
    nvim.wait("vim.fn.bufname() == 'a.txt'")
    nvim.cmd(command)
    expect(nvim, [row("b.txt", "a.txt", new)], "the next time")


def test_a_window_that_is_open_stays_except_for_a_tab_page(nvim):
    nvim.cmd("vert botright Claude board")
    nvim.wait_kind("board")
    nvim.cmd("wincmd p | topleft Claude board")
    nvim.wait_kind("board")
    expect(nvim, [row("b.txt", "a.txt", "board")])
    nvim.cmd("tab Claude board")
    expect(nvim, [row("b.txt", "a.txt", "board"), "board"])
    nvim.keys("q")
    expect(nvim, [row("b.txt", "a.txt", "board")])


def test_modifiers_are_of_one_command(nvim):
    nvim.cmd("tab Claude status")
    nvim.cmd("Claude board")
    nvim.wait_kind("board")
    expect(nvim, [row("b.txt", "board")])


def test_a_mapping_in_insert_mode_has_modifiers_too(nvim):
    nvim.cmd("inoremap <C-g> <Cmd>tab Claude board<CR>")
    nvim.keys("i<C-g>")
    expect(nvim, [row("b.txt", "a.txt"), "board"])


def test_a_list_goes_where_the_modifiers_say(nvim):
    nvim.cmd("vert topleft Claude grep one")
    expect(nvim, [row("", "b.txt", "a.txt")])


def test_the_layout_of_a_review_is_that_of_the_modifiers(nvim, connect):
    turn(nvim, connect(nvim), a_txt=A.upper(), b_txt=B.upper())
    for mods in ("vert", "hor", ""):
        nvim.cmd(f"{mods} Claude review")
        sides = ["review", "a.txt"]
        parts = row("changes", col(*sides)) if mods == "hor" else row("changes", *sides)
        expect(nvim, [row("b.txt", "a.txt"), parts], mods)
        nvim.keys("q")
        expect(nvim, [row("b.txt", "a.txt")], f"{mods}, closed")


@pytest.mark.parametrize("command", ["board", "transcript"])
def test_keepalt_acts_as_for_commands_of_neovim(nvim, command):
    before = nvim.lua("return vim.fn.bufname('#')")
    nvim.cmd(f"keepalt Claude {command}")
    nvim.wait_kind(command)
    assert nvim.lua("return vim.fn.bufname('#')") == before


def test_keepalt_forgets_a_buffer_that_the_command_has_wiped(nvim):
    nvim.cmd("edit c.txt")
    nvim.lua("Ide.modifiers.keep(function() vim.cmd('bwipeout #') done = true end, { keepalt = true })()")
    assert nvim.lua("return { done, vim.fn.bufname() }") == [True, "c.txt"]


def test_what_is_chosen_in_a_list_goes_there(nvim):
    nvim.cmd("tab Claude sessions")
    for _ in range(2):  # the session, to read it
        nvim.wait_kind("choices")
        nvim.keys_count()
        nvim.keys("<CR>")
        nvim.wait("(vim.b.claude_ide or {}).kind ~= 'choices' or vim.fn.getline(1):find('Read it', 1, true)")
    expect(nvim, [row("b.txt", "a.txt"), "transcript"])


def test_a_continued_chat_goes_there(nvim):
    nvim.cmd("tab Claude chat --continue")
    expect(nvim, [row("b.txt", "a.txt"), col("transcript", "prompt")])


def test_a_window_of_a_plugin_is_a_split_where_the_modifiers_say(start_nvim):
    opts = {"terminal": {"command": ["sh", "-c", "cat", "x"], "provider": "snacks"}}
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A}, opts=opts, init_lua=FAKE_SNACKS)
    for mods, layout in (("vert topleft", [row("terminal", "a.txt")]), ("tab", ["a.txt", "terminal"])):
        nvim.cmd(f"{mods} Claude")
        nvim.wait_kind("terminal")
        expect(nvim, layout, mods)
        nvim.cmd("stopinsert")
        nvim.keys(":Claude hide<CR>")
        expect(nvim, ["a.txt"], f"{mods}, hidden")
