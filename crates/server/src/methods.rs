//! The file protocol (doc/dev/server.md): plain methods on workspace files, for JSON-RPC clients without MCP.
//!
//! A file that is open in the editor is read and written there, others on disk.

mod files;
mod method;
mod offers;
mod write;

pub(crate) use files::METHODS;
pub(crate) use method::{Method, Methods};
pub(crate) use offers::OFFERS;

#[cfg(test)]
mod tests {
    #[test]
    fn every_call_of_the_editor_has_its_twin_there() {
        for call in [
            "read_file",
            "write_file",
            "open_diff",
            "get_open_files",
            "get_current_file",
            "nvim.prompt",
            "nvim.read_resource",
        ] {
            assert!(crate::tools::testing::has_twin(call), "{call}");
        }
    }
}
