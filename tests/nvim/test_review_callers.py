"""The review says whose call made the change under the cursor, and at which step of which turn."""

import json

import pytest
from journal_steps import Claude
from review_steps import review

A = "one\ntwo\nthree\nfour\nfive\nsix\n"


def start(start_nvim, connect, columns=80, layout="auto"):
    nvim = start_nvim(files={"a.txt": A, "b.txt": "b\n"}, opts={"diff": {"layout": layout}})
    nvim.terminal.resize(24, columns)
    nvim.wait(f"vim.o.columns == {columns}")
    return Claude(nvim, connect)


def winbars(nvim):
    """The winbars of the windows of the review, as they are on the screen."""
    return nvim.lua("""
      return vim.tbl_map(function(win)
        local bar = vim.wo[win].winbar
        local width = vim.api.nvim_win_get_width(win)
        return vim.trim(vim.api.nvim_eval_statusline(bar, { winid = win, use_winbar = true, maxwidth = width }).str)
      end, vim.api.nvim_tabpage_list_wins(0))
    """)


def says(nvim, words):
    nvim.wait(lambda: any(words in bar for bar in winbars(nvim)), what=f"a winbar with {words}")
    nvim.wait_screen(words)


@pytest.mark.parametrize(("columns", "layout"), [(80, "auto"), (100, "auto"), (160, "horizontal")])
def test_each_change_names_its_call(start_nvim, connect, columns, layout):
    claude = start(start_nvim, connect, columns, layout)
    nvim = claude.nvim
    claude.prompt()
    claude.edit("a.txt", "two", "TWO", announce=True)
    claude.called("b.txt", tool="Read")
    claude.edit("a.txt", "five", "FIVE", announce=True)
    claude.wait(a_txt=(2, 2))
    review(nvim)
    says(nvim, "Edit · turn 1, step 1 of 3")
    nvim.keys("]c")
    says(nvim, "Edit · turn 1, step 3 of 3")
    nvim.keys("gg")
    nvim.wait(lambda: not any("Edit ·" in bar for bar in winbars(nvim)), what="nothing where nothing changed")
    nvim.keys("]c")
    says(nvim, "Edit · turn 1, step 1 of 3")
    claude.prompt()
    claude.edit("a.txt", "TWO", "TWO TWO", announce=True)  # while the review is open
    says(nvim, "Edit · turn 2, step 1 of 1")


def test_a_change_of_several_calls_names_the_last_one(start_nvim, connect):
    claude = start(start_nvim, connect, 160)
    claude.prompt()
    claude.edit("a.txt", "two\nthree\nfour", "TWO\nTHREE\nFOUR")
    claude.edit("a.txt", "THREE", "3")
    claude.wait(a_txt=(3, 3))
    review(claude.nvim)
    says(claude.nvim, "Edit · turn 1, step 2 of 2 · and 1 more")


def test_nothing_is_said_of_a_change_that_no_call_told(start_nvim, connect):
    claude = start(start_nvim, connect)
    claude.prompt()
    claude.edit("a.txt", "two", "TWO", announce=True, tell=False)
    claude.edit("a.txt", "five", "FIVE", announce=True)
    claude.wait(a_txt=(2, 2))
    review(claude.nvim)
    claude.nvim.keys("]c")
    says(claude.nvim, "Edit · turn 1, step 1 of 1")
    claude.nvim.keys("[c")
    claude.nvim.wait(lambda: not any("Edit ·" in bar for bar in winbars(claude.nvim)), what="nothing at the first")


def test_a_subagent_is_named(start_nvim, connect):
    claude = start(start_nvim, connect, 160)
    nvim, path = claude.nvim, claude.path
    claude.prompt()
    task = claude.called("a.txt", tool="Agent", description="Shout", prompt="shout", subagent_type="general-purpose")
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    meta = {"agentType": "general-purpose", "description": "Shout", "toolUseId": task}
    (folder / "agent-a1.meta.json").write_text(json.dumps(meta))
    claude.path, claude.parent, parent = folder / "agent-a1.jsonl", None, claude.parent
    claude.prompt(announced=False)
    claude.edit("a.txt", "two", "TWO", announce=True)
    claude.path, claude.parent = path, parent
    claude.wait(a_txt=(1, 1))
    review(nvim)
    says(nvim, "Edit · step 1 of 1 · subagent “Shout”")


def test_in_a_narrow_window_fewer_words_say_it(start_nvim, connect):
    claude = start(start_nvim, connect, 80, "vertical")
    claude.prompt()
    claude.edit("a.txt", "two", "TWO")
    claude.wait(a_txt=(1, 1))
    review(claude.nvim)
    says(claude.nvim, "Edit · turn 1, step 1")
    claude.nvim.terminal.resize(24, 70)
    claude.nvim.wait(lambda: "Edit" in winbars(claude.nvim), what="only the tool")
    claude.nvim.terminal.resize(24, 120)
    says(claude.nvim, "Edit · turn 1, step 1 of 1")


def test_a_warning_of_hidden_text_comes_first(start_nvim, connect):
    claude = start(start_nvim, connect, 80)
    claude.prompt()
    claude.edit("a.txt", "two", "T\u200bWO")
    claude.wait(a_txt=(1, 1))
    review(claude.nvim)
    says(claude.nvim, "hidden text in 1 place")
    claude.nvim.terminal.resize(24, 160)
    says(claude.nvim, "Edit · turn 1, step 1 of 1")
    assert any("hidden text in 1 place" in bar for bar in winbars(claude.nvim))
