//! One transcript for all of its readers: the file is read once, page by page, for those who keep up.
//!
//! Invariants: one thread reads it at a time; pages are cached within a limit per reader; readers wait only for the
//! disk, never for another reader.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use claude_ide_session::{Feed, FeedPage, Followed, SessionError};
use tokio::sync::{Mutex, OwnedMutexGuard, Semaphore, watch};
use tokio::task::spawn_blocking;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Approximate size of a page in bytes; at least one line.
const PAGE: usize = 256 * 1024;
/// Cached bytes of pages.
const MAX_KEPT: usize = 4 * 1024 * 1024;
/// Additional bytes per reader: readers are as far apart as their sockets' buffers. A page that is gone is read again.
const KEPT_FOR_EACH: usize = 1024 * 1024;

/// Consecutive lines, ready to send.
#[derive(Debug)]
pub(crate) struct Page {
    /// The number of the first line.
    pub(crate) from: usize,
    pub(crate) lines: Vec<Utf8Bytes>,
    bytes: usize,
}

impl Page {
    fn new(page: FeedPage) -> Self {
        let (from, bytes) = (page.from, page.text.len());
        let text = Bytes::from(page.text);
        let mut start = 0;
        let line = |end: usize| {
            let line = text.slice(start.min(end)..end);
            start = end;
            // The feed only yields valid text; otherwise a line must still fill its place.
            Utf8Bytes::try_from(line).unwrap_or_else(|_| Utf8Bytes::from_static("null"))
        };
        let lines = page.ends.into_iter().map(line).collect();
        Self { from, lines, bytes }
    }

    pub(crate) fn end(&self) -> usize {
        self.from + self.lines.len()
    }
}

/// A reader's place: before the line with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) epoch: u64,
    pub(crate) number: usize,
}

/// What follows a place.
#[derive(Debug)]
pub(crate) enum Next {
    /// A page that contains the line.
    Page(Arc<Page>),
    /// Nothing for now.
    End,
    /// The file was replaced: the place is from another epoch.
    Replaced,
}

/// The shared reader of a transcript.
pub(crate) struct Channel {
    file: PathBuf,
    inner: Arc<Mutex<Inner>>,
    followed: Followed,
    readers: Arc<Semaphore>,
}

struct Inner {
    feed: Feed,
    /// By the number of their first line.
    kept: BTreeMap<usize, Arc<Page>>,
    oldest: VecDeque<usize>,
    kept_bytes: usize,
    max_kept: usize,
    /// The value of `touched` when the end was last reached.
    at_end: u64,
}

impl Channel {
    pub(crate) fn new(file: PathBuf, followed: Followed, readers: Arc<Semaphore>) -> Self {
        let inner = Inner {
            feed: Feed::new(&file),
            kept: BTreeMap::new(),
            oldest: VecDeque::new(),
            kept_bytes: 0,
            max_kept: MAX_KEPT,
            at_end: 0,
        };
        Self { file, inner: Arc::new(Mutex::new(inner)), followed, readers }
    }

    /// Signals that there may be more.
    pub(crate) fn touched(&self) -> watch::Receiver<u64> {
        self.followed.changes()
    }

    fn changes(&self) -> u64 {
        *self.touched().borrow()
    }

    /// The place before the first line.
    pub(crate) async fn start(&self) -> Place {
        Place { epoch: self.inner.lock().await.feed.epoch(), number: 0 }
    }

    /// What follows a place.
    ///
    /// # Errors
    /// Why the file cannot be read.
    pub(crate) async fn next(&self, place: Place) -> Result<Next, SessionError> {
        let touched = self.changes();
        let mut inner = Arc::clone(&self.inner).lock_owned().await;
        loop {
            if inner.feed.epoch() != place.epoch {
                return Ok(Next::Replaced);
            }
            if let Some(page) = inner.kept_at(place.number) {
                return Ok(Next::Page(page));
            }
            if place.number >= inner.feed.len() && inner.at_end >= touched {
                return Ok(Next::End);
            }
            inner.max_kept = MAX_KEPT + KEPT_FOR_EACH * self.followed.readers();
            inner = self.read(inner, move |inner| inner.fetch(place.number, touched)).await?;
        }
    }

    /// Reads the file to its end, so that every line is known.
    ///
    /// # Errors
    /// Why the file cannot be read.
    pub(crate) async fn know_all(&self) -> Result<(), SessionError> {
        let touched = self.changes();
        let mut inner = Arc::clone(&self.inner).lock_owned().await;
        while inner.at_end < touched {
            inner = self.read(inner, move |inner| inner.advance(touched)).await?;
        }
        Ok(())
    }

