//! Whatever a socket that may write sends, frame by frame, what reaches the editor is words, within the limits.
#![no_main]

use claude_ide_web::fuzzing::hear;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| hear(text.split('\n')));
