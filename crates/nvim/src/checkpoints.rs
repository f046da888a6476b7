//! Takes and compares checkpoints of git work trees for Lua, on threads; results arrive as events.

use std::collections::{HashSet, VecDeque};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use claude_ide_edits::checkpoints::{
    Checkpoint, Checkpoints, Differences, FoundFile, NoCheckpoint, NoDiff, Place, Rest, Stored, uncommitted,
};
use once_cell::sync::Lazy;

use crate::boundary::{Arguments, parts, path};
use crate::error::Error;
use crate::queue::QUEUE;
use crate::value::Value;
use crate::waiting::{Bound, Event, Turn};
use crate::wake::Ringer;
use crate::{journal, privacy};

type Job = Box<dyn FnOnce() + Send>;

/// Takes checkpoints, one at a time.
static TAKER: Worker = Worker { name: "checkpoints", jobs: Mutex::new(None) };
/// Compares and reads them, so that a turn's first checkpoint does not wait for the last turn's changes.
static READER: Worker = Worker { name: "checkpoint reads", jobs: Mutex::new(None) };
/// Only for the taker.
static CHECKPOINTS: Lazy<Mutex<Checkpoints>> = Lazy::new(Mutex::default);
/// What Lua may name, oldest first.
static TAKEN: Mutex<VecDeque<Taken>> = Mutex::new(VecDeque::new());
const MAX_TAKEN: usize = 256;
/// The work trees, and whether they are ignored now.
static STATES: Mutex<Vec<(PathBuf, bool)>> = Mutex::new(Vec::new());
static LAST_JOB: AtomicU64 = AtomicU64::new(0);
static LAST_PART: AtomicU64 = AtomicU64::new(0);

/// A checkpoint, by the number of the job that took it.
struct Taken {
    id: u64,
    folder: PathBuf,
    checkpoint: Checkpoint,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn taken(is_it: impl Fn(&&Taken) -> bool) -> Option<Checkpoint> {
    lock(&TAKEN).iter().rev().find(is_it).map(|taken| taken.checkpoint.clone())
}

/// A part of a job's result. A job sends as many files as requested or allowed, and its end.
struct Part {
    number: u64,
    value: Value,
}

impl Event for Part {
    const TURN: Turn = Turn::News;
    const BOUND: Bound = Bound::Latest;

    fn key(&self) -> u64 {
        self.number
    }

