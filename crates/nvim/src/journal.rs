//! The journal of Claude's changes for Lua: one function, whose first argument names the operation.
//!
//! Files and turns are numbers, texts and paths are bytes, positions count from 1. After an operation that may change
//! something, `events` returns what happened.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use claude_ide_edits::{
    Activity, Actor, Caller, Change, ClientId, Event, File, FileId, Found, Hunk, Journal, LineHunk, Moment, Now,
    OnDisk, Opened, Progress, Prompt, Reported, Scope, Source, Turn, TurnEvent, Undone, line_hunks, three_way,
};
use once_cell::sync::Lazy;

use crate::boundary::Arguments;
use crate::error::Error;
use crate::sessions;
use crate::value::Value;

static JOURNAL: Lazy<Mutex<Journal>> = Lazy::new(Mutex::default);
static BEGAN: Lazy<Instant> = Lazy::new(Instant::now);

fn lock() -> MutexGuard<'static, Journal> {
    JOURNAL.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn now() -> Moment {
    let nanos = u64::try_from(BEGAN.elapsed().as_nanos()).unwrap_or(u64::MAX).saturating_add(1);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment { nanos, millis: u64::try_from(since.as_millis()).unwrap_or(u64::MAX) }
}

type Operation = fn(&mut Journal, &mut Arguments) -> Result<Value, Error>;

