//! One chat: its process, its threads, and the thread that runs its backend.
//!
//! Invariants: `Ended` is the last event; events keep their order; texts are emitted at most every [`BATCH`], other
//! events at once. Dropping a chat ends its process, and its threads soon after, even if another process holds the
//! agent's pipes.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use claude_ide_system::pipe::{self, Until};
use claude_ide_system::signal::block_sigpipe;

use crate::backend::{Backend, Output, Streamed};
use crate::command::{Command, CommandError};
use crate::event::Event;
use crate::gate::{Gate, Reserved};
use crate::process::{Exit, Pipes, Process, Program};

/// How often a growing text is emitted.
const BATCH: Duration = Duration::from_millis(40);
/// Longer lines of an agent are skipped.
const MAX_LINE: usize = 64 * 1024 * 1024;
/// How much of the end of stderr is reported when the agent ends.
const LAST_WORDS: usize = 4 * 1024;
/// How long to read output after the agent's end: one of its children may hold the pipe open.
const DRAIN: Duration = Duration::from_millis(500);
/// Time for the process to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(3);

/// Receives a chat's events, on the chat's thread.
pub trait Sink: Send + Sync + 'static {
    /// Receives events. `held` is dropped once they are delivered.
    fn tell(&self, chat: u64, events: Vec<Event>, reserved: Reserved);

    /// Receives the raw stream, for the web page. Not stored.
    fn stream(&self, _streamed: Streamed) {}
}

/// A chat; dropping it ends the process.
#[derive(Debug)]
pub struct Chat {
    wants: Sender<Input>,
    running: Arc<Mutex<Option<Arc<Process>>>>,
    gate: Arc<Gate>,
    /// Input that the agent has not read yet.
    unsent: Arc<Gate>,
    /// Held while a file is read for the agent: one at a time.
    reads_file: Arc<Mutex<()>>,
}

#[derive(Debug)]
enum Input {
    Line(Vec<u8>, Reserved),
    LineTooLong,
    /// The agent has read some input.
    Sent,
    /// One of its two outputs has ended.
    OutputEnds,
    Exited(Exit),
    Wants(Command, Option<Reserved>),
    Close,
}

impl Chat {
    /// Starts a chat: process and all else run on threads of their own.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn open(number: u64, program: Program, backend: Box<dyn Backend>, sink: Arc<dyn Sink>) -> io::Result<Self> {
        let (wants, events) = mpsc::channel();
        let gate = Arc::new(Gate::default());
        let running = Arc::default();
        let unsent: Arc<Gate> = Arc::default();
        let chat = Self {
            wants: wants.clone(),
            running: Arc::clone(&running),
            gate: Arc::clone(&gate),
            unsent: Arc::clone(&unsent),
            reads_file: Arc::default(),
        };
        let emitter = Emitter { number, sink, gate, waiting: Vec::new(), of_lines: None, last: None };
        thread::Builder::new()
            .name(format!("claude-chat-{number}"))
            .spawn(move || run(&program, backend, emitter, &unsent, &wants, &events, &running))?;
        Ok(chat)
    }

    /// Sends a command.
    ///
    /// # Errors
    /// [`CommandError`].
    pub fn command(&self, command: Command) -> Result<(), CommandError> {
        if matches!(command, Command::ReplyWithFile { .. }) {
            let (wants, unsent) = (self.wants.clone(), Arc::clone(&self.unsent));
            let reads_file = Arc::clone(&self.reads_file);
            let read = move || {
                let _turn = reads_file.lock().unwrap_or_else(PoisonError::into_inner);
                unsent.wait();
                let reply = command.read();
                let reserved = unsent.hold(reply.weight());
                // The chat may be over by then.
                let _: Result<(), _> = wants.send(Input::Wants(reply, Some(reserved)));
            };
            thread::Builder::new().name("claude-chat-file".to_owned()).spawn(read)?;
            return Ok(());
        }
        if command.may_be_refused() && self.unsent.is_full() {
            return Err(CommandError::Full);
        }
        self.wants.send(Input::Wants(command, None)).map_err(|_| CommandError::Over)
    }

    /// Ends the process. Its last output is still emitted.
    pub fn close(&self) {
        // It may be over.
        let _: Result<(), _> = self.wants.send(Input::Close);
        if let Some(process) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            process.terminate();
        }
        self.gate.end();
        self.unsent.end();
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        self.close();
    }
}

/// Collects events.
struct Emitter {
    number: u64,
    sink: Arc<dyn Sink>,
    gate: Arc<Gate>,
    waiting: Vec<Event>,
    /// The weight of the lines that caused the waiting events: roughly their size.
    of_lines: Option<Reserved>,
    /// When events were last emitted.
    last: Option<Instant>,
}

