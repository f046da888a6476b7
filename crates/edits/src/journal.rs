//! The histories of all files; decides who wrote each observed content.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use claude_ide_system::encoding::{self, Utf16};

use crate::blobs::{Blobs, Bytes, Folder, Stored};
use crate::callers::Caller;
use crate::history::{Copied, Found, History, Noted, Source, same};
use crate::regions::{Actor, State};
use crate::turns::{ClientId, Millis, TurnEvent, TurnId, Turns};
use crate::view::{Change, Now, Scope, View};

/// The id of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// A tracked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its id.
    pub id: FileId,
    /// The path under which it was first opened.
    pub path: Bytes,
    /// The path with links resolved.
    pub real: Bytes,
}

/// The time of an observation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moment {
    /// By a monotonic clock.
    pub nanos: u64,
    /// Since the epoch.
    pub millis: Millis,
}

/// A file to track.
#[derive(Debug)]
pub struct Opened {
    /// Its path.
    pub path: Bytes,
    /// Its path with links resolved.
    pub real: Bytes,
    /// How the change was detected.
    pub source: Source,
    /// Whether it is private: its texts stay off the disk.
    pub secret: bool,
}

/// An edit in a transcript.
#[derive(Debug, Clone, Copy)]
pub struct Reported<'a> {
    /// `None`: the file was created.
    pub before: Option<&'a [u8]>,
    /// Its content after the edit.
    pub after: &'a [u8],
    /// Its current content.
    pub current: Option<&'a [u8]>,
    /// The edit's turn.
    pub turn: TurnId,
    /// Whether the user changed the proposal, and so has seen it.
    pub by_user: bool,
    /// The call that made it.
    pub caller: &'a Caller,
}

/// Events for Lua, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A turn changed.
    Turn(TurnEvent),
    /// Claude changed a file.
    FileChanged {
        /// The path under which it was first opened.
        path: Bytes,
        /// The turn.
        turn: TurnId,
        /// The turn's client.
        client: Option<ClientId>,
        /// Whether the user had accepted it.
        accepted: bool,
    },
    /// A file's history changed.
    Stale(FileId),
}

/// The effect of an undo.
#[derive(Debug, PartialEq, Eq)]
pub struct Undo {
    /// The file's new content; `None` if it must be removed. Meaningless without undone hunks.
    pub bytes: Option<Vec<u8>>,
    /// All hunks, whether or not they can be undone.
    pub places: usize,
    /// The undone hunks.
    pub hunks: usize,
    /// The hunks that stay because the user has changed them.
    pub left: usize,
    /// The start of the first undone turn, in seconds since the epoch; `None` if it was forgotten.
    pub since: Option<u64>,
}

/// The changes to undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undone {
    /// All that the user has not changed.
    All,
    /// One hunk, from 0.
    Hunk(usize),
}

/// The CLI reports texts in UTF-8, with line feeds and without this mark, whatever the file has.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The record of Claude's changes.
#[derive(Debug, Default)]
pub struct Journal {
    blobs: Blobs,
    files: BTreeMap<FileId, History>,
    by_real: HashMap<Bytes, FileId>,
    newest: u64,
    revision: u64,
    copied: Copied,
    turns: Turns,
    /// Texts accepted in a diff that the CLI has not written yet, by path.
    accepted: HashMap<Bytes, Bytes>,
    events: Vec<Event>,
}

impl Journal {
    /// The turns of all clients.
    pub const fn turns(&mut self) -> &mut Turns {
        &mut self.turns
    }

