//! The thread, with one async runtime, of all services that use sockets.
//!
//! Invariants: the first service starts the thread and the last one to end stops it. A service that panics or hangs
//! ends no other. Waiting for an end has a deadline, so that nothing here can keep Neovim from quitting.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use claude_ide_system::signal::block_sigpipe;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::error::Error;

/// Grace period for disk work when the thread ends.
const BLOCKING_GRACE: Duration = Duration::from_millis(100);

/// The runtime of this process.
pub(crate) static RUNTIME: Runtime = Runtime(Mutex::new(Weak::new()));

/// Runs a thread while there are services.
#[derive(Debug)]
pub(crate) struct Runtime(Mutex<Weak<Host>>);

/// The running thread. Each service holds it; dropping the last reference ends the thread.
#[derive(Debug)]
struct Host {
    handle: Handle,
    thread: Arc<Thread>,
    /// Its drop ends the thread.
    _over: oneshot::Sender<Infallible>,
}

#[derive(Debug)]
struct Thread(Mutex<Option<(JoinHandle<()>, Receiver<Infallible>)>>);

/// A service that runs, or has ended.
#[derive(Debug)]
pub(crate) struct Running {
    host: Weak<Host>,
    thread: Arc<Thread>,
    /// Disconnects when the service has ended.
    done: Receiver<Infallible>,
    /// Whether the service was asked to end.
    asked: Arc<AtomicBool>,
}

/// Held by a service and dropped with it, however it ends.
struct Stay<F: FnOnce()> {
    guards: Option<(Arc<Host>, Sender<Infallible>)>,
    asked: Arc<AtomicBool>,
    unexpected: Option<F>,
}

impl<F: FnOnce()> Drop for Stay<F> {
    fn drop(&mut self) {
        // The host first: once a service is seen to have ended, it must be known whether it was the last.
        if let Some((host, alive)) = self.guards.take() {
            drop(host);
            drop(alive);
        }
        if !self.asked.load(Ordering::Acquire)
            && let Some(sender) = self.unexpected.take()
        {
            sender();
        }
    }
}

/// A panic cannot leave this state half-changed, so a poisoned lock is fine.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Runtime {
    /// Runs a service. If it ends unrequested (see [`Running::ask`]), `unexpected` is called on the thread.
    ///
    /// # Errors
    /// [`Error::Thread`]; then the service is dropped.
    pub(crate) fn run(
        &self,
        service: impl Future<Output = ()> + Send + 'static,
        unexpected: impl FnOnce() + Send + 'static,
    ) -> Result<Running, Error> {
        let host = self.host()?;
        let (alive, done) = mpsc::channel();
        let asked = Arc::new(AtomicBool::new(false));
        let running =
            Running { host: Arc::downgrade(&host), thread: Arc::clone(&host.thread), done, asked: Arc::clone(&asked) };
        let handle = host.handle.clone();
        let stay = Stay { guards: Some((host, alive)), asked, unexpected: Some(unexpected) };
        handle.spawn(async move {
            let _stay = stay;
            service.await;
        });
        Ok(running)
    }

    fn host(&self) -> Result<Arc<Host>, Error> {
        let mut slot = lock(&self.0);
        if let Some(host) = slot.upgrade() {
            return Ok(host);
        }
        let mut builder = Builder::new_current_thread();
        // The hook is for the blocking pool's threads; the thread started below blocks the signal itself.
        let runtime =
            builder.enable_io().enable_time().on_thread_start(block_sigpipe).build().map_err(Error::Thread)?;
        let handle = runtime.handle().clone();
        let (over, is_over) = oneshot::channel::<Infallible>();
        let (alive, done) = mpsc::channel();
        let body = move || {
            block_sigpipe();
            let _alive: Sender<Infallible> = alive;
            // Nothing is ever sent: it ends with the last service.
            let _: Result<Infallible, _> = runtime.block_on(is_over);
            runtime.shutdown_timeout(BLOCKING_GRACE);
        };
        let thread = thread::Builder::new().name("claude-ide".to_owned()).spawn(body).map_err(Error::Thread)?;
        let thread = Arc::new(Thread(Mutex::new(Some((thread, done)))));
        let host = Arc::new(Host { handle, thread, _over: over });
        *slot = Arc::downgrade(&host);
        Ok(host)
    }

    /// Waits until a service that was asked to end has done so; after the last one also for the thread.
    ///
    /// # Errors
    /// [`Error::Stuck`] if `time` passed; the thread is then abandoned, and new services get another one.
    pub(crate) fn wait(&self, running: &Running, time: Duration) -> Result<(), Error> {
        let now = Instant::now();
        let deadline = now.checked_add(time).unwrap_or(now);
        if !is_gone_by(&running.done, deadline) {
            let mut slot = lock(&self.0);
            if slot.ptr_eq(&running.host) {
                *slot = Weak::new();
            }
            tracing::error!("a service did not end in time");
            return Err(Error::Stuck);
        }
        if running.host.strong_count() > 0 { Ok(()) } else { running.thread.join(deadline) }
    }
}