impl Emitter {
    fn add(&mut self, events: Vec<Event>) {
        for one in events {
            let rest = match self.waiting.last_mut() {
                Some(last) => last.join(one).err(),
                None => Some(one),
            };
            self.waiting.extend(rest);
        }
    }

    /// Adds the weight of a line to the waiting events.
    fn keep(&mut self, line: Reserved) {
        self.of_lines = Some(match self.of_lines.take() {
            Some(reserved) => reserved.and(line),
            None => line,
        });
    }

    /// How long the waiting events may wait; `None` if there are none.
    fn patience(&self) -> Option<Duration> {
        if self.waiting.is_empty() {
            return None;
        }
        let is_urgent = self.waiting.iter().any(Event::is_urgent);
        let since = self.last.map_or(BATCH, |last| last.elapsed());
        Some(if is_urgent { Duration::ZERO } else { BATCH.saturating_sub(since) })
    }

    fn flush(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let events = std::mem::take(&mut self.waiting);
        let weight = events.iter().map(Event::weight).sum();
        let reserved = match self.of_lines.take() {
            Some(reserved) => {
                let more = self.gate.hold(usize::saturating_sub(weight, reserved.bytes()));
                reserved.and(more)
            }
            None => self.gate.hold(weight),
        };
        self.last = Some(Instant::now());
        self.sink.tell(self.number, events, reserved);
    }
}

fn run(
    program: &Program,
    mut backend: Box<dyn Backend>,
    mut emitter: Emitter,
    unsent: &Arc<Gate>,
    wants: &Sender<Input>,
    events: &Receiver<Input>,
    running: &Mutex<Option<Arc<Process>>>,
) {
    let mut ended = Event::Ended { code: None, signal: None, words: String::new() };
    match Process::start(program) {
        Ok((process, pipes)) => {
            *running.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&process));
            emitter.add(vec![Event::Started { pid: process.pid() }]);
            match serve(backend.as_mut(), &mut emitter, &process, pipes, unsent, wants, events) {
                Ok(event) => ended = event,
                Err(error) => {
                    process.kill();
                    process.wait();
                    tracing::error!(%error, "a chat has no threads");
                }
            }
        }
        Err(error) => {
            let path = program.argv.first().map_or("", String::as_str);
            let words = match error.kind() {
                io::ErrorKind::NotFound => format!("`{path}` was not found."),
                _ => format!("`{path}` could not be started: {error}."),
            };
            ended = Event::Ended { code: None, signal: None, words };
        }
    }
    emitter.add(vec![ended]);
    emitter.flush();
}

