//! Turns: an agent's activity between two prompts. When one begins and ends is decided here, from what prompts, sessions
//! and reports of ended edits tell; each of them may be late or missing.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::blobs::Bytes;

/// Older turns are forgotten, with their changes; unreviewed changes stay.
const MAX_TURNS: usize = 200;

/// The id of a turn.
pub type TurnId = u64;

/// The client of a turn: an id, whose kind only Lua knows (`lua/claude-ide/edits/journal/clients.lua`).
pub type ClientId = i64;

/// Milliseconds since the epoch.
pub type Millis = u64;

/// A client's activity between two prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Counts up from 1.
    pub id: TurnId,
    /// Its client.
    pub client: ClientId,
    /// When its prompt was submitted, as far as that is known.
    pub began: Millis,
    /// `None` while it runs.
    pub ended: Option<Millis>,
    /// The paths that Claude changed.
    pub files: Vec<Bytes>,
    /// Files that commands changed and that cannot be undone.
    pub left_out: BTreeSet<Bytes>,
}

/// A change of a turn, for Lua.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEvent {
    /// It began.
    Started(Turn),
    /// It ended.
    Ended(Turn),
    /// It was forgotten: there are too many.
    Forgotten(TurnId),
}

/// A submitted prompt.
#[derive(Debug, Clone, Copy, Default)]
pub struct Prompt {
    /// When Neovim learned of it: at or after the turn's start.
    pub at: Millis,
    /// When the user sent it, if Neovim knows. It may have waited for the turn before.
    pub sent: Option<Millis>,
    /// Whether the agent reports each turn's end: a chat. A CLI reports the end of each step, and its session tells what it
    /// does.
    pub reports_end: bool,
}

/// What a client's session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It works, or waits for an answer, since then, if known.
    Busy(Option<Millis>),
    /// It waits for a prompt, since then, if known.
    Idle(Option<Millis>),
}

/// What an activity means for the client's turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// A turn runs whose prompt was not announced.
    Began(Turn),
    /// The client's turn, or a part of it, is over.
    Over,
}

/// A turn that is followed from its start.
#[derive(Debug, Clone, Copy)]
struct Run {
    turn: TurnId,
    /// When it began, or when its session was idle last: an older idle state is of before.
    since: Millis,
    /// Whether its session was seen at work since then.
    is_busy: bool,
    reports_end: bool,
    /// Whether its prompt was not announced yet.
    awaits_prompt: bool,
}

/// A client with turns.
#[derive(Debug, Default)]
struct Client {
    /// Its turns, except those beside others; newest last.
    turns: Vec<(TurnId, Millis)>,
    run: Option<Run>,
    /// Whether work that its session tells of begins a turn.
    awaits_work: bool,
    /// When its last turn was reported to be over.
    over: Option<Millis>,
}

/// The turns of all clients.
#[derive(Debug, Default)]
pub struct Turns {
    /// Oldest first.
    turns: VecDeque<Turn>,
    newest: TurnId,
    clients: HashMap<ClientId, Client>,
    pub(crate) events: Vec<TurnEvent>,
}

impl Turns {
    fn add(&mut self, client: ClientId, began: Millis, ended: Option<Millis>) -> Turn {
        self.newest += 1;
        let turn = Turn { id: self.newest, client, began, ended: None, files: Vec::new(), left_out: BTreeSet::new() };
        self.turns.push_back(Turn { ended, ..turn.clone() });
        if self.turns.len() > MAX_TURNS {
            self.forget_oldest();
        }
        self.events.push(TurnEvent::Started(turn.clone()));
        Turn { ended, ..turn }
    }

    fn forget_oldest(&mut self) {
        let Some(Turn { id, client, .. }) = self.turns.pop_front() else { return };
        if let Some(client) = self.clients.get_mut(&client) {
            client.turns.retain(|(turn, _)| *turn != id);
        }
        self.events.push(TurnEvent::Forgotten(id));
    }

