//! The files by which clients find this server.

pub(crate) mod announce;
pub(crate) mod companions;
mod folder;
pub(crate) mod handover;
pub(crate) mod lock_file;
