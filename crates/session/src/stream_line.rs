//! One line of a conversation, parsed on its own: the CLI streams the same lines that it writes into a transcript.

use crate::line_body::Body;
use crate::message::{Block, ToolResult};

/// The content of one line.
#[derive(Debug, Default)]
pub struct Spoken {
    /// Texts, thinking, tool calls (without results), images.
    pub blocks: Vec<Block>,
    /// Results of tool calls, by call.
    pub results: Vec<(String, ToolResult)>,
}

impl Spoken {
    /// Parses an "assistant" or "user" line; `None` if it is no JSON. Each text is cut to `max_text` bytes.
    ///
    /// Wire format: CLI 2.1.329, `--output-format stream-json`.
    #[must_use]
    pub fn parse(line: &[u8], max_text: usize) -> Option<Self> {
        let body = Body::parse(line)?;
        let mut spoken = Self::default();
        for block in body.blocks(max_text) {
            match block {
                Block::ToolResult { tool_use_id, result } => {
                    // Parsed again, with the CLI's record of the call.
                    let result = body.result_of(&tool_use_id, max_text).unwrap_or(*result);
                    spoken.results.push((tool_use_id, result));
                }
                other => spoken.blocks.push(other),
            }
        }
        Some(spoken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AllowedBy;
    use crate::tool_result::Outcome;

    #[test]
    fn a_streamed_result_has_what_the_cli_recorded() {
        let line = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"ok"}]},
            "tool_use_result":{"filePath":"/p/a","oldString":"a","newString":"b","originalFile":"a\n",
            "structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]}],"userModified":false}}"#;
        let spoken = Spoken::parse(line.as_bytes(), 100).unwrap();
        assert!(spoken.blocks.is_empty());
        let (id, result) = &spoken.results[0];
        assert_eq!(id, "t1");
        assert!(matches!(&result.outcome, Some(Outcome::FileChange(change)) if change.path == "/p/a"));
    }

    #[test]
    fn a_streamed_result_has_what_let_its_call_run() {
        let allowed_by = |decision: &str| {
            let line = format!(
                r#"{{"type":"user","message":{{"content":[{{"tool_use_id":"t1","type":"tool_result","content":"ok"}}]}},
                "tool_result_meta":[{{"id":"t0"}},7,{{"id":"t1","permission_decision":{decision}}}]}}"#
            );
            Spoken::parse(line.as_bytes(), 100).unwrap().results[0].1.allowed_by
        };
        let of = |source: &str, reason: &str| {
            allowed_by(&format!(r#"{{"decision":"accept","source":"{source}","reason_type":"{reason}"}}"#))
        };
        assert_eq!(of("user_permanent", "rule"), Some(AllowedBy::User));
        assert_eq!(of("config", "rule"), Some(AllowedBy::Rule));
        assert_eq!(of("config", "mode"), Some(AllowedBy::Mode));
        assert_eq!(of("hook", "hook"), Some(AllowedBy::Hook));
        assert_eq!([of("config", "other"), allowed_by("null"), allowed_by("7")], [None; 3]);
    }

    #[test]
    fn a_reply_has_its_blocks() {
        let line = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"hello"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#;
        let spoken = Spoken::parse(line.as_bytes(), 4).unwrap();
        assert_eq!(spoken.blocks.len(), 2);
        assert!(matches!(&spoken.blocks[0], Block::Text(text) if text.text == "hell" && text.bytes == 5));
        assert!(Spoken::parse(b"rubbish", 3).is_none());
    }
}
