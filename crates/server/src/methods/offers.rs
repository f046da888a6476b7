//! Resources and prompts of the editor, which a user names in the client: `@ide:…`, `/ide:…`. MCP, "Resources" and "Prompts".

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::watch;

use super::method::{Method, always, later, understood};
use crate::{
    endpoint_name::NVIM,
    request::{Caller, Payload, RequestError, Routed, WaitsFor},
    tools::Arguments,
};

/// Their methods, at both endpoints. Without the option the lists stay empty.
pub(crate) const OFFERS: [Method; 5] = [
    Method { name: "prompts/list", allowed: always, serve: list_prompts },
    Method { name: "prompts/get", allowed: |options| options.offers, serve: get_prompt },
    Method { name: "resources/list", allowed: always, serve: list_resources },
    Method { name: "resources/templates/list", allowed: always, serve: list_templates },
    Method { name: "resources/read", allowed: |options| options.offers, serve: read_resource },
];

fn now(list: &watch::Sender<Arc<RawValue>>) -> Result<Routed, RequestError> {
    Ok(Routed::Now(Ok(Payload::Shared(Arc::clone(&list.borrow())))))
}

fn list_prompts(caller: Caller, _: Arguments) -> Result<Routed, RequestError> {
    now(&caller.services.offered.prompts)
}

fn list_resources(caller: Caller, _: Arguments) -> Result<Routed, RequestError> {
    now(&caller.services.offered.resources)
}

#[derive(Deserialize)]
struct Said {
    description: String,
    /// Content blocks.
    content: Vec<Box<RawValue>>,
}

fn get_prompt(caller: Caller, mut args: Arguments) -> Result<Routed, RequestError> {
    let mut asked = Map::new();
    asked.insert("name".to_owned(), args.string("name")?.into());
    asked.insert("arguments".to_owned(), args.optional_object("arguments")?.into());
    let work = async move {
        let reply = caller.ask("nvim.prompt", asked).await?;
        let Said { description, content } = understood(&reply)?;
        let messages: Vec<_> = content.iter().map(|block| json!({ "role": "user", "content": block })).collect();
        Ok(Payload::Json(json!({ "description": description, "messages": messages })))
    };
    Ok(later(work, WaitsFor::Editor))
}

/// None at the endpoint of the CLI: its menu shows them as `@ide:buffer://`, which names nothing (2.1.329).
fn list_templates(caller: Caller, _: Arguments) -> Result<Routed, RequestError> {
    let templates = match caller.endpoint {
        NVIM => json!([
            {
                "uriTemplate": "buffer://{+path}",
                "name": "buffer",
                "title": "A file as the editor has it",
                "description": "The text of a file of the workspace, with changes that are not saved",
            },
            {
                "uriTemplate": "diagnostics://{+path}",
                "name": "diagnostics",
                "title": "What is wrong in a file",
                "description": "Errors and warnings of a file of the workspace",
            },
        ]),
        _ => json!([]),
    };
    Ok(Routed::Now(Ok(Payload::Json(json!({ "resourceTemplates": templates })))))
}

fn read_resource(caller: Caller, mut args: Arguments) -> Result<Routed, RequestError> {
    let mut asked = Map::new();
    asked.insert("uri".to_owned(), args.path("uri")?.into());
    let work = async move {
        let contents: Value = understood(&caller.ask("nvim.read_resource", asked).await?)?;
        Ok(Payload::Json(json!({ "contents": [contents] })))
    };
    Ok(later(work, WaitsFor::Editor))
}
