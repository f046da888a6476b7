//! `writeFile`: shown as a diff like any proposal. An accepted change is written here.
//!
//! The file protocol has no review, and its clients no diff: the client waits for the answer, an error if the change was
//! rejected. `ServerOptions::write_file` can change this.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::method::{failed, path_argument, understood};
use crate::{
    disk::{self, DiskError},
    options::WriteFile,
    request::{Caller, Later, Outcome, Payload, RequestError, Routed, WaitsFor},
    tools::Arguments,
    workspace::Place,
};

const DOING: &str = "write file";
/// If this tool is hidden, there is no review either.
const REVIEW_TOOL: &str = "openDiff";

pub(super) fn write_file(caller: Caller, mut args: Arguments) -> Result<Routed, RequestError> {
    let path = args.path("path")?;
    let content = args.string("content")?;
    let reviewed = caller.services.options.write_file == WriteFile::Review;
    if reviewed && caller.tools.find(REVIEW_TOOL).is_none() {
        return Err(RequestError::Failed(format!("failed to {DOING}: diffs are switched off in the editor")));
    }
    let work: Later = Box::new(move || {
        let arrival = caller.services.writes.arrive();
        Box::pin(async move {
            let arrived = arrival.await;
            let place = caller.resolve(path, DOING).await?;
            let turn = caller.services.writes.queue_for(&place.path());
            drop(arrived);
            let turn = turn.await;
            let outcome =
                if reviewed { review(&caller, place, content).await } else { allow(&caller, place, content).await };
            drop(turn);
            outcome
        })
    });
    Ok(Routed::Later(work, if reviewed { WaitsFor::User } else { WaitsFor::Disk }))
}

fn done() -> Outcome {
    Ok(Payload::Json(json!({ "success": true })))
}

#[derive(Deserialize)]
struct Decision<'a> {
    outcome: &'a str,
    #[serde(default)]
    contents: Option<String>,
}

async fn review(caller: &Caller, place: Place, content: String) -> Outcome {
    let (limit, looked_at) = (caller.message_bytes, place.clone());
    let seen = caller.on_disk(move || disk::before_write(&looked_at, limit)).await?;
    let seen = seen.map_err(|error| failed(DOING, &error))?;
    if seen.as_deref() == Some(content.as_bytes()) {
        return done();
    }
    let path = Value::from(place.path().to_string_lossy());
    let mut question = serde_json::Map::new();
    question.insert("old_file_path".to_owned(), path.clone());
    question.insert("new_file_path".to_owned(), path.clone());
    question.insert("tab_name".to_owned(), path);
    question.insert("new_file_contents".to_owned(), Value::from(content));
    question.insert("written_by".to_owned(), Value::from("server"));
    let reply = caller.ask("open_diff", question).await?;
    let accepted = accepted(&reply)?;
    let written = caller.on_disk(move || disk::write_over(seen.as_deref(), &place, &accepted)).await?;
    written.map_err(|error| failed(DOING, &error))?;
    done()
}

/// The accepted text, possibly edited by the user.
fn accepted(reply: &RawValue) -> Result<String, RequestError> {
    let Decision { outcome, contents } = understood(reply)?;
    let rejected = || RequestError::Failed(format!("failed to {DOING}: the user rejected the change"));
    contents.filter(|_| outcome == "saved").ok_or_else(rejected)
}

#[derive(Deserialize)]
struct InEditor {
    #[serde(default)]
    written: bool,
}

/// Writes through the editor if the file is open there, else to disk.
async fn allow(caller: &Caller, place: Place, content: String) -> Outcome {
    let mut question = path_argument(&place.path());
    question.insert("content".to_owned(), Value::from(content.clone()));
    let reply = caller.ask("write_file", question).await?;
    let InEditor { written } = understood(&reply)?;
    if !written {
        let written = caller.on_disk(move || disk::write(&place, &content)).await?;
        written.map_err(|error: DiskError| failed(DOING, &error))?;
    }
    done()
}
