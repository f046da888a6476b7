//! What Neovim loads: the functions that Lua calls, and nothing else.
//!
//! Lua's side of this is `lua/claude-ide/native.lua`, the only place that calls these functions. Lua pulls, Rust never
//! calls Lua: events wait in a queue, the wake tells Neovim's event loop, and Lua takes them one by one with `poll()`.
//! Behind it is the journal of Claude's edits (`journal.rs`), which answers at once, and four things run: the server (`server.rs`), what reads sessions (`sessions/`), what serves them to pages
//! (`web.rs`), which needs the second, and chats with agents (`agents.rs`). Those that speak over sockets share one thread
//! (`runtime.rs`).
//! No policy lives here, and nothing of Neovim's own interface is used, so that one library serves every supported
//! Neovim.

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

use claude_ide_agent::Command;
use claude_ide_server::{ClientId, SYMBOL_KINDS, lsp_methods};
use claude_ide_session::Request;
use claude_ide_session::render::{self, RenderRequest};
use claude_ide_web::Told;
use serde_json::value::RawValue;

use crate::agents::AgentOptions;
use crate::boundary::{Arguments, Module, export, into_text};
use crate::error::Error;
use crate::lua::Function;
use crate::options::{ServeOptions, SessionsOptions, StartOptions, WorkspaceOptions, parse};
use crate::queue::{QUEUE, Reply};
use crate::value::Value;

/// What `require` gives to Lua. Every function answers `value`, or `nil, message`.
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
    ("set_able", export(set_able)),
    ("symbol_kinds", export(symbol_kinds)),
    ("lsp_methods", export(lsp_methods_of_tools)),
    ("agents_token", export(agents_token)),
    ("begin_run", export(begin_run)),
    ("resources_changed", export(resources_changed)),
    ("set_workspace", export(set_workspace)),
    ("status", export(status)),
    ("sessions_start", export(sessions_start)),
    ("sessions_stop", export(sessions_stop)),
    ("session_request", export(session_request)),
    ("session_cancel", export(session_cancel)),
    ("render_messages", export(render_messages)),
    ("render_growth", export(render_growth)),
    ("plain_text", export(plain_text)),
    ("plain_lines", export(plain_lines)),
    ("web_start", export(web_start)),
    ("web_stop", export(web_stop)),
    ("web_release", export(web_release)),
    ("web_info", export(web_info)),
    ("web_code", export(web_code)),
    ("web_hook_token", export(web_hook_token)),
    ("web_picture", export(web_picture)),
    ("web_tell", export(web_tell)),
    ("agent_open", export(agent_open)),
    ("agent_command", export(agent_command)),
    ("agent_close", export(agent_close)),
    ("agents_stop", export(agents_stop)),
    ("group_keep", export(group_keep)),
    ("group_end", export(group_end)),
    ("notebook_read", export(notebook_read)),
    ("merge", export(journal::merge)),
    ("notebook_put", export(notebook_put)),
    ("journal", export(journal::call)),
    ("checkpoint", export(checkpoints::call)),
    ("panic", export(panic)),
];

#[nvim_oxi::plugin]
fn claude_ide_native() -> Module {
    Module(FUNCTIONS)
}

/// `version()` → the version that Lua's side must have too.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn version(_arguments: Arguments) -> Result<Value, Error> {
    Ok(Value::Text(env!("CARGO_PKG_VERSION")))
}

/// `sources()` → a hash of what it was built from (`build.rs`).
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn sources(_arguments: Arguments) -> Result<Value, Error> {
    Ok(Value::Text(built::THIS.hash))
}

/// `sources_beside(root)` → the same of what lies in that folder, or nil: there are none.
fn sources_beside(mut arguments: Arguments) -> Result<Value, Error> {
    let root = arguments.bytes("root")?;
    let found = built::THIS.beside(Path::new(OsStr::from_bytes(&root))).map_err(Error::SourcesOfLibrary)?;
    Ok(found.map_or(Value::Nil, |hash| Value::Json(hash.into())))
}

/// `start(options_json, async)` → where the server listens.
fn start(mut arguments: Arguments) -> Result<Value, Error> {
    let options: StartOptions = parse("options", &arguments.bytes("options")?)?;
    let wake = arguments.async_handle("async")?;
    let server = server::start(options, wake)?;
    Ok(json(server.info()))
}

/// `stop()` → true once the server is gone.
fn stop(_arguments: Arguments) -> Result<Value, Error> {
    server::stop().map(|()| Value::Bool(true))
}

/// `poll()` → the next event, or nil when none waits.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn poll(_arguments: Arguments) -> Result<Value, Error> {
    Ok(QUEUE.poll().unwrap_or(Value::Nil))
}

