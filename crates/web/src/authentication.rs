//! Authentication: a token for clients, and one-time codes that become keys for browsers.
//!
//! A key is no cookie: browsers send cookies to every port of a host, and so to every server of this machine. A page's
//! storage belongs to its origin.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use claude_ide_http::{Keys, Secret};

use crate::error::WebError;
use crate::sessions::lock;

const TOKEN_BYTES: usize = 32;
/// A code is valid for minutes and once, and short enough for a QR code on the screen.
const CODE_BYTES: usize = 16;
const CODE_LIFE: Duration = Duration::from_secs(10 * 60);
/// Limits of unused codes, and of signed-in browsers.
const MAX_CODES: usize = 8;
const MAX_KEYS: usize = 64;

/// An authenticated client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guest {
    /// With the token.
    Client,
    /// With a browser's key.
    Page,
}

/// Holds the secrets.
#[derive(Debug)]
pub(crate) struct Authentication {
    token: Secret,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    codes: Keys<Instant>,
    keys: Keys<()>,
}

fn random<const BYTES: usize>() -> Result<Secret, WebError> {
    Secret::random::<BYTES>().map_err(WebError::Random)
}

impl Authentication {
    /// With a new token.
    ///
    /// # Errors
    /// [`WebError::Random`].
    pub(crate) fn new() -> Result<Self, WebError> {
        let state = State { codes: Keys::new(MAX_CODES), keys: Keys::new(MAX_KEYS) };
        Ok(Self { token: random::<TOKEN_BYTES>()?, state: Mutex::new(state) })
    }

    pub(crate) fn token(&self) -> &Secret {
        &self.token
    }

    /// A new one-time code.
    ///
    /// # Errors
    /// [`WebError::Random`].
    pub(crate) fn code(&self) -> Result<Secret, WebError> {
        let code = random::<CODE_BYTES>()?;
        lock(&self.state).codes.add(code.clone(), Instant::now());
        Ok(code)
    }

    /// Exchanges a code for a key. `None` if the code is invalid, or there are no random bytes.
    pub(crate) fn exchange(&self, code: &str) -> Option<Secret> {
        let mut state = lock(&self.state);
        state.codes.retain(|made| made.elapsed() < CODE_LIFE);
        state.codes.take(code.as_bytes())?;
        let key = random::<TOKEN_BYTES>().ok()?;
        state.keys.add(key.clone(), ());
        Some(key)
    }

    /// The client with this secret.
    pub(crate) fn who(&self, shown: &[u8]) -> Option<Guest> {
        let is_client = self.token.matches(shown);
        let is_page = lock(&self.state).keys.find(shown).is_some();
        if is_client { Some(Guest::Client) } else { is_page.then_some(Guest::Page) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_opens_once_and_becomes_a_key() {
        let known = Authentication::new().unwrap();
        let who = |shown: &Secret| known.who(shown.reveal().as_bytes());
        let code = known.code().unwrap();
        let key = known.exchange(code.reveal()).unwrap();
        assert_eq!((who(&key), who(known.token())), (Some(Guest::Page), Some(Guest::Client)));
        assert!(known.exchange(code.reveal()).is_none());
        assert_eq!((who(&code), known.who(b"")), (None, None));
    }
}
