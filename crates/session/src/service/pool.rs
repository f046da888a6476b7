//! Thread pools for session work. A panic in one job ends nothing else.
//!
//! Three kinds of work have pools of their own, so that a search never delays a transcript, nor does indexing a huge
//! one. Threads exist only while there is work.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::error::ServiceError;

/// Lists, searches and other possibly long requests.
const REQUESTS: usize = 8;
/// Questions to open transcripts, and their refreshes: short turns for any number of transcripts.
const TRANSCRIPTS: usize = 4;
/// Indexing of huge transcripts.
const INDEXING: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug, Default)]
pub(super) struct Pools {
    pub(super) requests: Arc<Pool<REQUESTS>>,
    pub(super) transcripts: Arc<Pool<TRANSCRIPTS>>,
    pub(super) indexing: Arc<Pool<INDEXING>>,
    /// Background work without a reply. It may sleep.
    pub(super) later: Arc<Pool<INDEXING>>,
}

impl Pools {
    /// Drops waiting jobs and refuses new ones; started jobs continue.
    pub(super) fn dismiss(&self) {
        self.requests.dismiss();
        self.transcripts.dismiss();
        self.indexing.dismiss();
        self.later.dismiss();
    }

    /// Waits until all jobs are done, without a time limit.
    #[cfg(test)]
    pub(super) fn wait(&self) {
        self.requests.wait();
        self.transcripts.wait();
        self.indexing.wait();
        self.later.wait();
    }
}

/// At most `SIZE` threads for one kind of work; further jobs wait in order.
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
    /// Runs `body` as soon as a thread is free. A panic drops what it holds and is logged.
    ///
    /// # Errors
    /// [`ServiceError::Thread`] if no thread can be started; [`ServiceError::Over`] after [`Pools::dismiss`].
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
            // A running thread takes the job.
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
            // The panic hook has logged it.
            catch_unwind(AssertUnwindSafe(job)).ok();
        }
    }

    /// The next job. Without one, the calling thread no longer counts.
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
        // Dropped outside the lock: jobs may answer when dropped, and may be large.
        drop(waiting);
    }

    #[cfg(test)]
    fn wait(&self) {
        drop(self.fewer.wait_while(self.lock(), |state| state.threads > 0));
    }

    /// A panic cannot leave this state half-changed, so a poisoned lock is fine.
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
    fn dismissing_drops_pending_jobs() {
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
