"""The library from a release: accepted, refused with which message, and the files left in the folder."""

import hashlib
import http.server
import os
import re
import shutil
import signal
import ssl
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import LONGEST, left
from harness.nvim import ROOT, binary

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

LIBRARY = ROOT / "build" / "claude_ide_native.so"
FAILING_CARGO = "#!/bin/sh\n[ $1 = --version ] && echo cargo 1.99.0 && exit\necho 'cargo was asked' >&2\nexit 101\n"


class Releases(http.server.ThreadingHTTPServer):
    """A release server: `files` by path, each bytes, a status, or a function of the request."""

    daemon_threads = True

    def __init__(self):
        self.files, self.asked = {}, []
        super().__init__(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        found = self.server.files.get(self.path.removeprefix("http://mirror.invalid"), 404)
        if callable(found):
            return found(self)
        self.send_response(200 if isinstance(found, bytes) else found)
        body = found if isinstance(found, bytes) else b"<html>An error page</html>"
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, *_args):
        pass


@pytest.fixture
def nvim_binary(nvim_version):
    return binary(nvim_version)


@pytest.fixture
def releases():
    server = Releases()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def package(installed):
    """The plugin as cloned: with its sources, without a library."""
    (installed / "build" / LIBRARY.name).unlink()
    shutil.copy(ROOT / "Cargo.lock", installed)
    shutil.copytree(ROOT / "web", installed / "web")
    for crate in (ROOT / "crates").iterdir():
        shutil.copytree(crate, installed / "crates" / crate.name)
    return installed


@pytest.fixture
def asset(nvim_binary, package, tmp_path):
    """The release's name for the library of these sources."""
    script = tmp_path / "asset.lua"
    script.write_text(
        f"local install = dofile('{package}/lua/claude-ide/library/install.lua')\nio.write(install.names('{package}').asset)"
    )
    run = subprocess.run([nvim_binary, "--clean", "-l", script], capture_output=True, text=True, timeout=60, check=True)
    return run.stdout + run.stderr


def offer(releases, asset, body=None, listed=None):
    listed = listed or hashlib.sha256(LIBRARY.read_bytes()).hexdigest()
    releases.files["/SHA256SUMS"] = f"{listed}  {asset}\n".encode()
    releases.files[f"/{asset}"] = LIBRARY.read_bytes() if body is None else body


