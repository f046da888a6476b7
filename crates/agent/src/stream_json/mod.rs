//! The Claude Code CLI, headless: `claude -p --input-format stream-json --output-format stream-json`.
//!
//! Wire format: seed 002, and what CLI 2.1.329 and 2.1.330 were seen to do. What is unknown is passed over. Every question that
//! names itself is answered once: by the user, or at once with an error where it is of a kind that is not served here or cannot
//! be shown in full. The CLI waits for an answer for ever.

mod incoming;
mod leave;
mod outgoing;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::backend::{Backend, Output};
use crate::command::Command;
use crate::told::Told;
use incoming::{Asked, Incoming};
use leave::Leave;
use outgoing::{Answer, ControlRequest, ControlResponse, Permission, UserMessage};

/// Without an answer for so long, it is told that the CLI does not begin, or does not stop. Nothing is given up.
const BEGIN_PATIENCE: Duration = Duration::from_secs(30);
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// What the CLI asked and nobody has answered yet.
#[derive(Debug)]
enum Question {
    /// Whether a tool may be used.
    Tool { input: Box<RawValue>, suggestions: Vec<Value> },
    /// A form.
    Elicitation,
}

/// What we asked the CLI.
#[derive(Debug, Clone, Copy)]
enum OurRequest {
    Initialize,
    Interrupt,
    Asked(u64),
    Cancel,
}

/// The CLI.
#[derive(Debug, Default)]
pub struct StreamJson {
    questions: HashMap<String, Question>,
    leave: Leave,
    ours: HashMap<String, OurRequest>,
    begin_by: Option<Instant>,
    stop_by: Option<Instant>,
    last: u64,
    speech: incoming::Speech,
}

impl StreamJson {
    /// One that nothing was said to yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn request(
        &mut self,
        what: OurRequest,
        subtype: &str,
        fields: impl IntoIterator<Item = (String, Value)>,
        out: &mut Output,
    ) {
        self.last += 1;
        let id = format!("nvim-{}", self.last);
        out.write(&ControlRequest::new(&id, subtype, fields));
        self.ours.insert(id, what);
    }

    /// The answer to something we asked.
    fn answered(&mut self, id: &str, result: Option<Value>, error: Option<String>, out: &mut Output) {
        match self.ours.remove(id) {
            Some(OurRequest::Initialize) => {
                self.begin_by = None;
                match result {
                    Some(about) => out.tell(Told::Ready { about }),
                    None => out.tell_problem(error.unwrap_or_else(|| "Claude could not begin.".to_owned())),
                }
            }
            Some(OurRequest::Asked(number)) => out.tell(Told::Answer { number, result, error }),
            Some(OurRequest::Interrupt) => self.stop_by = None,
            Some(OurRequest::Cancel) | None => {}
        }
    }

    /// The CLI asks something.
    fn asked(&mut self, asked: Asked, out: &mut Output) {
        let Asked { id, subtype, ask, is_whole, input, suggestions } = asked;
        if Leave::is_asked(&subtype, &ask) {
            return match self.leave.asked(&id, &ask) {
                Some(path) => out.tell(Told::BeforeEdit { request: id, path }),
                None => give_leave(&id, out),
            };
        }
        let input = input.filter(|input| input.get().starts_with(['{', '[']));
        let question = match (subtype.as_str(), input) {
            ("can_use_tool", Some(input)) if is_whole => Question::Tool { input, suggestions },
            ("elicitation", _) if is_whole => Question::Elicitation,
            ("can_use_tool" | "elicitation", _) => return refuse_unread(&id, &ask, out),
            _ => return out.write(&ControlResponse::error(&id, &format!("{subtype} is not served here"))),
        };
        self.questions.insert(id.clone(), question);
        out.tell(Told::Asks { request: id, ask });
    }
}

