//! The file of a worktree's threads. Each change reads it, changes it and writes it under a lock, so that several editors agree.
//!
//! The texts that threads were written on lie beside it, each named after the SHA-1 of its contents.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use claude_ide_edits::{LineHunk, line_hunks};
use claude_ide_system::digest::digest;
use claude_ide_system::file::{Access, Whole, create_private_folder, lock, read_regular};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::anchor::{Found, Lines, find, find_spaced};
use crate::error::CommentError;
use crate::request::{Add, Known, Place, PlacedThread, Request, Said, Shown, Since};
use crate::thread::{Anchor, Author, Entry, LastRound, Millis, Now, Side, State, Thread};
use crate::{page, round};

/// In the folder.
const FILE: &str = "threads.json";
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Larger texts are not kept.
const MAX_TEXT: usize = 4 * 1024 * 1024;
const MAX_THREADS: usize = 5_000;
const MAX_ENTRIES: usize = 200;
const MAX_WORDS: usize = 64 * 1024;
const MAX_LINES: usize = 1_000;
/// A lock is held for milliseconds, unless its holder is stopped.
const MAX_WAIT: Duration = Duration::from_millis(300);

/// The threads of one worktree.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    root: PathBuf,
}

/// A text in which lines are looked for.
struct Seen<'a> {
    text: &'a [u8],
    name: Option<String>,
    lines: Vec<&'a [u8]>,
}

impl<'a> Seen<'a> {
    fn of(text: &'a [u8]) -> Self {
        Self { text, name: kept_name(text), lines: lines_of(text).collect() }
    }

    /// Lines, without their ends.
    fn quoted(&self, first: usize, count: usize) -> Vec<String> {
        let lines = self.lines.iter().skip(first).take(count);
        lines.map(|line| String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line)).into_owned()).collect()
    }
}

/// A text that lines were commented on in, and how the one looked at differs from it.
struct Before {
    text: Vec<u8>,
    hunks: Vec<LineHunk>,
}

impl Before {
    /// Where lines are of which white space alone was changed: never where another line has been all along.
    fn spaced(&self, wanted: Lines, seen: &Seen<'_>) -> Option<Lines> {
        let mut hunks = self.hunks.iter();
        let hunk = hunks.find(|hunk| hunk.old + hunk.old_count > wanted.first && hunk.old <= wanted.first)?;
        let before: Vec<_> = lines_of(&self.text).skip(hunk.old).take(hunk.old_count).collect();
        let now = seen.lines.get(hunk.new..hunk.new + hunk.new_count)?;
        let found = find_spaced(Lines { first: wanted.first - hunk.old, count: wanted.count }, &before, now)?;
        Some(Lines { first: hunk.new + found.first, count: found.count })
    }
}

/// By their names; `None`: the text is gone.
type Compared = HashMap<String, Option<Before>>;

/// The contents of the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    /// For people who read it.
    root: PathBuf,
    next: u64,
    threads: Vec<Thread>,
}

impl Contents {
    fn thread(&mut self, id: u64) -> Result<&mut Thread, CommentError> {
        self.threads.iter_mut().find(|thread| thread.id == id).ok_or(CommentError::Unknown(id))
    }

    /// In the order asked for.
    fn named(&self, ids: &[u64]) -> Vec<&Thread> {
        ids.iter().filter_map(|id| self.threads.iter().find(|thread| thread.id == *id)).collect()
    }
}

impl Store {
    /// The threads of the worktree at `root`, kept in `folder`.
    #[must_use]
    pub fn at(folder: PathBuf, root: PathBuf) -> Self {
        Self { folder, root }
    }

    /// Answers a request. `text` is the file's, where the request is about one.
    ///
    /// # Errors
    /// [`CommentError`]; then nothing was changed.
    pub fn answer(&self, request: Request, text: Option<&[u8]>) -> Result<Json, CommentError> {
        let text = text.map(plain);
        let text = text.as_deref();
        match request {
            Request::List(list) => {
                let contents = self.read()?;
                let since = if list.since { self.since(&contents) } else { HashMap::new() };
                Ok(shown(&contents, &since))
            }
            Request::Add(add) => self.change(|contents| {
                let seen = self.kept(text)?;
                Ok(begin(contents, add, seen.as_ref())?.into())
            }),
            Request::AddAll(adds) => self.change(|contents| {
                let seen = self.kept(text)?;
                Ok(adds.into_iter().map(|add| begin(contents, add, seen.as_ref()).ok()).collect())
            }),
            Request::Write(write) => self.change(|contents| {
                let words = checked(write.words)?;
                let thread = contents.thread(write.id)?;
                let before = thread.entries.iter().find(|entry| entry.by == Author::User && !entry.sent);
                let before = before.map_or("", |entry| entry.words.trim());
                if write.over.is_some_and(|over| over.trim() != before && words.trim() != before) {
                    return Err(CommentError::Changed);
                }
                thread.entries.retain(|entry| entry.by == Author::Claude || entry.sent);
                if !words.trim().is_empty() {
                    add_entry(thread, Author::User, words, false)?;
                }
                contents.threads.retain(|thread| !thread.entries.is_empty());
                Ok(Json::Bool(true))
            }),
            Request::Reply(reply) => self.change(|contents| {
                let words = checked(reply.words)?;
                add_entry(contents.thread(reply.id)?, Author::Claude, words, reply.done)?;
                Ok(Json::Bool(true))
            }),
            Request::Resolve(resolve) => self.change(|contents| {
                contents.thread(resolve.id)?.resolved = resolve.resolved;
                Ok(Json::Bool(true))
            }),
            Request::Place(place) => self.place(&place, text.unwrap_or_default()),
            Request::Round(wanted) => {
                let contents = self.read()?;
                Ok(round::message(&contents.named(&wanted.ids), &wanted.withheld).into())
            }
            Request::Page(wanted) => {
                let contents = self.read()?;
                let of = |ids: &Vec<u64>| page::shown(contents.named(ids), &wanted.withheld);
                Ok(wanted.sessions.iter().map(|(session, ids)| (session.clone(), of(ids))).collect())
            }
            Request::Sent(sent) => self.change(|contents| {
                for said in sent {
                    if let Ok(thread) = contents.thread(said.id) {
                        thread.round = Some(self.round(thread, said.session.clone())?);
                        mark_sent(thread, said);
                    }
                }
                Ok(Json::Bool(true))
            }),
            Request::Before(before) => {
                let mut contents = self.read()?;
                let round = contents.thread(before.id)?.round.as_ref();
                let text = round.and_then(|round| self.text(round.text.as_ref()?));
                Ok(text.map_or(Json::Null, |text| String::from_utf8_lossy(&text).into()))
            }
            Request::Tell(tell) => {
                let contents = self.read()?;
                let fits = |thread: &&Thread| {
                    let state = thread.state();
                    let is_known = thread.entries.iter().any(|entry| entry.by == Author::Claude || entry.sent);
                    is_known && tell.state.map_or(state < State::Done, |wanted| state == wanted)
                };
                let threads: Vec<&Thread> = contents.threads.iter().filter(fits).collect();
                Ok(round::list(&threads, &tell.withheld).into())
            }
        }
    }

