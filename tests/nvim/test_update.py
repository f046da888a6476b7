"""An update of the plugin beside a running Neovim: loaded code goes on, the new one waits for the next start."""

import pytest

from harness.nvim import ROOT

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

NEW = """
return setmetatable({}, { __index = function(_, key) error("new internals: " .. key) end })
"""
"""A module of another version, incompatible with the loaded ones."""

SEEN = "(Ide.proposal.list()[1] or {}).seen"


def replace(package):
    """Replaces the files like a plugin manager."""
    for path in (package / "lua" / "claude-ide").rglob("*.lua"):
        path.unlink()
        path.write_text(NEW)


@pytest.fixture
def running(bare, installed):
    """A Neovim that uses the plugin, and has had time to read it."""

    def start(**options):
        nvim = bare(**options)
        nvim.keep_notices()
        nvim.wait("Ide.server.is_running()", what="the server")
        nvim.modules_are_cached()
        return nvim

    return start


def diff_call(client, path, text):
    return client.start_call(
        "openDiff", old_file_path=str(path), new_file_path=str(path), new_file_contents=text, tab_name=text
    )


@pytest.mark.every_nvim
def test_what_runs_goes_on_when_the_plugin_is_updated_beneath_it(running, installed, connect):
    nvim = running(files={"a.txt": "one\n", "b.txt": "one\n"})
    path = nvim.project / "a.txt"
    client = connect(nvim)
    first = diff_call(client, path, "two\n")
    nvim.wait(SEEN, what="the diff")
    replace(installed)

    nvim.keys(":Claude accept<CR>")
    assert client.call_result(first)[0] == "FILE_SAVED"
    second = diff_call(client, nvim.project / "b.txt", "three\n")
    nvim.wait(SEEN, what="the diff after the update")
    nvim.keys(":Claude reject<CR>")
    assert client.call_result(second)[0] == "DIFF_REJECTED"
    for command in ("edit a.txt", "Claude status", "ClaudeSend", "Claude review", "Claude sessions", "ClaudeConnect"):
        nvim.cmd(command)
    nvim.wait_notice("restart Neovim")
    nvim.wait("#notices >= 3", what="what the commands say")
    notices = nvim.notices()
    assert "new internals" not in "".join([*notices, *nvim.screen(), nvim.log()])
    assert [text for text in notices if "restart Neovim" in text] == [
        "claude-ide.nvim was updated on disk: restart Neovim to use it."
    ]


def test_an_update_is_reported_as_soon_as_the_plugin_manager_is_done(running, installed):
    nvim = running()
    replace(installed)
    nvim.cmd("doautocmd User LazyUpdate")
    nvim.wait("#notices == 1", what="the notice")
    nvim.cmd("doautocmd User LazySync")
    nvim.cmd("Claude status")
    assert [text for text in nvim.notices() if "restart" in text] == nvim.lua("return { notices[1] }")


def test_what_is_kept_takes_no_part_in_a_plugin_that_is_loaded_anew(running, installed):
    nvim = running()
    (installed / "lua" / "claude-ide" / "base" / "file.lua").write_text("return { anew = true }\n")
    assert nvim.lua("return Ide.file.anew") is None
    nvim.lua(
        """
        for name in pairs(package.loaded) do
          if vim.startswith(name, "claude-ide") then package.loaded[name] = nil end
        end
        """
    )
    assert nvim.lua("return Ide.file.anew") is True


def test_what_is_kept_takes_no_memory_of_this_neovim_is_compiled_and_knows_its_lines(start_nvim):
    nvim = start_nvim(reads_ahead=True)
    memory = "collectgarbage() collectgarbage() return collectgarbage('count')"
    nvim.lua("return Ide.native ~= nil")
    before = nvim.lua(memory)
    nvim.lua("Ide.library_update.keep()")
    nvim.modules_are_cached()
    texts = sum(path.stat().st_size for path in (ROOT / "lua").rglob("*.lua")) / 1024
    assert nvim.lua(memory) - before < texts / 2
    source, line, texts = nvim.lua("""
      local compile, texts = loadstring, 0
      loadstring = function(text, ...)
        texts = texts + (vim.startswith(text, "\\27") and 0 or 1)
        return compile(text, ...)
      end
      local about = debug.getinfo(Ide.chat_store.new, "S")
      return { about.source, about.linedefined, texts }
    """)
    path = ROOT / "lua/claude-ide/chat/store.lua"
    assert source == f"@{path}"
    assert path.read_text().splitlines()[line - 1].startswith("function Store.new")
    assert texts == 0, "texts that were compiled when they were needed"


def test_modules_that_cannot_be_read_are_no_update(nvim):
    nvim.keep_notices()
    nvim.lua("""
      package.loaded[Ide("library_update")] = nil
      for module in pairs(package.preload) do
        package.preload[module] = nil
      end
      local open = vim.uv.fs_open
      vim.uv.fs_open = function(path, ...)
        if vim.endswith(path, "/chat/store.lua") then
          return nil, "EMFILE: too many open files", "EMFILE"
        end
        return open(path, ...)
      end
      Ide.library_update.keep()
    """)
    nvim.wait("package.preload[Ide('workspace')] ~= nil", what="the last module to be cached")
    assert nvim.lua("return package.preload[Ide('chat_store')] == nil")
    assert nvim.notices() == []


def test_an_update_before_the_plugin_is_used_is_reported_and_no_trace_is_shown(bare, installed):
    nvim = bare(lua="vim.g.claude_ide = { auto_start = false }")
    nvim.keep_notices()
    nvim.wait("package.loaded[Ide('library_update')] ~= nil", what="Neovim to have started")
    for path in (installed / "lua" / "claude-ide").rglob("*.lua"):
        if not path.as_posix().endswith(("/command/init.lua", "/update.lua")):
            path.write_text(NEW)
    nvim.cmd("Claude accept")
    nvim.wait("#notices > 0", what="the notice")
    assert nvim.notices() == ["claude-ide.nvim was updated on disk: restart Neovim to use it."]


def test_an_update_right_after_a_check_is_reported_too(running, installed):
    nvim = running()
    nvim.cmd("doautocmd User ClaudeConnected")
    replace(installed)
    nvim.cmd("doautocmd FocusGained")
    nvim.wait_notice("restart Neovim")
