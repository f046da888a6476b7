//! Secrets that a client must present. They are revealed only to the program that they are made for, never in a log or
//! an error.

use std::collections::VecDeque;
use std::{fmt, io};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::{TryRng as _, rngs::SysRng};
use subtle::ConstantTimeEq as _;

/// A secret. Never logged.
#[derive(Clone)]
pub struct Secret(Box<str>);

impl Secret {
    /// Random bytes of the system, base64url without padding.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn random<const BYTES: usize>() -> io::Result<Self> {
        const { assert!(BYTES >= 16, "shorter ones can be guessed") };
        let mut bytes = [0_u8; BYTES];
        SysRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes).into()))
    }

    /// The text, for the program that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    #[must_use]
    pub fn matches(&self, shown: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(shown).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// A limited number of secrets, each with what it unlocks. The oldest are dropped.
#[derive(Clone, Debug)]
pub struct Keys<T> {
    keys: VecDeque<(Secret, T)>,
    most: usize,
}

impl<T> Keys<T> {
    /// An empty set of at most `most` secrets.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { keys: VecDeque::new(), most }
    }

    /// Adds a secret, and drops the oldest if there are too many.
    pub fn add(&mut self, secret: Secret, opens: T) {
        if self.keys.len() >= self.most {
            self.keys.pop_front();
        }
        self.keys.push_back((secret, opens));
    }

    /// What a secret unlocks. Compares with all secrets.
    #[must_use]
    pub fn find(&self, shown: &[u8]) -> Option<&T> {
        let at = self.position(shown)?;
        self.keys.get(at).map(|(_, opens)| opens)
    }

    /// Like [`Self::find`], and removes the secret.
    pub fn take(&mut self, shown: &[u8]) -> Option<T> {
        let at = self.position(shown)?;
        self.keys.remove(at).map(|(_, opens)| opens)
    }

    fn position(&self, shown: &[u8]) -> Option<usize> {
        let matching =
            |found, (at, (known, _)): (usize, &(Secret, T))| if known.matches(shown) { Some(at) } else { found };
        self.keys.iter().enumerate().fold(None, matching)
    }

    /// Removes all other secrets.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.keys.retain(|(_, opens)| keep(opens));
    }

    /// What the secrets unlock.
    pub fn opened(&self) -> impl Iterator<Item = &T> {
        self.keys.iter().map(|(_, opens)| opens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_random_and_never_shown_by_debug() {
        let secret = Secret::random::<64>().unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(secret.reveal()).unwrap().len(), 64);
        assert_ne!(secret.reveal(), Secret::random::<64>().unwrap().reveal());
        let mut keys = Keys::new(1);
        keys.add(secret, ());
        assert_eq!(format!("{keys:?}"), "Keys { keys: [([redacted], ())], most: 1 }");
    }

    #[test]
    fn a_key_opens_what_it_was_made_for_until_newer_ones_take_its_place() {
        let mut keys = Keys::new(2);
        let secrets: Vec<_> = (0..3).map(|_| Secret::random::<16>().unwrap()).collect();
        for (at, secret) in secrets.iter().enumerate() {
            keys.add(secret.clone(), at);
        }
        let opens = |keys: &Keys<usize>, at: usize| keys.find(secrets[at].reveal().as_bytes()).copied();
        assert_eq!([opens(&keys, 0), opens(&keys, 1), opens(&keys, 2)], [None, Some(1), Some(2)]);
        assert_eq!(keys.find(b""), None);
        assert_eq!(keys.take(secrets[1].reveal().as_bytes()), Some(1));
        assert_eq!((opens(&keys, 1), opens(&keys, 2)), (None, Some(2)), "it opens once");
    }
}
