//! How an agent speaks: lines of JSON, whatever is in them.

use std::time::{Duration, Instant};

use crate::command::Command;
use crate::event::Event;

/// One agent's way to speak. Called on the chat's thread alone, and may take its time.
pub trait Backend: Send + 'static {
    /// The agent runs: what is said to it first.
    fn begin(&mut self, out: &mut Output);

    /// The agent said a line, without its end.
    fn line(&mut self, line: &[u8], out: &mut Output);

    /// The user wants something.
    fn command(&mut self, command: Command, out: &mut Output);

    /// Whether the agent has asked as much as may wait for an answer: its next line is read once some of it was answered.
    fn is_full(&self) -> bool {
        false
    }

    /// When [`Backend::overdue`] is to be called, if nothing happens before.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Something takes too long.
    fn overdue(&mut self, _now: Instant, _out: &mut Output) {}
}

/// What a backend has to say: to the agent, and to the user.
#[derive(Debug, Default)]
pub struct Output {
    /// For the agent, each with its end of line.
    pub(crate) lines: Vec<Vec<u8>>,
    /// For the user.
    pub(crate) events: Vec<Event>,
    /// For whoever reads along elsewhere.
    pub(crate) streamed: Vec<Streamed>,
}

/// What an agent says while it says it, as it came: an event of the Messages API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Streamed {
    /// Of the agent's own.
    pub session: String,
    /// The event's type; nothing: what was said of the present message is void.
    pub event: Option<(String, String)>,
}

impl Output {
    /// Writes a line to the agent. It is JSON, whatever it holds: one that is not would end some agents.
    pub fn write(&mut self, message: &impl serde::Serialize) {
        match serde_json::to_vec(message) {
            Ok(mut line) => {
                line.push(b'\n');
                self.lines.push(line);
            }
            Err(error) => tracing::error!(%error, "a message to an agent cannot be written"),
        }
    }

    /// Writes a message that is one already, without its end of line.
    pub(crate) fn write_line(&mut self, mut line: Vec<u8>) {
        line.push(b'\n');
        self.lines.push(line);
    }

    /// Tells whoever reads along.
    pub fn stream(&mut self, streamed: Streamed) {
        self.streamed.push(streamed);
    }

    /// Tells the user.
    pub fn emit(&mut self, event: Event) {
        let Some(last) = self.events.last_mut() else { return self.events.push(event) };
        if let Err(event) = last.join(event) {
            self.events.push(event);
        }
    }

    /// Tells the user something about the conversation in a sentence.
    pub(crate) fn notice(&mut self, text: impl Into<String>) {
        self.emit(Event::Notice { text: text.into() });
    }

    /// The answer to a command with a number: that it was done, or why not.
    pub(crate) fn answer(&mut self, number: u64, error: Option<String>) {
        self.emit(Event::Answer { number, answer: None, error });
    }

    /// Tells that an agent takes long for something it does before it can be talked to.
    pub(crate) fn tell_busy(&mut self, name: &str, doing: &str, since: Duration) {
        let seconds = since.as_secs_f32();
        self.notice(format!(
            "{name} has been {doing} for {seconds:.0} s without a word. `:Claude chat restart` starts it anew."
        ));
    }

    /// Tells that an agent goes on though it was asked to stop.
    pub(crate) fn tell_unstopped(&mut self, name: &str) {
        self.notice(format!(
            "{name} was asked to stop and goes on. `:Claude chat restart` ends it and starts it anew."
        ));
    }
}
