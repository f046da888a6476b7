//! A server on a real socket, which lives as long as the process, and whose editor answers with what it was asked.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    panic,
    path::PathBuf,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use claude_ide_protocol::{
    jsonrpc::{Incoming, Malformed, is_batch, parse},
    without_lone_surrogates,
};
use claude_ide_server::{
    ClientEvent, Displayed, Editor, EditorCall, EditorReply, Identity, PathMap, Server, ServerHandle, ServerOptions,
    Workspace, WriteFile,
    testing::{TestClient, mapped, mapped_message, upgrade_request},
};
use claude_ide_session::{ConfigDir, live_sessions};
use serde_json::{Value, json, value::RawValue};
use tokio_tungstenite::tungstenite::{self, Message};

/// Far longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Long enough for an answer where nothing else runs.
const MOMENT: Duration = Duration::from_millis(3);

struct Echo;

impl Editor for Echo {
    fn call(&self, call: EditorCall) -> EditorReply {
        let reply = RawValue::from_string(Value::Object(call.args).to_string()).unwrap();
        Box::pin(async { Ok(reply) })
    }

    fn event(&self, _event: ClientEvent) {}

    fn displayed(&self, _displayed: &Displayed<'_>) {}
}

struct Lab {
    port: u16,
    token: String,
    /// A task that panics ends its connection alone: here it is not to be overlooked.
    panicked: Arc<AtomicBool>,
}

fn bind(lock_dir: PathBuf, project: PathBuf) -> (Server, ServerHandle) {
    let options = ServerOptions {
        workspace: Workspace { folders: vec![project], ide_name: "Editor".to_owned(), announced: None },
        lock_dirs: vec![lock_dir],
        write_file: WriteFile::Allow,
        serves_agents: true,
        roots_timeout: Duration::ZERO,
        max_message_bytes: 1 << 20,
        ..ServerOptions::default()
    };
    Server::bind(options, Identity::generate().unwrap(), Arc::new(Echo)).unwrap()
}

static LAB: LazyLock<Lab> = LazyLock::new(|| {
    let home = tempfile::tempdir().unwrap().keep();
    fs::create_dir_all(home.join("project/folder")).unwrap();
    fs::write(home.join("project/folder/a.txt"), "one\ntwo\n").unwrap();
    let panicked = Arc::new(AtomicBool::new(false));
    let (flag, before) = (Arc::clone(&panicked), panic::take_hook());
    panic::set_hook(Box::new(move |about| {
        flag.fetch_or(thread::current().name() == Some("server"), Ordering::Relaxed);
        before(about);
    }));
    let (server, handle) = bind(home.join("ide"), home.join("project"));
    let port = handle.info().port;
    let lock: Value = serde_json::from_slice(&fs::read(home.join(format!("ide/{port}.lock"))).unwrap()).unwrap();
    let run = move || {
        let _handle = handle;
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(server.run());
    };
    thread::Builder::new().name("server".to_owned()).spawn(run).unwrap();
    Lab { port, token: lock["authToken"].as_str().unwrap().to_owned(), panicked }
});

/// Sends bytes on a connection of their own, reads what comes at once, says that this is all, and reads to the end.
fn converse(bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", LAB.port)).expect("the server lives");
    let writer = stream.try_clone().unwrap();
    let bytes = bytes.to_owned();
    // It may refuse to read all of it.
    let writing = thread::spawn(move || (&writer).write_all(&bytes).ok());
    let mut answer = Vec::new();
    let is_over = |read: io::Result<usize>| match read {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => true,
        Err(error) if error.kind() == ErrorKind::WouldBlock => false,
        Err(error) => panic!("{error}"),
    };
    // Of a client that says no more while it is answered, hyper lets go.
    stream.set_read_timeout(Some(MOMENT)).unwrap();
    if !is_over(stream.read_to_end(&mut answer)) {
        writing.join().unwrap();
        stream.shutdown(Shutdown::Write).ok();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert!(is_over(stream.read_to_end(&mut answer)), "the connection does not end");
    }
    assert!(!LAB.panicked.load(Ordering::Relaxed), "the server panicked");
    answer
}

/// Every connection ends once the client has said all; nothing but HTTP is answered before a WebSocket is.
pub(crate) fn http(bytes: &[u8]) {
    let text = bytes.iter().map(|byte| char::from(*byte)).collect::<String>();
    let text = text.replace("$TOKEN", &LAB.token).replace("$PORT", &LAB.port.to_string());
    let answer = converse(&text.chars().map(|char| u8::try_from(char).unwrap_or_default()).collect::<Vec<_>>());
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{:?}", String::from_utf8_lossy(&answer));
}

/// The same with any bytes after a handshake.
pub(crate) fn frames(bytes: &[u8]) {
    let mut head = upgrade_request(LAB.port);
    head.push(format!("X-Claude-Code-Ide-Authorization: {}", LAB.token));
    let answer = converse(&[(head.join("\r\n") + "\r\n\r\n").as_bytes(), bytes].concat());
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 101 "), "{:?}", String::from_utf8_lossy(&answer));
}

/// Each line is a message: every request is answered once, and what is no message does not end the connection.
pub(crate) fn messages(bytes: &[u8]) {
    let mut client = TestClient::connect(LAB.port, &LAB.token);
    client.stream().set_read_timeout(Some(PATIENCE)).unwrap();
    client.initialize("2025-11-25");
    let text = String::from_utf8_lossy(bytes);
    let mut asked: BTreeMap<String, i64> = BTreeMap::new();
    for line in text.lines() {
        let read = without_lone_surrogates(line);
        if let Ok(Incoming::Request { id, .. }) | Err(Malformed { id: Some(id), .. }) = parse(&read)
            && !is_batch(line)
        {
            *asked.entry(id.as_json().to_owned()).or_default() += 1;
        }
        client.send_text(line);
    }
    let may_be_cancelled = text.contains("cancel");
    client.send_text(r#"{"jsonrpc":"2.0","id":"the last","method":"ping"}"#);
    *asked.entry(r#""the last""#.to_owned()).or_default() += 1;
    while asked.iter().any(|(id, left)| *left > 0 && (!may_be_cancelled || id == r#""the last""#)) {
        match client.try_read() {
            Ok(Message::Text(text)) => {
                #[derive(serde::Deserialize)]
                struct Answer<'a> {
                    #[serde(borrow)]
                    id: Option<&'a RawValue>,
                    method: Option<&'a RawValue>,
                }
                let answer: Answer<'_> = serde_json::from_str(&text).expect("JSON");
                let Some(id) = answer.id.filter(|id| answer.method.is_none() && id.get() != "null") else { continue };
                let left = asked.get_mut(id.get()).unwrap_or_else(|| panic!("nobody asked {text}"));
                *left -= 1;
                assert!(*left >= 0, "answered too often: {text}");
            }
            Ok(_) => {}
            Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::Interrupted => {} // libFuzzer's alarm
            Err(error) => panic!("no answer to {asked:?}: {error}"),
        }
    }
    client.stream().shutdown(Shutdown::Both).ok();
    assert!(!LAB.panicked.load(Ordering::Relaxed), "the server panicked");
}

/// A lock file and a session's record, as another program left them: they are read or passed over, and a server starts beside them.
pub(crate) fn foreign(bytes: &[u8]) {
    let home = tempfile::tempdir().unwrap();
    let (ide, sessions) = (home.path().join("ide"), home.path().join("sessions"));
    fs::create_dir_all(&ide).unwrap();
    fs::create_dir_all(&sessions).unwrap();
    fs::write(ide.join("1.lock"), bytes).unwrap();
    fs::write(sessions.join(format!("{}.json", std::process::id())), bytes).unwrap();
    serde_json::to_value(live_sessions(&ConfigDir::at(home.path())).unwrap()).unwrap();
    let (server, handle) = bind(ide.clone(), "/project".into());
    let ours = ide.join(format!("{}.lock", handle.info().port));
    let lock: Value = serde_json::from_slice(&fs::read(&ours).unwrap()).unwrap();
    assert!(lock["ideName"].as_str().unwrap().starts_with("Editor"), "{lock}");
    let theirs = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    assert!(ide.join("1.lock").exists() || theirs["server"] == json!("claude-ide"), "it is not ours to remove");
    drop(server);
    assert!(!ours.exists());
}

/// Pairs of folders of this machine and of a client, an empty line, paths and messages of the client. A path of a client that means one of
/// this machine lies in a folder that is mapped, and where there is one pair it has the way back; of a message only paths change.
pub(crate) fn paths(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (pairs, named) = text.split_once("\n\n").unwrap_or((&text, "/there/a\nC:\\there\\a\n{}"));
    // This machine has no drives.
    let pairs: Vec<_> = pairs.lines().filter_map(|line| line.split_once('=')).collect();
    let pairs: Vec<_> = pairs.into_iter().filter(|(here, _)| here.starts_with('/') && !here.contains("..")).collect();
    let map = PathMap::new(pairs.iter().copied());
    let is_in = |path: &str, folder: &str| {
        path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|below| below.is_empty() || below.starts_with('/'))
    };
    for named in named.lines() {
        let [here, there] = mapped(&map, named);
        if let Some(here) = here.as_deref().filter(|_| !named.contains(':')) {
            assert!(pairs.iter().any(|(folder, _)| is_in(here, folder)), "{here}");
            assert!(!here.split('/').any(|name| name == ".."), "{here}");
        }
        if let ([(_, folder)], Some(there)) = (pairs.as_slice(), there)
            && folder.starts_with('/')
            && !there.contains(['%', ':'])
        {
            let [back, _] = mapped(&map, &there);
            assert_eq!(
                back.map(|path| path.trim_end_matches('/').to_owned()),
                Some(named.trim_end_matches('/').to_owned())
            );
        }
        let Ok(message) = serde_json::from_str::<Box<RawValue>>(named) else { continue };
        for changed in mapped_message(&map, &message).into_iter().flatten() {
            let [before, after] = [&message, &changed].map(|message| serde_json::from_str(message.get()).unwrap());
            assert!(differs_in_texts_alone(&before, &after), "{before} and {after}");
        }
    }
}

fn differs_in_texts_alone(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(_), Value::String(_)) => true,
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len()
                && before.iter().zip(after).all(|(one, other)| differs_in_texts_alone(one, other))
        }
        (Value::Object(before), Value::Object(after)) => {
            before.len() == after.len()
                && before.iter().all(|(name, one)| {
                    let other = &after[name];
                    // The content of a file is never changed.
                    differs_in_texts_alone(one, other) && (name != "text" || one == other || !one.is_string())
                })
        }
        _ => before == after,
    }
}
