//! Property tests: neither the chunking of reads nor other content of the file changes the result.

use std::fs::File;
use std::io::Write;

use claude_ide_session::{Cancel, Transcript};
use proptest::prelude::*;

/// A transcript line, mostly of the CLI's shapes. Ids come from a small set, so that parents, forks, duplicates, cycles
/// and orphans all occur.
fn line() -> impl Strategy<Value = String> {
    let id = 0..12_u8;
    let parent = prop_oneof![Just("null".to_owned()), (0..14_u8).prop_map(|id| format!("\"u{id}\""))];
    let body = prop_oneof![
        Just(r#""type":"user","message":{"content":"a prompt"}"#.to_owned()),
        (0..4_u8, 0..6_u8).prop_map(|(message, tool)| format!(
            r#""type":"assistant","message":{{"id":"m{message}","content":[{{"type":"tool_use","id":"t{tool}","name":"Task","input":{{}}}}]}}"#
        )),
        (0..6_u8).prop_map(|tool| format!(r#""type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t{tool}"}}]}}"#)),
        Just(r#""type":"attachment","attachment":{"type":"date"}"#.to_owned()),
        Just(r#""type":"system","subtype":"compact_boundary","logicalParentUuid":"u3""#.to_owned()),
        Just(r#""type":"progress","data":{}"#.to_owned()),
        half_character().prop_map(|half| format!(r#""type":"user","message":{{"content":"a prompt {half}"}}"#)),
        half_character().prop_map(|half| format!(
            r#""type":"assistant","message":{{"content":[{{"type":"tool_use","id":"t1","name":"Bash","input":{{"{half}":["{half}"]}}}}]}}"#
        )),
    ];
    let known = (id, parent, body, any::<bool>()).prop_map(|(id, parent, body, side)| {
        format!(r#"{{"parentUuid":{parent},"isSidechain":{side},{body},"uuid":"u{id}","timestamp":"2026-01-19T04:45:15.012Z"}}"#)
    });
    prop_oneof![
        9 => known,
        1 => Just(String::new()),
        1 => Just(r#"{"type":"api-request","x":1}"#.to_owned()),
        1 => "[ -~]{0,40}",
    ]
}

/// Escapes that the CLI writes where it cuts a string inside an emoji, and lookalikes.
fn half_character() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![r"\ud83d", r"\uDE00", r"\ud83d\ude00", r"\\ud83d", r"\\\ud83d"])
}

/// Everything that can be read of a transcript.
fn all(transcript: &mut Transcript) -> String {
    let rows = transcript.rows(0, usize::MAX);
    let messages: Vec<_> = rows.iter().map(|row| transcript.message(row.id, 1000).unwrap()).collect();
    let all = (rows, messages, transcript.broken_lines(), transcript.message_count());
    // `to_value` is stricter than writing: it rejects lone surrogates and deep nesting.
    serde_json::to_value(all).unwrap().to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_gives_the_same_tree(lines in prop::collection::vec(line(), 0..40), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let text = lines.join("\n") + "\n";
        let dir = tempfile::tempdir().unwrap();
        let (whole, grown) = (dir.path().join("whole.jsonl"), dir.path().join("grown.jsonl"));
        std::fs::write(&whole, &text).unwrap();
        let expected = all(&mut Transcript::open(&whole, &Cancel::new()).unwrap());

        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut out = File::create(&grown).unwrap();
        let mut transcript = Transcript::open(&grown, &Cancel::new()).unwrap();
        let mut shown = Vec::new();
        for cut in cuts.windows(2) {
            out.write_all(&text.as_bytes()[cut[0]..cut[1]]).unwrap();
            let delta = transcript.refresh(&Cancel::new()).unwrap();
            prop_assert!(!delta.reset);
            // Applying every delta gives the same rows.
            shown.truncate(delta.from);
            shown.extend(transcript.rows(delta.from, usize::MAX));
            for row in delta.changed {
                shown[row] = transcript.rows(row, 1).remove(0);
            }
            prop_assert_eq!(&shown, &transcript.rows(0, usize::MAX));
        }
        prop_assert_eq!(all(&mut transcript), expected);
    }

    /// The tree has no cycle and loses nothing: every message is on a finite branch.
    #[test]
    fn every_message_is_on_a_branch(lines in prop::collection::vec(line(), 0..40)) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
        let mut transcript = Transcript::open(&file, &Cancel::new()).unwrap();
        for number in 0..transcript.message_count() {
            let id = claude_ide_session::NodeId::from_number(u32::try_from(number).unwrap());
            transcript.show_branch(Some(id)).unwrap();
            prop_assert!(transcript.position(id).is_some());
            prop_assert!(transcript.rows(0, usize::MAX).iter().any(|row| row.id == id));
        }
    }
}