    fn into_value(self) -> Value {
        self.value
    }
}

fn tell(job: u64, mut fields: Vec<(&'static str, Value)>) {
    fields.extend([("type", Value::Text("checkpoint")), ("job", Value::Id(job))]);
    let number = LAST_PART.fetch_add(1, Ordering::Relaxed);
    QUEUE.put(Part { number, value: Value::Table(fields) });
}

/// `checkpoint(wanted, async, …)` → the number of the job, which its events carry. `stop`, `forget` and `states` have no
/// job and no more arguments.
pub(crate) fn call(mut given: Arguments) -> Result<Value, Error> {
    let wanted = given.text("wanted")?;
    match wanted.as_str() {
        "stop" => {
            QUEUE.disarm(Ringer::Checkpoints);
            return Ok(Value::Bool(true));
        }
        "forget" => return TAKER.start(Box::new(forget)).map(|()| Value::Bool(true)),
        "states" => return Ok(states()),
        _ => {}
    }
    let wake = given.async_handle("async")?;
    let number = LAST_JOB.fetch_add(1, Ordering::Relaxed).saturating_add(1);
    let (worker, job): (_, Job) = match wanted.as_str() {
        "take" => (&TAKER, take(number, &mut given)?),
        "compare" => (&READER, compare(number, &mut given)?),
        "contained" => {
            let (id, paths) = (given.id("checkpoint")?, paths(&given.bytes("paths")?));
            let contained =
                move || taken(|taken| taken.id == id).map_or_else(Vec::new, |taken| taken.contained(&paths));
            (&READER, Box::new(move || tell_files(number, contained())))
        }
        "read" => (&READER, read(number, &mut given)?),
        "uncommitted" => {
            let (folder, private) = (path(&given.bytes("folder")?), paths(&given.bytes("private")?));
            (&READER, Box::new(move || tell_uncommitted(number, &folder, &private)))
        }
        _ => return Err(Error::UnknownOperation { name: wanted }),
    };
    QUEUE.arm(Ringer::Checkpoints, wake);
    worker.start(job)?;
    Ok(Value::Id(number))
}

/// A thread that runs jobs in their order, once there is one.
struct Worker {
    name: &'static str,
    jobs: Mutex<Option<Sender<Job>>>,
}

impl Worker {
    fn start(&self, job: Job) -> Result<(), Error> {
        let mut started = lock(&self.jobs);
        let unsent = match started.as_ref() {
            Some(jobs) => jobs.send(job).err().map(|unsent| unsent.0),
            None => Some(job),
        };
        let Some(job) = unsent else { return Ok(()) };
        let (sender, jobs) = channel::<Job>();
        let run = move || jobs.into_iter().for_each(|job| job());
        std::thread::Builder::new().name(self.name.to_owned()).spawn(run).map_err(Error::Thread)?;
        sender.send(job).unwrap_or_default();
        *started = Some(sender);
        Ok(())
    }
}

fn take(job: u64, given: &mut Arguments) -> Result<Job, Error> {
    let (folder, home, ours) =
        (path(&given.bytes("folder")?), path(&given.bytes("home")?), path(&given.bytes("ours")?));
    let is_first = given.flag("is_first")?;
    // A prompt's time has whole milliseconds, a file's nanoseconds: what was written in the prompt's millisecond was there before it.
    let since = given
        .optional_id("since")?
        .and_then(|since| UNIX_EPOCH.checked_add(Duration::from_millis(since.saturating_add(1))));
    Ok(Box::new(move || {
        let (deny, began) = (privacy::deny(), journal::now().nanos);
        let place = Place { folder: &folder, home: &home, ours: &ours, is_first, since };
        let mut checkpoints = lock(&CHECKPOINTS);
        let checkpoint = checkpoints.take(&place, |path| deny.denies(path).is_some());
        *lock(&STATES) = checkpoints.states();
        drop(checkpoints);
        let mut fields = vec![("is_over", Value::Bool(true))];
        match checkpoint {
            Ok(checkpoint) => {
                fields.extend([
                    ("began", Value::Id(began)),
                    ("taken", Value::Id(journal::now().nanos)),
                    ("top", Value::Bytes(checkpoint.top().as_os_str().as_bytes().into())),
                    ("early", Value::List(checkpoint.early().iter().cloned().map(bytes).collect())),
                ]);
                let mut all = lock(&TAKEN);
                // After a renewal the earlier copies are not needed any more.
                all.retain(|taken| taken.folder != folder || taken.checkpoint.is_comparable(&checkpoint));
                if all.len() == MAX_TAKEN {
                    all.pop_front();
                }
                all.push_back(Taken { id: job, folder, checkpoint });
            }
            Err(why) => fields.push(("why", Value::Text(why_none(why)))),
        }
        tell(job, fields);
    }))
}

fn why_none(why: NoCheckpoint) -> &'static str {
    match why {
        NoCheckpoint::NoRepository => "no repository",
        NoCheckpoint::Failed => "failed",
        NoCheckpoint::Paused => "paused",
        NoCheckpoint::Pausing => "pausing",
    }
}

fn forget() {
    lock(&CHECKPOINTS).forget();
    lock(&TAKEN).clear();
    lock(&STATES).clear();
}

fn states() -> Value {
    let state = |(top, is_ignored): &(PathBuf, bool)| {
        let top = Value::Bytes(top.as_os_str().as_bytes().into());
        Value::Table(vec![("top", top), ("is_ignored", Value::Bool(*is_ignored))])
    };
    Value::List(lock(&STATES).iter().map(state).collect())
}

fn compare(job: u64, given: &mut Arguments) -> Result<Job, Error> {
    let ids = [given.id("from")?, given.id("to")?];
    let unwanted: HashSet<PathBuf> = paths(&given.bytes("unwanted")?).into_iter().collect();
    let known: HashSet<PathBuf> = paths(&given.bytes("known")?).into_iter().collect();
    let max_files = usize::try_from(given.id("max_files")?).unwrap_or_default();
    Ok(Box::new(move || {
        let found = match ids.map(|id| taken(|taken| taken.id == id)) {
            [Some(from), Some(to)] => from.compare(&to, &unwanted, &known, max_files),
            _ => Differences::default(),
        };
        tell_differences(job, found);
    }))
}

fn read(job: u64, given: &mut Arguments) -> Result<Job, Error> {
    let (folder, packed) = (path(&given.bytes("folder")?), given.bytes("files")?);
    let (mut fields, mut files) = (parts(&packed), Vec::new());
    while let (Some(blob), Some(name)) = (fields.next(), fields.next()) {
        files.push(Stored { name: name.to_vec(), blob: String::from_utf8_lossy(blob).into_owned() });
    }
    Ok(Box::new(move || {
        let contents = taken(|taken| taken.folder == folder).map(|taken| taken.read(&files)).unwrap_or_default();
        let file = |(name, before)| FoundFile { name, before: Some(before), mode: None };
        tell_files(job, contents.into_iter().map(file));
    }))
}

fn tell_uncommitted(job: u64, folder: &Path, private: &[PathBuf]) {
    let deny = privacy::deny();
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let private: HashSet<PathBuf> = private.iter().map(|path| real(path)).collect();
    let found = uncommitted(folder, |path| private.contains(&real(path)) || deny.denies(path).is_some());
    let fields = match found {
        Ok(found) => {
            let withheld = u64::try_from(found.withheld).unwrap_or_default();
            let filtered = u64::try_from(found.filtered).unwrap_or_default();
            vec![("text", bytes(found.text)), ("withheld", Value::Id(withheld)), ("filtered", Value::Id(filtered))]
        }
        Err(why) => {
            let why = match why {
                NoDiff::NoCommit => "git finds no commit here to compare with",
                NoDiff::Withheld => "all that differs is withheld, or has a git filter",
                NoDiff::Same => "nothing differs from the last commit",
                NoDiff::Failed => "git could not compare",
            };
            vec![("why", Value::Text(why))]
        }
    };
    tell(job, [vec![("is_over", Value::Bool(true))], fields].concat());
}

fn paths(packed: &[u8]) -> Vec<PathBuf> {
    parts(packed).map(path).collect()
}

fn bytes(bytes: Vec<u8>) -> Value {
    Value::Bytes(bytes.into())
}

fn tell_files(job: u64, files: impl IntoIterator<Item = FoundFile>) {
    files.into_iter().for_each(|file| tell_file(job, file));
    tell(job, vec![("is_over", Value::Bool(true))]);
}

fn tell_file(job: u64, file: FoundFile) {
    let fields = vec![
        ("name", bytes(file.name)),
        ("before", file.before.map_or(Value::Nil, bytes)),
        ("mode", file.mode.map_or(Value::Nil, |mode| Value::Id(mode.into()))),
    ];
    tell(job, vec![("file", Value::Table(fields))]);
}

fn text(text: &str) -> Value {
    Value::Bytes(text.as_bytes().into())
}

fn of_rest(rest: &Rest) -> Value {
    let ([old_mode, new_mode], [blob, new_blob]) = (&rest.modes, &rest.blobs);
    Value::Table(vec![
        ("name", Value::Bytes(rest.name.as_slice().into())),
        ("old_mode", text(old_mode)),
        ("new_mode", text(new_mode)),
        ("blob", text(blob)),
        ("new_blob", text(new_blob)),
        ("mode_only", if rest.mode_only { Value::Bool(true) } else { Value::Nil }),
    ])
}

fn tell_differences(job: u64, found: Differences) {
    found.found.into_iter().for_each(|file| tell_file(job, file));
    tell(
        job,
        vec![
            ("is_over", Value::Bool(true)),
            ("left_out", Value::List(found.left_out.into_iter().map(bytes).collect())),
            ("rest", Value::List(found.rest.iter().map(of_rest).collect())),
            (
                "too_many",
                found.too_many.map_or(Value::Nil, |count| Value::Id(u64::try_from(count).unwrap_or_default())),
            ),
        ],
    );
}
