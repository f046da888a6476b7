//! The user's prompts among the lines.

use crate::line_body::Body;
use crate::line_head::{Content, Flavour, Head, LineKind};
use crate::message::Block;
use crate::text::Text;
use crate::user_words;

/// Titles and prompts are cut to this many bytes.
pub(super) const MAX_PROMPT: usize = 400;
/// Bytes read of a prompt including its wrapping.
const MAX_WRAPPED: usize = 16 * 1024;

/// Whether the user wrote the line.
pub(super) fn is_prompt(head: &Head<'_>) -> bool {
    if !matches!(head.line_kind(), LineKind::User | LineKind::Attachment) {
        return false;
    }
    if let Some(attachment) = &head.attachment.0 {
        return attachment.human_turn.is_true();
    }
    let spoken = match head.message.0.as_ref().map(|message| &message.content) {
        None | Some(Content::None) => false,
        Some(Content::Text(flavour)) => *flavour == Flavour::Plain,
        Some(Content::Blocks(blocks)) => {
            match blocks.iter().map(|block| block.text).find(|flavour| *flavour != Flavour::None) {
                Some(flavour) => flavour == Flavour::Plain,
                None => blocks.iter().any(|block| block.kind.text() == "image"),
            }
        }
    };
    spoken && !head.meta.is_true() && !head.compact_summary.is_true()
}

/// The texts of a message, and whether it has an image.
fn texts(line: &[u8]) -> Option<(Vec<String>, bool)> {
    // The wrapping of a prompt may be longer than the prompt.
    let blocks = Body::parse(line)?.blocks(MAX_WRAPPED);
    let has_image = blocks.iter().any(|block| matches!(block, Block::Image(_)));
    let texts = blocks.into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.text),
        _ => None,
    });
    Some((texts.collect(), has_image))
}

/// The words of a prompt.
pub(super) fn prompt(line: &[u8]) -> Option<String> {
    let (texts, has_image) = texts(line)?;
    let said = texts.iter().find_map(|text| user_words::of_prompt(text)).map(|words| Text::cut(words, MAX_PROMPT).text);
    said.or_else(|| has_image.then(|| "[image]".to_owned()))
}

/// A slash command, as typed.
pub(super) fn command(line: &[u8]) -> Option<String> {
    texts(line)?.0.iter().find_map(|text| user_words::of_command(text)).map(|words| Text::cut(words, MAX_PROMPT).text)
}
