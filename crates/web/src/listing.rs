//! Lists sessions for remote clients, without file names.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use claude_ide_session::{
    Activity, LiveSession, Millis, Scope, ServiceError, SessionId, SessionState, Summary, WaitingFor,
};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::sessions::{Sessions, lock};

/// A session in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    id: String,
    title: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    state: Activity,
    waiting_for: Option<WaitingFor>,
    since: Option<Millis>,
    started: Option<Millis>,
    updated: Millis,
    messages: Option<u32>,
    turns: Option<u32>,
    bytes: u64,
    first_prompt: Option<String>,
    last_prompt: Option<String>,
}

impl Listed {
    fn new(summary: Summary, running: Option<&LiveSession>) -> Self {
        let mut listed = Self {
            id: summary.id.to_string(),
            title: running.and_then(|session| session.name.clone()).or(summary.title),
            cwd: summary.cwd.map(|cwd| cwd.to_string_lossy().into_owned()),
            branch: summary.branch,
            model: summary.model,
            state: Activity::Gone,
            waiting_for: None,
            since: None,
            started: summary.started,
            updated: summary.updated,
            messages: summary.messages,
            turns: summary.turns,
            bytes: summary.bytes,
            first_prompt: summary.first_prompt,
            last_prompt: summary.last_prompt,
        };
        if let Some(session) = running {
            listed.set_state(session.state);
        }
        listed
    }

    /// A session without messages: its transcript appears with its first prompt.
    fn unwritten(running: &LiveSession) -> Self {
        let begun = running.started.or(running.state.since);
        Self {
            id: running.id.to_string(),
            title: running.name.clone(),
            cwd: Some(running.cwd.clone()),
            branch: None,
            model: None,
            state: running.state.activity,
            waiting_for: running.state.waiting_for,
            since: running.state.since,
            started: begun,
            updated: begun.unwrap_or(Millis(0)),
            messages: Some(0),
            turns: None,
            bytes: 0,
            first_prompt: None,
            last_prompt: None,
        }
    }

    fn set_state(&mut self, state: SessionState) {
        (self.state, self.waiting_for, self.since) = (state.activity, state.waiting_for, state.since);
    }
}

/// All sessions: running ones without messages first, then most recently written first.
///
/// # Errors
/// Why they cannot be listed.
pub(crate) async fn all(sessions: &Sessions, project: Option<&str>) -> Result<Vec<Listed>, ServiceError> {
    let scope = project.map_or(Scope::All, |folder| Scope::Folder(folder.into()));
    let summaries = sessions.service()?.list(scope).await?;
    let mut running: HashMap<String, LiveSession> = HashMap::new();
    for session in sessions.lives.all() {
        let other = running.get(session.id.as_str());
        if other.is_none_or(|other| other.state.since <= session.state.since) {
            running.insert(session.id.to_string(), session);
        }
    }
    let written: Vec<_> = summaries
        .into_iter()
        .map(|one| {
            let of = running.get(one.id.as_str());
            Listed::new(one, of)
        })
        .collect();
    written.iter().for_each(|one| drop(running.remove(&one.id)));
    let here = |session: &&LiveSession| project.is_none_or(|folder| Path::new(&session.cwd) == Path::new(folder));
    let mut listed: Vec<_> = running.values().filter(here).map(Listed::unwritten).collect();
    listed.sort_unstable_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
    listed.extend(written);
    Ok(listed)
}

/// One session; `None` if there is none with this id.
///
/// # Errors
/// Why it cannot be read.
pub(crate) async fn one(sessions: &Sessions, id: &str) -> Result<Option<Listed>, ServiceError> {
    let Some(file) = sessions.find(id).await else { return Ok(None) };
    let running = sessions.lives.of(id);
    let service = sessions.service()?;
    let Some(summary) = service.summary(file.clone()).await? else {
        return Ok(running.as_ref().map(Listed::unwritten));
    };
    let mut listed = Listed::new(summary, running.as_ref());
    if running.is_none()
        && let Ok(state) = service.state(SessionId::new(id), file).await
    {
        listed.set_state(state);
    }
    Ok(Some(listed))
}

