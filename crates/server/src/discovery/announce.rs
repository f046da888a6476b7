//! Keeps the discovery file present and current while the server runs, and removes it at the end; and the file for the
//! next Neovim, which stays.
//!
//! Other programs delete it: a CLI in another process namespace that shares the folder takes our process for dead. So
//! the folder is watched, and the file restored. Folders may be slow, so nothing here runs on the runtime's thread.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use claude_ide_http::stopping;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event::ModifyKind};
use tokio::{
    sync::{Notify, watch},
    time::sleep,
};

use super::{handover::Handover, lock_file::LockFile};
use crate::options::Workspace;

/// Delay before a deleted file is restored: two programs that write and delete in turn must not do so at full speed.
const PAUSE: Duration = Duration::from_millis(200);
/// Polling interval where the system reports no changes.
const LOOK: Duration = Duration::from_secs(5);

/// Runs until the server stops.
pub(crate) async fn announce(
    lock: LockFile,
    handover: Handover,
    mut workspace: watch::Receiver<Workspace>,
    mut shutdown: watch::Receiver<Option<Instant>>,
) {
    let (lock, handover) = (Arc::new(lock), Arc::new(handover));
    let lost = Arc::new(Notify::new());
    let mut watcher = aside({
        let (lock, lost) = (Arc::clone(&lock), Arc::clone(&lost));
        move || watcher(&lock, lost)
    })
    .await
    .flatten();
    // The file may have been deleted before the watch.
    lost.notify_one();
    loop {
        tokio::select! {
            biased;
            _ = stopping(&mut shutdown) => break,
            () = handover.changed() => {
                let (handover, workspace) = (Arc::clone(&handover), workspace.borrow().clone());
                aside(move || handover.write(&workspace)).await;
            }
            changed = workspace.changed() => {
                if changed.is_err() {
                    break;
                }
                let (lock, workspace) = (Arc::clone(&lock), workspace.borrow_and_update().clone());
                aside(move || lock.rewrite(&workspace)).await;
            }
            () = something_lost(&lost, watcher.is_some()) => {
                tokio::select! {
                    _ = stopping(&mut shutdown) => break,
                    () = sleep(PAUSE) => {}
                }
                let (lock, workspace) = (Arc::clone(&lock), workspace.borrow().clone());
                let watched = watcher.take();
                watcher = aside(move || {
                    lock.restore(&workspace);
                    // A recreated folder needs a new watch.
                    let watched = watched.and_then(|watched| watch(watched, &lock));
                    lock.restore(&workspace);
                    watched
                })
                .await
                .flatten();
            }
        }
    }
    let workspace = workspace.borrow().clone();
    aside(move || handover.write(&workspace)).await;
}

async fn something_lost(lost: &Notify, watched: bool) {
    if watched {
        lost.notified().await;
    } else {
        sleep(LOOK).await;
    }
}

/// Runs blocking work. `None` if it panicked, which is logged.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.inspect_err(|error| tracing::error!(%error, "keeping the lock file failed")).ok()
}

fn watcher(lock: &LockFile, lost: Arc<Notify>) -> Option<RecommendedWatcher> {
    let ours: Vec<PathBuf> = lock.all().flat_map(|path| [Some(path.clone()), folder(path)]).flatten().collect();
    let on_event = move |event: notify::Result<notify::Event>| {
        let may_be_gone = event.is_ok_and(|event| {
            matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) | EventKind::Other)
                && event.paths.iter().any(|path| ours.contains(path))
        });
        if may_be_gone {
            lost.notify_one();
        }
    };
    match notify::recommended_watcher(on_event) {
        Ok(watcher) => watch(watcher, lock),
        Err(error) => {
            tracing::warn!(%error, "the folder of the lock file cannot be watched");
            None
        }
    }
}

/// Watches the current folders of the files.
fn watch(mut watcher: RecommendedWatcher, lock: &LockFile) -> Option<RecommendedWatcher> {
    for folder in lock.all().filter_map(|path| folder(path)) {
        if let Err(error) = watcher.watch(&folder, RecursiveMode::NonRecursive) {
            tracing::warn!(folder = %folder.display(), %error, "the folder of the lock file cannot be watched");
            return None;
        }
    }
    Some(watcher)
}

fn folder(path: &Path) -> Option<PathBuf> {
    path.parent().map(Path::to_owned)
}
