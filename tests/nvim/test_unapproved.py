"""The warning of a change by a CLI in a terminal that the user has not allowed. `tests/e2e/test_review_real_cli.py` has the real one."""

import json
import time

import pytest
from journal_steps import Claude

BEGIN = """
package.loaded[Ide("unapproved")] = nil -- calls of other cases are forgotten
Ide.journal_store.start_turn(1, Ide.clock.now(), nil, false)
"""
TELL = """
local path, calls = ...
local unapproved, stat = Ide.unapproved, vim.uv.fs_stat(path)
local at = stat.ctime.sec * 1000 + stat.ctime.nsec / 1e6
for _, call in ipairs(calls) do
  call.start, call["end"] = at + call.from, at + call.to
  if call.allowed_by == "edit" then
    call.allowed_by, call.change = nil, { path = path, user_modified = false }
  end
end
local store = Ide.journal_store
local turn = store.last_turn(1)
unapproved.ended(1, turn, calls)
unapproved.found(1, store.turn(turn), path)
"""
COUNT_ANSWERS = """
local module, name = Ide[...], select(2, ...)
local ask = module[name]
answers = 0
module[name] = function(subject, ...)
  local words = { ... }
  local done = table.remove(words)
  words[#words + 1] = function(...)
    done(...)
    answers = answers + 1
  end
  return ask(subject, unpack(words))
end
"""


@pytest.fixture
def claude(start_nvim, connect):
    return Claude(start_nvim(files={"a.txt": "one\n"}, notices=True), connect)


def call(allowed_by="cli", command="git diff", start=-50, end=50):
    """A call, and when it began and ended, in milliseconds since the change of the file."""
    return {"allowed_by": allowed_by, "from": start, "to": end} | ({"command": command} if allowed_by == "cli" else {})


class Turn:
    """A turn in which commands changed files, each by itself."""

    def __init__(self, claude, mode="default"):
        self.claude, self.nvim, self.made = claude, claude.nvim, 0
        claude.prompt()
        claude.line("user", permissionMode=mode, message={"role": "user", "content": "go on"})

    def changes(self, *calls, folder=None):
        self.made += 1
        path = (folder or self.claude.project) / f"{self.made}.txt"
        self.nvim.lua(BEGIN)
        began = time.time()
        self.nvim.wait(lambda: time.time() > began + 0.1, what="a later time")
        path.write_text("x\n")
        self.nvim.lua(TELL, str(path), list(calls))
        return path.name

    def warned(self):
        """What was warned of, once the last of these is."""
        last = self.changes(call(command="the last one"))
        self.nvim.wait_notice("while `the last one` ran")
        notices = [words for words in self.nvim.notices() if "without asking" in words and not words.startswith(last)]
        self.nvim.lua("notices = {}")
        return notices


def test_a_change_while_a_command_ran_unasked_is_warned_of(claude):
    turn = Turn(claude)
    name = turn.changes(call())
    turn.changes(call(), folder=claude.nvim.home)
    assert turn.warned() == [f"{name} changed while `git diff` ran without asking you. `:Claude review` shows it."]


def test_what_may_have_another_cause_is_not(claude):
    turn = Turn(claude)
    turn.changes()  # the user's, or a formatter's
    turn.changes(call(start=-500, end=-400), call(start=400, end=500))  # between two commands
    turn.changes(call(), call("user"))
    turn.changes(call(), call("edit"))
    turn.changes(call(), call(command="ls"))
    for allowed_by in ("user", "hook", "mode", "project"):
        turn.changes(call(allowed_by))
        turn.changes(call(allowed_by, start=-60, end=-50), call(start=-5, end=5))  # it may go on in the background
    assert turn.warned() == []


def test_what_changed_while_a_command_ran_that_writes_nothing_is_not(claude):
    turn = Turn(claude)
    for command in ("sleep 3", "cd src && ls -la | head", "echo a; sleep 1"):
        turn.changes(call(command=command))
    names = [turn.changes(call(command=command)) for command in ("echo a > b", "sleep 1; git diff", "echo $(make)")]
    assert [words.split()[0] for words in turn.warned()] == names


