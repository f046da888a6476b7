"""The first steps of tests with the CLI in Neovim's own terminal."""

from harness.cli import submitting, typing
from harness.scripted_model import Reply

SESSION = "return Ide.terminal.session().id"
IDLE = "(Ide.terminal.session() or { state = {} }).state.activity == 'idle'"


def begin(nvim, mock_api, mode="manual mode on"):
    """Starts the CLI, which answers "Hello.", once: the answer is on its screen and in its transcript."""
    nvim.keys(":Claude<CR>")
    nvim.wait("(Ide.server.clients()[1] or {}).pid", what="the CLI to connect")
    nvim.wait_screen(mode)
    mock_api.script(Reply(text="Hello."))
    submit(nvim, mock_api, "begin")
    nvim.wait(lambda: "Hello." in stored(nvim), what="the answer to be stored")
    nvim.wait(IDLE, what="the turn to be over")


def submit(nvim, mock_api, text):
    """Types a short prompt for the CLI in Neovim's terminal, and sends it."""
    nvim.wait("vim.fn.mode() == 't'", what="Terminal mode")
    nvim.wait(typing(text, nvim.terminal.text, nvim.terminal.write), what=f"the CLI to show {text!r}")
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")


def stored(nvim):
    """All that the transcripts of the CLI hold, whatever its configuration folder."""
    return "".join(file.read_text() for file in nvim.home.glob(".claude*/projects/*/*.jsonl"))
