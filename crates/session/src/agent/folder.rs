//! The subagents found in one folder.
//!
//! Invariant: checking an unchanged folder costs a few system calls, however many files it holds.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use claude_ide_system::file::read_regular;
use serde::{Deserialize, Serialize};

use crate::json::parse_file;
use crate::line_buffer::whole_lines;
use crate::state::SILENT;

/// A larger description file is not one.
const MAX_META: u64 = 64 * 1024;
/// Bytes read of an older transcript to find its session id, which stands in the first line.
const HEAD: u64 = 64 * 1024;
/// At most this many of the newest subagents are checked for their end.
const MAX_RUNNING: usize = 64;
/// A folder changed less than this ago may change again within the same tick of the file system's clock.
const TICK: Duration = Duration::from_millis(50);
/// [`TICK`] for file systems that count whole seconds.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// A subagent of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// Its transcript, to be opened like a session's.
    pub file: PathBuf,
    /// The tool call that started it, possibly another subagent's. Older CLIs do not record it before the end.
    pub tool_use_id: Option<String>,
    /// "general-purpose", "Explore", …
    pub agent_type: Option<String>,
    /// Its task in a few words.
    pub description: Option<String>,
    /// Whether it may still work. False once its description or its call reports the end, or after long silence.
    pub running: bool,
}

/// How a subagent's session is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// All subagents in the folder belong to one session.
    Folder,
    /// Sessions share the folder; the subagent's first line names its session.
    FirstLine,
}

/// The CLI's description of a subagent (`agent-<id>.meta.json`).
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Meta {
    tool_use_id: Option<String>,
    agent_type: Option<String>,
    description: Option<String>,
    finished: Option<bool>,
}

#[derive(Debug)]
struct Known {
    agent: Agent,
    /// Read from the first line; unset while the file does not name it.
    session: Option<String>,
    /// Modification time of the description that was read.
    meta: Option<SystemTime>,
}

#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    owner: Owner,
    /// Modification time of the folder when it was last listed.
    modified: Option<SystemTime>,
    /// False while another change could fall into the same clock tick and keep `modified` unchanged.
    settled: bool,
    known: BTreeMap<String, Known>,
    /// The newest subagents that may still run.
    running: Vec<String>,
    /// Number of the last change here, counted over all folders.
    pub(super) changed: u64,
}

impl Folder {
    pub(super) fn new(path: PathBuf, owner: Owner) -> Self {
        Self { path, owner, modified: None, settled: false, known: BTreeMap::new(), running: Vec::new(), changed: 0 }
    }

    /// Checks for changes and returns whether there were any.
    pub(super) fn look(&mut self) -> bool {
        let modified = fs::metadata(&self.path).and_then(|metadata| metadata.modified()).ok();
        let mut changed = false;
        if modified != self.modified || !self.settled {
            (self.modified, self.settled) = (modified, modified.is_none_or(is_settled));
            changed = self.list();
        }
        for id in std::mem::take(&mut self.running) {
            let Some(known) = self.known.get_mut(&id) else { continue };
            changed |= known.look(self.owner);
            if known.agent.running {
                self.running.push(id);
            }
        }
        changed
    }

    pub(super) fn agents_of(&self, session: &str) -> impl Iterator<Item = &Agent> {
        let is_its = move |known: &&Known| match self.owner {
            Owner::Folder => true,
            Owner::FirstLine => known.session.as_deref() == Some(session),
        };
        self.known.values().filter(is_its).map(|known| &known.agent)
    }

    /// Lists the folder. Known subagents are only read again for a description that they lacked.
    fn list(&mut self) -> bool {
        let (mut files, mut described) = (HashSet::new(), Vec::new());
        for entry in fs::read_dir(&self.path).into_iter().flatten().filter_map(Result::ok) {
            let name = entry.file_name();
            let Some(name) = name.to_str().and_then(|name| name.strip_prefix("agent-")) else { continue };
            if let Some(id) = name.strip_suffix(".jsonl") {
                files.insert(id.to_owned());
            } else if let Some(id) = name.strip_suffix(".meta.json") {
                described.push(id.to_owned());
            }
        }
        let before = self.known.len();
        self.known.retain(|id, _| files.contains(id));
        let mut changed = self.known.len() != before;
        let mut fresh = Vec::new();
        for id in files {
            if !self.known.contains_key(&id) {
                let mut known = Known::new(&self.path, &id);
                known.look(self.owner);
                fresh.extend(known.agent.running.then(|| (modified(&known.agent.file), id.clone())));
                self.known.insert(id, known);
                changed = true;
            }
        }
        for id in described {
            if let Some(known) = self.known.get_mut(&id).filter(|known| known.meta.is_none()) {
                changed |= known.describe();
            }
        }
        fresh.sort_unstable();
        self.running.extend(fresh.into_iter().map(|(_, id)| id));
        let surplus = self.running.len().saturating_sub(MAX_RUNNING);
        for id in self.running.drain(..surplus) {
            if let Some(known) = self.known.get_mut(&id) {
                known.agent.running = false;
            }
        }
        changed
    }
}

impl Known {
    fn new(folder: &Path, id: &str) -> Self {
        let file = folder.join(format!("agent-{id}.jsonl"));
        let agent =
            Agent { id: id.to_owned(), file, tool_use_id: None, agent_type: None, description: None, running: true };
        Self { agent, session: None, meta: None }
    }

    /// Checks one that may run; returns whether it changed.
    fn look(&mut self, owner: Owner) -> bool {
        let mut changed = match owner {
            Owner::Folder => self.describe(),
            Owner::FirstLine if self.session.is_none() => {
                self.session = session_of(&self.agent.file);
                self.session.is_some()
            }
            Owner::FirstLine => false,
        };
        if self.agent.running && modified(&self.agent.file).is_none_or(is_silent) {
            self.agent.running = false;
            changed = true;
        }
        changed
    }

    /// Reads the description if it changed.
    fn describe(&mut self) -> bool {
        let file = self.agent.file.with_extension("meta.json");
        let Some(stamp) = modified(&file).filter(|stamp| self.meta != Some(*stamp)) else { return false };
        // A half-written one is read again later.
        let Some(meta) = read_regular(&file, MAX_META).ok().and_then(parse_file::<Meta>) else { return false };
        self.meta = is_settled(stamp).then_some(stamp);
        let before = self.agent.clone();
        self.agent.tool_use_id = meta.tool_use_id;
        self.agent.agent_type = meta.agent_type;
        self.agent.description = meta.description;
        self.agent.running = self.agent.running && meta.finished != Some(true);
        self.agent != before
    }
}

/// A subagent of the folder, if it is described.
pub(super) fn described(folder: &Path, id: &str) -> Option<Agent> {
    let mut known = Known::new(folder, id);
    known.describe().then_some(known.agent)
}

/// The subagent's id, from the name of its transcript.
pub(crate) fn agent_id(file: &Path) -> Option<&str> {
    file.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}

/// Zero after the clock was set back.
fn age(time: SystemTime) -> Duration {
    SystemTime::now().duration_since(time).unwrap_or_default()
}

fn is_settled(modified: SystemTime) -> bool {
    let in_seconds = modified.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|time| time.subsec_nanos() == 0);
    age(modified) > if in_seconds { COARSE_TICK } else { TICK }
}

fn is_silent(modified: SystemTime) -> bool {
    age(modified) > SILENT
}

fn session_of(file: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Line {
        #[serde(rename = "sessionId")]
        session: String,
    }
    let head = read_regular(file, HEAD).ok()?;
    whole_lines(&head, true).find_map(|line| parse_file::<Line>(line.to_vec())).map(|line| line.session)
}
