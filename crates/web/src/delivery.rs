//! Delivers the messages of a session one after another: passes each to the editor and looks for it in the transcript.
//!
//! Invariants: the next message starts when the previous one has ended; the search starts at the transcript's end
//! before the message was given to Claude, so no earlier line with the same text is taken for it, nor one that a user
//! typed while it waited.

use std::sync::Arc;

use claude_ide_session::{Activity, prompt_input};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::broker::QueuedMessage;
use crate::channel::{Channel, Next, Place};
use crate::outbox::{End, Stage};
use crate::site::Site;

/// Starts a worker for each session with messages, while this future is awaited.
pub(crate) async fn run(site: &Arc<Site>, mut wanted: mpsc::Receiver<String>) {
    let mut deliveries = JoinSet::new();
    loop {
        tokio::select! {
            session = wanted.recv() => match session {
                Some(session) => drop(deliveries.spawn(see_to(Arc::clone(site), session))),
                None => return,
            },
            Some(_) = deliveries.join_next(), if !deliveries.is_empty() => {}
        }
    }
}

async fn see_to(site: Arc<Site>, session: String) {
    while let Some((queued, changed)) = site.broker.next(&session) {
        let Some(mut place) = Reader::at_the_end(&site, &session).await else {
            site.broker.end(&session, queued.key, dropped("the transcript cannot be read"));
            continue;
        };
        site.broker.deliver(&session, &queued);
        let mut deadline = None;
        let mut lives = site.sessions.lives.changes();
        loop {
            let mut touched = place.channel.touched();
            let stage = site.broker.stage(&session, queued.key);
            match stage {
                None => break,
                Some(Stage::Waiting | Stage::Offered) => {
                    let end = place.end().await;
                    // Lines up to here existed before it was given to Claude.
                    if matches!(site.broker.stage(&session, queued.key), Some(Stage::Waiting | Stage::Offered)) {
                        place.place = end.unwrap_or(place.place);
                    }
                }
                Some(Stage::Given) => {}
                Some(Stage::Sent) => {
                    // A message within a turn appears in the transcript only at a call's end or the turn's end.
                    deadline = match place.is_busy(&site) {
                        true => None,
                        false => deadline.or_else(|| Some(Instant::now() + site.limits.ack)),
                    };
                    let read = Arc::clone(&place.channel);
                    if let Some(end) = place.look_for(&queued, &site, &session, deadline).await {
                        site.broker.end(&session, queued.key, end);
                        break;
                    } else if !Arc::ptr_eq(&read, &place.channel) {
                        // Now another file is searched, which may already have grown.
                        continue;
                    }
                }
            }
            let sent = stage == Some(Stage::Sent);
            let until = deadline.unwrap_or_else(Instant::now);
            tokio::select! {
                () = changed.notified() => {}
                // Channel and sessions are held meanwhile, so these cannot end.
                _ = touched.changed() => {}
                _ = lives.changed(), if sent => {}
                () = sleep_until(until), if deadline.is_some() => {}
            }
        }
    }
}

fn dropped(reason: &str) -> End {
    End::Dropped(reason.to_owned())
}

/// Searches the transcript of a session, and that of the next one if its process moves on.
struct Reader {
    session: String,
    channel: Arc<Channel>,
    place: Place,
}

impl Reader {
    async fn at_the_end(site: &Site, session: &str) -> Option<Self> {
        let channel = site.sessions.channel(&site.sessions.find(session).await?)?;
        let place = channel.start().await;
        let mut reader = Self { session: session.to_owned(), channel, place };
        reader.place = reader.end().await?;
        Some(reader)
    }

    /// The current end of the transcript, if it can be read.
    async fn end(&self) -> Option<Place> {
        self.channel.know_all().await.ok()?;
        Some(self.channel.before_last(0).await)
    }

    /// Whether Claude is within a turn.
    fn is_busy(&self, site: &Site) -> bool {
        let running = site.sessions.lives.of(&self.session);
        running.is_some_and(|session| matches!(session.state.activity, Activity::Working | Activity::Waiting))
    }

