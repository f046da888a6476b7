//! The library that Neovim loads: the functions that Lua calls.
//!
//! `lua/claude-ide/library/native.lua` is the only caller. Rust never calls Lua: events wait in a queue, a wake notifies
//! Neovim's event loop, and Lua takes them one by one with `poll()`. The journal of Claude's edits (`journal.rs`)
//! answers at once. Four services run: the server (`server.rs`), the session reader (`sessions/`), the web page
//! (`web.rs`), which needs the session reader, and chats with agents (`agents.rs`). Those that use sockets share one
//! thread (`runtime.rs`).
//!
//! It holds no policy, and does not use Neovim's API (`nvim_*`), so that one library works with every supported Neovim.

mod agents;
mod boundary;
mod built;
mod checkpoints;
mod clients;
mod editor;
mod error;
mod groups;
mod journal;
mod logging;
mod lua;
mod options;
mod privacy;
mod queue;
mod runtime;
mod server;
mod sessions;
mod sources;
mod value;
mod waiting;
mod wake;
mod web;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use claude_ide_agent::{Command, TranscriptRequest};
use claude_ide_comments::Store;
use claude_ide_server::{ClientId, SYMBOL_KINDS, lsp_methods};
use claude_ide_session::render;
use claude_ide_session::{Millis, Request, prompt_input};
use claude_ide_system::worktree::{Repository, Worktree};
use claude_ide_system::{digest, encoding, file};
use claude_ide_web::Report;
use serde_json::value::RawValue;

use crate::agents::AgentOptions;
use crate::boundary::{Arguments, Module, export, into_text};
use crate::error::Error;
use crate::lua::Function;
use crate::options::{ServeOptions, SessionsOptions, StartOptions, WorkspaceOptions, parse};
use crate::queue::{QUEUE, Reply};
use crate::value::Value;

/// The table returned by `require`. Every function returns `value`, or `nil, message`.
const FUNCTIONS: &[(&str, Function)] = &[
    ("version", export(version)),
    ("sources", export(sources)),
    ("sources_beside", export(sources_beside)),
    ("start", export(start)),
    ("stop", export(stop)),
    ("poll", export(poll)),
    ("respond", export(respond)),
    ("fail", export(fail)),
    ("notify", export(notify)),
    ("disconnect", export(disconnect)),
    ("set_available", export(set_available)),
    ("symbol_kinds", export(symbol_kinds)),
    ("lsp_methods", export(lsp_methods_of_tools)),
    ("writing_tools", export(writing_tools)),
    ("settings_with_hooks", export(settings_with_hooks)),
    ("agents_token", export(agents_token)),
    ("begin_run", export(begin_run)),
    ("set_offers", export(set_offers)),
    ("set_workspace", export(set_workspace)),
    ("worktrees", export(worktrees)),
    ("misleading_for_git", export(misleading_for_git)),
    ("status", export(status)),
    ("sessions_start", export(sessions_start)),
    ("sessions_stop", export(sessions_stop)),
    ("session_request", export(session_request)),
    ("session_cancel", export(session_cancel)),
    ("render_growth", export(render_growth)),
    ("digest", export(digest_of)),
    ("age", export(age)),
    ("plain_text", export(plain_text)),
    ("plain_lines", export(plain_lines)),
    ("typed_text", export(typed_text)),
    ("typed_keys", export(typed_keys)),
    ("web_start", export(web_start)),
    ("web_stop", export(web_stop)),
    ("web_info", export(web_info)),
    ("web_code", export(web_code)),
    ("web_picture", export(web_picture)),
    ("web_tell", export(web_tell)),
    ("chat_transcript_new", export(chat_transcript_new)),
    ("chat_transcript", export(chat_transcript)),
    ("chat_transcript_drop", export(chat_transcript_drop)),
    ("agent_open", export(agent_open)),
    ("agent_next", export(agent_next)),
    ("agent_command", export(agent_command)),
    ("agent_close", export(agent_close)),
    ("agents_stop", export(agents_stop)),
    ("group_keep", export(group_keep)),
    ("group_end", export(group_end)),
    ("notebook_read", export(notebook_read)),
    ("merge", export(journal::merge)),
    ("diff", export(journal::diff)),
    ("text", export(text)),
    ("rewrite", export(rewrite)),
    ("overwrite", export(overwrite)),
    ("notebook_put", export(notebook_put)),
    ("journal", export(journal::call)),
    ("checkpoint", export(checkpoints::call)),
    ("privacy", export(privacy::call)),
    ("comments", export(comments)),
    ("panic", export(panic)),
];

