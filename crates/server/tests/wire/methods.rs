//! The file protocol, without a handshake, over a real socket.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use claude_ide_server::{
    EditorError, ServerOptions, Workspace, WriteFile,
    testing::{TestClient, TestServer},
};
use serde_json::{Value, json};

struct Project {
    server: TestServer,
    home: tempfile::TempDir,
}

impl Project {
    fn root(&self) -> std::path::PathBuf {
        fs::canonicalize(self.home.path().join("root")).unwrap()
    }

    fn connect(&self) -> TestClient {
        self.server.connect()
    }
}

/// A workspace, and an editor without open files.
fn project() -> Project {
    project_with(ServerOptions::default())
}

fn project_with(options: ServerOptions) -> Project {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("root");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(root.join("a..b.txt"), "dots\n").unwrap();
    fs::write(root.join("latin1.txt"), b"\xE9\n").unwrap();
    fs::write(home.path().join("secret"), "secret\n").unwrap();
    symlink(home.path(), root.join("out")).unwrap();
    let workspace = Workspace { folders: vec![root], ide_name: "Editor".to_owned(), announced: None };
    let server = TestServer::start(ServerOptions { workspace, ..options });
    server.editor.reply("read_file", Ok(json!({ "loaded": false })));
    server.editor.reply("write_file", Ok(json!({ "loaded": false })));
    Project { server, home }
}

fn path(path: &str) -> Value {
    json!({ "path": path })
}

#[test]
fn reads_a_file_of_the_workspace() {
    let project = project();
    let mut client = project.connect();
    for name in ["src/main.rs", "/src/main.rs", "./src/../src/main.rs"] {
        assert_eq!(client.request("readFile", &path(name)), "fn main() {}\n", "{name}");
    }
    let absolute = project.root().join("src/main.rs");
    assert_eq!(client.request("readFile", &path(absolute.to_str().unwrap())), "fn main() {}\n");
    assert_eq!(client.request("readFile", &path("a..b.txt")), "dots\n");
}

#[test]
fn the_text_in_the_editor_wins_over_the_disk() {
    let project = project();
    project.server.editor.reply("read_file", Ok(json!({ "loaded": true, "contents": "unsaved ü\n" })));
    assert_eq!(project.connect().request("readFile", &path("src/main.rs")), "unsaved ü\n");
    let call = project.server.editor.wait_call("read_file", 1);
    assert_eq!(Path::new(call.args["path"].as_str().unwrap()), project.root().join("src/main.rs"));
}

#[test]
fn a_path_out_of_the_workspace_is_refused() {
    let project = project();
    let mut client = project.connect();
    for name in ["../secret", "src/../../secret", "out/secret", "~/secret", "C:\\secret", "//host/secret", ""] {
        for (method, params) in [("readFile", path(name)), ("writeFile", json!({ "path": name, "content": "x" }))] {
            let (code, message) = client.error(method, &params);
            assert_eq!(code, -32602, "{method} {name}: {message}");
            assert!(message.contains("\"path\""), "{message}");
        }
    }
    assert!(project.server.editor.calls().is_empty());
    assert_eq!(fs::read_to_string(project.home.path().join("secret")).unwrap(), "secret\n");
}

#[test]
fn an_unreadable_file_is_reported_in_the_words_of_the_seed() {
    let project = project();
    let mut client = project.connect();
    for (name, message) in [
        ("missing.txt", "failed to read file: File not found"),
        ("src", "failed to read file: it is not a regular file"),
        ("latin1.txt", "failed to read file: it is not UTF-8 text"),
    ] {
        assert_eq!(client.error("readFile", &path(name)), (-32603, message.to_owned()));
    }
}

fn write(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content })
}

