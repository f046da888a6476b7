"""The colours of a diff: readable, those of its side, present in any colour scheme; and folds and steps."""

import pytest
from diff_steps import Diffs

OLD = "".join(f"line {i} of the text\n" for i in range(1, 61))
NEW = (
    OLD.replace("line 20 of", "LINE 20 of").replace("line 40 of the text\n", "\n").replace("line 50 of the text\n", "")
)
EMPTY = ["Normal", "DiffAdd", "DiffDelete", "DiffChange", "DiffText", "Added", "Removed"]

SHADES = """
local function colour(name)
  local hl = vim.api.nvim_get_hl(0, { name = name, link = false })
  return { fg = hl.fg, bg = hl.bg, ctermbg = hl.ctermbg, reverse = hl.reverse }
end
local found = { fg = colour("Normal").fg or (vim.o.background == "dark" and 0xffffff or 0) }
for _, kind in ipairs({ "Added", "Removed" }) do
  for _, part in ipairs({ "Line", "Word" }) do
    local name = ("ClaudeDiff%s%s"):format(kind, part)
    found[name] = colour(name)
  end
end
return found
"""

# The highlight groups of a cell; diff mode has its own, which the window may remap.
GROUP_OF_LINE = """
local win, lnum = ...
return vim.api.nvim_win_call(win, function()
  local name = vim.fn.synIDattr(vim.fn.diff_hlID(lnum, 1), "name")
  for from, to in vim.wo.winhighlight:gmatch("([^,:]+):([^,:]+)") do
    if from == name then return to end
  end
  return name
end)
"""


# Colour schemes: of the user's kinds, as they are or made: background, Normal, WinBar, then syntax and diff.
SCHEMES = {
    "a light one with pale colours": {
        "background": "light", "Normal": "#3760bf #e1e2e7", "WinBar": "#6172b0 #d0d5e3", "Comment": "#848cb5",
        "Special": "#006a83", "Title": "#2e7de9", "String": "#587539", "Statement": "#9854f1", "Type": "#007197",
        "Function": "#2e7de9", "Constant": "#b15c00", "Identifier": "#8c4351", "DiffAdd": "- #b7ced5",
        "DiffDelete": "- #dababe", "DiffText": "- #92a6d5", "Added": "#4197a4", "Removed": "#c47981",
    },
    "a dark one": {
        "background": "dark", "Normal": "#c0caf5 #1a1b26", "WinBar": "#a9b1d6 #16161e", "Comment": "#565f89",
        "Special": "#2ac3de", "Title": "#7aa2f7", "String": "#9ece6a", "Statement": "#bb9af7", "Type": "#2ac3de",
        "Function": "#7aa2f7", "Constant": "#ff9e64", "Identifier": "#bb9af7", "DiffAdd": "- #20303b",
        "DiffDelete": "- #37222c", "DiffText": "- #394b70", "Added": "#449dab", "Removed": "#914c54",
    },
    "a retro one with strong diffs": {
        "background": "dark", "Normal": "#ebdbb2 #282828", "WinBar": "#a89984 #3c3836", "Comment": "#928374",
        "Special": "#fe8019", "Title": "#b8bb26", "String": "#b8bb26", "Statement": "#fb4934", "Type": "#fabd2f",
        "Function": "#b8bb26", "Constant": "#d3869b", "Identifier": "#83a598", "DiffAdd": "- #34381b",
        "DiffDelete": "- #402120", "DiffText": "- #4d520d", "Added": "#b8bb26", "Removed": "#fb4934",
    },
    "a solarized one": {
        "background": "light", "Normal": "#657b83 #fdf6e3", "WinBar": "#93a1a1 #eee8d5", "Comment": "#93a1a1",
        "Special": "#cb4b16", "Title": "#cb4b16", "String": "#2aa198", "Statement": "#859900", "Type": "#b58900",
        "Function": "#268bd2", "Constant": "#2aa198", "Identifier": "#268bd2", "DiffAdd": "- #d9e2b8",
        "DiffDelete": "- #f3cfc3", "DiffText": "- #cfe3f3", "Added": "#859900", "Removed": "#dc322f",
    },
}  # fmt: skip

SCHEME = """
vim.o.termguicolors = true
vim.cmd("hi clear")
for group, colours in pairs(...) do
  if group == "background" then
    vim.o.background = colours
  else
    local fg, bg = unpack(vim.split(colours, " "))
    vim.api.nvim_set_hl(0, group, { fg = fg ~= "-" and fg or nil, bg = bg })
  end
end
vim.cmd("doautocmd <nomodeline> ColorScheme")
"""

COLOURS = """
local found = {}
for _, name in ipairs(...) do
  local hl = vim.api.nvim_get_hl(0, { name = name })
  while hl.link do hl = vim.api.nvim_get_hl(0, { name = hl.link }) end
  found[name] = { fg = hl.fg or false, bg = hl.bg or false }
end
return found
"""


