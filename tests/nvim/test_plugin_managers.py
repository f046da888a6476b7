"""Real plugin managers: each installs, updates and removes the plugin from a repository, with no cargo and a new home.

`PLUGINS` names a folder with clones of lazy.nvim, mini.deps and vim-plug; without it only what comes with Neovim is tested.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_install_download import LIBRARY, Releases, offer

from harness import left
from harness.nvim import ROOT, binary

pytestmark = [pytest.mark.slow, pytest.mark.dealt]

CLI = ROOT / ".deps" / "node" / "node_modules" / ".bin" / "claude"
PATH_WITHOUT_CARGO = ":".join(path for path in os.environ["PATH"].split(":") if not Path(path, "cargo").exists())

SPEC = {
    "lazy.nvim": """
      vim.opt.runtimepath:prepend(PLUGINS .. "/lazy.nvim")
      require("lazy").setup(
        WANTED and { { url = UPSTREAM, name = "claude-ide.nvim", opts = {} } } or {},
        { rocks = { enabled = false }, change_detection = { enabled = false }, git = { filter = false } }
      )
      function _G.update() require("lazy").update({ show = false }) end
      function _G.remove() require("lazy").clean({ show = false }) end
    """,
    "mini.deps": """
      vim.opt.runtimepath:prepend(PLUGINS .. "/mini.deps")
      require("mini.deps").setup()
      local function build(args)
        dofile(args.path .. "/build.lua")
      end
      if WANTED then
        MiniDeps.add({
          source = UPSTREAM,
          name = "claude-ide.nvim",
          hooks = { post_install = build, post_checkout = build },
        })
      end
      function _G.update() MiniDeps.update(nil, { force = true }) end
      function _G.remove() MiniDeps.clean({ force = true }) end
    """,
    "vim-plug": """
      vim.opt.runtimepath:prepend(PLUGINS .. "/vim-plug")
      vim.cmd.source(PLUGINS .. "/vim-plug/plug.vim")
      vim.fn["plug#begin"]()
      if WANTED then
        vim.fn["plug#"](UPSTREAM, { as = "claude-ide.nvim", ["do"] = "nvim --headless --cmd '" .. SETTINGS .. "' -l build.lua" })
      end
      vim.fn["plug#end"]()
      if WANTED and vim.fn.isdirectory(vim.g.plugs["claude-ide.nvim"].dir) == 0 then
        vim.cmd("PlugInstall --sync")
      end
      function _G.update() vim.cmd("PlugUpdate --sync") end
      function _G.remove() vim.cmd("PlugClean!") end
    """,
    "vim.pack": """
      vim.api.nvim_create_autocmd("PackChanged", {
        callback = function(event)
          if event.data.spec.name == "claude-ide.nvim" and event.data.kind ~= "delete" then
            dofile(event.data.path .. "/build.lua")
          end
        end,
      })
      if WANTED then
        vim.pack.add({ { src = UPSTREAM, name = "claude-ide.nvim" } }, { confirm = false })
      end
      function _G.update() vim.pack.update({ "claude-ide.nvim" }, { force = true }) end
      function _G.remove() vim.pack.del({ "claude-ide.nvim" }) end
    """,
}


def git(folder, *args):
    name = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *name, *args], cwd=folder, check=True, capture_output=True, timeout=60)


class Upstream:
    """The repository of the plugin, and a server that has a release for whatever it holds."""

    def __init__(self, folder, releases, nvim):
        self.folder, self.releases, self._nvim = folder, releases, nvim
        for name in ("doc", "lua", "plugin", "scripts", "crates", "web"):
            shutil.copytree(ROOT / name, folder / name)
        for name in ("Cargo.toml", "Cargo.lock", "build.lua", "Makefile", ".gitignore"):
            shutil.copy(ROOT / name, folder)
        git(folder, "init")
        self._built_from = self._names()[0]
        self.publish()

    def _names(self):
        script = f"local n = dofile('{self.folder}/lua/claude-ide/library/install.lua').names('{self.folder}') io.write(n.key, ' ', n.asset)"
        command = [self._nvim, "--clean", "-l", "-"]
        run = subprocess.run(command, input=script, capture_output=True, text=True, timeout=60, check=True)
        return (run.stdout + run.stderr).split()

    def publish(self):
        """A commit, and its library: ours, which says that it was compiled from these sources."""
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--message", "a version")
        key, self.asset = self._names()
        self.library = LIBRARY.read_bytes().replace(self._built_from.encode(), key.encode())
        own = self.folder.parent / "released.so"
        own.write_bytes(self.library)
        offer(
            self.releases, self.asset, self.library, subprocess.check_output(["sha256sum", own], text=True).split()[0]
        )


@pytest.fixture(params=SPEC)
def manager(request, nvim_version, pytestconfig):
    if request.param == "vim.pack":
        if nvim_version != "0.12":
            pytest.skip("vim.pack comes with Neovim 0.12")
    elif not os.environ.get("PLUGINS"):
        pytest.skip("PLUGINS names no folder with clones of plugin managers")
    return request.param


@pytest.mark.every_nvim
def test_it_installs_updates_beside_the_old_library_and_removes(manager, nvim_version, bare, connect, tmp_path):
    folder = tmp_path / "upstream"
    folder.mkdir()
    releases = Releases()
    upstream = Upstream(folder, releases, binary(nvim_version))
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "nvim").symlink_to(binary(nvim_version))
    env = {"PATH": f"{programs}:{PATH_WITHOUT_CARGO}", "GIT_CONFIG_GLOBAL": "/dev/null"}
    settings = f'lua vim.g.claude_ide_release_url = "{releases.url}"'
    head = (
        f"{settings[4:]}\nlocal PLUGINS, UPSTREAM, SETTINGS = "
        f"{str(os.environ.get('PLUGINS'))!r}, 'file://{folder}', {settings!r}\n"
    )

    def start(wanted="true"):
        nvim = bare(f"{head}local WANTED = {wanted}\n{SPEC[manager]}", env=env)
        nvim.keep_notices()
        return nvim

    def installed():
        for path, _, names in os.walk(tmp_path / "home"):
            if LIBRARY.name in names:
                return Path(path, LIBRARY.name)
        return None

    first = start()
    assert first.lua("return vim.fn.executable('cargo')") == 0
    library = first.wait(installed, what="the library")
    assert library.read_bytes() == upstream.library
    first.kill()

    nvim = start()
    client = connect(nvim)
    assert f"/{upstream.asset}" in releases.asked
    for source in ("lua/claude-ide/base/file.lua", "crates/nvim/src/lib.rs"):
        with (folder / source).open("a") as file:
            file.write("\n")
    upstream.publish()
    before = library.stat().st_ino
    nvim.notify("update()")
    nvim.wait(lambda: library.exists() and library.read_bytes() == upstream.library, what="the new library")
    assert library.stat().st_ino != before
    assert client.request("ping") == {}, "the old library goes on"
    nvim.cmd("doautocmd FocusGained")
    nvim.wait_notice("restart Neovim")
    nvim.kill()

    after = start()
    after.wait("Ide.server.is_running()", what="the new library")
    sources = after.lua("return Ide.native.sources()")
    assert sources in upstream.asset
    after.kill()

    last = start("false")
    last.notify("remove()")
    last.wait(lambda: not installed(), what="the plugin to be gone")
    releases.shutdown()
    releases.server_close()


@pytest.mark.one_nvim
def test_from_a_clone_to_an_accepted_change_in_twenty_seconds(nvim_version, tmp_path):
    """A new home and no cargo: the library is downloaded, and the demo accepts a change of the real CLI and rejects one."""
    folder, home = tmp_path / "clone", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    releases = Releases()
    Upstream(folder, releases, binary(nvim_version))
    shutil.copytree(ROOT / "demo", folder / "demo")
    env = {"PATH": PATH_WITHOUT_CARGO, "HOME": str(home), "TERM": "xterm-256color", "PYTHONPATH": str(ROOT / "tests")}
    settings = f'lua vim.g.claude_ide_release_url = "{releases.url}"'
    began = time.monotonic()
    for command in (
        [binary(nvim_version), "--headless", "--cmd", settings, "-l", "build.lua"],
        [sys.executable, "demo/run.py", "--nvim", binary(nvim_version), "--claude", CLI],
    ):
        run = subprocess.run(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        print(f"{time.monotonic() - began:.1f} s: {run.stdout.splitlines()[-1]}")
    assert "demo: passed" in run.stdout
    assert left(began, 20) > 0, f"it took {time.monotonic() - began:.1f} s"
    releases.shutdown()
    releases.server_close()