/// The operations by the names that Lua uses (`lua/claude-ide/edits/journal/store.lua`).
const OPERATIONS: &[(&str, Operation)] = &[
    // Files.
    ("open", open),
    ("find", |journal, given| {
        let found = journal.find(&given.bytes("real")?);
        Ok(optional(found, |id| of_file(journal, id)))
    }),
    ("files", |journal, given| {
        let files = journal.files(given.optional_id("turn")?);
        Ok(Value::List(files.iter().map(|file| of_file(journal, file.id)).collect()))
    }),
    ("file", |journal, given| Ok(of_file(journal, file(given)?))),
    ("rename", |journal, given| {
        let id = file(given)?;
        Ok(Value::Bool(journal.rename(id, given.bytes("path")?.into(), given.bytes("real")?.into())))
    }),
    ("is_landing", |journal, given| Ok(Value::Bool(journal.is_landing(file(given)?)))),
    ("mode", |journal, given| Ok(optional(journal.mode(file(given)?), |mode| Value::Id(mode.into())))),
    ("set_mode", set_mode),
    ("links", |journal, given| Ok(Value::Id(journal.links(file(given)?)))),
    ("set_links", |journal, given| {
        let (id, links) = (file(given)?, given.id("links")?);
        journal.set_links(id, links);
        Ok(Value::Nil)
    }),
    ("turn_of", |journal, given| Ok(optional(journal.turn_of(file(given)?), Value::Id))),
    ("revision", |journal, given| Ok(Value::Id(journal.revision(file(given)?)))),
    ("is_last", |journal, given| {
        let (id, now) = (file(given)?, given.optional_bytes("bytes")?);
        Ok(Value::Bool(journal.is_last(id, now.as_deref())))
    }),
    ("is_undone", |journal, given| Ok(Value::Bool(journal.is_undone(file(given)?)))),
    // Observations.
    ("note", note),
    ("before_edit", before_edit),
    ("release", |journal, given| {
        journal.release(file(given)?, given.id("turn")?);
        Ok(Value::Nil)
    }),
    ("accepted", |journal, given| {
        journal.accepted(given.bytes("path")?.into(), given.bytes("contents")?.into());
        Ok(Value::Nil)
    }),
    ("set_landing", set_landing),
    ("now", |_, _| Ok(Value::Id(now().nanos))),
    ("copied_for", |journal, given| {
        journal.copied_for(given.id("turn")?, given.id("at")?);
        Ok(Value::Nil)
    }),
    ("found", found),
    ("met_in", |journal, given| {
        let met = journal.met_in(given.id("turn")?, given.id("since")?);
        Ok(list(&met, |path| bytes(path)))
    }),
    ("reported", reported),
    // Claude's changes.
    ("may_have", |journal, given| Ok(Value::Bool(journal.may_have(file(given)?, scope(given)?)))),
    ("change", |journal, given| {
        let (id, scope, text) = (file(given)?, scope(given)?, Text::of(given)?);
        Ok(optional(journal.change(id, scope, text.now()), |change| of_change(&change)))
    }),
    ("keep", |journal, given| {
        let (id, scope, text) = (file(given)?, scope(given)?, Text::of(given)?);
        let kept = journal.keep(id, scope, text.now(), hunk(given)?, now());
        Ok(optional(kept, Value::Bool))
    }),
    ("undo", |journal, given| {
        let (id, scope, text) = (file(given)?, scope(given)?, Text::of(given)?);
        let which = hunk(given)?.map_or(Undone::All, Undone::Hunk);
        let undo = journal.undo(id, scope, text.now(), which);
        Ok(optional(undo, |undo| {
            Value::Table(vec![
                ("bytes", optional(undo.bytes, |text| Value::Bytes(text.into()))),
                ("places", count(undo.places)),
                ("hunks", count(undo.hunks)),
                ("left", count(undo.left)),
                ("since", optional(undo.since, Value::Id)),
            ])
        }))
    }),
    ("set_undoing", |journal, given| {
        journal.set_undoing(file(given)?, given.flag("undoing")?);
        Ok(Value::Nil)
    }),
    // Turns.
    ("take_prompt", |journal, given| Ok(Value::Bool(journal.turns().take_prompt(client(given)?)))),
    ("start_turn", start_turn),
    ("turn_alone", |journal, given| Ok(of_turn(&journal.turns().alone(client(given)?, now().millis)))),
    ("only_turn", |journal, given| {
        let (client, since) = (client(given)?, given.id("since")?);
        Ok(of_turn(&journal.turns().only(client, since, now().millis)))
    }),
    ("current_turn", |journal, given| Ok(of_turn(&journal.turns().current(client(given)?, now().millis)))),
    ("await_work", |journal, given| {
        journal.turns().await_work(client(given)?);
        Ok(Value::Nil)
    }),
    ("activity", activity),
    ("edits_over", |journal, given| Ok(Value::Bool(journal.turns().edits_over(client(given)?, now().millis)))),
    ("is_busy", |journal, given| Ok(Value::Bool(journal.turns().is_busy(client(given)?)))),
    ("is_running", |journal, given| Ok(Value::Bool(journal.turns().is_running(client(given)?)))),
    ("is_followed", |journal, given| Ok(Value::Bool(journal.turns().is_followed(client(given)?)))),
    ("finish_turn", |journal, given| {
        journal.turns().finish(client(given)?, now().millis);
        Ok(Value::Nil)
    }),
    ("leave", |journal, given| {
        journal.turns().leave(client(given)?, now().millis);
        Ok(Value::Nil)
    }),
    ("turn", |journal, given| Ok(optional(journal.turns().get(given.id("turn")?), of_turn))),
    ("last_turn", |journal, given| Ok(optional(journal.turns().last_of(client(given)?), Value::Id))),
    ("turns", |journal, _| Ok(Value::List(journal.turns().all().map(of_turn).collect()))),
    ("left_out", |journal, given| {
        let turn = given.id("turn")?;
        let left_out = journal.turns().get(turn).map(|turn| turn.left_out.iter().cloned().collect::<Vec<_>>());
        Ok(list(&left_out.unwrap_or_default(), |path| bytes(path)))
    }),
    ("leave_out", |journal, given| {
        let (turn, paths) = (given.id("turn")?, given.bytes("paths")?);
        journal.turns().leave_out(turn, paths.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(Into::into));
        Ok(Value::Nil)
    }),
    ("events", |journal, _| {
        let events = journal.take_events();
        Ok(if events.is_empty() { Value::Nil } else { list(&events, of_event) })
    }),
    // Storage of old texts.
    ("keep_in", |journal, given| {
        journal.keep_in(PathBuf::from(OsString::from_vec(given.bytes("folder")?)), &given.text("host")?);
        Ok(Value::Nil)
    }),
    ("folder", |journal, _| Ok(optional(journal.folder(), |folder| bytes(folder.as_os_str().as_bytes())))),
    ("clean", |journal, _| {
        journal.clean();
        Ok(Value::Nil)
    }),
    ("forget", |journal, _| {
        journal.forget_folder();
        Ok(Value::Nil)
    }),
    ("stored", |journal, _| {
        let stored = journal.stored();
        let numbers = [("total", stored.total), ("memory", stored.memory), ("count", stored.count)];
        Ok(Value::Table(numbers.map(|(name, number)| (name, count(number))).into()))
    }),
];

