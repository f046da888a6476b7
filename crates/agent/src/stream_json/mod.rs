//! The Claude Code CLI, headless: `claude -p --input-format stream-json --output-format stream-json`.
//!
//! Wire format: the VS Code document (doc/dev/server.md), and measurements of CLI 2.1.329 and 2.1.330. Unknown
//! messages are ignored. Every question with an id is answered once: by the user, or at once with an error if its kind
//! is unsupported or it cannot be shown in full. The CLI waits for an answer forever.

mod hook;
mod hook_settings;
mod incoming;
mod outgoing;
mod permission;
mod reports;
mod settings;
mod write_permission;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::backend::{Backend, Output};
use crate::command::Command;
use crate::event::{Answer, Event};
use crate::settings::SettingValue;
pub use hook::{HookAgent, HookAsk, HookDecision};
pub use hook_settings::{SettingsError, with_hooks};
use incoming::{Asked, Incoming};
use outgoing::{ControlRequest, ControlResponse, Permission, Reply, UserMessage};
pub use reports::limit_in_words;
use write_permission::{Edit, WritePermission};

/// Time without a response after which a slow start or interrupt is reported. The chat continues to wait.
const BEGIN_PATIENCE: Duration = Duration::from_secs(30);
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// The CLI's own text for a plain refusal.
const NO: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the \
    new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";

/// An open question of the CLI.
#[derive(Debug)]
enum Question {
    /// A permission to use a tool.
    Tool { input: Box<RawValue>, suggestions: Vec<Value> },
    /// A form.
    Elicitation,
}

/// An open request to the CLI.
#[derive(Debug)]
enum OurRequest {
    Initialize,
    Interrupt,
    Cancel,
    Set { number: u64, setting: String, value: SettingValue },
    ReadEffort(u64),
    StopTask(u64),
    Rewind(u64),
    FindFiles(u64),
}

/// The backend of the CLI.
#[derive(Debug, Default)]
pub struct StreamJson {
    questions: HashMap<String, Question>,
    writes: WritePermission,
    ours: HashMap<String, OurRequest>,
    begin_by: Option<Instant>,
    stop_by: Option<Instant>,
    last: u64,
    speech: incoming::Speech,
}

impl StreamJson {
    /// A conversation that has not started.
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

    /// Handles a response.
    fn answered(&mut self, id: &str, outcome: Result<Value, String>, out: &mut Output) {
        let Some(ours) = self.ours.remove(id) else { return };
        let outcome = match (&ours, outcome) {
            (OurRequest::Interrupt, _) => return self.stop_by = None,
            (OurRequest::Cancel, _) => return,
            (OurRequest::Initialize, outcome) => {
                self.begin_by = None;
                return match outcome {
                    Ok(about) => self.begun(&about, out),
                    Err(error) => out.notice(error),
                };
            }
            (_, outcome) => outcome,
        };
        let (number, answer) = match (ours, outcome) {
            (OurRequest::Set { number, setting, .. }, Ok(_)) if setting == settings::EFFORT => {
                return self.request(OurRequest::ReadEffort(number), "get_settings", [], out);
            }
            (OurRequest::Set { number, setting, value }, Ok(result)) => {
                self.speech.settings.was_set(&setting, &value, &result);
                self.speech.emit_settings(out);
                (number, Ok(None))
            }
            (OurRequest::ReadEffort(number), outcome) => {
                self.speech.settings.read_effort(&outcome.unwrap_or_default());
                self.speech.emit_settings(out);
                (number, Ok(None))
            }
            (OurRequest::FindFiles(number), Ok(result)) => (number, Ok(Some(Answer::Files(reports::files(&result))))),
            (OurRequest::Rewind(number), Ok(result)) => {
                (number, reports::rewound(&result).map(Answer::Rewound).map(Some))
            }
            (OurRequest::StopTask(number), Ok(_)) => (number, Ok(None)),
            (
                OurRequest::Set { number, .. }
                | OurRequest::StopTask(number)
                | OurRequest::Rewind(number)
                | OurRequest::FindFiles(number),
                Err(error),
            ) => (number, Err(error)),
            (OurRequest::Initialize | OurRequest::Interrupt | OurRequest::Cancel, _) => return,
        };
        match answer {
            Ok(answer) => out.emit(Event::Answer { number, answer, error: None }),
            Err(error) => out.answer(number, Some(error)),
        }
    }

    /// The CLI is initialised.
    fn begun(&mut self, about: &Value, out: &mut Output) {
        self.speech.settings.begin(about);
        self.speech.emit_settings(out);
        out.emit(reports::commands(about.get("commands")));
        out.emit(reports::account(about.get("account")));
        out.emit(Event::Ready);
    }

    /// Handles a request of the CLI.
    fn asked(&mut self, asked: Asked, out: &mut Output) {
        let Asked { id, subtype, ask, is_whole, input, order, suggestions } = asked;
        if WritePermission::is_asked(&subtype, &ask) {
            return match self.writes.asked(&id, &ask) {
                Some(Edit { path, call }) => out.emit(Event::BeforeEdit { request: Some(id), paths: vec![path], call }),
                None => permit_write(&id, out),
            };
        }
        let input = input.filter(|input| input.get().starts_with(['{', '[']));
        let question = match (subtype.as_str(), input) {
            ("can_use_tool", Some(input)) if is_whole => {
                out.emit(Event::Asks { request: id.clone(), ask: permission::tool(&ask) });
                Question::Tool { input, suggestions }
            }
            ("elicitation", _) if is_whole => {
                out.emit(Event::Asks { request: id.clone(), ask: permission::form(&ask, order.as_deref()) });
                Question::Elicitation
            }
            ("can_use_tool" | "elicitation", _) => return refuse_unread(&id, &ask, out),
            _ => return out.write(&ControlResponse::error(&id, &format!("{subtype} is not served here"))),
        };
        self.questions.insert(id, question);
    }
}

