//! Signals, each as one thread sees it. What the process does about them is Neovim's, and what it starts would inherit a change.

use std::mem::MaybeUninit;
use std::ptr;

/// From now on a write of this thread to a pipe or a socket that nobody reads fails with `BrokenPipe`, and that is all. Neovim
/// catches SIGPIPE only until it begins to exit; from then on it would end Neovim, with 141, and our threads still write.
///
/// Not for a thread that starts processes: what starts there has SIGPIPE blocked as well.
pub fn block_sigpipe() {
    let mut pipe = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` makes the set whole before anything reads it, and nobody wants to know what was blocked before. None
    // of the three can fail where set, signal and `SIG_BLOCK` are what they are here.
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
    fn a_write_that_nobody_reads_is_an_error_and_no_more() {
        where_sigpipe_ends("signal::tests::a_write_that_nobody_reads_is_an_error_and_no_more", || {
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
