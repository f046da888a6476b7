"""Claude's own remarks: a tour of places in order, and counts of comments by file."""

import os

import pytest
from review_steps import review, turn
from test_comments import FILES, TEXT, start, threads, wait_shown, write

HERE = "return { vim.fn.expand('%:t'), vim.fn.line('.') }"


@pytest.mark.every_nvim
def test_a_tour_leads_from_step_to_step_over_files_and_says_where_it_ends(start_nvim, connect_agent):
    nvim = start_nvim(args=["a.txt"], files=FILES | {"b.txt": "alpha\nbeta\n"}, notices=True)
    agent = connect_agent(nvim)
    write(nvim, 1, "mine")
    nvim.cmd("Claude comments tour")
    nvim.wait_notice("There is no tour")
    for step, (path, line) in enumerate([("b.txt", 2), ("a.txt", 3), ("a.txt", 3), ("b.txt", 1)], 1):
        agent.call("comment_add", path=path, line=line, text=f"place {step}", step=step)
    nvim.wait_notice("Claude begins a tour")
    steps = "▎Claude: place 2 (step 2 of 4)\n▎Claude: place 3 (step 3 of 4)"
    wait_shown(nvim, (1, "▎you: mine (not sent)"), (3, steps))
    nvim.cmd("Claude comments tour")
    assert nvim.lua(HERE) == ["b.txt", 2]
    jump = "local ok, err = require('claude-ide.comments').jump(...) return ok or err"
    seen = []
    for _ in range(3):
        assert nvim.lua(jump, 1) is True
        seen.append(nvim.lua(HERE))
    assert seen == [["a.txt", 3], ["a.txt", 3], ["b.txt", 1]]
    assert nvim.lua(jump, 1) == "The tour ends here."
    nvim.wait_screen("▎Claude: place 4")
    assert [nvim.lua(jump, -1) for _ in range(4)] == [True, True, True, "The tour begins here."]
    nvim.cmd("Claude comments remarks")
    nvim.wait("vim.bo.buftype == 'quickfix'")
    assert sorted(line.rsplit("| ", 1)[1] for line in nvim.lines()) == [
        f"step {n}: Claude: place {n}" for n in range(1, 5)
    ]


def test_the_list_of_a_review_counts_open_comments(start_nvim, connect):
    nvim = start(start_nvim)
    turn(nvim, connect(nvim), a_txt=TEXT.replace("two", "TWO"))
    nvim.wait(lambda: nvim.lines()[1] == "TWO", what="the file to be reloaded")
    write(nvim, 2, "why?")
    review(nvim)
    nvim.wait_screen("▎1 +1 −1")
    for request in ({"sent": [{"id": 1, "words": "why?"}]}, {"resolve": {"id": 1, "resolved": True}}):
        nvim.lua("local s = require('claude-ide.comments.store') assert(s.change(s.root_of(), ...))", request)
    nvim.wait(lambda: "▎1" not in "".join(nvim.screen()), what="nothing to be counted")


def test_a_renamed_file_takes_its_comments_along(start_nvim):
    nvim = start(start_nvim)
    write(nvim, 2, "about two")
    probe, old, new = nvim.project / "probe", nvim.project / "a.txt", nvim.project / "sub" / "b.txt"
    new.parent.mkdir()
    probe.write_text("")
    while probe.stat().st_ctime_ns // 10**6 <= threads(nvim)[0]["entries"][0]["at"]:
        os.utime(probe)  # file systems round times
    old.rename(new)
    nvim.cmd("edit sub/b.txt")
    nvim.wait_screen("▎you: about two (not sent)")
    assert [thread["path"] for thread in threads(nvim)] == ["sub/b.txt"]
