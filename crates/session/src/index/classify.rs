//! Classifies lines: a message, part of one, a link between messages, or hidden.

use crate::line_head::{Content, Flavour, Head, LineKind};
use crate::model::RowKind;

/// The `subtype` of the line that marks a compaction.
const COMPACTION: &str = "compact_boundary";

/// Whether the conversation was compacted at this line.
pub(super) fn is_compaction(head: &Head<'_>) -> bool {
    head.line_kind() == LineKind::System && head.subtype.text() == COMPACTION
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Begins a message, or for a reply continues one.
    Node(RowKind),
    /// Nothing but results of tool calls.
    Results,
    /// Bookkeeping in the tree.
    Link,
    /// Not in the tree at all.
    Hidden,
}

pub(crate) fn classify(head: &Head<'_>) -> Class {
    match head.line_kind() {
        LineKind::ApiRequest => Class::Hidden,
        LineKind::Assistant => Class::Node(RowKind::Reply),
        LineKind::User => user(head),
        LineKind::System => system(head),
        LineKind::Attachment => attachment(head),
        LineKind::Other if !head.uuid.is_set() => Class::Hidden,
        LineKind::Other if head.message.0.is_some() => Class::Node(RowKind::Other),
        LineKind::Other => Class::Link,
    }
}

fn user(head: &Head<'_>) -> Class {
    let content = head.message.0.as_ref().map(|message| &message.content);
    let flavour = match content {
        None | Some(Content::None) => Flavour::None,
        Some(Content::Text(flavour)) => *flavour,
        Some(Content::Blocks(blocks)) => {
            let mut own = blocks.iter().filter(|block| block.kind.text() != "tool_result").peekable();
            if own.peek().is_none() && !blocks.is_empty() {
                return Class::Results;
            }
            own.find_map(|block| (block.text != Flavour::None).then_some(block.text)).unwrap_or(Flavour::Plain)
        }
    };
    if head.compact_summary.is_true() {
        return Class::Node(RowKind::Summary);
    }
    Class::Node(match (head.meta.is_true(), flavour) {
        (_, Flavour::Interrupted) => RowKind::Interrupted,
        (_, Flavour::CommandOutput) => RowKind::Output,
        // It begins a turn: Claude goes on because of it.
        (_, Flavour::Task) => RowKind::Notice,
        (true, _) | (_, Flavour::Machine) => RowKind::Meta,
        (false, Flavour::Command) => RowKind::Command,
        (false, Flavour::Plain) => RowKind::Prompt,
        (false, Flavour::None) => RowKind::Other,
    })
}

/// The CLI's own lines: those with readable text are shown, the rest (`turn_duration`, hooks, …) are links.
fn system(head: &Head<'_>) -> Class {
    match head.subtype.text() {
        COMPACTION => Class::Node(RowKind::Compaction),
        // `/rename`, `/context`, `/mcp`, and what they print.
        "local_command" if matches!(head.content, Content::Text(Flavour::Command)) => Class::Node(RowKind::Command),
        "local_command" => Class::Node(RowKind::Output),
        "api_error" => Class::Node(RowKind::Notice),
        _ if matches!(head.content, Content::Text(_)) && !head.meta.is_true() => Class::Node(RowKind::Notice),
        _ => Class::Link,
    }
}

/// A prompt typed while Claude worked is recorded as an attachment, and nowhere else (measured). So is what ran instead of a call.
fn attachment(head: &Head<'_>) -> Class {
    let Some(attachment) = &head.attachment.0 else { return Class::Link };
    if attachment.kind.text() == "queued_command" && attachment.human_turn.is_true() {
        return Class::Node(RowKind::Prompt);
    } else if attachment.is_changed_call() {
        return Class::Node(RowKind::Notice);
    }
    Class::Link
}

/// Whether a line reports a task's end.
pub(super) fn is_notification(head: &Head<'_>) -> bool {
    let content = match head.line_kind() {
        LineKind::User => head.message.0.as_ref().map(|message| &message.content),
        LineKind::Other if head.kind.text() == "queue-operation" => Some(&head.content),
        LineKind::Other | LineKind::Assistant | LineKind::System | LineKind::Attachment | LineKind::ApiRequest => None,
    };
    matches!(content, Some(Content::Text(Flavour::Task)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(json: &str) -> Class {
        classify(&Head::parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn a_users_words_are_prompts_and_the_clis_are_not() {
        let user = |content: &str, more: &str| {
            class(&format!(r#"{{"type":"user","uuid":"u","message":{{"content":{content}}}{more}}}"#))
        };
        assert_eq!(user(r#""hello""#, ""), Class::Node(RowKind::Prompt));
        assert_eq!(user(r#"[{"type":"image"},{"type":"text","text":"look"}]"#, ""), Class::Node(RowKind::Prompt));
        assert_eq!(user(r#""<system-reminder>\nx""#, r#","isMeta":true"#), Class::Node(RowKind::Meta));
        assert_eq!(user(r#""<command-name>/compact</command-name>""#, ""), Class::Node(RowKind::Command));
        assert_eq!(user(r#""<local-command-stdout>x""#, ""), Class::Node(RowKind::Output));
        assert_eq!(user(r#""<task-notification>x""#, ""), Class::Node(RowKind::Notice));
        let system = |content: &str| {
            class(&format!(r#"{{"type":"system","subtype":"local_command","uuid":"u","content":"{content}"}}"#))
        };
        assert_eq!(system("<command-name>/rename</command-name>"), Class::Node(RowKind::Command));
        assert_eq!(system("<local-command-stdout>x"), Class::Node(RowKind::Output));
        let answer = r#""User has answered your questions: \"Which?\"=\"this\".""#;
        assert_eq!(user(answer, r#","isMeta":true"#), Class::Node(RowKind::Output));
        assert_eq!(
            user(r#"[{"type":"text","text":"[Request interrupted by user]"}]"#, ""),
            Class::Node(RowKind::Interrupted)
        );
        assert_eq!(user(r#""This session""#, r#","isCompactSummary":true"#), Class::Node(RowKind::Summary));
        assert_eq!(user(r#"[{"type":"tool_result","tool_use_id":"t"}]"#, ""), Class::Results);
    }

    #[test]
    fn bookkeeping_links_and_queued_prompts_show() {
        assert_eq!(class(r#"{"type":"attachment","uuid":"u","attachment":{"type":"prompt_snapshot"}}"#), Class::Link);
        let told = |words: &str| {
            let attachment = format!(r#"{{"type":"hook_additional_context","content":["{words}"]}}"#);
            class(&format!(r#"{{"type":"attachment","uuid":"u","attachment":{attachment}}}"#))
        };
        assert_eq!(told("The user changed the command of your call"), Class::Node(RowKind::Notice));
        assert_eq!(told("The file has changed"), Class::Link);
        let queued =
            r#"{"type":"attachment","uuid":"u","attachment":{"type":"queued_command","humanTurn":true,"prompt":"p"}}"#;
        assert_eq!(class(queued), Class::Node(RowKind::Prompt));
        assert_eq!(class(r#"{"type":"system","subtype":"turn_duration","uuid":"u"}"#), Class::Link);
        assert_eq!(class(r#"{"type":"progress","uuid":"u","data":{}}"#), Class::Link);
        assert_eq!(class(r#"{"type":"mode","mode":"normal"}"#), Class::Hidden);
        assert_eq!(
            class(r#"{"type":"from-the-future","uuid":"u","message":{"content":"x"}}"#),
            Class::Node(RowKind::Other)
        );
    }
}
