"""Fixtures: a Neovim of each supported version, and clients of its server.

Every test that uses `nvim` or `start_nvim` runs once a version, with ids like `[0.10]`; `--nvim 0.11` picks some.
What cannot differ between versions (pure Lua, what the server alone does) is marked `one_nvim` and runs on one.
What hardly differs, and most of all what has many cases, is marked `dealt`: each case runs on one version, which a hash of its
name picks. `every_nvim` takes a test out of a module that is marked otherwise.
"""

import gc
import re
import zlib
from types import MappingProxyType

import pytest

from harness.cli import Cli, prepare_home
from harness.client import Client
from harness.mock_api import MockApi
from harness.nvim import VERSIONS, Nvim

NO_OPTIONS = MappingProxyType({})
_CRASHES = {-4, -6, -7, -8, -11, 132, 134, 135, 136, 139}
"""Exit codes of a process that was ended by a fault of its own: SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV."""

_started = pytest.StashKey[list[Nvim]]()
_clis = pytest.StashKey[list[Cli]]()


def pytest_addoption(parser):
    parser.addoption("--nvim", action="append", choices=VERSIONS, help="run only on this Neovim (may be repeated)")
    parser.addoption(
        "--gate",
        action="store_true",
        help="what `make test` runs: one Neovim, nothing slow, no browser, of the real CLI what is marked `smoke`",
    )
    parser.addoption("--soak", type=float, default=0, metavar="MINUTES", help="how long test_random_keys.py goes on")
    parser.addoption("--seed", type=int, help="what it begins with")
    parser.addoption("--update-screens", action="store_true", help="record the screens of tests/nvim/screens anew")


