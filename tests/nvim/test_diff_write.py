"""Only writes that the user asked for accept. Autosave plugins write in all the ways tried here (peer's #71)."""

import re

import pytest
from diff_steps import Diffs

from harness.files import text_of

pytestmark = pytest.mark.dealt

OLD, NEW = "one\ntwo\n", "ONE\ntwo\n"


@pytest.fixture
def diffs(start_nvim):
    return Diffs(start_nvim(files={"a.txt": OLD, "b.txt": OLD}, args=["b.txt"]))


PERSONS = {
    "an Ex command in a mapping": 'map("n", "gs", "<Cmd>write<CR>")',
    "a typed mapping": 'map("n", "gs", ":silent update<CR>")',
    "a mapping in Lua": 'map("n", "gs", function() vim.cmd.write() end)',
    "a mapping with a silent update": 'map("n", "gs", "<Cmd>silent! update! | redraw<CR>")',
    "save and quit": 'map("n", "gs", "<Cmd>x<CR>")',
    "a key for another one": 'map("n", "gs", "ZZ")',
    "a mapping that waits for something first": 'map("n", "gs", function() vim.wait(60, function() end, 5) vim.cmd.write() end)',
    "a user command": 'vim.api.nvim_create_user_command("W", "write", {}) map("n", "gs", ":W<CR>")',
    "a macro": 'vim.fn.setreg("s", ":w\\r") map("n", "gs", "@s")',
}


def test_a_key_that_writes_accepts(diffs):
    for id, (name, mapping) in enumerate(PERSONS.items(), 1):
        diffs.nvim.lua(f"local map = vim.keymap.set {mapping}")
        diffs.open(id, "a.txt", new := f"{NEW}{name}\n")
        assert diffs.accept(id, "a.txt", "gs") == new
        diffs.wait_current(None)
        diffs.wait_clean()


@pytest.mark.every_nvim
def test_a_key_that_writes_in_insert_mode_accepts(diffs):
    diffs.nvim.lua('vim.keymap.set("i", "<C-s>", "<Cmd>write<CR>")')
    diffs.open(1, "a.txt", NEW)
    assert diffs.accept(1, "a.txt", "ix<C-s>") == "xONE\ntwo\n"
    diffs.wait_clean()
    diffs.nvim.wait(lambda: diffs.nvim.mode() == "n", what="normal mode, in a file that nobody began to edit")


AUTOSAVE = {
    "on leaving insert mode": 'on("InsertLeave", function() vim.cmd("silent! write") end)',
    "on leaving insert mode, nested": 'on("InsertLeave", function() vim.cmd("silent! write") end, true)',
    "on leaving insert mode, by Vim script": 'vim.cmd("autocmd InsertLeave * ++nested silent! update")',
    "on changes, everything": 'on({ "TextChanged", "InsertLeave" }, function() vim.cmd("silent! wall") end, true)',
    "later": 'on("InsertLeave", function() vim.schedule(function() vim.cmd("silent! write") end) end)',
    "after a while": 'on({ "InsertLeave", "TextChanged" }, function() vim.defer_fn(function() vim.cmd("silent! write") end, 30) end)',
    "in the buffer, by a timer": """
      on("InsertLeave", function(event)
        vim.defer_fn(function()
          vim.api.nvim_buf_call(event.buf, function() vim.cmd("silent! lockmarks write") end)
        end, 30)
      end)""",
    "each buffer, by a timer": """
      on("InsertLeave", function()
        vim.defer_fn(function()
          for _, buf in ipairs(vim.api.nvim_list_bufs()) do
            vim.api.nvim_buf_call(buf, function() vim.cmd("silent! update") end)
          end
        end, 30)
      end)""",
    "by a timer of Vim script": """
      vim.cmd([[autocmd InsertLeave,TextChanged * call timer_start(30, {-> execute("silent! update")})]])""",
    "by a timer of Vim script, all the time": """
      vim.cmd([[call timer_start(5, {-> execute("silent! update")}, #{repeat: -1})]])""",
    "in a function of Vim script": """
      vim.cmd([[
        function! AutoSave()
          silent! wa
        endfunction
        function! AutoSaveThis()
          silent! w
        endfunction
        autocmd InsertLeave,TextChanged * ++nested call AutoSaveThis() | call AutoSave()
      ]])""",
    "while the user types": 'on({ "TextChangedI", "CursorMovedI" }, function() vim.cmd("silent! update") end, true)',
    "in a pause": 'vim.o.updatetime = 20 on({ "CursorHold", "CursorHoldI" }, function() vim.cmd("silent! update") end, true)',
    "once the typing has paused": """
      local timer
      on({ "InsertLeave", "TextChanged" }, function(event)
        if timer then timer:stop() else timer = vim.uv.new_timer() end
        timer:start(30, 0, vim.schedule_wrap(function()
          if vim.bo[event.buf].modified and vim.bo[event.buf].modifiable then
            vim.api.nvim_buf_call(event.buf, function() vim.cmd("silent! noautocmd write") vim.cmd("silent! write") end)
          end
        end))
      end)""",
    "all the time": 'vim.uv.new_timer():start(0, 5, vim.schedule_wrap(function() vim.cmd("silent! write") end))',
}


