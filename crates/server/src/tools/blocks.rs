//! Parses editor replies that consist of content blocks: texts and images, in order.

use serde::Deserialize;
use serde_json::value::RawValue;

use claude_ide_protocol::{content::Content, mcp::CallToolResult};

use super::{UnexpectedReply, parse_reply};

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        #[serde(borrow)]
        data: std::borrow::Cow<'a, str>,
        mime_type: String,
    },
}

/// Validates and converts the blocks.
pub(crate) fn parse(reply: &RawValue) -> Result<CallToolResult, UnexpectedReply> {
    let Reply { content, is_error } = parse_reply(reply)?;
    let content = content.into_iter().map(|block| match block {
        Block::Text { text } => Content::text(text),
        Block::Image { data, mime_type } => Content::Image { data: data.into_owned(), mime_type },
    });
    Ok(CallToolResult { content: content.collect(), is_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(reply: &str) -> Result<CallToolResult, UnexpectedReply> {
        parse(&RawValue::from_string(reply.to_owned()).unwrap())
    }

    #[test]
    fn a_non_block_is_not_sent() {
        assert!(parsed(r#"{"content":[{"type":"video"}]}"#).is_err());
        assert!(parsed(r#"{"content":[{"type":"image","data":"AA=="}]}"#).is_err());
    }
}
