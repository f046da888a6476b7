"""The selection as clients get it over real connections."""

import json

import pytest

pytestmark = pytest.mark.dealt


@pytest.fixture
def editor(start_nvim):
    return start_nvim(["a.txt"], files={"a.txt": "one öü\ntwo\n", ".env": "SECRET=1\n"})


def current(client):
    return json.loads(client.call("getCurrentSelection")[0])


@pytest.mark.every_nvim
def test_a_client_gets_what_is_selected_and_can_ask_for_it(editor, connect):
    client = connect(editor)
    editor.keys("wve")
    reported = client.wait_notification("selection_changed", match=lambda sent: sent["text"] == "öü")
    assert reported["filePath"] == str(editor.project / "a.txt")
    assert reported["selection"]["end"] == {"line": 0, "character": 6}
    assert current(client) == {"success": True, **reported}


def test_a_private_file_is_neither_told_nor_found(editor, connect):
    client = connect(editor)
    client.wait_notification("selection_changed", match=lambda sent: "filePath" in sent)
    editor.keys(":edit .env<CR>V")
    client.wait_notification("selection_changed", match=lambda sent: "filePath" not in sent)
    assert current(client)["success"] is False
    assert json.loads(client.call("getLatestSelection")[0])["success"] is False
    late = connect(editor)
    assert current(late)["success"] is False
    assert not any("SECRET" in str(one) for one in client.notifications + late.notifications)


def test_a_restart_of_the_server_keeps_telling(editor, connect):
    connect(editor)
    editor.lua('require("claude-ide.server").restart()')
    client = connect(editor)
    editor.keys("jV")
    client.wait_notification("selection_changed", match=lambda sent: sent["text"] == "two")