@pytest.fixture
def failing_cargo(tmp_path):
    """A folder of programs with a cargo that fails."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "cargo").write_text(FAILING_CARGO)
    (folder / "cargo").chmod(0o755)
    return folder


@pytest.fixture
def install(nvim_binary, package, failing_cargo, tmp_path):
    """Runs `build.lua` like any plugin manager. `programs`: everything on PATH besides cargo."""

    def start(url, programs=None, before="", env=None, shell=""):
        path = f"{failing_cargo}:{os.environ['PATH']}"
        if programs is not None:
            for name in (*programs, "sh", "sed", "dirname", "sort", "tail", "printf", "head", "uname", "mkdir"):
                found = shutil.which(name)
                if found and not (failing_cargo / name).exists():
                    (failing_cargo / name).symlink_to(found)
            path = str(failing_cargo)
        script = tmp_path / "install.lua"
        script.write_text(f"vim.g.claude_ide_release_url = '{url}'\n{before}\ndofile('{package}/build.lua')\n")
        environment = {"PATH": path, "HOME": str(tmp_path / "home"), **(env or {})}
        command = [str(nvim_binary), "--clean", "-l", str(script)]
        if shell:
            command = [shutil.which("bash"), "-c", f'{shell}; exec "$@"', "bash", *command]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(*args, **kwargs):
        process = start(*args, **kwargs)
        said, _ = process.communicate(timeout=60)
        return process.returncode, said

    run.start = start
    return run


def in_folder(package):
    return sorted(path.name for path in (package / "build").iterdir())


@pytest.mark.every_nvim
def test_the_library_of_these_sources_is_downloaded_once(install, package, releases, asset):
    offer(releases, asset)
    code, said = install(releases.url)
    assert code == 0, said
    assert "the library is downloaded" in said
    assert in_folder(package) == [LIBRARY.name]
    assert (package / "build" / LIBRARY.name).read_bytes() == LIBRARY.read_bytes()
    releases.asked.clear()
    assert "the library is there already" in install(releases.url)[1]
    assert releases.asked == []


def test_what_is_downloaded_works_at_once(install, package, releases, asset, bare):
    offer(releases, asset)
    assert install(releases.url)[0] == 0
    nvim = bare()
    nvim.wait(lambda: next(iter(nvim.locks()), None), what="the server")


def redirected(request):
    request.send_response(302)
    request.send_header("Location", request.path.replace("/", "/moved-", 1))
    request.end_headers()


def cut(request):
    request.send_response(200)
    request.send_header("Content-Length", str(LIBRARY.stat().st_size))
    request.end_headers()
    request.wfile.write(LIBRARY.read_bytes()[:100_000])


FAULTS = {
    "there is no such release": (lambda server, name: server.files.clear(), "SHA256SUMS: curl"),
    "forbidden": (lambda server, name: server.files.update({"/SHA256SUMS": 403}), "403"),
    "a page instead of the sums": (lambda server, name: server.files.update({"/SHA256SUMS": b"<html>"}), "login page"),
    "other sources": (lambda server, name: offer(server, "claude_ide_native-0-x.so"), "nothing for these sources"),
    "the file is missing": (lambda server, name: server.files.pop(f"/{name}"), "404"),
    "a page as the file": (lambda server, name: offer(server, name, b"<html>Not found</html>"), "its checksum is"),
    "one byte is another": (lambda server, name: offer(server, name, LIBRARY.read_bytes() + b"!"), "its checksum is"),
    "it ends too early": (lambda server, name: server.files.update({f"/{name}": cut}), "curl"),
    "no library, with its right checksum": (
        lambda server, name: offer(server, name, b"\x7fELF", hashlib.sha256(b"\x7fELF").hexdigest()),
        "it cannot be loaded",
    ),
}


def test_what_is_wrong_is_said_and_cargo_is_next(install, package, releases, asset):
    for fault, (spoil, words) in FAULTS.items():
        releases.files.clear()
        offer(releases, asset)
        spoil(releases, asset)
        code, said = install(releases.url)
        assert code != 0, fault
        assert words in said and "cargo was asked" in said, (fault, said)
        assert in_folder(package) == [], fault


def test_redirects_and_a_proxy_are_followed(install, package, releases, asset):
    offer(releases, asset)
    for path in list(releases.files):
        releases.files[path.replace("/", "/moved-", 1)] = releases.files[path]
        releases.files[path] = redirected
    assert install(releases.url)[0] == 0
    (package / "build" / LIBRARY.name).unlink()
    offer(releases, asset)
    code, said = install("http://mirror.invalid", env={"http_proxy": releases.url})
    assert code == 0, said


@pytest.mark.parametrize(
    ("programs", "words"),
    [(["wget", "sha256sum"], None), (["sha256sum"], "neither curl nor wget"), (["curl"], "checksum")],
)
@pytest.mark.every_nvim
def test_programs_that_are_missing(install, package, releases, asset, programs, words):
    if programs[0] == "wget" and not shutil.which("wget"):
        pytest.skip("no wget here")
    offer(releases, asset)
    code, said = install(releases.url, programs=programs)
    assert (code == 0) == (words is None), said
    assert (words or "downloaded") in said
    assert words is None or "cargo was asked" in said


def test_what_programs_say_on_stderr_is_no_answer(install, package, releases, asset):
    offer(releases, asset)
    code, said = install(releases.url, env={"LD_PRELOAD": "/gone/wrapper.so"})
    assert code == 0, said
    assert in_folder(package) == [LIBRARY.name]
    assert "the library is there already" in install(releases.url, env={"LD_PRELOAD": "/gone/wrapper.so"})[1]


def test_wget_says_why_it_failed_and_follows_redirects(install, package, releases, asset):
    if not shutil.which("wget"):
        pytest.skip("no wget here")
    offer(releases, asset)
    releases.files["/SHA256SUMS"] = 403
    assert "SHA256SUMS: wget: ERROR 403: Forbidden" in install(releases.url, programs=["wget", "sha256sum"])[1]
    offer(releases, asset)
    for path in list(releases.files):
        releases.files[path.replace("/", "/moved-", 1)] = releases.files[path]
        releases.files[path] = redirected
    code, said = install(releases.url, programs=["wget", "sha256sum"])
    assert code == 0, said


@pytest.mark.parametrize("program", ["curl", "wget"])
def test_no_redirect_leads_away_from_https(install, package, releases, asset, tmp_path, program):
    if not shutil.which(program) or not shutil.which("openssl"):
        pytest.skip(f"no {program} or openssl here")
    offer(releases, asset)
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    secure = Releases()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    secure.socket = context.wrap_socket(secure.socket, server_side=True)

    def elsewhere(request):
        request.send_response(302)
        request.send_header("Location", releases.url + request.path)
        request.end_headers()

    secure.files["/SHA256SUMS"] = elsewhere
    trusting = {"curl": "--insecure", "wget": "--no-check-certificate"}[program]
    before = f"vim.g.claude_ide_download_args = {{ '{trusting}' }}"
    url = secure.url.replace("http:", "https:")
    code, said = install(url, programs=[program, "sha256sum"], before=before)
    secure.shutdown()
    secure.server_close()
    assert code != 0 and "cargo was asked" in said
    assert ("not followed" if program == "wget" else "not supported or disabled") in said.replace(
        "disabled in", "disabled"
    ), said
    assert secure.asked == ["/SHA256SUMS"] and releases.asked == []


def stalled(request):
    request.send_response(200)
    request.send_header("Content-Length", "100000000")
    request.end_headers()
    request.wfile.write(bytes(5_000_000))
    request.wfile.flush()
    request.server.stalling.wait(LONGEST)


@pytest.fixture
def silent(releases, asset):
    """A server that falls silent while it sends the library."""
    releases.stalling = threading.Event()
    offer(releases, asset)
    releases.files[f"/{asset}"] = stalled
    yield releases
    releases.stalling.set()


@pytest.mark.parametrize("program", ["curl", "wget"])
def test_a_server_that_falls_silent_is_given_up(install, package, silent, failing_cargo, program):
    real = shutil.which(program)
    if not real:
        pytest.skip(f"no {program} here")
    # The program as it is called, but for the patience.
    patient = 'for word; do shift; set -- "$@" "$(echo "$word" | sed "s/^30$/1/; s/=30$/=1/; s/^2$/0/; s/^--tries=2$/--tries=1/")"; done'
    (failing_cargo / program).write_text(
        f'#!/bin/sh\n{patient}\nexec {real} --no-hsts "$@"\n'.replace(" --no-hsts" if program == "curl" else "\0", "")
    )
    (failing_cargo / program).chmod(0o755)
    code, said = install(silent.url, programs=["sha256sum"])
    assert code != 0
    assert f"{program}: " in said and "cargo was asked" in said


def test_ctrl_c_ends_an_installation(bare, package, silent):
    nvim = bare(f"vim.g.claude_ide_release_url = '{silent.url}'; vim.g.claude_ide = {{ auto_start = false }}")
    nvim.keys(f":lua dofile('{package}/build.lua')<CR>")
    nvim.wait_screen(", 5.0 MB so far")
    nvim.keys("<C-c>")
    nvim.wait_screen("stopped by CTRL-C")
    assert in_folder(package) == []
    nvim.keys("<CR>")
    nvim.wait("vim.fn.mode() == 'n'")


def test_without_a_release_and_cargo_one_sentence_says_what_helps(install, package, releases, asset, failing_cargo):
    offer(releases, "claude_ide_native-0-x.so")
    (failing_cargo / "cargo").unlink()
    code, said = install(releases.url, programs=["curl", "sha256sum"])
    assert code != 0
    what_helps = next(line for line in said.splitlines() if 'version = "*"' in line)
    assert "There is no release for these sources" in what_helps and "https://rustup.rs" in what_helps


def test_the_environment_names_the_mirror_for_make_install(
    package, releases, asset, nvim_binary, failing_cargo, tmp_path
):
    offer(releases, asset)
    path = f"{failing_cargo}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "CLAUDE_IDE_RELEASE_URL": "false"}

    def run():
        command = [str(nvim_binary), "--headless", "-l", str(package / "build.lua")]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    code, said = run()
    assert code == 1 and "cargo was asked" in said and "traceback" not in said, said
    environment["CLAUDE_IDE_RELEASE_URL"] = releases.url
    code, said = run()
    assert code == 0 and said.endswith("claude-ide.nvim: the library is downloaded\n"), said


def test_no_network_and_no_wish_for_one(install, package):
    code, said = install("http://127.0.0.1:1")
    assert code != 0
    assert "SHA256SUMS: curl" in said
    code, said = install("", before="vim.g.claude_ide_release_url = false")
    assert "`vim.g.claude_ide_release_url` or $CLAUDE_IDE_RELEASE_URL is false" in said
    assert "cargo was asked" in said


def test_the_libc_of_this_neovim_is_tried_first_and_the_other_one_next(install, package, releases, asset, tmp_path):
    other = asset.replace("-gnu.so", "-musl.so")
    fits, no_library = LIBRARY.read_bytes(), b"\x7fELF"

    def mapped(name):
        """Neovim's own maps name what is mapped, as the loader is that it was linked with."""
        loader = tmp_path / name
        loader.parent.mkdir(exist_ok=True)
        loader.write_bytes(bytes(4096))
        return f"""
          local ffi = require("ffi")
          ffi.cdef("void *mmap(void *, size_t, int, int, int, long);")
          ffi.C.mmap(nil, 4096, 1, 2, assert(vim.uv.fs_open("{loader}", "r", 0)), 0)
        """

    musl, android = mapped("lib/ld-musl-x86_64.so.1"), mapped("bin/linker64")

    def downloads(before, bodies):
        (package / "build" / LIBRARY.name).unlink(missing_ok=True)
        sums = "".join(f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in bodies.items())
        releases.files = {"/SHA256SUMS": sums.encode()} | {f"/{name}": body for name, body in bodies.items()}
        releases.asked.clear()
        code, said = install(releases.url, before=before)
        return code, [path.removeprefix("/") for path in releases.asked if path != "/SHA256SUMS"], said

    assert downloads("", {asset: fits, other: fits})[:2] == (0, [asset])
    assert downloads(musl, {asset: fits, other: fits})[:2] == (0, [other])
    assert downloads(musl, {asset: fits, other: no_library})[:2] == (0, [other, asset])
    code, asked, said = downloads(musl, {asset: no_library, other: no_library})
    assert (code != 0, asked) == (True, [other, asset])
    assert said.count("it cannot be loaded") == 2 and "cargo was asked" in said
    code, asked, said = downloads(android, {asset: fits, other: fits})
    assert (code != 0, asked) == (True, [])
    assert "nothing is released for this machine" in said and "cargo was asked" in said


