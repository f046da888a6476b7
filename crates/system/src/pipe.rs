//! Pipes whose blocked reads and writes can be stopped, even while another process holds the other end open.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};

/// Stops all waiting operations when dropped.
#[derive(Debug)]
pub struct Stop {
    _writer: PipeWriter,
}

/// Signals the stop to a pipe.
#[derive(Debug, Clone)]
pub struct Stopped(Arc<PipeReader>);

/// Creates both ends of a stop signal.
///
/// # Errors
/// No file descriptors are left.
pub fn stop() -> io::Result<(Stop, Stopped)> {
    let (reader, writer) = io::pipe()?;
    Ok((Stop { _writer: writer }, Stopped(Arc::new(reader))))
}

impl Stopped {
    /// Waits until the pipe is ready; `false` after the stop.
    fn wait(&self, pipe: BorrowedFd<'_>, ready: PollFlags) -> io::Result<bool> {
        loop {
            let mut both = [PollFd::from_borrowed_fd(pipe, ready), PollFd::new(&*self.0, PollFlags::IN)];
            match poll(&mut both, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => {
                    let [pipe, stopped] = both;
                    if !stopped.revents().is_empty() {
                        return Ok(false);
                    } else if !pipe.revents().is_empty() {
                        return Ok(true);
                    }
                }
            }
        }
    }
}

/// A pipe that ends at the stop.
#[derive(Debug)]
pub struct Until<P> {
    pipe: P,
    stopped: Stopped,
}

impl<P: AsFd> Until<P> {
    /// Wraps a pipe for reading. Writing needs [`Until::writer`].
    pub fn new(pipe: P, stopped: Stopped) -> Self {
        Self { pipe, stopped }
    }

    /// Wraps a pipe for writing.
    ///
    /// # Errors
    /// The system's error.
    pub fn writer(pipe: P, stopped: Stopped) -> io::Result<Self> {
        // Only this end becomes non-blocking: the other has a file description of its own.
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self { pipe, stopped })
    }
}

impl<P: AsFd + Read> Read for Until<P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stopped.wait(self.pipe.as_fd(), PollFlags::IN)? { self.pipe.read(buffer) } else { Ok(0) }
    }
}

impl<P: AsFd + Write> Write for Until<P> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        loop {
            if !self.stopped.wait(self.pipe.as_fd(), PollFlags::OUT)? {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            match self.pipe.write(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pipe.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn written_bytes_are_read_completely() {
        let (_stop, stopped) = stop().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let mut writer = Until::writer(writer, stopped.clone()).unwrap();
        let text = "words ".repeat(100_000);
        let written = text.clone();
        let writing = thread::spawn(move || writer.write_all(written.as_bytes()).unwrap());
        let mut read = String::new();
        Until::new(reader, stopped).read_to_string(&mut read).unwrap();
        assert!(read == text);
        writing.join().unwrap();
    }

    #[test]
    fn a_stop_ends_a_blocked_read_and_a_blocked_write() {
        let (stop, stopped) = stop().unwrap();
        let (reader, _open) = io::pipe().unwrap();
        let (_unread, writer) = io::pipe().unwrap();
        let (mut reader, mut writer) = (Until::new(reader, stopped.clone()), Until::writer(writer, stopped).unwrap());
        let reading = thread::spawn(move || reader.read(&mut [0; 8]));
        let writing = thread::spawn(move || writer.write_all(&[0; 1 << 20]));
        drop(stop);
        assert_eq!(reading.join().unwrap().unwrap(), 0);
        assert_eq!(writing.join().unwrap().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
