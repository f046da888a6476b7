"""How much awaits review, requested after each edit of a turn with many files."""

import pytest

pytestmark = pytest.mark.one_nvim

FILES, SECOND = 60, 40
"""The number of files, each changed by one edit; and how many edits take a second."""

WORK = """
local journal = Ide.journal
local store = Ide.journal_store
local changes = Ide.journal_changes
local client = Ide.server.clients()[1].id
local looked, of = 0, changes.of
changes.of = function(...)
  looked = looked + 1
  return of(...)
end
local clock, hrtime = vim.uv.hrtime() + 10e9, vim.uv.hrtime
vim.uv.hrtime = function() return clock end -- after ten quiet seconds each edit takes 25 ms, on any machine
looks, totals = {}, {}
journal.turn_started(client, {})
for i, path in ipairs(...) do
  journal.before_edit(client, path)
  vim.fn.writefile({ "one", "TWO", "three" }, path)
  looked, clock = 0, clock + 25e6
  Ide.journal_observe.look_now(store.find(path))
  totals[i] = journal.counts()
  looks[i] = looked
end
changes.of, vim.uv.hrtime = of, hrtime
return { looks, totals }
"""
COUNTS = "return Ide.journal.counts()"


@pytest.fixture
def turn(start_nvim, connect):
    """A turn that changed many files, and the cost of each of its edits."""
    names = [f"{number}.txt" for number in range(FILES)]
    nvim = start_nvim(files=dict.fromkeys(names, "one\ntwo\nthree\n"))
    connect(nvim)
    paths = [str(nvim.project / name) for name in names]
    return nvim, paths, *nvim.lua(WORK, paths)


def test_an_edit_costs_no_look_at_the_other_files_of_its_turn(turn):
    _nvim, _paths, looks, totals = turn
    assert totals == [{"files": count, "hunks": count, "conflicts": 0} for count in range(1, FILES + 1)]
    # A scan of all files per second finds unannounced changes: one within these 1.5 seconds.
    assert sorted(looks)[:-1] == [1] * (FILES - 1), looks
    assert looks.index(max(looks)) + 1 == max(looks) > SECOND, "all that there were then"


def test_what_is_kept_or_taken_back_is_counted_no_more(turn):
    nvim, paths, *_ = turn
    nvim.lua("assert(Ide.journal_undo.keep(...))", paths[0])
    assert nvim.lua(COUNTS)["files"] == FILES - 1
    nvim.lua("assert(Ide.journal_undo.undo(...))", paths[1])
    nvim.wait(lambda: nvim.lua(COUNTS) == {"files": FILES - 2, "hunks": FILES - 2, "conflicts": 0}, what="58 files")


def test_what_the_user_changes_without_saving_is_counted_with_the_next_edit(turn):
    nvim, paths, *_ = turn
    nvim.lua("vim.cmd.edit(...)", paths[5])
    nvim.keys("2GAmine<Esc>")
    nvim.wait("vim.fn.getline(2) == 'TWOmine'")
    again = "Ide.journal_announce.tell(Ide.journal_store.find(...).id)"
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
    again = "Ide.journal_announce.tell(Ide.journal_store.find(...).id)"

    def counted():
        nvim.lua(again, paths[0])
        return nvim.lua(COUNTS)["files"] == FILES - 1

    nvim.wait(counted, what="the file that is as it was")
