//! Any bytes can be opened, laid out, read in full, searched and summarised, whole or in two pieces, with the same result.
#![no_main]

use std::fs;
use std::io::Write;

use claude_ide_session::{Cancel, ConfigDir, Millis, SearchOptions, SessionId, Store, Transcript, infer, search};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, bytes) = input;
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("s.jsonl");
    let cut = usize::from(cut).min(bytes.len());
    fs::write(&file, &bytes[..cut]).expect("written");
    let mut grown = Transcript::open(&file, &Cancel::new()).expect("open");
    let mut out = fs::File::options().append(true).open(&file).expect("open");
    out.write_all(&bytes[cut..]).expect("written");
    grown.refresh(&Cancel::new()).expect("refresh");
    let mut whole = Transcript::open(&file, &Cancel::new()).expect("open");
    assert_eq!(grown.rows(0, usize::MAX), whole.rows(0, usize::MAX));
    for row in whole.rows(0, 1000) {
        whole.message(row.id, 1000).expect("a message");
    }
    infer(&file, Millis(0)).expect("a state");
    Store::new(ConfigDir::at(dir.path()), None).get(&file);
    let options = SearchOptions { pattern: "a".into(), ..SearchOptions::default() };
    search(&[(SessionId::new("s"), file)], &options, &Cancel::new(), |_| {}).expect("a search");
});
