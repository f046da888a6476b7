"""Fixtures: Claude's sessions on the disk, the plugin in a folder of its own."""

import functools
import shutil

import acp_steps
import chat_steps
import pytest
from session_files import Sessions
from transcript_files import Transcript, conversation

from harness.browser import PROGRAM, Browser
from harness.fake_cli import FakeCli
from harness.mock_api import MockApi
from harness.nvim import ROOT


@pytest.fixture
def project(tmp_path):
    """The folder that Neovim will start in, before it does."""
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def sessions(tmp_path, project):
    """Claude's files in the home of this test's Neovims, whose project is there."""
    sessions = Sessions(tmp_path / "home")
    yield sessions
    sessions.close()


@pytest.fixture
def fake(tmp_path):
    """A stand-in for the CLI in a terminal."""
    return FakeCli(tmp_path)


@pytest.fixture
def in_terminal(fake, sessions, project):
    """A factory: in_terminal(nvim, session) runs it by `:Claude`, at an empty prompt -> a function that sets its state."""

    def begin(nvim, session):
        nvim.keys(":Claude<CR>")
        nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI")
        nvim.wait_screen("fake CLI ready")

        def state(status, of=session):
            sessions.record(fake.starts()[0]["pid"], of, status, cwd=project)
            word = "working" if status == "busy" else status
            seen = "(Ide.terminal.session() or { state = {} }).state.activity"
            nvim.wait(f"{seen} == '{word}'", what=f"the session to be seen {word}")

        fake.show_prompt()
        state("idle")
        return state

    return begin


@pytest.fixture
def script(tmp_path):
    """The transcript of a conversation of this project, which goes on as the test says."""
    return conversation(tmp_path / "home", tmp_path / "project")


@pytest.fixture
def empty(tmp_path):
    """A transcript in which nothing was said yet."""
    return Transcript(tmp_path / "home", tmp_path / "project")


@pytest.fixture(scope="session")
def worker_browser(tmp_path_factory):
    """One headless browser for all tests of a worker."""
    assert PROGRAM.exists(), "scripts/setup.sh chromium"
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture
def browser(worker_browser):
    """It remembers nothing of the test before, and no page stays open that would ask a site that is gone."""
    yield worker_browser
    worker_browser.begin()


@pytest.fixture
def installed(tmp_path):
    """The plugin as a package of that user, as `git clone` and `make build` leave it."""
    package = tmp_path / "home/.local/share/nvim/site/pack/claude/start/claude-ide.nvim"
    for name in ("doc", "lua", "plugin", "scripts"):
        shutil.copytree(ROOT / name, package / name)
    for name in ("Cargo.toml", "build.lua"):
        shutil.copy(ROOT / name, package)
    (package / "build").mkdir()
    shutil.copy(ROOT / "build" / "claude_ide_native.so", package / "build")
    return package


@pytest.fixture
def bare(start_nvim, tmp_path):
    """Starts a Neovim that finds the plugin only by itself: no setup(), optionally some `lua` before."""

    def start(lua="", args=(), **options):
        init = tmp_path / "init.lua"
        init.write_text(f"vim.opt.shortmess:append('I')\n{lua}\n")
        return start_nvim(args=["-u", str(init), *args], opts=None, **options)

    return start


@pytest.fixture
def begin_chat(start_nvim, mock_api, tmp_path):
    """A Neovim with a chat, optionally with a first prompt."""

    return _beginning(chat_steps.start, start_nvim, mock_api, tmp_path)


@pytest.fixture
def model():
    """The scripted model behind a stand-in for the CLI; `mock_api` is the one behind the real CLI, which is expensive."""
    api = MockApi()
    yield api
    api.close()


@pytest.fixture
def begin_chat_with_stand_in(start_nvim, model, tmp_path):
    """As `begin_chat`, with a stand-in for the CLI."""
    return _beginning(chat_steps.start_with_stand_in, start_nvim, model, tmp_path)


@pytest.fixture
def begin_acp(start_nvim, tmp_path):
    """A factory: a Neovim with a chat with the scripted agent of the Agent Client Protocol, which has a session."""
    return functools.partial(acp_steps.begin_idle, start_nvim, tmp_path)


def _beginning(start, *of):
    def begin_chat(words="", **more):
        nvim = start(*of, **more)
        chat_steps.begin(nvim, words)
        return nvim

    return begin_chat