#[nvim_oxi::plugin]
fn claude_ide_native() -> Module {
    Module(FUNCTIONS)
}

/// `version()` → the version, which Lua's must equal.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn version(_arguments: Arguments) -> Result<Value, Error> {
    Ok(Value::Text(env!("CARGO_PKG_VERSION")))
}

/// `sources()` → a hash of the sources it was built from (`build.rs`).
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn sources(_arguments: Arguments) -> Result<Value, Error> {
    Ok(Value::Text(built::THIS.hash))
}

/// `sources_beside(root)` → the hash of the sources in that folder, or nil if there are none.
fn sources_beside(mut arguments: Arguments) -> Result<Value, Error> {
    let root = arguments.bytes("root")?;
    let found = built::THIS.beside(Path::new(OsStr::from_bytes(&root))).map_err(Error::SourcesOfLibrary)?;
    Ok(found.map_or(Value::Nil, |hash| Value::Json(hash.into())))
}

/// `rewrite(path, bytes, mode?)`: a file of the user's, whole or not at all where it stays the same file; `mode` of a new one.
fn rewrite(mut arguments: Arguments) -> Result<Value, Error> {
    let (path, bytes) = (boundary::path(&arguments.bytes("path")?), arguments.bytes("bytes")?);
    let mode = arguments.optional_id("mode")?.and_then(|mode| u32::try_from(mode).ok());
    file::rewrite(&path, &bytes, mode).map_err(Error::File)?;
    Ok(Value::Bool(true))
}

/// `overwrite(path, bytes)`: the same in place.
fn overwrite(mut arguments: Arguments) -> Result<Value, Error> {
    let (path, bytes) = (boundary::path(&arguments.bytes("path")?), arguments.bytes("bytes")?);
    file::overwrite(&path, &bytes).map_err(Error::File)?;
    Ok(Value::Bool(true))
}

/// `comments(folder, root, request_json, text?)` → the answer of a worktree's comments; `text` is that of the request's file.
fn comments(mut arguments: Arguments) -> Result<Value, Error> {
    let folder = boundary::path(&arguments.bytes("folder")?);
    let root = boundary::path(&arguments.bytes("root")?);
    let request = parse("request", &arguments.bytes("request")?)?;
    let text = arguments.optional_bytes("text")?;
    Ok(Value::Json(Store::at(folder, root).answer(request, text.as_deref())?))
}

/// `start(options_json, async)` → the server's address.
fn start(mut arguments: Arguments) -> Result<Value, Error> {
    let options: StartOptions = parse("options", &arguments.bytes("options")?)?;
    let wake = arguments.async_handle("async")?;
    let server = server::start(options, wake)?;
    Ok(json(server.info()))
}

/// `stop(is_exiting)` → true once the server is gone.
fn stop(mut arguments: Arguments) -> Result<Value, Error> {
    server::stop(arguments.flag("is_exiting")?).map(|()| Value::Bool(true))
}

/// `poll()` → the next event, or nil.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn poll(_arguments: Arguments) -> Result<Value, Error> {
    Ok(QUEUE.poll().unwrap_or(Value::Nil))
}

/// `respond(id, json)` → true, or nil if the call is no longer open.
fn respond(mut arguments: Arguments) -> Result<Value, Error> {
    let id = arguments.id("id")?;
    let json = arguments.bytes("json")?;
    answer(id, Reply::Result(json))
}

/// `fail(id, code, message)` → true, or nil if the call is no longer open.
fn fail(mut arguments: Arguments) -> Result<Value, Error> {
    let id = arguments.id("id")?;
    let code = arguments.text("code")?;
    let message = arguments.text("message")?;
    match code.as_str() {
        "invalid_params" => answer(id, Reply::InvalidParams(message)),
        "failed" => answer(id, Reply::Failed(message)),
        _ => Err(Error::UnknownCode { code }),
    }
}

fn answer(id: u64, reply: Reply) -> Result<Value, Error> {
    if QUEUE.answer(id, reply) { Ok(Value::Bool(true)) } else { Err(Error::UnknownCall { id }) }
}

/// `notify(method, params_json, client_id|nil)` → true.
fn notify(mut arguments: Arguments) -> Result<Value, Error> {
    let method = arguments.text("method")?;
    let params = into_text(arguments.bytes("params")?);
    let client = arguments.optional_id("client")?;
    let params = RawValue::from_string(params).map_err(|source| Error::Json { name: "params", source })?;
    server::handle()?.notify(&method, params, client.map(ClientId::new))?;
    Ok(Value::Bool(true))
}

