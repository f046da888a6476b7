//! Thread pools for the work on sessions. A panic in one job ends nothing else.
//!
//! Three kinds of work wait for each other's threads never: a search does not keep a transcript from being read, nor does the
//! indexing of a huge one. A thread exists only while its kind has something to do.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::ServiceError;

/// Lists, searches and the like, each of which may take long.
const REQUESTS: usize = 8;
/// What is asked of open transcripts, and their growth: short turns, of however many transcripts.
const TRANSCRIPTS: usize = 4;
/// Huge transcripts that are indexed.
const INDEXING: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

/// All pools.
#[derive(Debug, Default)]
pub(super) struct Pools {
    pub(super) requests: Arc<Pool<REQUESTS>>,
    pub(super) transcripts: Arc<Pool<TRANSCRIPTS>>,
    pub(super) indexing: Arc<Pool<INDEXING>>,
}

impl Pools {
    /// What waits is dropped; what has begun goes on, and nothing new is taken.
    pub(super) fn dismiss(&self) {
        self.requests.dismiss();
        self.transcripts.dismiss();
        self.indexing.dismiss();
    }

    /// Waits until all are done, for however long that takes.
    pub(super) fn wait(&self) {
        self.requests.wait();
        self.transcripts.wait();
        self.indexing.wait();
    }
}

/// At most so many threads for one kind of work; what comes beyond waits, in order.
#[derive(Debug, Default)]
pub(super) struct Pool<const SIZE: usize> {
    state: Mutex<State>,
    fewer: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    threads: usize,
    dismissed: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("waiting", &self.waiting.len()).field("threads", &self.threads).finish()
    }
}

impl<const SIZE: usize> Pool<SIZE> {
    /// Runs `body` as soon as a thread is free. Should it panic, what it holds is dropped, and the log tells.
    ///
    /// # Errors
    /// [`ServiceError::Thread`] when there can be none; [`ServiceError::Over`] after [`Pools::dismiss`].
    pub(super) fn run(self: &Arc<Self>, body: impl FnOnce() + Send + 'static) -> Result<(), ServiceError> {
        let mut state = self.lock();
        if state.dismissed {
            return Err(ServiceError::Over);
        }
        state.waiting.push_back(Box::new(body));
        if state.threads >= SIZE {
            return Ok(());
        }
        let pool = Arc::clone(self);
        match thread::Builder::new().name("claude-ide-reader".to_owned()).spawn(move || pool.work()) {
            Ok(_) => state.threads += 1,
            // Those that are there come to it.
            Err(_) if state.threads > 0 => {}
            Err(error) => {
                let job = state.waiting.pop_back();
                drop(state);
                drop(job);
                return Err(ServiceError::Thread(error));
            }
        }
        Ok(())
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            // The panic hook has written to the log.
            catch_unwind(AssertUnwindSafe(job)).ok();
        }
    }

    /// The next job; without one the thread that asks counts no more.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        let job = state.waiting.pop_front();
        if job.is_none() {
            state.threads -= 1;
            self.fewer.notify_all();
        }
        job
    }

    fn dismiss(&self) {
        let mut state = self.lock();
        state.dismissed = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        // What they hold may answer, or be large: not under the lock.
        drop(waiting);
    }

    fn wait(&self) {
        drop(self.fewer.wait_while(self.lock(), |state| state.threads > 0));
    }

    /// Never left half-changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn works_with_no_more_threads_than_allowed_and_with_none_once_done() {
        let pool = Arc::<Pool<2>>::default();
        let (sender, done) = channel();
        for number in 0..50 {
            let sender = sender.clone();
            pool.run(move || sender.send((number, thread::current().id())).unwrap()).unwrap();
            assert!(pool.lock().threads <= 2);
        }
        drop(sender);
        assert_eq!(done.iter().count(), 50);
        pool.wait();
        assert_eq!(pool.lock().threads, 0);
    }

    #[test]
    fn a_panic_ends_neither_its_thread_nor_the_next_job() {
        let pool = Arc::<Pool<1>>::default();
        let (sender, done) = channel();
        pool.run(|| panic!("on purpose")).unwrap();
        pool.run(move || sender.send(()).unwrap()).unwrap();
        done.recv().unwrap();
        pool.wait();
    }

    #[test]
    fn what_waits_is_dropped_when_all_are_dismissed() {
        let pool = Arc::<Pool<1>>::default();
        let ((begun, has_begun), (end, may_end)) = (channel(), channel::<()>());
        pool.run(move || {
            begun.send(()).unwrap();
            may_end.recv().ok();
        })
        .unwrap();
        has_begun.recv().unwrap();
        pool.run(|| panic!("it must not run")).unwrap();
        pool.dismiss();
        assert!(matches!(pool.run(|| ()), Err(ServiceError::Over)));
        drop(end);
        pool.wait();
    }
}
