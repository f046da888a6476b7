//! Answers questions about an open transcript, and detects its changes.
//!
//! Of a huge file the end is read first. The whole is indexed meanwhile and then replaces the end, which begins a new
//! epoch, since messages get other numbers. Invariants: a question is answered within its epoch or refused; subagents
//! are reported when they change, not with every line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value as Json;

use super::lock::lock;
use super::request::{Ask, Question};
use super::sink::Change;
use crate::agent::{Agent, AgentFolders};
use crate::cancel::Cancel;
use crate::error::{SessionError, chain};
use crate::id::NodeId;
use crate::index::{Delta, Row};
use crate::model::Usage;
use crate::render::OfFile;
use crate::time::Millis;
use crate::tool_result::EditTexts;
use crate::transcript::{Batch, Position, Transcript};

/// Bytes read of a transcript's end at first.
const FIRST_BYTES: u64 = 1024 * 1024;
/// If these bytes hold fewer rows, more are read: instructions to the model take up most of a file.
const FIRST_ROWS: usize = 200;
/// At most this much is read before the first rows are shown.
const MAX_FIRST_BYTES: u64 = 16 * 1024 * 1024;

/// A transcript's properties, sent with each change.
#[derive(Serialize)]
struct Info<'a> {
    epoch: u64,
    file: &'a Path,
    len: usize,
    complete: bool,
    offset: u64,
    total_usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_reply: Option<Row>,
    /// Left out while unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<&'a [Agent]>,
}

/// An answer that changed the rows.
#[derive(Serialize)]
struct Moved {
    delta: Change,
    info: Json,
}

/// A change of an open transcript.
pub(super) struct News {
    pub(super) change: Change,
    /// Whether its subagents changed.
    pub(super) agents: bool,
}

/// The texts of the changes that were told last, by call: a client has the library use them, and takes none of them itself.
pub(super) type HeldTexts = Arc<Mutex<HashMap<String, EditTexts>>>;

pub(super) struct Reader {
    id: u64,
    transcript: Transcript,
    epoch: u64,
    folders: Arc<Mutex<AgentFolders>>,
    /// The subagents, and the change of their folders that they reflect.
    agents: Vec<Agent>,
    looked: u64,
    texts: HeldTexts,
    cancel: Cancel,
}

impl Reader {
    /// Opens a transcript; of a huge one, only the end.
    ///
    /// # Errors
    /// As [`Transcript::open`].
    pub(super) fn open(
        id: u64,
        file: PathBuf,
        folders: Arc<Mutex<AgentFolders>>,
        texts: HeldTexts,
        cancel: Cancel,
    ) -> Result<Self, SessionError> {
        let mut bytes = FIRST_BYTES;
        let mut transcript = Transcript::open_end(&file, bytes, &cancel)?;
        while !transcript.is_complete() && transcript.len() < FIRST_ROWS && bytes < MAX_FIRST_BYTES {
            bytes *= 4;
            transcript = Transcript::open_end(&file, bytes, &cancel)?;
        }
        let mut reader = Self { id, transcript, epoch: 1, folders, agents: Vec::new(), looked: 0, texts, cancel };
        reader.look_at_agents(true);
        Ok(reader)
    }