/// `disconnect(client_id)` → true; the client is asked not to reconnect by itself.
fn disconnect(mut arguments: Arguments) -> Result<Value, Error> {
    let client = ClientId::new(arguments.id("client")?);
    server::handle()?.disconnect(client)?;
    Ok(Value::Bool(true))
}

/// `misleading_for_git()` → the variables with which git uses another repository than the folder's.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn misleading_for_git(_arguments: Arguments) -> Result<Value, Error> {
    Ok(json(&claude_ide_system::worktree::MISLEADING))
}

/// `symbol_kinds()` → the names of LSP's symbol kinds, in the order of their numbers.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn symbol_kinds(_arguments: Arguments) -> Result<Value, Error> {
    Ok(json(&SYMBOL_KINDS))
}

/// `writing_tools()` → the names of Claude's tools that write the file they name.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn writing_tools(_arguments: Arguments) -> Result<Value, Error> {
    Ok(json(&claude_ide_agent::writing_tools()))
}

/// `settings_with_hooks(text?, hooks_json)` → the text of Claude's settings with our hooks, by event, in place of earlier ones;
/// "" if nothing is left.
fn settings_with_hooks(mut arguments: Arguments) -> Result<Value, Error> {
    let text = arguments.optional_bytes("text")?.map(into_text);
    let hooks = parse("hooks", &arguments.bytes("hooks")?)?;
    let with = claude_ide_agent::stream_json::with_hooks(text.as_deref(), &hooks)?.unwrap_or_default();
    Ok(Value::Bytes(with.into_bytes().into()))
}

/// `lsp_methods()` → the LSP methods that tools for agents need.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn lsp_methods_of_tools(_arguments: Arguments) -> Result<Value, Error> {
    Ok(json(&lsp_methods()))
}

/// `set_available(endpoint, names_json)` → true; makes available the tools with these names, and those that need one of
/// these LSP methods.
fn set_available(mut arguments: Arguments) -> Result<Value, Error> {
    let endpoint = arguments.text("endpoint")?;
    let available = parse("names", &arguments.bytes("names")?)?;
    server::handle()?.set_available(&endpoint, available);
    Ok(Value::Bool(true))
}

/// `set_offers(json)` → the names of the lists, of resources and prompts, that differ from the last ones; clients are notified.
fn set_offers(mut arguments: Arguments) -> Result<Value, Error> {
    let offers = parse("offers", &arguments.bytes("offers")?)?;
    Ok(json(&server::handle()?.set_offers(&offers)))
}

/// `agents_token()` → the token for agents, or nil without an endpoint for them.
fn agents_token(_arguments: Arguments) -> Result<Value, Error> {
    let server = server::handle()?;
    Ok(server.agents_token().map_or(Value::Nil, |token| Value::Json(token.reveal().into())))
}

/// `begin_run(name, endpoint)` → the token for a program started under that name, or nil without such an endpoint.
fn begin_run(mut arguments: Arguments) -> Result<Value, Error> {
    let (name, endpoint) = (arguments.text("name")?, arguments.text("endpoint")?);
    let token = server::handle()?.begin_run(&name, &endpoint)?;
    Ok(token.map_or(Value::Nil, |token| Value::Json(token.reveal().into())))
}

/// `set_workspace(json)` → true; updates the lock file.
fn set_workspace(mut arguments: Arguments) -> Result<Value, Error> {
    let workspace: WorkspaceOptions = parse("workspace", &arguments.bytes("workspace")?)?;
    server::handle()?.set_workspace(workspace.into());
    Ok(Value::Bool(true))
}

/// `worktrees(top)` → the git repository of a folder that has a `.git`, and its work trees; nil if it is none.
fn worktrees(mut arguments: Arguments) -> Result<Value, Error> {
    let Some(repository) = Repository::of(&boundary::path(&arguments.bytes("top")?)) else { return Ok(Value::Nil) };
    let path = |path: &Path| Value::Bytes(path.as_os_str().as_bytes().into());
    let worktree = |one: &Worktree| {
        let branch = one.branch.as_ref().map_or(Value::Nil, |branch| Value::Bytes(branch.as_bytes().into()));
        Value::Table(vec![("path", path(&one.path)), ("branch", branch), ("is_main", Value::Bool(one.is_main))])
    };
    let worktrees = repository.worktrees.iter().map(worktree).collect();
    Ok(Value::Table(vec![("common", path(&repository.common)), ("worktrees", Value::List(worktrees))]))
}

/// `status()` → the server and its clients, or nil when it does not run.
fn status(_arguments: Arguments) -> Result<Value, Error> {
    let server = server::handle()?;
    let mut status = json(&server.status());
    if let Value::Json(serde_json::Value::Object(fields)) = &mut status {
        fields.insert("waiting_for_editor".to_owned(), QUEUE.len().into());
        fields.insert("unanswered".to_owned(), QUEUE.unanswered().into());
    }
    Ok(status)
}