    /// The events since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.collect_turns();
        std::mem::take(&mut self.events)
    }

    fn collect_turns(&mut self) {
        self.events.extend(self.turns.events.drain(..).map(Event::Turn));
    }

    /// Sets the folder for old texts; without one all stay in memory.
    pub fn keep_in(&mut self, journals: PathBuf, host: &str) {
        self.blobs.set_folder(Folder::new(journals, host));
    }

    /// The folder of this Neovim, created on demand.
    pub fn folder(&mut self) -> Option<PathBuf> {
        self.blobs.folder()?.path()
    }

    /// Removes the folders of Neovims that no longer run.
    pub fn clean(&mut self) {
        if let Some(folder) = self.blobs.folder() {
            folder.clean();
        }
    }

    /// Removes the folder when Neovim exits.
    pub fn forget_folder(&mut self) {
        if let Some(folder) = self.blobs.folder() {
            folder.remove();
        }
    }

    /// The amount of stored texts.
    #[must_use]
    pub fn stored(&self) -> Stored {
        self.blobs.stored()
    }

    /// The tracked file with this resolved path.
    #[must_use]
    pub fn find(&self, real: &[u8]) -> Option<FileId> {
        self.by_real.get(real).copied()
    }

    /// A tracked file.
    #[must_use]
    pub fn file(&self, id: FileId) -> Option<File> {
        let file = self.files.get(&id)?;
        Some(File { id, path: Bytes::clone(&file.path), real: Bytes::clone(&file.real) })
    }

    /// All files by path, or those with a step in a turn.
    #[must_use]
    pub fn files(&self, turn: Option<TurnId>) -> Vec<File> {
        let counts = |file: &History| turn.is_none() || file.steps.iter().any(|step| step.turn == turn);
        let ids = self.files.iter().filter(|(_, file)| counts(file)).map(|(id, _)| *id);
        let mut all: Vec<File> = ids.filter_map(|id| self.file(id)).collect();
        all.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        all
    }

    /// The user has given a file another name. `false`: that is the name of another tracked file.
    pub fn rename(&mut self, id: FileId, path: Bytes, real: Bytes) -> bool {
        if self.by_real.contains_key(&real) {
            return false;
        }
        let Some(file) = self.files.get_mut(&id) else { return false };
        self.by_real.remove(&file.real);
        self.by_real.insert(Bytes::clone(&real), id);
        (file.path, file.real) = (path, real);
        self.changed(id);
        self.events.push(Event::Stale(id));
        true
    }

    /// A file's permissions, for recreating it.
    #[must_use]
    pub fn mode(&self, id: FileId) -> Option<u32> {
        self.files.get(&id)?.mode
    }

    /// Sets [`Self::mode`].
    pub fn set_mode(&mut self, id: FileId, mode: u32) {
        if let Some(file) = self.files.get_mut(&id) {
            file.mode = Some(mode);
        }
    }

    /// The number of names (hard links) that a file had before it was changed.
    #[must_use]
    pub fn links(&self, id: FileId) -> u64 {
        self.files.get(&id).map_or(1, |file| file.links)
    }

    /// Sets [`Self::links`].
    pub fn set_links(&mut self, id: FileId, links: u64) {
        if let Some(file) = self.files.get_mut(&id) {
            file.links = links;
        }
    }

    /// The unfinished turn that announced an edit of a file.
    #[must_use]
    pub fn turn_of(&self, id: FileId) -> Option<TurnId> {
        self.files.get(&id)?.turn
    }

    /// Changes with every change of a file's history.
    #[must_use]
    pub fn revision(&self, id: FileId) -> u64 {
        self.files.get(&id).map_or(0, |file| file.revision)
    }

    /// Whether these bytes are the last recorded content.
    #[must_use]
    pub fn is_last(&self, id: FileId, bytes: Option<&[u8]>) -> bool {
        let last = |file: &History| same(file.bytes(&self.blobs, file.steps.len().saturating_sub(1)).as_ref(), bytes);
        self.files.get(&id).is_some_and(last)
    }

    /// Whether an undo has made the last recorded content.
    #[must_use]
    pub fn is_undone(&self, id: FileId) -> bool {
        self.files.get(&id).and_then(History::last).is_some_and(|last| last.actor == Actor::Undo)
    }

    fn changed(&mut self, id: FileId) {
        self.revision += 1;
        if let Some(file) = self.files.get_mut(&id) {
            file.revision = self.revision;
        }
    }

    /// The id of a file's history, and whether it is new; a new one begins with the current content.
    pub fn open(&mut self, file: Opened, bytes: Option<&[u8]>, now: Moment) -> (FileId, bool) {
        if let Some(id) = self.find(&file.real) {
            return (id, false);
        }
        self.newest += 1;
        let id = FileId(self.newest);
        self.by_real.insert(Bytes::clone(&file.real), id);
        self.files.insert(id, History::new(file.path, file.real, file.source, file.secret));
        self.record(id, &Noted { actor: Actor::User, bytes, turn: None, undone: None, now: now.nanos });
        (id, true)
    }

    fn record(&mut self, id: FileId, noted: &Noted<'_>) -> bool {
        let Some(file) = self.files.get_mut(&id) else { return false };
        let changed = file.record(&mut self.blobs, &self.copied, noted);
        if changed {
            self.changed(id);
            self.make_room();
        }
        changed
    }

    /// Frees space: old steps of reviewed files, then reviewed files, then old steps of other files, then those files.
    fn make_room(&mut self) {
        for (whole, reviewed_only) in [(false, true), (false, false), (true, true), (true, false)] {
            let mut forgotten = Vec::new();
            for (id, file) in &mut self.files {
                if !self.blobs.is_full() {
                    break;
                }
                file.fold(&self.blobs);
                let may_go = |file: &History| !reviewed_only || file.mark.regions.is_empty();
                let before = file.steps.len();
                while self.blobs.is_full() && file.steps.len() > 1 && may_go(file) {
                    file.forget_oldest(&mut self.blobs);
                }
                if file.steps.len() != before {
                    self.revision += 1;
                    file.revision = self.revision;
                }
                if self.blobs.is_full() && whole && file.turn.is_none() && may_go(file) {
                    file.forget_oldest(&mut self.blobs);
                    file.callers.forget(&mut self.blobs);
                    forgotten.push((*id, Bytes::clone(&file.real)));
                }
            }
            for (id, real) in forgotten {
                self.files.remove(&id);
                self.by_real.remove(&real);
                self.events.push(Event::Stale(id));
            }
        }
    }

    fn announce(&mut self, id: FileId, turn: TurnId, actor: Actor) {
        let Some(File { path, .. }) = self.file(id) else { return };
        self.turns.touch(turn, &path);
        self.collect_turns();
        let client = self.turns.client_of(turn);
        self.events.push(Event::FileChanged { path, turn, client, accepted: actor == Actor::Accepted });
    }

    /// Whether the turn's client has changed the file in a later turn: its current content is then not of the earlier
    /// turn, however late that turn's end is examined.
    fn has_gone_on(&self, id: FileId, turn: TurnId) -> bool {
        let later = || {
            let last = self.turns.get(self.files.get(&id)?.last()?.turn?)?;
            let client = self.turns.client_of(turn)?;
            // Otherwise it was written beside the running turn.
            Some(last.id > turn && last.client == client && self.turns.last_of(client)? > turn)
        };
        later().unwrap_or(false)
    }

    /// Records a file's content on disk, and its author if known. The default turn is the one that announced an edit of
    /// the file.
    pub fn note(
        &mut self,
        id: FileId,
        bytes: Option<&[u8]>,
        mut actor: Option<Actor>,
        mut turn: Option<TurnId>,
        now: Moment,
    ) {
        let Some(file) = self.files.get(&id) else { return };
        if let Some(undone) = file.undoing.clone() {
            let noted = Noted { actor: Actor::Undo, bytes, turn: None, undone: Some(&undone), now: now.nanos };
            if self.record(id, &noted) {
                self.events.push(Event::Stale(id));
            }
            return;
        }
        if let Some((landing, of)) = file.landing.filter(|_| actor != Some(Actor::User)) {
            (actor, turn) = (Some(landing), Some(of));
        }
        // A late observation for one turn contains the changes of the next one, which has announced an edit since.
        let announced = file.turn;
        turn = if actor.is_none() { announced.or(turn) } else { turn.or(announced) };
        if actor.is_none() && turn.is_some_and(|turn| self.has_gone_on(id, turn)) {
            turn = None;
        }
        // Also if nothing had announced it, and a checkpoint found it.
        let may_be_claudes = matches!(actor, None | Some(Actor::Claude));
        if may_be_claudes && bytes.is_some_and(|bytes| self.has_accepted(&file.path, bytes)) {
            self.accepted.remove(&file.path);
            actor = Some(Actor::Accepted);
        }
        let actor = actor.unwrap_or(if turn.is_some() { Actor::Claude } else { Actor::User });
        turn = turn.filter(|_| actor != Actor::User);
        if !self.record(id, &Noted { actor, bytes, turn, undone: None, now: now.nanos }) {
            return;
        }
        if let Some(turn) = turn {
            self.announce(id, turn, actor);
        }
        self.events.push(Event::Stale(id));
    }

    /// A client is about to edit a file with this content. Later changes on disk belong to its turn.
    pub fn before_edit(&mut self, client: ClientId, file: Opened, bytes: Option<&[u8]>, now: Moment) -> FileId {
        let turn = self.turns.current(client, now.millis).id;
        let (id, is_new) = self.open(file, bytes, now);
        if !is_new {
            self.note(id, bytes, None, None, now);
        }
        if let Some(file) = self.files.get_mut(&id) {
            file.turn = Some(turn);
            if file.announced.is_none_or(|(of, _)| of != turn) {
                file.announced = Some((turn, now.nanos));
            }
        }
        id
    }

    /// The edits of a turn are over: later changes are not taken for Claude's.
    pub fn release(&mut self, id: FileId, turn: TurnId) {
        if let Some(file) = self.files.get_mut(&id).filter(|file| file.turn == Some(turn)) {
            file.turn = None;
            self.accepted.remove(&file.path);
        }
    }

    /// The user accepted contents that the CLI is about to write, in the form that the file has: they count as reviewed.
    pub fn accepted(&mut self, path: Bytes, contents: Bytes) {
        self.accepted.insert(path, contents);
    }

    fn has_accepted(&self, path: &Bytes, bytes: &[u8]) -> bool {
        self.accepted.get(path).is_some_and(|text| FORMS.iter().any(|form| form(text) == bytes))
    }

    /// Assigns this editor's writes to an author and turn; `None` ends that.
    pub fn set_landing(&mut self, id: FileId, landing: Option<(Actor, TurnId)>) {
        if let Some(file) = self.files.get_mut(&id) {
            file.landing = landing;
        }
    }

    /// Whether this editor is writing the file for Claude.
    #[must_use]
    pub fn is_landing(&self, id: FileId) -> bool {
        self.files.get(&id).is_some_and(|file| file.landing.is_some())
    }

    /// Records that the files were copied for a turn.
    pub const fn copied_for(&mut self, turn: TurnId, nanos: u64) {
        self.copied.note(turn, nanos);
    }

    /// A checkpoint shows that a file changed in a turn: by a shell command, or by a known edit.
    pub fn found(&mut self, file: Opened, mode: Option<u32>, found: &Found<'_>, now: Moment) -> FileId {
        let (id, is_new) = self.open(file, found.before, now);
        let Some(file) = self.files.get_mut(&id) else { return id };
        file.mode = file.mode.or(mode);
        let seen = file.steps.iter().any(|step| step.turn == Some(found.turn));
        // Known changes since then are of a parallel turn, or of the user.
        if !is_new && !seen && !file.was_known(&self.blobs, found.before, found.since) {
            self.note(id, found.before, Some(Actor::User), None, now);
        } else if !is_new && seen {
            file.began_with(&mut self.blobs, found);
            self.changed(id);
            self.make_room();
        }
        id
    }

    /// Files (with links resolved) whose content was unknown when an edit of a turn was announced.
    #[must_use]
    pub fn met_in(&self, turn: TurnId, since: u64) -> Vec<Bytes> {
        let is_met = |file: &&History| {
            let of_turn = file.turn == Some(turn) || file.steps.iter().any(|step| step.turn == Some(turn));
            of_turn && file.steps.iter().any(|step| step.actor == Actor::User && step.at.unwrap_or_default() > since)
        };
        self.files.values().filter(is_met).map(|file| Bytes::clone(&file.real)).collect()
    }

    /// Merges an edit from a transcript into a file's history: a known edit is not counted again, one taken for the
    /// user's becomes Claude's, an unseen one is inserted where it belongs. Returns whether anything changed.
    pub fn reported(&mut self, file: Opened, edit: Reported<'_>, now: Moment) -> bool {
        let known = self.find(&file.real);
        let texts = known.map(|id| self.texts(id)).unwrap_or_default();
        let (before, after) = in_bytes(&edit, &texts);
        let by_user = edit.by_user || self.has_accepted(&file.path, &after);
        let actor = if by_user { Actor::Accepted } else { Actor::Claude };
        let id = if let Some(id) = known {
            let is_news = self.amend(id, actor, &edit, before.as_deref(), &after);
            self.called(id, &edit, before.as_deref(), &after);
            if !is_news {
                return false;
            }
            id
        } else {
            let (id, _) = self.open(file, before.as_deref(), now);
            let noted = Noted { actor, bytes: Some(&after), turn: Some(edit.turn), undone: None, now: now.nanos };
            self.record(id, &noted);
            self.called(id, &edit, before.as_deref(), &after);
            id
        };
        self.announce(id, edit.turn, actor);
        true
    }

    fn called(&mut self, id: FileId, edit: &Reported<'_>, before: Option<&[u8]>, after: &[u8]) {
        let Some(file) = self.files.get_mut(&id) else { return };
        file.called(&mut self.blobs, edit.caller, before, after);
        self.changed(id);
        self.make_room();
        self.events.push(Event::Stale(id));
    }

    fn texts(&self, id: FileId) -> Vec<Option<Bytes>> {
        let Some(file) = self.files.get(&id) else { return Vec::new() };
        (0..file.steps.len()).map(|step| file.bytes(&self.blobs, step)).collect()
    }

    /// The last step of the client's earlier turns. The same text may have existed before: Claude repeats what was
    /// undone.
    fn last_of_earlier_turns(&self, file: &History, turn: TurnId) -> Option<usize> {
        let client = self.turns.client_of(turn);
        let is_earlier = |other: TurnId| other < turn && self.turns.client_of(other) == client;
        file.steps.iter().rposition(|step| step.turn.is_some_and(is_earlier))
    }

    fn amend(&mut self, id: FileId, actor: Actor, edit: &Reported<'_>, before: Option<&[u8]>, after: &[u8]) -> bool {
        let texts = self.texts(id);
        let Some(file) = self.files.get(&id) else { return false };
        let earlier = self.last_of_earlier_turns(file, edit.turn);
        let (turn, first, count) = (Some(edit.turn), file.decided.at, file.steps.len());
        let known_turn = file.steps.iter().any(|step| step.turn == turn);
        let is = |index: usize, text: Option<&[u8]>| texts.get(index).is_some_and(|known| same(known.as_ref(), text));
        let from = (first.max(earlier.unwrap_or(0))..count).rev().find(|index| is(*index, before));
        let to = (first.max(earlier.map_or(0, |earlier| earlier + 1))..count).find(|index| is(*index, Some(after)));
        let actor_at = |index: usize| file.steps.get(index).map(|step| step.actor);
        if let Some(to) = to {
            if (to == first && to > 0) || actor_at(to) != Some(Actor::User) {
                return false; // already known
            }
            let is_step = to.checked_sub(1).is_some_and(|before_it| is(before_it, before));
            let Some(file) = self.files.get_mut(&id) else { return false };
            if !is_step {
                file.insert(&mut self.blobs, to, Actor::User, None, before);
            }
            if let Some(step) = file.steps.get_mut(if is_step { to } else { to + 1 }) {
                (step.actor, step.turn) = (actor, turn);
            }
            file.amended();
            return true;
        }
        let is_last = from.is_some_and(|from| from + 1 == count);
        let is_users_after = from.is_some_and(|from| actor_at(from + 1) == Some(Actor::User));
        let is_own = from.is_some_and(|from| {
            let is_of_turn = file.steps.get(from).is_some_and(|step| step.actor == actor && step.turn == turn);
            actor == Actor::Claude && is_of_turn && from > first && !is_last
        });
        let Some(file) = self.files.get_mut(&id) else { return false };
        let blobs = &mut self.blobs;
        match from {
            Some(_) if is_last && file.goes_on(blobs, &self.copied, actor, Some(after), edit.turn) => return true,
            // The later content was seen on disk before this edit was reported.
            Some(from) if is_users_after && is_own => file.hold(blobs, from, Some(after)),
            Some(from) if is_last || is_users_after => file.insert(blobs, from + 1, actor, turn, Some(after)),
            None if !known_turn && edit.current == Some(after) => {
                file.insert(blobs, count, Actor::User, None, before);
                file.insert(blobs, count + 1, actor, turn, Some(after));
            }
            _ => return false, // a part of a known change, or of forgotten ones
        }
        file.amended();
        true
    }

    fn view(&mut self, id: FileId, scope: Scope, now: Now<'_>) -> Option<View> {
        View::of(self.files.get_mut(&id)?, &self.blobs, &self.turns, scope, now)
    }

    /// Whether a file may have changes of Claude; a cheap check before its content is read.
    pub fn may_have(&mut self, id: FileId, scope: Scope) -> bool {
        let undone = self.files.get(&id).and_then(History::last).is_some_and(|step| step.mark.is_some());
        undone || self.view(id, scope, Now::Recorded).is_some()
    }

    /// Claude's changes in a file; `None` if there are none.
    pub fn change(&mut self, id: FileId, scope: Scope, now: Now<'_>) -> Option<Change> {
        let view = self.view(id, scope, now)?;
        view.describe(self.files.get(&id)?, &self.blobs)
    }

    /// Marks a hunk (from 0), or a whole file, as reviewed. `false` if it already is, `None` without changes.
    pub fn keep(&mut self, id: FileId, scope: Scope, now: Now<'_>, hunk: Option<usize>, at: Moment) -> Option<bool> {
        let view = self.view(id, scope, now)?;
        let chosen: Vec<usize> = hunk.map_or_else(|| (0..view.regions.len()).collect(), |hunk| vec![hunk]);
        let left = view.waiting_without(&chosen);
        if left.len() == view.waiting_count() {
            return Some(false);
        }
        let bytes = view.current.as_deref();
        self.record(id, &Noted { actor: Actor::User, bytes, turn: None, undone: None, now: at.nanos });
        self.files.get_mut(&id)?.set_unreviewed(left);
        self.changed(id);
        Some(true)
    }

    /// The effect of an undo; `None` if there are no changes of Claude.
    pub fn undo(&mut self, id: FileId, scope: Scope, now: Now<'_>, which: Undone) -> Option<Undo> {
        let view = self.view(id, scope, now)?;
        let (mut chosen, mut left) = view.sorted();
        if let Undone::Hunk(hunk) = which {
            let state = view.regions.get(hunk).map(|region| region.state);
            left = usize::from(state == Some(State::Conflict));
            chosen = if state == Some(State::Claude) { vec![hunk] } else { Vec::new() };
        }
        let file = self.files.get_mut(&id)?;
        file.to_undo.clone_from(&view.turns);
        let places = view.regions.iter().filter(|region| region.state != State::Gone).count();
        let since = view.turns.iter().filter_map(|turn| Some(self.turns.get(*turn)?.began / 1000)).min();
        Some(Undo { bytes: view.undone(file, &chosen), places, hunks: chosen.len(), left, since })
    }

    /// Marks later writes to a file as the undo last requested with [`Self::undo`].
    pub fn set_undoing(&mut self, id: FileId, undoing: bool) {
        if let Some(file) = self.files.get_mut(&id) {
            file.undoing = undoing.then(|| std::mem::take(&mut file.to_undo));
        }
    }
}