/// The user is not asked about a request that cannot be shown.
fn refuse_unread(id: &str, ask: &Value, out: &mut Output) {
    let what = ask.get("tool_name").and_then(Value::as_str).map_or("something", |name| name);
    out.notice(format!(
        "Claude asked for {what} in a way that cannot be shown in full (nested too deep, or no valid text): it was refused."
    ));
    out.write(&ControlResponse::error(id, "the request cannot be read by the editor, so the user was not asked"));
}

fn permit_write(id: &str, out: &mut Output) {
    out.write(&ControlResponse::success(id, Reply::Hook {}));
}

impl Backend for StreamJson {
    fn begin(&mut self, out: &mut Output) {
        let fields = [("hooks".to_owned(), WritePermission::hooks())];
        self.speech.emit_settings(out);
        self.begin_by = Instant::now().checked_add(BEGIN_PATIENCE);
        self.request(OurRequest::Initialize, "initialize", fields, out);
    }

    fn line(&mut self, line: &[u8], out: &mut Output) {
        match incoming::parse(line) {
            Some(Incoming::Asked(asked)) => self.asked(*asked, out),
            Some(Incoming::Withdrawn(id)) => {
                self.writes.done(&id);
                if self.questions.remove(&id).is_some() {
                    out.emit(Event::Withdrawn { request: id });
                }
            }
            Some(Incoming::Answered { id, outcome }) => self.answered(&id, outcome, out),
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
            // Its questions have their own commands.
            Command::Reply { .. } | Command::ReplyWithFile { .. } => {}
            Command::GoOn { request } => {
                if self.writes.done(&request) {
                    permit_write(&request, out);
                }
            }
            Command::Interrupt => {
                self.stop_by = Instant::now().checked_add(STOP_PATIENCE);
                self.request(OurRequest::Interrupt, "interrupt", [], out);
            }
            Command::Set { number, setting, value } => {
                let Some((subtype, fields)) = self.speech.settings.request(&setting, &value) else {
                    return out.answer(number, Some("Claude has no such setting".to_owned()));
                };
                self.request(OurRequest::Set { number, setting, value }, subtype, fields, out);
            }
            Command::StopTask { number, id } => {
                self.request(OurRequest::StopTask(number), "stop_task", reports::fields([("task_id", json!(id))]), out);
            }
            Command::Rewind { number, prompt, is_dry } => {
                let mut fields = reports::fields([("user_message_id", json!(prompt))]);
                if is_dry {
                    fields.insert("dry_run".to_owned(), json!(true));
                }
                self.request(OurRequest::Rewind(number), "rewind_files", fields, out);
            }
            Command::FindFiles { number, query } => {
                let fields = reports::fields([("query", json!(query))]);
                self.request(OurRequest::FindFiles(number), "file_suggestions", fields, out);
            }
            Command::ListSessions { number } | Command::CloseSession { number } | Command::SignIn { number, .. } => {
                out.answer(number, Some("Claude cannot do this".to_owned()));
            }
            Command::BeginSession { .. } => {}
            Command::Allow { request, rules, changes, mode, .. } => {
                let Some(question) = self.questions.remove(&request) else { return };
                let answer = match question {
                    Question::Tool { input, suggestions } => {
                        let permissions = permission::updates(&suggestions, &rules, mode);
                        Reply::Permission(Permission::allow(Some(&*input), changes, permissions))
                    }
                    Question::Elicitation => Reply::Elicitation { action: "accept", content: Some(changes) },
                };
                out.write(&ControlResponse::success(&request, answer));
            }
            Command::Deny { request, message, .. } | Command::Unanswered { request, message } => {
                let Some(question) = self.questions.remove(&request) else { return };
                let interrupt = message.is_none();
                let answer = match question {
                    Question::Tool { .. } => {
                        Reply::Permission(Permission::deny(message.unwrap_or_else(|| NO.to_owned()), interrupt))
                    }
                    Question::Elicitation => {
                        Reply::Elicitation { action: if interrupt { "cancel" } else { "decline" }, content: None }
                    }
                };
                out.write(&ControlResponse::success(&request, answer));
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        [self.begin_by, self.stop_by, self.writes.deadline()].into_iter().flatten().min()
    }

    fn overdue(&mut self, now: Instant, out: &mut Output) {
        if self.begin_by.take_if(|at| *at <= now).is_some() {
            out.tell_busy("Claude", "starting", BEGIN_PATIENCE);
        }
        if self.stop_by.take_if(|at| *at <= now).is_some() {
            out.tell_unstopped("Claude");
        }
        for id in self.writes.overdue(now) {
            tracing::warn!("Neovim was busy for too long: an edit continues, and the file's content was not stored");
            permit_write(&id, out);
        }
    }
}

#[cfg(test)]
mod tests;