/// `sessions_start(options_json, async)` → true; starts watching sessions and accepting requests.
fn sessions_start(mut arguments: Arguments) -> Result<Value, Error> {
    let options: SessionsOptions = parse("options", &arguments.bytes("options")?)?;
    let wake = arguments.async_handle("async")?;
    // On the main thread, the only one that changes the environment.
    render::look_up_time_zone();
    sessions::start(options, wake)?;
    Ok(Value::Bool(true))
}

/// `sessions_stop()` → true; Neovim exits.
fn sessions_stop(_arguments: Arguments) -> Result<Value, Error> {
    sessions::stop().map(|()| Value::Bool(true))
}

/// `session_request(request_json)` → the request's number, which its events carry.
fn session_request(mut arguments: Arguments) -> Result<Value, Error> {
    let request: Request = parse("request", &arguments.bytes("request")?)?;
    sessions::request(request).map(Value::Id)
}

/// `session_cancel(number)` → whether the request was still open. Also closes a transcript.
fn session_cancel(mut arguments: Arguments) -> Result<Value, Error> {
    sessions::cancel(arguments.id("number")?).map(Value::Bool)
}

/// `render_growth(tail, added)` → the lines of a continued text, or nil if all of it must be rendered.
fn render_growth(mut arguments: Arguments) -> Result<Value, Error> {
    let (tail, added) = (into_text(arguments.bytes("tail")?), into_text(arguments.bytes("added")?));
    Ok(render::grow(&tail, &added).map_or(Value::Nil, |growth| json(&growth)))
}

/// `digest(bytes)` → 40 digits that tell these bytes from others.
fn digest_of(mut arguments: Arguments) -> Result<Value, Error> {
    Ok(Value::Json(digest::digest(&arguments.bytes("bytes")?).into()))
}

/// `text(bytes)` → the text of a file that is not in UTF-8, and its encoding.
fn text(mut arguments: Arguments) -> Result<Value, Error> {
    let found = encoding::text(&arguments.bytes("bytes")?);
    Ok(found.map_or(Value::Nil, |(text, encoding)| {
        let text = Value::Bytes(text.into_bytes().into());
        Value::Table(vec![("text", text), ("encoding", Value::Text(encoding))])
    }))
}

/// `age(milliseconds)` → a duration in at most four characters.
fn age(mut arguments: Arguments) -> Result<Value, Error> {
    Ok(Value::Json(claude_ide_session::age(arguments.integer("milliseconds")?).into()))
}

/// `plain_text(text)` → the text without terminal sequences.
fn plain_text(mut arguments: Arguments) -> Result<Value, Error> {
    let text = into_text(arguments.bytes("text")?);
    Ok(Value::Json(render::plain_text(&text).into()))
}

/// `plain_lines(text)` → its lines, as a transcript shows them.
fn plain_lines(mut arguments: Arguments) -> Result<Value, Error> {
    let text = into_text(arguments.bytes("text")?);
    Ok(json(&render::plain_lines(&text)))
}

/// `typed_text(text)` → the text as the CLI's prompt takes it.
fn typed_text(mut arguments: Arguments) -> Result<Value, Error> {
    Ok(Value::Json(prompt_input::plain(&into_text(arguments.bytes("text")?)).into()))
}

/// `typed_keys(text, may_command)` → what to type so that the text becomes a prompt, or nil if it is empty.
fn typed_keys(mut arguments: Arguments) -> Result<Value, Error> {
    let (text, may_command) = (into_text(arguments.bytes("text")?), arguments.flag("may_command")?);
    Ok(prompt_input::keys_of(&text, may_command).map_or(Value::Nil, |keys| Value::Json(keys.into())))
}

/// `web_start(options_json, async)` → the page's address.
fn web_start(mut arguments: Arguments) -> Result<Value, Error> {
    let options: ServeOptions = parse("options", &arguments.bytes("options")?)?;
    let wake = arguments.async_handle("async")?;
    web::start(options, wake).map(|served| json(&served))
}

/// `web_stop()` → true once the page is no longer served.
fn web_stop(_arguments: Arguments) -> Result<Value, Error> {
    web::stop().map(|()| Value::Bool(true))
}

/// `web_info()` → the page's address.
fn web_info(_arguments: Arguments) -> Result<Value, Error> {
    web::info().map(|served| json(&served))
}