/// `journal(operation, …)` → the operation's result.
pub(crate) fn call(mut given: Arguments) -> Result<Value, Error> {
    let name = given.text("operation")?;
    let operation = OPERATIONS.iter().find(|(known, _)| *known == name).ok_or(Error::UnknownOperation { name })?;
    (operation.1)(&mut lock(), &mut given)
}

/// `merge(base, mine, theirs)` → two changes of a text, merged.
pub(crate) fn merge(mut given: Arguments) -> Result<Value, Error> {
    let (base, mine, theirs) = (given.bytes("base")?, given.bytes("mine")?, given.bytes("theirs")?);
    let merged = three_way(&base, &mine, &theirs);
    Ok(Value::Table(vec![("text", Value::Bytes(merged.text.into())), ("overlaps", count(merged.overlaps))]))
}

/// `diff(old, new)` → a list of four numbers for each hunk, lines from 1.
pub(crate) fn diff(mut given: Arguments) -> Result<Value, Error> {
    let (old, new) = (given.bytes("old")?, given.bytes("new")?);
    let numbers = |hunk: LineHunk| [hunk.old + 1, hunk.old_count, hunk.new + 1, hunk.new_count];
    Ok(Value::List(line_hunks(&old, &new).into_iter().flat_map(numbers).map(count).collect()))
}

fn file(given: &mut Arguments) -> Result<FileId, Error> {
    given.id("file").map(FileId)
}

fn client(given: &mut Arguments) -> Result<ClientId, Error> {
    given.integer("client")
}

fn opened(given: &mut Arguments, source: Source) -> Result<Opened, Error> {
    let (path, real, secret) = (given.bytes("path")?.into(), given.bytes("real")?.into(), given.flag("secret")?);
    Ok(Opened { path, real, source, secret })
}

fn open(journal: &mut Journal, given: &mut Arguments) -> Result<Value, Error> {
    let file = opened(given, Source::Announced)?;
    let (id, is_new) = journal.open(file, given.optional_bytes("bytes")?.as_deref(), now());
    Ok(Value::Table(vec![("file", of_file(journal, id)), ("is_new", Value::Bool(is_new))]))
}

fn set_mode(journal: &mut Journal, given: &mut Arguments) -> Result<Value, Error> {
    let id = file(given)?;
    if let Some(mode) = mode(given)? {
        journal.set_mode(id, mode);
    }
    Ok(Value::Nil)
}

fn mode(given: &mut Arguments) -> Result<Option<u32>, Error> {
    Ok(given.optional_id("mode")?.and_then(|mode| u32::try_from(mode).ok()))
}

fn actor(given: &mut Arguments) -> Result<Option<Actor>, Error> {
    let Some(name) = given.optional_bytes("actor")? else { return Ok(None) };
    match name.as_slice() {
        b"claude" => Ok(Some(Actor::Claude)),
        b"user" => Ok(Some(Actor::User)),
        b"accepted" => Ok(Some(Actor::Accepted)),
        _ => Err(unknown(&name)),
    }
}

fn unknown(name: &[u8]) -> Error {
    Error::UnknownOperation { name: String::from_utf8_lossy(name).into_owned() }
}

fn note(journal: &mut Journal, given: &mut Arguments) -> Result<Value, Error> {
    let (id, bytes) = (file(given)?, given.optional_bytes("bytes")?);
    let (actor, turn) = (actor(given)?, given.optional_id("turn")?);
    journal.note(id, bytes.as_deref(), actor, turn, now());
    Ok(Value::Nil)
}

fn before_edit(journal: &mut Journal, given: &mut Arguments) -> Result<Value, Error> {
    let client = client(given)?;
    let file = opened(given, Source::Announced)?;
    let on_disk = OnDisk::read(Path::new(OsStr::from_bytes(&file.path)), given.id("most")?);
    let (bytes, about) = match on_disk {
        OnDisk::File { bytes, mode, links } => (Some(bytes), Some((mode, links))),
        OnDisk::Missing => (None, None),
        OnDisk::TooLarge => return Ok(why_not("large")),
        OnDisk::Unreadable(error) => return Ok(why_not(&error.to_string())),
    };
    let id = journal.before_edit(client, file, bytes.as_deref(), now());
    if let Some((mode, links)) = about {
        journal.set_mode(id, mode);
        journal.set_links(id, links);
    }
    Ok(Value::Table(vec![("file", of_file(journal, id))]))
}

