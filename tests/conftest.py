"""Fixtures: a Neovim of each supported version, and clients of its server.

A test that uses `nvim` or `start_nvim` runs once per version, with ids like `[0.10]`; `--nvim 0.11` selects versions.
`one_nvim` marks tests whose result cannot differ (pure Lua, the server alone); they run on one version. `dealt` marks
modules with many cases that hardly differ: each case runs on one version, picked by a hash of its name. `every_nvim`
exempts a test from its module's mark.
"""

import functools
import gc
import os
import re
import subprocess
import tempfile
import zlib
from types import MappingProxyType

import pytest

from harness.cli import Cli, prepare_home
from harness.client import Client
from harness.mock_api import MockApi
from harness.nvim import NAMES, ROOT, VERSIONS, Nvim, binary, compile_modules

os.environ["GIT_CONFIG_GLOBAL"] = os.devnull  # a fresh machine has no name for commits

NO_OPTIONS = MappingProxyType({})
_CRASHES = {-4, -6, -7, -8, -11, 132, 134, 135, 136, 139}
"""Exit codes of a crashed process: SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV."""

_SOCKET_PATH = 103
"""Of AF_UNIX on macOS, the shortest."""
_BELOW_TMPDIR = len("/nvim-12345678/rpc")

_started = pytest.StashKey[list[Nvim]]()
_clis = pytest.StashKey[list[Cli]]()


def pytest_addoption(parser):
    parser.addoption("--nvim", action="append", choices=VERSIONS, help="run only on this Neovim (may be repeated)")
    parser.addoption(
        "--gate",
        action="store_true",
        help="what `make test` runs: one Neovim, one case of each test, nothing slow, no browser, the real CLI where `smoke`",
    )
    parser.addoption(
        "--soak", type=float, default=0, metavar="MINUTES", help="how long test_soak.py and test_random_keys.py go on"
    )
    parser.addoption("--kills", type=int, default=0, help="how many random moments test_faults.py kills at")
    parser.addoption("--edits", type=int, default=8, help="how many edits of random stories of a user and Claude")
    parser.addoption("--asks", type=int, default=12, help="how many random requests test_decide_real_cli.py answers")
    parser.addoption("--seed", type=int, help="what it begins with")
    parser.addoption("--update-screens", action="store_true", help="record the screens of tests/nvim/screens anew")


def _versions(config):
    versions = config.getoption("--nvim") or VERSIONS
    return _middle(versions) if config.getoption("--gate") else versions