/// Tracks changes of the list, so that of thousands of sessions only changed ones are sent again.
pub(crate) struct Changes(Mutex<Known>);

struct Known {
    /// Changes since this number are known; each change takes the next number. The first is taken from the clock, so
    /// that numbers of another Neovim are recognised.
    first: u64,
    last: u64,
    /// By id: the listed value, and the number of its change.
    entries: HashMap<String, (u64, u64)>,
}

impl Changes {
    pub(crate) fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let first = u64::try_from(now).unwrap_or_default();
        Self(Mutex::new(Known { first, last: first, entries: HashMap::new() }))
    }

    /// The whole list, or its changes since `since` if they are known.
    pub(crate) fn since(&self, mut listed: Vec<Listed>, since: Option<u64>) -> Json {
        let mut known = lock(&self.0);
        let Known { first, last, entries } = &mut *known;
        let mut before = std::mem::take(entries);
        let next = *last + 1;
        for one in &listed {
            if entries.contains_key(&one.id) {
                continue; // A copy of its transcript in another folder.
            }
            let mut hasher = DefaultHasher::new();
            serde_json::to_vec(one).unwrap_or_default().hash(&mut hasher);
            let now = hasher.finish();
            let same = before.remove(&one.id).filter(|(then, _)| *then == now);
            if same.is_none() {
                *last = next;
            }
            entries.insert(one.id.clone(), same.unwrap_or((now, next)));
        }
        if !before.is_empty() {
            // Removed sessions show only in a whole list.
            (*first, *last) = (next, next);
        }
        let since = since.filter(|since| (*first..=*last).contains(since));
        if let Some(since) = since {
            listed.retain(|one| entries.get(&one.id).is_none_or(|(_, at)| *at > since));
        }
        json!({ "sessions": listed, "revision": *last, "since": since })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(names: &[(&str, i64)]) -> Vec<Listed> {
        let one = |(id, updated): &(&str, i64)| {
            let summary = json!({ "id": id, "file": "/f", "named": false, "updated": updated, "bytes": 1 });
            Listed::new(serde_json::from_value(summary).unwrap(), None)
        };
        names.iter().map(one).collect()
    }

    fn report(changes: &Changes, names: &[(&str, i64)], since: Option<u64>) -> (Vec<String>, u64, bool) {
        let answer = changes.since(listed(names), since);
        let ids = answer["sessions"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
        (ids.collect(), answer["revision"].as_u64().unwrap(), answer["since"].is_null())
    }

    #[test]
    fn only_changes_are_sent_again() {
        let changes = Changes::new();
        let (all, first, _) = report(&changes, &[("a", 1), ("b", 1)], None);
        assert_eq!(all, ["a", "b"]);
        assert_eq!(report(&changes, &[("a", 1), ("b", 1)], Some(first)), (vec![], first, false));
        let (changed, second, is_all) = report(&changes, &[("b", 2), ("a", 1)], Some(first));
        assert_eq!((changed, is_all), (vec!["b".to_owned()], false));
        let (changed, third, _) = report(&changes, &[("c", 3), ("b", 2), ("a", 1)], Some(second));
        assert_eq!(changed, ["c"]);
        assert_eq!(
            report(&changes, &[("c", 3), ("b", 2), ("a", 1)], Some(first)).0,
            ["c", "b"],
            "of who was away longer"
        );
        let (all, fourth, is_all) = report(&changes, &[("c", 3), ("a", 1)], Some(third));
        assert_eq!((all, is_all), (vec!["c".to_owned(), "a".to_owned()], true), "one is gone");
        for other in [first, fourth + 1, 7] {
            assert!(report(&changes, &[("c", 3), ("a", 1)], Some(other)).2, "of another time");
        }
    }

    #[test]
    fn two_files_of_one_session_are_no_change() {
        let changes = Changes::new();
        let twice = [("a", 2), ("a", 1)];
        let (_, first, _) = report(&changes, &twice, None);
        assert_eq!(report(&changes, &twice, Some(first)), (vec![], first, false));
    }
}
