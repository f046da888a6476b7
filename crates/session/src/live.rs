//! Running CLIs, from the records that they write of themselves.
//!
//! Source: `<config>/sessions/<pid>.json`, CLI 2.1.329. Undocumented: without records no session counts as running.
//! Only files named by a number are opened; the `*.key` files beside them never are.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use claude_ide_system::file::read_regular;
use serde::{Deserialize, Serialize};

use crate::config_dir::{ConfigDir, ConfigDirs, encode_folder};
use crate::error::{SessionError, chain};
use crate::id::SessionId;
use crate::json::parse_file;
pub use crate::process::Liveness;
use crate::process::{ProcessMark, liveness};
use crate::state::{Activity, SessionState, StateSource, WaitingFor, infer};
use crate::time::Millis;
use crate::user_words;

/// A larger file is no record; records are under a kilobyte.
const MAX_RECORD: u64 = 256 * 1024;

/// A running CLI and its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveSession {
    /// Its process id, the one in `ide_connected`.
    pub pid: u32,
    /// Where it keeps its files.
    pub config_dir: ConfigDir,
    /// The session; changes with `/clear` and with resuming.
    pub id: SessionId,
    /// Its working folder.
    pub cwd: String,
    /// The name given by a user or the CLI; not one derived from the folder (`nameSource` "derived", CLI 2.1.329).
    pub name: Option<String>,
    /// "interactive", "bg", …
    pub kind: Option<String>,
    /// The name by which the CLI's `attach` and `stop` know it, if it runs in the background: it stays after `/clear`.
    pub job: Option<String>,
    /// "cli" in a terminal, "sdk-cli" headless.
    pub entrypoint: Option<String>,
    /// The CLI's version.
    pub version: Option<String>,
    /// When the process began.
    pub started: Option<Millis>,
    /// What it is doing.
    pub state: SessionState,
    /// Whether the process runs.
    pub liveness: Liveness,
}

impl LiveSession {
    /// Where its transcript is, or will be after its first prompt.
    #[must_use]
    pub fn transcript(&self) -> PathBuf {
        transcript_of(&self.config_dir, &self.cwd, self.id.as_str())
    }

    /// Where it describes itself.
    pub(crate) fn record(&self) -> PathBuf {
        self.config_dir.sessions().join(format!("{}.json", self.pid))
    }
}

fn transcript_of(config: &ConfigDir, cwd: &str, id: &str) -> PathBuf {
    config.projects().join(encode_folder(cwd)).join(format!("{id}.jsonl"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    pid: u32,
    session_id: String,
    #[serde(default)]
    cwd: String,
    name: Option<String>,
    name_source: Option<String>,
    kind: Option<String>,
    job_id: Option<String>,
    entrypoint: Option<String>,
    version: Option<String>,
    started_at: Option<i64>,
    proc_start: Option<String>,
    pid_domain: Option<String>,
    status: Option<String>,
    waiting_for: Option<String>,
    status_updated_at: Option<i64>,
}

/// The recorded sessions, by process. A record of a dead process has [`Activity::Gone`].
///
/// # Errors
/// [`SessionError::Read`] if the folder exists and cannot be listed.
pub fn live_sessions(config: &ConfigDir) -> Result<Vec<LiveSession>, SessionError> {
    let folder = config.sessions();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(SessionError::read(&folder)(error)),
    };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut sessions: Vec<_> =
        paths.filter(|path| is_record(path)).filter_map(|path| read_record(config, &path)).collect();
    sessions.sort_unstable_by_key(|session| session.pid);
    Ok(sessions)
}

/// The recorded sessions of all folders, by process, and the folders that cannot be read.
pub(crate) fn all_live_sessions(dirs: &ConfigDirs) -> (Vec<LiveSession>, Vec<ConfigDir>) {
    let mut by_pid = BTreeMap::<u32, LiveSession>::new();
    let mut unread = Vec::new();
    for dir in dirs.all() {
        match live_sessions(&dir) {
            Ok(sessions) => {
                for session in sessions {
                    // In another folder there may be the record of an ended process with the same id.
                    let other = by_pid.get(&session.pid);
                    if other.is_none_or(|other| other.state.activity == Activity::Gone) {
                        by_pid.insert(session.pid, session);
                    }
                }
            }
            Err(error) => {
                tracing::debug!(error = %chain(&error), "could not read the session records");
                unread.push(dir);
            }
        }
    }
    (by_pid.into_values().collect(), unread)
}

/// What a session is doing: from its record among `live`; gone if CLIs keep records and it has none; from its
/// transcript if no CLI keeps any.
///
/// # Errors
/// [`SessionError::Read`] if the transcript is needed and cannot be read.
pub fn state_of(
    config: &ConfigDir,
    id: &SessionId,
    transcript: &Path,
    live: &[LiveSession],
) -> Result<SessionState, SessionError> {
    let running = live.iter().filter(|session| session.id == *id);
    // A session resumed twice has two records; the most recently active one decides.
    let newest = running.max_by_key(|session| (session.state.activity != Activity::Gone, session.state.since));
    match newest {
        Some(session) => Ok(session.state),
        None if config.sessions().is_dir() => {
            Ok(SessionState { activity: Activity::Gone, waiting_for: None, since: None, source: StateSource::Record })
        }
        None => infer(transcript, Millis::now()),
    }
}

/// Whether the name is that of a record: digits and `.json`.
pub(crate) fn is_record(path: &Path) -> bool {
    let digits = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".json"));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads a record; `None` if it is gone, half-written, or of another shape.