    fn begin(&mut self, client: ClientId, began: Millis, now: Millis) -> Turn {
        self.finish(client, now);
        let turn = self.add(client, began, None);
        self.clients.entry(client).or_default().turns.push((turn.id, began));
        turn
    }

    /// Takes a prompt for that of the running turn, if that turn had begun before its prompt was announced. Returns whether it
    /// did.
    pub fn take_prompt(&mut self, client: ClientId) -> bool {
        let Some(run) = self.clients.get_mut(&client).and_then(|client| client.run.as_mut()) else { return false };
        let awaits_prompt = std::mem::take(&mut run.awaits_prompt);
        let turn = run.turn;
        awaits_prompt && self.get(turn).is_some_and(|turn| turn.ended.is_none() && turn.files.is_empty())
    }

    /// Starts a turn with a prompt.
    pub fn start(&mut self, client: ClientId, prompt: Prompt, now: Millis) -> Turn {
        let over = self.clients.get(&client).and_then(|client| client.over).unwrap_or_default();
        let began = prompt.at.min(prompt.sent.unwrap_or(prompt.at).max(over));
        let turn = self.begin(client, began, now);
        let run = Run {
            turn: turn.id,
            since: prompt.at,
            is_busy: false,
            reports_end: prompt.reports_end,
            awaits_prompt: false,
        };
        let client = self.clients.entry(client).or_default();
        (client.run, client.awaits_work) = (Some(run), false);
        turn
    }

    /// A turn for a write by this editor on a client's behalf, beside the client's current turn.
    pub fn alone(&mut self, client: ClientId, now: Millis) -> Turn {
        let turn = self.add(client, now, Some(now));
        self.events.push(TurnEvent::Ended(turn.clone()));
        turn
    }

    /// The one turn of a client whose prompts are not known, with its changes since a time.
    pub fn only(&mut self, client: ClientId, since: Millis, now: Millis) -> Turn {
        let turn = self.alone(client, now);
        self.clients.entry(client).or_default().turns.push((turn.id, since));
        turn
    }

    /// A client's current turn; a new one if none was started. A turn whose edits seemed over is resumed.
    pub fn current(&mut self, client: ClientId, now: Millis) -> Turn {
        if let Some(turn) = self.last_of(client).and_then(|id| self.get_mut(id)) {
            turn.ended = None;
            return turn.clone();
        }
        self.begin(client, now, now)
    }

    /// The turn of a client that ran at a time.
    pub fn at(&mut self, client: ClientId, time: Millis, now: Millis) -> TurnId {
        let begun = self.clients.get(&client).map(|client| client.turns.as_slice()).unwrap_or_default();
        match begun.iter().rev().find(|(_, began)| *began <= time) {
            Some((turn, _)) => *turn,
            None => self.current(client, now).id,
        }
    }

    /// Takes work that the client's session tells of for a turn that was not announced: its prompt was given before the
    /// client connected, or at that moment. Of a client whose turn is followed, the start is known.
    pub fn await_work(&mut self, client: ClientId) {
        let known = self.clients.entry(client).or_default();
        known.awaits_work = known.run.is_none();
    }

    /// Handles what a client's session does. Neovim may have missed that it worked: an idle state that is newer than the
    /// turn ends it, too.
    pub fn activity(&mut self, client: ClientId, activity: Activity, now: Millis) -> Option<Progress> {
        let known = self.clients.get_mut(&client)?;
        match (activity, &mut known.run) {
            (Activity::Busy(since), _) if known.awaits_work => {
                known.awaits_work = false;
                let turn = self.current(client, now);
                let since = since.unwrap_or(now); // what it does may be told late, while it is idle again
                let run = Run { turn: turn.id, since, is_busy: true, reports_end: false, awaits_prompt: true };
                self.clients.entry(client).or_default().run = Some(run);
                Some(Progress::Began(turn))
            }
            (Activity::Busy(_), Some(run)) => {
                run.is_busy = true;
                None
            }
            (Activity::Idle(since), Some(run)) if since.map_or(run.is_busy, |since| since > run.since) => {
                (run.is_busy, run.since) = (false, since.unwrap_or(run.since));
                Some(Progress::Over)
            }
            (Activity::Idle(_), Some(_)) | (_, None) => None,
        }
    }