AUTOSAVE_MS = 30
"""The longest wait of any of them."""


@pytest.mark.parametrize("plugin", AUTOSAVE.values(), ids=AUTOSAVE)
def test_autosave_does_not_accept(start_nvim, plugin):
    init = f"""
      vim.o.autowriteall = true
      local function on(events, callback, nested)
        vim.api.nvim_create_autocmd(events, {{ nested = nested, callback = function(event)
          _G.fired = true
          callback(event)
        end }})
      end
      {plugin}
    """
    diffs = Diffs(start_nvim(init_lua=init, files={"a.txt": OLD}))
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("omine<Esc>")
    diffs.nvim.wait(lambda: diffs.nvim.lines() == ["ONE", "mine", "two"] and diffs.nvim.mode() == "n")
    # Timers end in order: this one began after those above and takes longer, so they have all written.
    diffs.nvim.lua(f"vim.defer_fn(function() _G.all_wrote = true end, {AUTOSAVE_MS + 10})")
    diffs.nvim.wait("_G.all_wrote")
    assert diffs.outcomes(1) == [] and diffs.current() == 1
    assert diffs.accept(1, "a.txt", ":w<CR>") == "ONE\nmine\ntwo\n"


AUTOSAVE_ON_LEAVING = """
local function save(event)
  vim.api.nvim_buf_call(event.buf, function() vim.cmd("silent! write") end)
end
local events = { "BufLeave", "WinLeave", "TabLeave", "FocusLost", "QuitPre", "ExitPre", "VimSuspend", "BufHidden" }
vim.api.nvim_create_autocmd(events, { nested = true, callback = save })
vim.api.nvim_create_autocmd("FocusLost", { callback = function() vim.g.focus_lost = 1 end })
vim.cmd("autocmd FocusLost,BufLeave * ++nested silent! wall")
"""


@pytest.mark.parametrize("autowriteall", [False, True])
@pytest.mark.parametrize("keys", ["<C-w>h", "gt", ":split b.txt<CR>", "<C-w>s"])
def test_going_elsewhere_does_not_accept_whatever_saves_then(start_nvim, keys, autowriteall):
    diffs = Diffs(start_nvim(init_lua=AUTOSAVE_ON_LEAVING, files={"a.txt": OLD, "b.txt": OLD}))
    diffs.nvim.lua("vim.o.autowriteall = ...", autowriteall)
    diffs.open(1, "a.txt", NEW)
    before = diffs.nvim.lua("return vim.api.nvim_get_current_win()")
    diffs.nvim.keys(keys)
    diffs.nvim.wait(lambda: diffs.nvim.lua("return vim.api.nvim_get_current_win()") != before)
    diffs.nvim.terminal.write("\x1b[I\x1b[O")
    diffs.nvim.wait("vim.g.focus_lost == 1")
    assert diffs.outcomes(1) == []


@pytest.mark.parametrize("autowriteall", [False, True])
def test_closing_rejects_whatever_saves_then(start_nvim, autowriteall):
    diffs = Diffs(start_nvim(init_lua=AUTOSAVE_ON_LEAVING, files={"a.txt": OLD, "b.txt": OLD}))
    diffs.nvim.lua("vim.o.autowriteall = ...", autowriteall)
    for id, keys in enumerate([":q<CR>", "<C-w>c", "<C-w>q", ":close<CR>", ":tabclose<CR>", ":bdelete<CR>"], 1):
        diffs.open(id, "a.txt", NEW)
        diffs.nvim.keys("oedited<Esc>" + keys)
        assert diffs.answer(id) == {"outcome": "rejected"}, keys
        diffs.wait_current(None)


