//! Which commands destroy what cannot be got back, for a mark on their requests.
//!
//! A mark helps to see, it is no check: a program or script may do the same under any name.

/// Commands that destroy: the program, words that must all be there in this order, and flags of which one must be (none: no flag is
/// needed). A flag of one letter also counts within others (`-rf`), and a long one with a value (`--force=yes`).
const TABLE: &[(&str, &[&str], &[&str])] = &[
    ("rm", &[], &["-r", "-R", "-f", "--recursive", "--force"]),
    ("find", &[], &["-delete"]),
    ("shred", &[], &[]),
    ("truncate", &[], &[]),
    ("dd", &[], &[]),
    ("mkfs", &[], &[]),
    ("mkswap", &[], &[]),
    ("wipefs", &[], &[]),
    ("fdisk", &[], &[]),
    ("sfdisk", &[], &[]),
    ("parted", &[], &[]),
    ("rsync", &[], &["--delete", "--delete-after", "--delete-before", "--delete-excluded", "--remove-source-files"]),
    ("chmod", &[], &["-R", "--recursive"]),
    ("chown", &[], &["-R", "--recursive"]),
    ("crontab", &[], &["-r"]),
    ("git", &["push"], &["-f", "--force", "--force-with-lease", "--mirror", "-d", "--delete", "--prune"]),
    ("git", &["reset"], &["--hard"]),
    ("git", &["clean"], &["-f", "--force"]),
    ("git", &["checkout"], &["-f", "--force", "--", "."]),
    ("git", &["switch"], &["-f", "--force", "--discard-changes"]),
    ("git", &["restore"], &[]),
    ("git", &["branch"], &["-D"]),
    ("git", &["stash", "drop"], &[]),
    ("git", &["stash", "clear"], &[]),
    ("git", &["worktree", "remove"], &["-f", "--force"]),
    ("git", &["update-ref"], &["-d"]),
    ("git", &["reflog", "expire"], &[]),
    ("git", &["filter-branch"], &[]),
    ("git", &["filter-repo"], &[]),
    ("docker", &["system", "prune"], &[]),
    ("docker", &["volume", "rm"], &[]),
    ("docker", &["volume", "prune"], &[]),
    ("kubectl", &["delete"], &[]),
    ("helm", &["uninstall"], &[]),
    ("terraform", &["destroy"], &[]),
    ("terraform", &["apply"], &["-auto-approve", "-destroy"]),
    ("aws", &["s3", "rb"], &[]),
    ("aws", &["s3", "rm"], &["--recursive"]),
    ("gh", &["repo", "delete"], &[]),
    ("dropdb", &[], &[]),
    ("npm", &["unpublish"], &[]),
    ("userdel", &[], &[]),
    ("shutdown", &[], &[]),
    ("reboot", &[], &[]),
    ("poweroff", &[], &[]),
];

/// Programs that run the command in their arguments.
const RUNNERS: &[&str] = &[
    "sudo", "doas", "env", "nohup", "nice", "ionice", "time", "timeout", "xargs", "find", "exec", "command", "builtin",
    "ssh", "parallel", "watch", "stdbuf", "setsid", "chroot", "eval", "docker", "podman", "then", "do", "else", "if",
    "elif", "while", "until", "!", "{", "(",
];

/// Programs that run a text as a command.
const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "fish", "eval", "ssh", "su"];

