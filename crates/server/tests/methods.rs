//! The plain methods of seed 000, without a handshake, over a real socket.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

use std::{fs, os::unix::fs::symlink, path::Path};

use claude_ide_server::{
    EditorError, ServerOptions, Workspace,
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

/// A workspace, and an editor in which nothing is open.
fn project() -> Project {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("root");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(root.join("a..b.txt"), "dots\n").unwrap();
    fs::write(root.join("latin1.txt"), b"\xE9\n").unwrap();
    fs::write(home.path().join("secret"), "secret\n").unwrap();
    symlink(home.path(), root.join("out")).unwrap();
    let workspace = Workspace { folders: vec![root], ide_name: "Editor".to_owned() };
    let server = TestServer::start(ServerOptions { workspace, ..ServerOptions::default() });
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
fn whatever_leads_out_of_the_workspace_is_refused() {
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
fn what_cannot_be_read_is_said_in_the_words_of_the_seed() {
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

#[test]
fn a_file_beyond_the_limit_is_not_read() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("large"), "x".repeat(5000)).unwrap();
    let workspace = Workspace { folders: vec![home.path().to_owned()], ide_name: String::new() };
    let server = TestServer::start(ServerOptions { workspace, max_message_bytes: 4096, ..ServerOptions::default() });
    server.editor.reply("read_file", Ok(json!({ "loaded": false })));
    let (code, message) = server.connect().error("readFile", &path("large"));
    assert_eq!((code, message.contains("5000 bytes")), (-32603, true), "{message}");
}

#[test]
fn writes_to_disk_what_is_not_open() {
    let project = project();
    let mut client = project.connect();
    let written = client.request("writeFile", &json!({ "path": "new/dir/a.txt", "content": "ü\r\nend" }));
    assert_eq!(written, json!({ "success": true }));
    assert_eq!(fs::read_to_string(project.root().join("new/dir/a.txt")).unwrap(), "ü\r\nend");
}

#[test]
fn writes_through_the_editor_what_is_open() {
    let project = project();
    project.server.editor.reply("write_file", Ok(json!({ "written": true })));
    project.connect().request("writeFile", &json!({ "path": "src/main.rs", "content": "new" }));
    assert_eq!(project.server.editor.wait_call("write_file", 1).args["content"], "new");
    assert_eq!(fs::read_to_string(project.root().join("src/main.rs")).unwrap(), "fn main() {}\n");
}

#[test]
fn a_file_with_unsaved_changes_is_refused_by_the_editor() {
    let project = project();
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
    project.server.handle.set_workspace(Workspace { folders, ide_name: "Editor".to_owned() });
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
    project.server.editor.reply("get_open_files", Ok(json!({})));
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