fn why_not(words: &str) -> Value {
    Value::Table(vec![("why_not", bytes(words.as_bytes()))])
}

fn start_turn(journal: &mut Journal, given: &mut Arguments) -> Result<Value, Error> {
    let (client, at) = (client(given)?, given.id("at")?);
    let prompt = Prompt { at, sent: given.optional_id("sent")?, reports_end: given.flag("reports_end")? };
    Ok(of_turn(&journal.turns().start(client, prompt, now().millis)))
}

fn activity(journal: &mut Journal, given: &mut Arguments) -> Result<Value, Error> {
    let (client, is_busy) = (client(given)?, given.flag("is_busy")?);
    let since = given.optional_id("since")?;
    let activity = if is_busy { Activity::Busy(since) } else { Activity::Idle(since) };
    let progress = journal.turns().activity(client, activity, now().millis);
    Ok(optional(progress, |progress| match progress {
        Progress::Began(turn) => Value::Table(vec![("began", of_turn(&turn))]),
        Progress::Over => Value::Table(vec![("is_over", Value::Bool(true))]),
    }))
}

fn set_landing(journal: &mut Journal, given: &mut Arguments) -> Result<Value, Error> {
    let id = file(given)?;
    let landing = actor(given)?.zip(given.optional_id("turn")?);
    journal.set_landing(id, landing);
    Ok(Value::Nil)
}

fn found(journal: &mut Journal, given: &mut Arguments) -> Result<Value, Error> {
    let file = opened(given, Source::Checkpoint)?;
    let (turn, before, mode) = (given.id("turn")?, given.optional_bytes("before")?, mode(given)?);
    let found = Found {
        turn,
        before: before.as_deref(),
        since: given.id("since")?,
        taken: given.id("taken")?,
        is_start: given.flag("is_start")?,
    };
    let id = journal.found(file, mode, &found, now());
    Ok(of_file(journal, id))
}

/// `reported(path, real, secret, client, time, ended, by_user, transcript, call, most)`: a call changed a file at a time. Its
/// texts stay in the library; of more than `most` bytes they are not kept.
fn reported(journal: &mut Journal, given: &mut Arguments) -> Result<Value, Error> {
    let file = opened(given, Source::Transcript)?;
    let (client, time, ended) = (client(given)?, given.id("time")?, given.id("ended")?);
    let by_user = given.flag("by_user")?;
    let (transcript, call, most) = (given.id("transcript")?, given.text("call")?, given.id("most")?);
    let Some(texts) = sessions::take_texts(transcript, &call) else { return Ok(Value::Bool(false)) };
    let turn = journal.turns().at(client, time, now().millis);
    let (before, after) = (texts.before.as_deref().map(str::as_bytes), texts.after.as_bytes());
    let is_large = |text: &[u8]| u64::try_from(text.len()).map_or(true, |size| size > most);
    if is_large(after) || before.is_some_and(is_large) {
        return Ok(Value::Bool(false));
    }
    let current = match OnDisk::read(Path::new(OsStr::from_bytes(&file.path)), most) {
        OnDisk::File { bytes, .. } => Some(bytes),
        OnDisk::Missing => None,
        OnDisk::TooLarge | OnDisk::Unreadable(_) => return Ok(Value::Bool(false)),
    };
    let caller = Caller { call: call.into(), ended };
    let edit = Reported { before, after, current: current.as_deref(), turn, by_user, caller: &caller };
    Ok(Value::Bool(journal.reported(file, edit, now())))
}

fn named(name: &[u8]) -> Result<Scope, Error> {
    str::from_utf8(name).ok().and_then(Scope::named).ok_or_else(|| unknown(name))
}

fn scope(given: &mut Arguments) -> Result<Scope, Error> {
    named(&given.bytes("scope")?)
}

/// A file's current content, as Lua passes it: the kind of text, and the text.
struct Text {
    kind: Vec<u8>,
    bytes: Option<Vec<u8>>,
}

impl Text {
    fn of(given: &mut Arguments) -> Result<Self, Error> {
        let kind = given.optional_bytes("kind")?.unwrap_or_default();
        Ok(Self { kind, bytes: given.optional_bytes("text")? })
    }

