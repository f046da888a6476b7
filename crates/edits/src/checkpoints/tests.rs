use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::*;

struct Desk {
    _home: tempfile::TempDir,
    repository: Repository,
}

impl Desk {
    fn new(files: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (top, folder) = (home.path().canonicalize().unwrap().join("project"), home.path().join("ours"));
        fs::create_dir_all(&top).unwrap();
        fs::create_dir_all(folder.join("objects")).unwrap();
        let objects = top.join(".git/objects");
        let desk = Self { _home: home, repository: Repository { top, objects, folder, options: Vec::new() } };
        desk.git(&["init", "-q"]);
        desk.git(&["config", "core.autocrlf", "false"]);
        for (name, text) in files {
            desk.write(name, text);
        }
        desk
    }

    fn git(&self, arguments: &[&str]) -> String {
        let out = Command::new("git").args(arguments).current_dir(&self.repository.top).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.repository.top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn checkpoint(&self) -> String {
        self.git(&["add", "-A"]);
        self.git(&["write-tree"])
    }

    fn compare(&self, trees: [String; 2], more: Comparison) -> Differences {
        let max_files = if more.max_files == 0 { 200 } else { more.max_files };
        compare(&self.repository, &Comparison { trees, max_files, ..more })
    }
}

fn names(found: &[FoundFile]) -> Vec<&str> {
    found.iter().map(|file| str::from_utf8(&file.name).unwrap()).collect()
}

#[test]
fn finds_the_earlier_contents_of_changed_made_and_removed_files() {
    let desk = Desk::new(&[("a.txt", "a\n"), ("deep/b.txt", "b\r\n"), ("odd name é.txt", ""), ("same.txt", "same")]);
    let from = desk.checkpoint();
    desk.write("a.txt", "A\n");
    desk.write("new.txt", "new\n");
    fs::remove_file(desk.repository.top.join("deep/b.txt")).unwrap();
    desk.write("odd name é.txt", "x");
    let found = desk.compare([from, desk.checkpoint()], Comparison::default());
    assert_eq!(names(&found.found), ["a.txt", "deep/b.txt", "odd name é.txt", "new.txt"]);
    let before: Vec<Option<&[u8]>> = found.found.iter().map(|file| file.before.as_deref()).collect();
    assert_eq!(before, [Some(b"a\n".as_slice()), Some(b"b\r\n"), Some(b""), None]);
    assert_eq!(found.found.first().unwrap().mode, Some(0o644));
    assert_eq!((found.left_out, found.rest, found.too_many), (Vec::new(), Vec::new(), None));
}

#[test]
fn links_and_permissions_are_the_rest() {
    let desk = Desk::new(&[("run.sh", "x\n"), ("a.txt", "a\n")]);
    let from = desk.checkpoint();
    fs::set_permissions(desk.repository.top.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("a.txt", desk.repository.top.join("link")).unwrap();
    let found = desk.compare([from, desk.checkpoint()], Comparison::default());
    let rest: Vec<(&[u8], &str, bool)> =
        found.rest.iter().map(|rest| (rest.name.as_slice(), rest.modes[1].as_str(), rest.mode_only)).collect();
    assert_eq!(rest, [(b"link".as_slice(), "120000", false), (b"run.sh", "100755", true)]);
    assert!(found.found.is_empty());
}

#[test]
fn of_too_many_files_the_others_are_the_rest() {
    let desk = Desk::new(&[("old.txt", "old")]);
    let from = desk.checkpoint();
    for number in 0..4 {
        desk.write(&format!("{number}.txt"), "new");
    }
    desk.write("old.txt", "changed");
    let found = desk.compare([from, desk.checkpoint()], Comparison { max_files: 2, ..Comparison::default() });
    assert_eq!(names(&found.found), ["old.txt", "0.txt"]);
    assert_eq!((found.rest.len(), found.too_many), (3, Some(5)));
}

#[test]
fn the_users_files_and_uncopied_ones_are_not_among_them() {
    let desk = Desk::new(&[]);
    let from = desk.checkpoint();
    for name in ["mine.txt", "large.txt", "claude.txt"] {
        desk.write(name, name);
    }
    let more = Comparison {
        unwanted: [desk.repository.top.join("mine.txt")].into(),
        ignored: [b"large.txt".to_vec()].into(),
        ..Comparison::default()
    };
    let found = desk.compare([from, desk.checkpoint()], more);
    assert_eq!(names(&found.found), ["claude.txt"]);
}

#[test]
fn a_file_that_was_there_all_the_time_was_not_made() {
    let desk = Desk::new(&[("moved.txt", "text that moves\n".repeat(20).as_str())]);
    let from = desk.checkpoint();
    for name in ["there.txt", "changed.txt", "made.txt"] {
        desk.write(name, name);
    }
    fs::remove_file(desk.repository.top.join("moved.txt")).unwrap();
    desk.write("here.txt", &("text that moves\n".repeat(20) + "and more\n"));
    let met = [("there.txt", Met::Unchanged), ("changed.txt", Met::Changed), ("here.txt", Met::Changed)];
    let met = met.map(|(name, met)| (name.as_bytes().to_vec(), met)).into();
    let found = desk.compare([from, desk.checkpoint()], Comparison { met, ..Comparison::default() });
    assert_eq!(names(&found.found), ["moved.txt", "here.txt", "made.txt"]);
    assert_eq!(found.left_out, [b"changed.txt".to_vec()]);
}

#[test]
fn files_that_a_filter_changes_are_left_out() {
    let desk = Desk::new(&[(".gitattributes", "*.big filter=lfs\n"), ("a.big", "pointer"), ("a.txt", "a")]);
    let from = desk.checkpoint();
    desk.write("a.big", "other");
    desk.write("a.txt", "b");
    let found = desk.compare([from, desk.checkpoint()], Comparison::default());
    assert_eq!((names(&found.found), found.left_out), (vec!["a.txt"], vec![b"a.big".to_vec()]));
}

#[test]
fn finds_the_contents_of_unchanged_files() {
    let desk = Desk::new(&[("a.txt", "a\n"), ("'odd'.txt", "odd\n")]);
    let tree = desk.checkpoint();
    let held = held(&desk.repository, &tree, &[b"a.txt".to_vec(), b"'odd'.txt".to_vec(), b"none.txt".to_vec()]);
    assert_eq!(names(&held), ["'odd'.txt", "a.txt"]);
    assert_eq!(held.first().unwrap().before.as_deref(), Some(b"odd\n".as_slice()));
}