/// `respond(id, json)` → true, or nil when nobody waits for it any more.
fn respond(mut arguments: Arguments) -> Result<Value, Error> {
    let id = arguments.id("id")?;
    let json = arguments.bytes("json")?;
    answer(id, Reply::Result(json))
}

/// `fail(id, code, message)` → true, or nil when nobody waits for it any more.
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

/// `disconnect(client_id)` → true; the client is told not to come back by itself.
fn disconnect(mut arguments: Arguments) -> Result<Value, Error> {
    let client = ClientId::new(arguments.id("client")?);
    server::handle()?.disconnect(client)?;
    Ok(Value::Bool(true))
}

/// `symbol_kinds()` → the names of LSP's kinds of symbols, in the order of their numbers.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn symbol_kinds(_arguments: Arguments) -> Result<Value, Error> {
    Ok(json(&SYMBOL_KINDS))
}

/// `lsp_methods()` → the LSP methods that tools for agents need.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn lsp_methods_of_tools(_arguments: Arguments) -> Result<Value, Error> {
    Ok(json(&lsp_methods()))
}

/// `set_able(endpoint, names_json)` → true; the tools of these names can run now, and those that need one of these LSP methods.
fn set_able(mut arguments: Arguments) -> Result<Value, Error> {
    let endpoint = arguments.text("endpoint")?;
    let able = parse("names", &arguments.bytes("names")?)?;
    server::handle()?.set_able(&endpoint, able);
    Ok(Value::Bool(true))
}

/// `resources_changed()` → true; agents are told that there are other resources.
fn resources_changed(_arguments: Arguments) -> Result<Value, Error> {
    server::handle()?.resources_changed();
    Ok(Value::Bool(true))
}

/// `agents_token()` → what an agent must show, or nil where there is no door for agents.
fn agents_token(_arguments: Arguments) -> Result<Value, Error> {
    let server = server::handle()?;
    Ok(server.agents_token().map_or(Value::Nil, |token| Value::Json(token.reveal().into())))
}

/// `begin_run(name)` → what a program that is started under that name must show, or nil where there is no door for agents.
fn begin_run(mut arguments: Arguments) -> Result<Value, Error> {
    let name = arguments.text("name")?;
    let token = server::handle()?.begin_run(&name)?;
    Ok(token.map_or(Value::Nil, |token| Value::Json(token.reveal().into())))
}

