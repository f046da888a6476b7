"""The native library as seen from Lua: no argument makes an error cross the boundary or ends Neovim."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from harness.client import ToolError
from harness.nvim import ROOT

pytestmark = pytest.mark.dealt

LIBRARY = ROOT / "build" / ("claude_ide_native.dylib" if sys.platform == "darwin" else "claude_ide_native.so")

OPEN = """
local path, done = ...
local library = assert(package.loadlib(path, "luaopen_claude_ide_native"))()
"""

ODD_VALUES = """
local closed = vim.uv.new_async(function() end)
closed:close()
local proxy = newproxy(true)
local failing = setmetatable({}, { __tostring = error, __index = error, __len = error, __eq = error, __call = error })
local odd = {
  vim.NIL, true, false, 0, 1, -1, 1.5, 0 / 0, 1 / 0, -1 / 0, 2 ^ 53, 2 ^ 60, "", "x", "{}", "[]", "null", "\\0\\255",
  ("x"):rep(1e6), ("["):rep(1e5), {}, { 1 }, failing, print, coroutine.create(print), io.stdout, proxy, closed,
  vim.uv.new_timer(), vim.uv.new_pipe(), require("ffi").new("int64_t", 7), require("ffi").new("char[4]"),
  vim.empty_dict(), vim.regex("x"), debug.getregistry(),
}
"""


@pytest.mark.slow
def test_answers_odd_arguments_with_nil_and_a_message(nvim):
    """Each function, each position, each kind of value: an error that crossed would end Neovim."""
    answered = nvim.lua(
        OPEN
        + ODD_VALUES
        + """
        local count = 0
        local function try(name, ...)
          local value, err = library[name](...)
          assert(value ~= nil or err == nil or type(err) == "string", name)
          count = count + 1
        end
        for name in pairs(library) do
          try(name)
          for _, value in ipairs(odd) do
            try(name, value)
            try(name, nil, value)
            try(name, value, value)
            try(name, 1, value)
            try(name, "x", value)
            try(name, "{}", value, value)
            try(name, "x", "{}", value)
            try(name, value, value, value, value, value)
          end
          try(name, unpack(odd))
        end
        return count
        """,
        str(LIBRARY),
    )
    assert answered > 2000
    assert nvim.lua("return 1 + 1") == 2


@pytest.mark.slow
def test_the_journal_answers_odd_arguments_with_nil_and_a_message(nvim):
    names = re.findall(r'^    \("(\w+)",', (ROOT / "crates/nvim/src/journal.rs").read_text(), re.MULTILINE)
    answered = nvim.lua(
        OPEN
        + ODD_VALUES
        + """
        local count = 0
        local function try(...)
          local value, err = library.journal(...)
          assert(value ~= nil or err == nil or type(err) == "string", (...))
          count = count + 1
        end
        for _, name in ipairs((select(2, ...))) do
          for _, value in ipairs(odd) do
            try(name, value)
            try(name, 1, value)
            try(name, 1, "all", value)
            try(name, "x", "x", value, value)
            try(name, 1, "x", "x", false, value, value, value, value, value, value)
            try(name, value, value, value, value, value, value, value, value, value, value)
          end
        end
        return count
        """,
        str(LIBRARY),
        [name for name in names if name not in {"keep_in", "folder", "clean", "forget"}],
    )
    assert len(names) > 35 and answered > 5000


def test_says_which_argument_is_wrong(nvim):
    errors = nvim.lua(
        OPEN
        + """
        local function err(name, ...) return (select(2, library[name](...))) end
        return {
          err("respond"), err("respond", 1), err("respond", "1", "{}"), err("respond", 1.5, "{}"), err("respond", 7, "{}"),
          err("fail", 1, "odd", "m"), err("start", "{}", vim.NIL), err("start", vim.NIL), err("notify", "m", "{"),
          err("notify", "m", "{}"), err("stop"), err("status"),
        }
        """,
        str(LIBRARY),
    )
    assert errors == [
        "argument 1 (id): expected id, got nil",
        "argument 2 (json): expected string, got nil",
        "argument 1 (id): expected id, got string",
        "argument 1 (id): expected id, got number",
        "no call 7 waits for an answer",
        'code must be "invalid_params" or "failed", not "odd"',
        "options is no valid JSON for this: missing field `host` at line 1 column 2",
        "argument 1 (options): expected string, got userdata",
        "params is no valid JSON for this: EOF while parsing an object at line 1 column 1",
        "the server does not run",
        "the server does not run",
        "the server does not run",
    ]


def test_exports_what_lua_declares_and_nothing_else(nvim):
    exported = nvim.lua(OPEN + "return vim.tbl_keys(library)", str(LIBRARY))
    declared = re.findall(
        r"^---@field (\w+) fun\(", (ROOT / "lua/claude-ide/library/native.lua").read_text(), re.MULTILINE
    )
    assert sorted(exported) == sorted([*declared, "panic"])


def test_a_panic_is_caught_and_logged(nvim):
    """`panic` exists for this test alone."""
    nvim.lua("assert(Ide.server.start())")
    answers = nvim.lua(
        OPEN + "return vim.tbl_map(function() return (select(2, library.panic())) end, vim.fn.range(50))", str(LIBRARY)
    )
    assert set(answers) == {"this is a bug in claude-ide.nvim: the log file tells more"}
    assert "panicked at crates/nvim/src/lib.rs" in nvim.log()
    assert nvim.screen()[0] == "" or "panicked" not in "".join(nvim.screen())


@pytest.mark.every_nvim
def test_works_deep_in_the_stack_and_when_loaded_in_a_coroutine_that_is_gone(nvim):
    """Plugin managers run builds and configurations in coroutines; their Lua state dies with them."""
    nvim.lua(
        OPEN
        + """
        coroutine.wrap(function() library = package.loadlib(path, "luaopen_claude_ide_native")() end)()
        for _ = 1, 20 do collectgarbage() end
        for _ = 1, 1000 do assert(library.version()); library.poll() end
        local again = package.loadlib(path, "luaopen_claude_ide_native")()
        assert(again.version() == library.version())
        coroutine.wrap(function() for _ = 1, 1000 do library.poll(); library.status(vim.NIL) end end)()
        local function deep(n)
          if n == 0 then return library.respond(vim.NIL) end
          local a, b = deep(n - 1)
          return a, b
        end
        for n = 1, 3000, 250 do
          local value, err = deep(n)
          assert(value == nil and err:find("expected id"), err)
        end
        """,
        str(LIBRARY),
    )


@pytest.mark.every_nvim
def test_takes_events_in_a_coroutine(nvim, connect, tmp_path):
    client, busy = connect(nvim), tmp_path / "busy"
    # The main loop is busy before the call is made, and goes on only when it is here: no other code can take it.
    nvim.notify(
        """
        local native = Ide.native
        local event
        local poll = coroutine.wrap(function() while true do event = native.poll() coroutine.yield() end end)
        vim.fn.writefile({}, ...)
        repeat poll() until event and event.type == "call"
        name = event.name
        native.fail(event.id, "failed", "seen")
        """,
        str(busy),
    )
    nvim.terminal.wait(busy.exists, 20, "the main loop to be busy")
    with pytest.raises(ToolError, match="^seen$"):
        client.call("getOpenEditors")
    assert nvim.lua("return name") == "get_open_editors"


@pytest.mark.slow
@pytest.mark.every_nvim
def test_a_failing_finalizer_of_another_plugin_does_not_end_neovim(nvim):
    """Pushing a value may run the garbage collector, and with it any `__gc`."""
    nvim.lua(
        OPEN
        + """
        local function litter()
          for _ = 1, 100 do
            getmetatable(newproxy(true)).__gc = function() error("a finalizer failed") end
          end
        end
        for _ = 1, 200 do
          pcall(litter)
          for _ = 1, 20 do pcall(library.respond, vim.NIL, ("x"):rep(10000)) end
        end
        pcall(collectgarbage)
        """,
        str(LIBRARY),
    )
    assert nvim.lua("return 1 + 1") == 2


@pytest.mark.every_nvim
def test_survives_that_somebody_closes_every_handle(nvim, connect):
    """A plugin that closes all libuv handles closes ours too: events wait, Neovim lives."""
    client = connect(nvim)
    nvim.lua("Ide.library_wake.handle():close()")
    assert client.request("ping") == {}
    client.start_call("getWorkspaceFolders")
    assert client.request("ping") == {}
    assert nvim.lua("return 1 + 1") == 2


@pytest.fixture
def plugin_copy(tmp_path):
    """A copy of the Lua side, without a library."""
    copy = tmp_path / "it's a copy"
    shutil.copytree(ROOT / "lua", copy / "lua")
    return copy


LOAD_COPY = """
vim.opt.runtimepath:prepend(...)
for name in pairs(package.loaded) do
  if name:find("^claude%-ide") then package.loaded[name] = nil end
