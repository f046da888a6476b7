use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use claude_ide_system::testing::where_sigpipe_ends;

use super::*;
use crate::event::TextKind;

const LONG: Duration = Duration::from_secs(30);

/// Emits each line as a text; writes prompts verbatim.
struct Plain;

impl Backend for Plain {
    fn begin(&mut self, out: &mut Output) {
        out.write(&"begin");
    }

    fn line(&mut self, line: &[u8], out: &mut Output) {
        let text = format!("{}\n", String::from_utf8_lossy(line));
        out.emit(Event::Text { by: None, block: 0, kind: TextKind::Text, text });
    }

    fn command(&mut self, command: Command, out: &mut Output) {
        if let Command::Cancel { id } = command {
            out.write(&id);
        }
    }
}

struct Hears(Mutex<mpsc::Sender<Vec<Event>>>);

impl Sink for Hears {
    fn tell(&self, _chat: u64, events: Vec<Event>, reserved: Reserved) {
        drop(reserved);
        // The test may be over.
        let _: Result<(), _> = self.0.lock().unwrap().send(events);
    }
}

fn program(argv: &[&str]) -> Program {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    Program { argv, cwd: PathBuf::from("/"), env: BTreeMap::new() }
}

fn open_with(argv: &[&str], backend: impl Backend) -> (Chat, Receiver<Vec<Event>>) {
    let (tell, events) = mpsc::channel();
    (Chat::open(1, program(argv), Box::new(backend), Arc::new(Hears(Mutex::new(tell)))).unwrap(), events)
}

fn open(script: &str) -> (Chat, Receiver<Vec<Event>>) {
    open_with(&["/bin/sh", "-c", script], Plain)
}

/// The process id that the script prints.
fn printed_pid(events: &Receiver<Vec<Event>>) -> u32 {
    loop {
        for one in events.recv_timeout(LONG).unwrap() {
            if let Event::Text { text, .. } = one
                && !text.trim().is_empty()
            {
                return text.trim().parse().unwrap();
            }
        }
    }
}

/// Whether a process ends in time.
fn ends(pid: u32) -> bool {
    let begun = Instant::now();
    let runs = || claude_ide_system::process::start_of(pid).is_some_and(|start| !start.is_empty());
    while runs() && begun.elapsed() < LONG {
        thread::sleep(Duration::from_millis(5));
    }
    !runs()
}

/// Everything up to the end: the texts, and the exit.
fn until_end(events: &Receiver<Vec<Event>>) -> (String, Option<i32>, Option<i32>, String) {
    let mut all = String::new();
    loop {
        for one in events.recv_timeout(LONG).unwrap() {
            match one {
                Event::Text { text, .. } => all.push_str(&text),
                Event::Ended { code, signal, words } => return (all, code, signal, words),
                _ => {}
            }
        }
    }
}

#[test]
fn a_process_gets_input_and_reports_its_exit() {
    let (chat, events) = open("read a; echo got $a; read b; echo got $b; echo why >&2; exit 3");
    chat.command(Command::Cancel { id: "this".to_owned() }).unwrap();
    let (text, code, signal, words) = until_end(&events);
    assert_eq!(text, "got \"begin\"\ngot \"this\"\n");
    assert_eq!((code, signal), (Some(3), None));
    assert_eq!(words, "why");
    assert!(events.recv_timeout(Duration::from_millis(50)).is_err(), "nothing comes after the end");
}

#[test]
fn a_missing_program_is_reported_in_a_sentence() {
    let (_chat, events) = open_with(&["/nowhere/agent"], Plain);
    assert_eq!(until_end(&events).3, "`/nowhere/agent` was not found.");
}

#[test]
fn much_text_comes_in_few_pieces_without_loss() {
    let begun = Instant::now();
    let (_chat, events) = open("read a; i=0; while [ $i -lt 60000 ]; do echo line $i; i=$((i+1)); done");
    let mut pieces = 0;
    let mut lines = String::new();
    for one in events.iter().flatten() {
        if let Event::Text { text, .. } = one {
            pieces += 1;
            lines.push_str(&text);
        }
    }
    assert!(lines.lines().eq((0..60000).map(|number| format!("line {number}"))));
    // Independent of the machine's speed: 30 ms lie between two pieces, except around the first and the last.
    let took = begun.elapsed();
    assert!(pieces <= 2 + took.as_millis() / 30, "{pieces} pieces in {took:?}");
}

#[test]
fn a_text_waits_for_others_no_longer_than_60_ms() {
    let (tell, _events) = mpsc::channel();
    let sink = Arc::new(Hears(Mutex::new(tell)));
    let last = Some(Instant::now());
    let mut emitter = Emitter { number: 1, sink, gate: Arc::default(), waiting: Vec::new(), of_lines: None, last };
    let text = "a word".to_owned();
    emitter.add(vec![Event::Text { by: None, block: 0, kind: TextKind::Text, text }]);
    assert!(emitter.patience().is_some_and(|left| left <= Duration::from_millis(60)));
    emitter.flush();
    assert!(emitter.patience().is_none(), "nothing waits");
}

