//! The subagents of a session, and their transcripts, which are read like a session's.

use std::path::PathBuf;

use claude_ide_session::Agent;
use serde::Serialize;

use crate::sessions::Sessions;

/// A subagent in a list, without its file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    id: String,
    /// The call that started it, possibly another subagent's.
    tool_use_id: Option<String>,
    agent_type: Option<String>,
    description: Option<String>,
    running: bool,
}

/// The subagents of a session; `None` if there is no such session.
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

/// One subagent.
pub(crate) async fn one(sessions: &Sessions, id: &str, agent: &str) -> Option<Listed> {
    all(sessions, id).await?.into_iter().find(|known| known.id == agent)
}

/// The transcript of a session or a subagent. Client input is only compared, and never becomes a path.
pub(crate) async fn transcript(sessions: &Sessions, id: &str, agent: Option<&str>) -> Option<PathBuf> {
    let Some(agent) = agent else { return sessions.find(id).await };
    of(sessions, id).await?.into_iter().find(|known| known.id == agent).map(|known| known.file)
}

async fn of(sessions: &Sessions, id: &str) -> Option<Vec<Agent>> {
    let file = sessions.find(id).await?;
    sessions.service().ok()?.agents(file).await.ok()
}
