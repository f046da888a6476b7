"""The selection as clients get it over real connections."""

import json

import pytest

pytestmark = pytest.mark.dealt


@pytest.fixture
def editor(start_nvim):
    return start_nvim(["a.txt"], files={"a.txt": "one öü\ntwo\n", ".env": "SECRET=1\n"})


def current(client):
    return json.loads(client.call("getCurrentSelection")[0])


def is_at(line, character):
    place = {"line": line, "character": character}
    return lambda sent: sent["selection"]["start"] == place


@pytest.mark.every_nvim
def test_what_a_client_selects_is_not_told_as_the_users(editor, connect):
    client = connect(editor)
    client.call("openFile", filePath=str(editor.project / "a.txt"), startText="öü", endText="two")
    editor.wait("vim.fn.mode() == 'v'")
    told = client.wait_notification("selection_changed", match=is_at(0, 4))
    assert (told["text"], told["selection"]["isEmpty"]) == ("", True)
    assert current(client)["text"] == ""
    editor.keys("<Esc>")
    editor.wait("vim.fn.mode() == 'n'")
    editor.keys("gv")
    told = client.wait_notification("selection_changed", match=lambda sent: sent["text"] != "")
    assert told["text"] == "öü\ntwo", "the user selected it again"
    texts = [sent["params"]["text"] for sent in client.notifications if sent["method"] == "selection_changed"]
    assert set(texts) <= {""}, "nothing before"


@pytest.mark.every_nvim
def test_a_file_outside_of_the_workspace_is_told_once_the_user_moves_in_it(editor, connect, tmp_path):
    other = tmp_path / "secret.txt"
    other.write_text("password\nmore\n")
    client = connect(editor)
    client.wait_notification("selection_changed", match=lambda sent: "filePath" in sent)
    client.call("openFile", filePath=str(other), line=1, endLine=2)
    editor.wait("vim.fn.mode() == 'V'")
    client.wait_notification("selection_changed", match=lambda sent: "filePath" not in sent)
    assert current(client)["success"] is False
    editor.keys("<Esc>")
    editor.wait("vim.fn.mode() == 'n'")
    editor.keys("gg")
    client.wait_notification("selection_changed", match=lambda sent: sent.get("filePath") == str(other))
    assert not any("password" in str(one) for one in client.notifications)


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
    editor.lua("Ide.server.restart()")
    client = connect(editor)
    editor.keys("jV")
    client.wait_notification("selection_changed", match=lambda sent: sent["text"] == "two")
