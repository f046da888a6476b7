//! Finds text in many transcripts.
//!
//! Searches what users read: texts, thinking, arguments and results of tools; never keys, ids, or instructions to the
//! model. Lines are ruled out by their raw bytes where the pattern allows, so few are parsed. Memory stays within one
//! line.

mod pattern;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::agent::AgentFolders;
use crate::cancel::Cancel;
use crate::error::SessionError;
use crate::id::SessionId;
use crate::line_body::{Body, SearchText};
use crate::line_buffer::RawLine;
use crate::line_head::{Head, LineKind, is_api_request};
use crate::model::HitRole;
use crate::tail::{Tail, TailEvent};
use pattern::Pattern;

/// Options of a search.
#[derive(Clone, Debug)]
pub struct SearchOptions {
    /// The pattern.
    pub pattern: String,
    /// Whether the pattern is plain text, not a regular expression.
    pub literal: bool,
    /// Whether case matters; `None`: only if the pattern has an upper-case letter.
    pub case_sensitive: Option<bool>,
    /// The search ends after this many hits.
    pub max_hits: usize,
    /// Lines of context before and after each hit.
    pub context_lines: usize,
    /// Longer lines are cut to about this many bytes.
    pub max_line_bytes: usize,
    /// Whether to search subagents too.
    pub agents: bool,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            pattern: String::new(),
            literal: false,
            case_sensitive: None,
            max_hits: 1000,
            context_lines: 1,
            max_line_bytes: 400,
            agents: true,
        }
    }
}

/// A matching line of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// The file: the session's, or its subagent's.
    pub file: PathBuf,
    /// The subagent, if the hit is in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The line's number in the file, from 1; [`crate::Transcript::message_at_line`] finds the message.
    pub line: u32,
    /// The author.
    pub role: HitRole,
    /// The line of text, possibly cut at both ends.
    pub text: String,
    /// Byte offset of the match in `text`.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// Lines of text before it.
    pub before: Vec<String>,
    /// Lines of text after it.
    pub after: Vec<String>,
}

/// The totals of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SearchReport {
    /// Hits reported.
    pub hits: usize,
    /// Files searched.
    pub files: usize,
    /// Files that could not be read.
    pub unreadable: usize,
    /// Whether it ended early: cancelled, or at the limit of hits.
    pub incomplete: bool,
}

/// Searches transcripts in the given order and reports hits as they are found.
///
/// # Errors
/// [`SessionError::Pattern`] if the pattern is not a regular expression. Unreadable files are only counted.
pub fn search(
    sessions: &[(SessionId, PathBuf)],
    options: &SearchOptions,
    cancel: &Cancel,
    mut on_hit: impl FnMut(Hit),
) -> Result<SearchReport, SessionError> {
    let finder = Finder::new(options)?;
    let (mut report, mut folders) = (SearchReport::default(), AgentFolders::default());
    for (session, file) in sessions {
        let agents = if options.agents {
            folders.look(file);
            folders.agents_of(file)
        } else {
            Vec::new()
        };
        let files =
            std::iter::once((None, file.clone())).chain(agents.into_iter().map(|agent| (Some(agent.id), agent.file)));
        for (agent, file) in files {
            let left = options.max_hits.saturating_sub(report.hits);
            if cancel.is_cancelled() || left == 0 {
                report.incomplete = true;
                return Ok(report);
            }
            report.files += 1;
            let source = Source { session, agent: agent.as_deref(), file: &file };
            match finder.search_file(source, left, cancel, &mut on_hit) {
                Ok(hits) => report.hits += hits,
                Err(error) => {
                    tracing::debug!(%error, "could not search a transcript");
                    report.unreadable += 1;
                }
            }
        }
    }
    report.incomplete = cancel.is_cancelled() || report.hits >= options.max_hits;
    Ok(report)
}

#[derive(Clone, Copy)]
struct Source<'a> {
    session: &'a SessionId,
    agent: Option<&'a str>,
    file: &'a Path,
}

struct Finder<'a> {
    pattern: Pattern,
    options: &'a SearchOptions,
}

impl<'a> Finder<'a> {
    fn new(options: &'a SearchOptions) -> Result<Self, SessionError> {
        let pattern = Pattern::new(&options.pattern, options.literal, options.case_sensitive)?;
        Ok(Self { pattern, options })
    }

    fn search_file(
        &self,
        source: Source<'_>,
        max_hits: usize,
        cancel: &Cancel,
        on_hit: &mut impl FnMut(Hit),
    ) -> Result<usize, SessionError> {
        let mut tail = Tail::new(source.file);
        if tail.check()? == TailEvent::Missing {
            return Ok(0);
        }
        let mut hits = 0;
        let mut more = true;
        while more && hits < max_hits && !cancel.is_cancelled() {
            more = tail.read_raw(|line| {
                let texts = self.candidate(line).map(Body::search_texts).unwrap_or_default();
                for text in texts {
                    if hits < max_hits {
                        hits += self.search_text(source, line.number, &text, max_hits - hits, on_hit);
                    }
                }
            })?;
        }
        Ok(hits)
    }

