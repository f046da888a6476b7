use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use super::content::MAX_FILE_BYTES;
use super::*;

struct Desk {
    home: tempfile::TempDir,
    top: PathBuf,
    checkpoints: Checkpoints,
}

impl Desk {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with_limits(files, Limits::default())
    }

    fn with_limits(files: &[(&str, &str)], limits: Limits) -> Self {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(&top).unwrap();
        let desk = Self { home, top, checkpoints: Checkpoints::with_limits(limits) };
        desk.git(&["init", "-q"]);
        desk.git(&["config", "core.autocrlf", "false"]);
        for (name, text) in files {
            desk.write(name, text);
        }
        desk.git(&["add", "-A"]);
        desk.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first", "--allow-empty"]);
        desk
    }

    fn git(&self, arguments: &[&str]) -> String {
        let out = Command::new("git").args(arguments).current_dir(&self.top).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn ours(&self) -> PathBuf {
        self.home.path().join("ours")
    }

    fn take_without(&mut self, withheld: &str, is_first: bool) -> Checkpoint {
        let (ours, home) = (self.ours(), self.home.path().join("home"));
        let place = Place { folder: &self.top, home: &home, ours: &ours, is_first, since: None };
        self.checkpoints.take(&place, |path| path.ends_with(withheld)).unwrap()
    }

    fn take_since(&mut self, since: SystemTime) -> Checkpoint {
        let (ours, home) = (self.ours(), self.home.path().join("home"));
        let place = Place { folder: &self.top, home: &home, ours: &ours, is_first: false, since: Some(since) };
        self.checkpoints.take(&place, |_| false).unwrap()
    }

    /// Until git need not read the files to know that they are unchanged.
    fn settle(&self) {
        let touched = self.top.join(".git/settled");
        fs::write(&touched, "").unwrap();
        wait_longer_than_clocks_lag(&touched);
        self.git(&["update-index", "-q", "--refresh"]);
        fs::File::options()
            .write(true)
            .open(self.top.join(".git/index"))
            .unwrap()
            .set_modified(SystemTime::now())
            .unwrap();
    }

    fn take(&mut self) -> Checkpoint {
        self.take_without("nothing", false)
    }

    /// Our folders that are not removed yet.
    fn copies(&self) -> Vec<PathBuf> {
        fs::read_dir(self.ours()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    fn wait_copies(&self, count: usize) {
        // Another process removes them, and lets others go first.
        let mut left = 12_000;
        while self.copies().len() != count {
            left -= 1;
            assert!(left > 0, "{:?}", self.copies());
            sleep(Duration::from_millis(10));
        }
    }
}

fn compare(from: &Checkpoint, to: &Checkpoint) -> Differences {
    from.compare(to, &HashSet::new(), &HashSet::new(), 200)
}

/// Until file systems tell the time from that at which a file was made.
fn wait_longer_than_clocks_lag(path: &Path) {
    let created = path.metadata().unwrap().modified().unwrap();
    while created.elapsed().unwrap_or_default() < Duration::from_millis(50) {
        sleep(Duration::from_millis(5));
    }
}

/// Until the file system's clock has passed the present moment.
fn wait_for_another_time(folder: &Path) {
    let (now, path) = (SystemTime::now(), folder.join(".git/time"));
    loop {
        fs::write(&path, "").unwrap();
        if path.metadata().unwrap().modified().unwrap() > now {
            return;
        }
    }
}

fn names(found: &[FoundFile]) -> Vec<&str> {
    found.iter().map(|file| str::from_utf8(&file.name).unwrap()).collect()
}

#[test]
fn a_file_changed_at_the_moment_it_was_added_is_found() {
    // Git does not see the change by size or time, so it reads files that are as new as its index.
    let mut desk = Desk::new(&[("a.txt", "a\n")]);
    desk.git(&["config", "core.trustctime", "false"]);
    let (file, index) = (desk.top.join("a.txt"), desk.top.join(".git/index"));
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3_600);
    let set_time = |path: &Path| fs::File::options().write(true).open(path).unwrap().set_modified(an_hour_ago).unwrap();
    set_time(&file);
    desk.git(&["update-index", "--refresh"]);
    desk.write("a.txt", "z\n");
    set_time(&file);
    set_time(&index);
    let from = desk.take();
    desk.write("a.txt", "by a command\n");
    let found = compare(&from, &desk.take()).found;
    assert_eq!(found.first().and_then(|file| file.before.as_deref()), Some(b"z\n".as_slice()));
}

#[test]
fn finds_the_earlier_contents_of_changed_made_and_removed_files() {
    let (odd, like_gits) = ("odd \\ name\té.txt", format!("{:040} blob 3\nabc\n\0-1 missing\n\n", 1));
    let mut desk = Desk::new(&[("a.txt", &like_gits), ("deep/b.txt", "b\r\n"), (odd, ""), ("same.txt", "same")]);
    desk.write("untracked.txt", "unended");
    let from = desk.take();
    desk.write("a.txt", "A\n");
    desk.write("untracked.txt", "U\n");
    desk.write("new.txt", "new\n");
    fs::remove_file(desk.top.join("deep/b.txt")).unwrap();
    desk.write(odd, "x");
    let found = compare(&from, &desk.take());
    assert_eq!(names(&found.found), ["a.txt", "deep/b.txt", odd, "untracked.txt", "new.txt"]);
    let before: Vec<Option<&[u8]>> = found.found.iter().map(|file| file.before.as_deref()).collect();
    assert_eq!(before, [Some(like_gits.as_bytes()), Some(b"b\r\n"), Some(b""), Some(b"unended"), None]);
    assert_eq!(found.found.first().unwrap().mode, Some(0o644));
    assert_eq!((found.left_out, found.rest, found.too_many), (Vec::new(), Vec::new(), None));
}

#[test]
fn line_ends_that_git_would_convert_stay_as_on_disk() {
    let mut desk = Desk::new(&[(".gitattributes", "*.txt text eol=crlf\n"), ("a.txt", "one\r\n"), ("b.md", "b\n")]);
    desk.git(&["config", "core.autocrlf", "true"]);
    let from = desk.take();
    desk.write("a.txt", "ONE\r\n");
    let found = compare(&from, &desk.take());
    assert_eq!(found.found.first().unwrap().before.as_deref(), Some(b"one\r\n".as_slice()));
    let contained = from.contained(&[desk.top.join("b.md")]);
    assert_eq!(contained.first().unwrap().before.as_deref(), Some(b"b\n".as_slice()));
}

#[test]
fn links_and_permissions_are_the_rest() {
    let mut desk = Desk::new(&[("run.sh", "x\n"), ("a.txt", "a\n")]);
    let from = desk.take();
    fs::set_permissions(desk.top.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("a.txt", desk.top.join("link")).unwrap();
    let found = compare(&from, &desk.take());
    let rest: Vec<(&[u8], &str, bool)> =
        found.rest.iter().map(|rest| (rest.name.as_slice(), rest.modes[1].as_str(), rest.mode_only)).collect();
    assert_eq!(rest, [(b"link".as_slice(), "120000", false), (b"run.sh", "100755", true)]);
    assert!(found.found.is_empty());
}

#[test]
fn of_too_many_files_the_others_are_the_rest() {
    let mut desk = Desk::new(&[("old.txt", "old")]);
    let from = desk.take();
    for number in 0..4 {
        desk.write(&format!("{number}.txt"), "new");
    }
    desk.write("old.txt", "changed");
    let to = desk.take();
    let found = from.compare(&to, &HashSet::new(), &HashSet::new(), 2);
    assert_eq!(names(&found.found), ["old.txt", "0.txt"]);
    assert_eq!((found.rest.len(), found.too_many), (3, Some(5)));
    let edited = ["2.txt", "3.txt", "old.txt"].map(|name| desk.top.join(name)).into();
    let found = from.compare(&to, &HashSet::new(), &edited, 2);
    assert_eq!(names(&found.found), ["old.txt", "2.txt", "3.txt", "0.txt", "1.txt"]);
    assert_eq!((found.rest.len(), found.too_many), (0, None));
}

#[test]
fn the_users_files_and_uncopied_ones_are_not_among_them() {
    let mut desk = Desk::new(&[("mine.txt", "")]);
    desk.write("secret.txt", "before");
    desk.write("program", &"x".repeat(MAX_FILE_BYTES + 1));
    let from = desk.take_without("secret.txt", false);
    for name in ["mine.txt", "claude.txt", "secret.txt"] {
        desk.write(name, name);
    }
    desk.write("large.txt", &"x".repeat(MAX_FILE_BYTES + 1));
    fs::set_permissions(desk.top.join("program"), fs::Permissions::from_mode(0o755)).unwrap();
    let to = desk.take_without("secret.txt", false);
    let found = from.compare(&to, &[desk.top.join("mine.txt")].into(), &HashSet::new(), 200);
    assert_eq!(names(&found.found), ["claude.txt"]);
    assert!(found.rest.iter().map(|rest| (rest.name.as_slice(), rest.mode_only)).eq([(b"program".as_slice(), true)]));
    let mut left_out = found.left_out;
    left_out.sort();
    assert_eq!(left_out, [b"large.txt".to_vec(), b"secret.txt".to_vec()]);
    assert!(compare(&to, &desk.take_without("secret.txt", false)).left_out.is_empty());
}

#[test]
fn as_much_is_copied_as_there_is_room_for() {
    let limits = Limits { bytes: 1000, files: 3, ..Limits::default() };
    let mut desk = Desk::with_limits(&[("tracked.txt", "")], limits);
    let from = desk.take();
    desk.write("a.txt", &"a".repeat(600));
    desk.write("b.txt", &"b".repeat(600));
    for name in ["tracked.txt", "c.txt", "d.txt"] {
        desk.write(name, name);
    }
    let found = compare(&from, &desk.take());
    assert_eq!(names(&found.found), ["tracked.txt", "a.txt", "c.txt"]);
    let mut left_out = found.left_out;
    left_out.sort();
    assert_eq!(left_out, [b"b.txt".to_vec(), b"d.txt".to_vec()]);
}

#[test]
fn a_file_that_was_there_all_the_time_or_came_from_outside_was_not_made() {
    let text = "text that moves\n".repeat(20);
    let mut desk = Desk::new(&[("moved.txt", text.as_str()), (".gitignore", "*.old\n"), ("folder/in.txt", "in")]);
    desk.write("there.old", "there");
    desk.write("changed.old", "before");
    desk.write("nested/theirs.txt", "theirs");
    Command::new("git").args(["init", "-q"]).current_dir(desk.top.join("nested")).status().unwrap();
    let outside = desk.home.path().join("outside.txt");
    fs::write(&outside, "theirs").unwrap();
    wait_longer_than_clocks_lag(&outside);
    let from = desk.take();
    desk.write("changed.old", "after");
    desk.write("made.txt", "made");
    desk.write(".gitignore", "");
    fs::remove_dir_all(desk.top.join("nested/.git")).unwrap();
    fs::rename(outside, desk.top.join("inside.txt")).unwrap();
    fs::rename(desk.top.join("moved.txt"), desk.top.join("here.txt")).unwrap();
    fs::rename(desk.top.join("folder"), desk.top.join("elsewhere")).unwrap();
    desk.write("here.txt", &(text + "and more\n"));
    let found = compare(&from, &desk.take());
    let expected = [".gitignore", "folder/in.txt", "moved.txt", "elsewhere/in.txt", "here.txt", "made.txt"];
    assert_eq!(names(&found.found), expected);
    assert_eq!(found.left_out, [b"changed.old".to_vec(), b"inside.txt".to_vec()]);
}

#[test]
fn another_name_of_a_file_is_not_a_file_that_was_moved() {
    let mut desk = Desk::new(&[("a.txt", "a\n"), (".gitignore", "*.old\n"), ("in/b.txt", "b\n")]);
    fs::hard_link(desk.top.join("a.txt"), desk.top.join("mine.old")).unwrap();
    wait_longer_than_clocks_lag(&desk.top.join(".gitignore"));
    let from = desk.take();
    desk.write("new", "by a command\n");
    fs::rename(desk.top.join("new"), desk.top.join("a.txt")).unwrap();
    fs::rename(desk.top.join("in"), desk.top.join("elsewhere")).unwrap();
    desk.write("in/b.txt", "another\n");
    desk.write(".gitignore", "");
    let found = compare(&from, &desk.take());
    assert_eq!(names(&found.found), [".gitignore", "a.txt", "in/b.txt", "elsewhere/b.txt"]);
    assert_eq!(found.left_out, [b"mine.old".to_vec()], "its links changed, nothing else is known");
}

#[test]
fn the_bytes_on_disk_are_held_whatever_git_makes_of_them() {
    let attributes = "*.big filter=lfs\n*.id ident\n*.utf working-tree-encoding=UTF-16LE\n*.auto text=auto eol=crlf\n";
    let mut desk = Desk::new(&[(".gitattributes", attributes)]);
    desk.git(&["config", "filter.lfs.clean", "touch ran; tr a-z n-za-m"]);
    desk.git(&["config", "filter.lfs.smudge", "touch ran; tr a-z n-za-m"]);
    let files: [(&str, &[u8]); 6] = [
        ("a.big", b"content"),
        ("b.id", b"$Id: by hand $\n$Id$\n"),
        ("c.utf", b"a\0b\0\n\0"),
        ("d.auto", b"dos\r\nunix\n"),
        ("e.txt", b"dos\r\n"),
        ("f.auto", b"unix\n"),
    ];
    for (name, bytes) in files {
        fs::write(desk.top.join(name), bytes).unwrap();
    }
    desk.git(&["config", "core.autocrlf", "input"]);
    desk.git(&["add", "-A"]);
    desk.settle();
    fs::remove_file(desk.top.join("ran")).unwrap();
    let from = desk.take();
    for (name, _) in files {
        desk.write(name, "by a command\n");
    }
    let found = compare(&from, &desk.take());
    let before: Vec<(&[u8], Option<&[u8]>)> =
        found.found.iter().map(|file| (file.name.as_slice(), file.before.as_deref())).collect();
    assert_eq!(before, files.map(|(name, bytes)| (name.as_bytes(), Some(bytes))));
    assert!(!desk.top.join("ran").exists(), "no filter ran");
}

#[test]
fn a_filter_that_a_file_had_once_has_no_say() {
    let mut desk = Desk::new(&[]);
    desk.git(&["config", "filter.loud.clean", "tr a-z A-Z"]);
    desk.write(".git/info/attributes", "* filter=loud\n");
    desk.write("a.txt", "as it was\n");
    desk.write("b.txt", "LOUD\n");
    desk.git(&["add", "-A"]);
    desk.write(".git/info/attributes", "");
    desk.settle();
    let from = desk.take();
    desk.write("a.txt", "by a command\n");
    desk.write("b.txt", "by a command\n");
    let found = compare(&from, &desk.take());
    let before: Vec<Option<&[u8]>> = found.found.iter().map(|file| file.before.as_deref()).collect();
    assert_eq!(before, [Some(b"as it was\n".as_slice()), Some(b"LOUD\n")]);
}

#[test]
fn a_replaced_object_is_not_what_the_file_was() {
    let mut desk = Desk::new(&[("a.txt", "as it was\n"), ("b.txt", "other\n")]);
    desk.settle();
    let blob = |name: &str| desk.git(&["rev-parse", &format!("HEAD:{name}")]);
    desk.git(&["replace", &blob("a.txt"), &blob("b.txt")]);
    let from = desk.take();
    desk.write("a.txt", "by a command\n");
    let found = compare(&from, &desk.take());
    assert_eq!(found.found.first().unwrap().before.as_deref(), Some(b"as it was\n".as_slice()));
}

#[test]
fn the_bits_of_the_index_have_no_say() {
    let mut desk =
        Desk::new(&[("assumed.txt", "a\n"), ("skipped.txt", "s\n"), ("in/a.txt", "a\n"), ("out/b.txt", "b\n")]);
    desk.settle();
    desk.git(&["update-index", "--assume-unchanged", "assumed.txt"]);
    desk.git(&["update-index", "--skip-worktree", "skipped.txt"]);
    let from = desk.take();
    desk.write("assumed.txt", "by a command\n");
    desk.write("skipped.txt", "by a command\n");
    let found = compare(&from, &desk.take());
    assert_eq!(names(&found.found), ["assumed.txt", "skipped.txt"]);
    let before: Vec<Option<&[u8]>> = found.found.iter().map(|file| file.before.as_deref()).collect();
    assert_eq!(before, [Some(b"a\n".as_slice()), Some(b"s\n")]);
}

#[test]
fn what_is_not_checked_out_was_never_there() {
    for sparse in ["--sparse-index", "--no-sparse-index"] {
        let mut desk = Desk::new(&[("in/a.txt", "a\n"), ("out/b.txt", "b\n"), ("out/deep/c.txt", "c\n")]);
        desk.git(&["sparse-checkout", "set", "--cone", sparse, "in"]);
        let from = desk.take();
        desk.write("out/new.txt", "new\n");
        desk.write("out/b.txt", "by a command\n");
        desk.write("in/a.txt", "by a command\n");
        let found = compare(&from, &desk.take());
        assert_eq!(names(&found.found), ["in/a.txt", "out/b.txt", "out/new.txt"], "{sparse}");
        let before: Vec<Option<&[u8]>> = found.found.iter().map(|file| file.before.as_deref()).collect();
        assert_eq!(before, [Some(b"a\n".as_slice()), None, None]);
    }
}

#[test]
fn a_split_index_is_read_too() {
    let mut desk = Desk::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    desk.settle();
    desk.git(&["update-index", "--split-index"]);
    desk.write("b.txt", "staged\n");
    desk.git(&["add", "b.txt"]);
    desk.settle();
    let from = desk.take();
    desk.write("a.txt", "by a command\n");
    desk.write("b.txt", "by a command\n");
    let found = compare(&from, &desk.take());
    let before: Vec<Option<&[u8]>> = found.found.iter().map(|file| file.before.as_deref()).collect();
    assert_eq!(before, [Some(b"a\n".as_slice()), Some(b"staged\n")]);
}

#[test]
fn a_path_that_becomes_another_kind_of_thing_is_found_and_so_is_what_is_in_it() {
    let mut desk =
        Desk::new(&[("config", "committed\n"), ("folder/a.txt", "a\n"), ("pipe", "p\n"), ("real/b.txt", "b\n")]);
    desk.write("config", "not committed\n");
    let from = desk.take();
    fs::rename(desk.top.join("config"), desk.top.join("tmp")).unwrap();
    fs::create_dir(desk.top.join("config")).unwrap();
    fs::rename(desk.top.join("tmp"), desk.top.join("config/main")).unwrap();
    fs::remove_dir_all(desk.top.join("folder")).unwrap();
    desk.write("folder", "a file now\n");
    fs::remove_file(desk.top.join("pipe")).unwrap();
    Command::new("mkfifo").arg(desk.top.join("pipe")).status().unwrap();
    fs::rename(desk.top.join("real"), desk.top.join("moved")).unwrap();
    std::os::unix::fs::symlink("moved", desk.top.join("real")).unwrap();
    let found = compare(&from, &desk.take());
    let all = ["config", "folder/a.txt", "pipe", "real/b.txt", "config/main", "folder", "moved/b.txt"];
    assert_eq!(names(&found.found), all);
    let config = found.found.first().unwrap();
    assert_eq!(config.before.as_deref(), Some(b"not committed\n".as_slice()));
    let rest: Vec<&[u8]> = found.rest.iter().map(|rest| rest.name.as_slice()).collect();
    assert_eq!((rest, found.left_out), (vec![b"real".as_slice()], Vec::new()));
}

#[test]
fn what_changed_before_the_look_is_told() {
    let mut desk = Desk::new(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n"), ("gone/d.txt", "d\n")]);
    wait_longer_than_clocks_lag(&desk.top.join("gone/d.txt"));
    for round in 0..2 {
        desk.write("unchanged.txt", "u\n");
        wait_longer_than_clocks_lag(&desk.top.join("unchanged.txt"));
        let since = SystemTime::now();
        assert!(desk.take_since(since).early().is_empty());
        wait_longer_than_clocks_lag(&desk.top.join("unchanged.txt"));
        let since = SystemTime::now();
        wait_for_another_time(&desk.top);
        desk.write("a.txt", &format!("by a command {round}\n"));
        desk.write(&format!("made{round}.txt"), "m\n");
        let mut expected = vec![b"a.txt".to_vec(), format!("made{round}.txt").into_bytes()];
        if round == 0 {
            fs::remove_file(desk.top.join("gone/d.txt")).unwrap();
            expected.insert(1, b"gone/d.txt".to_vec());
            desk.checkpoints.forget();
        }
        assert_eq!(desk.take_since(since).early(), expected);
    }
}

#[test]
fn a_checkout_of_many_files_takes_no_room() {
    let mut desk =
        Desk::with_limits(&[("a.txt", "one\n"), ("b.txt", "one\n")], Limits { files: 0, ..Limits::default() });
    desk.settle();
    let from = desk.take();
    desk.write("a.txt", "two\n");
    desk.write("b.txt", "two\n");
    desk.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "second"]);
    desk.settle();
    let found = compare(&from, &desk.take());
    assert_eq!((names(&found.found), found.left_out), (vec!["a.txt", "b.txt"], Vec::new()));
}

#[test]
fn finds_the_contents_of_unchanged_files() {
    let mut desk = Desk::new(&[("a.txt", "a\n"), ("'odd'.txt", "odd\n")]);
    let taken = desk.take();
    let contained = taken.contained(&["a.txt", "'odd'.txt", "none.txt", ""].map(|name| desk.top.join(name)));
    assert_eq!(names(&contained), ["'odd'.txt", "a.txt"]);
    assert_eq!(contained.first().unwrap().before.as_deref(), Some(b"odd\n".as_slice()));
}

#[test]
fn copies_go_when_they_are_many_or_forgotten_but_not_before_their_checkpoints() {
    let mut desk = Desk::with_limits(&[], Limits { all_bytes: 10, ..Limits::default() });
    desk.write("a.txt", "more than ten bytes");
    let first = desk.take();
    let same = desk.take_without("nothing", false);
    assert_eq!(desk.copies().len(), 1, "a turn that needs them goes on");
    let later = desk.take_without("nothing", true);
    assert_eq!(desk.copies().len(), 2);
    assert!(compare(&first, &later).left_out.is_empty(), "of other copies");
    drop((first, same));
    desk.wait_copies(1);
    desk.checkpoints.forget();
    assert_eq!(later.contained(&[desk.top.join("a.txt")]).len(), 1);
    drop(later);
    desk.wait_copies(0);
}

#[test]
fn a_repository_of_the_whole_home_and_a_folder_without_one_have_no_checkpoints() {
    let desk = Desk::new(&[]);
    let (outside, ours) = (tempfile::tempdir().unwrap(), desk.ours());
    for (folder, home) in [(desk.top.as_path(), desk.top.join("home")), (outside.path(), PathBuf::from("/home"))] {
        let place = Place { folder, home: &home, ours: &ours, is_first: false, since: None };
        let mut checkpoints = Checkpoints::default();
        assert_eq!(checkpoints.take(&place, |_| false).err(), Some(NoCheckpoint::NoRepository));
        assert!(checkpoints.states().is_empty());
    }
}

#[test]
fn a_work_tree_whose_git_fails_twice_is_tried_again_after_a_pause() {
    let mut desk =
        Desk::with_limits(&[("a.txt", "")], Limits { pause: Duration::from_millis(100), ..Limits::default() });
    let head = desk.top.join(".git/HEAD");
    let reference = fs::read(&head).unwrap();
    let take = |desk: &mut Desk| {
        let (ours, home) = (desk.ours(), desk.home.path().join("home"));
        let place = Place { folder: &desk.top, home: &home, ours: &ours, is_first: false, since: None };
        desk.checkpoints.take(&place, |_| false).map(|_| ())
    };
    let from = desk.take();
    for _ in 0..2 {
        fs::remove_file(&head).unwrap();
        assert_eq!(take(&mut desk), Err(NoCheckpoint::Failed));
        assert_eq!(desk.checkpoints.states(), [(desk.top.clone(), false)]);
        assert_eq!(take(&mut desk), Err(NoCheckpoint::Paused));
        fs::write(&head, &reference).unwrap();
        assert_eq!(take(&mut desk), Err(NoCheckpoint::Pausing));
        assert_eq!(desk.checkpoints.states(), [(desk.top.clone(), true)]);
        while take(&mut desk) == Err(NoCheckpoint::Pausing) {
            sleep(Duration::from_millis(5));
        }
        assert_eq!(desk.checkpoints.states(), [(desk.top.clone(), false)]);
    }
    desk.write("a.txt", "by a command\n");
    assert_eq!(names(&compare(&from, &desk.take()).found), ["a.txt"]);
}

#[test]
fn what_differs_from_the_commit_is_told_without_withheld_files() {
    let desk = Desk::new(&[("in/é.txt", "a\n"), ("in/secret", "a\n"), ("out.txt", "a\n")]);
    let folder = desk.top.join("in");
    let is_withheld = |path: &Path| path.ends_with("secret");
    assert_eq!(uncommitted(&folder, is_withheld), Err(NoDiff::Same));
    desk.write("out.txt", "b\n");
    desk.write("in/secret", "b\n");
    assert_eq!(uncommitted(&folder, is_withheld), Err(NoDiff::Withheld));
    desk.write("in/é.txt", &"line\n".repeat(100_000));
    let found = uncommitted(&folder, is_withheld).unwrap();
    let text = String::from_utf8(found.text).unwrap();
    assert!(text.starts_with("diff --git a/é.txt b/é.txt\n") && text.len() == 128 * 1024, "{}", text.len());
    assert_eq!((found.withheld, text.contains("secret")), (1, false));
    let outside = tempfile::tempdir().unwrap();
    assert_eq!(uncommitted(outside.path(), is_withheld), Err(NoDiff::NoCommit));
}

#[test]
fn what_was_moved_is_told_with_both_names_unless_one_is_withheld() {
    let text = "a line\n".repeat(20);
    let desk = Desk::new(&[("old.txt", &text), ("secret", &(text.clone() + "PASSWORD\n"))]);
    desk.git(&["mv", "old.txt", "new.txt"]);
    desk.git(&["mv", "secret", "public.txt"]);
    let found = uncommitted(&desk.top, |path| path.ends_with("secret")).unwrap();
    let text = String::from_utf8(found.text).unwrap();
    assert!(text.contains("rename from old.txt\nrename to new.txt\n"), "{text}");
    assert!(text.contains("+++ b/public.txt\n") && !text.contains("secret"), "{text}");
}

#[test]
fn no_filter_runs_for_what_differs_from_the_commit() {
    let desk = Desk::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    for name in ["plain", "a=b", "with.dots=and=more"] {
        desk.git(&["config", &format!("filter.{name}.clean"), "touch ran; cat"]);
        desk.git(&["config", &format!("filter.{name}.required"), "true"]);
        desk.write(".git/info/attributes", &format!("a.txt filter={name}\n"));
        desk.write("a.txt", "A\n");
        desk.write("b.txt", "B\n");
        let found = uncommitted(&desk.top, |_| false).unwrap();
        let text = String::from_utf8(found.text).unwrap();
        assert!(!desk.top.join("ran").exists(), "{name}");
        assert_eq!((found.filtered, text.contains("a.txt")), (1, false), "{name}");
        assert!(text.contains("+B\n"));
    }
}