    /// Handles a report that a turn's edits are over, which a CLI makes after each step. Returns whether the turn is over, as
    /// far as the client's session does not tell otherwise.
    pub fn edits_over(&mut self, client: ClientId, now: Millis) -> bool {
        let is_over = !self.is_busy(client);
        if let Some(known) = self.clients.get_mut(&client).filter(|_| is_over) {
            known.over = Some(now);
        }
        is_over
    }

    fn run_of(&self, client: ClientId) -> Option<&Run> {
        self.clients.get(&client)?.run.as_ref()
    }

    /// Whether a client's session is known to work on its turn.
    #[must_use]
    pub fn is_busy(&self, client: ClientId) -> bool {
        self.run_of(client).is_some_and(|run| run.is_busy)
    }

    /// Whether a client's turn is known to be running.
    #[must_use]
    pub fn is_running(&self, client: ClientId) -> bool {
        self.run_of(client).is_some_and(|run| {
            run.is_busy || (run.reports_end && self.get(run.turn).is_some_and(|turn| turn.ended.is_none()))
        })
    }

    /// Whether the start of a client's turn is known.
    #[must_use]
    pub fn is_followed(&self, client: ClientId) -> bool {
        self.run_of(client).is_some()
    }

    /// Ends the last turn of a client.
    pub fn finish(&mut self, client: ClientId, now: Millis) {
        if let Some(turn) = self.last_of(client).and_then(|id| self.get_mut(id)).filter(|turn| turn.ended.is_none()) {
            turn.ended = Some(now);
            let turn = turn.clone();
            self.events.push(TurnEvent::Ended(turn));
        }
    }

    /// Forgets a client; its turns stay.
    pub fn leave(&mut self, client: ClientId, now: Millis) {
        self.finish(client, now);
        self.clients.remove(&client);
    }

    /// A turn that is not forgotten.
    #[must_use]
    pub fn get(&self, id: TurnId) -> Option<&Turn> {
        self.turns.iter().rev().find(|turn| turn.id == id)
    }

    fn get_mut(&mut self, id: TurnId) -> Option<&mut Turn> {
        self.turns.iter_mut().rev().find(|turn| turn.id == id)
    }

    /// The last turn of a client that has not left.
    #[must_use]
    pub fn last_of(&self, client: ClientId) -> Option<TurnId> {
        self.clients.get(&client)?.turns.last().map(|(turn, _)| *turn)
    }

    pub(crate) fn client_of(&self, id: TurnId) -> Option<ClientId> {
        self.get(id).map(|turn| turn.client)
    }

    pub(crate) fn touch(&mut self, id: TurnId, path: &Bytes) {
        if let Some(turn) = self.get_mut(id).filter(|turn| !turn.files.contains(path)) {
            turn.files.push(Bytes::clone(path));
        }
    }

    /// Records files that commands changed in a turn and that cannot be undone.
    pub fn leave_out(&mut self, id: TurnId, paths: impl IntoIterator<Item = Bytes>) {
        if let Some(turn) = self.get_mut(id) {
            turn.left_out.extend(paths);
        }
    }

    /// All turns, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Turn> {
        self.turns.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that reports no end, such as a CLI in a terminal.
    const CLI: ClientId = 1;
    /// One that does.
    const CHAT: ClientId = -1;

    fn told(at: Millis) -> Prompt {
        Prompt { at, ..Prompt::default() }
    }

    fn chats(at: Millis, sent: Millis) -> Prompt {
        Prompt { at, sent: Some(sent), reports_end: true }
    }