    /// A text that is commented on. It is removed again if no lines of it are.
    fn kept<'a>(&self, text: Option<&'a [u8]>) -> Result<Option<Seen<'a>>, CommentError> {
        text.map_or(Ok(None), |text| {
            self.keep(text)?;
            Ok(Some(Seen::of(text)))
        })
    }

    /// Finds the threads of a file in a text, and remembers where they are.
    fn place(&self, place: &Place, text: &[u8]) -> Result<Json, CommentError> {
        let seen = Seen::of(text);
        let mut contents = self.read()?;
        if !place.passing && self.renamed(&contents, place, &seen).is_some() {
            contents = self.change(|latest| {
                if let Some(from) = self.renamed(latest, place, &seen) {
                    let moved = latest.threads.iter_mut().filter(|thread| thread.path.as_ref() == Some(&from));
                    moved.for_each(|thread| thread.path.clone_from(&place.path));
                }
                Ok(latest.clone())
            })?;
        }
        let is_here = |thread: &Thread| {
            (&thread.path, &thread.plan, thread.side) == (&place.path, &place.plan, place.side)
                && (thread.anchor.is_some() || thread.path.is_some())
        };
        let mut compared = Compared::default();
        let mut put = |contents: &mut Contents| {
            let (mut has_moved, mut is_based) = (false, false);
            for thread in contents.threads.iter_mut().filter(|thread| is_here(thread)) {
                let Some(anchor) = &mut thread.anchor else { continue };
                let known = place.known.iter().find(|known| known.id == thread.id);
                let placed = self.placed(anchor, known, &seen, &mut compared);
                has_moved |= placed != *anchor;
                is_based |= placed.now == Now::Same;
                *anchor = placed;
                thread.proposed &= place.passing || anchor.now != Now::Same;
            }
            (has_moved, is_based)
        };
        let (has_moved, _) = put(&mut contents);
        if has_moved && !place.passing {
            contents = self.change(|latest| {
                let (_, is_based) = put(latest);
                if is_based {
                    self.keep(text)?;
                }
                Ok(latest.clone())
            })?;
        }
        let here = contents.threads.iter().filter(|thread| is_here(thread));
        Ok(json(&here.map(shown_at).collect::<Vec<_>>()))
    }

    /// The former path of a file: nothing is there any more, this file has the very text that was commented on there, and it was made or
    /// renamed after the comment. A copy from before is another file.
    fn renamed(&self, contents: &Contents, place: &Place, seen: &Seen<'_>) -> Option<String> {
        let here = place.path.as_deref()?;
        let name = seen.name.as_deref().filter(|_| !seen.text.trim_ascii().is_empty())?;
        let is_gone = |path: &str| {
            let found = fs::symlink_metadata(self.root.join(path));
            found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let mut candidates = contents.threads.iter().filter(|thread| {
            let texts = [
                thread.anchor.as_ref().and_then(|anchor| anchor.text.as_deref()),
                thread.round.as_ref().and_then(|round| round.text.as_deref()),
            ];
            thread.side == Side::New && texts.contains(&Some(name))
        });
        candidates.find_map(|thread| {
            let path = thread.path.as_ref().filter(|path| *path != here)?;
            let commented = thread.entries.first()?.at;
            (self.changed_at(here)? > commented && is_gone(path)).then(|| path.clone())
        })
    }

    /// When a file was written or renamed last.
    #[cfg(unix)]
    fn changed_at(&self, path: &str) -> Option<Millis> {
        use std::os::unix::fs::MetadataExt as _;
        let found = fs::symlink_metadata(self.root.join(path)).ok()?;
        u64::try_from(found.ctime() * 1000 + found.ctime_nsec() / 1_000_000).ok()
    }

    /// When a file was written last: renames cannot be told.
    #[cfg(not(unix))]
    fn changed_at(&self, path: &str) -> Option<Millis> {
        let found = fs::symlink_metadata(self.root.join(path)).ok()?;
        let since = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok()
    }

    /// An anchor in another text. Where all lines are found, that text becomes the one to compare with; the caller keeps it.
    fn placed(&self, anchor: &Anchor, known: Option<&Known>, seen: &Seen<'_>, compared: &mut Compared) -> Anchor {
        let count = anchor.lines.len();
        let is_there = |first: usize| seen.quoted(first, count) == anchor.lines;
        let before = anchor.text.as_ref().and_then(|name| {
            let compare = || {
                let text = self.text(name)?;
                let hunks = line_hunks(&text, seen.text);
                Some(Before { text, hunks })
            };
            compared.entry(name.clone()).or_insert_with(compare).as_ref()
        });
        let by_text = match before {
            Some(before) => match find(anchor.lines(), &before.hunks) {
                Found::Gone(first) => before.spaced(anchor.lines(), seen).map_or(Found::Gone(first), Found::Changed),
                found => found,
            },
            None if is_there(anchor.first) => Found::Same(anchor.lines()),
            None => Found::Gone(anchor.first),
        };
        let known = known.map(|known| Lines { first: known.first, count: known.count });
        let was_deleted = matches!(anchor.now, Now::Outdated { deleted: true, .. });
        let mut deleted = false;
        let found = match (known, by_text) {
            (Some(known), _) if known.count == count && is_there(known.first) => Found::Same(known),
            (Some(known), Found::Same(lines)) if known.count > 0 && lines.contains(known) => by_text,
            (Some(known), _) if known.count > 0 => left_in(known, anchor, seen),
            (None, _) if !was_deleted => by_text,
            // They were deleted, and may have been put somewhere else.
            (_, Found::Same(_)) if before.is_some_and(|before| is_certain(anchor, before, seen)) => by_text,
            (_, Found::Same(Lines { first, .. }) | Found::Changed(Lines { first, .. }) | Found::Gone(first)) => {
                deleted = true;
                Found::Gone(known.map_or(first, |known| known.first))
            }
        };
        let mut placed = anchor.clone();
        match found {
            Found::Same(lines) => {
                placed.first = lines.first;
                placed.text.clone_from(&seen.name);
                placed.now = Now::Same;
            }
            Found::Changed(Lines { first, count }) => placed.now = Now::Changed { first, count },
            Found::Gone(first) => placed.now = Now::Outdated { first, deleted },
        }
        placed
    }

    /// The text that a file has on disk, where Claude reads it.
    fn on_disk(&self, path: &str) -> io::Result<Vec<u8>> {
        let most = u64::try_from(MAX_TEXT).unwrap_or(u64::MAX);
        Ok(plain(&read_regular(&self.root.join(path), most)?).into_owned())
    }

    fn round(&self, thread: &Thread, session: Option<String>) -> Result<LastRound, CommentError> {
        let mut round = LastRound { at: now(), session, text: None, first: 0, count: 0 };
        let Some(text) = thread.path.as_ref().and_then(|path| self.on_disk(path).ok()) else { return Ok(round) };
        round.text = self.keep(&text)?;
        if let Some(anchor) = thread.anchor.as_ref().filter(|_| thread.side == Side::New) {
            let placed = self.placed(anchor, None, &Seen::of(&text), &mut Compared::default());
            Lines { first: round.first, count: round.count } = placed.shown();
        }
        Ok(round)
    }

    /// What became of the threads' files since the last round of each.
    fn since(&self, contents: &Contents) -> HashMap<u64, Since> {
        let (mut texts, mut compared) = (HashMap::new(), HashMap::new());
        let mut found = HashMap::new();
        for thread in &contents.threads {
            let Some((path, round)) = thread.path.as_ref().zip(thread.round.as_ref()) else { continue };
            let Some(before) = &round.text else { continue };
            let since = match texts.entry(path).or_insert_with(|| self.on_disk(path)) {
                Ok(text) if digest(text) == *before => Since::Same,
                Ok(text) => {
                    let compare = || self.text(before).map(|before| line_hunks(&before, text));
                    let Some(hunks) = compared.entry((path, before)).or_insert_with(compare) else { continue };
                    let lines = Lines { first: round.first, count: round.count };
                    if lines.count == 0 || matches!(find(lines, hunks), Found::Same(_)) {
                        Since::File
                    } else {
                        Since::Lines
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => Since::Gone,
                Err(_) => continue,
            };
            found.insert(thread.id, since);
        }
        found
    }

    /// Keeps a text. Returns its name.
    fn keep(&self, text: &[u8]) -> Result<Option<String>, CommentError> {
        let Some(name) = kept_name(text) else { return Ok(None) };
        let path = self.folder.join("texts").join(&name);
        if !path.exists() {
            self.write(&path, text)?;
        }
        Ok(Some(name))
    }

    fn text(&self, name: &str) -> Option<Vec<u8>> {
        let most = u64::try_from(MAX_TEXT).unwrap_or(u64::MAX);
        read_regular(&self.folder.join("texts").join(name), most).ok()
    }

    fn read(&self) -> Result<Contents, CommentError> {
        let path = self.folder.join(FILE);
        match read_regular(&path, MAX_FILE) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|source| CommentError::Unreadable { path, source }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Contents::default()),
            Err(source) => Err(CommentError::File { path, source }),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Contents) -> Result<T, CommentError>) -> Result<T, CommentError> {
        let _lock = self.lock()?;
        let mut contents = self.read()?;
        let changed = change(&mut contents)?;
        contents.root.clone_from(&self.root);
        let bytes = serde_json::to_vec_pretty(&contents)
            .map_err(|source| CommentError::Unreadable { path: self.folder.join(FILE), source })?;
        self.write(&self.folder.join(FILE), &bytes)?;
        self.clean(&contents);
        Ok(changed)
    }

    /// Removes the texts that no thread needs. The caller holds the lock.
    fn clean(&self, contents: &Contents) {
        let Ok(found) = fs::read_dir(self.folder.join("texts")) else { return };
        let is_needed = |name: &str| {
            contents.threads.iter().any(|Thread { anchor, round, .. }| {
                let anchored = anchor.as_ref().and_then(|anchor| anchor.text.as_deref());
                [anchored, round.as_ref().and_then(|round| round.text.as_deref())].contains(&Some(name))
            })
        };
        for entry in found.flatten() {
            if !entry.file_name().to_str().is_some_and(is_needed) {
                fs::remove_file(entry.path()).ok(); // best effort: the next change does the same
            }
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), CommentError> {
        let temporary = path.with_extension(format!("{}.part", std::process::id()));
        let write = || {
            create_private_folder(path.parent().unwrap_or(path))?;
            Whole { path, temporary: &temporary, access: Access::Private, durable: false }.write(bytes)
        };
        write().map_err(|source| CommentError::File { path: path.to_owned(), source })
    }

    fn lock(&self) -> Result<File, CommentError> {
        let path = self.folder.join("lock");
        lock(&path, MAX_WAIT).map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock => CommentError::Busy,
            _ => CommentError::File { path, source },
        })
    }
}

