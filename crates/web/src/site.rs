//! The state that all connections share.

use std::sync::Arc;
use std::time::Instant;

use claude_ide_http::Hosts;
use tokio::sync::watch;

use crate::authentication::Authentication;
use crate::broker::Broker;
use crate::listing::Changes;
use crate::options::Limits;
use crate::sessions::Sessions;

/// State shared by all connections.
pub(crate) struct Site {
    pub(crate) hosts: Hosts,
    pub(crate) authentication: Authentication,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) listed: Changes,
    pub(crate) broker: Broker,
    pub(crate) limits: Limits,
    /// The deadline of the shutdown, once it is requested.
    pub(crate) stop: watch::Sender<Option<Instant>>,
}
