"""Reads files that may disappear at any moment: no check whether they exist comes first."""

from pathlib import Path


def bytes_of(path: Path) -> bytes | None:
    """None if the file does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def text_of(path: Path) -> str | None:
    """None if the file does not exist."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