#[test]
fn a_dropped_chat_ends_its_process_and_that_ones_children() {
    let (chat, events) = open("sleep 1000 & echo $!; read a; read b; wait");
    let child = printed_pid(&events);
    drop(chat);
    let (_, code, signal, _) = until_end(&events);
    assert!(code != Some(0) || signal.is_some());
    assert!(ends(child));
}

#[test]
fn a_process_that_ignores_the_end_is_killed() {
    let (chat, events) = open("trap '' TERM; echo ready; while :; do sleep 0.1; done");
    while !events.recv_timeout(LONG).unwrap().iter().any(|one| matches!(one, Event::Text { .. })) {}
    chat.close();
    assert_eq!(until_end(&events).2, Some(9));
}

#[test]
fn a_write_to_an_ended_process_harms_nothing() {
    where_sigpipe_ends("chat::tests::a_write_to_an_ended_process_harms_nothing", || {
        let mut ended = std::process::Command::new("true").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let stdin = ended.stdin.take().unwrap();
        ended.wait().unwrap();
        let (lines, to_write) = mpsc::channel();
        let unsent: Arc<Gate> = Arc::default();
        lines.send((b"a line\n".to_vec(), unsent.hold(7))).unwrap();
        // It ends although more lines may follow.
        let (tell, _events) = mpsc::channel();
        let written = Arc::clone(&unsent);
        thread::spawn(move || write(stdin, &to_write, &written, &tell)).join().unwrap();
        assert!(lines.send((Vec::new(), unsent.hold(0))).is_err());
    });
}

#[cfg(target_os = "linux")]
#[test]
fn sigpipe_ends_an_agent_and_its_keeper_as_it_ends_any_program() {
    /// Blocked or ignored signals.
    fn signals(pid: u32) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let masks = status.lines().filter_map(|line| line.strip_prefix("SigBlk:").or(line.strip_prefix("SigIgn:")));
        masks.map(|mask| u64::from_str_radix(mask.trim(), 16).unwrap()).fold(0, |all, one| all | one)
    }
    let (chat, events) = open("echo ready; exec cat");
    while !events.recv_timeout(LONG).unwrap().iter().any(|one| matches!(one, Event::Text { .. })) {}
    let process = chat.running.lock().unwrap().clone().unwrap();
    for pid in [process.pid(), process.keeper().unwrap()] {
        assert_eq!(signals(pid) >> (13 - 1) & 1, 0);
    }
}

#[test]
fn a_line_without_its_end_and_one_that_is_too_long() {
    let mut line = Vec::new();
    let mut reader = io::BufReader::with_capacity(4, b"one\ntwo".as_slice());
    assert!(matches!(read_line(&mut reader, &mut line), Ok(Line::Whole)));
    assert_eq!(line, b"one");
    line.clear();
    assert!(matches!(read_line(&mut reader, &mut line), Ok(Line::Last)));
    assert_eq!(line, b"two");
    let long = vec![b'x'; MAX_LINE + 1];
    let text = [long.as_slice(), b"\nnext\n"].concat();
    let mut reader = io::BufReader::new(text.as_slice());
    line.clear();
    assert!(matches!(read_line(&mut reader, &mut line), Ok(Line::TooLong)));
    assert!(line.is_empty());
    assert!(matches!(read_line(&mut reader, &mut line), Ok(Line::Whole)));
    assert_eq!(line, b"next");
}

/// Emits each line as the agent's self-description.
struct OfItself;

impl Backend for OfItself {
    fn begin(&mut self, _out: &mut Output) {}

    fn line(&mut self, line: &[u8], out: &mut Output) {
        out.notice(String::from_utf8_lossy(line));
    }

    fn command(&mut self, _command: Command, _out: &mut Output) {}
}

struct Weighs(Mutex<mpsc::Sender<(bool, usize)>>);

impl Sink for Weighs {
    fn tell(&self, _chat: u64, events: Vec<Event>, reserved: Reserved) {
        let has_line = events.iter().any(|one| matches!(one, Event::Notice { .. }));
        let _: Result<(), _> = self.0.lock().unwrap().send((has_line, reserved.bytes()));
    }
}

#[test]
fn the_news_of_a_line_weigh_as_much_as_the_line() {
    let (tell, events) = mpsc::channel();
    let program = program(&["/bin/sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo; read a"]);
    let _chat = Chat::open(1, program, Box::new(OfItself), Arc::new(Weighs(Mutex::new(tell)))).unwrap();
    loop {
        let (has_line, bytes) = events.recv_timeout(LONG).unwrap();
        if has_line {
            assert!((300_000..400_000).contains(&bytes), "{bytes}");
            break;
        }
    }
}

/// Accepts one question at a time; answers with as many bytes as requested.
struct OneByOne {
    asked: Asked,
    is_busy: bool,
}

impl Backend for OneByOne {
    fn begin(&mut self, _out: &mut Output) {}

