//! What other programs do, too, beside them: patterns beside git's, merges beside diff3's.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::{Component, Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::LazyLock,
};

use claude_ide_edits::three_way;
use claude_ide_server::testing;

fn run(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

static REPOSITORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap().keep();
    let made = run(Command::new("git").args(["init", "--quiet", "--bare"]).arg(&folder), b"");
    assert!(made.status.success(), "{made:?}");
    folder
});

/// What git says in a folder, each thing that ends with a zero.
fn git(tree: &Path, args: &[&str], input: &[u8]) -> Vec<String> {
    let mut command = Command::new("git");
    command.arg("--git-dir").arg(&*REPOSITORY).arg("--work-tree").arg(tree).args(args).current_dir(tree);
    command.env("HOME", tree).env("GIT_CONFIG_NOSYSTEM", "1").env_remove("XDG_CONFIG_HOME");
    let output = run(&mut command, input);
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect()
}

/// Patterns, an empty line, paths. A pattern means what it means in .gitattributes, where one that names a folder does not mean what is
/// in it; all of them as a .gitignore hide what git does not list.
pub(crate) fn globs(bytes: &[u8]) {
    const LETTERS: &[u8] = b"abc/*?[]-!.\\#^ \n";
    let letter = |byte: &u8| if LETTERS.contains(byte) { *byte } else { LETTERS[usize::from(*byte) % LETTERS.len()] };
    let text = String::from_utf8(bytes.iter().take(120).map(letter).collect()).unwrap();
    let (patterns, paths) = text.split_once("\n\n").unwrap_or((&text, "a\nb.c\na/b\na/b/c"));
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_)) && part.as_os_str().len() < 100;
    let paths: BTreeSet<&str> = paths
        .lines()
        .filter(|path| !path.is_empty() && !path.ends_with('/') && !path.contains("//") && !path.contains("./"))
        .filter(|path| !path.ends_with("/.") && Path::new(path).components().all(is_name))
        .collect();
    let tree = tempfile::tempdir().unwrap();
    let mut files = BTreeSet::new();
    for path in paths {
        let at = tree.path().join(path);
        // One may be a folder of another.
        if fs::create_dir_all(at.parent().unwrap()).is_ok() && fs::write(at, "").is_ok() {
            files.insert(path);
        }
    }
    // Patterns that git, `ignore` and `globset` read differently are left out: a range that runs backwards, `!` alone, spaces at the
    // end, parts without a name, `.`, escapes of `/` and in brackets, brackets of all but some letters (where `globset` takes a `/`, too),
    // and several `*` that are part of a name or more than two (git lets some of them span folders, against its documentation).
    let is_odd_part = |part: &str| part == "." || part.contains("**") && part != "**";
    let is_odd = |line: &str| {
        let has_odd_brackets = line.contains('[') && ["\\", "[!", "[^"].iter().any(|odd| line.contains(odd));
        let has_odd_slash = line.contains("//") || line.contains("\\/");
        let has_odd_end = line == "!" || line.ends_with(' ');
        has_odd_end || has_odd_slash || has_odd_brackets || line.trim_start_matches('!').split('/').any(is_odd_part)
    };
    let is_known = |line: &&str| !is_odd(line) && testing::matches(line, "a").is_ok();
    let patterns: Vec<&str> = patterns.lines().filter(is_known).collect();
    alone(tree.path(), &patterns, &files);
    fs::write(tree.path().join(".gitignore"), patterns.join("\n") + "\n").unwrap();
    let listed: BTreeSet<String> = testing::list(tree.path()).into_iter().collect();
    let expected = git(tree.path(), &["ls-files", "-z", "--others", "--exclude-standard"], b"");
    assert_eq!(listed, expected.into_iter().collect(), "{patterns:?} of {files:?}");
}

/// One pattern at a time.
fn alone(tree: &Path, patterns: &[&str], files: &BTreeSet<&str>) {
    // What .gitattributes has other words for.
    let is_plain = |line: &&&str| !line.is_empty() && !line.contains([' ', '!', '#', '\\']) && !line.ends_with('/');
    let patterns: Vec<_> = patterns.iter().filter(is_plain).collect();
    let attributes: String = patterns.iter().enumerate().map(|(at, line)| format!("{line} p{at}\n")).collect();
    fs::write(tree.join(".gitattributes"), attributes).unwrap();
    let names: Vec<_> = (0..patterns.len()).map(|at| format!("p{at}")).collect();
    let args: Vec<_> = ["check-attr", "-z", "--stdin"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let said = if names.is_empty() {
        Vec::new()
    } else {
        git(tree, &args, files.iter().map(|file| format!("{file}\0")).collect::<String>().as_bytes())
    };
    fs::remove_file(tree.join(".gitattributes")).unwrap();
    for said in said.chunks(3) {
        let [path, attribute, value] = said else { panic!("{said:?}") };
        let pattern = patterns[attribute[1..].parse::<usize>().unwrap()];
        if let Ok(matches) = testing::matches(pattern, path) {
            assert_eq!(matches, value == "set", "{pattern:?} and {path:?}");
        }
    }
}

/// "base|mine|theirs", each letter a line.
pub(crate) fn merge(bytes: &[u8]) {
    let letters = |text: &[u8]| text.iter().filter(|byte| **byte != b'\n').flat_map(|byte| [*byte, b'\n']).collect();
    let texts: Vec<Vec<u8>> = bytes.splitn(3, |byte| *byte == b'|').map(letters).collect();
    let [base, mine, theirs] = texts.as_slice() else { return };
    let merged = three_way(base, mine, theirs);
    assert_eq!(three_way(base, theirs, mine).overlaps, merged.overlaps, "in any order");
    for (one, other, expected) in [(base, theirs, theirs), (mine, base, mine), (mine, mine, mine)] {
        let merged = three_way(base, one, other);
        assert_eq!((&merged.text, merged.overlaps), (expected, 0));
    }
    // What differs is only certain where no line is there twice or has moved.
    let is_certain = |side: &Vec<u8>| {
        let of = |text: &[u8], other: &[u8]| {
            text.chunks(2).filter(|line| other.chunks(2).any(|it| it == *line)).flatten().copied().collect::<Vec<_>>()
        };
        let alone: BTreeSet<_> = side.chunks(2).collect();
        alone.len() * 2 == side.len() && of(base, side) == of(side, base)
    };
    if ![base, mine, theirs].into_iter().all(is_certain) || bytes.contains(&0) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let paths = ["mine", "base", "theirs"].map(|name| folder.path().join(name));
    for (path, text) in paths.iter().zip([mine, base, theirs]) {
        fs::write(path, text).unwrap();
    }
    let Ok(diff3) = Command::new("diff3").args(["--merge", "--text"]).args(&paths).output() else { return };
    if diff3.status.success() {
        let [expected, found] =
            [&diff3.stdout, &merged.text].map(|text| String::from_utf8_lossy(text).replace('\n', ""));
        assert_eq!((found, merged.overlaps), (expected, 0));
    }
}