#[test]
fn a_write_is_a_proposal_and_the_accepted_text_is_written() {
    let project = project();
    let mut client = project.connect();
    let asked = client.send("writeFile", &write("src/main.rs", "proposed"));
    let diff = project.server.editor.wait_call("open_diff", 1);
    let file = project.root().join("src/main.rs");
    assert_eq!(
        (&diff.args["old_file_path"], &diff.args["new_file_path"], &diff.args["new_file_contents"]),
        (&json!(file), &json!(file), &json!("proposed"))
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "fn main() {}\n", "no decision yet");
    project
        .server
        .editor
        .answer("open_diff", Ok(json!({ "outcome": "saved", "contents": "edited by the user ü\r\n" })));
    assert_eq!(client.answer(asked)["result"], json!({ "success": true }));
    assert_eq!(fs::read_to_string(&file).unwrap(), "edited by the user ü\r\n");
}

#[test]
fn a_write_that_is_rejected_writes_nothing_and_makes_no_folder() {
    let project = project();
    project.server.editor.reply("open_diff", Ok(json!({ "outcome": "rejected" })));
    let error = project.connect().error("writeFile", &write("new/dir/a.txt", "x"));
    assert_eq!(error, (-32603, "failed to write file: the user rejected the change".to_owned()));
    assert!(!project.root().join("new").exists());
}

#[test]
fn a_new_file_may_be_accepted_with_its_folders_and_may_be_empty() {
    let project = project();
    project.server.editor.reply("open_diff", Ok(json!({ "outcome": "saved", "contents": "" })));
    project.connect().request("writeFile", &write("new/dir/a.txt", ""));
    assert_eq!(fs::read_to_string(project.root().join("new/dir/a.txt")).unwrap(), "");
}

