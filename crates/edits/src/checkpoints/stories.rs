//! Random stories: a repository of any kind, in which commands do anything. What a comparison tells suffices to bring
//! each file back, byte for byte, or it tells that it does not; and it tells of nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use super::*;
use crate::testing::Chance;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Thing {
    File(Vec<u8>, bool),
    Link(Vec<u8>),
    Pipe,
}

type Tree = BTreeMap<String, Thing>;

struct Story {
    chance: Chance,
    _home: tempfile::TempDir,
    top: PathBuf,
    checkpoints: Checkpoints,
    tale: Vec<String>,
    made: u32,
}

const NAMES: [&str; 14] = [
    "a.txt",
    "b.id",
    "c.utf16",
    "d.rot",
    "e.bin",
    "config",
    "in/f.txt",
    "in/g.crlf",
    "out/h.txt",
    "out/deep/i.txt",
    "in/é ü.txt",
    "run.sh",
    "j.raw",
    "in/odd\nname",
];

const ATTRIBUTES: [&str; 9] = [
    "* text=auto\n",
    "* text=auto eol=crlf\n",
    "*.txt text\n",
    "*.crlf text eol=crlf\n",
    "*.id ident\n",
    "*.rot filter=rot\n*.raw filter=a=b\n",
    "*.utf16 working-tree-encoding=UTF-16LE text\n",
    "*.bin -text\n",
    "in/* text eol=lf ident\n",
];

impl Story {
    fn new(seed: u64) -> Self {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(&top).unwrap();
        let mut story = Self {
            chance: Chance::new(seed),
            _home: home,
            top,
            checkpoints: Checkpoints::default(),
            tale: vec![format!("seed {seed}")],
            made: 0,
        };
        story.begin();
        story
    }

    fn git(&mut self, arguments: &[&str]) -> bool {
        self.tale.push(format!("git {}", arguments.join(" ")));
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
        let mut command = Command::new("git");
        command.args(identity).args(arguments).current_dir(&self.top).env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.output().unwrap().status.success()
    }

    fn begin(&mut self) {
        let format = if self.chance.is(10) { "sha256" } else { "sha1" };
        self.git(&["init", "-q", &format!("--object-format={format}")]);
        for (key, values) in [
            ("core.autocrlf", ["false", "true", "input"]),
            ("core.safecrlf", ["false", "false", "false"]),
            ("core.trustctime", ["true", "true", "false"]),
            ("core.checkStat", ["default", "default", "minimal"]),
            ("core.fileMode", ["true", "true", "false"]),
            ("index.version", ["2", "3", "4"]),
        ] {
            let value = self.chance.pick(&values);
            self.git(&["config", key, value]);
        }
        for name in ["rot", "a=b"] {
            for kind in ["clean", "smudge"] {
                self.git(&["config", &format!("filter.{name}.{kind}"), "tr a-z n-za-m"]);
            }
        }
        if self.chance.is(60) {
            let attributes: String = (0..self.chance.from(1, 3)).map(|_| self.chance.pick(&ATTRIBUTES)).collect();
            self.put(".gitattributes", attributes.as_bytes());
        }
        if self.chance.is(40) {
            self.put(".gitignore", b"*.log\nbuild/\n");
            self.put("x.log", b"ignored\n");
            self.put("build/made.txt", b"ignored\n");
        }
        for name in NAMES {
            if self.chance.is(70) {
                let bytes = self.bytes();
                self.put(name, &bytes);
            }
        }
        if self.chance.is(30) {
            std::os::unix::fs::symlink("a.txt", self.top.join("link")).unwrap();
        }
        // Attributes that a file had once.
        let once = if self.chance.is(30) { self.chance.pick(&ATTRIBUTES) } else { "" };
        fs::write(self.top.join(".git/info/attributes"), once).unwrap();
        self.tale.push(format!("once {once:?}"));
        if self.chance.is(90) {
            self.git(&["add", "-A"]);
            if self.chance.is(80) {
                self.git(&["commit", "-qm", "first", "--allow-empty"]);
            }
        }
        fs::write(self.top.join(".git/info/attributes"), "").unwrap();
        self.put("out/untracked.txt", b"untracked\r\n");
        self.bits();
        if self.chance.is(15) {
            fs::create_dir_all(self.top.join("nested")).unwrap();
            Command::new("git").args(["init", "-q"]).current_dir(self.top.join("nested")).status().unwrap();
            self.put("nested/theirs.txt", b"theirs\n");
        }
        if self.chance.is(50) {
            let name = self.chance.pick(&NAMES);
            let bytes = self.bytes();
            self.put(name, &bytes);
        }
        if self.chance.is(50) {
            sleep(Duration::from_millis(30));
            self.git(&["update-index", "-q", "--refresh"]);
        }
    }