/// With their ends.
fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

/// What is left of an anchor's lines where the editor followed them to.
fn left_in(known: Lines, anchor: &Anchor, seen: &Seen<'_>) -> Found {
    let joined = |lines: &[String]| lines.iter().fold(String::new(), |text, line| text + line + "\n");
    let there = joined(&seen.quoted(known.first, known.count));
    let wanted = Lines { first: 0, count: anchor.lines.len() };
    let before = joined(&anchor.lines);
    let spaced = || {
        let [before, now] = [&before, &there].map(|text| lines_of(text.as_bytes()).collect::<Vec<_>>());
        find_spaced(wanted, &before, &now)
    };
    let found = match find(wanted, &line_hunks(before.as_bytes(), there.as_bytes())) {
        Found::Gone(first) => spaced().map_or(Found::Gone(first), Found::Changed),
        found => found,
    };
    let moved = |lines: Lines| Lines { first: known.first + lines.first, ..lines };
    match found {
        Found::Same(lines) => Found::Same(moved(lines)),
        Found::Changed(lines) => Found::Changed(moved(lines)),
        Found::Gone(_) => Found::Gone(known.first),
    }
}

/// Whether lines that are found cannot be others that look alike.
fn is_certain(anchor: &Anchor, before: &Before, seen: &Seen<'_>) -> bool {
    let lines: Vec<&[u8]> = anchor.lines.iter().map(|line| line.as_bytes()).collect();
    let is_once = |seen: &Seen<'_>| {
        let all: Vec<&[u8]> = seen.lines.iter().map(|line| line.strip_suffix(b"\n").unwrap_or(line)).collect();
        all.windows(lines.len().max(1)).filter(|found| *found == lines).count() == 1
    };
    before.hunks.is_empty() || (is_once(&Seen::of(&before.text)) && is_once(seen))
}

