//! Makes transcripts like the CLI's, of any size. The same number always makes the same text.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// What a made transcript consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mix {
    /// Only messages: the most work a byte.
    Messages,
    /// Messages among requests to the model and attachments, as the CLI writes them: most bytes are not messages.
    Real,
}

const CODE: &str = "fn main() {\\n    let answer = \\\"forty-two\\\";\\n    println!(\\\"{answer}\\\");\\n}\\n\\n// Why: the tests ask for it.\\n";
const PROSE: &str = "The handler reads the frame, checks its length against the limit, and only then decodes it. ";

/// Writes a transcript of about `bytes`, and returns how much it became.
pub(crate) fn write(file: &Path, session: usize, bytes: u64, mix: Mix, cwd: &str) -> io::Result<u64> {
    let mut out = Counter { inner: BufWriter::new(File::create(file)?), bytes: 0 };
    let mut turn = Turn { session, number: 0, parent: None };
    let request = format!(r#"{{"type":"api-request-shape","sessionId":"{session}","shape":"{}"}}"#, PROSE.repeat(450));
    let snapshot = PROSE.repeat(650);
    let mut count = 0_u64;
    while out.bytes < bytes {
        count += 1;
        turn.line(
            &mut out,
            "user",
            &format!(r#""message":{{"role":"user","content":"Please do step {count}. {PROSE}"}}"#),
            cwd,
        )?;
        if mix == Mix::Real {
            if count % 4 == 1 {
                writeln!(out, "{request}")?;
                let attachment = format!(r#""attachment":{{"type":"prompt_snapshot","systemPrompt":["{snapshot}"]}}"#);
                turn.line(&mut out, "attachment", &attachment, cwd)?;
            }
            writeln!(out, r#"{{"type":"api-request","sessionId":"{session}","tail":"{}"}}"#, PROSE.repeat(12))?;
        }
        for step in 0..6 {
            let message = format!(
                r#""id":"msg_{session}_{count}_{step}","role":"assistant","model":"claude-test-1","usage":{{"input_tokens":10,"output_tokens":20}}"#
            );
            let thinking = format!(
                r#""message":{{{message},"content":[{{"type":"thinking","thinking":"{}","signature":"c2ln"}}]}}"#,
                PROSE.repeat(4)
            );
            turn.line(&mut out, "assistant", &thinking, cwd)?;
            let id = format!("toolu_{session}_{count}_{step}");
            let call = format!(
                r#""message":{{{message},"stop_reason":"tool_use","content":[{{"type":"tool_use","id":"{id}","name":"Edit","input":{{"file_path":"{cwd}/src/a{step}.rs","old_string":"{CODE}","new_string":"{CODE}"}}}}]}}"#
            );
            turn.line(&mut out, "assistant", &call, cwd)?;
            let result = format!(
                r#""message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":"{}"}}]}},"toolUseResult":{{"filePath":"{cwd}/src/a{step}.rs","oldString":"{CODE}","newString":"{CODE}","originalFile":"{}","structuredPatch":[]}}"#,
                CODE.repeat(2),
                CODE.repeat(20)
            );
            turn.line(&mut out, "user", &result, cwd)?;
        }
        let message = format!(
            r#""id":"msg_{session}_{count}_end","role":"assistant","model":"claude-test-1","stop_reason":"end_turn""#
        );
        let answer = format!(
            r#""message":{{{message},"content":[{{"type":"text","text":"Step {count} is done. {}"}}]}}"#,
            PROSE.repeat(6)
        );
        turn.line(&mut out, "assistant", &answer, cwd)?;
        turn.line(&mut out, "system", r#""subtype":"turn_duration","durationMs":1200"#, cwd)?;
    }
    out.inner.flush()?;
    Ok(out.bytes)
}

/// Makes a project folder full of transcripts.
pub(crate) fn write_many(projects: &Path, count: usize, bytes: u64, cwd: &str) -> io::Result<u64> {
    let folder = projects.join(claude_ide_session::encode_folder(cwd));
    fs::create_dir_all(&folder)?;
    let file = |session: usize| folder.join(format!("{session:08x}-0000-4000-8000-000000000000.jsonl"));
    (0..count).map(|session| write(&file(session), session, bytes / count as u64, Mix::Real, cwd)).sum()
}

struct Turn {
    session: usize,
    number: u64,
    parent: Option<String>,
}

impl Turn {
    fn line(&mut self, out: &mut impl Write, kind: &str, content: &str, cwd: &str) -> io::Result<()> {
        self.number += 1;
        let uuid = format!("{:08x}-0000-4000-8000-{:012x}", self.session, self.number);
        let parent = self.parent.replace(uuid.clone()).map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        let second = self.number % 60;
        writeln!(
            out,
            r#"{{"parentUuid":{parent},"isSidechain":false,{content},"type":"{kind}","uuid":"{uuid}","timestamp":"2026-01-19T04:45:{second:02}.012Z","userType":"external","cwd":"{cwd}","sessionId":"{:08x}-0000-4000-8000-000000000000","version":"2.1.329","gitBranch":"main"}}"#,
            self.session
        )
    }
}

struct Counter<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