def make(start_nvim, layout, old=OLD, init_lua=""):
    return Diffs(start_nvim(opts={"diff": {"layout": layout}}, files={"a.txt": old}, init_lua=init_lua))


def contrast(a, b):
    def luminance(colour):
        parts = [(colour >> shift & 255) / 255 for shift in (16, 8, 0)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_changed_words_can_be_read_in_dark_and_light(start_nvim):
    diffs = make(start_nvim, "unified", init_lua="vim.o.termguicolors = true")
    diffs.open(1, "a.txt", NEW)
    for scheme in ["default", "habamax", "retrobox", "quiet", "shine"]:
        for background in ["dark", "light"]:
            diffs.nvim.cmd(f"set background={background}")
            diffs.nvim.cmd(f"colorscheme {scheme}")
            found = diffs.nvim.lua(SHADES)
            for name, shade in found.items():
                if name != "fg" and not shade.get("reverse"):
                    assert contrast(shade["bg"], shade.get("fg", found["fg"])) >= 4.5, (scheme, background, name)


def test_cleared_groups_have_a_colour_in_every_layout(start_nvim):
    clear = "".join(f"vim.cmd('highlight clear {name} | highlight {name} NONE')\n" for name in EMPTY)
    diffs = make(start_nvim, "vertical", init_lua=clear)
    diffs.open(1, "a.txt", NEW)
    found = diffs.nvim.lua(SHADES)
    assert all(shade.get("bg") and shade.get("ctermbg") for name, shade in found.items() if name != "fg"), found
    now, proposal = diffs.nvim.lua("return vim.api.nvim_tabpage_list_wins(0)")
    for win, side in [(now, "Removed"), (proposal, "Added")]:
        assert f"DiffAdd:ClaudeDiff{side}Line" in diffs.nvim.lua("return vim.wo[...].winhighlight", win)
    assert diffs.nvim.lua(GROUP_OF_LINE, now, 20).startswith("ClaudeDiffChanged")


def test_what_is_removed_is_not_painted_as_added(start_nvim):
    diffs = make(start_nvim, "vertical")
    diffs.open(1, "a.txt", NEW)
    now = diffs.nvim.lua("return vim.api.nvim_tabpage_list_wins(0)[1]")
    assert diffs.nvim.lua(GROUP_OF_LINE, now, 50) == "ClaudeDiffRemovedLine"
    diffs.nvim.keys("gl")
    diffs.nvim.keys("gl")
    diffs.nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 1")
    assert "Diff" not in diffs.nvim.lua("return vim.wo.winhighlight")


def test_unified_folds_unchanged_text_and_colours_empty_lines(start_nvim):
    diffs = make(start_nvim, "unified", init_lua="vim.o.diffopt = 'internal,filler,context:3'")
    diffs.open(1, "a.txt", NEW)
    folds = "return vim.tbl_map(function(l) return vim.fn.foldclosedend(l) end, { 1, 17, 24, 37, 44 })"
    assert diffs.nvim.lua(folds) == [16, -1, 36, -1, 46]
    width = diffs.nvim.lua("return vim.o.columns")
    attr = "return vim.fn.screenattr(...)"
    diffs.nvim.wait(lambda: any("line 40 of" in row for row in diffs.drawn()))
    row = next(i for i, row in enumerate(diffs.drawn(), 1) if "line 40 of" in row)
    plain, removed, added = (diffs.nvim.lua(attr, at, width - 1) for at in (row - 1, row, row + 1))
    assert len({plain, removed, added}) == 3
    for layout in ("vertical", "horizontal", "unified"):
        diffs.nvim.keys("gl")
        diffs.nvim.wait(f"Ide.diff_layout.preferred() == '{layout}'", what=layout)
    diffs.nvim.wait(lambda: diffs.nvim.lua(folds) == [16, -1, 36, -1, 46], what="the folds again")


def test_a_change_is_one_stop_however_diff_mode_splits_it(start_nvim):
    old = "top\n" + "".join(f"call_{i}(a, b)\n" for i in range(6)) + "middle\n" * 30 + "end\n"
    new = "top\n" + "".join(f"# note {i}\ncall_{i}(a, b, c)\n" for i in range(6)) + "middle\n" * 30 + "END\n"
    diffs = make(start_nvim, "vertical", old, "vim.o.diffopt = 'internal,filler,closeoff,linematch:60'")
    diffs.open(1, "a.txt", new)
    assert diffs.nvim.cursor() == (2, 0)
    for keys, lnum in [("]c", 44), ("[c", 2), ("<C-w>h]c", 38)]:
        diffs.nvim.keys(keys)
        diffs.nvim.wait(lambda lnum=lnum: diffs.nvim.cursor()[0] == lnum, what=f"line {lnum} after {keys}")


def test_a_change_of_the_colours_within_a_diff_keeps_those_of_the_scheme(start_nvim):
    diffs = make(start_nvim, "vertical")
    nvim = diffs.nvim
    nvim.cmd("highlight DiffDelete guibg=#803040 | highlight DiffAdd guibg=#205030")
    diffs.open(1, "a.txt", NEW)
    before = nvim.lua(SHADES)
    assert before["ClaudeDiffRemovedLine"]["bg"] == 0x803040
    nvim.cmd("doautocmd <nomodeline> ColorScheme")
    nvim.keys("gl")
    nvim.wait_screen("ZZ accept")
    assert nvim.lua(SHADES) == before


@pytest.mark.parametrize("name", SCHEMES)
def test_text_on_changed_words_and_in_winbars_can_be_read_in_any_scheme(start_nvim, name):
    scheme = SCHEMES[name]
    diffs = make(start_nvim, "unified")
    nvim = diffs.nvim
    nvim.lua(SCHEME, scheme)
    diffs.open(1, "a.txt", NEW)
    syntax = [
        group
        for group, colours in scheme.items()
        if " " not in colours and group not in ("background", "Added", "Removed")
    ]
    hints = [
        "ClaudeDiffHint",
        "ClaudeDiffKey",
        "ClaudeDiffSide",
        "ClaudeDiffFile",
        "ClaudeDiffAdded",
        "ClaudeDiffRemoved",
    ]
    lines = [f"ClaudeDiff{kind}{part}" for kind in ("Added", "Removed") for part in ("Line", "Word")]
    groups = nvim.lua(COLOURS, [*syntax, *hints, *lines, "Normal", "WinBar"])
    for kind in ("Added", "Removed"):
        line, word = (groups[f"ClaudeDiff{kind}{part}"]["bg"] for part in ("Line", "Word"))
        assert word != line
        for group in [*syntax, "Normal"]:
            text = groups[group]["fg"]
            assert contrast(text, word) >= min(4.5, contrast(text, line)) - 0.01, (kind, group)
    bar = groups["WinBar"] if nvim.lua("return vim.fn.has('nvim-0.11') == 1") else groups["Normal"]
    for group in hints:
        assert contrast(groups[group]["fg"], bar["bg"]) >= min(4.5, contrast(bar["fg"], bar["bg"])) - 0.01, group
    nvim.cmd("highlight ClaudeDiffHint guifg=#123456")
    nvim.cmd("doautocmd <nomodeline> ColorScheme")
    assert nvim.lua(COLOURS, ["ClaudeDiffHint"])["ClaudeDiffHint"]["fg"] == 0x123456, "the user's own stays"


@pytest.mark.parametrize("name", SCHEMES)
def test_the_language_of_a_code_block_can_be_read_in_any_scheme(start_nvim, name):
    faint = {"dark": ("#3b4261", "#292e42"), "light": ("#b4b5b9", "#c4c8da")}[SCHEMES[name]["background"]]
    scheme = {**SCHEMES[name], "NonText": faint[0], "CursorLine": f"- {faint[1]}"}
    nvim = start_nvim()

    def check():
        groups = nvim.lua(COLOURS, ["ClaudeTranscriptFence", "ClaudeTranscriptCodeBlock", "Normal"])
        block = groups["ClaudeTranscriptCodeBlock"]["bg"]
        most = contrast(groups["Normal"]["fg"], block)
        assert contrast(groups["ClaudeTranscriptFence"]["fg"], block) >= min(4.5, most) - 0.01

    nvim.lua(SCHEME, scheme)
    nvim.lua("Ide.transcript_colour.define()")
    check()
    nvim.lua(SCHEME, scheme)
    check()
    nvim.cmd("highlight ClaudeTranscriptFence guifg=#123456")
    nvim.cmd("doautocmd <nomodeline> ColorScheme")
    own = nvim.lua(COLOURS, ["ClaudeTranscriptFence"])
    assert own["ClaudeTranscriptFence"]["fg"] == 0x123456, "the user's own stays"


@pytest.mark.every_nvim
def test_links_of_ours_are_there_in_each_colour_scheme(start_nvim):
    nvim = start_nvim()
    nvim.lua("Ide.comments_marks.attach() Ide.review_signs.attach() Ide.transcript_colour.define()")
    links = {"ClaudeCommentSign": "DiagnosticInfo", "ClaudeSignAdded": "Added", "ClaudeTranscriptTool": "Function"}
    for scheme in ("colorscheme blue", "colorscheme default", "highlight clear"):
        nvim.cmd(scheme)
        for group, link in links.items():
            assert nvim.lua("return vim.api.nvim_get_hl(0, { name = ... }).link", group) == link, (scheme, group)