/// Begins a thread.
fn begin(contents: &mut Contents, add: Add, seen: Option<&Seen<'_>>) -> Result<u64, CommentError> {
    if contents.threads.len() >= MAX_THREADS {
        return Err(CommentError::TooMuch("there are 5,000 comments: remove some"));
    }
    let words = checked(add.words)?;
    let anchor = add.lines.zip(seen).map(|(lines, seen)| {
        let Lines { first, count } = lines.into();
        let lines = seen.quoted(first, count.min(MAX_LINES));
        Anchor { first, lines, text: seen.name.clone(), now: Now::Same }
    });
    if add.step == Some(1) {
        end_tour(contents);
    }
    contents.next += 1;
    let id = contents.next;
    let mut thread = Thread {
        id,
        path: add.path,
        plan: add.plan,
        side: add.side,
        proposed: add.proposed && anchor.is_some(),
        session: add.session,
        anchor,
        step: add.step,
        entries: Vec::new(),
        round: None,
        resolved: false,
    };
    add_entry(&mut thread, add.by, words, false)?;
    contents.threads.push(thread);
    Ok(id)
}

/// The steps of the last tour are done with, unless the user has said something there.
fn end_tour(contents: &mut Contents) {
    for thread in contents.threads.iter_mut().filter(|thread| thread.step.is_some()) {
        thread.step = None;
        thread.resolved |= thread.entries.iter().all(|entry| entry.by == Author::Claude);
    }
}

fn checked(words: String) -> Result<String, CommentError> {
    if words.len() > MAX_WORDS {
        return Err(CommentError::TooMuch("a comment has at most 64 KiB"));
    }
    Ok(words)
}

/// Says something. It opens the thread again.
fn add_entry(thread: &mut Thread, by: Author, words: String, done: bool) -> Result<(), CommentError> {
    if thread.entries.len() >= MAX_ENTRIES {
        return Err(CommentError::TooMuch("a comment has at most 200 answers"));
    }
    // The user's words are said when they are sent: an answer is not one to them, unless nothing else was said.
    let at = thread.draft_at().filter(|at| by == Author::Claude && *at > 0).unwrap_or(thread.entries.len());
    thread.entries.insert(at, Entry { by, words, at: now(), sent: false, done });
    thread.resolved = false;
    Ok(())
}

/// Marks words as sent. What the user has written meanwhile is still to be sent.
fn mark_sent(thread: &mut Thread, Said { words, .. }: Said) {
    let draft = thread.draft_at();
    match draft.and_then(|at| thread.entries.get_mut(at)) {
        Some(entry) if entry.words == words => entry.sent = true,
        _ => {
            let entry = Entry { by: Author::User, words, at: now(), sent: true, done: false };
            thread.entries.insert(draft.unwrap_or(thread.entries.len()), entry);
        }
    }
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// The name of a text that is kept.
fn kept_name(text: &[u8]) -> Option<String> {
    (text.len() <= MAX_TEXT).then(|| digest(text))
}

/// A text without what differs between a file and its buffer: the mark at its beginning, the ends of its lines.
fn plain(text: &[u8]) -> Cow<'_, [u8]> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let is_plain = text.last().is_none_or(|last| *last == b'\n') && !text.windows(2).any(|pair| pair == b"\r\n");
    if is_plain {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len() + 1);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        plain.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        plain.push(b'\n');
    }
    Cow::Owned(plain)
}

fn shown(contents: &Contents, since: &HashMap<u64, Since>) -> Json {
    json(
        &contents
            .threads
            .iter()
            .map(|thread| Shown {
                thread,
                state: thread.state(),
                draft: thread.draft().map(|entry| entry.words.as_str()),
                since: since.get(&thread.id).copied(),
            })
            .collect::<Vec<_>>(),
    )
}

/// One on the whole file is at its beginning.
fn shown_at(thread: &Thread) -> PlacedThread {
    let whole = Lines { first: 0, count: 0 };
    let (Lines { first, count }, kind) = thread.anchor.as_ref().map_or((whole, "same"), |anchor| {
        let kind = match anchor.now {
            Now::Same => "same",
            Now::Changed { .. } => "changed",
            Now::Outdated { .. } => "outdated",
        };
        (anchor.shown(), kind)
    });
    PlacedThread { id: thread.id, first, count, kind }
}

