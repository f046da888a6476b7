//! The interface of an agent's protocol, which exchanges lines of JSON.

use std::time::{Duration, Instant};

use crate::command::Command;
use crate::event::Event;

/// One agent's protocol. Runs on the chat's thread and may block.
pub trait Backend: Send + 'static {
    /// The agent was started.
    fn begin(&mut self, out: &mut Output);

    /// Handles a line from the agent, without its end.
    fn line(&mut self, line: &[u8], out: &mut Output);

    /// Handles a command of the user.
    fn command(&mut self, command: Command, out: &mut Output);

    /// Whether the agent's open questions have reached the limit: its output is not read until some are answered.
    fn is_full(&self) -> bool {
        false
    }

    /// When to call [`Backend::overdue`], if nothing happens before.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The deadline has passed.
    fn overdue(&mut self, _now: Instant, _out: &mut Output) {}
}

/// The output of a backend.
#[derive(Debug, Default)]
pub struct Output {
    /// Lines to the agent, with their ends.
    pub lines: Vec<Vec<u8>>,
    /// Events for the user.
    pub events: Vec<Event>,
    /// The raw stream, for the web page.
    pub(crate) streamed: Vec<Streamed>,
}

/// A raw stream event of the Messages API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streamed {
    /// The agent's session id.
    pub session: String,
    /// The event's type and JSON; `None` voids the current message.
    pub event: Option<(String, String)>,
}

impl Output {
    /// Writes a line of JSON to the agent: anything else would end some agents.
    pub fn write(&mut self, message: &impl serde::Serialize) {
        match serde_json::to_vec(message) {
            Ok(line) => self.write_line(line),
            Err(error) => tracing::error!(%error, "a message to an agent cannot be written"),
        }
    }

    /// Writes an encoded message, and adds its end of line.
    pub(crate) fn write_line(&mut self, mut line: Vec<u8>) {
        line.push(b'\n');
        self.lines.push(line);
    }

    /// Passes on a raw stream event.
    pub fn stream(&mut self, streamed: Streamed) {
        self.streamed.push(streamed);
    }

    /// Emits an event.
    pub fn emit(&mut self, event: Event) {
        let Some(last) = self.events.last_mut() else { return self.events.push(event) };
        if let Err(event) = last.join(event) {
            self.events.push(event);
        }
    }

    /// Emits a notice to the user, one sentence.
    pub(crate) fn notice(&mut self, text: impl Into<String>) {
        self.emit(Event::Notice { text: text.into() });
    }

    /// Answers a numbered command: done, or the error.
    pub(crate) fn answer(&mut self, number: u64, error: Option<String>) {
        self.emit(Event::Answer { number, answer: None, error });
    }

    /// Reports a slow agent that is not ready yet.
    pub(crate) fn tell_busy(&mut self, name: &str, doing: &str, since: Duration) {
        let seconds = since.as_secs_f32();
        self.notice(format!(
            "{name} has been {doing} for {seconds:.0} s without a word. `:Claude chat restart` starts it anew."
        ));
    }

    /// Reports that an agent continues after an interrupt.
    pub(crate) fn tell_unstopped(&mut self, name: &str) {
        self.notice(format!(
            "{name} was asked to stop and goes on. `:Claude chat restart` ends it and starts it anew."
        ));
    }
}