    fn began(progress: Option<Progress>) -> Turn {
        match progress {
            Some(Progress::Began(turn)) => turn,
            other => panic!("no turn began: {other:?}"),
        }
    }

    #[test]
    fn a_prompt_ends_the_turn_before() {
        let mut turns = Turns::default();
        let first = turns.start(CLI, told(10), 11);
        let second = turns.start(CLI, told(20), 21);
        assert_eq!(turns.get(first.id).unwrap().ended, Some(21));
        assert_eq!(turns.current(CLI, 30).id, second.id);
        let kinds = [TurnEvent::Started(first.clone()), TurnEvent::Ended(Turn { ended: Some(21), ..first })];
        assert_eq!(turns.events.get(..2), Some(kinds.as_slice()));
    }

    #[test]
    fn a_side_turn_ends_at_once_and_is_not_the_clients_current_one() {
        let mut turns = Turns::default();
        let going = turns.start(CLI, told(10), 10);
        assert_eq!(turns.alone(CLI, 11).ended, Some(11));
        assert_eq!(turns.last_of(CLI), Some(going.id));
        assert_eq!(turns.at(CLI, 12, 12), going.id);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut turns = Turns::default();
        for client in 0..=200 {
            turns.start(client, told(1), 1);
        }
        assert!(turns.get(1).is_none() && turns.get(2).is_some());
        assert!(turns.last_of(0).is_none() && turns.last_of(1).is_some());
        assert!(turns.events.contains(&TurnEvent::Forgotten(1)));
        assert_eq!(turns.all().count(), 200);
    }

    #[test]
    fn a_turn_runs_while_its_session_works() {
        let mut turns = Turns::default();
        turns.start(CLI, told(10), 11);
        assert!(turns.is_followed(CLI) && !turns.is_running(CLI));
        assert_eq!(turns.activity(CLI, Activity::Idle(Some(9)), 12), None, "it is of the turn before");
        assert_eq!(turns.activity(CLI, Activity::Idle(None), 12), None, "it has not worked yet");
        assert_eq!(turns.activity(CLI, Activity::Busy(None), 13), None);
        assert!(turns.is_running(CLI) && !turns.edits_over(CLI, 14), "a step is over, the turn is not");
        assert_eq!(turns.activity(CLI, Activity::Idle(Some(15)), 16), Some(Progress::Over));
        assert!(!turns.is_running(CLI) && turns.edits_over(CLI, 16));
        assert_eq!(turns.activity(CLI, Activity::Idle(Some(15)), 17), None, "it was told");
    }

    #[test]
    fn a_turn_whose_work_was_missed_ends_when_its_session_is_idle_later() {
        let mut turns = Turns::default();
        turns.start(CLI, told(10), 11);
        assert_eq!(turns.activity(CLI, Activity::Idle(Some(20)), 21), Some(Progress::Over));
    }

    #[test]
    fn a_session_without_times_ends_a_turn_in_which_it_worked() {
        let mut turns = Turns::default();
        turns.start(CLI, told(10), 11);
        turns.activity(CLI, Activity::Busy(None), 12);
        assert_eq!(turns.activity(CLI, Activity::Idle(None), 13), Some(Progress::Over));
        assert_eq!(turns.activity(CLI, Activity::Idle(None), 14), None);
    }

    #[test]
    fn a_chat_runs_until_it_reports_its_end() {
        let mut turns = Turns::default();
        turns.start(CHAT, chats(10, 10), 10);
        assert!(turns.is_running(CHAT));
        assert!(turns.edits_over(CHAT, 20));
        assert!(turns.is_running(CHAT), "the last edits are still looked at");
        turns.finish(CHAT, 21);
        assert!(!turns.is_running(CHAT));
    }