/// Nobody is asked for what they cannot see.
fn refuse_unread(id: &str, ask: &Value, out: &mut Output) {
    let what = ask.get("tool_name").and_then(Value::as_str).map_or("something", |name| name);
    out.tell_problem(format!(
        "Claude asked for {what} in a way that cannot be shown in full (nested too deep, or no valid text): it was refused."
    ));
    out.write(&ControlResponse::error(id, "the request cannot be read by the editor, so the user was not asked"));
}

fn give_leave(id: &str, out: &mut Output) {
    out.write(&ControlResponse::success(id, Answer::Hook {}));
}

impl Backend for StreamJson {
    fn begin(&mut self, out: &mut Output) {
        let fields = [("hooks".to_owned(), Leave::hooks())];
        self.begin_by = Instant::now().checked_add(BEGIN_PATIENCE);
        self.request(OurRequest::Initialize, "initialize", fields, out);
    }

    fn line(&mut self, line: &[u8], out: &mut Output) {
        match incoming::parse(line) {
            Some(Incoming::Asked(asked)) => self.asked(*asked, out),
            Some(Incoming::Withdrawn(id)) => {
                self.leave.done(&id);
                if self.questions.remove(&id).is_some() {
                    out.tell(Told::Withdrawn { request: id });
                }
            }
            Some(Incoming::Answered { id, result, error }) => self.answered(&id, result, error, out),
            Some(Incoming::Speech) => self.speech.line(line, out),
            None => {
                let words = String::from_utf8_lossy(line.get(..200).unwrap_or(line)).into_owned();
                tracing::warn!(words, "the CLI wrote a line that is not its protocol");
            }
        }
    }

    fn command(&mut self, command: Command, out: &mut Output) {
        match command {
            Command::Prompt { id, content } => out.write(&UserMessage::new(&id, &content)),
            Command::Cancel { id } => {
                let fields = [("message_uuid".to_owned(), Value::String(id))];
                self.request(OurRequest::Cancel, "cancel_async_message", fields, out);
            }
            // Its questions have words of their own.
            Command::Reply { .. } | Command::ReplyWithFile { .. } => {}
            Command::GoOn { request } => {
                if self.leave.done(&request) {
                    give_leave(&request, out);
                }
            }
            Command::Interrupt => {
                self.stop_by = Instant::now().checked_add(STOP_PATIENCE);
                self.request(OurRequest::Interrupt, "interrupt", [], out);
            }
            Command::Ask { number, subject, fields } => self.request(OurRequest::Asked(number), &subject, fields, out),
            Command::Allow { request, changes, always } => {
                let Some(question) = self.questions.remove(&request) else { return };
                let answer = match question {
                    Question::Tool { input, suggestions } => {
                        let permissions = always.iter().filter_map(|at| suggestions.get(*at)).cloned().collect();
                        Answer::Permission(Permission::allow(&input, changes, permissions))
                    }
                    Question::Elicitation => Answer::Elicitation { action: "accept", content: Some(changes) },
                };
                out.write(&ControlResponse::success(&request, answer));
            }
            Command::Deny { request, message, interrupt } => {
                let Some(question) = self.questions.remove(&request) else { return };
                let answer = match question {
                    Question::Tool { .. } => Answer::Permission(Permission::deny(message, interrupt)),
                    Question::Elicitation => {
                        Answer::Elicitation { action: if interrupt { "cancel" } else { "decline" }, content: None }
                    }
                };
                out.write(&ControlResponse::success(&request, answer));
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        [self.begin_by, self.stop_by, self.leave.deadline()].into_iter().flatten().min()
    }

    fn overdue(&mut self, now: Instant, out: &mut Output) {
        if self.begin_by.take_if(|at| *at <= now).is_some() {
            out.tell_busy("Claude", "starting", BEGIN_PATIENCE);
        }
        if self.stop_by.take_if(|at| *at <= now).is_some() {
            out.tell_unstopped("Claude");
        }
        for id in self.leave.overdue(now) {
            tracing::warn!("Neovim was busy for too long: an edit goes on without what the file held");
            give_leave(&id, out);
        }
    }
}

#[cfg(test)]
mod tests;
