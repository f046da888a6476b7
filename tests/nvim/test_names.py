"""The names of our buffers: in Neovim's own tab line, in `%f`, in commands that take names, and beside files of such
names.
"""

import pytest
from diff_steps import Diffs
from review_steps import A, B, review, turn, windows

pytestmark = pytest.mark.dealt

OLD, NEW = "one\ntwo\n", "ONE\ntwo\n"
KEYS = "lua/config/keys.lua"


@pytest.fixture
def diffs(start_nvim):
    return Diffs(start_nvim(files={"a.txt": OLD, KEYS: OLD, "b.txt": OLD}, args=["b.txt"]))


def shown_file(nvim):
    return nvim.lua("return vim.api.nvim_eval_statusline('%f|%t', {}).str").split("|")


def junk(nvim):
    """Files of the project with the names of our buffers."""
    return sorted(str(path) for path in nvim.project.rglob("*(*"))


@pytest.mark.every_nvim
def test_a_proposal_is_called_after_its_file(diffs):
    nvim = diffs.nvim
    diffs.open(1, "a.txt", NEW)
    nvim.wait_screen(" b.txt  2+ a.txt (Claude) ")
    nvim.keys("g?")
    nvim.wait_screen("Keys of a diff")
    nvim.wait_screen(" a.txt (keys) ")
    nvim.keys("q")
    nvim.wait_screen(" b.txt  2+ a.txt (Claude) ")
    assert shown_file(nvim) == ["a.txt (Claude)", "a.txt (Claude)"]
    nvim.keys("<C-w>h")
    nvim.wait_screen(" b.txt  2+ a.txt (now) ")
    nvim.keys("ZQ")
    diffs.wait_clean()
    diffs.open(2, KEYS, NEW)
    nvim.wait_screen(" b.txt  2+ l/c/keys.lua (Claude) ")
    assert shown_file(nvim) == [f"{KEYS} (Claude)", "keys.lua (Claude)"]
    assert nvim.lua("return { vim.b.claude_ide.kind, vim.b.claude_ide.id }") == ["proposal", 2]


