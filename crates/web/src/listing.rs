//! What a list says of a session, to somebody who is not on this machine's disk: no file is named.

use claude_ide_session::{LiveSession, SessionState, Summary};
use serde::Serialize;
use serde_json::Value as Json;

use crate::sessions::Sessions;

/// A session in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    id: String,
    title: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    /// "working", "waiting", "idle", "gone".
    state: Json,
    waiting_for: Json,
    since: Json,
    /// Unix milliseconds.
    started: Option<i64>,
    updated: i64,
    messages: Option<u32>,
    turns: Option<u32>,
    bytes: u64,
    first_prompt: Option<String>,
    last_prompt: Option<String>,
}

impl Listed {
    fn new(summary: Summary, running: Option<&LiveSession>) -> Self {
        let state = |state: &SessionState| serde_json::to_value(state).unwrap_or_default();
        let mut listed = Self {
            id: summary.id.to_string(),
            title: running.and_then(|session| session.name.clone()).or(summary.title),
            cwd: summary.cwd.map(|cwd| cwd.to_string_lossy().into_owned()),
            branch: summary.branch,
            model: summary.model,
            state: "gone".into(),
            waiting_for: Json::Null,
            since: Json::Null,
            started: summary.started.map(|time| time.0),
            updated: summary.updated.0,
            messages: summary.messages,
            turns: summary.turns,
            bytes: summary.bytes,
            first_prompt: summary.first_prompt,
            last_prompt: summary.last_prompt,
        };
        if let Some(session) = running {
            listed.set_state(state(&session.state));
        }
        listed
    }

    fn set_state(&mut self, mut state: Json) {
        let mut take = |name| state.get_mut(name).map(Json::take).unwrap_or_default();
        self.state = take("activity");
        self.waiting_for = take("waiting_for");
        self.since = take("since");
    }
}

/// The sessions there are, the one last written to first.
///
/// # Errors
/// Why they cannot be listed.
pub(crate) async fn all(sessions: &Sessions, project: Option<&str>) -> Result<Vec<Listed>, String> {
    let list = sessions.list(project).await?;
    let summaries: Vec<Summary> = serde_json::from_value(list).map_err(|error| error.to_string())?;
    let running = sessions.all_running();
    let of = |summary: &Summary| {
        let those = running.iter().filter(|session| session.id == summary.id);
        those.max_by_key(|session| session.state.since)
    };
    Ok(summaries
        .into_iter()
        .map(|summary| {
            let running = of(&summary);
            Listed::new(summary, running)
        })
        .collect())
}

/// One session; nothing if there is none of this id.
///
/// # Errors
/// Why they cannot be listed.
pub(crate) async fn one(sessions: &Sessions, id: &str) -> Result<Option<Listed>, String> {
    let Some(file) = sessions.find(id).await else { return Ok(None) };
    let Some(mut listed) = all(sessions, None).await?.into_iter().find(|listed| listed.id == id) else {
        return Ok(None);
    };
    if sessions.running(id).is_none()
        && let Some(state) = sessions.state(id, &file).await
    {
        listed.set_state(state);
    }
    Ok(Some(listed))
}
