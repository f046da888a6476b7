//! A client's handshake: MCP's, or the first request of a plain JSON-RPC client. Then later changes of its properties.

use std::time::Instant;

use serde_json::value::RawValue;

use claude_ide_protocol::{
    ide::IdeConnected,
    mcp::{Implementation, InitializeResult, ProtocolVersion},
};
use claude_ide_rpc::BatchId;

use super::{Client, Phase};
use crate::{
    editor::{ClientEvent, ClientState},
    request::{Outcome, Payload, RequestError},
    tools::Arguments,
};

/// How names of runs begin that are CLIs in a terminal (`lua/claude-ide/terminal/init.lua`). These also connect to the
/// endpoint `ide`: their menus would show each resource and prompt twice.
const IN_A_TERMINAL: &str = "terminal:";

impl Client {
    pub(super) fn initialize(&mut self, params: Option<&RawValue>, batch: Option<BatchId>) -> Outcome {
        if self.version.is_some() {
            return Err(RequestError::InvalidRequest("this connection is initialized already".to_owned()));
        }
        if batch.is_some() {
            return Err(RequestError::InvalidRequest("initialize must not be part of a batch".to_owned()));
        }
        let mut params = Arguments::parse("params", params)?;
        let version = ProtocolVersion::negotiate(&params.string("protocolVersion")?);
        self.has_roots = params.optional_object("capabilities")?.contains_key("roots") && self.can_be_asked;
        let mut client_info = Arguments::from(params.optional_object("clientInfo")?);
        let name = client_info.optional_string("name")?;
        self.info.name = self.info.name.take().or(name);
        self.info.version = client_info.optional_string("version")?;
        self.info.protocol = Some(version.as_str());
        self.version = Some(version);
        if self.phase == Phase::New {
            self.phase = Phase::Initializing;
        }
        self.changed();
        tracing::info!(client = %self.info.id, name = self.info.name, version = self.info.version, protocol = version.as_str(), "initialize");
        let options = &self.caller.services.options;
        let mut capabilities = self.endpoint.capabilities;
        if self.info.run.as_ref().is_some_and(|run| run.starts_with(IN_A_TERMINAL)) {
            (capabilities.prompts, capabilities.resources) = (None, None);
        }
        let result = InitializeResult {
            protocol_version: version,
            capabilities,
            server_info: Implementation { name: options.server_name.clone(), version: options.version.clone() },
            instructions: self.endpoint.instructions,
        };
        let result = serde_json::value::to_raw_value(&result);
        result.map(Payload::Raw).map_err(|error| RequestError::Failed(error.to_string()))
    }

    pub(super) fn ide_connected(&mut self, params: Option<&RawValue>) {
        let params = params.and_then(|params| serde_json::from_str::<IdeConnected>(params.get()).ok());
        let Some(IdeConnected { pid, is_plugin_version_unsupported: unsupported }) = params else { return };
        if pid.is_some() || unsupported.is_some() {
            self.info.pid = pid.or(self.info.pid);
            self.caller.pid = self.info.pid;
            self.info.unsupported = unsupported.unwrap_or_default();
            self.changed();
        }
    }

    /// The handshake is over: the client said so, acts as if it were, or never began one.
    pub(super) fn finish_handshake(&mut self) {
        match self.phase {
            Phase::New => self.become_ready(),
            Phase::Initializing if self.has_roots => {
                let now = Instant::now();
                let deadline = now.checked_add(self.caller.services.options.roots_timeout).unwrap_or(now);
                self.phase = Phase::AwaitingRoots(deadline);
                self.ask_for_roots();
            }
            Phase::Initializing => self.become_ready(),
            // It sent plain requests first and initialised afterwards.
            Phase::Ready if !self.asked_for_roots => self.ask_for_roots(),
            Phase::AwaitingRoots(_) | Phase::Ready => {}
        }
    }

    pub(super) fn become_ready(&mut self) {
        self.phase = Phase::Ready;
        self.info.state = ClientState::Ready;
        self.publish();
        self.caller.services.editor.event(ClientEvent::Ready(self.info.clone()));
    }

    /// A change before `Ready` is reported with that event.
    pub(super) fn changed(&mut self) {
        self.publish();
        if self.phase == Phase::Ready {
            self.caller.services.editor.event(ClientEvent::Changed(self.info.clone()));
        }
    }

    fn publish(&self) {
        self.caller.services.notifier.publish(&self.info);
    }
}