fn json(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = "one\ntwo\nthree\nfour\n";

    struct Fixture {
        _folder: tempfile::TempDir,
        store: Store,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::at(folder.path().join("some"), folder.path().to_owned());
            Self { _folder: folder, store }
        }

        fn ask(&self, request: Json, text: &str) -> Result<Json, CommentError> {
            self.store.answer(serde_json::from_value(request).unwrap(), Some(text.as_bytes()))
        }

        fn add(&self, first: usize, count: usize, words: &str) -> u64 {
            let lines = json!({ "first": first, "count": count });
            let add = json!({ "by": "user", "words": words, "path": "a.txt", "lines": lines });
            self.ask(json!({ "add": add }), TEXT).unwrap().as_u64().unwrap()
        }

        fn sent(&self, id: u64, words: &str) {
            let said = json!([{ "id": id, "words": words }]);
            self.ask(json!({ "sent": said }), "").unwrap();
        }

        fn states(&self) -> Vec<String> {
            let threads = self.ask(json!({ "list": {} }), "").unwrap();
            threads.as_array().unwrap().iter().map(|thread| thread["state"].as_str().unwrap().to_owned()).collect()
        }

        fn place(&self, text: &str, known: Json, passing: bool) -> Vec<(u64, u64, String)> {
            let place = json!({ "path": "a.txt", "known": known, "passing": passing });
            let places = self.ask(json!({ "place": place }), text).unwrap();
            let number = |place: &Json, name: &str| place[name].as_u64().unwrap();
            let of = |place: &Json| {
                (number(place, "first"), number(place, "count"), place["kind"].as_str().unwrap().to_owned())
            };
            places.as_array().unwrap().iter().map(of).collect()
        }

        fn texts(&self) -> usize {
            fs::read_dir(self.store.folder.join("texts")).map_or(0, Iterator::count)
        }
    }

    #[test]
    fn a_thread_goes_from_draft_to_resolved() {
        let of = Fixture::new();
        let id = of.add(1, 1, "Why?");
        assert_eq!(of.states(), ["draft"]);
        of.sent(id, "Why?");
        assert_eq!(of.states(), ["sent"]);
        of.ask(json!({ "reply": { "id": id, "words": "Because." } }), "").unwrap();
        assert_eq!(of.states(), ["answered"]);
        of.ask(json!({ "write": { "id": id, "words": "And now?" } }), "").unwrap();
        assert_eq!(of.states(), ["draft"]);
        of.ask(json!({ "write": { "id": id, "words": " " } }), "").unwrap();
        assert_eq!(of.states(), ["answered"]);
        of.ask(json!({ "reply": { "id": id, "words": "Fixed.", "done": true } }), "").unwrap();
        assert_eq!(of.states(), ["done"]);
        of.ask(json!({ "resolve": { "id": id, "resolved": true } }), "").unwrap();
        assert_eq!(of.states(), ["resolved"]);
        of.ask(json!({ "reply": { "id": id, "words": "One more thing." } }), "").unwrap();
        assert_eq!(of.states(), ["answered"], "what Claude says is seen");
    }

    #[test]
    fn many_are_added_at_once_except_what_cannot_be() {
        let of = Fixture::new();
        let add = |first: usize, words: &str| json!({ "by": "user", "words": words, "path": "a.txt", "lines": { "first": first, "count": 1 } });
        let adds = json!({ "add_all": [add(3, "last"), add(0, &"w".repeat(MAX_WORDS + 1)), add(1, "second")] });
        assert_eq!(of.ask(adds, TEXT).unwrap(), json!([1, null, 2]));
        let at = |first| (first, 1, "same".to_owned());
        assert_eq!(of.place(&format!("zero\n{TEXT}"), json!([]), false), [at(4), at(2)]);
    }

    #[test]
    fn an_empty_comment_is_removed_and_its_number_not_used_again() {
        let of = Fixture::new();
        let id = of.add(0, 1, "x");
        of.ask(json!({ "write": { "id": id, "words": "" } }), "").unwrap();
        assert!(of.states().is_empty());
        assert_eq!(of.add(0, 1, "y"), id + 1);
        assert!(matches!(of.ask(json!({ "reply": { "id": id, "words": "?" } }), ""), Err(CommentError::Unknown(1))));
    }

    #[test]
    fn words_that_another_neovim_has_changed_are_not_replaced() {
        let of = Fixture::new();
        let id = of.add(0, 1, "first");
        let write = |words: &str, over: &str| {
            of.ask(json!({ "write": { "id": id, "words": words, "over": over } }), "").map(|_| ())
        };
        write("first, and more", "first").unwrap();
        assert!(matches!(write("first, and others", "first"), Err(CommentError::Changed)));
        assert!(matches!(write("", "first"), Err(CommentError::Changed)));
        write("first, and more", "first").unwrap(); // the same
        write(" ", "first, and more ").unwrap();
        assert!(of.states().is_empty());
    }

    #[test]
    fn what_was_written_while_it_was_sent_is_still_to_be_sent() {
        let of = Fixture::new();
        let id = of.add(0, 1, "first");
        of.ask(json!({ "write": { "id": id, "words": "second" } }), "").unwrap();
        of.sent(id, "first");
        let threads = of.ask(json!({ "list": {} }), "").unwrap();
        let words = |at: usize| threads[0]["entries"][at]["words"].as_str().unwrap().to_owned();
        assert_eq!((words(0), words(1)), ("first".to_owned(), "second".to_owned()));
        assert_eq!(of.states(), ["draft"]);
        of.sent(id, "second");
        assert_eq!(of.states(), ["sent"]);
    }

    #[test]
    fn a_reply_that_waits_is_not_answered_by_what_claude_says_meanwhile() {
        let of = Fixture::new();
        let id = of.add(0, 1, "Why?");
        let reply = |words: &str| of.ask(json!({ "reply": { "id": id, "words": words, "done": true } }), "").unwrap();
        let words = || {
            let threads = of.ask(json!({ "list": {} }), "").unwrap();
            let entries = threads[0]["entries"].as_array().unwrap();
            entries.iter().map(|entry| entry["words"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        of.sent(id, "Why?");
        of.ask(json!({ "write": { "id": id, "words": "Wait." } }), "").unwrap();
        reply("Because.");
        assert_eq!(
            (words(), of.states()),
            (["Why?", "Because.", "Wait."].map(str::to_owned).to_vec(), vec!["draft".to_owned()])
        );
        of.sent(id, "Wait.");
        assert_eq!(of.states(), ["sent"]);
        reply("Done.");
        assert_eq!((words().pop().unwrap(), of.states()), ("Done.".to_owned(), vec!["done".to_owned()]));
        // Claude may have got the message by hand: nothing else can be meant.
        let id = of.add(1, 1, "By hand.");
        of.ask(json!({ "reply": { "id": id, "words": "Seen." } }), "").unwrap();
        of.sent(id, "By hand.");
        assert_eq!(of.states(), ["done", "answered"]);
    }

    #[test]
    fn the_page_gets_what_was_said_and_what_is_not_sent_of_open_threads_first() {
        let of = Fixture::new();
        let (first, last, over) = (of.add(2, 1, "Why?"), of.add(0, 1, &"w".repeat(5_000)), of.add(1, 1, "done"));
        of.sent(first, "Why?");
        of.ask(json!({ "reply": { "id": first, "words": "Because." } }), "").unwrap();
        of.sent(over, "done");
        of.ask(json!({ "resolve": { "id": over, "resolved": true } }), "").unwrap();
        let page = |withheld: Json| {
            let sessions = json!({ "s": [first, last, over, 9], "t": [last] });
            let answer = of.ask(json!({ "page": { "sessions": sessions, "withheld": withheld } }), "").unwrap();
            assert_eq!(answer["t"].as_array().unwrap().len(), 1);
            answer["s"].clone()
        };
        let threads = page(json!([]));
        let ids: Vec<_> = threads.as_array().unwrap().iter().map(|thread| thread["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, [last, first, over]);
        assert_eq!(threads[0]["draft"].as_str().unwrap().len(), 5_000, "it is sent as it is shown");
        let said = json!([{ "by": "user", "words": "Why?" }, { "by": "claude", "words": "Because." }]);
        let expected = json!({
            "id": first, "place": "a.txt:3", "lines": ["three"], "state": "answered", "earlier": 0, "entries": said, "draft": null,
        });
        assert_eq!(threads[1], expected);
        assert_eq!(page(json!(["a.txt"]))[1]["lines"], json!([]));
        for number in 0..30 {
            let words = format!("{number}{}", "é".repeat(5_000));
            of.ask(json!({ "reply": { "id": first, "words": words } }), "").unwrap();
        }
        let threads = page(json!([]));
        let entries = threads[1]["entries"].as_array().unwrap();
        assert_eq!((threads[1]["earlier"].as_u64(), entries.len()), (Some(12), 20));
        let last = entries.last().unwrap()["words"].as_str().unwrap();
        assert!(last.starts_with("29é") && last.ends_with("é …") && last.chars().count() < 4_100);
    }

    #[test]
    fn lines_are_followed_from_text_to_text_and_come_back() {
        let of = Fixture::new();
        of.add(1, 2, "about two and three");
        let at = |first, count, kind: &str| vec![(first, count, kind.to_owned())];
        assert_eq!(of.place("zero\none\ntwo\nthree\nfour\n", json!([]), false), at(2, 2, "same"));
        assert_eq!(of.place("zero\none\ntwo\n3\nfour\n", json!([]), false), at(2, 1, "changed"));
        assert_eq!(of.place("zero\none\nfour\n", json!([]), false), at(2, 0, "outdated"));
        assert_eq!(of.place("two\nthree\n", json!([]), false), at(0, 2, "same"));
        assert_eq!(of.place("new\ntwo\nthree\n", json!([]), true), at(1, 2, "same"), "looked at");
        assert_eq!(of.place("two\nthree\n", json!([]), false), at(0, 2, "same"));
        assert_eq!(of.texts(), 1);
    }

    #[test]
    fn a_comment_on_the_whole_file_is_at_its_beginning() {
        let of = Fixture::new();
        of.ask(json!({ "add": { "by": "user", "words": "w", "path": "a.txt" } }), "").unwrap();
        of.ask(json!({ "add": { "by": "user", "words": "about everything" } }), "").unwrap();
        of.add(1, 1, "about two");
        let placed = |id, first, count| json!({ "id": id, "first": first, "count": count, "kind": "same" });
        let places = |text| of.ask(json!({ "place": { "path": "a.txt" } }), text).unwrap();
        assert_eq!(places("zero\none\ntwo\n"), json!([placed(1, 0, 0), placed(3, 2, 1)]));
        assert_eq!(places("")[0], placed(1, 0, 0));
    }

    #[test]
    fn lines_that_were_indented_are_changed_and_not_gone() {
        let of = Fixture::new();
        let text = "f {\n  x\n  }\n}\nend\n";
        let add = |first| {
            let lines = json!({ "first": first, "count": 1 });
            of.ask(json!({ "add": { "by": "user", "words": "w", "path": "a.txt", "lines": lines } }), text).unwrap();
        };
        add(1);
        add(2);
        let at = |first, count, kind: &str| (first, count, kind.to_owned());
        let indented = "new\nf {\n    x\n    }\n}\nend\n";
        assert_eq!(of.place(indented, json!([]), false), [at(2, 1, "changed"), at(3, 1, "changed")]);
        let known = json!([{ "id": 1, "first": 2, "count": 1 }, { "id": 2, "first": 3, "count": 0 }]);
        assert_eq!(of.place(indented, known, true), [at(2, 1, "changed"), at(3, 0, "outdated")], "it was deleted");
        let without = "f {\n    x y\n}\nend\n";
        assert_eq!(
            of.place(without, json!([]), true),
            [at(1, 0, "outdated"), at(1, 0, "outdated")],
            "nor is it the other bracket"
        );
        let known = json!([{ "id": 1, "first": 1, "count": 1 }, { "id": 2, "first": 2, "count": 1 }]);
        assert_eq!(of.place(without, known, true)[0], at(1, 0, "outdated"), "it is another line");
        assert_eq!(of.place(text, json!([]), false), [at(1, 1, "same"), at(2, 1, "same")]);
    }

    #[test]
    fn the_editor_tells_equal_lines_apart() {
        let of = Fixture::new();
        let text = "x\nx\nx\n";
        let add = json!({ "by": "user", "words": "w", "path": "a.txt", "lines": { "first": 1, "count": 1 } });
        of.ask(json!({ "add": add }), text).unwrap();
        let at = |first| vec![(first, 1, "same".to_owned())];
        assert_eq!(of.place("x\nx\nx\nx\n", json!([{ "id": 1, "first": 2, "count": 1 }]), false), at(2));
        assert_eq!(of.place("x\nx\nx\nx\n", json!([]), false), at(2));
        let among_replaced = json!([{ "id": 1, "first": 1, "count": 2 }]);
        assert_eq!(of.place("x\nz\nx\nx\nx\n", among_replaced, true), at(2));
        assert_eq!(
            of.place("x\ny\nx\n", json!([{ "id": 1, "first": 1, "count": 1 }]), true).first().unwrap().2,
            "outdated",
            "it is not that line"
        );
    }

    #[test]
    fn a_line_that_was_deleted_is_not_taken_for_one_that_looks_alike() {
        let of = Fixture::new();
        let text = "f(\nx\n)\nmid\nf(\nx\n)\nend\n";
        let add = |first, count| {
            let lines = json!({ "first": first, "count": count });
            of.ask(json!({ "add": { "by": "user", "words": "w", "path": "a.txt", "lines": lines } }), text).unwrap();
        };
        let at = |first, count, kind: &str| (first, count, kind.to_owned());
        add(0, 1);
        add(3, 1);
        let left = "f(\nx\n)\nend\n";
        let deleted = json!([{ "id": 1, "first": 0, "count": 0 }, { "id": 2, "first": 0, "count": 0 }]);
        assert_eq!(of.place(left, deleted, false), [at(0, 0, "outdated"), at(0, 0, "outdated")]);
        assert_eq!(of.place(left, json!([]), false)[0], at(0, 0, "outdated"), "nor by the next editor");
        assert_eq!(of.place(text, json!([]), false), [at(0, 1, "same"), at(3, 1, "same")], "as it was");
        let replaced = "f(\nx\n)\nnew\nmid\nf(\nx\n)\nend\n";
        let deleted = json!([{ "id": 1, "first": 0, "count": 0 }, { "id": 2, "first": 3, "count": 0 }]);
        let places = of.place(replaced, deleted, true);
        assert_eq!(places, [at(0, 0, "outdated"), at(4, 1, "same")], "there is only one `mid`");
        add(1, 2);
        let within = json!([{ "id": 3, "first": 1, "count": 1 }]);
        assert_eq!(of.place("f(\nx\nmid\nf(\nx\n)\nend\n", within, true)[2], at(1, 1, "changed"));
    }

    #[test]
    fn ends_of_lines_and_marks_are_no_part_of_a_line() {
        let of = Fixture::new();
        let text = "\u{feff}one\r\ntwo";
        let add = json!({ "by": "user", "words": "w", "path": "a.txt", "lines": { "first": 0, "count": 2 } });
        of.ask(json!({ "add": add }), text).unwrap();
        let threads = of.ask(json!({ "list": {} }), "").unwrap();
        assert_eq!(threads[0]["anchor"]["lines"], json!(["one", "two"]));
        assert_eq!(of.place("zero\none\ntwo\n", json!([]), false), [(1, 2, "same".to_owned())]);
    }

    #[test]
    fn each_round_begins_with_the_text_that_the_file_has_then() {
        let of = Fixture::new();
        let path = of.store.root.join("a.txt");
        let since = || {
            let threads = of.ask(json!({ "list": { "since": true } }), "").unwrap();
            let of = |thread: &Json| thread["since"].as_str().unwrap_or("-").to_owned();
            threads.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
        };
        let before = |id: u64| of.ask(json!({ "before": { "id": id } }), "").unwrap();
        let (second, last) = (of.add(1, 1, "about two"), of.add(3, 1, "about four"));
        assert_eq!((since(), before(second)), (vec!["-".to_owned(), "-".to_owned()], Json::Null));
        // The file has a line that the buffer commented on does not have.
        fs::write(&path, "zero\r\none\r\ntwo\r\nthree\r\nfour\r\n").unwrap();
        of.sent(second, "about two");
        of.sent(last, "about four");
        assert_eq!((since(), before(last)), (vec!["same".to_owned(); 2], format!("zero\n{TEXT}").into()));
        fs::write(&path, "zero\none\n2\nthree\nfour\n").unwrap();
        assert_eq!(since(), ["lines", "file"]);
        of.ask(json!({ "write": { "id": second, "words": "and now?" } }), "").unwrap();
        of.sent(second, "and now?");
        assert_eq!(since(), ["same", "file"], "a round of its own");
        fs::write(&path, "none\n").unwrap();
        assert_eq!(since(), ["file", "lines"], "its lines were gone already");
        fs::remove_file(&path).unwrap();
        assert_eq!(since(), ["gone", "gone"]);
        assert_eq!(before(last), format!("zero\n{TEXT}"));
        let lasting = of.texts();
        of.ask(json!({ "write": { "id": second, "words": "" } }), "").unwrap();
        assert_eq!((lasting, of.texts()), (3, 3));
    }

    #[test]
    fn a_renamed_file_takes_its_comments_along() {
        let of = Fixture::new();
        let at = |path: &str| of.store.root.join(path);
        let place = |path: &str, text: &str, passing: bool| {
            let place = json!({ "place": { "path": path, "passing": passing } });
            of.ask(place, text).unwrap().as_array().unwrap().len()
        };
        // A copy from before the comment is another file.
        fs::write(at("copy.txt"), TEXT).unwrap();
        fs::write(at("a.txt"), TEXT).unwrap();
        of.add(1, 1, "about two");
        let commented = now();
        while of.store.changed_at("time").is_none_or(|time| time <= commented) {
            fs::write(at("time"), "").unwrap(); // file systems round times
        }
        assert_eq!(place("b.txt", TEXT, false), 0, "there is no such file");
        fs::rename(at("a.txt"), at("b.txt")).unwrap();
        assert_eq!(place("copy.txt", TEXT, false), 0);
        assert_eq!(place("b.txt", "other\n", false), 0);
        assert_eq!(place("b.txt", TEXT, true), 0, "only looked at");
        fs::write(at("a.txt"), TEXT).unwrap();
        assert_eq!(place("b.txt", TEXT, false), 0, "the other one is there");
        fs::remove_file(at("a.txt")).unwrap();
        assert_eq!(place("b.txt", TEXT, false), 1);
        assert_eq!(of.place(TEXT, json!([]), false), [], "no longer in a.txt");
        fs::rename(at("b.txt"), at("a.txt")).unwrap();
        assert_eq!(of.place(TEXT, json!([]), false), [(1, 1, "same".to_owned())]);
    }

    #[test]
    fn a_new_tour_takes_the_place_of_the_last_one() {
        let of = Fixture::new();
        let step = |step: u64| {
            let add = json!({ "by": "claude", "words": "look", "step": step });
            of.ask(json!({ "add": add }), "").unwrap();
        };
        (1..=3).for_each(step);
        of.ask(json!({ "write": { "id": 2, "words": "Why?" } }), "").unwrap();
        step(1);
        assert_eq!(of.states(), ["resolved", "draft", "resolved", "answered"]);
        let threads = of.ask(json!({ "list": {} }), "").unwrap();
        let steps: Vec<Option<u64>> =
            threads.as_array().unwrap().iter().map(|thread| thread["step"].as_u64()).collect();
        assert_eq!(steps, [None, None, None, Some(1)]);
    }

    #[test]
    fn a_comment_on_everything_has_a_round_without_a_text() {
        let of = Fixture::new();
        of.ask(json!({ "add": { "by": "user", "words": "Tests, please." } }), "").unwrap();
        of.ask(json!({ "sent": [{ "id": 1, "words": "Tests, please.", "session": "s" }] }), "").unwrap();
        let threads = of.ask(json!({ "list": { "since": true } }), "").unwrap();
        assert_eq!((&threads[0]["round"]["session"], &threads[0]["since"]), (&"s".into(), &Json::Null));
    }

    #[test]
    fn several_editors_lose_nothing() {
        let of = Fixture::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let add = json!({ "add": { "by": "user", "words": "w" } });
                    // A loaded machine may stop the one that holds the lock.
                    (0..10).for_each(|_| while matches!(of.ask(add.clone(), ""), Err(CommentError::Busy)) {})
                });
            }
        });
        let threads = of.ask(json!({ "list": {} }), "").unwrap();
        let mut ids: Vec<u64> =
            threads.as_array().unwrap().iter().map(|thread| thread["id"].as_u64().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(ids, (1..=40).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_of_another_version_is_not_overwritten() {
        let of = Fixture::new();
        of.add(0, 1, "w");
        fs::write(of.store.folder.join(FILE), "{\"other\": 1}").unwrap();
        let add = json!({ "by": "user", "words": "w" });
        assert!(matches!(of.ask(json!({ "add": add }), ""), Err(CommentError::Unreadable { .. })));
        assert_eq!(fs::read(of.store.folder.join(FILE)).unwrap(), b"{\"other\": 1}");
    }

    #[test]
    fn a_round_quotes_each_place_under_its_number() {
        let of = Fixture::new();
        let (first, second) = (of.add(0, 1, "Why one?"), of.add(1, 2, "Join these.\n"));
        of.ask(json!({ "add": { "by": "user", "words": "Tests, please." } }), "").unwrap();
        of.place("zero\none\nfour\n", json!([]), false);
        let round = of.ask(json!({ "round": { "ids": [first, second, 3] } }), "").unwrap();
        assert_eq!(
            round.as_str().unwrap(),
            "3 comments on the code. Answer each with the tool comment_reply and its number, and say there whether it is \
             done. Answer a question; do not edit because of it.\n\n\
             [1] (question) a.txt:2\n> one\nWhy one?\n\n\
             [2] a.txt:2-3 (no longer there)\n> two\n> three\nJoin these.\n\n\
             [3] everything\nTests, please."
        );
        let withheld = of.ask(json!({ "round": { "ids": [first], "withheld": ["a.txt"] } }), "").unwrap();
        assert!(!withheld.as_str().unwrap().contains("> one"));
    }

    #[test]
    fn a_plan_is_a_target_of_its_own() {
        let of = Fixture::new();
        of.add(0, 1, "x");
        let add = json!({ "by": "user", "words": "w", "plan": "s", "lines": { "first": 0, "count": 1 } });
        of.ask(json!({ "add": add }), "# It\nmake it\n").unwrap();
        let place = |plan: &str| of.ask(json!({ "place": { "plan": plan } }), "new\n# It\n").unwrap();
        assert_eq!(place("s"), json!([{ "id": 2, "first": 1, "count": 1, "kind": "same" }]));
        assert_eq!(place("other"), json!([]));
        let round = |ids: Json| of.ask(json!({ "round": { "ids": ids } }), "").unwrap().as_str().unwrap().to_owned();
        assert!(round(json!([2])).starts_with("A comment on the plan. "));
        assert!(round(json!([2])).ends_with("[2] the plan:2\n> # It\nw"));
        assert!(round(json!([1, 2])).starts_with("2 comments on the code and the plan. "));
    }

    #[test]
    fn a_model_is_not_told_what_is_not_sent() {
        let of = Fixture::new();
        let id = of.add(0, 1, "secret");
        let tell = || of.ask(json!({ "tell": {} }), "").unwrap();
        assert_eq!(tell(), "There are no comments.");
        of.sent(id, "secret");
        of.ask(json!({ "write": { "id": id, "words": "more" } }), "").unwrap();
        assert_eq!(tell(), "[1] open · a.txt:1\n> one\nuser: secret");
    }
}