    fn line(&mut self, line: &[u8], out: &mut Output) {
        let line = String::from_utf8_lossy(line).into_owned();
        match line.split_once(' ') {
            Some(("ask", _)) => self.is_busy = true,
            Some(("bytes", count)) => out.write_line(vec![b'x'; count.parse().unwrap()]),
            _ => {}
        }
        self.asked.lock().unwrap().push(line);
        out.emit(Event::Void);
    }

    fn command(&mut self, _command: Command, _out: &mut Output) {
        self.is_busy = false;
    }

    fn is_full(&self) -> bool {
        self.is_busy
    }
}

type Asked = Arc<Mutex<Vec<String>>>;

fn open_one_by_one(script: &str) -> (Chat, Receiver<Vec<Event>>, Asked) {
    let asked = Asked::default();
    let (chat, events) = open_with(&["/bin/sh", "-c", script], OneByOne { asked: Arc::clone(&asked), is_busy: false });
    (chat, events, asked)
}

#[test]
fn output_waits_while_an_agent_has_too_many_open_requests() {
    let (chat, events, asked) = open_one_by_one("echo ask 1; echo ask 2; echo ask 3; read a");
    for count in 1..=3 {
        let mut voids = 0;
        while voids < 1 {
            voids += events.recv_timeout(LONG).unwrap().iter().filter(|one| matches!(one, Event::Void)).count();
        }
        // The next question is emitted after the answer.
        assert!(events.recv_timeout(Duration::from_millis(50)).is_err());
        assert_eq!(asked.lock().unwrap().len(), count);
        chat.command(Command::Interrupt).unwrap();
    }
}

#[test]
fn of_an_agent_that_reads_nothing_no_more_is_read_than_there_is_room_for() {
    let script = "i=0; while [ $i -lt 100 ]; do echo bytes 1000000; i=$((i+1)); done; sleep 1000";
    let (chat, events, asked) = open_one_by_one(script);
    while !chat.unsent.is_full() {
        events.recv_timeout(LONG).unwrap();
    }
    while events.recv_timeout(Duration::from_millis(200)).is_ok() {}
    assert!(asked.lock().unwrap().len() < 20);
    let refused = chat.command(Command::Prompt { id: String::new(), content: Vec::new() });
    assert!(matches!(refused, Err(CommandError::Full)));
    chat.command(Command::Interrupt).unwrap();
    chat.close();
    assert_eq!(until_end(&events).2, Some(15));
}

#[test]
fn files_for_an_agent_are_read_at_its_pace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![b'x'; 4 << 20]).unwrap();
    /// Writes the file's text.
    struct Files;
    impl Backend for Files {
        fn begin(&mut self, _out: &mut Output) {}
        fn line(&mut self, _line: &[u8], out: &mut Output) {
            out.emit(Event::Void);
        }
        fn command(&mut self, command: Command, out: &mut Output) {
            if let Command::Reply { result: Some(result), .. } = command {
                out.write(&result);
                out.emit(Event::Void);
            }
        }
    }
    let (chat, events) = open_with(&["/bin/sh", "-c", "echo ready; sleep 1000"], Files);
    for number in 0..50 {
        let file = serde_json::from_value(serde_json::json!({"path": path, "most_bytes": 8 << 20})).unwrap();
        chat.command(Command::ReplyWithFile { request: number.to_string(), file }).unwrap();
    }
    while !chat.unsent.is_full() {
        events.recv_timeout(LONG).unwrap();
    }
    while events.recv_timeout(Duration::from_millis(300)).is_ok() {}
    let bytes = chat.unsent.bytes();
    assert!(bytes < 32 << 20, "{bytes}");
}

#[cfg(target_os = "linux")]
fn own_threads_and_pipes() -> (usize, usize) {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

#[cfg(target_os = "linux")]
#[test]
fn a_chat_ends_although_a_process_outside_its_group_holds_its_pipes() {
    const INSIDE: &str = "chat::tests::a_chat_ends_although_a_process_outside_its_group_holds_its_pipes";
    // In its own process: other tests have threads too.
    where_sigpipe_ends(INSIDE, || {
        let before = own_threads_and_pipes();
        let mut left = Vec::new();
        for _ in 0..3 {
            let (chat, events) = open("setsid sleep 1000 & echo $!; exec sleep 1000");
            left.push(printed_pid(&events));
            drop(chat);
            until_end(&events);
        }
        let begun = Instant::now();
        while own_threads_and_pipes() != before && begun.elapsed() < LONG {
            thread::sleep(Duration::from_millis(10));
        }
        let after = own_threads_and_pipes();
        for number in left {
            let number = claude_ide_system::process::pid(number).unwrap();
            rustix::process::kill_process(number, rustix::process::Signal::KILL).unwrap();
        }
        assert_eq!(before, after);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_that_ignores_the_end_is_killed_with_its_agent() {
    for script in [
        "(trap '' TERM HUP; exec sleep 1000) & echo $!; read a; read b",
        "(trap '' TERM HUP; exec sleep 1000) & echo $!; exit 0",
    ] {
        let (chat, events) = open(script);
        let child = printed_pid(&events);
        drop(chat);
        assert!(ends(child), "{script}");
    }
}