    /// The place after the known line with this uuid.
    pub(crate) async fn after(&self, uuid: &str) -> Option<Place> {
        let inner = self.inner.lock().await;
        let number = inner.feed.find(uuid)? + 1;
        Some(Place { epoch: inner.feed.epoch(), number })
    }

    /// The place before the last `count` known lines.
    pub(crate) async fn before_last(&self, count: usize) -> Place {
        let inner = self.inner.lock().await;
        Place { epoch: inner.feed.epoch(), number: inner.feed.len().saturating_sub(count) }
    }

    /// Where a reader continues after the file was replaced, once all of the new one is known: after the last line that
    /// it received and that is in both.
    pub(crate) async fn resume(&self, place: Place) -> Option<Place> {
        let inner = self.inner.lock().await;
        let number = inner.feed.resume(place.epoch, place.number)?;
        Some(Place { epoch: inner.feed.epoch(), number })
    }

    /// The number of known lines.
    pub(crate) async fn len(&self) -> usize {
        self.inner.lock().await.feed.len()
    }

    /// The last `count` lines before a known place, and whether there are earlier ones. The first line has a uuid, so
    /// that earlier ones can be requested.
    ///
    /// # Errors
    /// Why the file cannot be read.
    pub(crate) async fn before(
        &self,
        place: Place,
        count: usize,
        max_bytes: usize,
    ) -> Result<(Page, bool), SessionError> {
        let inner = Arc::clone(&self.inner).lock_owned().await;
        let until = place.number.min(inner.feed.len());
        let _permit = self.readers.acquire().await;
        let read = move || {
            let mut inner = inner;
            let feed = &mut inner.feed;
            let mut from = until.saturating_sub(count);
            while from > 0 && !feed.is_named(from) {
                from -= 1;
            }
            let mut page = feed.page(from, until, max_bytes)?;
            // Too much: the nearest lines take precedence.
            while page.end() < until && from < until {
                from += ((until - from) / 2).max(1);
                while from < until && !feed.is_named(from) {
                    from += 1;
                }
                page = feed.page(from, until, max_bytes)?;
            }
            Ok((Page::new(page), from > 0))
        };
        spawn_blocking(read).await.unwrap_or_else(|error| Err(lost(&self.file, error)))
    }

    async fn read(
        &self,
        mut inner: OwnedMutexGuard<Inner>,
        body: impl FnOnce(&mut Inner) -> Result<(), SessionError> + Send + 'static,
    ) -> Result<OwnedMutexGuard<Inner>, SessionError> {
        let _permit = self.readers.acquire().await;
        let read = spawn_blocking(move || body(&mut inner).map(|()| inner));
        read.await.unwrap_or_else(|error| Err(lost(&self.file, error)))
    }
}

fn lost(file: &Path, error: tokio::task::JoinError) -> SessionError {
    SessionError::Read { path: file.to_owned(), source: io::Error::other(error) }
}

impl Inner {
    fn kept_at(&self, number: usize) -> Option<Arc<Page>> {
        let (_, page) = self.kept.range(..=number).next_back()?;
        (number < page.end()).then(|| Arc::clone(page))
    }

    /// Ensures that this line's page is cached, or that all lines are known.
    fn fetch(&mut self, number: usize, touched: u64) -> Result<(), SessionError> {
        if number < self.feed.len() {
            let page = self.feed.page(number, usize::MAX, PAGE)?;
            self.keep(page);
            return Ok(());
        }
        self.advance(touched)
    }

    fn advance(&mut self, touched: u64) -> Result<(), SessionError> {
        let advance = self.feed.advance(PAGE)?;
        if advance.replaced {
            self.kept.clear();
            self.oldest.clear();
            self.kept_bytes = 0;
        }
        if advance.at_end {
            self.at_end = touched;
        }
        self.keep(advance.page);
        Ok(())
    }

    fn keep(&mut self, page: FeedPage) {
        if page.ends.is_empty() {
            return;
        }
        let page = Arc::new(Page::new(page));
        self.kept_bytes += page.bytes;
        self.oldest.retain(|from| *from != page.from);
        self.oldest.push_back(page.from);
        if let Some(before) = self.kept.insert(page.from, page) {
            self.kept_bytes -= before.bytes;
        }
        while self.kept_bytes > self.max_kept && self.oldest.len() > 1 {
            let Some(page) = self.oldest.pop_front().and_then(|from| self.kept.remove(&from)) else { break };
            self.kept_bytes -= page.bytes;
        }
    }
}