    /// The outcome of a sent message, if it is known by now.
    async fn look_for(
        &mut self,
        queued: &QueuedMessage,
        site: &Site,
        session: &str,
        deadline: Option<Instant>,
    ) -> Option<End> {
        loop {
            if let Some(uuid) = self.find(queued).await {
                return Some(End::Ack(uuid));
            }
            let Some(next) = site.sessions.lives.went_on_as(&self.session) else { break };
            self.channel = site.sessions.channel(&site.sessions.find(next.as_str()).await?)?;
            self.place = self.channel.start().await;
            self.session = next.to_string();
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Some(dropped("it is not in the transcript: nobody knows whether Claude has taken it"));
        }
        // A session that has just begun is not known yet; the deadline decides.
        let is_gone = site.sessions.lives.of(&self.session).is_none() && site.sessions.lives.has_gone(session);
        is_gone.then(|| dropped("Claude exited before it was in the transcript"))
    }

    async fn find(&mut self, queued: &QueuedMessage) -> Option<String> {
        loop {
            match self.channel.next(self.place).await {
                Ok(Next::Page(page)) => {
                    let sent = self.place.number.saturating_sub(page.from);
                    for line in page.lines.iter().skip(sent) {
                        self.place.number += 1;
                        if let Some(uuid) = uuid_of(line, queued) {
                            return Some(uuid);
                        }
                    }
                }
                Ok(Next::Replaced) => {
                    self.channel.know_all().await.ok()?;
                    self.place = match self.channel.resume(self.place).await {
                        Some(place) => place,
                        None => self.channel.start().await,
                    };
                }
                Ok(Next::End) | Err(_) => return None,
            }
        }
    }
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    uuid: String,
    message: Option<Said>,
}

#[derive(Deserialize)]
struct Said {
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Deserialize)]
struct Block {
    text: Option<String>,
}

/// The uuid of a line, if it is this message.
fn uuid_of(line: &str, queued: &QueuedMessage) -> Option<String> {
    // Skips parsing most lines.
    if !line.contains("\"user\"") && !line.contains("\"system\"") {
        return None;
    }
    let line: Line = serde_json::from_str(line).ok()?;
    if line.kind != "user" || line.uuid.is_empty() {
        return None;
    }
    let wanted = prompt_input::squeezed(&queued.text);
    let says = |text: &str| prompt_input::squeezed(text) == wanted || queued.is_command && of_command(text) == wanted;
    let is_it = match line.message?.content {
        Content::Text(text) => says(&text),
        Content::Blocks(blocks) => blocks.iter().filter_map(|block| block.text.as_deref()).any(says),
    };
    is_it.then_some(line.uuid)
}

/// The typed text of a command's line: CLI 2.1.330.
fn of_command(text: &str) -> String {
    let tag = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner)
    };
    let typed = match (tag("command-name"), tag("bash-input"), tag("user-memory-input")) {
        (Some(name), ..) => format!("{name} {}", tag("command-args").unwrap_or_default()),
        (_, Some(shell), _) => format!("!{shell}"),
        (.., Some(memory)) => format!("#{memory}"),
        (None, None, None) => String::new(),
    };
    prompt_input::squeezed(&typed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn queued(text: &str) -> QueuedMessage {
        QueuedMessage { key: 1, text: text.to_owned(), is_command: prompt_input::is_command(text), ran: true }
    }

    fn user(content: &serde_json::Value) -> String {
        json!({ "type": "user", "uuid": "u", "message": { "role": "user", "content": content } }).to_string()
    }

    #[test]
    fn a_message_is_known_by_its_words() {
        let wanted = queued("two\nwords");
        for content in [json!("two words "), json!("two\n\twords"), json!([{ "type": "text", "text": "two\nwords" }])] {
            assert_eq!(uuid_of(&user(&content), &wanted).as_deref(), Some("u"), "{content}");
        }
        for content in [json!("twowords"), json!("two words more"), json!([{ "type": "tool_result", "content": "x" }])]
        {
            assert_eq!(uuid_of(&user(&content), &wanted), None, "{content}");
        }
        let reply = r#"{"type":"assistant","uuid":"a","message":{"role":"user","content":"two words"}}"#;
        assert_eq!(uuid_of(reply, &wanted), None);
    }

    #[test]
    fn a_command_is_recognized_by_its_line() {
        let clear = json!("<command-name>/model</command-name>\n<command-args>opus</command-args>");
        assert_eq!(uuid_of(&user(&clear), &queued("/model opus")).as_deref(), Some("u"));
        assert_eq!(uuid_of(&user(&clear), &queued("/model")), None);
        assert_eq!(uuid_of(&user(&json!("<bash-input>ls</bash-input>")), &queued("!ls")).as_deref(), Some("u"));
    }
}