fn read_record(config: &ConfigDir, path: &Path) -> Option<LiveSession> {
    let record: Record = parse_file(read_regular(path, MAX_RECORD).ok()?)?;
    let mark =
        ProcessMark { pid: record.pid, start: record.proc_start.as_deref(), domain: record.pid_domain.as_deref() };
    let liveness = liveness(mark);
    let state = match (liveness, &record.status) {
        (Liveness::Dead, _) => recorded_state(Activity::Gone, &record),
        (Liveness::Alive | Liveness::Unknown, Some(status)) => recorded_state(activity_of(status), &record),
        (Liveness::Alive | Liveness::Unknown, None) => {
            infer(&transcript_of(config, &record.cwd, &record.session_id), Millis::now())
                .unwrap_or_else(|_| recorded_state(Activity::Idle, &record))
        }
    };
    Some(LiveSession {
        pid: record.pid,
        config_dir: config.clone(),
        id: SessionId::new(&record.session_id),
        cwd: record.cwd,
        // A name derived from the folder, such as "project-3f", is for machines.
        name: record
            .name
            .filter(|_| record.name_source.as_deref() != Some("derived"))
            .and_then(|name| user_words::of_title(&name)),
        kind: record.kind,
        job: record.job_id,
        entrypoint: record.entrypoint,
        version: record.version,
        started: record.started_at.map(Millis),
        state,
        liveness,
    })
}

fn activity_of(status: &str) -> Activity {
    match status {
        "idle" => Activity::Idle,
        "waiting" => Activity::Waiting,
        // "busy", and any state added by a newer CLI.
        _ => Activity::Working,
    }
}

fn recorded_state(activity: Activity, record: &Record) -> SessionState {
    let waiting_for = record.waiting_for.as_deref().map_or(WaitingFor::Other, WaitingFor::of);
    SessionState {
        activity,
        waiting_for: (activity == Activity::Waiting).then_some(waiting_for),
        since: record.status_updated_at.map(Millis),
        source: StateSource::Record,
    }
}

/// A change of a running session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveChange {
    /// The session as it is now; if its process ended, its last state with [`Activity::Gone`].
    pub session: LiveSession,
    /// The session that the process ran before, if it was another: after `/clear` or a resume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<SessionId>,
}

/// Remembers the running sessions, to report changes.
#[derive(Debug, Default)]
pub(crate) struct LiveTable(BTreeMap<u32, LiveSession>);