@pytest.mark.parametrize("keys", [":edit b.txt<CR>", ":next<CR>", ":enew<CR>", "<C-^>", ":buffer 1<CR>", "gf"])
def test_what_would_take_its_place_does_not_accept(diffs, keys):
    diffs.nvim.cmd("set autowriteall hidden | args a.txt b.txt")
    diffs.open(1, "a.txt", "b.txt\n")
    diffs.nvim.keys(keys + ":let g:done = 1<CR>")
    diffs.nvim.wait("vim.g.done == 1")
    assert "saved" not in diffs.outcomes(1)


def test_writing_everything_accepts_nothing(diffs):
    nvim = diffs.nvim
    nvim.cmd("set autowrite makeprg=true shellpipe=>")
    nvim.keys("Anew<Esc>")
    nvim.wait(lambda: nvim.lines() == ["onenew", "two"] and nvim.mode() == "n")
    diffs.open(1, "a.txt", NEW)
    tab = nvim.lua("return vim.fn.tabpagenr()")
    everything = [":wall<CR>", ":wa!<CR>", ":make<CR>", ":!true<CR><CR>", ":1tabnext<CR>:tabdo silent! update<CR>"]
    for keys in [*everything, ":bufdo update<CR>"]:
        nvim.lua("vim.cmd.tabnext(...) vim.g.done = nil", tab)
        nvim.keys(keys + ":let g:done = 1<CR>")
        nvim.wait("vim.g.done == 1", what=keys)
        assert diffs.outcomes(1) == [], keys


@pytest.mark.every_nvim
def test_writing_everything_writes_the_files_of_the_user(diffs):
    diffs.nvim.keys("Anew<Esc>")
    diffs.nvim.wait(lambda: diffs.nvim.lines() == ["onenew", "two"] and diffs.nvim.mode() == "n")
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys(":wall<CR>")
    diffs.nvim.wait(lambda: text_of(diffs.nvim.project / "b.txt") == "onenew\ntwo\n")
    assert diffs.outcomes(1) == [] and diffs.nvim.lua("return vim.v.errmsg") == ""


