//! Orders file writes: one after another per file, in the order of the requests.
//!
//! Two requests may name one file differently, which only the disk can resolve. So they first wait in a common queue,
//! in order; once its file is known, a request moves on to the queue of that file.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use futures_util::FutureExt;
use tokio::{
    sync::{Mutex as Line, OwnedMutexGuard},
    task::coop::unconstrained,
};

/// A turn; lasts until dropped.
pub(crate) type Turn = OwnedMutexGuard<()>;

/// A place in a queue. Dropped to leave it.
pub(crate) type Place = Pin<Box<dyn Future<Output = Turn> + Send>>;

#[derive(Debug, Default)]
pub(crate) struct WriteOrder {
    arrivals: Arc<Line<()>>,
    files: Mutex<HashMap<PathBuf, Weak<Line<()>>>>,
}

impl WriteOrder {
    /// Joins the queue of requests whose file is not known yet.
    pub(crate) fn arrive(&self) -> Place {
        join(&self.arrivals)
    }

    /// Joins a file's queue; must be called during a turn in the first queue.
    pub(crate) fn queue_for(&self, file: &Path) -> Place {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.retain(|_, line| line.strong_count() > 0);
        let line = files.get(file).and_then(Weak::upgrade).unwrap_or_default();
        files.insert(file.to_owned(), Arc::downgrade(&line));
        join(&line)
    }
}

/// Takes the place now, not only when it is polled.
fn join(line: &Arc<Line<()>>) -> Place {
    let mut place = Box::pin(Arc::clone(line).lock_owned());
    match unconstrained(place.as_mut()).now_or_never() {
        Some(turn) => Box::pin(std::future::ready(turn)),
        None => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_to_join_is_the_first_to_write() {
        let turns = WriteOrder::default();
        let (first, mut second) = (turns.queue_for(Path::new("/a")), turns.queue_for(Path::new("/a")));
        assert!(second.as_mut().now_or_never().is_none(), "the first has not even looked");
        drop(first.await);
        second.await;
    }

    #[tokio::test]
    async fn leaving_the_line_lets_no_writer_past_the_one_before() {
        let turns = WriteOrder::default();
        let first = turns.queue_for(Path::new("/a")).await;
        let second = turns.queue_for(Path::new("/a"));
        let mut third = turns.queue_for(Path::new("/a"));
        drop(second);
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        third.await;
    }

    #[tokio::test]
    async fn another_file_is_another_line_and_an_empty_line_is_forgotten() {
        let turns = WriteOrder::default();
        let first = turns.queue_for(Path::new("/a")).await;
        drop(turns.queue_for(Path::new("/b")).await);
        drop(first);
        drop(turns.queue_for(Path::new("/c")));
        assert_eq!(turns.files.lock().unwrap().len(), 1);
    }
}
