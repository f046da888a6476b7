//! One transcript on its way to all who read it: its file is read once for all of them who keep up, page by page.
//!
//! Invariants: one thread reads it at a time; pages that several want are kept, within a bound for each; nobody waits for another
//! reader, only for the disk.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use claude_ide_session::{Feed, FeedPage, Followed, SessionError};
use tokio::sync::{Mutex, OwnedMutexGuard, Semaphore, watch};
use tokio::task::spawn_blocking;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Bytes of one page, about; at least one line.
const PAGE: usize = 256 * 1024;
/// Bytes of pages that are kept for others.
const MAX_KEPT: usize = 4 * 1024 * 1024;
/// So many more for each who reads: they are as far apart as what their sockets hold, and one who finds a page gone reads it again.
const KEPT_FOR_EACH: usize = 1024 * 1024;

/// Some lines that follow one another, ready to be sent.
#[derive(Debug)]
pub(crate) struct Page {
    /// The number of the first one.
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
            // The feed reads text alone; were it not, a line must still stand at its place.
            Utf8Bytes::try_from(line).unwrap_or_else(|_| Utf8Bytes::from_static("null"))
        };
        let lines = page.ends.into_iter().map(line).collect();
        Self { from, lines, bytes }
    }

    pub(crate) fn end(&self) -> usize {
        self.from + self.lines.len()
    }
}

/// Where somebody is who reads: before the line of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) epoch: u64,
    pub(crate) number: usize,
}

/// What comes next at a place.
#[derive(Debug)]
pub(crate) enum Next {
    /// A page that holds the line.
    Page(Arc<Page>),
    /// Nothing more for now.
    End,
    /// The file was replaced: the place is of another epoch.
    Replaced,
}

/// A transcript that is read for others.
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
    /// What `touched` was when the end of the file was reached last.
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

    /// Says when there may be more.
    pub(crate) fn touched(&self) -> watch::Receiver<u64> {
        self.followed.changes()
    }

    fn changes(&self) -> u64 {
        *self.touched().borrow()
    }

    /// The beginning.
    pub(crate) async fn start(&self) -> Place {
        Place { epoch: self.inner.lock().await.feed.epoch(), number: 0 }
    }

    /// What comes at a place.
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

    /// The place after the line of this uuid, of what is known.
    pub(crate) async fn after(&self, uuid: &str) -> Option<Place> {
        let inner = self.inner.lock().await;
        let number = inner.feed.find(uuid)? + 1;
        Some(Place { epoch: inner.feed.epoch(), number })
    }

    /// The place before the last so many lines, of what is known.
    pub(crate) async fn before_last(&self, count: usize) -> Place {
        let inner = self.inner.lock().await;
        Place { epoch: inner.feed.epoch(), number: inner.feed.len().saturating_sub(count) }
    }

    /// Where somebody goes on whose file was replaced, once all of the new one is known: behind the last line that was told and is
    /// in both.
    pub(crate) async fn resume(&self, place: Place) -> Option<Place> {
        let inner = self.inner.lock().await;
        let number = inner.feed.resume(place.epoch, place.number)?;
        Some(Place { epoch: inner.feed.epoch(), number })
    }

    /// How many lines are known.
    pub(crate) async fn len(&self) -> usize {
        self.inner.lock().await.feed.len()
    }

    /// The last so many lines before a place that is known, and whether there are earlier ones. The first has a uuid, so that one
    /// can ask for those before it.
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
            // Too much: what is nearest counts.
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

    /// Makes that the line of this number is kept, or that all lines are known.
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
