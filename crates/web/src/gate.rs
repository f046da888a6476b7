//! Who may read: a token for clients, one-time codes that become cookies for browsers, and a wait after too many wrong ones.
//!
//! Invariants: a secret is compared in constant time and never shown by `Debug`; a code opens once; who has shown a good cookie is
//! never made to wait for what others guess.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
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
const MAX_COOKIES: usize = 64;
/// So many wrong ones in so long, then it waits.
const MAX_WRONG: usize = 5;
const WRONG_WINDOW: Duration = Duration::from_secs(60);

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

/// What somebody shows.
#[derive(Clone, Copy)]
pub(crate) enum Shown<'a> {
    Token(&'a str),
    Cookie(&'a str),
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotYet {
    Wrong,
    /// Too many were wrong; try again after so long.
    Wait(Duration),
}

/// Knows who is let in.
#[derive(Debug)]
pub(crate) struct Gate {
    token: Secret,
    /// Of CLIs, which tell what they show and may read nothing.
    display: Secret,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    codes: VecDeque<(Secret, Instant)>,
    cookies: VecDeque<Secret>,
    wrong: VecDeque<Instant>,
}

impl Gate {
    /// With a token of its own.
    ///
    /// # Errors
    /// [`WebError::Random`].
    pub(crate) fn new() -> Result<Self, WebError> {
        let (token, display) = (Secret::random(TOKEN_BYTES)?, Secret::random(TOKEN_BYTES)?);
        Ok(Self { token, display, state: Mutex::default() })
    }

    pub(crate) fn token(&self) -> &Secret {
        &self.token
    }

    pub(crate) fn display(&self) -> &Secret {
        &self.display
    }

    /// Whether a CLI that we started shows this. A wrong one is not counted: one that outlived what it was told comes often.
    pub(crate) fn is_display(&self, shown: &str) -> bool {
        self.display.matches(shown)
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

    /// Takes a code; the value of the cookie that it becomes.
    ///
    /// # Errors
    /// Why it opens nothing. Without random bytes it is wrong, too.
    pub(crate) fn exchange(&self, code: &str) -> Result<Secret, NotYet> {
        let mut state = self.lock();
        state.may_try()?;
        state.codes.retain(|(_, made)| made.elapsed() < CODE_LIFE);
        let found = state.codes.iter().position(|(known, _)| known.matches(code));
        let Some(_) = found.and_then(|at| state.codes.remove(at)) else { return Err(state.was_wrong()) };
        let cookie = Secret::random(TOKEN_BYTES).map_err(|_| NotYet::Wrong)?;
        if state.cookies.len() >= MAX_COOKIES {
            state.cookies.pop_front();
        }
        state.cookies.push_back(cookie.clone());
        Ok(cookie)
    }

    /// Judges what somebody shows.
    ///
    /// # Errors
    /// Why it is not enough.
    pub(crate) fn judge(&self, shown: Shown<'_>) -> Result<(), NotYet> {
        let mut state = self.lock();
        let right = match shown {
            Shown::Cookie(value) => state.cookies.iter().fold(false, |any, known| known.matches(value) | any),
            Shown::Token(value) => {
                state.may_try()?;
                self.token.matches(value)
            }
        };
        if right {
            return Ok(());
        }
        state.may_try()?;
        Err(state.was_wrong())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Never left half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn may_try(&mut self) -> Result<(), NotYet> {
        self.wrong.retain(|when| when.elapsed() < WRONG_WINDOW);
        match self.wrong.front() {
            Some(first) if self.wrong.len() >= MAX_WRONG => {
                Err(NotYet::Wait(WRONG_WINDOW.saturating_sub(first.elapsed())))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn was_wrong(&mut self) -> NotYet {
        self.wrong.push_back(Instant::now());
        NotYet::Wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_opens_once_and_becomes_a_cookie() {
        let gate = Gate::new().unwrap();
        let code = gate.code().unwrap();
        let cookie = gate.exchange(code.reveal()).unwrap();
        assert_eq!(gate.judge(Shown::Cookie(cookie.reveal())), Ok(()));
        assert_eq!(gate.exchange(code.reveal()).err(), Some(NotYet::Wrong));
        assert_eq!(gate.judge(Shown::Cookie(gate.token().reveal())), Err(NotYet::Wrong), "each has its own place");
        assert_eq!(gate.judge(Shown::Token(cookie.reveal())), Err(NotYet::Wrong));
    }

    #[test]
    fn after_five_wrong_ones_even_the_right_token_waits_but_a_cookie_does_not() {
        let gate = Gate::new().unwrap();
        let cookie = gate.exchange(gate.code().unwrap().reveal()).unwrap();
        for _ in 0..MAX_WRONG {
            assert_eq!(gate.judge(Shown::Token("wrong")), Err(NotYet::Wrong));
        }
        let token = gate.token().clone();
        assert!(matches!(gate.judge(Shown::Token(token.reveal())), Err(NotYet::Wait(_))));
        assert!(matches!(gate.exchange(gate.code().unwrap().reveal()), Err(NotYet::Wait(_))));
        assert_eq!(gate.judge(Shown::Cookie(cookie.reveal())), Ok(()));
    }

    #[test]
    fn secrets_are_random_and_never_shown_by_debug() {
        let gate = Gate::new().unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode(gate.token().reveal()).unwrap().len(), TOKEN_BYTES);
        assert_ne!(gate.token().reveal(), Gate::new().unwrap().token().reveal());
        gate.code().unwrap();
        let shown = format!("{gate:?}");
        assert!(shown.contains("[redacted]") && !shown.contains(gate.token().reveal()));
    }
}
