"""Fixtures of the tests that need sessions of Claude on the disk."""

import pytest
from session_files import Sessions


@pytest.fixture
def sessions(tmp_path):
    """What Claude keeps in the home of the Neovims of this test."""
    sessions = Sessions(tmp_path / "home")
    yield sessions
    sessions.close()