def _middle(versions):
    return versions[len(versions) // 2 :][:1]


def pytest_sessionstart(session):
    """Ends the run at once if the library cannot be loaded, for instance after a change of its sources."""
    if hasattr(session.config, "workerinput"):
        return
    longest = len(os.fsencode(tempfile.gettempdir())) + _BELOW_TMPDIR
    if longest > _SOCKET_PATH:
        pytest.exit(f"TMPDIR is too long for the path of a socket: {tempfile.gettempdir()}", returncode=2)
    version = _middle(_versions(session.config))[0]  # that of `one_nvim`: a test that runs on it needs no other
    _set_up(f"nvim-{version}")
    nvim = binary(version)
    ask = "lua io.stdout:write(select(2, Ide.native.load()) or '')"
    command = [nvim, "--clean", "--headless", *NAMES, "--cmd", f"set rtp+={ROOT}", "--cmd", ask, "--cmd", "qall"]
    if problem := subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout:
        pytest.exit(problem, returncode=2)


def pytest_generate_tests(metafunc):
    if "nvim_version" in metafunc.fixturenames:
        versions = _versions(metafunc.config)
        marked = metafunc.definition.get_closest_marker
        if marked("one_nvim") and not marked("every_nvim"):
            versions = _middle(versions)
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
    """Tests that only `make test-all` runs: slow ones, the browser, those with the real CLI except `smoke`, and of each test all cases
    but one, which a hash of its name picks."""
    beyond, cases = set(), {}
    for item in items:
        if item.get_closest_marker("smoke"):
            continue
        elif _is_dear(item) or item.get_closest_marker("slow") or "browser" in item.fixturenames:
            beyond.add(item)
        else:
            cases.setdefault((item.path.name, getattr(item, "originalname", item.name)), []).append(item)
    return beyond.union(*(_all_but_one(name, runs) for name, runs in cases.items()))


def _all_but_one(name, runs):
    """A hash of the name picks it, so that a new test moves no other."""
    return runs[: (at := zlib.crc32(repr(name).encode()) % len(runs))] + runs[at + 1 :]


def _is_dear(item):
    return "mock_api" in item.fixturenames or item.path.parent.name == "e2e"


def _dealt_to_others(items):
    """Each dealt case runs on one Neovim."""
    cases = {}
    for item in items:
        version = getattr(item, "callspec", None) and item.callspec.params.get("nvim_version")
        if version and item.get_closest_marker("dealt") and not item.get_closest_marker("every_nvim"):
            case = re.sub(rf"(^|-){version}(-|$)", "-", item.callspec.id, count=1)
            cases.setdefault((item.path.name, item.originalname, case), []).append(item)
    return {run for case, runs in cases.items() for run in _all_but_one(case, runs)}


def _mixed(items):
    """Spreads the expensive tests (a CLI, language servers) among the others, so that workers get equal shares."""
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


def _set_up(*parts):
    """For what is there this takes no time."""
    subprocess.run([ROOT / "scripts" / "setup.sh", *parts], stdout=subprocess.DEVNULL, check=True)


def _parts(item):
    """The parts of `scripts/setup.sh` that a test needs."""
    version = getattr(item, "callspec", None) and item.callspec.params.get("nvim_version")
    if version:
        yield f"nvim-{version}"
    if _is_dear(item):
        yield from ("cli", "node")
    if "browser" in item.fixturenames:
        yield "chromium"
    if item.path.name in {"test_acp_others.py", "test_companions.py", "test_sdk_chat.py"}:
        yield "agent"
    if item.path.name in {"test_agent_http.py", "test_web.py"}:
        yield "node"
    if item.path.name == "test_release.py":
        yield "nvim-0.12"
    if item.path.name == "test_plugin_managers.py":
        yield "cli"


def pytest_collection_finish(session):
    if session.items and not session.config.option.collectonly:
        _set_up(*sorted({part for item in session.items for part in _parts(item)}))
    gc.freeze()  # thousands of items live to the end; collecting them repeatedly takes longer than some tests


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


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """A factory: compiled(version) -> the folder of the modules as that Neovim compiles them, once for all of a worker's tests."""
    return functools.cache(lambda version: compile_modules(version, tmp_path_factory.mktemp("compiled")))


@pytest.fixture
def start_nvim(request, tmp_path, nvim_version, compiled):
    """A factory: start_nvim(args, opts, init_lua, env, cwd, files, notices, reads_ahead) -> Nvim.

    `opts` goes to setup(), with auto_start off by default; None skips setup(). Several Neovims share the home (as on a
    user's machine) and, by default, the project. Modules are read from their files, and ahead, as for a user, without setup(),
    beside the real CLI, or with `reads_ahead`; else they are compiled already.
    """
    started = request.node.stash.setdefault(_started, [])
    is_real = bool(request.node.get_closest_marker("cli"))

    def start(args=(), opts=NO_OPTIONS, reads_ahead=is_real, **more) -> Nvim:
        modules = None if reads_ahead else compiled(nvim_version)
        nvim = Nvim(tmp_path, nvim_version, args=args, opts=opts, compiled=modules, **more)
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
    """A Neovim in an empty project, with the plugin on its runtime path and the server not started.

    A test marked `shared` gets a Neovim that others used before, and fails if it leaves a trace.
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
def _shared_nvim(tmp_path_factory, compiled):
    """One Neovim of each version for all of a worker's tests that leave no trace."""
    shared = {}

    def get(version):
        if version not in shared or not shared[version].running():
            shared[version] = Nvim(
                tmp_path_factory.mktemp("shared"), version, opts=NO_OPTIONS, compiled=compiled(version)
            )
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
  vim.api.nvim_exec2("set!", { output = true }).output, Ide.config.get(),
}
"""
"""Traces that one test could leave for the next."""


@pytest.fixture
def connect():
    """A factory: connect(nvim, **overrides of initialize) -> a ready Client.

    Starts the server if needed. `roots` are the client's folders (default: the project); `initialize=False` skips the
    MCP handshake; `wait_ready=False` does not wait until Neovim knows the client.
    """
    clients = []

    def connect(nvim, *, roots=None, initialize=True, wait_ready=True, **overrides) -> Client:
        nvim.lua(_START)
        lock = nvim.wait(
            lambda: next((lock for lock in nvim.locks() if lock.get("pid", nvim.server_pid) == nvim.server_pid), None),
            what="a lock file",
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
    """A factory: connect_agent(nvim, **overrides of initialize) -> a ready Client of the agents' endpoint.

    Starts the server if needed.
    """
    clients = []

    def connect(nvim, *, token=None, roots=(), **overrides) -> Client:
        nvim.lua(_START)
        port = nvim.lua("return Ide.server.info().port")
        token = token or nvim.lua("return Ide.server.agent_access().token")
        client = Client(port, None, roots=list(roots), path="/nvim", headers={"Authorization": f"Bearer {token}"})
        clients.append(client)
        client.initialize(**overrides)
        nvim.wait("#Ide.server.agents() > 0", what="Neovim to know of the agent")
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
    """A factory: cli(nvim, cwd, mode, args, env, within) -> a real CLI in that Neovim's home, ready for a prompt.

    `wait_connected=False` does not wait until Neovim knows it.
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
local server, options = Ide.server, Ide.config.get().server
if server.is_running() then return end
-- A machine may be busy: unless the test is about that limit, it is far away.
options.handshake_timeout_ms = options.handshake_timeout_ms == 5000 and 120000 or options.handshake_timeout_ms
server.start()
"""
_HAS_ROOTS = """
local clients = Ide.server.clients()
return #((clients[#clients] or {}).roots or {}) > 0
"""
_READY = """
local ids = {}
for _, client in ipairs(Ide.server.clients()) do
  if client.state == "ready" and client.pid then ids[#ids + 1] = client.id end
end
return ids
"""
"""The ids of the ready clients that told their process, not their number: one may go while another comes."""
