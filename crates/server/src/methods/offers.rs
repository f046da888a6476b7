//! Prompts and mentionable resources of the agents' endpoint. MCP, "Prompts" and "Resources". The editor provides the
//! content; the list is here, and in `lua/claude-ide/tools/prompts.lua`.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{Caller, Method, always, later, understood};
use crate::{
    router::{Payload, RequestError, Routed, WaitsFor},
    tools::{Arguments, InvalidArgument, LenientList},
};

/// The plain methods of the agents' endpoint.
pub(crate) const OFFERS: [Method; 5] = [
    Method { name: "prompts/list", allowed: always, serve: list_prompts },
    Method { name: "prompts/get", allowed: always, serve: get_prompt },
    Method { name: "resources/list", allowed: always, serve: list_resources },
    Method { name: "resources/templates/list", allowed: always, serve: list_templates },
    Method { name: "resources/read", allowed: always, serve: read_resource },
];

fn now(value: Value) -> Result<Routed, RequestError> {
    Ok(Routed::Now(Ok(Payload::Json(value))))
}

fn list_prompts(_: Caller, _: Arguments) -> Result<Routed, RequestError> {
    let path = json!({ "name": "path", "description": "Only this file; without it all files", "required": false });
    now(json!({ "prompts": [
        {
            "name": "fix_diagnostics",
            "title": "Fix diagnostics",
            "description": "Fix what the editor's language servers find wrong",
            "arguments": [path],
        },
        {
            "name": "review_changes",
            "title": "Review changes",
            "description": "Review what was changed in the files that are open, saved or not, since the last commit",
        },
        {
            "name": "explain_selection",
            "title": "Explain the selection",
            "description": "Explain what is selected in the editor, or the code around the cursor",
        },
    ]}))
}

#[derive(Deserialize)]
struct Prompt {
    description: String,
    text: String,
}

fn get_prompt(caller: Caller, mut args: Arguments) -> Result<Routed, RequestError> {
    let name = args.string("name")?;
    if !["fix_diagnostics", "review_changes", "explain_selection"].contains(&name.as_str()) {
        return Err(InvalidArgument::new("name", format!("there is no prompt {name:?}")).into());
    }
    let mut asked = Map::new();
    asked.insert("name".to_owned(), name.into());
    let mut arguments = Arguments::from(args.optional_object("arguments")?);
    if let Some(path) = arguments.optional_path("path")? {
        asked.insert("path".to_owned(), path.into());
    }
    let work = async move {
        let reply = caller.ask("nvim.prompt", asked).await?;
        let Prompt { description, text } = understood(&reply)?;
        let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
        Ok(Payload::Json(json!({ "description": description, "messages": [message] })))
    };
    Ok(later(work, WaitsFor::Editor))
}

fn list_resources(caller: Caller, _: Arguments) -> Result<Routed, RequestError> {
    let work = async move {
        let reply = caller.ask("nvim.resources", Map::new()).await?;
        let resources: LenientList<Box<RawValue>> = understood(&reply)?;
        Ok(Payload::Json(json!({ "resources": resources })))
    };
    Ok(later(work, WaitsFor::Editor))
}

fn list_templates(_: Caller, _: Arguments) -> Result<Routed, RequestError> {
    now(json!({ "resourceTemplates": [
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
    ]}))
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
