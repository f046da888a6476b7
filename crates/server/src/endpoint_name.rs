//! The names of the endpoints.

/// The endpoint of the lock file.
pub(crate) const IDE: &str = "ide";
/// The endpoint of CLIs that speak the IDE companion specification.
pub(crate) const COMPANION: &str = "companion";
/// The endpoint of agents, also named so in the user's CLI.
pub(crate) const NVIM: &str = "nvim";
/// The endpoint of our mod, which runs inside CLIs that the editor starts.
pub(crate) const MOD: &str = "mod";
