//! Subagents of a session: their transcripts, and the tool call that started each.
//!
//! Source: `<sessionId>/subagents/agent-<id>.jsonl` with `agent-<id>.meta.json`, CLI 2.1.329. Older CLIs write the file
//! beside the session's, or the lines into it (see [`crate::Transcript::sidechain`]), and no description.

mod folder;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use folder::Agent;
pub(crate) use folder::agent_id;
use folder::{Folder, Owner};

/// At most this many folders are cached; beyond it the cache is cleared.
const MAX_FOLDERS: usize = 256;

/// Caches subagents by folder: a folder is listed only when it changed, a description read once.
#[derive(Debug, Default)]
pub struct AgentFolders {
    folders: HashMap<PathBuf, Folder>,
    changes: u64,
}

impl AgentFolders {
    /// Checks a session's folders. The returned number changes whenever its subagents did.
    pub fn look(&mut self, session_file: &Path) -> u64 {
        let mut newest = 0;
        for (path, owner) in folders_of(session_file) {
            if self.folders.len() >= MAX_FOLDERS && !self.folders.contains_key(&path) {
                self.folders.clear();
            }
            let folder = self.folders.entry(path.clone()).or_insert_with(|| Folder::new(path, owner));
            if folder.look() {
                self.changes += 1;
                folder.changed = self.changes;
            }
            newest = newest.max(folder.changed);
        }
        newest
    }

    /// The subagents of a session, by id, as of the last look.
    #[must_use]
    pub fn agents_of(&self, session_file: &Path) -> Vec<Agent> {
        let session = session_file.file_stem().unwrap_or_default().to_string_lossy();
        let folders = folders_of(session_file).into_iter().filter_map(|(path, _)| self.folders.get(&path));
        let mut agents: Vec<_> = folders.flat_map(|folder| folder.agents_of(&session)).cloned().collect();
        agents.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        agents
    }
}

/// The subagents of a session, by id.
#[must_use]
pub fn agents_of(session_file: &Path) -> Vec<Agent> {
    let mut folders = AgentFolders::default();
    folders.look(session_file);
    folders.agents_of(session_file)
}

/// What the CLI says of one subagent of a session; `None` without a description. The id may be a client's: a path in it is refused.
#[must_use]
pub fn described_agent(session_file: &Path, id: &str) -> Option<Agent> {
    let is_id = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    folder::described(&subagents_folder(session_file).filter(|_| is_id)?, id)
}

/// The folder for a session's subagents; `None` if the file is a subagent's own.
pub(crate) fn subagents_folder(session_file: &Path) -> Option<PathBuf> {
    agent_id(session_file).is_none().then(|| session_file.with_extension("").join("subagents"))
}

/// A subagent has no folders of its own: the subagents that it starts lie among its session's.
fn folders_of(session_file: &Path) -> Vec<(PathBuf, Owner)> {
    let Some(own) = subagents_folder(session_file) else { return Vec::new() };
    let beside = session_file.parent().map(|folder| (folder.to_owned(), Owner::FirstLine));
    std::iter::once((own, Owner::Folder)).chain(beside).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;

    struct Project {
        dir: tempfile::TempDir,
        folders: AgentFolders,
    }

    impl Project {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir_all(dir.path().join("s1/subagents")).unwrap();
            Self { dir, folders: AgentFolders::default() }
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            let file = self.dir.path().join(name);
            fs::write(&file, text).unwrap();
            file
        }

        fn look(&mut self) -> u64 {
            self.folders.look(&self.dir.path().join("s1.jsonl"))
        }

        fn agents(&mut self) -> Vec<Agent> {
            self.look();
            self.folders.agents_of(&self.dir.path().join("s1.jsonl"))
        }
    }

    #[test]
    fn finds_todays_and_older_subagents() {
        let mut project = Project::new();
        project.write("s1/subagents/agent-b.jsonl", "{}\n");
        let meta = r#"{"agentType":"Explore","toolUseId":"toolu_1","more":1}"#;
        project.write("s1/subagents/agent-b.meta.json", meta);
        project.write("agent-a.jsonl", "{\"sessionId\":\"s1\"}\n");
        project.write("agent-c.jsonl", "{\"sessionId\":\"s2\"}\n");
        let agents = project.agents();
        assert_eq!(agents.iter().map(|agent| agent.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((agents[1].tool_use_id.as_deref(), agents[1].running), (Some("toolu_1"), true));
        assert_eq!(agents_of(&project.dir.path().join("none.jsonl")), []);
        assert_eq!(agents_of(&project.dir.path().join("agent-a.jsonl")), [], "a subagent has no folder of its own");
    }

    #[test]
    fn a_description_that_comes_later_is_a_change_and_so_is_the_end() {
        let mut project = Project::new();
        project.write("s1/subagents/agent-a.jsonl", "{}\n");
        let first = project.look();
        assert_eq!(project.look(), first, "nothing changed");
        assert_eq!(project.agents()[0].tool_use_id, None);
        project.write("s1/subagents/agent-a.meta.json", r#"{"toolUs"#);
        assert_eq!(project.agents()[0].tool_use_id, None, "half-written");
        project.write("s1/subagents/agent-a.meta.json", r#"{"toolUseId":"t","finished":false}"#);
        let second = project.look();
        assert_eq!((second > first, project.agents()[0].tool_use_id.as_deref()), (true, Some("t")));
        project.write("s1/subagents/agent-a.meta.json", r#"{"toolUseId":"t","finished":true,"x":1}"#);
        assert!(project.look() > second && !project.agents()[0].running);
    }

    #[test]
    fn one_subagent_is_told_of_by_its_description_alone() {
        let project = Project::new();
        let session = project.dir.path().join("s1.jsonl");
        project.write("s1/subagents/agent-a1.meta.json", r#"{"agentType":"Explore","description":"Look around"}"#);
        project.write("s1/subagents/agent-b.meta.json", r#"{"descr"#);
        project.write("agent-c.meta.json", r#"{"description":"elsewhere"}"#);
        let task = |id: &str| described_agent(&session, id).and_then(|agent| agent.description);
        assert_eq!(task("a1").as_deref(), Some("Look around"), "its transcript may not have begun");
        for id in ["b", "none", "", "x/../../../agent-c", "../agent-a1"] {
            assert_eq!(task(id), None, "{id}");
        }
    }

    #[test]
    fn a_subagent_silent_for_long_counts_as_ended() {
        let mut project = Project::new();
        let file = project.write("s1/subagents/agent-a.jsonl", "{}\n");
        let old = SystemTime::now() - Duration::from_secs(24 * 3600);
        fs::File::options().append(true).open(file).unwrap().set_modified(old).unwrap();
        assert!(!project.agents()[0].running);
    }

    #[test]
    fn a_file_whose_first_line_comes_later_finds_its_session() {
        let mut project = Project::new();
        project.write("agent-a.jsonl", "{\"sessionId\":");
        assert_eq!(project.agents(), []);
        project.write("agent-a.jsonl", "{\"sessionId\":\"s1\"}\n");
        assert_eq!(project.agents().len(), 1);
        fs::remove_file(project.dir.path().join("agent-a.jsonl")).unwrap();
        assert_eq!(project.agents(), []);
    }
}