    #[test]
    fn a_turn_begins_when_its_prompt_was_sent_but_not_before_the_last_one_was_over() {
        let mut turns = Turns::default();
        assert_eq!(turns.start(CHAT, chats(10, 8), 10).began, 8);
        turns.edits_over(CHAT, 20);
        assert_eq!(turns.start(CHAT, chats(23, 12), 23).began, 20, "it waited");
        assert_eq!(turns.start(CHAT, chats(30, 40), 30).began, 30, "a clock that was set");
    }

    #[test]
    fn work_that_was_not_announced_begins_a_turn_once() {
        let mut turns = Turns::default();
        assert_eq!(turns.activity(CLI, Activity::Busy(None), 1), None);
        turns.await_work(CLI);
        assert_eq!(turns.activity(CLI, Activity::Idle(Some(1)), 2), None);
        let turn = began(turns.activity(CLI, Activity::Busy(None), 3));
        assert_eq!(turns.activity(CLI, Activity::Busy(None), 4), None);
        assert!(turns.take_prompt(CLI), "this is its prompt");
        assert!(!turns.take_prompt(CLI), "this is the next one");
        assert_ne!(turns.start(CLI, told(5), 5).id, turn.id);
    }

    #[test]
    fn a_turn_that_is_told_of_after_its_end_ends() {
        let mut turns = Turns::default();
        turns.await_work(CLI);
        let turn = began(turns.activity(CLI, Activity::Busy(Some(10)), 30));
        assert_eq!((turn.began, turns.is_running(CLI)), (30, true));
        assert_eq!(turns.activity(CLI, Activity::Idle(Some(20)), 31), Some(Progress::Over));
        assert!(!turns.is_running(CLI));
    }

    #[test]
    fn a_prompt_after_changes_or_after_the_end_is_another_one() {
        let mut turns = Turns::default();
        turns.await_work(CLI);
        let turn = began(turns.activity(CLI, Activity::Busy(None), 3));
        turns.touch(turn.id, &Bytes::from(b"/a".as_slice()));
        assert!(!turns.take_prompt(CLI));
        turns.await_work(CHAT);
        began(turns.activity(CHAT, Activity::Busy(None), 3));
        turns.finish(CHAT, 4);
        assert!(!turns.take_prompt(CHAT));
    }

    #[test]
    fn a_prompt_ends_the_wait_for_work() {
        let mut turns = Turns::default();
        turns.await_work(CLI);
        turns.start(CLI, told(2), 2);
        assert_eq!(turns.activity(CLI, Activity::Busy(None), 3), None);
    }

    #[test]
    fn work_on_a_prompt_that_was_announced_begins_no_turn() {
        let mut turns = Turns::default();
        turns.start(CLI, told(2), 2);
        turns.await_work(CLI); // its process was known after its prompt
        assert_eq!(turns.activity(CLI, Activity::Busy(None), 3), None);
    }

    #[test]
    fn a_time_tells_the_turn() {
        let mut turns = Turns::default();
        let first = turns.start(CLI, told(10), 10).id;
        let second = turns.start(CLI, told(20), 20).id;
        assert_eq!([15, 20, 99].map(|time| turns.at(CLI, time, 99)), [first, second, second]);
        assert_eq!(turns.at(CLI, 5, 99), second, "the current one, if it is of none");
        assert_eq!(turns.at(CHAT, 5, 99), second + 1, "a new one");
        let only = turns.only(-7, 30, 40);
        assert_eq!((turns.at(-7, 35, 41), only.ended), (only.id, Some(40)));
    }

    #[test]
    fn a_client_that_left_has_no_turn() {
        let mut turns = Turns::default();
        let turn = turns.start(CLI, told(10), 10).id;
        turns.leave(CLI, 12);
        assert_eq!(turns.get(turn).unwrap().ended, Some(12));
        assert!(!turns.is_followed(CLI) && turns.last_of(CLI).is_none());
        assert_eq!(turns.activity(CLI, Activity::Busy(None), 13), None);
    }
}
