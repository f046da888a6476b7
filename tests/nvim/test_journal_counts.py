"""How much waits for a review, asked for after each edit of a turn that has many files."""

import pytest

pytestmark = pytest.mark.one_nvim

FILES = 60
WORK = """
local journal = require("claude-ide.journal")
local history = require("claude-ide.journal.history")
local changes = require("claude-ide.journal.changes")
local client = require("claude-ide.server").clients()[1].id
local looked, of = 0, changes.of
changes.of = function(...)
  looked = looked + 1
  return of(...)
end
looks, totals = {}, {}
journal.turn_started(client)
for i, path in ipairs(...) do
  journal.before_edit(client, path)
  vim.fn.writefile({ "one", "TWO", "three" }, path)
  looked = 0
  require("claude-ide.journal.observe").look_now(history.find(path))
  totals[i] = journal.counts()
  looks[i] = looked
end
changes.of = of
return { looks, totals }
"""
COUNTS = "return require('claude-ide.journal').counts()"


@pytest.fixture
def turn(start_nvim, connect):
    """A turn that changed many files; what each of its edits took."""
    names = [f"{number}.txt" for number in range(FILES)]
    nvim = start_nvim(files=dict.fromkeys(names, "one\ntwo\nthree\n"))
    connect(nvim)
    paths = [str(nvim.project / name) for name in names]
    return nvim, paths, *nvim.lua(WORK, paths)


def test_an_edit_costs_no_look_at_the_other_files_of_its_turn(turn):
    _nvim, _paths, looks, totals = turn
    assert totals == [{"files": count, "hunks": count, "conflicts": 0} for count in range(1, FILES + 1)]
    # All are looked at once a second, for what nobody tells of.
    assert sorted(looks)[FILES * 3 // 4] == 1, looks


def test_what_is_kept_or_taken_back_is_counted_no_more(turn):
    nvim, paths, *_ = turn
    nvim.lua("assert(require('claude-ide.journal').keep(...))", paths[0])
    assert nvim.lua(COUNTS)["files"] == FILES - 1
    nvim.lua("assert(require('claude-ide.journal').undo(...))", paths[1])
    nvim.wait(lambda: nvim.lua(COUNTS) == {"files": FILES - 2, "hunks": FILES - 2, "conflicts": 0}, what="58 files")


def test_what_the_person_changes_without_saving_is_counted_with_the_next_edit(turn):
    nvim, paths, *_ = turn
    nvim.lua("vim.cmd.edit(...)", paths[5])
    nvim.keys("2GAmine<Esc>")
    nvim.wait("vim.fn.getline(2) == 'TWOmine'")
    again = "require('claude-ide.journal.changed').tell(require('claude-ide.journal.history').find(...))"
    nvim.lua(again, paths[0])
    assert nvim.lua(COUNTS) == {"files": FILES, "hunks": FILES, "conflicts": 1}
    nvim.keys("u")
    nvim.wait("vim.fn.getline(2) == 'TWO'")
    nvim.lua(again, paths[0])
    assert nvim.lua(COUNTS) == {"files": FILES, "hunks": FILES, "conflicts": 0}


def test_what_another_program_writes_is_counted_a_second_later(turn):
    nvim, paths, *_ = turn
    with open(paths[7], "w") as file:
        file.write("one\ntwo\nthree\n")
    again = "require('claude-ide.journal.changed').tell(require('claude-ide.journal.history').find(...))"

    def counted():
        nvim.lua(again, paths[0])
        return nvim.lua(COUNTS)["files"] == FILES - 1

    nvim.wait(counted, what="the file that is as it was")
