//! Content blocks, the parts of a tool's answer.
//!
//! Wire format: MCP 2025-11-25, "ContentBlock"; ACP v1 borrows it.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// One piece of content.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Text for the model.
    Text {
        /// The text.
        text: Text,
    },
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Its bytes, in base64.
        data: String,
        /// `image/png`, …
        mime_type: String,
    },
    /// A link to a resource, without its contents.
    ResourceLink {
        /// The URI for `resources/read`.
        uri: String,
        /// A display name.
        name: String,
    },
    /// The text of a resource: a file, a buffer.
    Resource {
        /// The resource.
        resource: TextResource,
    },
}

/// The text of a [`Content::Text`].
#[derive(Debug)]
pub enum Text {
    /// Plain text.
    Plain(String),
    /// A JSON string literal, quotes included, which need not be decoded and encoded again.
    Literal(Box<RawValue>),
}

/// The text of a resource.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextResource {
    /// The URI for `resources/read`.
    pub uri: String,
    /// `text/plain`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The current text.
    pub text: String,
}

impl Content {
    /// Text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: Text::Plain(text.into()) }
    }

    /// Text from a JSON string literal.
    #[must_use]
    pub const fn literal(literal: Box<RawValue>) -> Self {
        Self::Text { text: Text::Literal(literal) }
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(text) => text.serialize(serializer),
            Self::Literal(literal) => literal.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(content: &Content) -> String {
        serde_json::to_string(content).unwrap()
    }

    #[test]
    fn a_literal_goes_out_as_it_is() {
        let literal = RawValue::from_string(r#""a\/b""#.to_owned()).unwrap();
        assert_eq!(json(&Content::literal(literal)), r#"{"type":"text","text":"a\/b"}"#);
    }

    #[test]
    fn every_kind_names_its_type_and_is_spelled_as_on_the_wire() {
        assert_eq!(json(&Content::text("ü\n")), r#"{"type":"text","text":"ü\n"}"#);
        let image = Content::Image { data: "AA==".to_owned(), mime_type: "image/png".to_owned() };
        assert_eq!(json(&image), r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#);
        let link = Content::ResourceLink { uri: "file:///a b".to_owned(), name: "a b".to_owned() };
        assert_eq!(json(&link), r#"{"type":"resource_link","uri":"file:///a b","name":"a b"}"#);
        let text = TextResource { uri: "buffer://1".to_owned(), mime_type: None, text: "x".to_owned() };
        assert_eq!(
            json(&Content::Resource { resource: text }),
            r#"{"type":"resource","resource":{"uri":"buffer://1","text":"x"}}"#
        );
    }
}
