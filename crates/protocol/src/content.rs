//! Content blocks: the pieces that a tool's answer is made of.
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
    /// A picture.
    #[serde(rename_all = "camelCase")]
    Image {
        /// Its bytes, in base64.
        data: String,
        /// `image/png`, …
        mime_type: String,
    },
    /// Where more can be read, without its contents.
    ResourceLink {
        /// What reads it.
        uri: String,
        /// For a user to read.
        name: String,
    },
    /// A text with its place: a file, a buffer.
    Resource {
        /// The text and the place.
        resource: TextResource,
    },
}

/// The text of a [`Content::Text`].
#[derive(Debug)]
pub enum Text {
    /// As it is.
    Plain(String),
    /// JSON already (a string literal, quotes and all), so that it need not be unpacked and packed again.
    Literal(Box<RawValue>),
}

/// A text that can be read again under its URI.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextResource {
    /// What reads it.
    pub uri: String,
    /// `text/plain`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// What it holds now.
    pub text: String,
}

impl Content {
    /// Text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: Text::Plain(text.into()) }
    }

    /// Text that is a JSON string literal already.
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
