//! Who is let in: the HTTP upgrade, checked before it is answered, and the token.

use std::{fmt, io};

use data_encoding::BASE64URL_NOPAD;
use subtle::ConstantTimeEq;

use crate::error::ServerError;

/// Seed 001, "Authentication Token Generation".
const TOKEN_BYTES: usize = 64;

/// The secret of the lock file. Never logged.
#[derive(Clone)]
pub struct AuthToken(Box<str>);

impl AuthToken {
    /// 64 random bytes of the system, base64url without padding.
    ///
    /// # Errors
    /// [`ServerError::Random`] if the system has no random bytes.
    pub fn generate() -> Result<Self, ServerError> {
        let mut bytes = [0_u8; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| ServerError::Random(io::Error::other(error)))?;
        Ok(Self(BASE64URL_NOPAD.encode(&bytes).into()))
    }

    /// The text, for the lock file.
    pub(crate) fn reveal(&self) -> &str {
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