type Form = fn(&[u8]) -> Vec<u8>;

const FORMS: [Form; 6] = [
    <[u8]>::to_vec,
    with_carriage_returns,
    |text| [BOM, text].concat(),
    |text| [BOM, with_carriage_returns(text).as_slice()].concat(),
    in_utf16le,
    |text| in_utf16le(&with_carriage_returns(text)),
];

/// The one form of UTF-16 that the CLI writes (2.1.329).
fn in_utf16le(text: &[u8]) -> Vec<u8> {
    encoding::in_utf16le(&String::from_utf8_lossy(text))
}

fn with_carriage_returns(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 16);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => {
                out.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
                out.extend_from_slice(b"\r\n");
            }
            None => out.extend_from_slice(line),
        }
    }
    out
}

/// Converts the edit to the file's bytes: the form that is known to have existed, else the current content's.
fn in_bytes(edit: &Reported<'_>, steps: &[Option<Bytes>]) -> (Option<Vec<u8>>, Vec<u8>) {
    let known = |text: &[u8]| Some(text) == edit.current || steps.iter().flatten().any(|step| step.as_ref() == text);
    for form in FORMS {
        let (before, after) = (edit.before.map(form), form(edit.after));
        if known(&after) || before.as_deref().is_some_and(known) {
            return (before, after);
        }
    }
    let current = edit.current.unwrap_or_default();
    let (marked, returned) = match Utf16::of(current) {
        Some(_) => (4, current.windows(4).any(|pair| pair == b"\r\0\n\0")),
        None => (2 * usize::from(current.starts_with(BOM)), current.windows(2).any(|pair| pair == b"\r\n")),
    };
    let form = FORMS.get(marked + usize::from(returned)).copied().unwrap_or(<[u8]>::to_vec);
    (edit.before.map(form), form(edit.after))
}

#[cfg(test)]
mod tests;
