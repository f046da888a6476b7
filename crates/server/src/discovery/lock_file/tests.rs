//! The discovery file's guarantees.

use std::{fs::Permissions, os::unix::fs::PermissionsExt, process::Command, time::Instant};

use super::*;
use crate::testing::DEADLINE;

const SERVER: &str = "the-server";

fn options(dir: &Path) -> ServerOptions {
    ServerOptions {
        lock_dirs: vec![dir.to_owned()],
        server_name: SERVER.to_owned(),
        workspace: Workspace { folders: vec!["/project".into()], ide_name: "The Editor".to_owned(), announced: None },
        ..ServerOptions::default()
    }
}

fn create(dir: &Path) -> LockFile {
    LockFile::create(&options(dir), &Secret::random::<64>().unwrap(), 41234).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn dead_pid() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

/// Retries: on a busy machine a refusal may take longer than the probe waits, and the process then counts as alive.
fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
    }
}

fn leave(dir: &Path, port: u16, server: &str, pid: u32) -> PathBuf {
    let contents = LockFileContents {
        workspace_folders: vec![],
        pid: Some(pid),
        ide_name: "Left".to_owned(),
        transport: "ws".to_owned(),
        running_in_windows: false,
        auth_token: "left".to_owned(),
        server: server.to_owned(),
        processes: None,
    };
    let path = dir.join(format!("{port}.lock"));
    write(&path, &contents).unwrap();
    path
}

#[test]
fn has_every_field_of_the_seeds() {
    let home = tempfile::tempdir().unwrap();
    let lock = create(&home.path().join("claude/ide"));
    let [path] = lock.paths() else { panic!("one file") };
    assert_eq!(path, &home.path().join("claude/ide/41234.lock"));
    let json: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "workspaceFolders": ["/project"],
            "pid": std::process::id(),
            "ideName": "The Editor",
            "transport": "ws",
            "runningInWindows": false,
            "authToken": lock.token.reveal(),
            "server": SERVER,
            "processes": claude_ide_system::process::space(),
        })
    );
}

#[test]
fn is_private_and_leaves_no_temporary_file() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("ide");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
    let lock = create(&dir);
    assert_eq!(mode(&lock.paths()[0]), 0o600);
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
}

#[test]
fn is_rewritten_in_place_even_if_it_was_removed() {
    let home = tempfile::tempdir().unwrap();
    let lock = create(home.path());
    fs::remove_file(&lock.paths()[0]).unwrap();
    lock.rewrite(&Workspace { folders: vec!["/other".into()], ide_name: "Other".to_owned(), announced: None });
    let contents = read::<LockFileContents>(&lock.paths()[0]).unwrap();
    assert_eq!(contents.workspace_folders, ["/other"]);
    assert_eq!(contents.ide_name, "Other");
    assert_eq!(mode(&lock.paths()[0]), 0o600);
}

#[test]
fn comes_back_with_its_folder() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("ide");
    let lock = create(&dir);
    fs::remove_dir_all(&dir).unwrap();
    lock.rewrite(&Workspace { folders: vec!["/other".into()], ide_name: "Other".to_owned(), announced: None });
    assert_eq!(read::<LockFileContents>(&lock.paths()[0]).unwrap().ide_name, "Other");
    assert_eq!(mode(&dir), 0o700);
}

#[test]
fn cleans_up_after_a_process_killed_during_a_write() {
    let home = tempfile::tempdir().unwrap();
    let dead = home.path().join(format!("7.lock.{}.tmp", dead_pid()));
    let alive = home.path().join("7.lock.1.tmp");
    let others = ["7.tmp", "notes.lock.7.tmp", "7.lock.7.tmp.old", "7.lock.x.tmp"].map(|name| home.path().join(name));
    for path in others.iter().chain([&dead, &alive]) {
        fs::write(path, "{").unwrap();
    }
    let lock = create(home.path());
    assert!(!dead.exists());
    assert!(alive.exists() && others.iter().all(|path| path.exists()));
    drop(lock);
}

#[test]
fn is_removed_on_drop() {
    let home = tempfile::tempdir().unwrap();
    let lock = create(home.path());
    let path = lock.paths()[0].clone();
    drop(lock);
    assert!(!path.exists());
}

#[test]
fn leaves_the_file_of_a_process_that_took_the_port_since() {
    let home = tempfile::tempdir().unwrap();
    let lock = create(home.path());
    let theirs = leave(home.path(), 41234, "another", std::process::id());
    drop(lock);
    assert!(theirs.exists());
}

