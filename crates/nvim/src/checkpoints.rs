//! Compares checkpoints of git work trees for Lua, on a thread; results arrive as events.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use claude_ide_edits::checkpoints::{
    Comparison, FoundFile, Met, Name, Repository, Rest, Stored, compare, held, read_stored,
};
use once_cell::sync::Lazy;

use crate::boundary::Arguments;
use crate::error::Error;
use crate::queue::QUEUE;
use crate::value::Value;
use crate::waiting::{Bound, Event, Turn};
use crate::wake::Ringer;

type Job = Box<dyn FnOnce() + Send>;

static WORKER: Lazy<Mutex<Option<Sender<Job>>>> = Lazy::new(Mutex::default);
static LAST_JOB: AtomicU64 = AtomicU64::new(0);
static LAST_TOLD: AtomicU64 = AtomicU64::new(0);

/// A part of a job's result. A job sends as many files as requested or allowed, and its end.
struct Told {
    number: u64,
    value: Value,
}

impl Event for Told {
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
    let number = LAST_TOLD.fetch_add(1, Ordering::Relaxed);
    QUEUE.put(Told { number, value: Value::Table(fields) });
}

/// `checkpoint(wanted, async, repository, …)` → the number of the job, which its events carry.
pub(crate) fn call(mut given: Arguments) -> Result<Value, Error> {
    let wanted = given.text("wanted")?;
    if wanted == "stop" {
        QUEUE.disarm(Ringer::Checkpoints);
        return Ok(Value::Bool(true));
    }
    let wake = given.async_handle("async")?;
    let repository = repository(&given.bytes("repository")?);
    let number = LAST_JOB.fetch_add(1, Ordering::Relaxed).saturating_add(1);
    let job: Job = match wanted.as_str() {
        "compare" => {
            let of = comparison(&mut given)?;
            Box::new(move || tell_differences(number, &repository, &of))
        }
        "held" => {
            let (tree, names) = (given.text("tree")?, list(&given.bytes("names")?));
            Box::new(move || {
                held(&repository, &tree, &names).into_iter().for_each(|file| tell_file(number, file));
                tell(number, vec![("is_over", Value::Bool(true))]);
            })
        }
        "read" => {
            let mut fields = list(&given.bytes("files")?).into_iter();
            let mut files = Vec::new();
            while let (Some(blob), Some(name)) = (fields.next(), fields.next()) {
                files.push(Stored { name, blob: String::from_utf8_lossy(&blob).into_owned() });
            }
            Box::new(move || {
                for (name, before) in read_stored(&repository, &files) {
                    tell_file(number, FoundFile { name, before: Some(before), mode: None });
                }
                tell(number, vec![("is_over", Value::Bool(true))]);
            })
        }
        _ => return Err(Error::UnknownOperation { name: wanted }),
    };
    QUEUE.arm(Ringer::Checkpoints, wake);
    start(job)?;
    Ok(Value::Id(number))
}

fn start(job: Job) -> Result<(), Error> {
    let mut worker = WORKER.lock().unwrap_or_else(PoisonError::into_inner);
    let unsent = match worker.as_ref() {
        Some(worker) => worker.send(job).err().map(|unsent| unsent.0),
        None => Some(job),
    };
    let Some(job) = unsent else { return Ok(()) };
    let (sender, jobs) = channel::<Job>();
    let run = move || jobs.into_iter().for_each(|job| job());
    std::thread::Builder::new().name("checkpoints".to_owned()).spawn(run).map_err(Error::Thread)?;
    sender.send(job).unwrap_or_default();
    *worker = Some(sender);
    Ok(())
}

/// Splits at zero bytes.
fn list(joined: &[u8]) -> Vec<Vec<u8>> {
    joined.split(|byte| *byte == 0).filter(|part| !part.is_empty()).map(<[u8]>::to_vec).collect()
}

fn repository(packed: &[u8]) -> Repository {
    let mut fields = list(packed).into_iter();
    let mut path = || PathBuf::from(OsString::from_vec(fields.next().unwrap_or_default()));
    let (top, objects, folder) = (path(), path(), path());
    Repository { top, objects, folder, options: fields.map(OsString::from_vec).collect() }
}

fn comparison(given: &mut Arguments) -> Result<Comparison, Error> {
    let trees = [given.text("from")?, given.text("to")?];
    let ignored: HashSet<Name> = list(&given.bytes("ignored")?).into_iter().collect();
    let met_of = |entry: Vec<u8>| match entry.split_first() {
        Some((b'u', name)) => Some((name.to_vec(), Met::Unchanged)),
        Some((b'c', name)) => Some((name.to_vec(), Met::Changed)),
        _ => None,
    };
    let met: HashMap<Name, Met> = list(&given.bytes("met")?).into_iter().filter_map(met_of).collect();
    let path = |path: Vec<u8>| PathBuf::from(OsStr::from_bytes(&path));
    let unwanted = list(&given.bytes("unwanted")?).into_iter().map(path).collect();
    let max_files = usize::try_from(given.id("max_files")?).unwrap_or_default();
    Ok(Comparison { trees, ignored, met, unwanted, max_files })
}

fn bytes(bytes: Vec<u8>) -> Value {
    Value::Bytes(bytes.into())
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

fn tell_differences(job: u64, repository: &Repository, of: &Comparison) {
    let found = compare(repository, of);
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
