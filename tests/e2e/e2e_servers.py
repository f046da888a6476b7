"""Starts real language servers in Neovim, as a user's configuration would."""

from harness.nvim import ROOT

BIN = ROOT / ".deps" / "node" / "node_modules" / ".bin"
ENVIRONMENT = ROOT / ".deps" / "venv"
"""A Python with ipykernel, and the servers that come as wheels."""

START = """
vim.g.loaded_python3_provider = 0
vim.api.nvim_create_autocmd("FileType", {{
  pattern = {patterns},
  callback = function(event)
    vim.lsp.start({{ name = "{name}", cmd = {{ "{command}", "{how}" }}, root_dir = vim.uv.cwd(), init_options = {{ provideFormatter = false }} }}, {{ bufnr = event.buf }})
  end,
}})
"""


def lsp(name, command, *patterns, how="--stdio"):
    listed = "{ " + ", ".join(f'"{pattern}"' for pattern in patterns) + " }"
    return START.format(name=name, command=BIN / command, how=how, patterns=listed)


PYRIGHT = lsp("pyright", "pyright-langserver", "python")
TYPESCRIPT = lsp("ts_ls", "typescript-language-server", "typescript", "javascript")
JSON = lsp("jsonls", "vscode-json-language-server", "json", "jsonc")
PYREFLY = lsp("pyrefly", ENVIRONMENT / "bin" / "pyrefly", "python", how="lsp")
"""Knows implementations and type hierarchies; pyright does not."""
RUFF = lsp("ruff", ENVIRONMENT / "bin" / "ruff", "python", how="server")
"""Formats, and sorts imports."""