def test_what_changed_in_an_earlier_turn_is_not(claude):
    turn = Turn(claude)
    turn.changes(call(command="sleep 1"))
    path = claude.project / "1.txt"
    claude.nvim.lua(BEGIN)
    began = time.time()
    claude.nvim.wait(lambda: time.time() > began + 0.1, what="a later time")
    claude.nvim.lua(BEGIN)
    claude.nvim.lua(TELL, str(path), [call()])
    assert turn.warned() == []


def test_what_a_rule_may_allow_is_not(claude):
    project, home = claude.project / ".claude", claude.nvim.home / ".claude"
    turn = Turn(claude)
    places = {
        project / "settings.json": json.dumps({"permissions": {"allow": ["Bash(sort -o:*)"]}}),
        project / "settings.local.json": json.dumps({"permissions": {"allow": ["Bash(npm run fix)"]}}),
        home / "settings.json": json.dumps({"permissions": {"allow": ["Read", "Bash(make *)"], "deny": ["Bash"]}}),
        project / "commands" / "format.md": "---\nallowed-tools: Bash(fmt:*)\n---\nFormat it.\n",
        home / "skills" / "tidy" / "SKILL.md": "---\nname: tidy\nallowed-tools: Bash(tidy:*)\n---\nTidy up.\n",
    }
    for path, text in places.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in ("sort -o a a", "cd x && npm run fix", "make all", "fmt a.txt", "tidy -q"):
        turn.changes(call(command=command))
    name = turn.changes(call(command="git diff"))
    assert turn.warned() == [f"{name} changed while `git diff` ran without asking you. `:Claude review` shows it."]
    (home / "settings.json").write_text(json.dumps({"permissions": {"allow": ["Bash"]}}))
    claude.nvim.lua(COUNT_ANSWERS, "sessions_rules", "may_allow")
    turn.changes(call())
    claude.nvim.wait("answers == 1", what="the rules to be read")
    (home / "settings.json").write_text("{}")
    assert turn.warned() == []


PS = """#!/bin/sh
while [ ! -e {folder}/go ]; do sleep 0.02; done
echo {answer}
"""
WITHOUT_PROC = """
local folder, open = ..., io.open
vim.env.PATH = folder .. ":" .. vim.env.PATH
io.open = function(path, ...)
  if path:find("^/proc/%d+/cmdline$") then
    return nil
  end
  return open(path, ...)
end
"""


def test_without_proc_neovim_does_not_stand_still_for_ps(claude, tmp_path):
    settings = tmp_path / "Application Support" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": {"allow": ["Bash(make *)"]}}))
    ps = tmp_path / "ps"
    answer = f"claude '--allowed-tools' 'Bash(npm run fix)' --settings='{settings}' --ide"
    ps.write_text(PS.format(folder=tmp_path, answer=answer))
    ps.chmod(0o755)
    claude.nvim.lua(WITHOUT_PROC, str(tmp_path))
    turn = Turn(claude)
    for command in ("npm run fix", "make all"):
        turn.changes(call(command=command))
    name = turn.changes(call())
    claude.nvim.lua("passed = false vim.defer_fn(function() passed = true end, 1100)")
    claude.nvim.wait("passed", what="the time of a warning")
    # On the main loop: it does not wait for `ps`.
    claude.nvim.lua("io.open(..., 'w'):close()", str(tmp_path / "go"))
    claude.nvim.wait_notice("while `git diff` ran")
    assert [words.split()[0] for words in claude.nvim.notices() if "without asking" in words] == [name]


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions", "auto", None])
def test_in_a_mode_that_allows_it_or_is_unknown_nothing_is_said(claude, mode):
    turn = Turn(claude, mode)
    claude.nvim.lua(COUNT_ANSWERS, "sessions_modes", "of_client")
    turn.changes(call())
    claude.nvim.wait("answers == 1", what="the mode to be read")
    claude.line("user", permissionMode="default", message={"role": "user", "content": "go on"})
    assert turn.warned() == []


@pytest.mark.every_nvim
def test_the_notice_names_the_users_own_key(claude):
    claude.nvim.lua("vim.g.mapleader = ' ' vim.keymap.set('n', '<leader>cr', '<Plug>(claude-review)')")
    name = Turn(claude).changes(call())
    claude.nvim.wait_notice(f"{name} changed while `git diff` ran without asking you. `<Space>cr` shows it.")