@pytest.mark.every_nvim
def test_a_write_from_another_window_does_not_accept(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.lua("""
      local proposal = vim.api.nvim_get_current_buf()
      vim.keymap.set("n", "gs", function() vim.api.nvim_buf_call(proposal, function() vim.cmd("write") end) end)
    """)
    diffs.nvim.keys("<C-w>hgs:let g:done = 1<CR>")
    diffs.nvim.wait("vim.g.done == 1")
    assert diffs.outcomes(1) == []


COPIES = {
    ":w copy": NEW,
    ":w! copy": NEW,
    ":write ++ff=dos copy": NEW.replace("\n", "\r\n"),
    ":saveas copy": NEW,
    ":file copy <Bar> w": NEW,
    ":1w copy": "ONE\n",
    ":2,2w! copy": "two\n",
    ":w >> copy": "first\n" + NEW,
    ":2w >> copy": "first\ntwo\n",
    ":w !cat > copy": NEW,
}


@pytest.mark.every_nvim
def test_every_way_of_writing_a_copy_writes_it_and_decides_nothing(diffs):
    nvim = diffs.nvim
    copy = nvim.project / "copy"
    diffs.open(1, "a.txt", NEW)
    for command, expected in COPIES.items():
        copy.unlink(missing_ok=True)
        if ">>" in command:
            copy.write_text("first\n")
        nvim.keys(f"{command.replace('<Bar>', '|')}<CR>:let g:done = 1<CR>")
        if "!cat" in command:
            nvim.keys("<CR>")
        nvim.wait("vim.g.done == 1", what=command)
        nvim.cmd("unlet g:done")
        if "!cat" not in command:
            said = nvim.lua("return vim.fn.execute('messages')").splitlines()[-1]
            assert said.endswith(" · the proposal still waits"), command
        assert copy.read_bytes().decode() == expected, command
        assert diffs.outcomes(1) == [] and diffs.current() == 1, command
        assert nvim.lua("return { vim.bo.modified, vim.v.errmsg }") == [True, ""], command
        nvim.lua("vim.cmd('silent! bwipeout! ' .. vim.fn.fnameescape(vim.fn.getcwd() .. '/copy'))")
    assert diffs.accept(1, "a.txt", ":update<CR>") == NEW
    diffs.wait_clean()


@pytest.mark.every_nvim
def test_a_part_of_a_proposal_is_not_written_and_decides_nothing(diffs):
    nvim = diffs.nvim
    diffs.open(1, "a.txt", NEW)
    for command in (":1w!", ":2,2write!", ":w >>", ":1w! >>"):
        nvim.keys(f":echo<CR>{command}<CR>")
        nvim.wait_screen("a part of it does nothing")
        assert diffs.outcomes(1) == [] and diffs.current() == 1, command
        assert nvim.lua("return vim.v.errmsg") == "", command
        nvim.keys(":echo<CR>")
        nvim.wait(lambda: "a part of it does nothing" not in "\n".join(nvim.screen()))
    assert diffs.accept(1, "a.txt", ":w<CR>") == NEW


def test_what_cannot_be_written_is_a_plain_error_and_decides_nothing(diffs):
    nvim = diffs.nvim
    (nvim.project / "taken").write_text("mine\n")
    diffs.open(1, "a.txt", NEW)
    for command, error in {
        ":w nodir/x": '"nodir/x" E212:',
        ":wq nodir/x": '"nodir/x" E212:',
        ":saveas nodir/x": '"nodir/x" E212:',
        ":w taken": "E13:",
        ":saveas taken": "E13:",
        ":1,1w": "E140:",
    }.items():
        nvim.keys(f":echo<CR>{command}<CR>")
        nvim.wait_screen(error)
        assert "traceback" not in "\n".join(nvim.screen()) and "Press ENTER" not in "\n".join(nvim.screen()), command
        nvim.wait(lambda: nvim.mode() == "n")
        assert diffs.outcomes(1) == [] and diffs.current() == 1, command
    assert (nvim.project / "taken").read_text() == "mine\n"
    assert "+" not in nvim.lua("return vim.o.cpoptions")
    assert diffs.accept(1, "a.txt", ":wq<CR>") == NEW
    diffs.wait_clean()


def test_a_copy_and_away_rejects(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.reject(1, ":wq copy<CR>")
    assert (diffs.nvim.project / "copy").read_text() == NEW
    diffs.wait_clean()


@pytest.mark.parametrize("keys", [":qa<CR>", ":wqa<CR>", ":xa<CR>", ":1tabclose<CR>:q<CR>"])
def test_quitting_does_not_lose_what_was_typed_into_a_proposal(start_nvim, keys):
    diffs = Diffs(start_nvim(files={"a.txt": OLD}, opts={"diff": {"layout": "unified"}}))
    nvim = diffs.nvim
    diffs.open(1, "a.txt", NEW)
    nvim.keys("omine<Esc>")
    nvim.wait(lambda: nvim.lines() == ["ONE", "mine", "two"] and nvim.mode() == "n")
    nvim.keys(keys)
    nvim.wait_screen(re.compile("E37|E162|Accept or reject the proposal for a.txt, then quit"))
    nvim.keys("<CR>")
    nvim.wait(lambda: nvim.mode() == "n")
    assert diffs.current() == 1 and nvim.lines() == ["ONE", "mine", "two"] and diffs.outcomes(1) == []
    assert diffs.accept(1, "a.txt") == "ONE\nmine\ntwo\n"
    nvim.keys(":qa<CR>")
    assert nvim.terminal.wait_exit() == 0


@pytest.fixture
def typed_into(start_nvim):
    """A proposal with the user's typing, in a Neovim with two other files."""
    diffs = Diffs(start_nvim(files={"a.txt": OLD, "b.txt": OLD}, args=["a.txt", "b.txt"]))
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("omine<Esc>")
    diffs.nvim.wait(lambda: diffs.nvim.lines() == ["ONE", "mine", "two"] and diffs.nvim.mode() == "n")
    return diffs


@pytest.mark.parametrize("keys", [":bdelete b.txt<CR>:qa<CR>", ":bdelete b.txt|qa<CR>", ":bwipeout! 99<CR>:xa<CR>"])
def test_quitting_right_after_a_buffer_was_deleted_loses_nothing_of_a_proposal(typed_into, keys):
    nvim = typed_into.nvim
    nvim.input(keys)  # all in one read: no turn of the event loop in between
    nvim.wait_screen(re.compile("E37|E162|Accept or reject the proposal for a.txt, then quit"))
    nvim.keys("<CR>")
    nvim.wait(lambda: nvim.mode() == "n")
    assert typed_into.current() == 1 and nvim.lines() == ["ONE", "mine", "two"]


@pytest.mark.parametrize("keys", [":bdelete b.txt<CR>:x<CR>", ":bdelete b.txt<CR>:update<CR>", ":wall<CR>:w<CR>"])
def test_a_write_right_after_another_command_accepts(typed_into, keys):
    typed_into.nvim.input(keys)
    assert typed_into.accepted(1, "a.txt") == "ONE\nmine\ntwo\n"


WAYS_OUT = [":q<CR>", ":q!<CR>", ":bdelete<CR>", ":bwipeout!<CR>", ":tabclose<CR>", "<C-w>c", "<C-w>h<C-w>o"]
WAYS_OUT += [":1tabonly<CR>"]


@pytest.mark.every_nvim
def test_every_way_out_but_a_rejection_keeps_what_was_typed(diffs):
    nvim = diffs.nvim
    for id, keys in enumerate(WAYS_OUT, 1):
        diffs.open(id, "a.txt", NEW)
        nvim.keys(f"omine {id}<Esc>")
        nvim.wait(lambda id=id: nvim.lines() == ["ONE", f"mine {id}", "two"] and nvim.mode() == "n")
        nvim.keys(keys)
        assert diffs.answer(id) == {"outcome": "rejected"}, keys
        kept = nvim.wait(
            f"return vim.iter(vim.api.nvim_list_bufs()):find(function(b)"
            f" return vim.deep_equal((vim.b[b].claude_ide or {{}}).kind, 'kept') and vim.b[b].claude_ide.id == {id} end)",
            what=keys,
        )
        assert nvim.lines(kept) == ["ONE", f"mine {id}", "two"], keys
        nvim.cmd(f"bwipeout! {kept}")
        diffs.wait_clean()


@pytest.mark.every_nvim
def test_no_language_server_is_attached(start_nvim):
    init = """
      vim.api.nvim_create_autocmd({ "FileType", "BufEnter" }, { callback = function(event)
        vim.lsp.start({ name = "fake", cmd = function(dispatchers)
          return {
            request = function(_, _, callback)
              vim.schedule(function() callback(nil, { capabilities = {} }) end)
              return true, 1
            end,
            notify = function() return true end,
            is_closing = function() return false end,
            terminate = function() end,
          }
        end }, { bufnr = event.buf })
      end })
    """
    diffs = Diffs(start_nvim(init_lua=init, files={"a.py": OLD}, args=["a.py"]))
    diffs.nvim.lua("""
      function _G.attached(buf)
        return #vim.tbl_filter(function(client) return vim.lsp.buf_is_attached(buf, client.id) end, vim.lsp.get_clients())
      end
    """)
    diffs.nvim.wait("attached(1) > 0")
    diffs.open(1, "a.py", NEW)
    diffs.nvim.keys("<C-w>h<C-w>l<C-w>h")
    diffs.nvim.wait(lambda: diffs.nvim.lua("return vim.bo.modifiable") is False, what="the left side")
    diffs.nvim.wait("attached(0) == 0")
    diffs.nvim.keys("<C-w>l")
    diffs.nvim.wait(lambda: diffs.current() == 1)
    diffs.nvim.wait("attached(0) == 0")
    assert diffs.nvim.lua("return vim.bo.filetype") == "python"


GROUPS = """
vim.cmd.redraw()
local found = {}
local seen = vim.inspect_pos(0, 0, 0)
for _, item in ipairs(seen.treesitter) do found[#found + 1] = "@" .. item.capture end
for _, item in ipairs(seen.syntax) do found[#found + 1] = item.hl_group end
return table.concat(found, " ")
"""


@pytest.mark.parametrize("name, group", [("a.lua", "@"), ("a.py", "python")])
def test_both_sides_have_the_colours_of_the_file(start_nvim, name, group):
    diffs = Diffs(start_nvim(files={name: "return 'old'\n"}, args=[name]))
    diffs.open(1, name, "return 'new'\n")
    proposal = diffs.nvim.lua("return vim.api.nvim_get_current_win()")
    for keys in ("", "<C-w>h"):
        diffs.nvim.keys(keys)
        diffs.nvim.wait(f"(vim.api.nvim_get_current_win() == {proposal}) == {str(not keys).lower()}")
        diffs.nvim.wait(lambda: group in diffs.nvim.lua(GROUPS), what=f"a group of {group}: it is parsed in turns")
