//! Memory that is freed, and that the allocator keeps.

/// Gives it back to the system. glibc keeps hundreds of megabytes after some large texts that one thread allocated and
/// another one freed. It takes about 10 ms a hundred megabytes, and other threads may wait for the allocator meanwhile.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time, from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