    /// Bits of the index, its forms, replaced objects.
    fn bits(&mut self) {
        let name = self.chance.pick(&NAMES);
        match self.chance.from(0, 9) {
            0 => _ = self.git(&["update-index", "--assume-unchanged", name]),
            1 => _ = self.git(&["update-index", "--skip-worktree", name]),
            2 => _ = self.git(&["update-index", "--split-index"]),
            3 => _ = self.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]),
            4 => _ = self.git(&["sparse-checkout", "set", "--cone", "--no-sparse-index", "in"]),
            5 => _ = self.git(&["sparse-checkout", "set", "--no-cone", "/in/*", "*.txt"]),
            6 => _ = self.git(&["replace", ":a.txt", ":e.bin"]),
            7 => _ = self.git(&["update-index", "--untracked-cache"]),
            _ => {}
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.made += 1;
        let number = self.made;
        let lines = |end: &str| (0..8).map(|line| format!("line {line} of {number}{end}")).collect::<String>();
        match self.chance.from(0, 11) {
            0 => Vec::new(),
            1 | 2 => lines("\n").into_bytes(),
            3 => lines("\r\n").into_bytes(),
            4 => (lines("\n") + &lines("\r\n")).into_bytes(),
            5 => format!("$Id$\n$Id: of {number} $\n").into_bytes(),
            6 => (0..=255).collect(),
            7 => format!("\u{feff}bom {number}\r\n").into_bytes(),
            8 => lines("\n").encode_utf16().flat_map(u16::to_le_bytes).collect(),
            9 => vec![0xe4, 0xf6, 0xfc, b'\n'],
            10 => b"no end".to_vec(),
            _ => b"\r\r\n\n\r".to_vec(),
        }
    }

    fn put(&mut self, name: &str, bytes: &[u8]) {
        let path = self.top.join(name);
        self.tale.push(format!("write {name:?} {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(40)])));
        if !path.parent().unwrap().is_dir() && fs::create_dir_all(path.parent().unwrap()).is_err() {
            return;
        }
        if path.is_dir() && !path.is_symlink() {
            return;
        }
        if path.symlink_metadata().is_ok_and(|found| found.file_type().is_fifo()) {
            return;
        }
        _ = fs::write(path, bytes);
    }

    /// One thing that a command does.
    fn act(&mut self) {
        let name = self.chance.pick(&NAMES);
        let path = self.top.join(name);
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        match self.chance.from(0, 25) {
            0..=4 => {
                let bytes = self.bytes();
                self.put(name, &bytes);
            }
            5 if is_file => {
                let mut bytes = fs::read(&path).unwrap();
                bytes.extend_from_slice(b"more\n");
                self.put(name, &bytes);
            }
            6 if is_file => {
                // The same size, and the same text to git.
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                self.put(name, text.replace("\r\n", "\n").as_bytes());
            }
            7 if is_file => {
                let text = fs::read(&path).unwrap();
                let swapped: Vec<u8> = text.iter().rev().copied().collect();
                self.put(name, &swapped);
            }
            8 => {
                self.tale.push(format!("remove {name:?}"));
                _ = fs::remove_file(&path);
            }
            9 | 10 => {
                let to = self.chance.pick(&["moved.txt", "in/moved.txt", "new/er/moved", "x.log"]);
                self.tale.push(format!("move {name:?} {to}"));
                let target = self.top.join(to);
                _ = fs::create_dir_all(target.parent().unwrap());
                if !target.exists() {
                    _ = fs::rename(&path, target);
                }
            }
            11 if is_file => {
                self.tale.push(format!("into a folder {name:?}"));
                let aside = self.top.join("aside");
                if fs::rename(&path, &aside).is_ok() {
                    fs::create_dir(&path).unwrap();
                    fs::rename(aside, path.join("main")).unwrap();
                }
            }
            12 => {
                self.tale.push(format!("a link {name:?}"));
                _ = fs::remove_file(&path);
                _ = std::os::unix::fs::symlink("a.txt", &path);
            }
            13 => {
                let folder = self.chance.pick(&["in", "out"]);
                self.tale.push(format!("a link for {folder}"));
                let elsewhere = self.top.join(format!("{folder} elsewhere"));
                let folder = self.top.join(folder);
                if folder.symlink_metadata().is_ok_and(|found| found.is_dir())
                    && !elsewhere.exists()
                    && fs::rename(&folder, &elsewhere).is_ok()
                {
                    std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
                }
            }
            14 if is_file => {
                self.tale.push(format!("a pipe {name:?}"));
                fs::remove_file(&path).unwrap();
                Command::new("mkfifo").arg(&path).status().unwrap();
            }
            15 if is_file => {
                self.tale.push(format!("mode {name:?}"));
                let mode = self.chance.pick(&[0o644, 0o755, 0o600]);
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
            16 => {
                let folder = self.chance.pick(&["in", "out"]);
                let path = self.top.join(folder);
                if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                    self.tale.push(format!("a file for {folder}"));
                    fs::remove_dir_all(&path).unwrap();
                    self.put(folder, b"a file now\n");
                }
            }
            17 => _ = self.git(&["add", "-A"]),
            18 => _ = self.git(&["commit", "-qam", "more"]),
            19 => _ = self.git(&["checkout", "-f", "--", "."]),
            20 => _ = self.git(&["stash", "-q"]),
            21 => _ = self.git(&["rm", "-q", "--cached", name]),
            22 => _ = self.git(&["mv", "-k", name, "moved-by-git.txt"]),
            23 => {
                let attributes = self.chance.pick(&ATTRIBUTES);
                self.put(".gitattributes", attributes.as_bytes());
            }
            24 => {
                let ignored = self.chance.pick(&["", "*.txt\n", "in/\n", "*.log\n"]);
                self.put(".gitignore", ignored.as_bytes());
            }
            25 => self.bits(),
            _ => {}
        }
    }

    fn tree(&self) -> Tree {
        let mut found = Tree::new();
        walk(&self.top, &self.top, &mut found);
        found
    }

    fn take(&mut self) -> Checkpoint {
        let (ours, home) = (self.top.with_file_name("ours"), self.top.with_file_name("home"));
        let place = Place { folder: &self.top, home: &home, ours: &ours, is_first: false, since: None };
        self.tale.push("checkpoint".to_owned());
        self.checkpoints.take(&place, |_| false).unwrap()
    }

    /// Undoes what a comparison tells.
    fn undo(&self, from: &Checkpoint, found: &Differences) {
        let place = |name: &[u8]| self.top.join(std::ffi::OsStr::from_bytes(name));
        let stored = |rest: &Rest| Stored { name: rest.name.clone(), blob: rest.blobs[0].clone() };
        let wanted: Vec<Stored> = found.rest.iter().filter(|rest| !rest.mode_only).map(stored).collect();
        let old = from.read(&wanted);
        let remove = |path: &Path| {
            fs::remove_file(path).unwrap();
            for folder in path.ancestors().skip(1).take_while(|folder| *folder != self.top) {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        };
        for file in found.found.iter().filter(|file| file.before.is_none()) {
            remove(&place(&file.name));
        }
        for rest in found.rest.iter().filter(|rest| !rest.mode_only && rest.modes[1] != "000000") {
            remove(&place(&rest.name));
        }
        for file in &found.found {
            let Some(before) = &file.before else { continue };
            let path = place(&file.name);
            if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                continue; // with something that is not told, which stays
            }
            if path.symlink_metadata().is_ok_and(|found| found.file_type().is_fifo()) {
                fs::remove_file(&path).unwrap();
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, before).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(file.mode.unwrap())).unwrap();
        }
        for rest in &found.rest {
            let path = place(&rest.name);
            let mode = u32::from_str_radix(rest.modes[0].get(3..).unwrap(), 8).unwrap();
            if rest.mode_only {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            } else if rest.modes[0] == "120000" {
                let target = std::ffi::OsString::from_vec(old[&rest.name].clone());
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(target, path).unwrap();
            } else if rest.modes[0] != "000000" {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, &old[&rest.name]).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }

    fn tell(mut self) {
        for _ in 0..self.chance.from(1, 3) {
            // Or what git did not list until now may be taken for new.
            sleep(Duration::from_millis(25));
            let from = self.take();
            let before = self.tree();
            for _ in 0..self.chance.from(1, 6) {
                self.act();
                if self.chance.is(20) {
                    self.take();
                }
            }
            let after = self.tree();
            let to = self.take();
            let found = from.compare(&to, &HashSet::new(), &HashSet::new(), 200);
            self.check(&from, &before, &after, &found);
        }
    }

    fn check(&self, from: &Checkpoint, before: &Tree, after: &Tree, found: &Differences) {
        let name = |name: &Name| String::from_utf8(name.clone()).unwrap();
        let left: BTreeSet<String> = found.left_out.iter().map(name).collect();
        let told: BTreeSet<String> = found.found.iter().map(|file| name(&file.name)).collect();
        let told: BTreeSet<String> = told.into_iter().chain(found.rest.iter().map(|rest| name(&rest.name))).collect();
        let tale = || format!("{:#?}\ntold {told:?}, left {left:?}", self.tale);
        for name in told.iter().chain(&left) {
            assert!(before.get(name) != after.get(name), "nothing changed in {name:?}: {}", tale());
        }
        self.undo(from, found);
        let now = self.tree();
        let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        for name in names {
            let is_known = {
                let seen = from.repository.seen();
                seen.at(name.as_bytes(), from.look).is_some()
            };
            if before.get(name).is_none() && now.get(name) == Some(&Thing::Pipe) {
                continue; // git lists no pipes
            }
            let is_folder = self.top.join(name).symlink_metadata().is_ok_and(|found| found.is_dir());
            if told.contains(name) && is_folder && after.keys().any(|other| other.starts_with(&format!("{name}/"))) {
                continue; // the undo says so
            }
            let was_ignored = before.contains_key(name) && !is_known;
            let is_ignored_now = !before.contains_key(name) && !told.contains(name);
            let is_back = same(before.get(name), now.get(name));
            if was_ignored || is_ignored_now {
                assert!(is_back || same(after.get(name), now.get(name)), "{name:?} was lost: {}", tale());
                let is_ignored = was_ignored || self.is_ignored(name);
                assert!(is_ignored || left.contains(name) || is_back, "{name:?} was made: {}", tale());
            } else {
                let is_left = left.contains(name) && same(after.get(name), now.get(name));
                assert!(is_back || is_left, "{name:?}: {:?}, {:?}: {}", before.get(name), now.get(name), tale());
            }
        }
    }

    /// Whether git ignored a file when it was made: it is not told either way.
    fn is_ignored(&self, name: &str) -> bool {
        let rules = fs::read_to_string(self.top.join(".gitignore")).unwrap_or_default();
        let is_any = self.tale.iter().any(|line| line.contains(".gitignore"));
        is_any || !rules.is_empty() || name.starts_with("nested/")
    }
}

/// A pipe may have come from a pipe; permissions other than for execution are not of interest.
fn same(one: Option<&Thing>, two: Option<&Thing>) -> bool {
    one == two
}

fn walk(top: &Path, folder: &Path, found: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
        if name == ".git" || path.join(".git").exists() && about.is_dir() {
            continue;
        }
        if about.is_dir() {
            walk(top, &path, found);
            continue;
        }
        let thing = if about.is_symlink() {
            Thing::Link(fs::read_link(&path).unwrap().into_os_string().into_vec())
        } else if about.is_file() {
            Thing::File(fs::read(&path).unwrap(), about.permissions().mode() & 0o100 != 0)
        } else {
            Thing::Pipe
        };
        found.insert(name, thing);
    }
}

/// More: `STORIES=0-2000 cargo test -p claude-ide-edits --lib stories`; `STORIES=17-18` is a single one.
#[test]
fn what_a_comparison_tells_brings_each_file_back() {
    let wanted = std::env::var("STORIES").unwrap_or_else(|_| "0-12".to_owned());
    let (first, end) = wanted.split_once('-').unwrap();
    let (first, end): (u64, u64) = (first.parse().unwrap(), end.parse().unwrap());
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let tell = |seed| {
                Story::new(seed).tell();
                eprintln!("story {seed}");
            };
            scope.spawn(move || (first + thread..end).step_by(2).for_each(tell));
        }
    });
}
