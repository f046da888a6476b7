//! Subagents of a session: their transcripts, and which tool call started each.
//!
//! Source: `<sessionId>/subagents/agent-<id>.jsonl` with `agent-<id>.meta.json`, CLI 2.1.329. Older CLIs put the file beside
//! the session's, or the lines into it (see [`crate::Transcript::sidechain`]).

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::line_buffer::whole_lines;

/// A description is small; anything larger is not one.
const MAX_META: u64 = 64 * 1024;
/// Where an older file names its session: in its first line.
const HEAD: u64 = 64 * 1024;

/// A subagent of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// Its transcript, to be opened like a session's.
    pub file: PathBuf,
    /// The tool call that started it, which may be another subagent's; unknown with older CLIs.
    pub tool_use_id: Option<String>,
    /// "general-purpose", "Explore", …
    pub agent_type: Option<String>,
    /// What it was started for.
    pub description: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Meta {
    tool_use_id: Option<String>,
    agent_type: Option<String>,
    description: Option<String>,
}

/// The subagents of the session whose transcript this is, by id. None is not an error.
#[must_use]
pub fn agents_of(session_file: &Path) -> Vec<Agent> {
    let mut agents = agents_in(&session_file.with_extension("").join("subagents"));
    if let (Some(folder), Some(session)) = (session_file.parent(), session_file.file_stem()) {
        let session = session.to_string_lossy();
        agents.extend(agents_in(folder).into_iter().filter(|agent| names_session(&agent.file, &session)));
    }
    agents.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    agents
}

fn agents_in(folder: &Path) -> Vec<Agent> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| agent(&entry.ok()?.path())).collect()
}

fn agent(file: &Path) -> Option<Agent> {
    let id = file.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?.to_owned();
    let meta = read_limited(&file.with_extension("meta.json"), MAX_META);
    let meta: Meta = meta.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
    Some(Agent {
        id,
        file: file.to_owned(),
        tool_use_id: meta.tool_use_id,
        agent_type: meta.agent_type,
        description: meta.description,
    })
}

fn names_session(file: &Path, session: &str) -> bool {
    #[derive(Deserialize)]
    struct Line {
        #[serde(rename = "sessionId")]
        session: String,
    }
    let head = read_limited(file, HEAD).unwrap_or_default();
    let found = whole_lines(&head, true).find_map(|line| serde_json::from_slice::<Line>(line).ok());
    found.is_some_and(|line| line.session == session)
}

fn read_limited(file: &Path, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(file).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_todays_and_older_subagents() {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("s1.jsonl");
        let sub = dir.path().join("s1/subagents");
        fs::create_dir_all(&sub).unwrap();
        fs::write(&session, "").unwrap();
        fs::write(sub.join("agent-b.jsonl"), "{}\n").unwrap();
        fs::write(sub.join("agent-b.meta.json"), r#"{"agentType":"Explore","toolUseId":"toolu_1","more":1}"#).unwrap();
        fs::write(dir.path().join("agent-a.jsonl"), "{\"sessionId\":\"s1\"}\n").unwrap();
        fs::write(dir.path().join("agent-c.jsonl"), "{\"sessionId\":\"s2\"}\n").unwrap();
        let agents = agents_of(&session);
        assert_eq!(agents.iter().map(|agent| agent.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(agents[1].tool_use_id.as_deref(), Some("toolu_1"));
        assert_eq!(agents_of(&dir.path().join("none.jsonl")), []);
    }
}