/// `set_workspace(json)` → true; the lock file follows.
fn set_workspace(mut arguments: Arguments) -> Result<Value, Error> {
    let workspace: WorkspaceOptions = parse("workspace", &arguments.bytes("workspace")?)?;
    server::handle()?.set_workspace(workspace.into());
    Ok(Value::Bool(true))
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

/// `sessions_start(options_json, async)` → true; running sessions are watched and requests are taken from now on.
fn sessions_start(mut arguments: Arguments) -> Result<Value, Error> {
    let options: SessionsOptions = parse("options", &arguments.bytes("options")?)?;
    let wake = arguments.async_handle("async")?;
    // On this thread, which alone changes the environment.
    render::look_up_time_zone();
    sessions::start(options, wake)?;
    Ok(Value::Bool(true))
}

/// `sessions_stop()` → true once nothing of it runs any more.
fn sessions_stop(_arguments: Arguments) -> Result<Value, Error> {
    sessions::stop().map(|()| Value::Bool(true))
}

/// `session_request(request_json)` → the number that events about it carry.
fn session_request(mut arguments: Arguments) -> Result<Value, Error> {
    let request: Request = parse("request", &arguments.bytes("request")?)?;
    sessions::request(request).map(Value::Id)
}

/// `session_cancel(number)` → whether anything could still have been said of it. Closes a transcript too.
fn session_cancel(mut arguments: Arguments) -> Result<Value, Error> {
    sessions::cancel(arguments.id("number")?).map(Value::Bool)
}

/// `render_messages(request_json)` → the items of each, as a transcript shows them.
fn render_messages(mut arguments: Arguments) -> Result<Value, Error> {
    let request: RenderRequest = parse("request", &arguments.bytes("request")?)?;
    Ok(json(&render::render(&request)))
}

/// `render_growth(tail, added)` → the lines of a text that goes on, or nil: all of it has to be drawn.
fn render_growth(mut arguments: Arguments) -> Result<Value, Error> {
    let (tail, added) = (into_text(arguments.bytes("tail")?), into_text(arguments.bytes("added")?));
    Ok(render::grow(&tail, &added).map_or(Value::Nil, |growth| json(&growth)))
}

/// `plain_text(text)` → the text without what moves a terminal's cursor or colours its words.
fn plain_text(mut arguments: Arguments) -> Result<Value, Error> {
    let text = into_text(arguments.bytes("text")?);
    Ok(Value::Json(render::plain_text(&text).into()))
}

/// `plain_lines(text)` → its lines as a transcript shows them.
fn plain_lines(mut arguments: Arguments) -> Result<Value, Error> {
    let text = into_text(arguments.bytes("text")?);
    Ok(json(&render::plain_lines(&text)))
}

/// `web_start(options_json, async)` → where sessions are served.
fn web_start(mut arguments: Arguments) -> Result<Value, Error> {
    let options: ServeOptions = parse("options", &arguments.bytes("options")?)?;
    let wake = arguments.async_handle("async")?;
    web::start(options, wake).map(|served| json(&served))
}

/// `web_release()` → true once the ports are free that sessions were served on.
fn web_release(_arguments: Arguments) -> Result<Value, Error> {
    web::release().map(|()| Value::Bool(true))
}

/// `web_stop()` → true once they are not served any more. The port is kept.
fn web_stop(_arguments: Arguments) -> Result<Value, Error> {
    web::stop().map(|()| Value::Bool(true))
}

/// `web_info()` → where sessions are served.
fn web_info(_arguments: Arguments) -> Result<Value, Error> {
    web::info().map(|served| json(&served))
}

/// `web_code()` → a code that lets one browser in, once.
fn web_code(_arguments: Arguments) -> Result<Value, Error> {
    web::code().map(|code| Value::Json(serde_json::Value::String(code)))
}

/// `web_hook_token()` → what the hooks of one CLI show.
fn web_hook_token(_arguments: Arguments) -> Result<Value, Error> {
    web::hook_token().map(|token| Value::Json(serde_json::Value::String(token)))
}

/// `web_picture(text)` → rows of a QR code in half blocks, as JSON.
fn web_picture(mut arguments: Arguments) -> Result<Value, Error> {
    Ok(json(&claude_ide_web::qr_rows(&arguments.text("text")?)))
}

/// `web_tell(json)` → true. What became of what a client wants, or what waits for a user.
fn web_tell(mut arguments: Arguments) -> Result<Value, Error> {
    let told: Told = parse("told", &arguments.bytes("told")?)?;
    web::tell(told).map(|()| Value::Bool(true))
}

/// `agent_open(options_json, async)` → the number of a chat that begins.
fn agent_open(mut arguments: Arguments) -> Result<Value, Error> {
    let options: AgentOptions = parse("options", &arguments.bytes("options")?)?;
    let wake = arguments.async_handle("async")?;
    agents::open(options, wake).map(Value::Id)
}

/// `agent_command(number, command_json)` → true.
fn agent_command(mut arguments: Arguments) -> Result<Value, Error> {
    let number = arguments.id("number")?;
    let command: Command = parse("command", &arguments.bytes("command")?)?;
    agents::command(number, command).map(|()| Value::Bool(true))
}

/// `agent_close(number)` → whether there was such a chat. Its last words are still told.
fn agent_close(mut arguments: Arguments) -> Result<Value, Error> {
    arguments.id("number").map(|number| Value::Bool(agents::close(number)))
}

/// `agents_stop()` → true; all chats end, and nothing more is told of them.
#[expect(clippy::unnecessary_wraps, reason = "every exported function has this form")]
fn agents_stop(_arguments: Arguments) -> Result<Value, Error> {
    agents::stop();
    Ok(Value::Bool(true))
}

/// `group_keep(pid)` → a number. The group of processes that this one leads ends with Neovim.
fn group_keep(mut arguments: Arguments) -> Result<Value, Error> {
    groups::keep(arguments.id("pid")?).map(Value::Id)
}

/// `group_end(number)` → whether there was such a group. Nothing of it is left after three seconds.
fn group_end(mut arguments: Arguments) -> Result<Value, Error> {
    arguments.id("number").map(|number| Value::Bool(groups::end(number)))
}

/// `notebook_read(text)` → its cells and its kernel, or nil and why it is no notebook.
fn notebook_read(mut arguments: Arguments) -> Result<Value, Error> {
    Ok(json(&claude_ide_notebook::read(&arguments.bytes("text")?)?))
}

/// `notebook_put(text, ran_json)` → the text with what a run of a cell put out, or nil and why that cannot be.
fn notebook_put(mut arguments: Arguments) -> Result<Value, Error> {
    let text = arguments.bytes("text")?;
    let ran = parse("ran", &arguments.bytes("ran")?)?;
    Ok(json(&claude_ide_notebook::put(&text, &ran)?))
}

/// `panic()` → nil and a message. For the test that shows that a panic ends in the log and goes no further.
#[expect(clippy::panic, reason = "it is what this function is for")]
fn panic(_arguments: Arguments) -> Result<Value, Error> {
    panic!("asked to panic")
}

fn json<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).map_or(Value::Nil, Value::Json)
}