def test_a_neovim_of_nix_downloads_nothing(install, package, releases, asset):
    offer(releases, asset)
    before = """
      local real = vim.uv.fs_realpath
      vim.uv.fs_realpath = function(path, ...)
        return path == vim.v.progpath and "/nix/store/0a1b-neovim-0.12/bin/nvim" or real(path, ...)
      end
    """
    code, said = install(releases.url, before=before)
    assert code != 0
    assert "Nix keeps libraries in other places" in said and "cargo was asked" in said
    assert releases.asked == []
    # A library that is there needs no download.
    shutil.copy(LIBRARY, package / "build" / asset)
    assert install(releases.url, before=before)[0] == 0
    assert releases.asked == []


def test_a_library_dropped_in_by_hand_is_taken_if_it_fits(install, package, asset):
    dropped = package / "build" / asset
    shutil.copy(LIBRARY, dropped)
    code, said = install("http://127.0.0.1:1")
    assert code == 0, said
    assert in_folder(package) == [LIBRARY.name]
    dropped.write_bytes(b"\x7fELF another")
    (package / "build" / LIBRARY.name).unlink()
    assert install("http://127.0.0.1:1")[0] != 0


def test_after_an_update_the_old_library_stays_until_the_new_one_is_there(install, package, releases, asset):
    offer(releases, asset)
    assert install(releases.url)[0] == 0
    before = (package / "build" / LIBRARY.name).stat().st_ino
    with open(package / "crates" / "nvim" / "src" / "lib.rs", "a") as source:
        source.write("// Another version.\n")
    code, said = install(releases.url)
    assert code != 0
    assert "nothing for these sources" in said
    assert (package / "build" / LIBRARY.name).stat().st_ino == before