    fn now(&self) -> Now<'_> {
        match (self.kind.as_slice(), &self.bytes) {
            (b"disk", bytes) => Now::Disk(bytes.as_deref()),
            (b"behind", bytes) => Now::Behind(bytes.as_deref()),
            (b"unsaved", Some(bytes)) => Now::Unsaved(bytes),
            _ => Now::Recorded,
        }
    }
}

fn hunk(given: &mut Arguments) -> Result<Option<usize>, Error> {
    Ok(given.optional_id("hunk")?.and_then(|number| usize::try_from(number).ok()?.checked_sub(1)))
}

fn optional<T>(found: Option<T>, value: impl FnOnce(T) -> Value) -> Value {
    found.map_or(Value::Nil, value)
}

fn bytes(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.into())
}

fn count(number: usize) -> Value {
    Value::Id(u64::try_from(number).unwrap_or(u64::MAX))
}

fn list<T>(items: &[T], value: impl Fn(&T) -> Value) -> Value {
    Value::List(items.iter().map(value).collect())
}

fn of_file(journal: &Journal, id: FileId) -> Value {
    let value = |file: File| {
        Value::Table(vec![("id", Value::Id(id.0)), ("path", bytes(&file.path)), ("real", bytes(&file.real))])
    };
    optional(journal.file(id), value)
}

fn of_turn(turn: &Turn) -> Value {
    Value::Table(vec![
        ("id", Value::Id(turn.id)),
        ("client", Value::Json(turn.client.into())),
        ("began", Value::Id(turn.began)),
        ("started", Value::Id(turn.began / 1000)),
        ("ended", optional(turn.ended.map(|ended| ended / 1000), Value::Id)),
        ("files", list(&turn.files, |path| bytes(path))),
        ("left_out", count(turn.left_out.len())),
    ])
}

fn of_event(event: &Event) -> Value {
    let (name, value) = match event {
        Event::Turn(TurnEvent::Started(turn)) => ("turn_started", of_turn(turn)),
        Event::Turn(TurnEvent::Ended(turn)) => ("turn_ended", of_turn(turn)),
        Event::Turn(TurnEvent::Forgotten(turn)) => ("turn_forgotten", Value::Id(*turn)),
        Event::Stale(file) => ("stale", Value::Id(file.0)),
        Event::FileChanged { path, turn, client, accepted } => (
            "file_changed",
            Value::Table(vec![
                ("path", bytes(path)),
                ("turn", Value::Id(*turn)),
                ("client", optional(*client, |client| Value::Json(client.into()))),
                ("accepted", Value::Bool(*accepted)),
            ]),
        ),
    };
    Value::Table(vec![("name", Value::Text(name)), ("value", value)])
}

fn of_hunk(hunk: &Hunk) -> Value {
    let lines = |lines: &Vec<Box<[u8]>>| Value::List(lines.iter().cloned().map(Value::Bytes).collect());
    Value::Table(vec![
        ("before_start", count(hunk.before_start + 1)),
        ("before_lines", lines(&hunk.before)),
        ("after_start", count(hunk.start + 1)),
        ("after_lines", lines(&hunk.after)),
        ("current_start", count(hunk.start + 1)),
        ("state", Value::Text(hunk.state.name())),
        ("reviewed", Value::Bool(hunk.reviewed)),
        ("calls", list(&hunk.calls, |call| bytes(call.as_bytes()))),
    ])
}

fn of_change(change: &Change) -> Value {
    let text = |text: &Option<claude_ide_edits::Bytes>| optional(text.as_ref(), |text| bytes(text));
    Value::Table(vec![
        ("path", bytes(&change.path)),
        ("kind", Value::Text(change.kind.name())),
        ("before", text(&change.before)),
        ("after", text(&change.after)),
        ("current", text(&change.current)),
        ("without", bytes(&change.without)),
        ("hunks", list(&change.hunks, of_hunk)),
        ("turns", Value::List(change.turns.iter().map(|turn| Value::Id(*turn)).collect())),
        ("added", count(change.added)),
        ("removed", count(change.removed)),
        ("conflicts", count(change.conflicts)),
        ("source", Value::Text(change.source.name())),
        ("binary", Value::Bool(change.binary)),
        ("behind", Value::Bool(change.behind)),
        ("by_user", Value::Bool(change.by_user)),
    ])
}