def test_a_review_is_called_after_its_files(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": A, "b.txt": B}, args=["b.txt"])
    turn(nvim, connect(nvim), a_txt=None, b_txt=B.upper())
    review(nvim)
    nvim.wait_screen(" a.txt (deleted) ")
    nvim.keys("<C-w>h")
    nvim.wait_screen(" changes (Claude) ")
    nvim.keys("]f")
    nvim.wait(lambda: len(windows(nvim)) == 3, what="both texts of the second file")
    nvim.keys("<C-w>l")
    nvim.wait_screen(" b.txt (before Claude) ")
    nvim.keys("<C-w>lg?")
    nvim.wait_screen(" b.txt (keys) ")


def test_two_sessions_and_a_file_of_such_a_name(start_nvim):
    nvim = start_nvim(files={"a.txt": OLD, "a.txt (Claude)": "mine\n", "b.txt": OLD}, args=["b.txt"])
    diffs = Diffs(nvim)
    diffs.open(1, "a.txt", NEW)
    assert shown_file(nvim)[0] == "a.txt (Claude 2)"
    diffs.propose(2, "a.txt", "TWO\n", client=2)
    nvim.wait("Ide.proposal.list()[2].tab", what="the second diff")
    nvim.cmd("tabnext 3")
    assert shown_file(nvim)[0] == "a.txt (Claude 3)"
    nvim.cmd("tabnext 2")
    assert diffs.accept(1, "a.txt", ":w<CR>") == NEW
    nvim.cmd("tabfirst")
    nvim.keys(":e a.txt\\ (Claude)<CR>")
    nvim.wait(lambda: nvim.lines() == ["mine"], what="the file of the project")
    nvim.keys("onew<Esc>:w<CR>")
    nvim.wait(lambda: (nvim.project / "a.txt (Claude)").read_text() == "mine\nnew\n", what="it to be written")
    assert junk(nvim) == [str(nvim.project / "a.txt (Claude)")]


WRITES = [
    ":w<CR>",
    ":cd lua<CR>:w<CR>",
    ":lcd lua/config<CR>:w!<CR>",
    ":tcd ..<CR>:update<CR>",
    ":cd lua<CR>:e!<CR>:x<CR>",
    ":w ++p<CR>",
    ":setlocal buftype=acwrite<CR>:wq<CR>",
]


PATHS = ["a.txt", KEYS, "new/deep/file.lua"]
WRITTEN = [(keys, PATHS[(at + more) % 3]) for more in (0, 1) for at, keys in enumerate(WRITES)][:-4]
"""Each way, each path, and most pairs of them."""


def test_writing_accepts_in_whatever_folder(diffs):
    nvim = diffs.nvim
    for id, (keys, path) in enumerate(WRITTEN, 1):
        nvim.cmd(f"cd {nvim.project}")
        diffs.open(id, path, new := f"{NEW}{id}\n")
        assert diffs.accept(id, path, keys) == new, keys
        diffs.wait_current(None)
        diffs.wait_clean()
    assert junk(nvim) == []


@pytest.mark.every_nvim
@pytest.mark.parametrize("autochdir", [False, True])
def test_copies_are_copies_and_the_name_comes_back(diffs, autochdir):
    nvim = diffs.nvim
    nvim.lua("vim.o.autochdir = ...", autochdir)
    diffs.open(1, KEYS, NEW)
    name = nvim.lua("return vim.api.nvim_buf_get_name(0)")
    for keys, copy in [(":w {}<CR>", "one.txt"), (":saveas {}<CR>", "two.txt"), (":file {} | w<CR>", "three.txt")]:
        path = nvim.project / copy
        nvim.keys(keys.format(path))
        nvim.wait(lambda path=path: path.exists() and path.read_text() == NEW, what=keys)
        nvim.wait(lambda: nvim.lua("return vim.api.nvim_buf_get_name(0)") == name, what="its own name")
    assert diffs.outcomes(1) == []
    nvim.keys(":cd " + str(nvim.project / "lua") + "<CR>:saveas " + str(nvim.project / "four.txt") + "<CR>")
    nvim.wait(lambda: (nvim.project / "four.txt").exists(), what="the copy")
    assert diffs.accept(1, KEYS, ":w<CR>") == NEW
    diffs.wait_clean()
    assert junk(nvim) == []


def test_commands_that_take_names_find_files_first(diffs):
    nvim = diffs.nvim
    nvim.cmd("edit a.txt | edit b.txt")
    diffs.open(1, "a.txt", NEW)
    assert nvim.lua("return vim.fn.getcompletion('', 'buffer')") == ["b.txt", "a.txt"]
    nvim.keys("gT:b a.txt<CR>")
    nvim.wait(lambda: nvim.lines() == OLD.splitlines() and nvim.lua("return vim.fn.bufname()") == "a.txt")
    nvim.keys(":bnext<CR>")
    nvim.wait(lambda: nvim.lua("return vim.fn.bufname()") == "b.txt", what="the next file")
    nvim.keys(":bnext<CR>")
    nvim.wait(lambda: nvim.lua("return vim.fn.bufname()") == "a.txt", what="the first again")


LSP = """
_G.opened = {}
local function cmd()
  return {
    request = function(method, params, callback)
      if method == "initialize" then callback(nil, { capabilities = { textDocumentSync = 1 } }) end
      return true, 1
    end,
    notify = function(method, params)
      if method == "textDocument/didOpen" then opened[#opened + 1] = vim.fs.basename(params.textDocument.uri) end
    end,
    is_closing = function() return false end,
    terminate = function() end,
  }
end
vim.api.nvim_create_autocmd("FileType", { pattern = "lua", callback = function(event)
  vim.lsp.start({ name = "fake", cmd = cmd, root_dir = vim.fn.getcwd() }, { bufnr = event.buf })
end })
_G.events = {}
vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile", "BufEnter", "BufFilePost", "BufWritePre", "FileType" }, {
  pattern = { "*.lua", "*/lua/*" },
  callback = function(event) events_of_files = (events_of_files or "") .. event.event .. " " .. event.match .. "\\n" end,
})
"""


def test_no_language_server_and_no_autocommand_of_files_sees_it(start_nvim, connect):
    nvim = start_nvim(files={KEYS: OLD, "b.txt": OLD}, args=["b.txt"], init_lua=LSP)
    diffs = Diffs(nvim)
    diffs.open(1, KEYS, NEW)
    nvim.keys(":w<CR>")
    diffs.accepted(1, KEYS)
    diffs.wait_clean()
    assert nvim.lua("return { opened, events_of_files }") == [[]]


# Like which-key.nvim, which reads the keys of a buffer that is entered.
ENTERED = """
entered = {}
vim.api.nvim_create_autocmd("BufEnter", { callback = function(event)
  if (vim.b[event.buf].claude_ide or {}).kind ~= "proposal" then return end
  local keys = vim.tbl_map(function(map) return map.lhs end, vim.api.nvim_buf_get_keymap(event.buf, "n"))
  entered[#entered + 1] = { event.buf == vim.api.nvim_get_current_buf(), vim.list_contains(keys, "g?") }
end })
"""


@pytest.mark.parametrize("place", ["tab", "current", "float"])
def test_plugins_learn_of_the_buffer_once_it_has_its_keys(start_nvim, place):
    opts = {"diff": {"open_in": place}}
    nvim = start_nvim(files={KEYS: OLD, "b.txt": OLD}, args=["b.txt"], init_lua=ENTERED, opts=opts)
    diffs = Diffs(nvim)
    diffs.open(1, KEYS, NEW)
    nvim.wait("#entered > 0", what="the event")
    assert nvim.lua("return entered") == [[True, True]]


def test_a_diff_that_is_not_entered_says_nothing(start_nvim):
    nvim = start_nvim(
        files={KEYS: OLD, "b.txt": OLD}, args=["b.txt"], init_lua=ENTERED, opts={"diff": {"focus": False}}
    )
    diffs = Diffs(nvim)
    diffs.propose(1, KEYS, NEW)
    nvim.wait("#vim.api.nvim_list_tabpages() == 2", what="the diff")
    nvim.lua("vim.wait(0)")
    assert nvim.lua("return entered") == []


def keep_what_is_typed(nvim):
    """The user types into the proposal, and the CLI withdraws it."""
    nvim.keys("omine<Esc>")
    nvim.wait(lambda: nvim.mode() == "n" and "mine" in nvim.lines())
    nvim.lua("Ide.claude_client.prompt_submitted(1)")
    nvim.wait("vim.fn.bufexists('lua/config/keys.lua (recovered)') == 1")


def test_what_a_session_of_another_day_makes_of_one_goes(start_nvim):
    nvim = start_nvim(files={KEYS: OLD, "b.txt": OLD, "c (now)": "mine\n"}, args=["b.txt"])
    diffs = Diffs(nvim)
    diffs.open(1, KEYS, NEW)
    nvim.cmd("mksession saved.vim")
    keep_what_is_typed(nvim)
    nvim.cmd("mksession kept.vim")
    nvim.quit()
    for session in ("saved.vim", "kept.vim"):
        after = start_nvim(args=["-c", f"silent source {session}", "-c", "badd c\\ (now)"])
        names = after.lua("return vim.tbl_map(vim.fn.bufname, vim.api.nvim_list_bufs())")
        assert "b.txt" in names and not [name for name in names if "keys.lua (" in name], session
        after.quit()


PROPOSE = """
local name = ...
local requester = Ide.requests.requester({
  name = name,
  writes = "agent",
  answer = function() end,
  tell = function() end,
  cannot_hear = function() end,
})
local path = vim.fn.getcwd() .. "/a.txt"
diff = Ide.proposal.propose(requester, {}, { path = path, contents = "ONE\\n" })
"""


def test_a_proposal_of_another_agent_bears_its_name(start_nvim):
    agents = {"odd": {"cmd": ["true"], "name": "O/dd (1)\n4"}, "plain": {"cmd": ["true"]}}
    nvim = start_nvim(files={"a.txt": OLD, "b.txt": OLD}, args=["b.txt"], opts={"agents": agents})
    shown = {"Gemini": "Gemini", "Qwen Code": "Qwen Code", "O/dd (1)\n4": "O dd 1 4", "plain": "plain"}
    for at, (name, words) in enumerate(shown.items()):
        nvim.lua(PROPOSE, name)
        nvim.wait("vim.b.claude_ide and vim.b.claude_ide.kind == 'proposal'", what="the proposal")
        assert shown_file(nvim)[0] == f"a.txt ({words})"
        nvim.cmd(f"mksession {at}.vim")
        nvim.lua("Ide.requests.close(diff)")
        nvim.wait("#vim.api.nvim_list_tabpages() == 1", what="the file")
    nvim.quit()
    for at in range(len(shown)):
        after = start_nvim(args=["-c", f"silent source {at}.vim"], opts={"agents": agents})
        names = after.lua("return vim.tbl_map(vim.fn.bufname, vim.api.nvim_list_bufs())")
        assert "b.txt" in names and not [name for name in names if "(" in name], names
        after.quit()


SHADA = """
vim.o.shadafile, vim.o.shada = vim.env.HOME .. "/x.shada", "!,'100,<50,s10,h"
"""


@pytest.mark.every_nvim
def test_oldfiles_have_files_alone(start_nvim):
    nvim = start_nvim(files={KEYS: OLD, "b.txt": OLD}, args=["b.txt"], init_lua=SHADA)
    diffs = Diffs(nvim)
    diffs.open(1, KEYS, NEW)
    nvim.keys("jk:w<CR>")
    diffs.accepted(1, KEYS)
    diffs.wait_clean()
    diffs.open(2, KEYS, "TWO\n")
    keep_what_is_typed(nvim)
    nvim.cmd("tabnew | sbuffer lua/config/keys.lua\\ (recovered)")
    nvim.keys("G")
    nvim.quit()
    after = start_nvim(init_lua=SHADA)
    after.cmd("rshada!")
    old = after.lua("return vim.v.oldfiles")
    assert any(name.endswith("b.txt") for name in old)
    assert not [name for name in old if "(" in name]
    jumps = after.lua(
        "return vim.tbl_map(function(jump) return vim.fn.bufname(jump.bufnr) end, vim.fn.getjumplist()[1])"
    )
    assert not [name for name in jumps if "(" in name]
