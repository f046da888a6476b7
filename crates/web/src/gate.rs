//! Who may read: a token for clients, and one-time codes that become keys for browsers. Who may tell and ask: each CLI with hooks.
//!
//! A key is no cookie: browsers send cookies to every port of a host, and so to every server of this machine. What a page keeps in
//! its storage belongs to its origin.
//!
//! Invariants: a secret has at least 128 random bits, so that guesses need not be counted; it is compared in constant time and never
//! shown by `Debug`; a code opens once.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use claude_ide_system::peer::Owner;
use rand::TryRng as _;
use rand::rngs::SysRng;
use subtle::ConstantTimeEq;

use crate::error::WebError;

const TOKEN_BYTES: usize = 32;
/// A code lives for minutes and opens once: short enough to be read off a screen as a picture.
const CODE_BYTES: usize = 16;
const CODE_LIFE: Duration = Duration::from_secs(10 * 60);
/// Codes that may wait to be used, and browsers that may be logged in; the oldest go first.
const MAX_CODES: usize = 8;
const MAX_KEYS: usize = 64;
/// CLIs that may have hooks.
const MAX_HOOKS: usize = 64;

/// Something to show at the gate. Never logged.
#[derive(Clone)]
pub struct Secret(Box<str>);

impl Secret {
    fn random(bytes: usize) -> Result<Self, WebError> {
        let mut random = vec![0_u8; bytes];
        SysRng.try_fill_bytes(&mut random).map_err(|_| WebError::Random)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(random).into()))
    }

    /// The text, for the one it belongs to.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The time it takes tells nothing about where the two differ.
    fn matches(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// What CLIs show that tell what stands on their screens, and ask: they may read nothing.
#[derive(Clone, Debug, Default)]
pub struct Hooks(VecDeque<(Secret, Arc<Owner>)>);

/// Who is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guest {
    /// It showed the token.
    Client,
    /// It showed a browser's key.
    Page,
}

/// Knows who is let in.
#[derive(Debug)]
pub(crate) struct Gate {
    token: Secret,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    codes: VecDeque<(Secret, Instant)>,
    keys: VecDeque<Secret>,
    hooks: Hooks,
}

impl Gate {
    /// With a token of its own, for CLIs that have hooks already.
    ///
    /// # Errors
    /// [`WebError::Random`].
    pub(crate) fn new(hooks: Hooks) -> Result<Self, WebError> {
        let state = Mutex::new(State { hooks, ..State::default() });
        Ok(Self { token: Secret::random(TOKEN_BYTES)?, state })
    }

    pub(crate) fn token(&self) -> &Secret {
        &self.token
    }

    pub(crate) fn hooks(&self) -> Hooks {
        self.lock().hooks.clone()
    }

    /// A secret for the hooks of one CLI.
    ///
    /// # Errors
    /// [`WebError::Random`].
    pub(crate) fn hook(&self) -> Result<Secret, WebError> {
        let secret = Secret::random(TOKEN_BYTES)?;
        let mut state = self.lock();
        if state.hooks.0.len() >= MAX_HOOKS {
            state.hooks.0.pop_front();
        }
        state.hooks.0.push_back((secret.clone(), Arc::default()));
        Ok(secret)
    }

    /// To whom a secret of hooks belongs.
    pub(crate) fn owner(&self, shown: &str) -> Option<Arc<Owner>> {
        let state = self.lock();
        state
            .hooks
            .0
            .iter()
            .fold(None, |found, (known, owner)| if known.matches(shown) { Some(owner.clone()) } else { found })
    }

    /// A code that opens once.
    ///
    /// # Errors
    /// [`WebError::Random`].
    pub(crate) fn code(&self) -> Result<Secret, WebError> {
        let code = Secret::random(CODE_BYTES)?;
        let mut state = self.lock();
        if state.codes.len() >= MAX_CODES {
            state.codes.pop_front();
        }
        state.codes.push_back((code.clone(), Instant::now()));
        Ok(code)
    }

    /// Takes a code; the key that it becomes. Nothing: it opens nothing, or there are no random bytes.
    pub(crate) fn exchange(&self, code: &str) -> Option<Secret> {
        let mut state = self.lock();
        state.codes.retain(|(_, made)| made.elapsed() < CODE_LIFE);
        let found = state.codes.iter().position(|(known, _)| known.matches(code))?;
        state.codes.remove(found)?;
        let key = Secret::random(TOKEN_BYTES).ok()?;
        if state.keys.len() >= MAX_KEYS {
            state.keys.pop_front();
        }
        state.keys.push_back(key.clone());
        Some(key)
    }

    /// Whose secret this is.
    pub(crate) fn who(&self, shown: &str) -> Option<Guest> {
        let is_client = self.token.matches(shown);
        let is_page = self.lock().keys.iter().fold(false, |any, known| known.matches(shown) | any);
        if is_client { Some(Guest::Client) } else { is_page.then_some(Guest::Page) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Never left half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_opens_once_and_becomes_a_key() {
        let gate = Gate::new(Hooks::default()).unwrap();
        let code = gate.code().unwrap();
        let key = gate.exchange(code.reveal()).unwrap();
        assert_eq!(gate.who(key.reveal()), Some(Guest::Page));
        assert_eq!(gate.who(gate.token().reveal()), Some(Guest::Client));
        assert!(gate.exchange(code.reveal()).is_none());
        for other in [code.reveal(), gate.hook().unwrap().reveal(), ""] {
            assert_eq!(gate.who(other), None);
        }
    }

    #[test]
    fn secrets_are_random_and_never_shown_by_debug() {
        let gate = Gate::new(Hooks::default()).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(gate.token().reveal()).unwrap().len(), TOKEN_BYTES);
        assert_ne!(gate.token().reveal(), Gate::new(Hooks::default()).unwrap().token().reveal());
        gate.code().unwrap();
        let shown = format!("{gate:?}");
        assert!(shown.contains("[redacted]") && !shown.contains(gate.token().reveal()));
    }
}
