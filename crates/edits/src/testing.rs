//! Reproducible random tests.

/// Random numbers from a seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `first` to `last`.
    pub(crate) fn from(&mut self, first: usize, last: usize) -> usize {
        let span = u64::try_from(last - first + 1).unwrap();
        first + usize::try_from(self.next() % span).unwrap()
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.from(0, of.len() - 1)]
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn is(&mut self, percent: usize) -> bool {
        self.from(0, 99) < percent
    }
}
