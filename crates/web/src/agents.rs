//! Subagents of a session: which there are, and the transcript of each, which is read like a session's.

use std::path::PathBuf;

use claude_ide_session::Agent;
use serde::Serialize;

use crate::sessions::Sessions;

/// A subagent in a list: no file is named.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    id: String,
    /// The call that started it, which may be another subagent's.
    tool_use_id: Option<String>,
    agent_type: Option<String>,
    description: Option<String>,
    running: bool,
}

/// The subagents of a session; nothing if there is no such session.
pub(crate) async fn all(sessions: &Sessions, id: &str) -> Option<Vec<Listed>> {
    let listed = |agent: Agent| Listed {
        id: agent.id,
        tool_use_id: agent.tool_use_id,
        agent_type: agent.agent_type,
        description: agent.description,
        running: agent.running,
    };
    Some(of(sessions, id).await?.into_iter().map(listed).collect())
}

/// One of them.
pub(crate) async fn one(sessions: &Sessions, id: &str, agent: &str) -> Option<Listed> {
    all(sessions, id).await?.into_iter().find(|known| known.id == agent)
}

/// The transcript of a session, or of one of its subagents. What is asked for is compared, and never becomes a path.
pub(crate) async fn transcript(sessions: &Sessions, id: &str, agent: Option<&str>) -> Option<PathBuf> {
    let Some(agent) = agent else { return sessions.find(id).await };
    of(sessions, id).await?.into_iter().find(|known| known.id == agent).map(|known| known.file)
}

async fn of(sessions: &Sessions, id: &str) -> Option<Vec<Agent>> {
    let file = sessions.find(id).await?;
    sessions.service().ok()?.agents(file).await.ok()
}