impl LiveTable {
    /// Takes the current sessions; returns each change once.
    pub(crate) fn update(
        &mut self,
        now: Vec<LiveSession>,
        half_written: impl Fn(&LiveSession) -> bool,
    ) -> Vec<LiveChange> {
        let mut changes = Vec::new();
        let mut next = BTreeMap::new();
        for session in now {
            let before = self.0.remove(&session.pid);
            let known_gone = before.is_none() && session.state.activity == Activity::Gone;
            if before.as_ref() != Some(&session) && !known_gone {
                let previous = before.map(|before| before.id).filter(|id| *id != session.id);
                changes.push(LiveChange { session: session.clone(), previous });
            }
            if session.state.activity != Activity::Gone {
                next.insert(session.pid, session);
            }
        }
        for (pid, mut session) in std::mem::replace(&mut self.0, next) {
            if half_written(&session) {
                self.0.insert(pid, session);
                continue;
            }
            session.state = SessionState {
                activity: Activity::Gone,
                waiting_for: None,
                since: Some(Millis::now()),
                ..session.state
            };
            session.liveness = Liveness::Dead;
            changes.push(LiveChange { session, previous: None });
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(config: &ConfigDir, name: &str, json: &str) {
        fs::create_dir_all(config.sessions()).unwrap();
        fs::write(config.sessions().join(name), json).unwrap();
    }

    fn own(id: &str, status: &str, more: &str) -> String {
        format!(r#"{{"pid":{},"sessionId":"{id}","cwd":"/p","status":"{status}"{more}}}"#, std::process::id())
    }

    #[test]
    fn reads_records_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let config = ConfigDir::at(dir.path());
        assert_eq!(live_sessions(&config).unwrap(), [], "an older CLI keeps none");
        record(
            &config,
            "7.json",
            &own("s", "waiting", r#","waitingFor":"permission prompt","statusUpdatedAt":5,"new":{}"#),
        );
        record(&config, "6.json", &own("b", "idle", r#","kind":"bg","jobId":"0bd26e51""#));
        record(&config, "8.json", r#"{"pid":8,"sess"#);
        record(&config, "7.abc.key", "secret");
        record(&config, "9.abc.json", &own("never", "idle", ""));
        let sessions = live_sessions(&config).unwrap();
        assert_eq!(sessions.len(), 2);
        let (other, sessions): (Vec<_>, Vec<_>) = sessions.into_iter().partition(|session| session.id.as_str() == "b");
        assert_eq!(other[0].job.as_deref(), Some("0bd26e51"), "one in the background");
        assert_eq!(sessions[0].state.activity, Activity::Waiting);
        assert_eq!(sessions[0].state.waiting_for, Some(WaitingFor::Permission));
        assert_eq!(sessions[0].state.since, Some(Millis(5)));
    }

    #[test]
    fn a_record_of_another_shape_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let config = ConfigDir::at(dir.path());
        let status = r#"{"pid":7,"sessionId":"s","status":{"kind":"busy"}}"#;
        for json in ["", "[]", "{", r#"{"pid":"x"}"#, r#"{"pid":7,"sessionId":5}"#, status] {
            record(&config, "7.json", json);
            assert_eq!(live_sessions(&config).unwrap(), [], "{json}");
        }
    }

    #[test]
    fn a_name_made_of_the_folder_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let config = ConfigDir::at(dir.path());
        let name = |source: &str| {
            record(&config, "7.json", &own("s", "idle", &format!(r#","name":"p-3f","nameSource":"{source}""#)));
            live_sessions(&config).unwrap().remove(0).name
        };
        assert_eq!(name("derived"), None);
        assert_eq!(name("user").as_deref(), Some("p-3f"));
    }

    #[test]
    fn a_record_of_a_dead_process_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let config = ConfigDir::at(dir.path());
        record(&config, "1.json", &format!(r#"{{"pid":{},"sessionId":"s","status":"busy"}}"#, u32::MAX));
        assert_eq!(live_sessions(&config).unwrap()[0].state.activity, Activity::Gone);
    }

    #[test]
    fn a_state_comes_from_the_record_else_from_the_transcript() {
        let dir = tempfile::tempdir().unwrap();
        let config = ConfigDir::at(dir.path());
        let transcript = dir.path().join("s.jsonl");
        fs::write(&transcript, "{\"type\":\"user\",\"message\":{\"content\":\"do it\"}}\n").unwrap();
        let state = |id: &str| {
            let state = state_of(&config, &SessionId::new(id), &transcript, &live_sessions(&config).unwrap()).unwrap();
            (state.activity, state.source)
        };
        assert_eq!(state("s"), (Activity::Working, StateSource::Transcript), "no CLI keeps records");
        record(&config, "1.json", &own("s", "idle", ""));
        assert_eq!(state("s"), (Activity::Idle, StateSource::Record));
        assert_eq!(state("other"), (Activity::Gone, StateSource::Record));
    }

    #[test]
    fn changes_are_reported_once_and_clear_names_the_previous_session() {
        let dir = tempfile::tempdir().unwrap();
        let config = ConfigDir::at(dir.path());
        let mut table = LiveTable::default();
        let mut update = || {
            let changes = table.update(live_sessions(&config).unwrap(), |_| false);
            changes.into_iter().map(|change| (change.session.state.activity, change.previous)).collect::<Vec<_>>()
        };
        assert_eq!(update(), []);
        record(&config, "1.json", &own("a", "busy", ""));
        assert_eq!(update(), [(Activity::Working, None)]);
        assert_eq!(update(), []);
        record(&config, "1.json", &own("b", "idle", ""));
        assert_eq!(update(), [(Activity::Idle, Some(SessionId::new("a")))]);
        fs::remove_file(config.sessions().join("1.json")).unwrap();
        assert_eq!(update(), [(Activity::Gone, None)]);
        assert_eq!(update(), []);
    }
}