def pytest_generate_tests(metafunc):
    if "nvim_version" in metafunc.fixturenames:
        versions = metafunc.config.getoption("--nvim") or VERSIONS
        marked = metafunc.definition.get_closest_marker
        one = marked("one_nvim") and not marked("every_nvim")
        if one or metafunc.config.getoption("--gate"):
            versions = versions[len(versions) // 2 :][:1]
        metafunc.parametrize("nvim_version", versions)


def pytest_collection_modifyitems(config, items):
    if config.getoption("--gate"):
        left_out = _beyond_the_gate(items)
    elif config.getoption("--nvim"):
        return
    else:
        left_out = _dealt_to_others(items)
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    items[:] = _mixed(items)


def _beyond_the_gate(items):
    """What `make test-all` adds: slow tests, the browser, and of the tests that start the real CLI all but those marked `smoke`."""
    return {
        item
        for item in items
        if not item.get_closest_marker("smoke")
        and (_is_dear(item) or item.get_closest_marker("slow") or "browser" in item.fixturenames)
    }


def _is_dear(item):
    return "mock_api" in item.fixturenames or item.path.parent.name == "e2e"


def _dealt_to_others(items):
    """A case that is dealt runs on the Neovim that a hash of its name picks: a new test moves no other."""
    cases = {}
    for item in items:
        version = getattr(item, "callspec", None) and item.callspec.params.get("nvim_version")
        if version and item.get_closest_marker("dealt") and not item.get_closest_marker("every_nvim"):
            case = re.sub(rf"(^|-){version}(-|$)", "-", item.callspec.id, count=1)
            cases.setdefault((item.path.name, item.originalname, case), []).append(item)
    return {
        run
        for case, runs in cases.items()
        for at, run in enumerate(runs)
        if at != zlib.crc32(repr(case).encode()) % len(runs)
    }


def _mixed(items):
    """The dear ones (a CLI, language servers) among the others: workers begin with as much of both, and none is left with all."""
    kinds = {True: {}, False: {}}
    for item in items:
        of_modules = kinds[_is_dear(item)]
        of_modules.setdefault(item.path, []).append(item)
    placed = []
    for of_modules in kinds.values():
        count, before = sum(map(len, of_modules.values())), 0
        for path, of_module in of_modules.items():
            placed.append(((before + len(of_module) / 2) / count, path, of_module))
            before += len(of_module)
    return [item for _, _, of_module in sorted(placed, key=lambda one: one[:2]) for item in of_module]


def pytest_collection_finish(session):
    gc.freeze()  # thousands of items live to the end: to look at them again and again takes longer than some tests


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        for nvim in item.stash.get(_started, []):
            report.sections.append((f"Neovim {nvim.version}", nvim.report()))
        for cli in item.stash.get(_clis, []):
            report.sections.append(("Claude Code CLI", cli.terminal.framed()))
    if call.when == "teardown":  # pytest keeps every item to the end of the run
        for key in (_started, _clis):
            if key in item.stash:
                del item.stash[key]
    return report


@pytest.fixture
def start_nvim(request, tmp_path, nvim_version):
    """A factory: start_nvim(args, opts, init_lua, env, cwd, files, notices) -> Nvim.

    `opts` goes to setup(), with auto_start off unless it says otherwise; None leaves setup() out. Several Neovims share
    the home (as on a user's machine) and, unless `cwd` says otherwise, the project.
    """
    started = request.node.stash.setdefault(_started, [])

    def start(args=(), opts=NO_OPTIONS, **more) -> Nvim:
        nvim = Nvim(tmp_path, nvim_version, args=args, opts=opts, **more)
        started.append(nvim)
        return nvim

    yield start
    codes = []
    for nvim in started:
        try:
            codes.append(nvim.quit() if nvim.running() else nvim.terminal.exit_code())
        finally:
            nvim.kill()
    assert not _CRASHES.intersection(codes), f"a Neovim crashed: exit codes {codes}"


@pytest.fixture
def nvim(request, nvim_version):
    """A Neovim in an empty project, the plugin on its runtime path, the server not started.

    Where the test is marked `shared`, others of its kind used it before: it fails if it leaves a trace.
    """
    if not request.node.get_closest_marker("shared"):
        yield request.getfixturevalue("start_nvim")()
        return
    nvim = request.getfixturevalue("_shared_nvim")(nvim_version)
    request.node.stash[_started] = [nvim]
    before = nvim.lua(_TRACES)
    yield nvim
    assert nvim.running(), f"Neovim ended: exit code {nvim.terminal.exit_code()}"
    assert nvim.lua(_TRACES) == before, "a test that shares its Neovim left a trace in it"


@pytest.fixture(scope="session")
def _shared_nvim(tmp_path_factory):
    """One Neovim of each version for all tests of a worker that leave no trace."""
    shared = {}

    def get(version):
        if version not in shared or not shared[version].running():
            shared[version] = Nvim(tmp_path_factory.mktemp("shared"), version, opts=NO_OPTIONS)
        return shared[version]

    yield get
    for nvim in shared.values():
        nvim.quit()


_TRACES = """
local names, maps = {}, {}
for name in pairs(_G) do names[#names + 1] = tostring(name) end
for _, map in ipairs(vim.api.nvim_get_keymap("")) do maps[#maps + 1] = map.lhs end
table.sort(names)
table.sort(maps)
return {
  names, maps, vim.api.nvim_list_bufs(), vim.api.nvim_list_wins(), vim.api.nvim_list_tabpages(),
  vim.api.nvim_buf_get_lines(0, 0, -1, false), vim.api.nvim_get_mode().mode, vim.fn.getcwd(),
  vim.api.nvim_exec2("set!", { output = true }).output, require("claude-ide.config").get(),
}
"""
"""What one test could leave for the next."""


@pytest.fixture
def connect():
    """A factory: connect(nvim, **overrides of initialize) -> a ready Client.

    Starts the server where it does not run. `roots` are the client's folders (the project); `initialize=False` leaves
    the handshake of MCP out; `wait_ready=False` does not wait until Neovim knows of the client.
    """
    clients = []

    def connect(nvim, *, roots=None, initialize=True, wait_ready=True, **overrides) -> Client:
        nvim.lua(_START)
        lock = nvim.wait(
            lambda: next((lock for lock in nvim.locks() if lock["pid"] == nvim.server_pid), None), what="a lock file"
        )
        client = Client(lock["port"], lock["authToken"], roots=[nvim.project] if roots is None else roots)
        clients.append(client)
        if initialize:
            known = nvim.lua(_READY)
            client.initialize(**overrides)
            if wait_ready:
                nvim.wait(lambda: set(nvim.lua(_READY)) - set(known), what="Neovim to know of the client")
                if roots is None and "capabilities" not in overrides:  # Neovim does not wait long for them
                    nvim.wait(_HAS_ROOTS, what="Neovim to know of the client's folders")
        return client

    yield connect
    for client in clients:
        client.close()


@pytest.fixture
def connect_agent():
    """A factory: connect_agent(nvim, **overrides of initialize) -> a ready Client of the endpoint of agents.

    Starts the server where it does not run.
    """
    clients = []

    def connect(nvim, *, token=None, roots=(), **overrides) -> Client:
        nvim.lua(_START)
        port = nvim.lua('return require("claude-ide.server").info().port')
        token = token or nvim.lua('return require("claude-ide.server").agent_access().token')
        client = Client(port, None, roots=list(roots), path="/nvim", headers={"Authorization": f"Bearer {token}"})
        clients.append(client)
        client.initialize(**overrides)
        nvim.wait("#require('claude-ide.server').agents() > 0", what="Neovim to know of the agent")
        return client

    yield connect
    for client in clients:
        client.close()


@pytest.fixture
def mock_api():
    """The stand-in for the Messages API."""
    api = MockApi()
    yield api
    api.close()


@pytest.fixture
def cli(request, mock_api):
    """A factory: cli(nvim, cwd, mode, args, env) -> a real CLI, ready for a prompt, in the home of that Neovim.

    `wait_connected=False` does not wait until Neovim knows of it.
    """
    started = request.node.stash.setdefault(_clis, [])

    def start(nvim, *, cwd=None, wait_connected=True, **options) -> Cli:
        cwd = cwd or nvim.project
        prepare_home(nvim.home, cwd)
        known = nvim.lua(_READY) if wait_connected else []
        cli = Cli(nvim.home, cwd, mock_api, **options)
        started.append(cli)
        cli.wait_ready()
        if wait_connected:
            nvim.wait(lambda: set(nvim.lua(_READY)) - set(known), what="the CLI to connect")
        return cli

    yield start
    for cli in started:
        cli.kill()


_START = """
local server, options = require("claude-ide.server"), require("claude-ide.config").get().server
if server.is_running() then return end
-- A machine may be busy: unless the test is about that limit, it is far away.
options.handshake_timeout_ms = options.handshake_timeout_ms == 5000 and 120000 or options.handshake_timeout_ms
server.start()
"""
_HAS_ROOTS = """
local clients = require("claude-ide.server").clients()
return #((clients[#clients] or {}).roots or {}) > 0
"""
_READY = """
local ids = {}
for _, client in ipairs(require("claude-ide.server").clients()) do
  if client.state == "ready" then ids[#ids + 1] = client.id end
end
return ids
"""
"""The ids of the clients that are ready; one may go while another comes, so they are not counted."""
