//! A secret that a client must show. It goes into the lock file or to the one program that it is made for, and nowhere else:
//! not into a log, not into an error.

use std::{fmt, io};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::{TryRng as _, rngs::SysRng};
use subtle::ConstantTimeEq;

use crate::error::ServerError;

/// Seed 001, "Authentication Token Generation".
const TOKEN_BYTES: usize = 64;

/// A secret. Never logged.
#[derive(Clone)]
pub struct AuthToken(Box<str>);

impl AuthToken {
    /// 64 random bytes of the system, base64url without padding.
    ///
    /// # Errors
    /// [`ServerError::Random`] if the system has no random bytes.
    pub fn generate() -> Result<Self, ServerError> {
        let mut bytes = [0_u8; TOKEN_BYTES];
        SysRng.try_fill_bytes(&mut bytes).map_err(|error| ServerError::Random(io::Error::other(error)))?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes).into()))
    }

    /// One that a test knows.
    #[cfg(test)]
    pub(crate) fn known(text: &str) -> Self {
        Self(text.into())
    }

    /// The text, for the lock file or the program that it is made for.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a client showed the same secret. The time it takes tells nothing about where the two differ.
    pub(crate) fn matches(&self, shown: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(shown).into()
    }
}

impl fmt::Debug for AuthToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_64_random_bytes_in_base64url() {
        let token = AuthToken::generate().unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(token.reveal()).unwrap().len(), 64);
        assert_ne!(token.reveal(), AuthToken::generate().unwrap().reveal());
    }

    #[test]
    fn a_token_is_never_shown_by_debug() {
        let token = AuthToken::known("secret-secret-secret");
        assert_eq!(format!("{token:?}"), "[redacted]");
    }
}
