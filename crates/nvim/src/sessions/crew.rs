//! The threads that work for sessions: how many there are, and that a panic in one ends nothing else.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use crate::error::Error;

/// Threads at once: open transcripts, their indexing, lists and searches.
const MAX_THREADS: usize = 64;

/// Counts the threads at work.
#[derive(Debug, Default)]
pub(super) struct Crew {
    working: Mutex<usize>,
    fewer: Condvar,
}

impl Crew {
    /// Runs `body` on a thread of its own. Should it panic, what it holds is dropped, and the log tells.
    ///
    /// # Errors
    /// [`Error::Busy`] when there are too many threads, [`Error::Thread`] when there can be none.
    pub(super) fn spawn(self: &Arc<Self>, body: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let place = self.take_place()?;
        let work = move || {
            let _place = place;
            // The panic hook has written to the log.
            catch_unwind(AssertUnwindSafe(body)).ok();
        };
        thread::Builder::new().name("claude-ide-reader".to_owned()).spawn(work).map(drop).map_err(Error::Thread)
    }

    fn take_place(self: &Arc<Self>) -> Result<Place, Error> {
        let mut working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        if *working >= MAX_THREADS {
            return Err(Error::Busy);
        }
        *working += 1;
        Ok(Place(Arc::clone(self)))
    }

    /// Waits until all are done, for however long that takes.
    pub(super) fn wait(&self) {
        let working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.fewer.wait_while(working, |working| *working > 0));
    }
}

/// A thread's place in the crew.
#[derive(Debug)]
struct Place(Arc<Crew>);

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.working.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.fewer.notify_all();
    }
}
