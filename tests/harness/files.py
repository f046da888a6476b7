"""What files hold that come and go while one looks: whether they are there is not asked first."""

from pathlib import Path


def bytes_of(path: Path) -> bytes | None:
    """None where there is no file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def text_of(path: Path) -> str | None:
    """None where there is no file."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
