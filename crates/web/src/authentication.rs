//! Authentication: a token for clients, one-time codes that become keys for browsers, and a token for the hooks of each
//! CLI.
//!
//! A key is no cookie: browsers send cookies to every port of a host, and so to every server of this machine. A page's
//! storage belongs to its origin.

use std::process;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use claude_ide_http::{Caller, Keys, Secret};
use claude_ide_system::peer::{self, Owner};

use crate::error::WebError;
use crate::sessions::{Sessions, lock};

const TOKEN_BYTES: usize = 32;
/// A code is valid for minutes and once, and short enough for a QR code on the screen.
const CODE_BYTES: usize = 16;
const CODE_LIFE: Duration = Duration::from_secs(10 * 60);
/// Limits of unused codes, and of signed-in browsers.
const MAX_CODES: usize = 8;
const MAX_KEYS: usize = 64;
/// Limit of CLIs with hooks.
const MAX_HOOKS: usize = 64;

/// The tokens of CLIs' hooks, which report screens and ask questions: they grant no reading.
#[derive(Clone, Debug)]
pub struct Hooks(Keys<Arc<Owner>>);

impl Default for Hooks {
    fn default() -> Self {
        Self(Keys::new(MAX_HOOKS))
    }
}

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
    hooks: Hooks,
}

fn random<const BYTES: usize>() -> Result<Secret, WebError> {
    Secret::random::<BYTES>().map_err(WebError::Random)
}

impl Authentication {
    /// With a new token; CLIs keep their hooks' tokens.
    ///
    /// # Errors
    /// [`WebError::Random`].
    pub(crate) fn new(hooks: Hooks) -> Result<Self, WebError> {
        let state = State { codes: Keys::new(MAX_CODES), keys: Keys::new(MAX_KEYS), hooks };
        Ok(Self { token: random::<TOKEN_BYTES>()?, state: Mutex::new(state) })
    }

    pub(crate) fn token(&self) -> &Secret {
        &self.token
    }

    pub(crate) fn hooks(&self) -> Hooks {
        lock(&self.state).hooks.clone()
    }

    /// A new token for the hooks of one CLI.
    ///
    /// # Errors
    /// [`WebError::Random`].
    pub(crate) fn hook(&self) -> Result<Secret, WebError> {
        let secret = random::<TOKEN_BYTES>()?;
        lock(&self.state).hooks.0.add(secret.clone(), Arc::default());
        Ok(secret)
    }

    /// The owner of a hooks' token.
    pub(crate) fn owner(&self, shown: &[u8]) -> Option<Arc<Owner>> {
        lock(&self.state).hooks.0.find(shown).cloned()
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

/// Whether a caller is the CLI for which its secret was made. A command of Claude's that read the secret before the CLI
/// used it descends from a process that runs a session.
pub(crate) async fn is_owner(caller: &Caller, secret: &Owner, sessions: &Sessions) -> bool {
    let process = caller.process().await;
    let above = process.map(|process| peer::ancestors(process.pid)).unwrap_or_default();
    let running = sessions.lives.all();
    // Neovim itself may descend from another CLI.
    let mut ours = above.iter().take_while(|one| one.pid != process::id());
    !ours.any(|one| running.iter().any(|session| session.pid == one.pid)) && secret.admits(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_opens_once_and_becomes_a_key() {
        let known = Authentication::new(Hooks::default()).unwrap();
        let who = |shown: &Secret| known.who(shown.reveal().as_bytes());
        let code = known.code().unwrap();
        let key = known.exchange(code.reveal()).unwrap();
        assert_eq!((who(&key), who(known.token())), (Some(Guest::Page), Some(Guest::Client)));
        assert!(known.exchange(code.reveal()).is_none());
        let hook = known.hook().unwrap();
        assert_eq!((who(&code), who(&hook), known.who(b"")), (None, None, None));
    }
}