def test_a_folder_that_cannot_be_written_to_and_a_full_disk(install, package, releases, asset):
    offer(releases, asset)
    code, said = install(releases.url, shell="ulimit -f 1000")
    assert code != 0
    assert in_folder(package) == []
    (package / "build").rmdir()
    (package / "build").write_text("a file")
    code, said = install(releases.url)
    assert code != 0
    assert "cannot be written to" in said


def test_one_that_is_killed_half_way_and_two_at_once(install, package, releases, asset, request):
    offer(releases, asset)
    released = threading.Event()

    def half(asked):
        asked.send_response(200)
        asked.end_headers()
        asked.wfile.write(LIBRARY.read_bytes()[:1_000_000])
        released.wait()  # what downloads outlives who began it, and shall write nothing more

    releases.files[f"/{asset}"] = half
    request.addfinalizer(released.set)
    first = install.start(releases.url)
    began = time.monotonic()
    while f"/{asset}" not in releases.asked or not in_folder(package):
        assert left(began, 20) > 0
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=LONGEST)
    assert LIBRARY.name not in in_folder(package)
    offer(releases, asset)
    with ThreadPoolExecutor() as pool:
        assert [code for code, _ in pool.map(lambda _: install(releases.url), range(2))] == [0, 0]
    old = time.time() - 2 * 3600
    for path in (package / "build").iterdir():
        os.utime(path, (old, old))
    assert install(releases.url)[0] == 0
    assert in_folder(package) == [LIBRARY.name]