impl Running {
    /// Marks its end as requested.
    pub(crate) fn ask(&self) {
        self.asked.store(true, Ordering::Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.done.try_recv(), Err(TryRecvError::Disconnected))
    }
}

impl Thread {
    fn join(&self, deadline: Instant) -> Result<(), Error> {
        let Some((thread, done)) = lock(&self.0).take() else { return Ok(()) };
        if !is_gone_by(&done, deadline) {
            tracing::error!("the thread of the services did not end in time");
            return Err(Error::Stuck);
        }
        if thread.join().is_err() {
            tracing::error!("the thread of the services panicked");
        }
        Ok(())
    }
}

fn is_gone_by(alive: &Receiver<Infallible>, deadline: Instant) -> bool {
    match alive.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(never) => match never {},
        Err(error) => error == RecvTimeoutError::Disconnected,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write as _, pipe};
    use std::thread::ThreadId;

    use claude_ide_system::testing::where_sigpipe_ends;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    fn runtime() -> Runtime {
        Runtime(Mutex::default())
    }

    /// A service that reports its thread and runs until told to end.
    fn service(runtime: &Runtime) -> (Running, ThreadId, oneshot::Sender<()>) {
        let ((end, may_end), (here, thread)) = (oneshot::channel(), mpsc::channel());
        let body = async move {
            here.send(thread::current().id()).unwrap();
            may_end.await.ok();
        };
        let running = runtime.run(body, || panic!("it was asked to end")).unwrap();
        running.ask();
        (running, thread.recv_timeout(LONG).unwrap(), end)
    }

    #[test]
    fn services_share_a_thread_until_the_last_one_ends() {
        let runtime = runtime();
        let ((first, first_thread, end_first), (second, second_thread, end_second)) =
            (service(&runtime), service(&runtime));
        assert_eq!(first_thread, second_thread);
        drop(end_first);
        runtime.wait(&first, LONG).unwrap();
        assert!(first.is_over() && !second.is_over());
        let (third, third_thread, end_third) = service(&runtime);
        assert_eq!(third_thread, second_thread);
        drop((end_second, end_third));
        runtime.wait(&second, LONG).unwrap();
        runtime.wait(&third, LONG).unwrap();
        assert!(lock(&third.thread.0).is_none(), "joined");
        let (fourth, fourth_thread, end) = service(&runtime);
        assert_ne!(fourth_thread, third_thread, "a new beginning");
        drop(end);
        runtime.wait(&fourth, LONG).unwrap();
    }

    #[test]
    fn a_write_without_a_reader_ends_no_process() {
        fn write() -> Option<ErrorKind> {
            let (reader, mut writer) = pipe().unwrap();
            drop(reader);
            writer.write_all(b"x").err().map(|error| error.kind())
        }
        where_sigpipe_ends("runtime::tests::a_write_without_a_reader_ends_no_process", || {
            let runtime = runtime();
            let (sender, receiver) = mpsc::channel();
            let service = async move {
                sender.send(write()).unwrap();
                sender.send(tokio::task::spawn_blocking(write).await.unwrap()).unwrap();
            };
            let running = runtime.run(service, || ()).unwrap();
            assert_eq!(receiver.iter().collect::<Vec<_>>(), [Some(ErrorKind::BrokenPipe); 2]);
            runtime.wait(&running, LONG).unwrap();
        });
    }

    #[test]
    fn a_panicking_service_ends_alone_and_is_reported() {
        let runtime = runtime();
        let (other, _, end) = service(&runtime);
        let (sender, receiver) = mpsc::channel();
        let panics = runtime.run(async { panic!("on purpose") }, move || sender.send(()).unwrap()).unwrap();
        receiver.recv_timeout(LONG).unwrap();
        assert!(panics.is_over() && !other.is_over());
        drop(end);
        runtime.wait(&other, LONG).unwrap();
    }

    #[test]
    fn a_hanging_service_is_abandoned_and_the_next_gets_a_thread_of_its_own() {
        let runtime = runtime();
        let ((begun, has_begun), (end, may_end)) = (mpsc::channel(), mpsc::channel::<()>());
        let hangs = async move {
            begun.send(thread::current().id()).unwrap();
            may_end.recv().ok();
        };
        let stuck = runtime.run(hangs, || ()).unwrap();
        stuck.ask();
        let stuck_thread = has_begun.recv_timeout(LONG).unwrap();
        assert!(matches!(runtime.wait(&stuck, Duration::from_millis(1)), Err(Error::Stuck)));
        let (next, thread, end_next) = service(&runtime);
        assert_ne!(thread, stuck_thread);
        drop((end, end_next));
        runtime.wait(&next, LONG).unwrap();
        runtime.wait(&stuck, LONG).unwrap();
    }
}
