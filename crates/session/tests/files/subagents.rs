//! Subagents, as recorded in their session's transcript.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use claude_ide_session::{AgentFolders, Cancel, ConfigDir, Millis, Store, ToolStatus, Transcript, agents_of};

struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(project.file("s/subagents")).unwrap();
        project
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn append(&self, name: &str, line: &str) {
        let mut file = fs::File::options().append(true).create(true).open(self.file(name)).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    fn open(&self, name: &str) -> Transcript {
        Transcript::open(self.file(name), &Cancel::new()).unwrap()
    }
}

fn call(id: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"c{id}","timestamp":"2026-01-01T00:00:00.000Z","message":{{"id":"m{id}","content":[{{"type":"tool_use","id":"{id}","name":"Agent","input":{{}}}}]}}}}"#
    )
}

fn result(id: &str, outcome: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"r{id}","timestamp":"2026-01-01T00:00:00.010Z","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"launched"}}]}},"toolUseResult":{outcome}}}"#
    )
}

/// As CLI 2.1.329 writes it: at once, and again when the model is notified.
fn notification(agent: &str, call: &str, status: &str, second: u32) -> [String; 2] {
    let text = format!(
        r"<task-notification>\n<task-id>{agent}</task-id>\n<tool-use-id>{call}</tool-use-id>\n<status>{status}</status>\n<result>x</result>\n</task-notification>"
    );
    let time = format!("2026-01-01T00:00:{second:02}");
    [
        format!(r#"{{"type":"queue-operation","operation":"enqueue","timestamp":"{time}.000Z","content":"{text}"}}"#),
        format!(
            r#"{{"type":"user","uuid":"n{agent}{second}","timestamp":"{time}.500Z","message":{{"content":"{text}"}}}}"#
        ),
    ]
}

const ASYNC: &str = r#"{"isAsync":true,"status":"async_launched","agentId":"a1","outputFile":"/x"}"#;

#[test]
fn a_background_subagent_runs_until_its_end_is_reported() {
    let project = Project::new();
    project.append("s/subagents/agent-a1.jsonl", "{}");
    project.append("s.jsonl", &call("t1"));
    project.append("s.jsonl", &result("t1", ASYNC));
    let mut transcript = project.open("s.jsonl");
    let tool = |transcript: &Transcript| transcript.rows(0, 1)[0].tools[0].clone();
    let running = tool(&transcript);
    assert_eq!((running.status, running.background, running.end), (ToolStatus::Running, true, None));
    let message = serde_json::to_value(transcript.message(transcript.rows(0, 1)[0].id, 100).unwrap()).unwrap();
    assert_eq!(
        message["blocks"][0]["result"]["content"],
        serde_json::json!([]),
        "what the model was told is for the model"
    );
    assert_eq!(
        (&message["blocks"][0]["status"], &message["blocks"][0]["background"]),
        (&"running".into(), &true.into())
    );
    assert!(transcript.agents(agents_of(transcript.file()))[0].running);

    let notifications = notification("a1", "t1", "completed", 7);
    project.append("s.jsonl", &notifications[0]);
    let delta = transcript.refresh(&Cancel::new()).unwrap();
    assert_eq!(delta.changed, [0], "its row changed, though no message came");
    let ended = Some(Millis::parse("2026-01-01T00:00:07.000Z").unwrap());
    assert_eq!((tool(&transcript).status, tool(&transcript).end), (ToolStatus::Done, ended));
    project.append("s.jsonl", &notifications[1]);
    transcript.refresh(&Cancel::new()).unwrap();
    assert_eq!(tool(&transcript).end, ended, "what is told again is not news");
    assert!(!transcript.agents(agents_of(transcript.file()))[0].running);
}

#[test]
fn a_failed_or_killed_subagent_is_marked_and_shell_tasks_are_ignored() {
    for status in ["failed", "killed"] {
        let project = Project::new();
        project.append("s.jsonl", &call("t1"));
        project.append("s.jsonl", &call("sh"));
        project.append("s.jsonl", &result("t1", ASYNC));
        project.append("s.jsonl", &result("sh", r#"{"backgroundTaskId":"b1"}"#));
        for line in [notification("a1", "", status, 7), notification("b1", "sh", status, 8)].concat() {
            project.append("s.jsonl", &line);
        }
        let rows = project.open("s.jsonl").rows(0, 2);
        assert_eq!([rows[0].tools[0].status, rows[1].tools[0].status], [ToolStatus::Failed, ToolStatus::Done]);
    }
}

#[test]
fn without_a_description_the_result_links_it_to_its_call() {
    let project = Project::new();
    project.append("s.jsonl", &call("t1"));
    project.append("agent-a1.jsonl", r#"{"sessionId":"s"}"#);
    let mut transcript = project.open("s.jsonl");
    let agent = |transcript: &Transcript| {
        let agents = transcript.agents(agents_of(transcript.file()));
        (agents.len(), agents[0].tool_use_id.clone(), agents[0].running)
    };
    assert_eq!(agent(&transcript), (1, None, true));
    project.append("s.jsonl", &result("t1", r#"{"status":"completed","agentId":"a1","totalDurationMs":5}"#));
    transcript.refresh(&Cancel::new()).unwrap();
    assert_eq!(agent(&transcript), (1, Some("t1".to_owned()), false));
    assert_eq!(transcript.rows(0, 1)[0].tools[0].status, ToolStatus::Done);
}

#[test]
fn nested_subagents_lie_beside_their_parent() {
    let project = Project::new();
    project.append("s/subagents/agent-a0.jsonl", &call("t1"));
    project.append("s/subagents/agent-a0.jsonl", &result("t1", ASYNC));
    project.append("s/subagents/agent-a0.jsonl", &result("t1", r#"{"agentId":"../../s"}"#).replace("rt1", "other"));
    project.append("s/subagents/agent-a1.jsonl", "{}");
    let transcript = project.open("s/subagents/agent-a0.jsonl");
    let agents = transcript.agents(agents_of(transcript.file()));
    assert_eq!(agents.len(), 1, "{agents:?}");
    assert_eq!((agents[0].id.as_str(), agents[0].tool_use_id.as_deref()), ("a1", Some("t1")));
}

/// Many, since the system may count thread time in steps of 10 ms.
const LOOKS: u32 = 100;

/// CPU time of this thread, if the system reports it.
fn cpu_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// With the folders of today's and of older CLIs, 2,000 subagents cost an appended line nothing.
#[test]
fn a_look_beside_two_thousand_costs_no_listing() {
    for place in ["s/subagents/", ""] {
        let project = Project::new();
        project.append("s.jsonl", &call("t1"));
        for number in 0..2000 {
            project.append(&format!("{place}agent-{number}.jsonl"), r#"{"sessionId":"s"}"#);
            project.append(&format!("{place}agent-{number}.meta.json"), r#"{"toolUseId":"t"}"#);
        }
        let (file, mut folders) = (project.file("s.jsonl"), AgentFolders::default());
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut best = Duration::MAX;
        // The first looks list the folder: a change within the same clock tick would not show.
        while best > Duration::from_millis(1) {
            assert!(Instant::now() < deadline, "a look at 2,000 takes {best:?}");
            let (before, started) = (cpu_time(), Instant::now());
            for _ in 0..LOOKS {
                folders.look(&file);
            }
            let wall = started.elapsed();
            best = best.min(before.zip(cpu_time()).map_or(wall, |(before, after)| after - before) / LOOKS);
        }
        assert_eq!(folders.agents_of(&file).len(), 2000);
    }
}

#[test]
fn parallel_subagents_of_an_old_cli_stand_under_the_calls_whose_words_they_got() {
    let project = Project::new();
    let task = |id: &str, prompt: &str| json!({"type":"tool_use","id":id,"name":"Task","input":{"description":id,"prompt":prompt}});
    let calls = json!({"type":"assistant","uuid":"c","parentUuid":null,"message":{"id":"m",
        "content":[task("first", "Look at a"), task("second", "Look at b"), task("third", "Look at c")]}});
    project.append("s.jsonl", &calls.to_string());
    for (uuid, prompt) in [("y", "Look at b"), ("z", "Words of nobody"), ("x", "Look at c\n")] {
        let root = json!({"type":"user","uuid":uuid,"parentUuid":null,"isSidechain":true,
            "message":{"content":prompt}});
        project.append("s.jsonl", &root.to_string());
    }
    let mut transcript = project.open("s.jsonl");
    let row = transcript.rows(0, 1).remove(0);
    let words = |transcript: &mut Transcript, at: usize| -> String {
        let first = row.tools[at].sidechain.unwrap();
        let message = serde_json::to_value(transcript.message(first, 1000).unwrap()).unwrap();
        message["blocks"][0]["text"].as_str().unwrap().to_owned()
    };
    let told = [0, 1, 2].map(|at| words(&mut transcript, at));
    assert_eq!(told, ["Words of nobody", "Look at b", "Look at c\n"]);
}

#[test]
fn the_tokens_of_a_session_are_also_those_of_its_subagents() {
    let project = Project::new();
    let folder = "projects/-p";
    fs::create_dir_all(project.file(&format!("{folder}/s/subagents"))).unwrap();
    let reply = |id: &str, output: u32| {
        format!(
            r#"{{"type":"assistant","uuid":"{id}","cwd":"/p","timestamp":"2026-01-01T00:00:00.000Z","message":{{"id":"{id}","content":[],"usage":{{"input_tokens":10,"output_tokens":{output}}}}}}}"#
        )
    };
    let (session, agent) = (format!("{folder}/s.jsonl"), format!("{folder}/s/subagents/agent-a.jsonl"));
    project.append(&session, &reply("one", 1));
    project.append(&agent, &reply("two", 5).replacen('{', r#"{"isSidechain":true,"#, 1));
    let cache = project.file("cache.json");
    let count = |store: &mut Store, budget: u64| {
        let (tally, is_complete) =
            store.tally(&project.file(&session), &mut { budget }, &Cancel::new()).unwrap().unwrap();
        (tally.tokens(), tally.messages(), is_complete)
    };
    let mut store = Store::new(ConfigDir::at(project.dir.path()), Some(cache.clone()));
    assert!(!count(&mut store, 0).2, "it continues");
    assert_eq!(count(&mut store, u64::MAX), (11 + 15, 1, true));
    // The last line of a reply has its usage; the session's own file is as before.
    project.append(&agent, &reply("two", 7));
    assert_eq!(count(&mut store, u64::MAX), (11 + 17, 1, true));
    store.save().unwrap();
    let mut again = Store::new(ConfigDir::at(project.dir.path()), Some(cache));
    assert_eq!(count(&mut again, u64::MAX), (11 + 17, 1, true));
}