#[test]
fn an_unneeded_or_impossible_write_asks_no_question() {
    let project = project();
    let mut client = project.connect();
    client.request("writeFile", &write("src/main.rs", "fn main() {}\n"));
    assert_eq!(client.error("writeFile", &write("src", "x")).1, "failed to write file: it is not a regular file");
    let main = project.root().join("src/main.rs");
    fs::set_permissions(&main, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(client.error("writeFile", &write("src/main.rs", "x")).1, "failed to write file: it is read-only");
    assert!(project.server.editor.calls().is_empty());
}

#[test]
fn a_file_changed_during_its_review_is_not_overwritten() {
    let project = project();
    let mut client = project.connect();
    let asked = client.send("writeFile", &write("src/main.rs", "proposed"));
    project.server.editor.wait_call("open_diff", 1);
    fs::write(project.root().join("src/main.rs"), "by somebody else").unwrap();
    project.server.editor.answer("open_diff", Ok(json!({ "outcome": "saved", "contents": "proposed" })));
    let error = client.answer(asked)["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(error, "failed to write file: it changed on disk while its change was reviewed");
    assert_eq!(fs::read_to_string(project.root().join("src/main.rs")).unwrap(), "by somebody else");
}

#[test]
fn a_link_that_appears_during_the_review_does_not_lead_out() {
    let project = project();
    let mut client = project.connect();
    let asked = client.send("writeFile", &write("src/new.rs", "x"));
    project.server.editor.wait_call("open_diff", 1);
    fs::rename(project.root().join("src"), project.root().join("moved")).unwrap();
    symlink(project.home.path(), project.root().join("src")).unwrap();
    project.server.editor.answer("open_diff", Ok(json!({ "outcome": "saved", "contents": "x" })));
    let error = client.answer(asked)["error"]["message"].as_str().unwrap().to_owned();
    assert!(error.contains("symbolic link"), "{error}");
    assert!(!project.home.path().join("new.rs").exists());
}

#[test]
fn two_writes_of_one_file_keep_their_order_however_they_name_it() {
    let project = project();
    let mut client = project.connect();
    let first = client.send("writeFile", &write("src/main.rs", "first"));
    let second = client.send("writeFile", &write("./src/../src/main.rs", "second"));
    project.server.editor.wait_call("open_diff", 1);
    let other = client.send("writeFile", &write("other", "x"));
    project.server.editor.wait_call("open_diff", 2);
    let asked: Vec<_> =
        project.server.editor.calls().iter().map(|call| call.args["new_file_contents"].clone()).collect();
    assert_eq!(asked, ["first", "x"], "the second waits for the first, another file for neither");
    let accept = |contents: &str| {
        project.server.editor.answer("open_diff", Ok(json!({ "outcome": "saved", "contents": contents })));
    };
    accept("first");
    client.answer(first);
    project.server.editor.wait_call("open_diff", 3);
    accept("x");
    accept("second");
    client.answer(other);
    client.answer(second);
    assert_eq!(fs::read_to_string(project.root().join("src/main.rs")).unwrap(), "second");
}

#[test]
fn a_disconnect_withdraws_the_clients_proposal() {
    let project = project();
    let mut client = project.connect();
    client.send("writeFile", &write("src/main.rs", "x"));
    project.server.editor.wait_call("open_diff", 1);
    drop(client);
    project.server.editor.wait_cancelled("open_diff");
}

#[test]
fn without_diffs_a_write_cannot_be_reviewed() {
    let hidden_tools = ["openDiff".to_owned()].into();
    let project = project_with(ServerOptions { hidden_tools, ..ServerOptions::default() });
    let (code, message) = project.connect().error("writeFile", &write("src/main.rs", "x"));
    assert_eq!((code, message.contains("diffs are switched off")), (-32603, true), "{message}");
}

#[test]
fn writing_may_be_switched_off() {
    let project = project_with(ServerOptions { write_file: WriteFile::Off, ..ServerOptions::default() });
    assert_eq!(project.connect().error("writeFile", &write("src/main.rs", "x")).0, -32601);
}

/// A project in which clients may write without review.
fn permissive() -> Project {
    project_with(ServerOptions { write_file: WriteFile::Allow, ..ServerOptions::default() })
}

#[test]
fn writes_files_that_are_not_open_to_disk() {
    let project = permissive();
    let mut client = project.connect();
    let written = client.request("writeFile", &json!({ "path": "new/dir/a.txt", "content": "ü\r\nend" }));
    assert_eq!(written, json!({ "success": true }));
    assert_eq!(fs::read_to_string(project.root().join("new/dir/a.txt")).unwrap(), "ü\r\nend");
}

#[test]
fn writes_open_files_through_the_editor() {
    let project = permissive();
    project.server.editor.reply("write_file", Ok(json!({ "written": true })));
    project.connect().request("writeFile", &json!({ "path": "src/main.rs", "content": "new" }));
    assert_eq!(project.server.editor.wait_call("write_file", 1).args["content"], "new");
    assert_eq!(fs::read_to_string(project.root().join("src/main.rs")).unwrap(), "fn main() {}\n");
}

#[test]
fn a_file_with_unsaved_changes_is_refused_by_the_editor() {
    let project = permissive();
    let refusal = "src/main.rs has unsaved changes in the editor";
    project.server.editor.reply("write_file", Err(EditorError::Failed(refusal.to_owned())));
    let error = project.connect().error("writeFile", &json!({ "path": "src/main.rs", "content": "new" }));
    assert_eq!(error, (-32603, refusal.to_owned()));
    assert_eq!(fs::read_to_string(project.root().join("src/main.rs")).unwrap(), "fn main() {}\n");
}

#[test]
fn wrong_arguments_are_named() {
    let project = project();
    let mut client = project.connect();
    for (method, params, name) in [
        ("readFile", json!({}), "path"),
        ("readFile", json!({ "path": 5 }), "path"),
        ("readFile", json!(["src/main.rs"]), "params"),
        ("writeFile", path("a"), "content"),
        ("listFiles", json!({ "pattern": 5 }), "pattern"),
        ("listFiles", json!({ "pattern": "a[" }), "pattern"),
    ] {
        let (code, message) = client.error(method, &params);
        assert_eq!(code, -32602);
        assert!(message.contains(&format!("{name:?}")), "{method} {params}: {message}");
    }
}

#[test]
fn lists_the_files_that_version_control_does_not_ignore() {
    let project = project();
    fs::write(project.root().join(".gitignore"), "*.log\n").unwrap();
    fs::write(project.root().join("debug.log"), "").unwrap();
    let mut client = project.connect();
    assert_eq!(
        client.request("listFiles", &json!({})),
        json!([".gitignore", "a..b.txt", "latin1.txt", "out", "src/main.rs"])
    );
    assert_eq!(client.request("listFiles", &json!({ "pattern": "*.rs" })), json!(["src/main.rs"]));
    assert_eq!(client.request("listFiles", &json!({ "pattern": "none" })), json!([]));
}

#[test]
fn a_pattern_of_a_client_blocks_no_other_call() {
    let project = project();
    let mut client = project.connect();
    let (code, message) = client.error("listFiles", &json!({ "pattern": "{a,b}".repeat(10_000) }));
    assert_eq!((code, message.contains("4096 bytes")), (-32602, true), "{message}");
    assert_eq!(client.request("listFiles", &json!({ "pattern": "{src,b}".repeat(500) })), json!([]));
    assert_eq!(client.request("listFiles", &json!({ "pattern": "{src,b}/**/*.{rs,c}" })), json!(["src/main.rs"]));
}

#[test]
fn a_list_that_is_cut_says_so_in_its_last_element() {
    let project = project();
    let many = project.root().join("many");
    fs::create_dir(&many).unwrap();
    for number in 0..10_001 {
        fs::write(many.join(format!("{number:05}")), "").unwrap();
    }
    let mut client = project.connect();
    let list = client.request("listFiles", &json!({ "pattern": "many/*" }));
    let list = list.as_array().unwrap();
    assert_eq!((list.len(), &list[9_999]), (10_001, &json!("many/09999")));
    assert!(list[10_000].as_str().unwrap().starts_with("[only the first 10000 files"), "{}", list[10_000]);
}

#[test]
fn tells_about_the_workspace() {
    let project = project();
    let mut client = project.connect();
    let info = client.request("getWorkspaceInfo", &json!({}));
    assert_eq!((&info["name"], &info["type"], &info["fileCount"]), (&json!("root"), &json!("folder"), &json!(4)));
    fs::create_dir(project.root().join(".git")).unwrap();
    assert_eq!(client.request("getWorkspaceInfo", &json!({}))["type"], "git-repository");
}

#[test]
fn the_workspace_may_change() {
    let project = project();
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("here"), "x").unwrap();
    let folders = vec![other.path().to_owned()];
    project.server.handle.set_workspace(Workspace { folders, ide_name: "Editor".to_owned(), announced: None });
    let mut client = project.connect();
    assert_eq!(client.request("listFiles", &json!({})), json!(["here"]));
    assert_eq!(client.error("readFile", &path("src/main.rs")).0, -32603);
}

#[test]
fn without_a_workspace_nothing_is_served_and_nothing_breaks() {
    let server = TestServer::start(ServerOptions::default());
    let mut client = server.connect();
    assert_eq!(client.error("readFile", &path("a")).0, -32602);
    assert_eq!(client.error("getWorkspaceInfo", &json!({})).0, -32603);
    assert_eq!(client.request("listFiles", &json!({})), json!([]));
}

#[test]
fn open_and_current_files_are_the_editors_word() {
    let project = project();
    project.server.editor.reply("get_open_files", Ok(json!([])));
    project.server.editor.reply("get_current_file", Ok(Value::Null));
    let mut client = project.connect();
    assert_eq!(client.request("getOpenFiles", &json!({})), json!([]));
    assert_eq!(client.request("getCurrentFile", &json!({})), Value::Null);
    let file = json!({ "path": "/p/a", "isActive": true });
    project.server.editor.reply("get_open_files", Ok(json!([file])));
    project.server.editor.reply("get_current_file", Ok(file.clone()));
    assert_eq!(client.request("getOpenFiles", &json!({})), json!([file]));
    assert_eq!(client.request("getCurrentFile", &json!({})), file);
}