end
vim.o.columns = 300
local native = Ide.native
local ok, value, err = pcall(native.status)
return { ok, value == nil, err, select(2, Ide.server.start()), native.problem() }
"""


def load_copy(nvim, copy: Path):
    ok, empty, err, start_err, problem = nvim.lua(LOAD_COPY, str(copy))
    assert ok and empty
    assert start_err == err
    assert problem["detail"] in nvim.log()
    return err, problem["detail"]


@pytest.mark.every_nvim
def test_explains_a_missing_library(nvim, plugin_copy):
    err, detail = load_copy(nvim, plugin_copy)
    assert err == "The library is not installed yet: `:Claude install`."
    assert detail == f"There is no {plugin_copy}/build/claude_ide_native.so."
    put_library(plugin_copy)
    assert nvim.lua(LOADS) is True, "a library that was built meanwhile"


def put_library(copy, content=None):
    library = copy / "build" / LIBRARY.name
    library.parent.mkdir(exist_ok=True)
    library.write_bytes(LIBRARY.read_bytes() if content is None else content)
    return library


LOADS = "local native = Ide.native return native.load() ~= nil and native.problem() == nil"


def of_another_processor(whole):
    binary = bytearray(whole)
    binary[18:20] = (0xB7 if binary[18] != 0xB7 else 0x3E).to_bytes(2, "little")
    return bytes(binary)


BROKEN = {
    "no library": (lambda whole: b"no library" * 100, "cannot be loaded"),
    "of another processor": (of_another_processor, "cannot be loaded"),
    # The system's loader would map what is not there: SIGBUS.
    **{
        f"{share} of it": (lambda whole, share=share: whole[: int(len(whole) * share)], "ends too early")
        for share in (0.01, 0.5, 0.99)
    },
}


@pytest.mark.skipif(sys.platform == "darwin", reason="an ELF header, and the loader of macOS looks itself")
@pytest.mark.parametrize(("damage", "why"), BROKEN.values(), ids=BROKEN.keys())
def test_explains_a_broken_library_and_lives(nvim, plugin_copy, damage, why):
    library = put_library(plugin_copy, damage(LIBRARY.read_bytes()))
    err, detail = load_copy(nvim, plugin_copy)
    assert err.startswith("The library is broken: `:Claude install`")
    assert f"{library} cannot be loaded" in detail if why == "cannot be loaded" else why in detail
    put_library(plugin_copy)
    assert nvim.lua(LOADS) is True


def test_explains_a_library_of_another_version(nvim, plugin_copy):
    put_library(plugin_copy)
    native = plugin_copy / "lua" / "claude-ide" / "library" / "native.lua"
    native.write_text(native.read_text().replace('M.VERSION = "', 'M.VERSION = "9.'))
    err, detail = load_copy(nvim, plugin_copy)
    assert err.startswith("The library is of version ")
    assert err.endswith("`:Claude install`, then restart Neovim.")
    assert "the plugin of 9." in detail


def test_explains_a_library_that_lacks_a_function(nvim):
    err = nvim.lua("vim.o.columns = 300 return (select(2, Ide.native.begin()))")
    mend = "make build-dev" if any((ROOT / "target" / "debug").glob("libclaude_ide_native.*")) else ":Claude install"
    assert err == f"The library does not fit the plugin: `{mend}`, then restart Neovim."
    assert "It has no begin()" in nvim.log()


def test_a_library_that_tells_no_sources_is_an_older_one(nvim, plugin_copy):
    put_library(plugin_copy)
    native = plugin_copy / "lua" / "claude-ide" / "library" / "native.lua"
    older = "local ok, functions = pcall(entry) if ok then functions.sources_beside = nil end"
    native.write_text(native.read_text().replace("local ok, functions = pcall(entry)", older))
    err, detail = load_copy(nvim, plugin_copy)
    assert err == "The library does not fit the plugin: `:Claude install`, then restart Neovim."
    assert "is of older sources than the plugin" in detail
    (plugin_copy / "target" / "debug").mkdir(parents=True)
    (plugin_copy / "target" / "debug" / "libclaude_ide_native.so").write_text("")
    err, _ = load_copy(nvim, plugin_copy)
    assert err == "The library does not fit the plugin: `make build-dev`, then restart Neovim."


@pytest.fixture
def copied_sources(plugin_copy):
    """The sources of the library, beside the copy of Lua."""
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, plugin_copy / name)
    shutil.copytree(ROOT / "crates", plugin_copy / "crates", ignore=shutil.ignore_patterns("target"))
    shutil.copytree(ROOT / "web", plugin_copy / "web")
    return plugin_copy / "crates"


def test_the_library_knows_the_sources_beside_it(nvim, tmp_path):
    known = "local native = Ide.native return native.sources_beside(...) == native.sources()"
    assert nvim.lua(known, str(ROOT))
    assert nvim.lua("return Ide.native.sources_beside(...) == nil", str(tmp_path))


def test_refuses_a_library_of_other_sources_with_the_same_version(nvim, plugin_copy, copied_sources):
    put_library(plugin_copy)
    hint = "return Ide.native.sources_beside(...) == Ide.native.sources()"
    assert nvim.lua(hint, str(plugin_copy))
    source = copied_sources / "nvim" / "src" / "lib.rs"
    source.write_text(source.read_text() + "\n// changed by an update\n")
    err, detail = load_copy(nvim, plugin_copy)
    assert err.startswith("The library does not fit the plugin: `:Claude install`")
    assert "was built from other sources" in detail

    source.write_text((ROOT / "crates" / "nvim" / "src" / "lib.rs").read_text())
    assert nvim.lua("return Ide.native.load() ~= nil")
    (source.parent / "new.rs").touch()
    assert not nvim.lua(hint, str(plugin_copy)), "a new file is seen, too"

    (source.parent / "new.rs").unlink()
    assert nvim.lua(hint, str(plugin_copy))
    (plugin_copy / "web" / "app.js").write_text("// another page\n")
    assert not nvim.lua(hint, str(plugin_copy)), "and a change of the page, which is compiled in"


def test_the_library_and_lua_have_one_version():
    manifest = (ROOT / "Cargo.toml").read_text()
    version = manifest.split('[workspace.package]\nversion = "')[1].split('"')[0]
    assert f'M.VERSION = "{version}"' in (ROOT / "lua" / "claude-ide" / "library" / "native.lua").read_text()
