//! Whatever frames a writing socket sends, only valid messages within the limits reach the editor.
#![no_main]

use claude_ide_web::fuzzing::hear;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| hear(text.split('\n')));