@pytest.mark.every_nvim
def test_the_command_installs_what_is_missing_and_the_server_starts(bare, package, releases, asset, failing_cargo):
    offer(releases, asset)
    nvim = bare(
        f"vim.g.claude_ide_release_url = '{releases.url}'", env={"PATH": f"{failing_cargo}:{os.environ['PATH']}"}
    )
    nvim.wait_screen("The library is not installed yet: `:Claude install`.")
    nvim.keep_notices()
    nvim.cmd("Claude install")
    nvim.wait_notice("The library is downloaded. `:Claude` opens Claude Code.")
    nvim.wait(lambda: next(iter(nvim.locks()), None), what="the server")
    assert f"/{asset}" in releases.asked
    nvim.cmd("Claude install")
    nvim.wait_notice("The library is there already, and in use.")
    (package / "build" / LIBRARY.name).unlink()
    nvim.cmd("Claude install")
    nvim.wait_notice("The library is downloaded. Restart Neovim to use it.")


def test_the_command_says_why_it_failed_and_runs_once_at_a_time(bare, package, releases, asset, failing_cargo):
    released = threading.Event()

    def forbidden(request):
        released.wait(LONGEST)
        request.send_error(403)

    releases.files["/SHA256SUMS"] = forbidden
    settings = f"vim.g.claude_ide_release_url, vim.g.claude_ide_download_args = '{releases.url}', {{ '--retry', '0' }}"
    nvim = bare(
        f"{settings} vim.g.claude_ide = {{ auto_start = false }}", env={"PATH": f"{failing_cargo}:{os.environ['PATH']}"}
    )
    nvim.keep_notices()
    nvim.cmd("Claude install")
    nvim.wait(lambda: "/SHA256SUMS" in releases.asked, what="the request")
    nvim.cmd("Claude install")
    nvim.wait_notice("The library is being installed.")
    released.set()
    nvim.wait_notice("The library is not installed: ")
    assert "403" in nvim.log() and "cargo was asked" in nvim.log()
    assert in_folder(package) == []


def test_the_command_without_settings_logs_plain_lines(bare, package, releases, failing_cargo):
    path = f"{failing_cargo}:{os.environ['PATH']}"
    nvim = bare("vim.g.claude_ide = { auto_start = false }", env={"PATH": path, "CLAUDE_IDE_RELEASE_URL": releases.url})
    nvim.keep_notices()
    nvim.cmd("Claude install")
    nvim.wait_notice("The library is not installed: ")
    assert "404" in nvim.log() and "cargo was asked" in nvim.log()
    assert not re.search(r"E471|traceback|E5113|\r|\^M", nvim.log()), nvim.log()


def test_progress_replaces_itself_in_a_notifier_that_can(start_nvim):
    nvim = start_nvim()
    nvim.lua("""
      given = {}
      vim.notify = function(text, _, opts)
        given[#given + 1] = { text, opts.id, opts.replace or "none" }
        return { number = #given }
      end
      local show = Ide.notice.progress("some id")
      show("one") show("two")
    """)
    assert nvim.lua("return given") == [["one", "some id", "none"], ["two", "some id", {"number": 1}]]