    /// The parsed line, if it may contain a hit.
    fn candidate<'l>(&self, line: &RawLine<'l>) -> Option<Body<'l>> {
        let bytes = line.bytes.filter(|bytes| !is_api_request(bytes))?;
        if !self.pattern.may_match_in(bytes) {
            return None;
        }
        match Head::parse(bytes)?.line_kind() {
            LineKind::User | LineKind::Assistant | LineKind::System | LineKind::Attachment => Body::parse(bytes),
            LineKind::ApiRequest | LineKind::Other => None,
        }
    }

    /// Hits in one text, at most one in each of its lines.
    fn search_text(
        &self,
        source: Source<'_>,
        line: u32,
        text: &SearchText,
        max_hits: usize,
        on_hit: &mut impl FnMut(Hit),
    ) -> usize {
        if !self.pattern.may_match(&text.text) {
            return 0;
        }
        let lines: Vec<_> = text.text.lines().collect();
        let mut hits = 0;
        for (at, content) in lines.iter().enumerate() {
            let Some((start, end)) = self.pattern.find(content) else { continue };
            let (text_line, start, end) = excerpt(content, start, end, self.options.max_line_bytes);
            let context = self.options.context_lines;
            let cut = |line: &&str| excerpt(line, 0, 0, self.options.max_line_bytes).0;
            on_hit(Hit {
                session: source.session.clone(),
                file: source.file.to_owned(),
                agent: source.agent.map(str::to_owned),
                line,
                role: text.role,
                text: text_line,
                start,
                end,
                before: lines.iter().take(at).skip(at.saturating_sub(context)).map(cut).collect(),
                after: lines.iter().skip(at + 1).take(context).map(cut).collect(),
            });
            hits += 1;
            if hits >= max_hits {
                break;
            }
        }
        hits
    }
}

/// At most about `max` bytes of a line around a match, and the match's place in them.
fn excerpt(line: &str, start: usize, end: usize, max: usize) -> (String, usize, usize) {
    if line.len() <= max {
        return (line.to_owned(), start, end);
    }
    let floor = |at: usize| (0..=at.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    let from = floor(start.saturating_sub(max / 4));
    let to = floor(from.saturating_add(max)).max(from);
    let text = line.get(from..to).unwrap_or_default().to_owned();
    let (start, end) = (start.saturating_sub(from).min(text.len()), end.saturating_sub(from).min(text.len()));
    (text, start, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lines: &[&str], options: SearchOptions) -> (Vec<Hit>, SearchReport) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
        let mut hits = Vec::new();
        let report = search(&[(SessionId::new("s"), file)], &options, &Cancel::new(), |hit| hits.push(hit)).unwrap();
        (hits, report)
    }

    fn options(pattern: &str) -> SearchOptions {
        SearchOptions { pattern: pattern.into(), ..SearchOptions::default() }
    }

    const LINES: [&str; 5] = [
        r#"{"type":"api-request","message":"a needle for the model"}"#,
        r#"{"type":"user","message":{"content":"first\nfind the \"Needle\" here\nlast"}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"grep needle /p"}}]}}"#,
        r#"{"type":"attachment","attachment":{"type":"prompt_snapshot","systemPrompt":["needle"]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"a needle"}]}]}}"#,
    ];

    #[test]
    fn finds_visible_text_with_its_place_and_context() {
        let (hits, report) = run(&LINES, options("needle"));
        let places: Vec<_> = hits.iter().map(|hit| (hit.line, hit.role)).collect();
        assert_eq!(places, [(2, HitRole::Prompt), (3, HitRole::ToolInput), (5, HitRole::ToolResult)]);
        assert_eq!(
            (hits[0].text.get(hits[0].start..hits[0].end), &hits[0].before[0], &hits[0].after[0]),
            (Some("Needle"), &"first".into(), &"last".into())
        );
        assert_eq!(report, SearchReport { hits: 3, files: 1, unreadable: 0, incomplete: false });
    }

    #[test]
    fn patterns_that_json_would_escape_match_the_text() {
        assert_eq!(run(&LINES, options(r#""needle""#)).0.len(), 1);
        assert_eq!(run(&LINES, options(r"^find .* here$")).0.len(), 1);
        assert_eq!(run(&LINES, SearchOptions { literal: true, ..options("/p") }).0.len(), 1);
        assert_eq!(run(&LINES, SearchOptions { literal: true, ..options("n.edle") }).0.len(), 0);
    }

    #[test]
    fn case_counts_once_the_pattern_has_an_upper_case_letter() {
        assert_eq!(run(&LINES, options("Needle")).0.len(), 1);
        assert_eq!(run(&LINES, options(r"\Wneedle\W")).0.len(), 2);
        assert_eq!(run(&LINES, SearchOptions { case_sensitive: Some(true), ..options("needle") }).0.len(), 2);
    }

    #[test]
    fn ends_at_the_limit_and_when_cancelled() {
        let (hits, report) = run(&LINES, SearchOptions { max_hits: 2, ..options("needle") });
        assert_eq!((hits.len(), report.incomplete), (2, true));
        let cancel = Cancel::new();
        cancel.cancel();
        let files = [(SessionId::new("s"), PathBuf::from("/none"))];
        assert!(search(&files, &options("x"), &cancel, |_| panic!("no hit")).unwrap().incomplete);
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let error = search(&[], &options("("), &Cancel::new(), |_| {}).unwrap_err();
        assert!(error.to_string().starts_with("not a valid search pattern: "), "{error}");
    }

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        let line = format!("{}needle{}", "ö".repeat(500), "x".repeat(500));
        let (text, start, end) = excerpt(&line, 1000, 1006, 100);
        assert_eq!(text.get(start..end), Some("needle"));
        assert!(text.len() <= 100);
    }
}
