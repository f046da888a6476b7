//! Pipes that threads wait at until they are told to stop: whoever holds the other end may live on.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};

/// Stops all that waits, when it is dropped.
#[derive(Debug)]
pub struct Stop {
    _writer: PipeWriter,
}

/// Is told to stop.
#[derive(Debug, Clone)]
pub struct Stopped(Arc<PipeReader>);

/// Both.
///
/// # Errors
/// That there are no file descriptors left.
pub fn stop() -> io::Result<(Stop, Stopped)> {
    let (reader, writer) = io::pipe()?;
    Ok((Stop { _writer: writer }, Stopped(Arc::new(reader))))
}

impl Stopped {
    /// Waits until the pipe is ready; false: it is to be let go.
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

/// What a pipe gives until it ends or is stopped.
#[derive(Debug)]
pub struct Until<P> {
    pipe: P,
    stopped: Stopped,
}

impl<P: AsFd> Until<P> {
    /// To be read from. One that is written to needs [`Until::writer`].
    pub fn new(pipe: P, stopped: Stopped) -> Self {
        Self { pipe, stopped }
    }

    /// To be written to.
    ///
    /// # Errors
    /// What the system says.
    pub fn writer(pipe: P, stopped: Stopped) -> io::Result<Self> {
        // Of this end alone: the other one is a description of its own.
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
    fn what_is_written_is_read_whole() {
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
    fn both_ends_are_let_go_though_the_other_one_is_open() {
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