    /// The number of the request that opened it, which is its id.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn is_complete(&self) -> bool {
        self.transcript.is_complete()
    }

    pub(super) fn file(&self) -> PathBuf {
        self.transcript.file().to_owned()
    }

    pub(super) fn offset(&self) -> u64 {
        self.transcript.offset()
    }

    /// The transcript's properties, with its subagents if requested.
    ///
    /// # Errors
    /// A path that is not Unicode cannot be sent.
    pub(super) fn info(&self, agents: bool) -> Result<Json, String> {
        let transcript = &self.transcript;
        json(&Info {
            epoch: self.epoch,
            file: transcript.file(),
            len: transcript.len(),
            complete: transcript.is_complete(),
            offset: transcript.offset(),
            total_usage: transcript.total_usage(),
            last_reply: transcript.last_reply(),
            agents: agents.then_some(&self.agents),
        })
    }

    /// Reads what was added.
    pub(super) fn refresh(&mut self) -> Option<News> {
        let before = self.transcript.len();
        let mut delta = match self.transcript.refresh(&self.cancel) {
            Ok(delta) => delta,
            Err(error) => {
                tracing::debug!(error = %chain(&error), "could not follow a transcript");
                return None;
            }
        };
        let linked = self.look_at_agents(delta.reset);
        if delta.is_empty() && delta.len == before && linked.is_none() {
            return None;
        }
        if delta.reset {
            self.epoch += 1;
        }
        let agents = linked.is_some();
        delta.changed.extend(linked.into_iter().flatten().filter(|row| *row < delta.from));
        delta.changed.sort_unstable();
        delta.changed.dedup();
        Some(News { change: Change { delta, shift: None }, agents })
    }

    /// Takes what the CLI shows.
    pub(super) fn show(&mut self, batch: &Batch<'_>) -> Option<News> {
        let delta = self.transcript.show(batch);
        (!delta.is_empty()).then_some(News { change: Change { delta, shift: None }, agents: false })
    }

    /// Replaces the end by the whole file.
    pub(super) fn take_whole(&mut self, mut whole: Transcript) -> Option<News> {
        if self.transcript.is_complete() {
            return None; // The file was replaced meanwhile and read again.
        }
        // Reads what was added since it was opened.
        if let Err(error) = whole.refresh(&self.cancel) {
            tracing::debug!(error = %chain(&error), "could not follow a transcript");
        }
        let shift = whole.rows_before(&self.transcript);
        self.transcript = whole;
        self.epoch += 1;
        let agents = self.look_at_agents(true).is_some();
        let delta = Delta { reset: true, from: 0, len: self.transcript.len(), changed: Vec::new() };
        Some(News { change: Change { delta, shift }, agents })
    }

    /// Checks the subagents; if they changed, returns the rows of the calls that started them.
    fn look_at_agents(&mut self, anyway: bool) -> Option<Vec<usize>> {
        let touched = self.transcript.take_agents_touched();
        let listed = {
            let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
            let looked = folders.look(self.transcript.file());
            if looked == self.looked && !touched && !anyway {
                return None;
            }
            self.looked = looked;
            folders.agents_of(self.transcript.file())
        };
        let agents = self.transcript.agents(listed);
        if agents == self.agents {
            return None;
        }
        let known = |agent: &&Agent| self.agents.binary_search_by(|other| other.id.cmp(&agent.id)).ok();
        let is_new = |agent: &&Agent| known(agent).and_then(|at| self.agents.get(at)) != Some(*agent);
        let calls = agents.iter().filter(is_new).filter_map(|agent| agent.tool_use_id.as_deref());
        let rows = calls.filter_map(|call| {
            let id = self.transcript.message_of_tool(call)?;
            match self.transcript.position(id)? {
                Position::Row { row } => Some(row),
                Position::OtherBranch | Position::Sidechain => None,
            }
        });
        let rows = rows.collect();
        self.agents = agents;
        Some(rows)
    }

    /// Answers a question.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) fn answer(&mut self, ask: Ask) -> Result<Json, String> {
        if ask.epoch != self.epoch {
            return Err("the transcript was replaced".to_owned());
        }
        self.answer_now(ask.question)
    }

    fn answer_now(&mut self, question: Question) -> Result<Json, String> {
        let transcript = &mut self.transcript;
        match question {
            Question::Rows { from, count } => json(&transcript.rows(from, count)),
            Question::Messages { ids, max_text } => {
                let mut messages = Vec::with_capacity(ids.len().min(transcript.message_count()));
                for id in ids {
                    if self.cancel.is_cancelled() {
                        break;
                    }
                    messages.push(reply(transcript.message(NodeId::from_number(id), max_text))?);
                }
                Ok(Json::Array(messages))
            }
            Question::EditTexts { tool_use_id } => reply(transcript.edit_texts(&tool_use_id)),
            Question::EndedCalls { offset, since } => {
                let mut found = transcript.ended_calls(offset, Millis(since), &self.cancel);
                let texts = found.as_mut().map(|found| std::mem::take(&mut found.texts)).unwrap_or_default();
                *lock(&self.texts) = texts;
                reply(found)
            }
            Question::Commands { since } => json(&transcript.commands(Millis(since))),
            Question::ShowBranch { through } => {
                let delta = transcript.show_branch(through.map(NodeId::from_number)).map_err(|error| chain(&error))?;
                json(&Moved { delta: Change { delta, shift: None }, info: self.info(false)? })
            }
            Question::Sidechain { first } => json(&transcript.sidechain(NodeId::from_number(first))),
            Question::Position { id } => json(&transcript.position(NodeId::from_number(id))),
            Question::Draw { request, max_text } => {
                let sidechain = request.sidechain.map(|first| transcript.sidechain(NodeId::from_number(first)));
                reply(request.draw(&mut OfFile { transcript, agents: &self.agents, max_text, sidechain }))
            }
            Question::Markdown(export) => reply(export.piece_of(transcript)),
            Question::MessageAtLine { line } => json(&transcript.message_at_line(line)),
        }
    }
}

fn reply<T: Serialize>(found: Result<T, SessionError>) -> Result<Json, String> {
    found.map_err(|error| chain(&error)).and_then(|value| json(&value))
}

/// Serialises a value for the client.
///
/// # Errors
/// The reason; the client never receives a null instead.
pub(super) fn json<T: Serialize>(value: &T) -> Result<Json, String> {
    serde_json::to_value(value).map_err(|error| format!("it cannot be told: {error}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::time::{Duration, Instant};

    use super::*;

    /// Many, since the system may count thread time in steps of 10 ms.
    const LINES: u32 = 100;

    /// CPU time of this thread, if the system reports it.
    fn cpu_time() -> Option<Duration> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    }

    /// The whole cost of an appended line for a reader: the file, the subagents, the message.
    #[test]
    fn a_line_beside_two_thousand_subagents_costs_less_than_a_millisecond() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        let append = || {
            let mut file = fs::File::options().append(true).create(true).open(&file).unwrap();
            writeln!(file, r#"{{"type":"user","message":{{"content":"a prompt"}}}}"#).unwrap();
        };
        append();
        let folder = dir.path().join("s/subagents");
        fs::create_dir_all(&folder).unwrap();
        for number in 0..2000 {
            fs::write(folder.join(format!("agent-{number}.jsonl")), "{}\n").unwrap();
            fs::write(folder.join(format!("agent-{number}.meta.json")), r#"{"toolUseId":"t"}"#).unwrap();
        }
        let mut reader = Reader::open(1, file.clone(), Arc::default(), Arc::default(), Cancel::new()).unwrap();
        assert_eq!(reader.agents.len(), 2000);
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut best = Duration::MAX;
        // The first looks list the folder: a change within the same clock tick would not show.
        while best > Duration::from_millis(1) {
            assert!(Instant::now() < deadline, "a line beside 2,000 subagents takes {best:?}");
            let (before, started) = (cpu_time(), Instant::now());
            for _ in 0..LINES {
                append();
                let news = reader.refresh().unwrap();
                reader.info(news.agents).unwrap();
            }
            let wall = started.elapsed();
            best = best.min(before.zip(cpu_time()).map_or(wall, |(before, after)| after - before) / LINES);
        }
        println!("a line beside 2,000 subagents: {best:?}, its writing included");
    }
}
