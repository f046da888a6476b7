//! Background subagents in a session's transcript: which call started which, and when each ended.
//!
//! Source: CLI 2.1.329. `toolUseResult.agentId` names the subagent of a call. The result of a background call comes at
//! once, `{"isAsync":true,"status":"async_launched"}`. A `<task-notification>`, a text in a `user` line or a queue
//! operation, reports the end, and once more if the subagent was woken and ended again.

use super::{Index, ToolEnd};
use crate::id::Key;
use crate::line_body::Body;
use crate::line_head::Head;
use crate::model::ToolStatus;

/// A parsed task notification.
#[derive(Debug, PartialEq, Eq)]
struct Notification<'a> {
    task: &'a str,
    call: &'a str,
    status: &'a str,
}

impl<'a> Notification<'a> {
    /// The tags stand before the result, which may contain anything.
    fn parse(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix("<task-notification>")?;
        let text = text.split_once("<result>").map_or(text, |(before, _)| before);
        let tag = |open: &str, close: &str| Some(text.split_once(open)?.1.split_once(close)?.0.trim());
        Some(Self {
            task: tag("<task-id>", "</task-id>").unwrap_or_default(),
            call: tag("<tool-use-id>", "</tool-use-id>").unwrap_or_default(),
            status: tag("<status>", "</status>")?,
        })
    }
}

impl Index {
    /// The call that started a subagent.
    pub(crate) fn call_of_agent(&self, agent: &str) -> Option<&str> {
        self.agent_calls.get(agent).map(AsRef::as_ref)
    }

    /// Pairs of subagent and call, in no order.
    pub(crate) fn agent_calls(&self) -> impl Iterator<Item = (&str, &str)> {
        self.agent_calls.iter().map(|(agent, call)| (agent.as_ref(), call.as_ref()))
    }

    /// Whether lines added since the last call concern subagents.
    pub(crate) fn take_agents_touched(&mut self) -> bool {
        std::mem::take(&mut self.agents_touched)
    }

    /// Records a call's result; returns whether the call continues in the background.
    pub(super) fn add_launch(&mut self, head: &Head<'_>, call: &str) -> bool {
        let Some(outcome) = &head.outcome.0 else { return false };
        let agent = outcome.agent.text();
        if agent.is_empty() {
            return false;
        }
        self.agent_calls.entry(agent.into()).or_insert_with(|| call.into());
        outcome.is_launch()
    }

    /// Records the end of a task: a subagent, or a command in the background.
    pub(super) fn add_notification(&mut self, head: &Head<'_>, line: &[u8]) {
        let Some(text) = Body::parse(line).and_then(Body::into_plain_text) else { return };
        let Some(notification) = Notification::parse(&text) else { return };
        let by_task = || self.call_of_agent(notification.task).and_then(Key::of);
        let tool = Key::of(notification.call).or_else(by_task).and_then(|call| self.tool_by_id.get(&call).copied());
        let Some(tool) = tool.and_then(|tool| self.tools.get_mut(tool)) else { return };
        tool.goes_on = tool.goes_on.map(|until| head.time().map_or(until, |time| until.min(time)));
        if !tool.background {
            return;
        }
        let status = if notification.status == "completed" { ToolStatus::Done } else { ToolStatus::Failed };
        // It is reported twice: when it ends, and when the model is notified.
        if tool.end.is_none_or(|end| end.status != status) {
            tool.end = Some(ToolEnd { status, time: head.time() });
            let node = tool.node;
            self.touched.push(node);
            self.agents_touched = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_read_by_its_tags_before_the_result() {
        let text = "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>toolu_1</tool-use-id>\n<status>failed</status>\n\
            <result><status>completed</status></result>\n</task-notification>";
        assert_eq!(Notification::parse(text), Some(Notification { task: "a1", call: "toolu_1", status: "failed" }));
        assert_eq!(
            Notification::parse("<task-notification>\n<task-id>a1</task-id>"),
            None,
            "it says nothing of an end"
        );
        assert_eq!(Notification::parse("a user asks about <task-notification>"), None);
    }
}
