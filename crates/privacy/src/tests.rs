use super::*;

fn deny(globs: &[&str], folders: &[&Path]) -> (Deny, Vec<BadGlob>) {
    let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
    Deny::new(&globs, folders.iter().map(|folder| folder.to_path_buf()).collect())
}

fn matches(glob: &str, path: &str) -> bool {
    let (deny, bad) = deny(&[glob], &[Path::new("/w"), Path::new("/w/inner")]);
    assert!(bad.is_empty(), "{bad:?}");
    deny.denies(Path::new(path)).is_some()
}

#[test]
fn a_glob_without_a_slash_is_for_names_in_any_case() {
    for (glob, name) in [
        (".env*", ".env"),
        (".env*", ".ENV.local"),
        ("*.pem", "a.pem"),
        ("id_{rsa,ed25519}", "id_ed25519"),
        ("{a,b{c,d}}.key", "BD.key"),
        ("k?y", "kéy"),
        ("n[ä-ö]me", "NÄME"),
        ("[!a]x", "bx"),
        ("[]x", "[]x"),
        ("[a&&b]", "&"),
        ("a,b", "a,b"),
        ("a.b+", "a.b+"),
        (r"a\b", r"a\b"),
        ("**", "any"),
        ("*", "two\nlines"),
    ] {
        assert!(matches(glob, &format!("/elsewhere/{name}")), "{glob} {name}");
    }
    for (glob, name) in [("*.pem", "a.pem.pub"), (".env", "x.env"), ("[!a]x", "ax"), ("a.b", "axb"), ("?", "ab")] {
        assert!(!matches(glob, &format!("/elsewhere/{name}")), "{glob} {name}");
    }
}

#[test]
fn a_glob_with_a_slash_is_for_paths_whole_or_from_the_innermost_folder() {
    for (glob, path) in [
        ("secret/*", "/w/secret/a"),
        ("secret/*", "/w/inner/secret/a"),
        ("**/secret/**", "/elsewhere/secret/a/b"),
        ("**/secret/**", "/w/secret/a"),
        ("/home/**", "/home/a/b"),
        ("a/**/b", "/w/a/b"),
        ("a[/b]", "/w/a[/b]"),
        ("a/**/b", "/w/a/x/y/b"),
    ] {
        assert!(matches(glob, path), "{glob} {path}");
    }
    for (glob, path) in [("secret/*", "/w/secret/a/b"), ("secret/*", "/elsewhere/secret/a"), ("inner/a", "/w/inner/a")]
    {
        assert!(!matches(glob, path), "{glob} {path}");
    }
}

#[test]
fn a_glob_that_cannot_be_read_is_reported_and_withholds_nothing() {
    let (deny, bad) = deny(&["{a", "b}", "[z-a]", "c"], &[]);
    assert_eq!(bad.iter().map(|bad| bad.glob).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(bad[0].why, "a `{` without its `}`");
    assert_eq!((deny.denies(Path::new("/c")), deny.denies(Path::new("/a"))), (Some(3), None));
}

#[test]
fn links_of_withheld_files_are_withheld() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    for name in ["deep/deeper", "node_modules/x"] {
        std::fs::create_dir_all(top.join(name)).unwrap();
        std::fs::write(top.join(name).join("a.key"), "").unwrap();
    }
    std::fs::write(top.join("plain"), "").unwrap();
    std::fs::hard_link(top.join("deep/deeper/a.key"), top.join("hard")).unwrap();
    std::fs::hard_link(top.join("plain"), top.join("plain too")).unwrap();
    std::os::unix::fs::symlink("deep/deeper/a.key", top.join("soft")).unwrap();
    let (deny, _) = deny(&["*.pem", "*.key"], &[&top]);
    assert_eq!(*deny.files(), [Withheld { path: top.join("deep/deeper/a.key"), glob: 1 }]);
    for (name, expected) in [("hard", Some(1)), ("soft", Some(1)), ("plain", None), ("plain too", None), ("no", None)] {
        assert_eq!(deny.denies(&top.join(name)), expected, "{name}");
    }
}

#[test]
fn a_glob_with_a_slash_is_for_paths_from_the_top_of_each_work_tree() {
    let home = tempfile::tempdir().unwrap();
    let main = home.path().join("main");
    for (top, name) in [(home.path().join("beside"), "beside"), (main.join(".claude/worktrees/inner"), "inner")] {
        let entry = main.join(".git/worktrees").join(name);
        std::fs::create_dir_all(&entry).unwrap();
        std::fs::write(entry.join("commondir"), "../..").unwrap();
        std::fs::create_dir_all(top.join("secret")).unwrap();
        std::fs::write(top.join(".git"), format!("gitdir: {}", entry.display())).unwrap();
        let (deny, _) = deny(&["secret/*"], &[&main]);
        assert_eq!(deny.denies(&top.join("secret/a")), Some(0), "{name}");
        assert_eq!(deny.denies(&top.join("public/a")), None, "{name}");
    }
    let (deny, _) = deny(&["secret/*"], &[&main]);
    assert_eq!(deny.denies(&home.path().join("other/secret/a")), None);
}
