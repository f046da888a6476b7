//! The server's interface to Neovim: queues each call and waits for Lua's answer.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

use claude_ide_server::{ClientEvent, Displayed, Editor, EditorCall, EditorError};
use claude_ide_session::Batch;
use serde_json::value::RawValue;

use crate::boundary::into_text;
use crate::clients::announce;
use crate::queue::{Queue, Refusal, Reply, Ticket};
use crate::sessions;
use crate::web;

#[derive(Debug)]
pub(crate) struct QueueEditor(Arc<Queue>);

impl QueueEditor {
    pub(crate) fn new(queue: Arc<Queue>) -> Self {
        Self(queue)
    }
}

impl Editor for QueueEditor {
    fn call(&self, call: EditorCall) -> Pin<Box<dyn Future<Output = Result<Box<RawValue>, EditorError>> + Send>> {
        match self.0.submit(call) {
            Ok(ticket) => Box::pin(wait(ticket)),
            Err(Refusal::Full) => Box::pin(ready(Err(EditorError::Busy))),
            Err(Refusal::TooDeep) => {
                Box::pin(ready(Err(EditorError::InvalidParams("the arguments are nested too deeply".to_owned()))))
            }
        }
    }

    fn event(&self, event: ClientEvent) {
        announce(&self.0, event);
    }

    fn displayed(&self, displayed: &Displayed<'_>) {
        let Displayed { session, message, index, is_final, delta } = *displayed;
        let batch = Batch { message, index, is_final, delta };
        sessions::show(session, &batch);
        web::show(session, &batch);
    }
}

/// Parsed on the server's thread, so that a large answer does not delay Neovim.
async fn wait(ticket: Ticket) -> Result<Box<RawValue>, EditorError> {
    match ticket.answer().await {
        Some(Reply::Result(bytes)) => RawValue::from_string(into_text(bytes)).map_err(|error| {
            tracing::error!(%error, "the editor's answer is no JSON");
            EditorError::Failed("the editor gave an answer that cannot be read".to_owned())
        }),
        Some(Reply::InvalidParams(message)) => Err(EditorError::InvalidParams(message)),
        Some(Reply::Failed(message)) => Err(EditorError::Failed(message)),
        None => Err(EditorError::Closed),
    }
}
