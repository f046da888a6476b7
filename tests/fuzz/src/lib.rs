//! What is read from outside, given any bytes. `cargo test` runs each target over its corpus and over a few inputs that a seed makes
//! of it; `make fuzz` searches for more with libFuzzer.
//!
//! A target panics where what it holds is broken. What it finds becomes a unit test beside the code, or a file of the corpus.
#![allow(
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

mod agents;
mod files;
mod git;
mod server;

/// A target.
pub type Target = fn(&[u8]);

/// All of them, by the name of their corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("acp", agents::acp),
    ("foreign", server::foreign),
    ("frames", server::frames),
    ("globs", git::globs),
    ("http", server::http),
    ("merge", git::merge),
    ("messages", server::messages),
    ("notebook", files::notebook),
    ("page", |bytes| claude_ide_web::fuzzing::hear(String::from_utf8_lossy(bytes).lines())),
    ("paths", server::paths),
    ("render", files::render),
    ("stream_json", agents::stream_json),
    ("transcript", files::transcript),
];

#[cfg(test)]
mod tests {
    use std::{
        env, fs,
        panic::catch_unwind,
        path::Path,
        time::{Duration, Instant},
    };

    use super::*;

    /// Longer than any round takes where nothing else runs.
    const PATIENCE: Duration = Duration::from_secs(60);

    struct Chance(u64);

    impl Chance {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            usize::try_from(self.0 >> 33).unwrap() % bound.max(1)
        }
    }

    /// One of the corpus with something changed, cut out, doubled, or put in from another one.
    fn mutated(corpus: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
        let mut input = corpus[chance.below(corpus.len())].clone();
        for _ in 0..=chance.below(4) {
            let at = chance.below(input.len());
            let end = (at + 1 + chance.below(chance.0.trailing_zeros() as usize * 8 + 4)).min(input.len());
            let other = &corpus[chance.below(corpus.len())];
            let from = chance.below(other.len());
            let part = other[from..(from + 1 + chance.below(30)).min(other.len())].to_vec();
            match chance.below(5) {
                0 => drop(input.splice(at..end, [])),
                1 => drop(input.splice(at..at, input[at..end].to_vec())),
                2 => drop(input.splice(at..end, part)),
                3 => drop(input.splice(at..at, [u8::try_from(chance.below(256)).unwrap()])),
                _ => drop(input.splice(at..at, part)),
            }
        }
        input
    }

    #[test]
    fn each_target_holds_for_its_corpus_and_what_a_seed_makes_of_it() {
        let number = |name, usual| env::var(name).map_or(usual, |number| number.parse().unwrap());
        let (seed, rounds) = (number("FUZZ_SEED", 1), number("FUZZ_ROUNDS", 100));
        for (name, target) in TARGETS {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
            let mut files: Vec<_> = fs::read_dir(&folder).expect(name).map(|entry| entry.unwrap().path()).collect();
            files.sort();
            let mut corpus = vec![Vec::new()];
            corpus.extend(files.iter().map(|file| fs::read(file).unwrap()));
            let (began, mut chance) = (Instant::now(), Chance(seed));
            for round in 0..corpus.len() as u64 + rounds {
                let input = corpus.get(round as usize).cloned().unwrap_or_else(|| mutated(&corpus, &mut chance));
                if catch_unwind(|| target(&input)).is_err() {
                    panic!("{name}, seed {seed}, round {round}: {:?}", String::from_utf8_lossy(&input));
                }
            }
            println!("{name}: {:?}", began.elapsed());
            assert!(rounds > 100 || began.elapsed() < PATIENCE, "{name}: {:?}", began.elapsed());
        }
    }
}
