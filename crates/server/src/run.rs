//! A run of an agent: a program that the editor started, with a secret that was made for it alone.
//!
//! Invariant: the secret belongs to the process that first shows it. What that process starts (the commands of a model) cannot
//! use it, nor can a process of another tree that has read it somewhere.

use std::{
    process,
    sync::{Mutex, MutexGuard, PoisonError},
};

use claude_ide_system::peer::{Process, ancestors};

use crate::token::AuthToken;

/// A program that the editor started.
#[derive(Debug)]
pub(crate) struct Run {
    /// What the editor calls it.
    name: Box<str>,
    secret: AuthToken,
    owner: Mutex<Owner>,
}

/// Which processes have shown the secret.
#[derive(Debug, Default)]
enum Owner {
    #[default]
    Nobody,
    /// This system does not tell.
    Unknown,
    These(Vec<Process>),
}

impl Run {
    pub(crate) fn new(name: Box<str>, secret: AuthToken) -> Self {
        Self { name, secret, owner: Mutex::default() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_secret(&self, shown: &[u8]) -> bool {
        self.secret.matches(shown)
    }

    fn owner(&self) -> MutexGuard<'_, Owner> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process that showed the secret first.
    pub(crate) fn process(&self) -> Option<Process> {
        match &*self.owner() {
            Owner::These(these) => these.first().copied(),
            Owner::Nobody | Owner::Unknown => None,
        }
    }

    /// Whether this process may use the secret. An agent may start another process of its own for each session: that is below
    /// this editor, and not below one that has used the secret.
    pub(crate) fn admits(&self, process: Option<Process>) -> bool {
        let mut owner = self.owner();
        match (&mut *owner, process) {
            (Owner::Nobody, None) => *owner = Owner::Unknown,
            (Owner::Nobody, Some(process)) => *owner = Owner::These(vec![process]),
            (Owner::Unknown, _) => {}
            (Owner::These(_), None) => return false,
            (Owner::These(these), Some(process)) => {
                if !these.contains(&process) {
                    let above = ancestors(process.pid);
                    let is_ours = above.iter().any(|one| one.pid == process::id());
                    if !is_ours || above.iter().any(|one| these.contains(one)) {
                        return false;
                    }
                    these.push(process);
                }
            }
        }
        true
    }
}
