"""Repositories of git for tests."""

import subprocess
from pathlib import Path


def git(folder: Path, *arguments: object) -> str:
    """The output of a git command, which must succeed."""
    settings = ["-c", "protocol.file.allow=always", "-c", "user.name=A User", "-c", "user.email=user@example.org"]
    argv = ["git", *settings, *map(str, arguments)]
    done = subprocess.run(argv, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{argv}: {done.stderr}"
    return done.stdout.strip()


def repository(home: Path, name: str = "project") -> Path:
    """A repository with a branch `main`, and a.txt in it. `.env` is ignored."""
    project = home / name
    project.mkdir(exist_ok=True)
    (project / "a.txt").write_text("one\n")
    (project / ".gitignore").write_text(".claude/\n.env\n")
    git(project, "init", "-qb", "main")
    git(project, "config", "user.name", "A User")
    git(project, "config", "user.email", "user@example.org")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    return project
