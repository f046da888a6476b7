//! Per-thread signal masks. Dispositions belong to Neovim, and processes that we start would inherit a change.

use std::mem::MaybeUninit;
use std::ptr;

/// Blocks SIGPIPE in this thread: writing to a closed pipe or socket then only fails with `BrokenPipe`. Neovim catches
/// the signal only until it begins to exit; after that it would end Neovim with status 141 while our threads still
/// write.
///
/// Not for a thread that starts processes: they inherit the blocked signal.
pub fn block_sigpipe() {
    let mut pipe = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` initialises the set before it is read, and the old mask may be null. None of the three can
    // fail with these arguments.
    unsafe {
        libc::sigemptyset(pipe.as_mut_ptr());
        libc::sigaddset(pipe.as_mut_ptr(), libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, pipe.as_ptr(), ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write as _, pipe};
    use std::thread;

    use super::*;
    use crate::testing::where_sigpipe_ends;

    fn write() -> Option<ErrorKind> {
        let (reader, mut writer) = pipe().unwrap();
        drop(reader);
        writer.write_all(b"x").err().map(|error| error.kind())
    }

    #[test]
    fn a_write_without_a_reader_is_only_an_error() {
        where_sigpipe_ends("signal::tests::a_write_without_a_reader_is_only_an_error", || {
            let kind = thread::spawn(|| {
                block_sigpipe();
                write()
            });
            assert_eq!(kind.join().unwrap(), Some(ErrorKind::BrokenPipe));
        });
    }

    #[test]
    #[should_panic(expected = "signal: 13")]
    fn other_threads_are_as_they_were() {
        where_sigpipe_ends("signal::tests::other_threads_are_as_they_were", || {
            thread::spawn(block_sigpipe).join().unwrap();
            write();
        });
    }
}
