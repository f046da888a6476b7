//! Questions about a chat's transcript, and what the editor adds to it.

use std::collections::HashMap;

use claude_ide_session::render::{KnownAgent, Previous, RenderRequest, head};
use claude_ide_session::{Block, Image, Row, RowKind, ToolStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Below, ChatTranscript, Held, row_of, text_block};
use crate::event::TextKind;

/// Bytes of a prompt in a list.
const MAX_PROMPT: usize = 1024;

/// A question, or an addition.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptRequest {
    /// The number of rows, and the last reply's usage.
    Info,
    /// What changed since it was asked before: null in the end.
    Change,
    /// Some rows.
    Rows {
        /// The first one.
        from: usize,
        /// How many.
        count: usize,
    },
    /// Messages in full.
    Messages {
        /// Their rows' ids.
        ids: Vec<u32>,
        /// Each text of a result is cut to so many bytes.
        max_result: usize,
    },
    /// Rows as items.
    Draw {
        /// Which, and how.
        request: Box<RenderRequest>,
        /// The last visible row above all.
        above: Option<Previous>,
    },
    /// The user's prompts.
    Prompts,
    /// The text of the last reply, after its last call.
    Answer,
    /// Adds a complete message.
    Put {
        /// Its kind.
        kind: RowKind,
        /// Its text.
        text: String,
        /// A prompt's images.
        #[serde(default)]
        images: Vec<Image>,
        /// The prompt's id.
        uuid: Option<String>,
    },
    /// Appends to a text, as [`crate::Event::Text`] does.
    Append {
        /// The block.
        block: u64,
        /// Text or thought.
        kind: TextKind,
        /// The added text.
        text: String,
    },
    /// When a long text continues in a new row.
    Limits {
        /// At the next empty line, or line of code.
        split_at: usize,
        /// At the next line.
        most: usize,
    },
    /// The user denied a call, or changed it.
    Refuse {
        /// The call.
        call: String,
        /// The status to show once it has ended.
        status: ToolStatus,
    },
    /// Replaces a text of a call's result.
    ReplaceResult {
        /// The call.
        call: String,
        /// The part, from 0.
        part: usize,
        /// The text.
        text: String,
    },
    /// The session's subagents, by the call that started each.
    Link(HashMap<String, KnownAgent>),
}

#[derive(Serialize)]
struct Info<'a> {
    len: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_reply: Option<&'a Row>,
}

#[derive(Serialize)]
struct Prompt<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'a str>,
    text: &'a str,
}

fn to_json(value: impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

impl ChatTranscript {
    /// Answers a question; null for an addition.
    pub fn answer(&mut self, request: TranscriptRequest) -> Json {
        match request {
            TranscriptRequest::Info => {
                return to_json(Info { len: self.rows.len(), last_reply: self.last_reply.as_ref() });
            }
            TranscriptRequest::Change => return to_json(self.change()),
            TranscriptRequest::Rows { from, count } => {
                let rows = self.rows.iter().enumerate().skip(from).take(count);
                return rows.map(|(at, held)| to_json(row_of(at, held))).collect();
            }
            TranscriptRequest::Messages { ids, max_result } => {
                return ids.into_iter().filter_map(|id| self.message(id, max_result)).map(to_json).collect();
            }
            TranscriptRequest::Draw { request, above } => {
                let Ok(drawn) = request.draw(&mut Below { transcript: self, above });
                return to_json(drawn);
            }
            TranscriptRequest::Prompts => {
                let prompts = self.rows.iter().filter(|held| held.kind == RowKind::Prompt);
                let prompt = |held: &Held| {
                    let (text, _) = head(held.text().unwrap_or_default(), MAX_PROMPT);
                    to_json(Prompt { uuid: held.uuid.as_deref(), text })
                };
                return prompts.map(prompt).collect();
            }
            TranscriptRequest::Answer => return self.last_answer().into(),
            TranscriptRequest::Put { kind, text, images, uuid } => {
                let images = images.into_iter().map(Block::Image).collect();
                self.put_held(Held { images, uuid, ..Held::new(kind, text_block(TextKind::Text, &text), self.now) });
            }
            TranscriptRequest::Append { block, kind, text } => self.append(block, kind, &text),
            TranscriptRequest::Limits { split_at, most } => self.limits = super::Limits { split_at, most },
            TranscriptRequest::Refuse { call, status } => {
                self.refused.insert(call, status);
            }
            TranscriptRequest::ReplaceResult { call, part, text } => self.replace_result(&call, part, text),
            TranscriptRequest::Link(agents) => self.link(agents),
        }
        Json::Null
    }
}