/// Runs the chat from start to end.
fn serve(
    backend: &mut dyn Backend,
    emitter: &mut Emitter,
    process: &Arc<Process>,
    pipes: Pipes,
    unsent: &Arc<Gate>,
    wants: &Sender<Input>,
    events: &Receiver<Input>,
) -> io::Result<Event> {
    let (lines, to_write) = mpsc::channel();
    let Pipes { stdin, stdout, stderr } = pipes;
    // Stops the threads at the end: the agent's children may hold its pipes open.
    let (_stop, stopped) = pipe::stop()?;
    let (stdin, tell) = (Until::writer(stdin, stopped.clone())?, wants.clone());
    let unread = Arc::clone(unsent);
    thread::Builder::new().spawn(move || write(stdin, &to_write, &unread, &tell))?;
    let (stdout, gate, tell) = (Until::new(stdout, stopped.clone()), Arc::clone(&emitter.gate), wants.clone());
    thread::Builder::new().spawn(move || read(stdout, &gate, &tell))?;
    let mut stderr = Until::new(stderr, stopped);
    let words = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&words);
    let tell = wants.clone();
    thread::Builder::new().spawn(move || {
        keep_words(&mut stderr, &kept);
        let _: Result<(), _> = tell.send(Input::OutputEnds);
    })?;
    let (tell, waited) = (wants.clone(), Arc::clone(process));
    thread::Builder::new().spawn(move || {
        // The chat may be over.
        let _: Result<(), _> = tell.send(Input::Exited(waited.wait()));
    })?;

    let mut out = Output::default();
    backend.begin(&mut out);
    let (mut exit, mut outputs): (Option<Exit>, u8) = (None, 2);
    let mut deadline: Option<Instant> = None;
    let mut unread: VecDeque<(Vec<u8>, Reserved)> = VecDeque::new();
    loop {
        for line in out.lines.drain(..) {
            let reserved = unsent.hold(line.len());
            // An agent that does not read is about to end.
            let _: Result<(), _> = lines.send((line, reserved));
        }
        for streamed in out.streamed.drain(..) {
            emitter.sink.stream(streamed);
        }
        emitter.add(std::mem::take(&mut out.events));
        let patience = emitter.patience();
        if patience == Some(Duration::ZERO) {
            emitter.flush();
            continue;
        }
        let is_reading = exit.is_some() || !(backend.is_full() || unsent.is_full());
        if is_reading && let Some((line, reserved)) = unread.pop_front() {
            backend.line(&line, &mut out);
            if !out.events.is_empty() {
                emitter.keep(reserved);
            }
            continue;
        }
        if exit.is_some() && outputs == 0 {
            break;
        }
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let until_overdue = backend.deadline().map(|at| at.saturating_duration_since(Instant::now()));
        if until_overdue.is_some_and(|left| left.is_zero()) {
            backend.overdue(Instant::now(), &mut out);
            continue;
        }
        let event = match patience.into_iter().chain(left).chain(until_overdue).min() {
            Some(time) => events.recv_timeout(time),
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match event {
            Ok(Input::Line(line, reserved)) => unread.push_back((line, reserved)),
            Ok(Input::LineTooLong) => out.notice(format!(
                "The agent wrote a line of more than {} MiB, which was passed over. It may wait for an answer to it.",
                MAX_LINE / (1024 * 1024)
            )),
            Ok(Input::Sent) => {}
            Ok(Input::Wants(command, _reserved)) => backend.command(command, &mut out),
            Ok(Input::OutputEnds) => outputs = outputs.saturating_sub(1),
            Ok(Input::Exited(how)) => {
                exit = Some(how);
                deadline = Some(later(DRAIN));
            }
            Ok(Input::Close) => {
                process.terminate();
                deadline = deadline.or(Some(later(PATIENCE)));
            }
            Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left.is_zero()) => {
                if exit.is_some() {
                    break;
                }
                process.kill();
                deadline = Some(later(PATIENCE));
            }
            Err(RecvTimeoutError::Timeout) => emitter.flush(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let Exit { code, signal } = exit.unwrap_or_default();
    let words = words.lock().unwrap_or_else(PoisonError::into_inner).trim().to_owned();
    Ok(Event::Ended { code, signal, words })
}

fn later(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now)
}

/// Writes lines until the chat ends, which also ends the agent's input.
fn write(mut stdin: impl Write, lines: &Receiver<(Vec<u8>, Reserved)>, unsent: &Gate, tell: &Sender<Input>) {
    block_sigpipe();
    while let Ok((line, reserved)) = lines.recv() {
        if let Err(error) = stdin.write_all(&line).and_then(|()| stdin.flush()) {
            tracing::debug!(%error, "an agent closed its input");
            break;
        }
        let was_full = unsent.is_full();
        drop(reserved);
        if was_full && !unsent.is_full() {
            let _: Result<(), _> = tell.send(Input::Sent);
        }
    }
    // No line will be written any more.
    unsent.end();
    let _: Result<(), _> = tell.send(Input::Sent);
}

/// Reads whole lines while the gate has space.
fn read(stdout: impl Read, gate: &Arc<Gate>, tell: &Sender<Input>) {
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    loop {
        gate.wait();
        let mut line = Vec::new();
        let is_over = match read_line(&mut reader, &mut line) {
            Ok(Line::Whole) => false,
            Ok(Line::TooLong) => {
                let _: Result<(), _> = tell.send(Input::LineTooLong);
                continue;
            }
            Ok(Line::Last) => true,
            Err(error) => {
                tracing::debug!(%error, "an agent's output cannot be read");
                true
            }
        };
        let reserved = gate.hold(line.len());
        if (!line.is_empty() && tell.send(Input::Line(line, reserved)).is_err()) || is_over {
            let _: Result<(), _> = tell.send(Input::OutputEnds);
            return;
        }
    }
}

enum Line {
    Whole,
    TooLong,
    /// The rest at the end, without an end of line.
    Last,
}

fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    let mut is_too_long = false;
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(Line::Last);
        }
        let end = memchr::memchr(b'\n', available);
        let piece = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        is_too_long |= line.len().saturating_add(piece.len()) > MAX_LINE;
        if is_too_long {
            *line = Vec::new();
        } else {
            line.extend_from_slice(piece);
        }
        let used = piece.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(if is_too_long { Line::TooLong } else { Line::Whole });
        }
    }
}

/// Logs the agent's stderr and keeps its end.
fn keep_words(stderr: &mut impl io::Read, words: &Mutex<String>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.by_ref().take(64 * 1024).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        tracing::info!("an agent says on stderr: {}", text.trim_end());
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.push_str(&text);
        let surplus = words.len().saturating_sub(LAST_WORDS);
        if surplus > 0 {
            let start = (surplus..=words.len()).find(|at| words.is_char_boundary(*at)).unwrap_or(0);
            words.drain(..start);
        }
    }
}

#[cfg(test)]
mod tests;
