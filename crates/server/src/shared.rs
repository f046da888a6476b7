//! The state that all connections share.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use tokio::sync::{Semaphore, watch};

use crate::{identity::Identity, request::Services, routes::Routes};

/// State shared by all connections.
pub(crate) struct Shared {
    pub(crate) services: Arc<Services>,
    pub(crate) identity: Identity,
    pub(crate) routes: Routes,
    /// One permit for each of their connections.
    pub(crate) http_places: Arc<Semaphore>,
    /// The deadline of the shutdown, once it is requested.
    pub(crate) shutdown: watch::Sender<Option<Instant>>,
    /// Whether the editor exits.
    pub(crate) is_exiting: AtomicBool,
}
