//! Resources and prompts of the editor, which a user names in the client: `@ide:…`, `/ide:…`. MCP, "Resources" and "Prompts".
//!
//! The editor reports the lists when they change (`lua/claude-ide/tools/offers.lua`), so a client gets them also while it is busy.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{
    Map, Value, json,
    value::{RawValue, to_raw_value},
};
use tokio::sync::watch;

use claude_ide_protocol::mcp::{Prompt, Resource};

use super::{Caller, Method, always, later, understood};
use crate::{
    endpoint::NVIM,
    router::{Payload, RequestError, Routed, WaitsFor},
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

/// The lists' names on the wire.
const RESOURCES: &str = "resources";
const PROMPTS: &str = "prompts";

/// Both lists, from the editor.
#[derive(Debug, Default, Deserialize)]
pub struct Offers {
    /// The resources that clients may read.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// The prompts that they may get.
    #[serde(default)]
    pub prompts: Vec<Prompt>,
}

/// Both lists, as clients get them.
pub(crate) struct Offered {
    resources: watch::Sender<Arc<RawValue>>,
    prompts: watch::Sender<Arc<RawValue>>,
}

impl Default for Offered {
    fn default() -> Self {
        let nothing = |name| watch::Sender::new(result(name, &[(); 0]));
        Self { resources: nothing(RESOURCES), prompts: nothing(PROMPTS) }
    }
}

impl Offered {
    /// Replaces the lists; returns the names of those that changed.
    pub(crate) fn set(&self, Offers { resources, prompts }: &Offers) -> Vec<&'static str> {
        let changed = [
            (RESOURCES, replace(&self.resources, result(RESOURCES, resources))),
            (PROMPTS, replace(&self.prompts, result(PROMPTS, prompts))),
        ];
        changed.into_iter().filter_map(|(name, changed)| changed.then_some(name)).collect()
    }
}

fn result(name: &str, list: &[impl Serialize]) -> Arc<RawValue> {
    to_raw_value(&BTreeMap::from([(name, list)])).unwrap_or_default().into()
}

fn replace(list: &watch::Sender<Arc<RawValue>>, new: Arc<RawValue>) -> bool {
    list.send_if_modified(|now| {
        let changed = now.get() != new.get();
        *now = new;
        changed
    })
}

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
    let templates = match caller.endpoint.name {
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
