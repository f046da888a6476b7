//! Blocks of content, between the forms of a chat and of the protocol.

use agent_client_protocol_schema::v1 as schema;
use serde_json::Value;
use serde_json::value::RawValue;

/// Converts a prompt's block from the CLI's form, which the chat uses, to the agent's.
pub(super) fn block(block: Value, takes: &schema::PromptCapabilities) -> Option<schema::ContentBlock> {
    let text = |key: &str| block.get(key).and_then(Value::as_str).map(str::to_owned);
    match block.get("type").and_then(Value::as_str)? {
        "image" if !takes.image => Some("(an image that this agent does not take)".into()),
        "image" => {
            let source = block.get("source")?;
            let data = source.get("data").and_then(Value::as_str)?;
            let kind = source.get("media_type").and_then(Value::as_str)?;
            Some(schema::ContentBlock::Image(schema::ImageContent::new(data, kind)))
        }
        "resource" if !takes.embedded_context => {
            let resource = block.get("resource")?;
            let content = resource.get("text").and_then(Value::as_str)?;
            Some(content.into())
        }
        "text" => text("text").map(Into::into),
        _ => serde_json::from_value(block).ok(),
    }
}

/// Content as text; other kinds as a placeholder.
pub(super) fn in_text(content: &schema::ContentBlock) -> String {
    match content {
        schema::ContentBlock::Text(text) => text.text.clone(),
        schema::ContentBlock::Image(image) => format!("[image {}]", image.mime_type),
        schema::ContentBlock::Audio(audio) => format!("[audio {}]", audio.mime_type),
        schema::ContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        schema::ContentBlock::Resource(resource) => match &resource.resource {
            schema::EmbeddedResourceResource::TextResourceContents(text) => text.text.clone(),
            _ => "[a file that is no text]".to_owned(),
        },
        _ => String::new(),
    }
}

pub(super) fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
