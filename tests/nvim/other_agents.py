"""Real agents over the Agent Client Protocol, offline: Claude, Gemini CLI, and Codex behind codex-acp."""

import json
from pathlib import Path

from harness import cli

DEPS = cli.ROOT / ".deps"


def claude(home: Path, api) -> dict:
    """Options for claude-agent-acp with the real CLI behind it."""
    cli.prepare_home(home, home.parent / "project")
    environment = {**cli.environment(home, api), "CLAUDE_CODE_EXECUTABLE": str(cli.binary())}
    return {"cmd": [str(DEPS / "acp/node_modules/.bin/claude-agent-acp")], "env": environment}


def gemini(home: Path, api) -> dict:
    """Options for Gemini's own CLI. They name a model: to choose one, it would ask another model first."""
    home.mkdir(parents=True, exist_ok=True)
    environment = {
        "HOME": str(home),
        "GEMINI_API_KEY": "k" * 39,
        "GOOGLE_GEMINI_BASE_URL": api.url,
        "NO_PROXY": "127.0.0.1",
    }
    return {
        "cmd": [str(DEPS / "gemini/node_modules/.bin/gemini"), "--acp", "--model", "gemini-2.5-pro"],
        "env": environment,
    }


def codex(home: Path, api) -> dict:
    """Options for Codex. They name an unknown model, for which it has no tools but a shell."""
    home.mkdir(parents=True, exist_ok=True)
    provider = {"name": "Mock", "base_url": f"{api.url}/v1", "wire_api": "responses", "env_key": "MOCK_KEY"}
    lines = [
        'model = "gpt-mock"',
        'model_provider = "mock"',
        "check_for_update_on_startup = false",
        "",
        "[model_providers.mock]",
    ]
    lines += [f"{key} = {json.dumps(value)}" for key, value in provider.items()]
    (home / "config.toml").write_text("\n".join(lines) + "\n")
    environment = {"HOME": str(home), "CODEX_HOME": str(home), "MOCK_KEY": "k", "NO_PROXY": "127.0.0.1"}
    return {"cmd": [str(DEPS / "codex/node_modules/.bin/codex-acp")], "env": environment}