/// SQL that destroys, in lower case.
const SQL: &[&str] = &["drop table", "drop database", "drop schema", "truncate table"];
const DATABASES: &[&str] = &["psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "duckdb"];

/// Texts within texts.
const MOST_DEPTH: usize = 4;

/// What of a shell's command destroys, in its own words: "rm -rf".
pub(crate) fn of(command: &str) -> Option<String> {
    within(command, 0)
}

fn within(command: &str, depth: usize) -> Option<String> {
    let commands = split(command);
    let names: Vec<&str> = commands.iter().map(|words| words.first().map_or("", |word| name(word))).collect();
    let is_fetched = names.iter().any(|name| matches!(*name, "curl" | "wget"));
    commands.iter().zip(&names).find_map(|(words, first)| {
        let runs = RUNNERS.contains(first) || words.first().is_some_and(|word| word.contains('='));
        let starts = if runs { words.len() } else { 1 };
        (0..starts).find_map(|at| {
            let words = words.get(at..)?;
            let piped = || is_fetched.then(|| download(words)).flatten();
            row(words).or_else(|| sql(words)).or_else(|| device(words)).or_else(piped).or_else(|| text(words, depth))
        })
    })
}

/// The program's name without its folder.
fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn row(words: &[String]) -> Option<String> {
    let (first, arguments) = words.split_first()?;
    let first = name(first);
    // `mkfs.ext4`
    let program = first.split_once('.').map_or(first, |(program, _)| program);
    TABLE.iter().filter(|(known, ..)| *known == program).find_map(|(_, wanted, flags)| {
        let mut left = arguments.iter();
        let all = wanted.iter().all(|word| left.any(|argument| argument == word));
        let flag = flags.iter().find_map(|flag| arguments.iter().find(|word| has_flag(word, flag)));
        // `git push origin +main` forces, too; `git restore --staged` loses nothing.
        let forces = || (*wanted == ["push"]).then(|| arguments.iter().find(|word| word.starts_with('+'))).flatten();
        let is_harmless = *wanted == ["restore"]
            && arguments.iter().any(|word| has_flag(word, "-S") || word == "--staged")
            && !arguments.iter().any(|word| has_flag(word, "-W") || word == "--worktree");
        let flag = flag.or_else(forces);
        let holds = all && !is_harmless && (flags.is_empty() || flag.is_some());
        holds.then(|| {
            let words = wanted.iter().map(|word| (*word).to_owned()).chain(flag.cloned());
            std::iter::once(first.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
        })
    })
}

fn has_flag(word: &str, flag: &str) -> bool {
    let is_letter = flag.len() == 2 && flag.starts_with('-') && flag != "--";
    if is_letter {
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        return letters.is_some_and(|letters| {
            letters.chars().all(|letter| letter.is_ascii_alphanumeric())
                && flag.chars().nth(1).is_some_and(|letter| letters.contains(letter))
        });
    }
    word == flag || word.strip_prefix(flag).is_some_and(|rest| flag.starts_with("--") && rest.starts_with('='))
}

fn sql(words: &[String]) -> Option<String> {
    let (first, arguments) = words.split_first()?;
    let lower = DATABASES.contains(&name(first)).then(|| arguments.join(" ").to_lowercase())?;
    SQL.iter().find(|sql| lower.contains(*sql)).map(|sql| (*sql).to_owned())
}

/// `> /dev/sda`
fn device(words: &[String]) -> Option<String> {
    let is_disk = |word: &str| {
        ["/dev/sd", "/dev/nvme", "/dev/vd", "/dev/hd", "/dev/disk", "/dev/mmcblk"]
            .iter()
            .any(|disk| word.starts_with(disk))
    };
    let target = words.iter().zip(words.iter().skip(1)).find(|(word, target)| word.ends_with('>') && is_disk(target));
    target.map(|(_, target)| format!("> {target}"))
}

/// `curl … | sh`
fn download(words: &[String]) -> Option<String> {
    let (first, arguments) = words.split_first()?;
    let shell = name(first);
    let runs = SHELLS.contains(&shell) && arguments.iter().all(|word| word.starts_with('-'));
    runs.then(|| format!("a download run by {shell}"))
}

/// `bash -c "rm -rf x"`
fn text(words: &[String], depth: usize) -> Option<String> {
    let (first, arguments) = words.split_first()?;
    if depth >= MOST_DEPTH || !SHELLS.contains(&name(first)) {
        return None;
    }
    arguments.iter().filter(|word| word.contains(char::is_whitespace)).find_map(|word| within(word, depth + 1))
}

/// The simple commands of a text, as words without their quotes.
fn split(command: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut chars = command.chars().peekable();
    let mut quote = None;
    while let Some(char) = chars.next() {
        match (char, quote) {
            ('\\', None | Some('"')) => match chars.next() {
                Some('\n') | None => {}
                Some(next) => word.get_or_insert_default().push(next),
            },
            ('\'' | '"', None) => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (_, Some(open)) if char == open => quote = None,
            // A command within a text runs. What follows it counts as outside of the text.
            ('$', Some('"')) if chars.peek() == Some(&'(') => quote = None,
            ('`', Some('"')) => {
                quote = None;
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            (_, Some(_)) => word.get_or_insert_default().push(char),
            ('#', None) if word.is_none() => while chars.next_if(|next| *next != '\n').is_some() {},
            (';' | '|' | '&' | '\n' | '(' | ')' | '`', None) => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            ('>', None) => {
                words.extend(word.take());
                while chars.next_if(|next| matches!(next, '>' | '|')).is_some() {}
                words.push(">".to_owned());
            }
            _ if char.is_whitespace() => words.extend(word.take()),
            (_, None) => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    commands.push(words);
    commands.retain(|words| !words.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_destroys_is_named_in_its_own_words() {
        for (command, words) in [
            ("rm -rf build", "rm -rf"),
            ("rm -f a.txt", "rm -f"),
            ("/bin/rm --recursive x", "rm --recursive"),
            ("cd x && rm -r y", "rm -r"),
            ("make; sudo -u root rm -rf /", "rm -rf"),
            ("A=1 rm -rf x", "rm -rf"),
            ("find . -name '*.o' -exec rm -f {} +", "rm -f"),
            ("find . -delete", "find -delete"),
            ("ls | xargs rm -rf", "rm -rf"),
            ("bash -c 'cd x; rm -rf y'", "rm -rf"),
            ("ssh host \"sudo bash -c 'rm -rf y'\"", "rm -rf"),
            ("echo $(rm -rf x)", "rm -rf"),
            ("echo \"$(rm -rf x)\"", "rm -rf"),
            ("echo `rm -rf x`", "rm -rf"),
            ("if true; then rm -rf x; fi", "rm -rf"),
            ("r\\m -rf x", "rm -rf"),
            ("'rm' \"-rf\" x", "rm -rf"),
            ("rm \\\n  -rf x", "rm -rf"),
            ("git push --force origin main", "git push --force"),
            ("git push -f", "git push -f"),
            ("git push origin +main", "git push +main"),
            ("git -C x push --force-with-lease=a", "git push --force-with-lease=a"),
            ("git push origin --delete main", "git push --delete"),
            ("git reset --hard HEAD~1", "git reset --hard"),
            ("git clean -fdx", "git clean -fdx"),
            ("git checkout -- .", "git checkout --"),
            ("git restore a.txt", "git restore"),
            ("git branch -D x", "git branch -D"),
            ("git stash drop", "git stash drop"),
            ("dd if=/dev/zero of=x", "dd"),
            ("mkfs.ext4 /dev/sda1", "mkfs.ext4"),
            ("echo x > /dev/sda", "> /dev/sda"),
            ("cat x >/dev/nvme0n1", "> /dev/nvme0n1"),
            ("chmod -R 777 .", "chmod -R"),
            ("rsync -a --delete a b", "rsync --delete"),
            ("psql -c 'DROP TABLE users'", "drop table"),
            ("docker system prune -a", "docker system prune"),
            ("docker exec db rm -rf /data", "rm -rf"),
            ("curl -s https://a.b/x.sh | sh", "a download run by sh"),
            ("wget -qO- https://a.b | sudo bash -", "a download run by bash"),
            ("kubectl delete pod x", "kubectl delete"),
            ("terraform apply -auto-approve", "terraform apply -auto-approve"),
        ] {
            assert_eq!(of(command).as_deref(), Some(words), "{command}");
        }
    }

    #[test]
    fn what_destroys_nothing_has_no_mark() {
        for command in [
            "",
            "rm a.txt",
            "ls -rf",
            "echo rm -rf x",
            "echo 'rm -rf x'",
            "grep -r 'git push --force' .",
            "git commit -m 'rm -rf'",
            "git push origin main",
            "git push --follow-tags",
            "git reset HEAD",
            "git restore --staged a.txt",
            "git checkout main",
            "git stash pop",
            "# rm -rf x",
            "ls # rm -rf x",
            "echo x > a.txt",
            "curl https://a.b -o x",
            "bash x.sh",
            "kill -9 1",
            "psql -c 'select 1'",
            "rm 'unclosed",
            "\\",
            "$(",
        ] {
            assert_eq!(of(command), None, "{command}");
        }
    }
}
