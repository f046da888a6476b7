"""Random stories of edits by the user and others: a comment is at its line, or says that the line is gone."""

import random

import pytest

pytestmark = pytest.mark.dealt

LOOK = """
local buf = vim.api.nvim_get_current_buf()
local marks, store = Ide.comments_marks, Ide.comments_store
marks.draw(buf)
local root = store.root_of()
local found = {}
for _, thread in ipairs(store.threads(root)) do
  for _, lnum in ipairs(marks.lines(buf)) do
    if vim.list_contains(marks.at(buf, lnum), thread.id) then
      found[#found + 1] = { thread.anchor.lines[1], vim.fn.getline(lnum) }
    end
  end
end
local namespace = vim.api.nvim_get_namespaces()["claude-ide.comments"]
local gone = {}
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
  for _, line in ipairs(mark[4].virt_lines or {}) do
    local words = table.concat(vim.tbl_map(function(chunk) return chunk[1] end, line))
    gone[words:match("about (%S+)")] = words:find("its lines are gone", 1, true) ~= nil
  end
end
return { found, gone, vim.api.nvim_buf_get_lines(0, 0, -1, false) }
"""

EDIT = """
local what, at, text = ...
local count = vim.api.nvim_buf_line_count(0)
at = math.min(at, count)
vim.cmd(tostring(at))
if what == "insert" then
  vim.cmd("normal! O" .. text)
elseif what == "delete" and count > 1 then
  vim.cmd("normal! dd")
elseif what == "change" then
  vim.cmd("normal! cc" .. text)
elseif what == "indent" then
  vim.cmd("normal! " .. (at % 2 == 0 and ">>" or "A  "))
elseif what == "replace" then -- as formatters do
  local some = vim.api.nvim_buf_get_lines(0, at - 1, at + 2, false)
  for index, line in ipairs(some) do
    some[index] = (index + at) % 3 == 0 and line or "  " .. vim.trim(line)
  end
  table.insert(some, at % 2 + 1, text)
  vim.api.nvim_buf_set_lines(0, at - 1, at + 2, false, some)
elseif what == "move" then
  vim.cmd("silent! move " .. (at * 7 % (count + 1)))
elseif what == "undo" then
  vim.cmd("silent! undo")
elseif what == "redo" then
  vim.cmd("silent! redo")
elseif what == "write" then
  vim.cmd("silent write")
elseif what == "reopen" then
  vim.cmd("silent edit!")
end
"""

ADD = """
local line, text = ...
local here = { path = vim.api.nvim_buf_get_name(0), first = line, last = line, words = "about " .. text }
assert(Ide.comments.add_all({ here }) == 1)
"""


@pytest.mark.parametrize("seed", range(12))
def test_a_comment_is_at_its_line_or_says_that_it_is_gone(start_nvim, seed):
    chance = random.Random(seed)
    fresh = iter(range(1000))
    lines = [f"l{next(fresh)}" for _ in range(12)]
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "\n".join(lines) + "\n", ".git/HEAD": ""})
    nvim.lua("Ide.comments.attach()")
    about = chance.sample(range(12), 4)
    for at in about:
        nvim.lua(ADD, at + 1, lines[at])
    story = []
    kinds = [
        "indent",
        "indent",
        "replace",
        "replace",
        "insert",
        "delete",
        "change",
        "move",
        "undo",
        "undo",
        "redo",
        "write",
        "reopen",
        "other",
        "other",
    ]
    for _ in range(40):
        what = chance.choice(kinds)
        if what == "other":
            path = nvim.project / "a.txt"
            there = path.read_text().splitlines()
            at = chance.randrange(len(there) + 1)
            there = [line if chance.randrange(3) else "\t" + line.strip() for line in there]
            there[at : at + chance.randrange(3)] = [f"l{next(fresh)}" for _ in range(chance.randrange(3))]
            path.write_text("".join(f"{line}\n" for line in there))
            nvim.cmd("silent! write!" if nvim.lua("return vim.bo.modified") else "edit")
        else:
            nvim.lua(EDIT, what, chance.randint(1, 14), f"l{next(fresh)}")
        story.append(what)
        found, gone, now = nvim.lua(LOOK)
        for text, there in found:
            assert gone[text] or text == there.strip(), (story, text, there)
        for at in about:
            text = lines[at]
            assert text in gone, (story, text)
            if text not in [line.strip() for line in now]:
                assert gone[text], (story, text, now)
            elif gone[text]:
                assert "move" in story, (story, text, now)  # a moved line may count as another one
