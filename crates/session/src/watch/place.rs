//! Whether the system reports changes in a folder. Network file systems accept a watch but report no changes made
//! elsewhere.

use std::path::Path;

/// File systems without events for changes made elsewhere, by their `statfs(2)` magic: NFS, SMB (three of its clients),
/// 9P (Windows folders in WSL), FUSE (sshfs and its like), Ceph, AFS, Coda.
#[cfg(target_os = "linux")]
const SILENT: [u64; 9] =
    [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997, 0x6573_5546, 0x00C3_6400, 0x5346_414F, 0x7375_7245];

#[cfg(target_os = "linux")]
pub(super) fn reports_changes(folder: &Path) -> bool {
    let Ok(found) = rustix::fs::statfs(folder) else { return true };
    // The kernel's type is signed and differs in width between architectures; the magic numbers have 32 bits.
    let kind = i128::from(found.f_type) & 0xFFFF_FFFF;
    !SILENT.iter().any(|silent| i128::from(*silent) == kind)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reports_changes(_: &Path) -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_local_folder_has_events_and_a_missing_one_is_no_network() {
        assert!(reports_changes(Path::new("/proc")) && reports_changes(Path::new("/none")));
    }
}
