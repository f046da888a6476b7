//! One target under libFuzzer, the one that `FUZZ_TARGET` names: see `scripts/fuzz.sh`.
#![cfg_attr(fuzzing, no_main)]
#![allow(clippy::expect_used, reason = "tests may fail loudly")]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    use std::sync::LazyLock;
    static TARGET: LazyLock<claude_ide_fuzz::Target> = LazyLock::new(|| {
        let name = std::env::var("FUZZ_TARGET").expect("the name of a target");
        claude_ide_fuzz::TARGETS.iter().find(|(known, _)| *known == name).expect("a target of that name").1
    });
    TARGET(bytes);
});

/// The names of all targets, for the script.
#[cfg(not(fuzzing))]
fn main() {
    claude_ide_fuzz::TARGETS.iter().for_each(|(name, _)| println!("{name}"));
}
