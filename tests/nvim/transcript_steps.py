"""Steps of the transcript tests: show one, wait until it is rendered, go to a line."""

ENV = {"TZ": "UTC"}
NOTICES = """
notices = {} vim.notify = function(message) notices[#notices + 1] = message end
Ide.transcript_motions.WAIT_MS = 60000 -- a machine that stands still is no reason to give up
"""

PARSER = "".join(f"line {number}\n" for number in range(1, 10)) + "for i = 0, n - 1 do\nend\n"


def show(start_nvim, script, rendered="notices", **more):
    """A Neovim that shows the transcript, completely rendered."""
    files = {"src/parser.lua": PARSER} | more.pop("files", {})
    nvim = start_nvim(env=ENV, init_lua=NOTICES + more.pop("init_lua", ""), files=files, **more)
    nvim.cmd(f"Claude transcript {script.id}")
    wait_rendered(nvim)
    return nvim


RENDERED = """
  local view = Ide.open_views.of_buffer(vim.api.nvim_get_current_buf())
  if not view or not view.source:info() or view.busy or view.again or view.colouring then return false end
  local loader = Ide.transcript_loader
  return view.canvas.heights:len() == view.source:info().len
    and #loader.urgent(view) == 0 and #loader.others(view) == 0
"""


def wait_rendered(nvim):
    nvim.wait(RENDERED, what="all of the transcript that is loaded unasked")


def wait_named(nvim):
    """Waits until paths are shown relative to the session's folder, which is known once its title is."""
    nvim.wait("Ide.open_views.of_buffer(vim.api.nvim_get_current_buf()).name ~= nil")
    wait_rendered(nvim)


def line_of(nvim, text):
    """The number of the only line that holds the text."""
    found = [number for number, line in enumerate(nvim.lines(), 1) if text in line]
    assert len(found) == 1, f"{text!r} in lines {found}"
    return found[0]


def go_to(nvim, text):
    lnum = line_of(nvim, text)
    nvim.lua("vim.api.nvim_win_set_cursor(0, { ..., 0 })", lnum)
    return lnum


def press(nvim, keys, condition):
    nvim.keys(keys)
    return nvim.wait(condition)