/// `web_code()` → a code that signs in one browser, once.
fn web_code(_arguments: Arguments) -> Result<Value, Error> {
    web::code().map(|code| Value::Json(serde_json::Value::String(code)))
}

/// `web_picture(text)` → rows of a QR code in half blocks, as JSON.
fn web_picture(mut arguments: Arguments) -> Result<Value, Error> {
    Ok(json(&claude_ide_web::qr_rows(&arguments.text("text")?)))
}

/// `web_tell(json)` → true. The outcome of a client's request, or an open question to the user.
fn web_tell(mut arguments: Arguments) -> Result<Value, Error> {
    let report: Report = parse("report", &arguments.bytes("report")?)?;
    web::tell(report).map(|()| Value::Bool(true))
}

/// `chat_transcript_new()` → the number of an empty transcript.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn chat_transcript_new(_arguments: Arguments) -> Result<Value, Error> {
    Ok(Value::Id(agents::new_transcript()))
}

/// `chat_transcript(number, now, request_json)` → the answer; nil for an addition.
fn chat_transcript(mut arguments: Arguments) -> Result<Value, Error> {
    let (number, now) = (arguments.id("number")?, time(&mut arguments)?);
    let request: TranscriptRequest = parse("request", &arguments.bytes("request")?)?;
    agents::ask_transcript(number, now, request).map(Value::Json)
}

/// `chat_transcript_drop(number)` → whether it existed.
fn chat_transcript_drop(mut arguments: Arguments) -> Result<Value, Error> {
    arguments.id("number").map(|number| Value::Bool(agents::drop_transcript(number)))
}

/// `agent_open(options_json, async)` → the number of a new chat.
fn agent_open(mut arguments: Arguments) -> Result<Value, Error> {
    let options: AgentOptions = parse("options", &arguments.bytes("options")?)?;
    let wake = arguments.async_handle("async")?;
    agents::open(options, wake).map(Value::Id)
}

/// `agent_next(number, now)` → the chat's next event, or nil; it is in the chat's transcript then.
fn agent_next(mut arguments: Arguments) -> Result<Value, Error> {
    let (number, now) = (arguments.id("number")?, time(&mut arguments)?);
    Ok(agents::next(number, now).map_or(Value::Nil, Value::Json))
}

/// The editor's time, in milliseconds since the epoch.
fn time(arguments: &mut Arguments) -> Result<Millis, Error> {
    arguments.id("now").map(|now| Millis(i64::try_from(now).unwrap_or(i64::MAX)))
}

/// `agent_command(number, command_json)` → true.
fn agent_command(mut arguments: Arguments) -> Result<Value, Error> {
    let number = arguments.id("number")?;
    let command: Command = parse("command", &arguments.bytes("command")?)?;
    agents::command(number, command).map(|()| Value::Bool(true))
}

/// `agent_close(number)` → whether the chat existed. Its last events are still delivered.
fn agent_close(mut arguments: Arguments) -> Result<Value, Error> {
    arguments.id("number").map(|number| Value::Bool(agents::close(number)))
}

/// `agents_stop()` → true; ends all chats and drops their events.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn agents_stop(_arguments: Arguments) -> Result<Value, Error> {
    agents::stop();
    Ok(Value::Bool(true))
}

/// `group_keep(pid)` → a number. The process group led by `pid` ends with Neovim.
fn group_keep(mut arguments: Arguments) -> Result<Value, Error> {
    groups::keep(arguments.id("pid")?).map(Value::Id)
}

/// `group_end(number)` → whether the group existed. It is gone after three seconds at most.
fn group_end(mut arguments: Arguments) -> Result<Value, Error> {
    arguments.id("number").map(|number| Value::Bool(groups::end(number)))
}

/// `notebook_read(text)` → its cells and kernel, or nil and why it is no notebook.
fn notebook_read(mut arguments: Arguments) -> Result<Value, Error> {
    Ok(json(&claude_ide_notebook::read(&arguments.bytes("text")?)?))
}

/// `notebook_put(text, ran_json)` → the text with the outputs of a cell's run, or nil and the reason.
fn notebook_put(mut arguments: Arguments) -> Result<Value, Error> {
    let text = arguments.bytes("text")?;
    let ran = parse("ran", &arguments.bytes("ran")?)?;
    Ok(json(&claude_ide_notebook::put(&text, &ran)?))
}

/// `panic()` → nil and a message. For the test that a panic ends in the log.
#[expect(clippy::panic, reason = "it is what this function is for")]
fn panic(_arguments: Arguments) -> Result<Value, Error> {
    panic!("asked to panic")
}

fn json<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).map_or(Value::Nil, Value::Json)
}