#[test]
fn cleans_up_after_dead_processes_of_its_own_only() {
    let home = tempfile::tempdir().unwrap();
    let ours_dead = leave(home.path(), 1, SERVER, dead_pid());
    let ours_alive = leave(home.path(), 2, SERVER, std::process::id());
    let theirs_dead = leave(home.path(), 3, "another", dead_pid());
    let broken = home.path().join("4.lock");
    fs::write(&broken, "{").unwrap();
    until("ours is gone", || {
        drop(create(home.path()));
        !ours_dead.exists()
    });
    let lock = create(home.path());
    assert!(ours_alive.exists() && theirs_dead.exists() && broken.exists());
    drop(lock);
}

#[test]
fn a_server_whose_process_cannot_be_seen_is_alive_while_its_port_answers() {
    let home = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let theirs = leave(home.path(), port, SERVER, dead_pid());
    drop(create(home.path()));
    assert!(theirs.exists());
    drop(listener);
    until("it is dead", || {
        drop(create(home.path()));
        !theirs.exists()
    });
}

#[test]
fn a_server_in_another_container_is_alive_until_its_file_is_old() {
    let home = tempfile::tempdir().unwrap();
    let path = leave(home.path(), 1, SERVER, dead_pid());
    let contents = LockFileContents {
        processes: Some("elsewhere pid:[1]".to_owned()),
        ..read::<LockFileContents>(&path).unwrap()
    };
    for pid in [contents.pid, None] {
        write(&path, &LockFileContents { pid, ..contents.clone() }).unwrap();
        drop(create(home.path()));
        assert!(path.exists());
    }
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::now() - folder::FOREIGN_TIME).unwrap();
    until("it is dead", || {
        drop(create(home.path()));
        !path.exists()
    });
}

#[test]
fn clients_elsewhere_find_their_folder_and_no_process_that_they_do_not_see() {
    let home = tempfile::tempdir().unwrap();
    let written = |options: ServerOptions| {
        let lock = LockFile::create(&options, &Secret::random::<64>().unwrap(), 41234).unwrap();
        let contents = read::<LockFileContents>(&lock.paths()[0]).unwrap();
        (contents.workspace_folders, contents.pid.is_some())
    };
    let map = PathMap::new([("/project", "/workspaces/project"), ("/other", "/there")]);
    let both = vec!["/project".to_owned(), "/workspaces/project".to_owned()];
    assert_eq!(written(ServerOptions { path_map: map, ..options(home.path()) }), (both, false));
    let here = vec!["/project".to_owned()];
    for (host, has_process) in [("127.0.0.1", true), ("localhost", true), ("::1", true), ("0.0.0.0", false)] {
        let options = ServerOptions { host: host.to_owned(), ..options(home.path()) };
        assert_eq!(written(options), (here.clone(), has_process), "{host}");
    }
}

#[test]
fn two_servers_of_one_name_are_told_apart_and_keep_their_names() {
    let home = tempfile::tempdir().unwrap();
    let at = |port| LockFile::create(&options(home.path()), &Secret::random::<64>().unwrap(), port).unwrap();
    let name = |lock: &LockFile| read::<LockFileContents>(&lock.paths()[0]).unwrap().ide_name;
    let workspace = options(home.path()).workspace;
    let (first, second, third) = (at(41234), at(41235), at(41236));
    assert_eq!([&first, &second, &third].map(name), ["The Editor", "The Editor (2)", "The Editor (3)"]);
    drop(first);
    second.rewrite(&workspace);
    assert_eq!((name(&second).as_str(), second.name().get().as_str()), ("The Editor (2)", "The Editor (2)"));
    second.rewrite(&Workspace { ide_name: "Other".to_owned(), ..workspace.clone() });
    assert_eq!(name(&second), "Other");
    assert_eq!(name(&at(41237)), "The Editor");
    let _dead = leave(home.path(), 9, "another", dead_pid());
    until("a dead one has no name", || {
        third.rewrite(&workspace);
        third.rewrite(&Workspace { ide_name: "Left".to_owned(), ..workspace.clone() });
        name(&third) == "Left"
    });
}

#[test]
fn is_written_where_it_can_be_and_fails_only_if_nowhere() {
    let home = tempfile::tempdir().unwrap();
    let blocked = home.path().join("file");
    fs::write(&blocked, "").unwrap();
    let mut options = options(&blocked.join("ide"));
    let token = Secret::random::<64>().unwrap();
    assert!(matches!(LockFile::create(&options, &token, 1), Err(ServerError::LockFile { .. })));
    options.lock_dirs.push(home.path().join("ide"));
    assert_eq!(LockFile::create(&options, &token, 1).unwrap().paths().len(), 1);
}
