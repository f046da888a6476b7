//! A run of an agent: a program that the editor started, with a secret that was made for it alone.

use claude_ide_system::peer::Owner;

use crate::token::AuthToken;

/// A program that the editor started.
#[derive(Debug)]
pub(crate) struct Run {
    /// What the editor calls it.
    name: Box<str>,
    secret: AuthToken,
    /// The process that it is.
    pub(crate) owner: Owner,
}

impl Run {
    pub(crate) fn new(name: Box<str>, secret: AuthToken) -> Self {
        Self { name, secret, owner: Owner::default() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_secret(&self, shown: &[u8]) -> bool {
        self.secret.matches(shown)
    }
}
